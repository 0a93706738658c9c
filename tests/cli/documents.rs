//! What the documents say of the tool.

use std::process::Command;

use harness::programs::{program, workspace};

fn help(arguments: &[&str]) -> String {
    let output = Command::new(program("verifactu")).args(arguments).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_readme_lists_the_commands_and_exit_codes_are_told() {
    let help = help(&["--help"]);
    assert!(help.contains("Exit codes:"), "{help}");
    let commands =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let readme = std::fs::read_to_string(workspace().join("README.md")).unwrap();
    let mut count = 0;
    for name in commands.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()) {
        if !name.is_empty() && name != "help" {
            assert!(readme.contains(&format!("| `{name}` |")), "README.md does not list `{name}`");
            count += 1;
        }
    }
    assert_eq!(
        readme
            .lines()
            .skip_while(|line| *line != "## The command line")
            .skip_while(|line| *line != "| command | |")
            .skip(2)
            .take_while(|line| line.starts_with('|'))
            .count(),
        count
    );
}

#[test]
fn completions_name_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(help(&["completions", shell]).contains("verify-chain"));
    }
}
