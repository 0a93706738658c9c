//! Who may depend on what.

use std::{collections::BTreeSet, process::Command};

use serde_json::Value;

use crate::{none, source::root};

/// The members of the workspace, each with the members it may use.
const MEMBERS: &[(&str, &[&str])] = &[
    ("verifactu-core", &[]),
    ("verifactu-server", &["verifactu-core"]),
    ("verifactu-client", &["verifactu-core"]),
    ("verifactu-examples", &["verifactu-core", "verifactu-server", "verifactu-client"]),
    ("verifactu-tests", &["verifactu-core", "verifactu-server", "verifactu-client"]),
];

/// What the model, the rules, the chain and the REST types do without.
const NOT_IN_BARE_CORE: &[&str] =
    &["warp", "redis", "pkcs12", "aes-gcm", "quick-xml", "tokio", "reqwest", "rustls", "rusqlite"];

/// What a program that only talks to the service does without.
const NOT_IN_CLIENT: &[&str] = &[
    "warp",
    "redis",
    "pkcs12",
    "aes-gcm",
    "quick-xml",
    "rusqlite",
    "x509-parser",
    "clap",
    "csv",
    "indicatif",
];

/// There is one provider of cryptography for TLS, and it is neither of these.
const NOWHERE: &[&str] = &["ring", "openssl", "openssl-sys", "native-tls"];

#[test]
fn members_use_the_members_they_may() {
    let metadata: Value =
        serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version", "1"])).unwrap();
    let mut findings = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let Some((_, allowed)) = MEMBERS.iter().find(|(member, _)| *member == name) else {
            findings.push(format!("{name} is not in the table of members"));
            continue;
        };
        for dependency in package["dependencies"].as_array().unwrap() {
            let used = dependency["name"].as_str().unwrap();
            if MEMBERS.iter().any(|(member, _)| *member == used) && !allowed.contains(&used) {
                findings.push(format!("{name} uses {used}"));
            }
            let bare = dependency["uses_default_features"] == false
                && dependency["features"].as_array().is_some_and(Vec::is_empty);
            if name == "verifactu-client" && used == "verifactu-core" && !bare {
                findings.push("verifactu-client uses features of verifactu-core".to_owned());
            }
        }
    }
    none("A member uses only the members it may:", &findings);
}

#[test]
fn bare_core_is_light() {
    let tree = tree(&["-p", "verifactu-core", "--no-default-features", "-e", "normal"]);
    assert!(tree.contains("sha2"), "the tree was not read: {tree:?}");
    none("verifactu-core without features contains", &among(&tree, NOT_IN_BARE_CORE));
}

/// As it comes, and for programs without an async runtime of their own.
#[test]
fn client_is_light() {
    for features in [&[][..], &["--no-default-features"], &["--features", "blocking"]] {
        let tree = tree(&[&["-p", "verifactu-client", "-e", "normal"], features].concat());
        assert!(tree.contains("reqwest"), "the tree was not read: {tree:?}");
        none(&format!("verifactu-client {features:?} contains"), &among(&tree, NOT_IN_CLIENT));
    }
}

/// The lock file also names optional crates that nobody turns on, so the tree is asked.
#[test]
fn one_tls_provider() {
    let tree = tree(&["--workspace", "--all-features", "-e", "normal,build"]);
    assert!(tree.contains("aws-lc-rs"), "the tree was not read: {tree:?}");
    none("The workspace contains", &among(&tree, NOWHERE));
}

/// What is published can be packaged, and carries its licences and what it is.
#[test]
fn members_can_be_packaged() {
    let target = tempfile::tempdir().unwrap();
    let folder = target.path().to_str().unwrap();
    cargo(&["package", "--workspace", "--no-verify", "--allow-dirty", "--offline", "--target-dir", folder]);
    let mut findings = Vec::new();
    for member in ["verifactu-core", "verifactu-server", "verifactu-client"] {
        let listed = cargo(&["package", "-p", member, "--list", "--allow-dirty", "--offline"]);
        let files: BTreeSet<&str> = listed.lines().collect();
        let missing =
            ["LICENSE-APACHE", "LICENSE-MIT", "README.md"].into_iter().filter(|file| !files.contains(file));
        findings.extend(missing.map(|file| format!("{member}: {file}")));
    }
    none("Every package has its licences and README.md:", &findings);
}

fn among(tree: &BTreeSet<String>, names: &[&str]) -> Vec<String> {
    names.iter().filter(|name| tree.contains(**name)).map(ToString::to_string).collect()
}

/// The names of the packages that a build would use.
fn tree(arguments: &[&str]) -> BTreeSet<String> {
    let tree = cargo(&[&["tree", "--prefix", "none", "--format", "{p}"], arguments].concat());
    tree.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

fn cargo(arguments: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO")).args(arguments).arg("--locked").current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
