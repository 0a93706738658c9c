//! Answers that no authority should send, behind a message that it has registered: whatever comes
//! back, no record is settled by it that should not be, and all are found out about.

use std::time::Duration;

use verifactu_core::job::{Csv, JobState, Standing};

use crate::{
    wire::Spoil,
    world::{World, send},
};

const MINUTE: Duration = Duration::from_secs(60);
const RECORDS: usize = 3;

/// What becomes of the answer's bytes on the way.
type Change = fn(String) -> Vec<u8>;

const LINE: (&str, &str) = ("<tikR:RespuestaLinea>", "</tikR:RespuestaLinea>");

/// The lines of an answer, and what stands around them.
fn lines(answer: &str) -> (String, Vec<String>, String) {
    let start = answer.find(LINE.0).unwrap();
    let end = answer.rfind(LINE.1).unwrap() + LINE.1.len();
    let lines = answer[start..end].split_inclusive(LINE.1).map(str::to_owned).collect();
    (answer[..start].to_owned(), lines, answer[end..].to_owned())
}

fn with_lines(answer: String, change: impl FnOnce(&mut Vec<String>)) -> Vec<u8> {
    let (head, mut lines, foot) = lines(&answer);
    change(&mut lines);
    format!("{head}{}{foot}", lines.concat()).into_bytes()
}

/// The answer behind its declaration, behind something else.
fn behind(something: &str, answer: String) -> Vec<u8> {
    let root = answer.find("<env:Envelope").unwrap();
    format!("{something}{}", &answer[root..]).into_bytes()
}

/// In the header of the envelope, where anything may stand.
fn in_header(something: &str, answer: String) -> Vec<u8> {
    let body = answer.find("<env:Body").unwrap();
    let header = format!("<env:Header>{something}</env:Header>");
    let envelope = answer[..body].split("<env:Header").next().unwrap().to_owned();
    format!("{envelope}{header}{}", &answer[body..]).into_bytes()
}

/// Each change, and how many of the three records nobody can tell anything about by it.
const CASES: &[(&str, Change, usize)] = &[
    ("nothing is changed", |answer| answer.into_bytes(), 0),
    ("a document type", |answer| behind("<!DOCTYPE env:Envelope>", answer), RECORDS),
    (
        "a bomb of entities",
        |answer| {
            let bomb = "<!DOCTYPE a [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">]>";
            behind(bomb, answer.replacen("F-0", "&b;", 1))
        },
        RECORDS,
    ),
    ("an entity", |answer| answer.replacen("F-0", "&otra;", 1).into_bytes(), RECORDS),
    (
        "100 000 levels",
        |answer| in_header(&("<a>".repeat(100_000) + &"</a>".repeat(100_000)), answer),
        RECORDS,
    ),
    ("a text of 10 MB", |answer| answer.replacen("F-0", &"A".repeat(10_000_000), 1).into_bytes(), RECORDS),
    (
        "declared as Latin 1",
        |answer| behind("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>", answer),
        RECORDS,
    ),
    (
        "Latin 1",
        |answer| {
            let mut answer = answer.replacen("Correcto<", "Correct\u{1}<", 1).into_bytes();
            let at = answer.iter().position(|byte| *byte == 1).unwrap();
            answer[at] = 0xF3;
            answer
        },
        RECORDS,
    ),
    ("UTF-16", |answer| answer.encode_utf16().flat_map(u16::to_le_bytes).collect(), RECORDS),
    (
        "cut inside a character",
        |answer| {
            let mut answer = answer.into_bytes();
            answer.truncate(answer.len() / 2);
            answer.push(0xC3);
            answer
        },
        RECORDS,
    ),
    ("a character that XML forbids", |answer| answer.replacen("F-0", "F-\0", 1).into_bytes(), RECORDS),
    ("swapped lines", |answer| with_lines(answer, |lines| lines.swap(0, 2)), 0),
    ("a missing line", |answer| with_lines(answer, |lines| drop(lines.remove(1))), 1),
    ("no line at all", |answer| with_lines(answer, Vec::clear), RECORDS),
    (
        "a line of a stranger",
        |answer| with_lines(answer, |lines| lines.push(lines[0].replace("F-0", "X-1"))),
        0,
    ),
    ("a line twice", |answer| with_lines(answer, |lines| lines.push(lines[1].clone())), 1),
    (
        "two lines for a record that contradict each other",
        |answer| {
            with_lines(answer, |lines| {
                lines.push(lines[1].replace(">Correcto<", ">Incorrecto<"));
            })
        },
        1,
    ),
    (
        "a line of the other operation",
        |answer| with_lines(answer, |lines| lines[0] = lines[0].replace(">Alta<", ">Anulacion<")),
        1,
    ),
    (
        "lines with each other's number",
        |answer| {
            with_lines(answer, |lines| {
                lines[0] = lines[0].replace("F-0", "F-1");
                lines[1] = lines[1].replace("F-1", "F-0");
            })
        },
        2,
    ),
];

#[tokio::test]
async fn whatever_comes_back_every_record_settles_right() {
    for (name, change, doubtful) in CASES {
        let world = World::new().await;
        let mut jobs = Vec::new();
        for n in 0..RECORDS {
            jobs.push(world.accept(send(&format!("F-{n}"))).await.job.id);
        }
        world.wire.spoil(Spoil::Change(*change));
        world.run().await;
        let mut doubts = 0;
        for job in &jobs {
            doubts += usize::from(world.progress(*job).await.standing == Standing::InDoubt);
        }
        assert_eq!(doubts, *doubtful, "{name}");
        world.run_for(5 * MINUTE, MINUTE).await;
        let mut lost = 0;
        for (n, job) in jobs.iter().enumerate() {
            let progress = world.progress(*job).await;
            assert_eq!(progress.state, JobState::Succeeded, "{name}: {progress:?}");
            lost += usize::from(progress.csv == Some(Csv::Lost));
            assert_eq!(world.registered(&format!("F-{n}")).await, 1, "{name}");
        }
        assert_eq!(lost, *doubtful, "{name}");
    }
}
