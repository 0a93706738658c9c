//! A writer of canonical XML into one buffer.
//!
//! What it writes is its own inclusive canonical form (W3C C14N 1.0): no declaration, no empty-element
//! tags, `&`, `<`, `>` and carriage returns escaped in text. So a record can be signed as it stands,
//! and the writer needs no tree.

/// Appends to a buffer of canonical XML.
pub(crate) struct Writer<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// Markup, written as it stands.
    pub(crate) fn raw(&mut self, markup: &str) {
        self.out.extend_from_slice(markup.as_bytes());
    }

    /// `open`, the escaped text, `close`. Callers pass whole tags, so that neighbouring tags can be
    /// joined into one copy.
    pub(crate) fn text(&mut self, open: &str, text: &str, close: &str) {
        self.raw(open);
        self.escaped(text);
        self.raw(close);
    }

    /// `open`, a value that needs no escaping written straight into the buffer, `close`.
    pub(crate) fn value(&mut self, open: &str, write: impl FnOnce(&mut Vec<u8>), close: &str) {
        self.raw(open);
        write(self.out);
        self.raw(close);
    }

    /// Character data.
    pub(crate) fn escaped(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut from = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let escape: &[u8] = match byte {
                b'&' => b"&amp;",
                b'<' => b"&lt;",
                b'>' => b"&gt;",
                b'\r' => b"&#xD;",
                _ => continue,
            };
            self.out.extend_from_slice(&bytes[from..at]);
            self.out.extend_from_slice(escape);
            from = at + 1;
        }
        self.out.extend_from_slice(&bytes[from..]);
    }
}
