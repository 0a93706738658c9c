//! Reading and writing XML: a bounded tree in, text out.
//!
//! The reader refuses what no message of the service needs: document types, processing
//! instructions, more than [`MAX_DEPTH`] levels or [`MAX_ELEMENTS`] elements. Texts lose their
//! leading and trailing blanks, as AEAT does with every value (SWeb 6.8).

use quick_xml::NsReader;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::ResolveResult;

pub(crate) const MAX_DEPTH: usize = 64;
pub(crate) const MAX_ELEMENTS: usize = 400_000;

/// The namespaces of the service, and one value for all the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ns {
    /// SOAP 1.1 envelope.
    Envelope,
    /// `SuministroLR.xsd`, the submission.
    Submission,
    /// `SuministroInformacion.xsd`, the shared types.
    Information,
    /// `ConsultaLR.xsd`, the query.
    Query,
    /// XML-DSig.
    Signature,
    /// `VNifV2Ent.xsd`, the check of NIFs, as its schema names it.
    NifCheck,
    /// The same with `http`, as its manual writes it.
    NifCheckPlain,
    /// Anything else, or none.
    Other,
}

pub(crate) const ENVELOPE: &str = "http://schemas.xmlsoap.org/soap/envelope/";
pub(crate) const SUBMISSION: &str = "https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/tike/cont/ws/SuministroLR.xsd";
pub(crate) const INFORMATION: &str = "https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/tike/cont/ws/SuministroInformacion.xsd";
pub(crate) const SUBMISSION_ANSWER: &str = "https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/tike/cont/ws/RespuestaSuministro.xsd";
pub(crate) const QUERY: &str = "https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/tike/cont/ws/ConsultaLR.xsd";
pub(crate) const QUERY_ANSWER: &str = "https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/tike/cont/ws/RespuestaConsultaLR.xsd";
const NIF_CHECK: &str = "https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/burt/jdit/ws/VNifV2Ent.xsd";
const NIF_CHECK_PLAIN: &str = "http://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/burt/jdit/ws/VNifV2Ent.xsd";
pub(crate) const NIF_CHECK_ANSWER: &str = "https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/burt/jdit/ws/VNifV2Sal.xsd";
pub(crate) const NIF_CHECK_ANSWER_PLAIN: &str = "http://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/burt/jdit/ws/VNifV2Sal.xsd";
const SIGNATURE: &str = "http://www.w3.org/2000/09/xmldsig#";

impl Ns {
    fn of(name: &str) -> Self {
        match name {
            ENVELOPE => Self::Envelope,
            SUBMISSION => Self::Submission,
            INFORMATION => Self::Information,
            QUERY => Self::Query,
            SIGNATURE => Self::Signature,
            NIF_CHECK => Self::NifCheck,
            NIF_CHECK_PLAIN => Self::NifCheckPlain,
            _ => Self::Other,
        }
    }
}

/// An element with its own text (trimmed) and its children, in document order.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub(crate) ns: Ns,
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) children: Vec<Element>,
}

/// Why a text is not the XML that the service reads.
#[derive(Debug, thiserror::Error)]
pub(crate) enum XmlError {
    #[error("not well-formed")]
    Syntax(#[from] quick_xml::Error),
    #[error("an attribute is not well-formed")]
    Attribute(#[from] quick_xml::events::attributes::AttrError),
    #[error("a namespace prefix is not declared")]
    Namespace,
    #[error("a document type or processing instruction is not accepted")]
    Forbidden,
    #[error("an entity or character is not accepted")]
    Character,
    #[error("the declared encoding is not UTF-8")]
    Encoding,
    #[error("a declaration stands elsewhere than at the beginning")]
    Declaration,
    #[error("more than {MAX_DEPTH} levels or {MAX_ELEMENTS} elements")]
    TooLarge,
    #[error("not exactly one root element")]
    Root,
}

impl Element {
    /// Reads a document.
    pub(crate) fn read(document: &str) -> Result<Self, XmlError> {
        let mut reader = NsReader::from_str(document);
        let mut open: Vec<Self> = Vec::new();
        let mut root = None;
        let mut elements = 0_usize;
        let mut first = true;
        loop {
            let (resolved, event) = reader.read_resolved_event()?;
            let ns = match &resolved {
                ResolveResult::Bound(namespace) => Ns::of(namespace.0),
                ResolveResult::Unbound => Ns::Other,
                ResolveResult::Unknown(_) => return Err(XmlError::Namespace),
            };
            let at_start = std::mem::take(&mut first);
            match event {
                Event::Start(start) => {
                    elements += 1;
                    if open.len() == MAX_DEPTH || elements > MAX_ELEMENTS {
                        return Err(XmlError::TooLarge);
                    }
                    open.push(Self::start(ns, &start)?);
                }
                Event::Empty(start) => {
                    elements += 1;
                    if elements > MAX_ELEMENTS {
                        return Err(XmlError::TooLarge);
                    }
                    let element = Self::start(ns, &start)?;
                    close(&mut open, &mut root, element)?;
                }
                Event::End(_) => {
                    let element = open.pop().ok_or(XmlError::Root)?;
                    close(&mut open, &mut root, element)?;
                }
                Event::Text(text) => add_text(&mut open, &text.xml10_content())?,
                Event::CData(text) => add_text(&mut open, &text.xml10_content())?,
                Event::GeneralRef(reference) => {
                    let character = match reference.resolve_char_ref()? {
                        Some(character) => character,
                        None => match &*reference.xml10_content() {
                            "amp" => '&',
                            "lt" => '<',
                            "gt" => '>',
                            "quot" => '"',
                            "apos" => '\'',
                            _ => return Err(XmlError::Character),
                        },
                    };
                    add_text(&mut open, character.encode_utf8(&mut [0; 4]))?;
                }
                Event::Decl(declaration) => {
                    if !at_start {
                        return Err(XmlError::Declaration);
                    }
                    if let Some(encoding) = declaration.encoding()
                        && !encoding?.eq_ignore_ascii_case("utf-8")
                    {
                        return Err(XmlError::Encoding);
                    }
                }
                Event::Comment(_) => {}
                Event::DocType(_) | Event::PI(_) => return Err(XmlError::Forbidden),
                Event::Eof => break,
            }
        }
        if open.is_empty() { root.ok_or(XmlError::Root) } else { Err(XmlError::Root) }
    }

    /// Attributes say nothing in this service, but must be well-formed and differ.
    fn start(ns: Ns, start: &BytesStart<'_>) -> Result<Self, XmlError> {
        for attribute in start.attributes() {
            attribute?;
        }
        Ok(Self {
            ns,
            name: start.local_name().as_ref().to_owned(),
            text: String::new(),
            children: Vec::new(),
        })
    }

    /// The element at the end of a path of local names separated by `/`.
    pub(crate) fn at(&self, path: &str) -> Option<&Self> {
        path.split('/')
            .try_fold(self, |element, name| element.children.iter().find(|child| child.name == name))
    }

    /// The text at the end of a path.
    pub(crate) fn text_at(&self, path: &str) -> Option<&str> {
        self.at(path).map(|element| element.text.as_str())
    }

    /// All children of that name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// Writes the element and all below it, every name with `prefix`.
    pub(crate) fn write(&self, out: &mut Writer, prefix: &'static str) {
        if self.children.is_empty() {
            out.leaf(prefix, &self.name, &self.text);
        } else {
            out.open(prefix, &self.name);
            for child in &self.children {
                child.write(out, prefix);
            }
            out.close(prefix, &self.name);
        }
    }
}

fn close(open: &mut [Element], root: &mut Option<Element>, mut element: Element) -> Result<(), XmlError> {
    trim(&mut element.text);
    match open.last_mut() {
        Some(parent) => parent.children.push(element),
        None if root.is_none() => *root = Some(element),
        None => return Err(XmlError::Root),
    }
    Ok(())
}

fn add_text(open: &mut [Element], text: &str) -> Result<(), XmlError> {
    if text.contains(|c: char| c < ' ' && !matches!(c, '\t' | '\n' | '\r')) {
        return Err(XmlError::Character);
    }
    match open.last_mut() {
        Some(element) => element.text.push_str(text),
        None if text.trim_matches(BLANKS).is_empty() || text == "\u{feff}" => {}
        None => return Err(XmlError::Root),
    }
    Ok(())
}

/// A no-break space is not a blank to AEAT.
const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

fn trim(text: &mut String) {
    let trimmed = text.trim_matches(BLANKS);
    if trimmed.len() != text.len() {
        *text = trimmed.to_owned();
    }
}

/// Text of a document under construction.
#[derive(Debug, Default)]
pub(crate) struct Writer(String);

impl Writer {
    /// An envelope up to the inside of its body.
    pub(crate) fn envelope() -> Self {
        Self(format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><env:Envelope xmlns:env=\"{ENVELOPE}\"><env:Header/><env:Body Id=\"Body\">"
        ))
    }

    /// The whole envelope.
    pub(crate) fn finish_envelope(mut self) -> String {
        self.0.push_str("</env:Body></env:Envelope>");
        self.0
    }

    /// What was written.
    pub(crate) fn finish(self) -> String {
        self.0
    }

    pub(crate) fn open(&mut self, prefix: &str, name: &str) {
        self.start(prefix, name, &[]);
    }

    /// Opens an element that declares namespaces.
    pub(crate) fn start(&mut self, prefix: &str, name: &str, namespaces: &[(&str, &str)]) {
        self.0.push('<');
        self.qualified(prefix, name);
        for (prefix, namespace) in namespaces {
            self.0.push_str(" xmlns:");
            self.0.push_str(prefix);
            self.0.push_str("=\"");
            self.0.push_str(namespace);
            self.0.push('"');
        }
        self.0.push('>');
    }

    pub(crate) fn close(&mut self, prefix: &str, name: &str) {
        self.0.push_str("</");
        self.qualified(prefix, name);
        self.0.push('>');
    }

    pub(crate) fn leaf(&mut self, prefix: &str, name: &str, text: &str) {
        self.open(prefix, name);
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '\r' => self.0.push_str("&#13;"),
                other => self.0.push(other),
            }
        }
        self.close(prefix, name);
    }

    pub(crate) fn optional(&mut self, prefix: &str, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.leaf(prefix, name, text);
        }
    }

    fn qualified(&mut self, prefix: &str, name: &str) {
        if !prefix.is_empty() {
            self.0.push_str(prefix);
            self.0.push(':');
        }
        self.0.push_str(name);
    }
}
