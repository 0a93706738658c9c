//! The documents tell the truth: the files, endpoints and settings they name exist, and the table of the
//! three vocabularies is that of the code.

use std::collections::{BTreeMap, BTreeSet};

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

#[test]
fn the_endpoints_are_those_of_the_service() {
    let code = std::fs::read_to_string(root().join("verifactu-server/src/api/routes.rs")).unwrap();
    let routes: BTreeSet<String> = code.lines().filter_map(route).collect();
    assert!(!routes.is_empty(), "the route table was not read");
    let listed = first_cells(&document("README.md"), "| route | who | |");
    let findings: Vec<String> = routes.symmetric_difference(&listed).cloned().collect();
    none("README.md lists the endpoints of routes.rs:", &findings);
}

#[test]
fn the_settings_are_those_of_the_service() {
    let code = std::fs::read_to_string(root().join("verifactu-server/src/config/table.rs")).unwrap();
    let rows = first_cells(&document("README.md"), "| setting | default | |");
    assert!(!rows.is_empty(), "the table was not read");
    let named = rows.iter().flat_map(|cell| cell.split(['`', ',', ' '])).filter(|name| !name.is_empty());
    let findings: Vec<String> = named
        .filter(|name| !code.contains(&format!("\"{}\",", name.trim_start_matches("--"))))
        .map(str::to_owned)
        .collect();
    none("README.md names settings that exist:", &findings);
}

#[test]
fn the_deployment_names_settings_that_exist() {
    let code = std::fs::read_to_string(root().join("verifactu-server/src/config/table.rs")).unwrap();
    let mut findings = Vec::new();
    for path in ["examples/deploy/compose.yaml", "examples/deploy/Containerfile", "examples/deploy/README.md"]
    {
        let text = document(path);
        let named = text
            .split("VERIFACTU_")
            .skip(1)
            .filter_map(|rest| rest.split(|c: char| !c.is_ascii_uppercase() && c != '_').next());
        let mut names = named.peekable();
        assert!(names.peek().is_some(), "{path} names no setting");
        for name in names {
            let flag = name.strip_suffix("_FILE").unwrap_or(name).to_ascii_lowercase().replace('_', "-");
            if !code.contains(&format!("\"{flag}\",")) {
                findings.push(format!("{path}: VERIFACTU_{name}"));
            }
        }
    }
    none("The deployment names settings of the service:", &findings);
}

/// `GET /me` of a line such as `GET "/me" key() me::show;`.
fn route(line: &str) -> Option<String> {
    let (method, rest) = line.trim().split_once(' ')?;
    let path = rest.trim_start().strip_prefix("\"/")?.split('"').next()?;
    method.chars().all(|c| c.is_ascii_uppercase()).then(|| format!("{method} /{path}"))
}

/// The first cells of the table with this head, without their code marks at both ends.
fn first_cells(text: &str, head: &str) -> BTreeSet<String> {
    rows(text, head)
        .map(|row| row.split('|').nth(1).unwrap_or_default().trim().trim_matches('`').to_owned())
        .collect()
}

fn rows<'a>(text: &'a str, head: &'a str) -> impl Iterator<Item = &'a str> {
    let rows = text.lines().skip_while(move |line| !line.starts_with(head)).skip(2);
    rows.take_while(|line| line.starts_with('|'))
}

/// The rows of the table, by their English names.
fn table(text: &str) -> BTreeMap<String, [String; 2]> {
    rows(text, "| English | REST | AEAT |")
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
