//! The example programs: each asserts what it prints, so it is run and has to end well.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

#[test]
fn every_example_ends_well() {
    for name in examples() {
        let program = built(&name);
        let output = Command::new(&program).output().unwrap_or_else(|error| {
            panic!("{}: {error}; build it with `cargo build --workspace --examples`", program.display())
        });
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name} ended with {}:\n{said}", output.status);
        assert!(!output.stdout.is_empty(), "{name} printed nothing");
    }
}

/// The programs by the names of their files.
fn examples() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("examples/programs");
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert!(!names.is_empty());
    names
}

/// Where cargo puts an example: beside the folder of this test's own executable.
fn built(name: &str) -> PathBuf {
    let ours = std::env::current_exe().unwrap();
    let profile = ours.parent().unwrap().parent().unwrap();
    profile.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION)
}
