use std::collections::BTreeMap;

use verifactu_core::authority::codes::{self, Advice, Level, Retry};

use super::official;

#[test]
fn every_row_is_found_and_no_other() {
    assert_eq!(codes::all().count(), 247);
    assert!(codes::all().is_sorted_by_key(|row| row.code));
    for row in codes::all() {
        assert_eq!(codes::lookup(row.code), Some(row));
    }
    for unknown in [-904, 0, 102, 103, 1113, 1141, 1204, 1278, 20009, i64::MIN, i64::MAX] {
        assert_eq!(codes::lookup(unknown), None, "{unknown}");
    }
}

#[test]
fn levels_follow_the_sections_and_not_the_first_digit() {
    let count = |level| codes::all().filter(|row| row.level == level).count();
    assert_eq!([Level::Submission, Level::Record, Level::Admitted].map(count), [44, 193, 10]);
    assert_eq!(codes::lookup(3500).unwrap().level, Level::Submission);
    assert_eq!(codes::lookup(3000).unwrap().level, Level::Record);
    assert_eq!(codes::lookup(2009).unwrap().level, Level::Admitted);
}

#[test]
fn only_technical_codes_are_sent_again_unchanged() {
    let technical: Vec<i64> =
        codes::all().filter(|row| row.retry == Retry::Unchanged).map(|row| row.code).collect();
    assert_eq!(technical, [1129, 1241, 1243, 1256, 1288, 3500, 3501, 4103, 4108, 4110, 4111, 4118, 4128]);
    for row in codes::all().filter(|row| row.text.starts_with("Error técnico")) {
        assert_eq!(row.retry, Retry::Unchanged, "{}", row.code);
    }
    let operator: Vec<i64> =
        codes::all().filter(|row| row.retry == Retry::Operator).map(|row| row.code).collect();
    assert_eq!(operator, [4112, 4141]);
}

#[test]
fn the_table_is_the_published_one() {
    let Some(path) = official::file("errores.properties") else { return };
    // ISO-8859-1: every byte is the character with its number.
    let text: String = std::fs::read(path).unwrap().into_iter().map(char::from).collect();
    let mut level = None;
    let mut published = BTreeMap::new();
    for line in text.lines() {
        if line.starts_with('*') {
            level = Some(match level {
                None => Level::Submission,
                Some(Level::Submission) => Level::Record,
                Some(_) => Level::Admitted,
            });
        } else if let Some((code, text)) = line.split_once('=') {
            published.insert(code.trim().parse::<i64>().unwrap(), (level.unwrap(), text.trim().to_owned()));
        }
    }
    // One letter of 1214 is published in UTF-8 inside the ISO-8859-1 file.
    let defect = published.get_mut(&1214).unwrap();
    defect.1 = defect.1.replace("Ãº", "ú");
    let table: BTreeMap<_, _> =
        codes::all().map(|row| (row.code, (row.level, row.text.to_owned()))).collect();
    assert_eq!(table, published);
}

#[test]
fn the_advice_says_what_may_follow() {
    let with = |advice| -> Vec<i64> {
        codes::all().filter(|row| row.advice() == advice).map(|row| row.code).collect()
    };
    assert_eq!(with(Advice::None), [2004, 2009]);
    assert_eq!(with(Advice::CorrectAfterwards), [2000, 2001, 2002, 2003, 2005, 2006, 2007, 2008]);
    assert_eq!(with(Advice::LookUp), [3000, 3001]);
    assert_eq!(with(Advice::StateHistory), [3002]);
    assert_eq!(with(Advice::Authorize), [4112]);
    for row in codes::all() {
        let advice = row.advice();
        assert!(!advice.text_en().is_empty() && !advice.text_es().is_empty());
        if row.retry == Retry::Unchanged {
            assert_eq!(advice, Advice::Wait, "{}", row.code);
        }
        if matches!(advice, Advice::None | Advice::CorrectAfterwards) {
            assert_eq!(row.level, Level::Admitted, "{}", row.code);
        }
    }
}
