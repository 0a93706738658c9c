//! The service under faults: a short count of each kind, side by side; and that the comparison, which
//! judges them, misses nothing.

use std::process::Command;

use harness::{
    histories::{Findings, Histories, Job, Kept, Registered, Told},
    programs::{program, said},
};

fn job(number: usize) -> Job {
    Job { id: format!("job {number}"), huella: format!("huella {number}") }
}

/// Three invoices of one issuer, told, kept, registered and notified.
fn sound() -> Histories {
    let (issuer, invoice) = ("B12345674".to_owned(), |number| format!("F-{number}"));
    let told = |number| Told {
        issuer: issuer.clone(),
        number: invoice(number),
        jobs: vec![job(number); 2],
        conflicts: 0,
    };
    let kept = |number: usize| Kept {
        job: job(number),
        issuer: issuer.clone(),
        number: invoice(number),
        position: number as u64,
        previous: (number > 1).then(|| job(number - 1).huella),
        accepted: true,
    };
    let registered =
        |number| Registered { issuer: issuer.clone(), number: invoice(number), huella: job(number).huella };
    let rival = Told { jobs: Vec::new(), conflicts: 1, ..told(2) };
    let told = (1..=3).map(|number| (format!("key {number}"), told(number)));
    Histories {
        told: told.chain([("rival".to_owned(), rival)]).collect(),
        kept: (1..=3).map(kept).collect(),
        registered: (1..=3).map(registered).collect(),
        hooks: (1..=3).map(|number| job(number).id).collect(),
    }
}

#[test]
fn the_comparison_misses_nothing() {
    assert_eq!(sound().compare(), Findings::default());
    type Field = fn(&Findings) -> usize;
    type Change = fn(&mut Histories);
    let cases: &[(&str, Field, Change)] = &[
        (
            "a record is gone",
            |found| found.lost,
            |story| {
                story.kept.pop();
            },
        ),
        (
            "a record has another huella than was told",
            |found| found.lost,
            |story| {
                story.kept[2].job.huella = "other".into();
            },
        ),
        (
            "a record has another number than was told",
            |found| found.lost,
            |story| {
                story.kept[2].number = "F-9".into();
            },
        ),
        (
            "a conflict over a number that nobody used",
            |found| found.lost,
            |story| {
                story.told.get_mut("rival").unwrap().number = "F-9".into();
            },
        ),
        (
            "the authority does not hold what it is said to",
            |found| found.lost,
            |story| {
                story.registered.pop();
            },
        ),
        (
            "an invoice has two records",
            |found| found.twice,
            |story| {
                story.kept[2].number = "F-2".into();
            },
        ),
        (
            "an invoice is registered twice",
            |found| found.twice,
            |story| {
                story.registered.push(story.registered[0].clone());
            },
        ),
        (
            "a key has two jobs",
            |found| found.twice,
            |story| {
                story.told.get_mut("key 1").unwrap().jobs[1] = job(2);
            },
        ),
        (
            "a key has a job and a conflict",
            |found| found.twice,
            |story| {
                story.told.get_mut("key 1").unwrap().conflicts = 1;
            },
        ),
        (
            "two records follow on the same one",
            |found| found.forks,
            |story| {
                story.kept[2].previous = Some(job(1).huella);
            },
        ),
        (
            "a place is empty",
            |found| found.forks,
            |story| {
                story.kept[2].position = 4;
            },
        ),
        (
            "a chain begins in the middle",
            |found| found.forks,
            |story| {
                story.kept.remove(0);
            },
        ),
        (
            "only the authority knows a record",
            |found| found.forks,
            |story| {
                story.registered[2].huella = "other".into();
            },
        ),
        (
            "a job is notified twice",
            |found| found.webhooks_too_many,
            |story| {
                story.hooks.push(job(1).id);
            },
        ),
        (
            "a webhook of no job",
            |found| found.webhooks_too_many,
            |story| {
                story.hooks[0] = "other".into();
            },
        ),
        (
            "a record still waits",
            |found| found.unsettled,
            |story| {
                story.kept[2].accepted = false;
            },
        ),
    ];
    for (what, field, change) in cases {
        let mut story = sound();
        change(&mut story);
        let found = story.compare();
        assert!(field(&found) > 0, "{what}: {found:?}");
    }
}

#[test]
fn a_fault_of_each_kind_costs_nothing() {
    let output = Command::new(program("faults")).arg("--each").arg("1").output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
}
