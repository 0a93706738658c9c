//! The invoices of a file: one JSON object per line, or one CSV row.
//!
//! The head of a CSV names the members of the body, with points between levels and numbers for the
//! items of a list: `desglose.0.base`. Empty cells are left out; `true` and `false` are JSON's.

use std::path::Path;

use serde_json::{Map, Value};
use verifactu_client::api::{Json, fingerprint};

/// Longest line, in bytes; the service takes no larger body.
const MAX_LINE: usize = 1024 * 1024;
/// The most items of a list that a CSV can name.
const MAX_INDEX: usize = 1000;

/// An invoice of the file.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Line of the file; the first is 1.
    pub(crate) line: u64,
    pub(crate) body: String,
    /// Equal for bodies that the service takes for the same.
    pub(crate) digest: String,
}

/// Every entry in its order, or why a line is none.
pub(crate) fn read(path: &Path, content: &[u8]) -> Vec<(u64, Result<Entry, String>)> {
    let is_csv = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
    if is_csv { rows(content) } else { lines(content) }
}

fn lines(content: &[u8]) -> Vec<(u64, Result<Entry, String>)> {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let lines = (1_u64..).zip(content.split(|byte| *byte == b'\n'));
    lines
        .filter(|(_, line)| !line.trim_ascii().is_empty())
        .map(|(number, line)| (number, entry(number, line.trim_ascii())))
        .collect()
}

fn rows(content: &[u8]) -> Vec<(u64, Result<Entry, String>)> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(content);
    let head = match reader.headers() {
        Ok(head) => head.clone(),
        Err(error) => return vec![(1, Err(error.to_string()))],
    };
    let mut entries = Vec::new();
    for row in reader.records() {
        let read = match row {
            Ok(row) => {
                let line = row.position().map_or(0, csv::Position::line);
                (line, body(&head, &row).and_then(|body| entry(line, body.to_string().as_bytes())))
            }
            Err(error) => (error.position().map_or(0, csv::Position::line), Err(error.to_string())),
        };
        entries.push(read);
    }
    entries
}

fn entry(line: u64, text: &[u8]) -> Result<Entry, String> {
    if text.len() > MAX_LINE {
        return Err(format!("longer than {MAX_LINE} bytes"));
    }
    let body = Json::parse(text).map_err(|error| error.to_string())?;
    if !text.starts_with(b"{") {
        return Err("not a JSON object".to_owned());
    }
    let digest = fingerprint(&body).iter().map(|byte| format!("{byte:02x}")).collect();
    let body = String::from_utf8(text.to_vec()).map_err(|error| error.to_string())?;
    Ok(Entry { line, body, digest })
}

fn body(head: &csv::StringRecord, row: &csv::StringRecord) -> Result<Value, String> {
    let mut body = Value::Object(Map::new());
    for (path, cell) in head.iter().zip(row).filter(|(_, cell)| !cell.is_empty()) {
        let value = match cell {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            text => Value::String(text.to_owned()),
        };
        let place = place(&mut body, path).ok_or_else(|| format!("the column `{path}` has no place"))?;
        *place = value;
    }
    Ok(body)
}

/// The place of a column in a body, made where it is missing.
fn place<'a>(body: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    path.split('.').try_fold(body, |at, step| match step.parse::<usize>() {
        Ok(index) if index < MAX_INDEX => {
            if at.is_null() {
                *at = Value::Array(Vec::new());
            }
            let items = at.as_array_mut()?;
            if items.len() <= index {
                items.resize(index + 1, Value::Null);
            }
            items.get_mut(index)
        }
        Ok(_) => None,
        Err(_) => {
            if at.is_null() {
                *at = Value::Object(Map::new());
            }
            Some(at.as_object_mut()?.entry(step).or_insert(Value::Null))
        }
    })
}
