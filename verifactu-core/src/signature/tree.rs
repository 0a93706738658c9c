//! A document read into memory, with bounds, for verification.

use std::rc::Rc;

use quick_xml::{
    Reader, XmlVersion,
    escape::resolve_predefined_entity,
    events::{BytesDecl, BytesStart, Event},
};

use super::error::XmlError;

const MAX_BYTES: usize = 1024 * 1024;
pub(super) const MAX_DEPTH: usize = 32;
const MAX_ELEMENTS: usize = 20_000;
const MAX_ATTRIBUTES: usize = 32;

/// A document: its elements in document order, the root first.
pub(super) struct Document {
    pub(super) elements: Vec<Element>,
}

/// The place of an element in its document.
pub(super) type Index = usize;

pub(super) struct Element {
    pub(super) parent: Option<Index>,
    /// As written, with prefix.
    pub(super) name: String,
    pub(super) namespace: Rc<str>,
    /// Prefix (empty for the default) and namespace, as declared on this element.
    pub(super) declarations: Vec<(String, Rc<str>)>,
    pub(super) attributes: Vec<Attribute>,
    pub(super) children: Vec<Node>,
}

pub(super) struct Attribute {
    /// As written, with prefix.
    pub(super) name: String,
    pub(super) namespace: Rc<str>,
    pub(super) value: String,
}

pub(super) enum Node {
    Element(Index),
    Text(String),
}

/// The part of a name behind its prefix.
fn local(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, local)| local)
}

impl Attribute {
    pub(super) fn local(&self) -> &str {
        local(&self.name)
    }
}

impl Element {
    pub(super) fn is(&self, namespace: &str, name: &str) -> bool {
        *self.namespace == *namespace && local(&self.name) == name
    }

    /// The value of an attribute without prefix.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|attribute| attribute.name == name).map(|a| a.value.as_str())
    }

    /// The text directly inside.
    pub(super) fn text(&self) -> String {
        let texts = self.children.iter().filter_map(|node| match node {
            Node::Text(text) => Some(text.as_str()),
            Node::Element(_) => None,
        });
        texts.collect()
    }
}

impl Document {
    /// Reads a document. Comments are left out, as canonical XML without comments has it.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, XmlError> {
        if bytes.len() > MAX_BYTES {
            return Err(XmlError::TooLarge);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| XmlError::NotWellFormed)?;
        let mut reader = Reader::from_str(text.strip_prefix('\u{feff}').unwrap_or(text));
        let config = reader.config_mut();
        config.expand_empty_elements = true;
        config.check_comments = true;
        let mut document = Self { elements: Vec::new() };
        let mut open: Vec<Index> = Vec::new();
        loop {
            match reader.read_event()? {
                Event::Start(start) => {
                    if open.is_empty() && !document.elements.is_empty() {
                        return Err(XmlError::NotWellFormed);
                    }
                    if open.len() == MAX_DEPTH || document.elements.len() == MAX_ELEMENTS {
                        return Err(XmlError::TooComplex);
                    }
                    open.push(document.push(&start, open.last().copied())?);
                }
                Event::End(_) => {
                    open.pop();
                }
                Event::Text(text) => document.text(open.last(), &text.xml10_content())?,
                Event::CData(text) if !open.is_empty() => {
                    document.text(open.last(), &text.xml10_content())?;
                }
                Event::GeneralRef(reference) if !open.is_empty() => {
                    let text = match reference.resolve_char_ref()? {
                        Some(character) => character.to_string(),
                        None => resolve_predefined_entity(&reference.xml10_content())
                            .ok_or(XmlError::NotWellFormed)?
                            .to_owned(),
                    };
                    document.text(open.last(), &text)?;
                }
                Event::Comment(_) => {}
                Event::Decl(declaration) if document.elements.is_empty() => declared(&declaration)?,
                Event::Eof if open.is_empty() && !document.elements.is_empty() => return Ok(document),
                Event::DocType(_) | Event::PI(_) => return Err(XmlError::Forbidden),
                _ => return Err(XmlError::NotWellFormed),
            }
        }
    }

    /// The namespace that a prefix stands for at an element.
    pub(super) fn namespace(&self, from: Option<Index>, prefix: &str) -> Option<&Rc<str>> {
        let mut place = from;
        while let Some(element) = place.and_then(|index| self.elements.get(index)) {
            if let Some((_, namespace)) = element.declarations.iter().find(|(other, _)| other == prefix) {
                return Some(namespace);
            }
            place = element.parent;
        }
        None
    }

    /// The elements directly inside.
    pub(super) fn children(&self, parent: Index) -> impl Iterator<Item = (Index, &Element)> {
        self.elements.get(parent).into_iter().flat_map(|element| &element.children).filter_map(|node| {
            match node {
                Node::Element(index) => self.elements.get(*index).map(|element| (*index, element)),
                Node::Text(_) => None,
            }
        })
    }

    fn push(&mut self, start: &BytesStart<'_>, parent: Option<Index>) -> Result<Index, XmlError> {
        let mut element = Element {
            parent,
            name: checked_name(start.name().as_ref())?,
            namespace: Rc::from(""),
            declarations: Vec::new(),
            attributes: Vec::new(),
            children: Vec::new(),
        };
        for (count, attribute) in start.attributes().enumerate() {
            if count == MAX_ATTRIBUTES {
                return Err(XmlError::TooComplex);
            }
            let attribute = attribute.map_err(quick_xml::Error::from)?;
            let name = checked_name(attribute.key.as_ref())?;
            let value = attribute.normalized_value(XmlVersion::Implicit1_0)?.into_owned();
            checked_text(&value)?;
            let prefix = match name.split_once(':') {
                None if name == "xmlns" => Some(""),
                Some(("xmlns", prefix)) => Some(prefix),
                // They would be inherited by what is cut out of the document.
                Some(("xml", _)) => return Err(XmlError::Forbidden),
                _ => None,
            };
            match prefix {
                Some("xml" | "xmlns") => return Err(XmlError::Forbidden),
                // A prefix cannot be undeclared in XML 1.0.
                Some(prefix) if !prefix.is_empty() && value.is_empty() => {
                    return Err(XmlError::NotWellFormed);
                }
                Some(prefix) => element.declarations.push((prefix.to_owned(), value.into())),
                None => element.attributes.push(Attribute { name, namespace: Rc::from(""), value }),
            }
        }
        let index = self.elements.len();
        self.elements.push(element);
        self.resolve(index)?;
        if let Some(parent) = parent.and_then(|parent| self.elements.get_mut(parent)) {
            parent.children.push(Node::Element(index));
        }
        Ok(index)
    }

    /// Finds the namespaces of an element's name and attributes.
    fn resolve(&mut self, index: Index) -> Result<(), XmlError> {
        let none: Rc<str> = Rc::from("");
        let Some(element) = self.elements.get(index) else { return Err(XmlError::NotWellFormed) };
        let resolve = |name: &str, default: &Rc<str>| match name.split_once(':') {
            None => Ok(default.clone()),
            Some((prefix, _)) => self.namespace(Some(index), prefix).cloned().ok_or(XmlError::NotWellFormed),
        };
        let default = self.namespace(Some(index), "").unwrap_or(&none);
        let namespace = resolve(&element.name, default)?;
        let mut attributes = Vec::with_capacity(element.attributes.len());
        for attribute in &element.attributes {
            attributes.push(resolve(&attribute.name, &none)?);
        }
        let Some(element) = self.elements.get_mut(index) else { return Err(XmlError::NotWellFormed) };
        element.namespace = namespace;
        for (attribute, namespace) in element.attributes.iter_mut().zip(attributes) {
            attribute.namespace = namespace;
        }
        // The order of canonical XML; equal neighbours are one attribute given twice.
        element.attributes.sort_by(|a, b| (&a.namespace, a.local()).cmp(&(&b.namespace, b.local())));
        let twice = |pair: &[Attribute]| matches!(pair, [a, b] if a.namespace == b.namespace && a.local() == b.local());
        if element.attributes.windows(2).any(twice) { Err(XmlError::NotWellFormed) } else { Ok(()) }
    }

    fn text(&mut self, parent: Option<&Index>, text: &str) -> Result<(), XmlError> {
        checked_text(text)?;
        let Some(element) = parent.and_then(|parent| self.elements.get_mut(*parent)) else {
            // Around the root there is white space only.
            let blank = text.bytes().all(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n'));
            return if blank { Ok(()) } else { Err(XmlError::NotWellFormed) };
        };
        match element.children.last_mut() {
            Some(Node::Text(before)) => before.push_str(text),
            _ => element.children.push(Node::Text(text.to_owned())),
        }
        Ok(())
    }
}

/// Another encoding or version would make other readers see another document in the same octets.
fn declared(declaration: &BytesDecl<'_>) -> Result<(), XmlError> {
    let encoding = declaration.encoding().transpose().map_err(quick_xml::Error::from)?;
    let utf_8 = encoding.is_none_or(|encoding| encoding.eq_ignore_ascii_case("UTF-8"));
    if utf_8 && declaration.version()? == "1.0" { Ok(()) } else { Err(XmlError::NotWellFormed) }
}

/// A name with at most one prefix, in the characters that records and signatures use.
fn checked_name(name: &str) -> Result<String, XmlError> {
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
    };
    let fits = match name.split_once(':') {
        None => part(name),
        Some((prefix, local)) => part(prefix) && part(local),
    };
    if fits { Ok(name.to_owned()) } else { Err(XmlError::NotWellFormed) }
}

/// XML 1.0, production 2: the characters a document may hold.
fn checked_text(text: &str) -> Result<(), XmlError> {
    let fits =
        text.chars().all(|c| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..='\u{10ffff}'));
    if fits { Ok(()) } else { Err(XmlError::NotWellFormed) }
}
