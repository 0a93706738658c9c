//! One bounded pull reader for everything that arrives as XML.
//!
//! What arrives is not trusted. A document type or an entity beyond the five predefined ones is
//! refused, so nothing expands; depth, number of elements, namespaces in scope and the length of
//! every text are capped; a document must be UTF-8, have one root and be whole. Elements are known
//! by namespace and local name: the authority's answers come with prefixes of its own choice.
//!
//! Namespaces are kept as small numbers on a stack of the prefixes in scope, because resolving a
//! URI for each of the twenty elements of an answer's line would cost more than reading it.

use std::borrow::Cow;

use quick_xml::{XmlVersion, events::Event};

use super::names;

/// Deepest nesting that is read; the deepest known document of the service has 12 levels.
pub const MAX_DEPTH: u32 = 32;
/// Most elements in one document: 10 000 rows of a query with 100 elements each.
pub const MAX_ELEMENTS: u32 = 1_000_000;
/// Longest text of one element, in bytes: 1500 characters and then some (`TextMax1500Type`).
pub const MAX_TEXT: usize = 16 * 1024;
/// Most attributes of one element, and most namespace declarations in scope.
const MAX_ATTRIBUTES: usize = 64;

/// Why a document was not read. It says what is wrong with the document, never who is to blame.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Not UTF-8, or declared as something else.
    #[error("the document is not UTF-8")]
    Encoding,
    /// A document type declaration.
    #[error("a document type declaration is not allowed")]
    DocumentType,
    /// An entity that is not one of the five predefined ones, or a reference to no character.
    #[error("only the five predefined entities and character references are allowed")]
    Entity,
    /// A character that XML cannot carry.
    #[error("a control character is not allowed")]
    Character,
    /// Deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} levels")]
    Depth,
    /// More than [`MAX_ELEMENTS`], or too many attributes.
    #[error("too many elements or attributes")]
    Size,
    /// One text longer than [`MAX_TEXT`].
    #[error("a text is longer than {MAX_TEXT} bytes")]
    TextSize,
    /// A prefix that nothing declares.
    #[error("a prefix is not declared")]
    Prefix,
    /// Not well-formed.
    #[error("the document is not well-formed")]
    Syntax(#[source] quick_xml::Error),
    /// It ends before its root does.
    #[error("the document is cut off")]
    Truncated,
    /// Something other than blanks and comments before or after the root.
    #[error("there is content outside the root element")]
    OutsideRoot,
    /// Well-formed, but not a document of the service. The name of the element that came instead
    /// is not kept: it is the sender's.
    #[error("not a message of the service: expected {expected}")]
    Unexpected {
        /// What belongs there.
        expected: &'static str,
    },
    /// A part that the schema demands is not there.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A part has a value that its list or type does not know.
    #[error("{0} has an unknown value")]
    Value(&'static str),
    /// A part occurs more often than the schema allows.
    #[error("too many of {0}")]
    TooMany(&'static str),
}

/// A namespace of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ns {
    /// No namespace.
    None,
    /// [`names::SOAP`].
    Soap,
    /// [`names::REGISTRATION`].
    Registration,
    /// [`names::INFORMATION`].
    Information,
    /// [`names::REGISTRATION_ANSWER`].
    RegistrationAnswer,
    /// [`names::QUERY`].
    Query,
    /// [`names::QUERY_ANSWER`].
    QueryAnswer,
    /// [`names::NIF_CHECK_ANSWER`] and [`names::NIF_CHECK_ANSWER_PLAIN`].
    NifCheckAnswer,
    /// [`names::SIGNATURE`].
    Signature,
    /// Any other.
    Other,
}

impl Ns {
    fn of(uri: &str) -> Self {
        match uri {
            "" => Self::None,
            names::SOAP => Self::Soap,
            names::REGISTRATION => Self::Registration,
            names::INFORMATION => Self::Information,
            names::REGISTRATION_ANSWER => Self::RegistrationAnswer,
            names::QUERY => Self::Query,
            names::QUERY_ANSWER => Self::QueryAnswer,
            names::NIF_CHECK_ANSWER | names::NIF_CHECK_ANSWER_PLAIN => Self::NifCheckAnswer,
            names::SIGNATURE => Self::Signature,
            _ => Self::Other,
        }
    }
}

/// The name of an element and the place where its tag begins.
#[derive(Clone, Copy, Debug)]
pub struct Name<'a> {
    /// Its namespace.
    pub ns: Ns,
    /// Its local name.
    pub local: &'a str,
    /// Offset of its `<` in the document.
    pub start: usize,
}

impl Name<'_> {
    /// Whether it is this element.
    #[must_use]
    pub fn is(&self, ns: Ns, local: &str) -> bool {
        self.ns == ns && self.local == local
    }
}

/// A pull reader over one whole document.
///
/// The caller goes down with [`child`](Self::child), and reads each element it was given to its end
/// with [`text`](Self::text), [`skip`](Self::skip) or by asking for children until there are none.
pub struct Reader<'a> {
    /// The document behind its byte order mark, which is `before` bytes long.
    document: &'a str,
    before: usize,
    inner: quick_xml::Reader<&'a [u8]>,
    scopes: Vec<Scope>,
    depth: u32,
    elements: u32,
    root_seen: bool,
}

/// A prefix that is declared, and how deep the declaring element stands.
struct Scope {
    depth: u32,
    prefix: Box<str>,
    ns: Ns,
}

/// A part of the document.
enum Token<'a> {
    Open(Name<'a>),
    Text(Cow<'a, str>),
    Close,
    End,
}

impl<'a> Reader<'a> {
    /// Takes a document, which may begin with a byte order mark.
    ///
    /// # Errors
    /// It is not UTF-8, or holds control characters.
    pub fn new(document: &'a [u8]) -> Result<Self, ReadError> {
        let document = std::str::from_utf8(document).map_err(|_| ReadError::Encoding)?;
        // The only characters below the blank that XML 1.0 can carry are tab, line feed and return.
        let control = |byte: u8| (byte < b' ') & (byte != b'\t') & (byte != b'\n') & (byte != b'\r');
        if document.bytes().fold(false, |found, byte| found | control(byte)) {
            return Err(ReadError::Character);
        }
        let whole = document.len();
        let document = document.strip_prefix(MARK).unwrap_or(document);
        if document.starts_with(MARK) {
            return Err(ReadError::OutsideRoot);
        }
        let before = whole - document.len();
        let mut inner = quick_xml::Reader::from_str(document);
        inner.config_mut().expand_empty_elements = true;
        Ok(Self {
            document,
            before,
            inner,
            scopes: Vec::with_capacity(8),
            depth: 0,
            elements: 0,
            root_seen: false,
        })
    }

    /// The root element.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn root(&mut self) -> Result<Name<'a>, ReadError> {
        match self.next()? {
            Token::Open(name) => Ok(name),
            _ => Err(ReadError::Truncated),
        }
    }

    /// The next child of the element at hand, or `None` at its end. Text between children is
    /// passed over.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn child(&mut self) -> Result<Option<Name<'a>>, ReadError> {
        loop {
            match self.next()? {
                Token::Open(name) => return Ok(Some(name)),
                Token::Text(_) => {}
                Token::Close | Token::End => return Ok(None),
            }
        }
    }

    /// The text of an element without children, trimmed as the authority trims (SWeb 6.7), to the
    /// element's end.
    ///
    /// # Errors
    /// [`ReadError::TextSize`] beyond [`MAX_TEXT`]; [`ReadError::Unexpected`] if it has children.
    pub fn text(&mut self) -> Result<Cow<'a, str>, ReadError> {
        let mut whole = Cow::Borrowed("");
        loop {
            match self.next()? {
                Token::Text(part) => {
                    if whole.len() + part.len() > MAX_TEXT {
                        return Err(ReadError::TextSize);
                    }
                    if whole.is_empty() {
                        whole = part;
                    } else {
                        whole.to_mut().push_str(&part);
                    }
                }
                Token::Close | Token::End => return Ok(trimmed(whole)),
                Token::Open(_) => return Err(ReadError::Unexpected { expected: "a text" }),
            }
        }
    }

    /// Passes over the element at hand and all in it.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn skip(&mut self) -> Result<(), ReadError> {
        let outside = self.depth.saturating_sub(1);
        while self.depth > outside {
            self.next()?;
        }
        Ok(())
    }

    /// Where the reader stands in what it was given: just behind the last tag it has returned.
    #[must_use]
    pub fn position(&self) -> usize {
        self.before + self.at()
    }

    /// The same in [`document`](Self::document).
    fn at(&self) -> usize {
        usize::try_from(self.inner.buffer_position()).unwrap_or(usize::MAX)
    }

    /// Reads on to the end of the document, where nothing but blanks and comments may follow.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn finish(mut self) -> Result<(), ReadError> {
        while !matches!(self.next()?, Token::End) {}
        Ok(())
    }

    fn next(&mut self) -> Result<Token<'a>, ReadError> {
        loop {
            let start = self.at();
            let event = self.inner.read_event().map_err(|error| self.syntax(error))?;
            match event {
                Event::Start(tag) => {
                    let name_len = tag.name().as_ref().len();
                    if self.depth == 0 && self.root_seen {
                        return Err(ReadError::OutsideRoot);
                    }
                    self.root_seen = true;
                    self.depth += 1;
                    self.elements += 1;
                    if self.depth > MAX_DEPTH {
                        return Err(ReadError::Depth);
                    }
                    if self.elements > MAX_ELEMENTS {
                        return Err(ReadError::Size);
                    }
                    if !tag.attributes_raw().is_empty() {
                        self.declare(&tag)?;
                    }
                    return self.resolve(start, name_len).map(Token::Open);
                }
                Event::End(_) => {
                    while self.scopes.last().is_some_and(|scope| scope.depth == self.depth) {
                        self.scopes.pop();
                    }
                    self.depth = self.depth.saturating_sub(1);
                    return Ok(Token::Close);
                }
                Event::Text(text) => {
                    let text = text.into_inner();
                    if self.depth > 0 {
                        return Ok(Token::Text(with_line_feeds(text)));
                    }
                    if !text.trim_matches(BLANKS).is_empty() {
                        return Err(ReadError::OutsideRoot);
                    }
                }
                Event::CData(_) | Event::GeneralRef(_) if self.depth == 0 => {
                    return Err(ReadError::OutsideRoot);
                }
                Event::CData(text) => return Ok(Token::Text(with_line_feeds(text.into_inner()))),
                Event::GeneralRef(reference) => return Ok(Token::Text(referred(&reference)?)),
                Event::Comment(_) | Event::PI(_) => {}
                // A second declaration is one that does not stand at the very beginning.
                Event::Decl(declaration) => {
                    if start > 0 {
                        return Err(ReadError::OutsideRoot);
                    }
                    let encoding = declaration.encoding().transpose().map_err(|e| self.syntax(e.into()))?;
                    if encoding.is_some_and(|name| {
                        !name.eq_ignore_ascii_case("utf-8") && !name.eq_ignore_ascii_case("us-ascii")
                    }) {
                        return Err(ReadError::Encoding);
                    }
                }
                Event::DocType(_) => return Err(ReadError::DocumentType),
                Event::Eof if self.depth > 0 || !self.root_seen => return Err(ReadError::Truncated),
                Event::Eof => return Ok(Token::End),
                Event::Empty(_) => return Err(ReadError::Unexpected { expected: "a tag" }),
            }
        }
    }

    /// Puts the namespaces that a tag declares on the stack.
    fn declare(&mut self, tag: &quick_xml::events::BytesStart<'_>) -> Result<(), ReadError> {
        for (count, attribute) in tag.attributes().enumerate() {
            let attribute = attribute.map_err(|error| self.syntax(error.into()))?;
            if count >= MAX_ATTRIBUTES {
                return Err(ReadError::Size);
            }
            if attribute.value.contains('<') {
                return Err(ReadError::Unexpected { expected: "an attribute without <" });
            }
            let key = attribute.key.as_ref();
            let prefix = match key.strip_prefix("xmlns") {
                Some("") => "",
                Some(rest) if rest.starts_with(':') => &rest[1..],
                _ => continue,
            };
            let uri = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|_| ReadError::Entity)?;
            if self.scopes.len() >= MAX_ATTRIBUTES {
                return Err(ReadError::Size);
            }
            // Only the default can be taken back (Namespaces in XML 1.0, 2.2).
            if uri.is_empty() && !prefix.is_empty() {
                return Err(ReadError::Prefix);
            }
            self.scopes.push(Scope { depth: self.depth, prefix: prefix.into(), ns: Ns::of(&uri) });
        }
        Ok(())
    }

    fn resolve(&self, start: usize, name_len: usize) -> Result<Name<'a>, ReadError> {
        let name = self.document.get(start + 1..start + 1 + name_len).ok_or(ReadError::Truncated)?;
        let (prefix, local) = name.split_once(':').unwrap_or(("", name));
        let ns = match self.scopes.iter().rev().find(|scope| *scope.prefix == *prefix) {
            Some(scope) => scope.ns,
            None if prefix.is_empty() => Ns::None,
            None if prefix == "xml" => Ns::Other,
            None => return Err(ReadError::Prefix),
        };
        Ok(Name { ns, local, start: self.before + start })
    }

    /// An end of the document inside a tag is a document cut off, whatever the tag was.
    fn syntax(&self, error: quick_xml::Error) -> ReadError {
        match error {
            quick_xml::Error::Syntax(_) if self.at() >= self.document.len() => ReadError::Truncated,
            other => ReadError::Syntax(other),
        }
    }
}

/// The byte order mark.
const MARK: char = '\u{FEFF}';

const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

fn trimmed(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_matches(BLANKS)),
        Cow::Owned(text) => Cow::Owned(text.trim_matches(BLANKS).to_owned()),
    }
}

/// Line ends are single line feeds to the reader of a document (XML 1.0, 2.11).
fn with_line_feeds(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.contains('\r') { Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")) } else { text }
}

/// The character that a reference stands for.
fn referred(reference: &quick_xml::events::BytesRef<'_>) -> Result<Cow<'static, str>, ReadError> {
    let named: &str = reference;
    Ok(Cow::Borrowed(match named {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "apos" => "'",
        _ => {
            let character = reference.resolve_char_ref().ok().flatten().ok_or(ReadError::Entity)?;
            let allowed = matches!(character, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..);
            return if allowed { Ok(character.to_string().into()) } else { Err(ReadError::Character) };
        }
    }))
}
