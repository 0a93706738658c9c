//! The documents tell the truth: the files they name exist, and the table of the three vocabularies is
//! that of the code.

use std::collections::BTreeMap;

use crate::{
    none,
    source::{File, root, rust_files},
};

const DOCUMENTS: &[&str] = &["README.md", "ARCHITECTURE.md"];

/// A name in code style that begins like this is a path.
const FOLDERS: &[&str] =
    &["verifactu-core/", "verifactu-server/", "verifactu-client/", "examples/", "tests/"];

fn document(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

#[test]
fn files_that_are_named_exist() {
    let mut findings = Vec::new();
    for path in DOCUMENTS {
        let text = document(path);
        let names = text.split('`').skip(1).step_by(2);
        for name in names.filter(|name| FOLDERS.iter().any(|folder| name.starts_with(folder))) {
            let file = name.split_whitespace().next().unwrap_or_default();
            if !root().join(file).exists() {
                findings.push(format!("{path}: {file}"));
            }
        }
    }
    none("A document names only files that exist:", &findings);
}

#[test]
fn the_vocabularies_are_those_of_the_code() {
    let code = authority_names(&rust_files("verifactu-core/src/record"));
    let rest: String = rust_files("verifactu-core/src/api").into_iter().map(|file| file.text).collect();
    let table = table(&document("ARCHITECTURE.md"));
    let mut findings = Vec::new();
    for (english, [rest_name, authority_name]) in &table {
        match code.get(english) {
            Some(known) if known == authority_name => {}
            known => {
                findings.push(format!("{english} is {authority_name} in the table, {known:?} in the code"))
            }
        }
        if !rest.contains(&format!("\"{rest_name}\"")) {
            findings.push(format!("{english}: REST has no `{rest_name}`"));
        }
    }
    let missing = code.keys().filter(|english| !table.contains_key(*english));
    findings.extend(missing.map(|english| format!("{english} is not in the table")));
    none("The three vocabularies in ARCHITECTURE.md are those of the code:", &findings);
}

/// The rows of the table, by their English names.
fn table(text: &str) -> BTreeMap<String, [String; 2]> {
    let rows = text.lines().skip_while(|line| !line.starts_with("| English | REST | AEAT |")).skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| {
            let mut cells = line.split('|').skip(1).map(|cell| cell.trim().trim_matches('`').to_owned());
            let mut cell = || cells.next().unwrap_or_default();
            (cell(), [cell(), cell()])
        })
        .collect()
}

/// The fields and variants of the model with the authority's name of each.
fn authority_names(files: &[File]) -> BTreeMap<String, String> {
    const ALIAS: &str = "#[doc(alias = \"";
    let mut names = BTreeMap::new();
    for file in files {
        let (mut owner, mut alias) = (String::new(), None);
        for line in file.text.lines() {
            let code = line.trim();
            let words: Vec<&str> = code.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            match (code.strip_prefix(ALIAS), &*words) {
                (Some(rest), _) => alias = rest.split('"').next().map(str::to_owned),
                (None, ["pub", "struct" | "enum", name, ..]) => {
                    (owner, alias) = ((*name).to_owned(), None);
                }
                _ if code.is_empty() || code.starts_with("//") || code.starts_with("#[") => {}
                // A code list inside its macro has the name of a type.
                _ if code.ends_with('{') => alias = None,
                (None, ["pub", name, ..] | [name, ..]) => {
                    if let Some(alias) = alias.take() {
                        names.insert(format!("{owner}::{name}"), alias);
                    }
                }
                (None, []) => {}
            }
        }
    }
    names
}
