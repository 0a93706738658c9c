//! The tests that a table names exist.

use crate::programs::workspace;

/// Whether a test of this name exists: the file's path from the root without its ending, and the function.
pub fn is_test(name: &str) -> bool {
    body(name).is_some()
}

/// The code of a test.
pub fn body(name: &str) -> Option<String> {
    let (file, function) = name.rsplit_once("::")?;
    let text = std::fs::read_to_string(workspace().join(format!("{file}.rs"))).ok()?;
    if !tests(&text).iter().any(|test| test == function) {
        return None;
    }
    let start = ["(", "<"].iter().find_map(|next| text.find(&format!("fn {function}{next}")))?;
    text[start..].split("\n}\n").next().map(str::to_owned)
}

/// The functions behind a `#[test]` or `#[tokio::test]`, and the cases of conformance suites, which begin
/// with a letter and a number.
pub fn tests(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut marked = false;
    for line in text.lines().map(str::trim) {
        let Some((head, rest)) = line.split_once("fn ") else {
            marked |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            continue;
        };
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let mut start = name.chars();
        let is_case = head == "pub async "
            && start.next().is_some_and(char::is_alphabetic)
            && start.next().is_some_and(|c| c.is_ascii_digit());
        if marked || is_case {
            found.push(name);
        }
        marked = false;
    }
    found
}
