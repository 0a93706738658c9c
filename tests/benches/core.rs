//! What the core costs, each beside the least that any program would have to do for it, measured in
//! the same run: `cargo bench -p verifactu-tests --bench core`.
//!
//! The two of a pair take turns and the fastest turn of each counts, so that a busy machine slows
//! both or neither. A ratio of 0.80 says that four fifths of our time is the floor's.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods)]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use harness::records;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use uuid::Uuid;
use verifactu_core::{
    certificate::{self, Wanted},
    chain,
    record::Record,
    signature::{EcKeys, Signer},
    types::Secret,
    xml::{answer, record},
};

const BATCH: usize = 1000;
const TIME_PER_LINE: Duration = Duration::from_secs(2);

fn main() {
    let chain = records::chain(BATCH);
    println!("| what | ns each | per second | floor | ns each | ratio |");
    println!("|---|--:|--:|---|--:|--:|");
    huella(&chain);
    one_record(&chain);
    message(&chain);
    answer_lines(&chain);
    signatures(&chain);
}

/// Floor: SHA-256 of the canonical strings, built beforehand.
fn huella(chain: &[Record]) {
    let strings: Vec<String> = chain
        .iter()
        .map(|r| chain::canonical(&r.statement, r.link.previous_huella(), &r.generated_at))
        .collect();
    compare(
        ["huella of a record", "SHA-256 of the same string"],
        || {
            for record in chain {
                black_box(chain::huella(
                    &record.statement,
                    record.link.previous_huella(),
                    &record.generated_at,
                ));
            }
        },
        || {
            for string in &strings {
                black_box(Sha256::digest(string));
            }
        },
    );
}

/// Floor: a copy of the same bytes.
fn one_record(chain: &[Record]) {
    let written: Vec<Vec<u8>> = chain.iter().map(record::to_vec).collect();
    let (mut ours, mut floor) = (Vec::with_capacity(4096), Vec::with_capacity(4096));
    compare(
        ["XML of a record", "copy of the same bytes"],
        || {
            for record in chain {
                ours.clear();
                record::write(record, &mut ours);
                black_box(&ours);
            }
        },
        || {
            for bytes in &written {
                floor.clear();
                floor.extend_from_slice(black_box(bytes));
                black_box(&floor);
            }
        },
    );
}

/// Floor: a copy of the whole message.
fn message(chain: &[Record]) {
    let mut arena = Vec::new();
    let message = records::message(chain, &mut arena);
    compare(
        ["message of 1000 records, per record", "copy of the same bytes"],
        || {
            black_box(records::message(chain, &mut arena));
        },
        || {
            black_box(black_box(&message).clone());
        },
    );
}

/// Floor: the events of the same document from the XML reader beneath.
fn answer_lines(chain: &[Record]) {
    let document = records::accepted(chain);
    assert!(answer::read(document.as_bytes()).is_ok());
    compare(
        ["answer of 1000 lines, per line", "bare events of quick-xml"],
        || {
            black_box(answer::read(black_box(document.as_bytes())).is_ok());
        },
        || {
            let mut reader = quick_xml::Reader::from_reader(black_box(document.as_bytes()));
            while !matches!(black_box(reader.read_event()), Ok(quick_xml::events::Event::Eof) | Err(_)) {}
        },
    );
}

/// Floor: a bare signature with the same key, RSA of 2048 bits.
fn signatures(chain: &[Record]) {
    let file = include_bytes!("../fixtures/pkcs12/aes256.p12");
    let now = Timestamp::from_second(1_795_000_000).unwrap();
    let wanted = Wanted { holder: None, now };
    let identity = certificate::open(file, &Secret::new("correct".into()), wanted).unwrap().identity;
    let signer = Signer::new(&identity, EcKeys::Refuse).unwrap();
    let written: Vec<String> =
        chain.iter().map(|record| String::from_utf8(record::to_vec(record)).unwrap()).collect();
    let mut out = Vec::new();
    compare(
        ["signature of a record", "bare signature with the same key"],
        || {
            for record in &written {
                out.clear();
                signer.sign(record, Uuid::from_u128(7), now, &mut out).unwrap();
            }
        },
        || {
            for record in &written {
                black_box(identity.sign(record.as_bytes()).unwrap());
            }
        },
    );
}

/// Prints a line of the table. Both do their work [`BATCH`] times in a call.
fn compare([what, floor_name]: [&str; 2], mut ours: impl FnMut(), mut floor: impl FnMut()) {
    let mut best = [Duration::MAX; 2];
    let end = Instant::now() + TIME_PER_LINE;
    while Instant::now() < end {
        best = [best[0].min(time(&mut ours)), best[1].min(time(&mut floor))];
    }
    let [ours, floor] = best.map(|time| time.as_nanos() as f64 / BATCH as f64);
    println!("| {what} | {ours:.0} | {:.0} | {floor_name} | {floor:.0} | {:.2} |", 1e9 / ours, floor / ours);
}

fn time(work: &mut impl FnMut()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}
