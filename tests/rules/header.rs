//! Both edges of the rule on what a header states: the last day of VERI*FACTU operation.

use verifactu_core::{
    api::rest_path,
    types::Date,
    validation::{self, Context, Level, Needs, validate_verifactu_end},
};

#[test]
fn the_last_day_of_operation_ends_this_year_or_the_last() {
    for (today, day, taken) in [
        ("31-12-2026", "15-06-2026", true),
        ("31-12-2026", "30-12-2029", true),
        ("01-01-2027", "15-06-2026", false),
        ("01-01-2027", "30-12-2026", false),
        ("01-01-2027", "30-11-2026", false),
        ("01-01-2027", "31-10-2026", false),
        ("01-01-2027", "01-01-2027", false),
        ("01-01-2027", "31-12-2025", false),
        ("01-01-2027", "31-12-2026", true),
        ("01-01-2027", "31-12-2027", true),
        ("01-01-2027", "31-12-2028", false),
        ("31-12-2027", "31-12-2026", true),
        ("31-12-2027", "31-12-2027", true),
        ("01-01-2028", "31-12-2026", false),
        ("01-01-2028", "31-12-2028", true),
    ] {
        let date = |text| Date::parse(text).unwrap();
        let found = validate_verifactu_end(date(day), &Context { today: date(today) });
        assert_eq!(found.is_empty(), taken, "{day} on {today}");
        for finding in found {
            assert_eq!((finding.rule.id, finding.rule.level), ("4120", Level::Submission));
            assert_eq!(rest_path(&finding.path), "fechaFinVeriFactu");
            assert!(finding.message.contains(day), "{}", finding.message);
        }
    }
}

/// No statement breaks it, and no setting turns it into a warning.
#[test]
fn it_is_the_only_rule_of_the_header() {
    let rules: Vec<_> = validation::rules().filter(|rule| rule.needs() == Needs::Header).collect();
    assert_eq!(rules.iter().map(|rule| rule.id).collect::<Vec<_>>(), ["4120"]);
    assert!(!rules[0].is_demotable());
}
