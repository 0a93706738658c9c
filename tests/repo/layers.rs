//! Core's modules stand in layers: a module uses only modules that stand before it.

use crate::{
    none,
    source::{rust_files, without_literals},
};

/// Lowest first.
const LAYERS: &[&str] = &[
    "types",
    "record",
    "validation",
    "chain",
    "qr",
    "job",
    "api",
    "webhook",
    "xml",
    "certificate",
    "signature",
    "authority",
    "ledger",
    "queue",
    "engine",
    "testing",
    "guide",
];

const SOURCE: &str = "verifactu-core/src/";

#[test]
fn modules_use_only_the_layers_below() {
    let findings: Vec<String> = rust_files("verifactu-core/src")
        .iter()
        .filter(|file| file.path != format!("{SOURCE}lib.rs"))
        .flat_map(|file| violations(&file.path, &file.text))
        .collect();
    none("A module imports only from modules before it in the table of layers:", &findings);
}

#[test]
fn the_scanner_sees_every_way_to_name_a_module() {
    let found = |path: &str, code: &str| violations(&format!("{SOURCE}{path}"), code);

    assert_eq!(found("chain/mod.rs", "use crate::xml;").len(), 1);
    assert_eq!(
        found("chain/walk.rs", "use crate::{types::Huella, xml::{names, record}, job as j};").len(),
        2
    );
    assert_eq!(found("chain/walk.rs", "use super::super::xml::names;").len(), 1);
    assert_eq!(found("chain/walk.rs", "use super::{canonical, super::engine::Engine};").len(), 1);
    assert_eq!(found("qr.rs", "fn f(quote: char) -> super::job::Job { if quote == '\"' {} }").len(), 1);
    assert_eq!(found("qr.rs", "mod inner { fn f(_: super::super::job::Job) {} }").len(), 1);
    assert_eq!(found("chain/mod.rs", "macro_rules! m { () => { $crate::ledger::append() } }").len(), 1);
    assert_eq!(found("nowhere/mod.rs", "").len(), 1, "a module outside the table");
    assert_eq!(found("chain/mod.rs", "use crate::Unknown;").len(), 1, "a name outside the table");

    assert_eq!(found("engine/mod.rs", "use crate::{ledger::{self, Ledger}, types::*};"), [""; 0]);
    assert_eq!(
        found("chain/walk.rs", "/// [`crate::engine`]\nfn f() { g(\"crate::engine\") } // crate::engine"),
        [""; 0]
    );
    assert_eq!(found("chain/walk.rs", "use super::canonical::Canonical;"), [""; 0]);
    assert_eq!(found("chain/mod.rs", "mod inner { use super::{walk, canonical}; } use self::walk;"), [""; 0]);
    assert_eq!(found("testing/mod.rs", "macro_rules! m { () => { $crate::cases!() } }"), [""; 0]);
    assert_eq!(found("chain/mod.rs", "pub(in crate::chain) fn f() {} pub(crate) fn g() {}"), [""; 0]);
}

/// One line for each use of a module that does not stand below the file's own.
fn violations(path: &str, text: &str) -> Vec<String> {
    let inner = path.strip_prefix(SOURCE).unwrap().trim_end_matches(".rs").trim_end_matches("/mod");
    let module: Vec<&str> = inner.split('/').collect();
    let Some(own) = layer(module[0]) else {
        return vec![format!("{path}: `{}` is not in the table of layers", module[0])];
    };
    let code = without_literals(text);
    let mut scanner = Scanner { tokens: tokens(&code), at: 0, found: Vec::new() };
    scanner.scan(&module);
    let mut findings: Vec<String> = scanner
        .found
        .into_iter()
        .filter(|(_, used)| layer(used).is_none_or(|used| used > own))
        .map(|(line, used)| format!("{path}:{line}: `{}` uses `{used}`", module[0]))
        .collect();
    findings.dedup();
    findings
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| *layer == name)
}

/// A word or a piece of punctuation, with its line.
type Token<'a> = (usize, &'a str);

/// Words, `::`, and every other character by itself.
fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(first) = code[at..].chars().next() {
        let rest = &code[at..];
        let length = match first {
            c if c.is_alphabetic() || c == '_' => {
                rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
            }
            ':' if rest.starts_with("::") => 2,
            c => c.len_utf8(),
        };
        let token = &rest[..length];
        if !token.trim().is_empty() {
            tokens.push((line, token));
        }
        line += token.matches('\n').count();
        at += length;
    }
    tokens
}

struct Scanner<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    /// Modules of the crate that are named, with the line.
    found: Vec<(usize, &'a str)>,
}

impl<'a> Scanner<'a> {
    fn peek(&self, ahead: usize) -> &'a str {
        self.tokens.get(self.at + ahead).map_or("", |(_, token)| token)
    }

    /// Reads the code of a module, and of the modules written inside it.
    fn scan(&mut self, module: &[&'a str]) {
        let mut depth = 0;
        while self.at < self.tokens.len() {
            match (self.peek(0), self.peek(1)) {
                ("mod", name) if self.peek(2) == "{" => {
                    self.at += 3;
                    self.scan(&[module, &[name]].concat());
                    continue;
                }
                ("crate", "::") => {
                    self.at += 2;
                    self.path(Vec::new());
                    continue;
                }
                ("super", "::") => {
                    self.path(module.to_vec());
                    continue;
                }
                ("{", _) => depth += 1,
                ("}", _) if depth == 0 => {
                    self.at += 1;
                    return;
                }
                ("}", _) => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Reads a path, or a tree of paths, that begins at `base`.
    fn path(&mut self, mut base: Vec<&'a str>) {
        let line = self.tokens.get(self.at).map_or(0, |(line, _)| *line);
        loop {
            match self.peek(0) {
                "super" => {
                    base.pop();
                }
                "self" => {}
                "{" => {
                    self.at += 1;
                    while !matches!(self.peek(0), "}" | "") {
                        self.path(base.clone());
                        if self.peek(0) == "as" {
                            self.at += 2;
                        }
                        if self.peek(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                word => base.push(word),
            }
            self.at += 1;
            if self.peek(0) != "::" {
                break;
            }
            self.at += 1;
        }
        // An exported macro stands at the root, whatever module writes it.
        if let [name] = base[..]
            && self.peek(0) == "!"
            && layer(name).is_none()
        {
            return;
        }
        if let Some(first) = base.first() {
            self.found.push((line, first));
        }
    }
}
