//! Sentences about what an account has used.

use std::sync::Arc;

use crate::{
    ledger::{Ledger, Quota, Sums, Turnover, Usage},
    testing::{Draft, Scene, Sealing},
    types::{Cents, Nif},
};

/// L60. Months count new invoices with their amounts and cancellations, for the account and for each of
/// its issuers, newest first; corrections, refusals and what has no quota count nowhere.
pub async fn l60_months_are_counted(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let in_month = |month: &str, draft: Draft| Draft {
        quota: Some(Quota { month: month.to_owned(), limit: None }),
        ..draft
    };
    let mut other_issuer = scene.invoice("F-3");
    other_issuer.invoice.issuer = Nif::parse("12345678Z").unwrap();
    for draft in [
        in_month("2026-07", scene.invoice("F-1")),
        in_month("2026-07", scene.invoice("F-2")),
        in_month("2026-07", other_issuer.clone()),
        in_month("2026-07", scene.correction("F-1")),
        in_month("2026-07", scene.cancellation("F-2")),
        in_month("2026-08", scene.invoice("F-4")),
        scene.invoice("F-5"),
        in_month("2026-07", scene.of("other").invoice("F-1")),
    ] {
        scene.accept(&*ledger, &draft).await;
    }
    let refused = Draft { sealing: Sealing::Refuse, ..in_month("2026-07", scene.invoice("F-6")) };
    ledger.append(refused.append()).await.unwrap();

    let usage =
        |month: &str, invoices, cancellations| Usage { month: month.to_owned(), invoices, cancellations };
    let all = ledger.usage(&scene.tenant, "2026-07").await.unwrap();
    assert_eq!(all, [usage("2026-08", 1, 0), usage("2026-07", 3, 1)]);
    assert_eq!(ledger.usage(&scene.tenant, "2026-08").await.unwrap(), [usage("2026-08", 1, 0)]);
    assert_eq!(ledger.usage(&scene.of("other").tenant, "2026-01").await.unwrap(), [usage("2026-07", 1, 0)]);
    assert_eq!(ledger.usage(&scene.of("third").tenant, "2026-01").await.unwrap(), []);

    let turnover = |month: &str, issuer, invoices: i64, cancellations| Turnover {
        month: month.to_owned(),
        issuer,
        sums: Sums {
            invoices: invoices.unsigned_abs(),
            cancellations,
            base: Cents(10_000 * invoices),
            tax: Cents(2_100 * invoices),
            total: Cents(12_100 * invoices),
        },
    };
    assert_eq!(
        ledger.turnover(&scene.tenant, "2026-01").await.unwrap(),
        [
            turnover("2026-08", scene.issuer, 1, 0),
            turnover("2026-07", other_issuer.invoice.issuer, 1, 0),
            turnover("2026-07", scene.issuer, 2, 1),
        ]
    );
}
