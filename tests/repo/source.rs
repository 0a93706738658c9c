//! The files of the repository, and Rust source as the scanners want it: code without comments.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A file, named by its path from the root of the repository.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    /// Whether it lies in one of these folders, or is one of these files.
    pub(crate) fn is_in(&self, places: &[&str]) -> bool {
        places.iter().any(|place| self.path == *place || self.path.starts_with(&format!("{place}/")))
    }
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every text file below a folder, without what is built and what git keeps.
pub(crate) fn files(folder: &str) -> Vec<File> {
    let (root, mut found) = (root(), Vec::new());
    walk(&root, &root.join(folder), &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Every Rust file below a folder.
pub(crate) fn rust_files(folder: &str) -> Vec<File> {
    let mut files = files(folder);
    files.retain(|file| file.path.ends_with(".rs"));
    files
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<File>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            if name != "target" && name != ".git" {
                walk(root, &path, found);
            }
        } else if name != ".git"
            && let Ok(text) = fs::read_to_string(&path)
        {
            let path = path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
            found.push(File { path, text });
        }
    }
}

/// The code with its comments blanked out. Line ends stay, so that line numbers hold.
pub(crate) fn without_comments(text: &str) -> String {
    code(text, |piece| piece != Piece::Comment)
}

/// The code with its comments and its string and character literals blanked out.
pub(crate) fn without_literals(text: &str) -> String {
    code(text, |piece| piece == Piece::Code)
}

#[derive(Clone, Copy, PartialEq)]
enum Piece {
    Code,
    Comment,
    Literal,
}

fn code(text: &str, keep: fn(Piece) -> bool) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let (piece, end) = piece(&chars, at);
        out.extend(chars[at..end].iter().filter(|c| keep(piece) || **c == '\n'));
        at = end;
    }
    out
}

/// What begins here, and where it ends.
fn piece(chars: &[char], at: usize) -> (Piece, usize) {
    let starts_word = at.checked_sub(1).is_none_or(|before| !is_word(chars[before]));
    match (chars[at], chars.get(at + 1)) {
        ('/', Some('/')) => {
            let length = chars[at..].iter().position(|c| *c == '\n');
            (Piece::Comment, length.map_or(chars.len(), |length| at + length))
        }
        ('/', Some('*')) => (Piece::Comment, block_comment_end(chars, at)),
        ('r', Some('"' | '#')) if starts_word => raw_string(chars, at),
        ('"', _) | ('\'', Some('\\')) => (Piece::Literal, quoted_end(chars, at)),
        // A character, not a lifetime: the quote closes after one.
        ('\'', Some(_)) if chars.get(at + 2) == Some(&'\'') => (Piece::Literal, at + 3),
        _ => (Piece::Code, at + 1),
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn block_comment_end(chars: &[char], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (at, depth) = (at + 2, depth + 1),
            ('*', Some('/')) => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn quoted_end(chars: &[char], start: usize) -> usize {
    let mut at = start + 1;
    while at < chars.len() && chars[at] != chars[start] {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(chars.len())
}

/// `r"…"` or `r#"…"#`; a raw identifier such as `r#type` is code.
fn raw_string(chars: &[char], start: usize) -> (Piece, usize) {
    let hashes = chars[start + 1..].iter().take_while(|c| **c == '#').count();
    let open = start + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return (Piece::Code, start + 1);
    }
    let closes = |at: &usize| {
        chars[*at] == '"' && chars[at + 1..].iter().take_while(|c| **c == '#').take(hashes).count() == hashes
    };
    (Piece::Literal, (open + 1..chars.len()).find(closes).map_or(chars.len(), |at| at + 1 + hashes))
}

#[test]
fn comments_are_told_from_strings() {
    let code = "a /* b /* c */\n d */ e // f\n\"// g\" r#\"/* \" h\"# '\"' '\\'' 'x: // i\n";
    assert_eq!(without_comments(code), "a \n e \n\"// g\" r#\"/* \" h\"# '\"' '\\'' 'x: \n");
    assert_eq!(without_literals(code), "a \n e \n    'x: \n");
}
