//! The walk finds the first record that does not hold, and says why.

use verifactu_core::chain::{
    Break, BreakReason, CancellationFields, Canonical, ChainedFields, ChainedRecord, InvoiceFields, Walk,
};

const ISSUER: &str = "B12345674";
const DATE: &str = "15-10-2026";

/// A record with texts of its own, to be altered.
#[derive(Clone)]
struct Written {
    number: String,
    total: &'static str,
    cancels: bool,
    previous: String,
    predecessor: Option<[String; 3]>,
    generated_at: String,
    huella: String,
}

impl Written {
    fn fields(&self) -> ChainedFields<'_> {
        let (previous, generated_at) = (self.previous.as_str(), self.generated_at.as_str());
        if self.cancels {
            let number = &self.number;
            return ChainedFields::Cancellation(CancellationFields {
                issuer: ISSUER,
                number,
                date: DATE,
                previous,
                generated_at,
            });
        }
        ChainedFields::Invoice(InvoiceFields {
            issuer: ISSUER,
            number: &self.number,
            date: DATE,
            invoice_type: "F1",
            tax_total: "21.0",
            total: self.total,
            previous,
            generated_at,
        })
    }

    fn seal(&mut self) {
        self.huella = match self.fields() {
            ChainedFields::Invoice(fields) => fields.huella(),
            ChainedFields::Cancellation(fields) => fields.huella(),
        }
        .to_string();
    }
}

/// Four records, the last of which cancels the third.
fn chain() -> Vec<Written> {
    let mut records: Vec<Written> = Vec::new();
    for index in 1..=4 {
        let before = records.last();
        let mut record = Written {
            number: format!("A-{}", index.min(3)),
            total: "121.0",
            cancels: index == 4,
            previous: before.map(|before| before.huella.clone()).unwrap_or_default(),
            predecessor: before.map(|before| [ISSUER.into(), before.number.clone(), DATE.into()]),
            generated_at: format!("2026-10-15T10:00:0{index}+02:00"),
            huella: String::new(),
        };
        record.seal();
        records.push(record);
    }
    records
}

fn walk(records: &[Written]) -> Result<u64, Break> {
    let mut walk = Walk::default();
    for record in records {
        let predecessor = record.predecessor.as_ref().map(|key| key.each_ref().map(String::as_str));
        walk.next(ChainedRecord { fields: record.fields(), predecessor, huella: &record.huella })?;
    }
    Ok(walk.checked())
}

/// What the walk says after the record at `position` (from 1) was altered and, if that is said,
/// sealed again as a forger would.
fn altered(position: usize, alter: impl FnOnce(&mut Written)) -> Break {
    let mut records = chain();
    alter(&mut records[position - 1]);
    walk(&records).unwrap_err()
}

#[test]
fn a_whole_chain_holds() {
    assert_eq!(walk(&chain()), Ok(4));
    assert_eq!(walk(&[]), Ok(0));
}

#[test]
fn a_record_that_was_touched_does_not_match_its_huella() {
    let computed = {
        let mut record = chain()[1].clone();
        record.total = "12.1";
        record.seal();
        record.huella
    };
    let found = altered(2, |record| record.total = "12.1");
    assert_eq!(found, Break { position: 2, reason: BreakReason::Huella { computed } });
    assert!(matches!(altered(4, |r| r.number = "A-2".into()).reason, BreakReason::Huella { .. }));
    assert!(matches!(altered(1, |r| r.huella.make_ascii_lowercase()).reason, BreakReason::Huella { .. }));
}

#[test]
fn a_record_sealed_again_breaks_the_one_behind_it() {
    let mut records = chain();
    records[1].total = "12.1";
    records[1].seal();
    let expected = records[1].huella.clone();
    assert_eq!(walk(&records), Err(Break { position: 3, reason: BreakReason::PreviousHuella { expected } }));
}

#[test]
fn a_record_taken_out_is_missed() {
    let mut records = chain();
    let expected = records[0].huella.clone();
    records.remove(1);
    assert_eq!(walk(&records), Err(Break { position: 2, reason: BreakReason::PreviousHuella { expected } }));
}

#[test]
fn only_the_first_record_is_the_first() {
    let start = |position| Break { position, reason: BreakReason::Start };
    assert_eq!(walk(&chain()[1..]), Err(start(1)));
    assert_eq!(altered(1, |record| record.predecessor = Some(["", "", ""].map(String::from))), start(1));
    assert_eq!(altered(3, |record| record.predecessor = None), start(3));
    let foreign = altered(1, |record| {
        record.previous = "A".repeat(64);
        record.seal();
    });
    assert_eq!(foreign, start(1));
}

#[test]
fn the_predecessor_is_named_by_its_invoice_too() {
    let other = altered(3, |record| record.predecessor.as_mut().unwrap()[1] = "A-1".into());
    assert_eq!(other, Break { position: 3, reason: BreakReason::PreviousInvoice });
}

#[test]
fn time_does_not_go_back() {
    let sealed_at = |position, time: &str| {
        altered(position, |record| {
            record.generated_at = time.into();
            record.seal();
        })
    };
    let time = |position| Break { position, reason: BreakReason::Time };
    assert_eq!(sealed_at(4, "2026-10-15T10:00:02+02:00"), time(4));
    assert_eq!(sealed_at(4, "2026-10-15T10:00:04+03:00"), time(4), "an hour earlier in truth");
    assert_eq!(sealed_at(1, "15-10-2026 10:00"), time(1));

    let mut records = chain();
    let last = &mut records[3];
    last.generated_at = "2026-10-15T08:00:03Z".into();
    last.seal();
    assert_eq!(walk(&records), Ok(4), "the same second, spelled otherwise");
}

#[test]
fn every_reason_says_what_is_wrong() {
    let reasons = [
        BreakReason::Huella { computed: "AB".into() },
        BreakReason::Start,
        BreakReason::PreviousHuella { expected: "CD".into() },
        BreakReason::PreviousInvoice,
        BreakReason::Time,
    ];
    let texts: std::collections::BTreeSet<_> = reasons.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), reasons.len());
    assert!(texts.iter().any(|text| text.contains("AB")) && texts.iter().any(|text| text.contains("CD")));
}
