//! `multipart/form-data` (RFC 7578) of a body that is in memory, with few and small parts.

use std::collections::BTreeMap;

/// Most parts of a form.
const MAX_PARTS: usize = 16;

/// The parts of a form, by name.
pub(super) type Form<'a> = BTreeMap<String, &'a [u8]>;

/// The parts of a body, or what is wrong with it.
pub(super) fn read<'a>(content_type: &str, body: &'a [u8]) -> Result<Form<'a>, &'static str> {
    let boundary = parameter(content_type, "boundary").ok_or("the boundary is missing")?;
    if boundary.is_empty() || boundary.len() > 70 {
        return Err("the boundary has 1 to 70 characters");
    }
    let delimiter = format!("\r\n--{boundary}");
    // The first delimiter may stand at the very beginning, without the line end before it.
    let mut rest = match body.strip_prefix(&delimiter.as_bytes()[2..]) {
        Some(rest) => rest,
        None => after(body, delimiter.as_bytes()).ok_or("the boundary does not occur")?.1,
    };
    let mut form = Form::new();
    loop {
        if rest.starts_with(b"--") {
            return Ok(form);
        }
        let (padding, part) = after(rest, b"\r\n").ok_or("the form is cut off")?;
        if !padding.iter().all(|byte| matches!(byte, b' ' | b'\t')) {
            return Err("a boundary is followed by something else");
        }
        let (content, next) = after(part, delimiter.as_bytes()).ok_or("the form is cut off")?;
        let (head, value) = after(content, b"\r\n\r\n").ok_or("a part has no headers")?;
        let name = part_name(head).ok_or("a part has no name")?;
        if form.len() >= MAX_PARTS {
            return Err("the form has too many parts");
        }
        if form.insert(name, value).is_some() {
            return Err("a part occurs twice");
        }
        rest = next;
    }
}

/// What stands before and behind the first occurrence of a mark.
fn after<'a>(text: &'a [u8], mark: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = text.windows(mark.len()).position(|window| window == mark)?;
    Some((&text[..at], &text[at + mark.len()..]))
}

fn part_name(head: &[u8]) -> Option<String> {
    let head = std::str::from_utf8(head).ok()?;
    head.split("\r\n").find_map(|line| {
        let (header, value) = line.split_once(':')?;
        if header.trim().eq_ignore_ascii_case("content-disposition") {
            parameter(value, "name")
        } else {
            None
        }
    })
}

/// A parameter of a header's value: `form-data; name="pfx"`.
fn parameter(value: &str, name: &str) -> Option<String> {
    let mut rest = value.split_once(';')?.1;
    loop {
        let (key, after_key) = rest.split_once('=')?;
        let (text, next) = match after_key.trim_start().strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after_key
                .split_once(';')
                .map_or((after_key.trim(), ""), |(text, _)| (text.trim(), &after_key[text.len()..])),
        };
        if key.trim_matches([' ', ';', '\t']).eq_ignore_ascii_case(name) {
            return Some(text.to_owned());
        }
        rest = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_clients_send() {
        let body = b"--x\r\nContent-Disposition: form-data; name=\"pfx\"; filename=\"a=b; c.p12\"\r\n\
            Content-Type: application/octet-stream\r\n\r\n\x00\r\n--y\r\n\xff\r\n--x\r\n\
            content-disposition: form-data; filename=\"n\"; name=pfxPassphrase\r\n\r\n\r\n--x--\r\n";
        let form = read("multipart/form-data; charset=utf-8; boundary=\"x\"", body).unwrap();
        assert_eq!(form["pfx"], b"\x00\r\n--y\r\n\xff");
        assert_eq!(form["pfxPassphrase"], b"");
        assert_eq!(form.len(), 2);
    }

    #[test]
    fn refuses_what_is_no_form() {
        let kind = "multipart/form-data; boundary=x";
        let part = "\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n";
        assert!(read("multipart/form-data", b"--x--").is_err());
        for body in [
            "".to_owned(),
            "--x".to_owned(),
            format!("--x{part}"),
            format!("--x{part}--x{part}--x--"),
            "--x\r\nno headers\r\n--x--".to_owned(),
            format!("--xjunk{part}--x--"),
        ] {
            assert!(read(kind, body.as_bytes()).is_err(), "{body}");
        }
    }
}
