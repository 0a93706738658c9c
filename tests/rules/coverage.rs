//! Every published code is accounted for, every rule is tested, and the documentation shows the table.

use std::{collections::BTreeSet, fmt::Write, path::Path};

use verifactu_core::{
    authority::codes,
    validation::{
        self, Needs,
        coverage::{self, Coverage},
    },
};

#[test]
fn every_code_is_accounted_for_once() {
    let rows = coverage::rows();
    let covered: Vec<i64> = rows.iter().map(|row| i64::from(row.code)).collect();
    let published: Vec<i64> = codes::all().map(|row| row.code).collect();
    assert_eq!(covered, published);
    assert!(rows.iter().all(|row| !row.note.is_empty()));
}

#[test]
fn the_rules_know_the_authoritys_level() {
    for rule in validation::rules() {
        let Some(row) = rule.code.and_then(|code| codes::lookup(i64::from(code))) else { continue };
        let expected = match rule.level {
            validation::Level::Doubtful => continue,
            validation::Level::Admitted => codes::Level::Admitted,
            validation::Level::Record => codes::Level::Record,
            validation::Level::Submission => codes::Level::Submission,
        };
        assert_eq!(row.level, expected, "{}", rule.id);
    }
}

/// A rule's name stands in the tests as what a body breaks, or as the warning that it causes.
#[test]
fn every_rule_is_tested() {
    let tests = [include_str!("rules.rs"), include_str!("parties.rs"), include_str!("doubts.rs")].concat();
    let untested: Vec<_> = validation::rules()
        .filter(|rule| rule.needs() == Needs::Statement && rule.id != "regime_missing")
        .filter(|rule| {
            let name = rule.code.map_or_else(|| rule.id.to_owned(), |code| code.to_string());
            ["", "W"].iter().all(|mark| {
                !tests.contains(&format!("\"{mark}{name} ")) && !tests.contains(&format!("\"{mark}{name}\""))
            })
        })
        .map(|rule| rule.id)
        .collect();
    assert_eq!(untested, [""; 0]);
}

#[test]
fn the_documentation_shows_the_table() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../verifactu-core/src/validation/coverage.md");
    let text = document();
    if std::fs::read_to_string(&file).unwrap() != text {
        let right = Path::new(env!("CARGO_TARGET_TMPDIR")).join("coverage.md");
        std::fs::write(&right, text).unwrap();
        panic!("coverage.md is not that of the data; {} is", right.display());
    }
}

const KINDS: [(Coverage, &str, &str); 6] = [
    (Coverage::Rule, "rule", "A rule finds it in what is stated, before there is a record or a message."),
    (Coverage::Ledger, "ledger", "Chain and ledger see to it while the record is sealed and sent."),
    (Coverage::Value, "value", "It is refused when a value is read, and cannot be built."),
    (Coverage::Written, "written", "What writes the message never writes it."),
    (Coverage::Authority, "authority", "Only the authority can know."),
    (Coverage::Unused, "unused", "The published rules answer another code instead, or none."),
];

fn document() -> String {
    let rows = coverage::rows();
    let distinct: BTreeSet<u16> = rows.iter().map(|row| row.code).collect();
    let mut text = format!(
        "Who looks after each of the {} codes of the authority's list.\n\n\
         A code of the kind *rule* may still come back where a rule takes the lenient reading, or where the\n\
         authority's census has a say too; one of the kind *ledger* where other systems of the issuer sent\n\
         records that this ledger does not know.\n\n| kind | codes | meaning |\n|---|---|---|\n",
        distinct.len()
    );
    for (kind, name, meaning) in KINDS {
        let count = rows.iter().filter(|row| row.coverage == kind).count();
        writeln!(text, "| {name} | {count} | {meaning} |").unwrap();
    }
    text.push_str("\n| code | kind | how |\n|---|---|---|\n");
    for row in rows {
        let (_, name, _) = KINDS.into_iter().find(|(kind, ..)| *kind == row.coverage).unwrap();
        writeln!(text, "| {} | {name} | {} |", row.code, row.note).unwrap();
    }
    text
}
