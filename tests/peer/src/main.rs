//! The crate `verifactu` 0.1.11 of crates.io beside ours, on the same thousand records:
//! `cargo run --release --manifest-path tests/peer/Cargo.toml`.
//!
//! The peer gets its records by reading the message that we wrote, so both hold the same values; that
//! both give the same huellas is checked before anything is timed. It offers a huella, a message
//! around its records, and reading an answer; it does not check an answer's codes and lists as we
//! do. The two take turns, and the fastest turn of each counts.

use std::{
    error::Error,
    hint::black_box,
    time::{Duration, Instant},
};

use quick_xml::de::from_str;
use verifactu::{
    hashing::Hashable,
    schema::{RespuestaSuministro, SoapEnvelopeReg, SoapEnvelopeRespuestaReg, SuministroInformacion},
};
use verifactu_core::{chain, types::Huella, xml::answer};

#[path = "../../harness/records.rs"]
#[allow(dead_code)]
mod records;

const BATCH: usize = 1000;
const TIME_PER_LINE: Duration = Duration::from_secs(3);

fn main() -> Result<(), Box<dyn Error>> {
    let ours = records::chain(BATCH);
    let mut arena = Vec::new();
    let message = String::from_utf8(records::message(&ours, &mut arena))?;
    let theirs: SoapEnvelopeReg<SuministroInformacion> = from_str(&message)?;
    let previous: Vec<Option<&str>> =
        ours.iter().map(|record| record.link.previous_huella().map(Huella::as_str)).collect();
    let pairs = || theirs.body.payload.registro_factura.iter().zip(&previous);
    if !pairs().zip(&ours).all(|((their, previous), our)| their.hash(*previous) == our.huella.as_str()) {
        return Err("the huellas differ".into());
    }

    println!("| what, per record | ours, ns | theirs, ns | theirs / ours |");
    println!("|---|--:|--:|--:|");
    compare(
        "huella",
        || {
            for record in &ours {
                let previous = record.link.previous_huella();
                black_box(chain::huella(&record.statement, previous, &record.generated_at));
            }
        },
        || {
            for (record, previous) in pairs() {
                black_box(record.hash(*previous));
            }
        },
    );
    compare(
        "message of 1000 records",
        || {
            black_box(records::message(&ours, &mut arena));
        },
        || {
            black_box(theirs.to_xml());
        },
    );

    let document = records::accepted(&ours);
    answer::read(document.as_bytes())?;
    from_str::<SoapEnvelopeRespuestaReg<RespuestaSuministro>>(&document)?;
    compare(
        "answer of 1000 lines",
        || {
            black_box(answer::read(document.as_bytes()).is_ok());
        },
        || {
            black_box(from_str::<SoapEnvelopeRespuestaReg<RespuestaSuministro>>(&document).is_ok());
        },
    );
    Ok(())
}

/// Prints a line of the table. Both do their work [`BATCH`] times in a call.
fn compare(what: &str, mut ours: impl FnMut(), mut theirs: impl FnMut()) {
    let mut best = [Duration::MAX; 2];
    let end = Instant::now() + TIME_PER_LINE;
    while Instant::now() < end {
        best = [best[0].min(time(&mut ours)), best[1].min(time(&mut theirs))];
    }
    let [ours, theirs] = best.map(|time| time.as_nanos() as f64 / BATCH as f64);
    println!("| {what} | {ours:.0} | {theirs:.0} | {:.1} |", theirs / ours);
}

fn time(work: &mut impl FnMut()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}
