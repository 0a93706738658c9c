//! Rules for files as such.

use crate::{
    none,
    source::{File, files, rust_files},
};

/// The size a file should keep under, and the size it must.
const LINES: std::ops::Range<usize> = 600..700;

/// Files that are tables, a row beside the next; as long as what they list.
const TABLES: &[&str] = &["verifactu-core/src/authority/codes/table.rs", "tests/rules/rules.rs"];

/// Text that betrays the machine it was written on.
const MACHINE_PATHS: &[&str] = &["/work/", "/root/", "/home/", "/Users/", "C:\\Users"];

const OURS: &[&str] = &["verifactu-core", "verifactu-server", "verifactu-client", "examples", "tests"];

fn our_rust() -> Vec<File> {
    OURS.iter().flat_map(|folder| rust_files(folder)).collect()
}

#[test]
fn files_are_short() {
    let mut too_long = Vec::new();
    for file in our_rust().iter().filter(|file| !TABLES.contains(&file.path.as_str())) {
        let lines = file.text.lines().count();
        let finding = format!("{} has {lines} lines", file.path);
        if lines >= LINES.end {
            too_long.push(finding);
        } else if lines >= LINES.start {
            eprintln!("{finding}, consider parting it");
        }
    }
    none("A file does not reach 700 lines:", &too_long);
}

#[test]
fn no_test_is_ignored() {
    let marks = [concat!("#[ign", "ore"), concat!("```ign", "ore"), concat!("```rust,ign", "ore")];
    let findings: Vec<String> = our_rust()
        .iter()
        .filter(|file| marks.iter().any(|mark| file.text.contains(mark)))
        .map(|file| file.path.clone())
        .collect();
    none("No test is ignored:", &findings);
}

#[test]
fn every_member_inherits_the_lints() {
    let findings: Vec<String> = OURS
        .iter()
        .map(|member| format!("{member}/Cargo.toml"))
        .filter(|path| {
            let manifest = std::fs::read_to_string(crate::source::root().join(path)).unwrap();
            !manifest.contains("[lints]\nworkspace = true\n")
        })
        .collect();
    none("A member has the workspace's lints:", &findings);
}

#[test]
fn no_file_names_the_machine_it_was_written_on() {
    let mut findings = Vec::new();
    for file in files("").iter().filter(|file| file.path != "tests/repo/files.rs") {
        for (index, line) in file.text.lines().enumerate() {
            if MACHINE_PATHS.iter().any(|path| line.contains(path)) {
                findings.push(format!("{}:{}: {}", file.path, index + 1, line.trim()));
            }
        }
    }
    none("No file names a machine's paths:", &findings);
}
