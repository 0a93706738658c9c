//! Canonical XML 1.0, inclusive, without comments (W3C REC-xml-c14n-20010315).
//!
//! Only what a record needs: whole documents, an element cut out of one (it then carries the
//! namespaces of its ancestors), and a document without its signature.

use std::{collections::BTreeMap, rc::Rc};

use super::{
    error::SignatureError,
    tree::{Document, Index, Node},
};

/// The canonical form of a document: the octets that a signature of the whole of it covers.
///
/// # Errors
/// [`SignatureError::Xml`] for documents that are too large, too deep, have a DTD, or are not well
/// formed.
///
/// ```
/// let form = verifactu_core::signature::canonical_form(b"<?xml version='1.0'?><a b='1'><c/></a>")?;
/// assert_eq!(form, b"<a b=\"1\"><c></c></a>");
/// # Ok::<(), verifactu_core::signature::SignatureError>(())
/// ```
pub fn canonical_form(document: &[u8]) -> Result<Vec<u8>, SignatureError> {
    let document = Document::read(document)?;
    Ok(canonical(&document, 0, None))
}

/// The canonical form of one element, without the element `left_out` in it.
pub(super) fn canonical(document: &Document, apex: Index, left_out: Option<Index>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut inherited = BTreeMap::new();
    let mut place = Some(apex);
    while let Some(element) = place.and_then(|index| document.elements.get(index)) {
        for (prefix, namespace) in &element.declarations {
            inherited.entry(prefix.as_str()).or_insert(namespace);
        }
        place = element.parent;
    }
    inherited.retain(|prefix, namespace| !prefix.is_empty() || !namespace.is_empty());
    write(document, apex, inherited, left_out, &mut out);
    out
}

/// Depth is bounded by the reader, so the recursion is too. `namespaces` are the declarations that
/// this element shows, by prefix, the default first.
fn write(
    document: &Document,
    index: Index,
    namespaces: BTreeMap<&str, &Rc<str>>,
    left_out: Option<Index>,
    out: &mut Vec<u8>,
) {
    let Some(element) = document.elements.get(index) else { return };
    out.push(b'<');
    out.extend_from_slice(element.name.as_bytes());
    for (prefix, namespace) in namespaces {
        out.extend_from_slice(b" xmlns");
        if !prefix.is_empty() {
            out.push(b':');
            out.extend_from_slice(prefix.as_bytes());
        }
        value(namespace, out);
    }
    for attribute in &element.attributes {
        out.push(b' ');
        out.extend_from_slice(attribute.name.as_bytes());
        value(&attribute.value, out);
    }
    out.push(b'>');
    for node in &element.children {
        match node {
            Node::Text(content) => text(content, out),
            Node::Element(child) if Some(*child) == left_out => {}
            Node::Element(child) => {
                write(document, *child, new_namespaces(document, *child), left_out, out);
            }
        }
    }
    out.extend_from_slice(b"</");
    out.extend_from_slice(element.name.as_bytes());
    out.push(b'>');
}

/// The declarations of an element that say something else than its parent's.
fn new_namespaces(document: &Document, index: Index) -> BTreeMap<&str, &Rc<str>> {
    let Some(element) = document.elements.get(index) else { return BTreeMap::new() };
    let news = element.declarations.iter().filter(|(prefix, namespace)| {
        let before = document.namespace(element.parent, prefix);
        before.map_or("", |before| before) != &**namespace
    });
    news.map(|(prefix, namespace)| (prefix.as_str(), namespace)).collect()
}

/// Appends text as canonical XML escapes it.
fn text(content: &str, out: &mut Vec<u8>) {
    for byte in content.bytes() {
        match byte {
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            b'\r' => out.extend_from_slice(b"&#xD;"),
            other => out.push(other),
        }
    }
}

/// Appends an attribute's value, with its equals sign and quotes.
fn value(content: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"=\"");
    for byte in content.bytes() {
        match byte {
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'"' => out.extend_from_slice(b"&quot;"),
            b'\t' => out.extend_from_slice(b"&#x9;"),
            b'\n' => out.extend_from_slice(b"&#xA;"),
            b'\r' => out.extend_from_slice(b"&#xD;"),
            other => out.push(other),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{Document, canonical, canonical_form};
    use crate::signature::{SignatureError, XmlError};

    fn form(text: &str) -> String {
        String::from_utf8(canonical_form(text.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn documents_take_their_canonical_form() {
        for (text, expected) in [
            ("<?xml version=\"1.0\"?>\n<!-- x -->\n<a/>\n", "<a></a>"),
            ("<a>\r\n\t<b >x</b\n></a>", "<a>\n\t<b>x</b></a>"),
            ("<a>1&#13;2&lt;3&gt;4&amp;5&quot;6&#x20AC;</a>", "<a>1&#xD;2&lt;3&gt;4&amp;5\"6€</a>"),
            ("<a><![CDATA[<&>]]>x<!-- c -->y</a>", "<a>&lt;&amp;&gt;xy</a>"),
            ("<a c='2' b='1&#10;\n\"'/>", "<a b=\"1&#xA; &quot;\" c=\"2\"></a>"),
            (
                "<p:a xmlns:p='u:p' xmlns='u:d' xmlns:q='u:q' q:z='1' p:y='2' x='3'><b xmlns='u:d' xmlns:q='u:q'/></p:a>",
                "<p:a xmlns=\"u:d\" xmlns:p=\"u:p\" xmlns:q=\"u:q\" x=\"3\" p:y=\"2\" q:z=\"1\"><b></b></p:a>",
            ),
            (
                "<a xmlns='u:d'><b xmlns=''><c xmlns=''/></b></a>",
                "<a xmlns=\"u:d\"><b xmlns=\"\"><c></c></b></a>",
            ),
            ("<a xmlns=''/>", "<a></a>"),
        ] {
            assert_eq!(form(text), expected, "{text}");
            assert_eq!(form(expected), expected, "the canonical form is its own canonical form");
        }
    }

    #[test]
    fn an_element_cut_out_keeps_its_namespaces() {
        let text = "<a xmlns='u:d' xmlns:p='u:p'><p:b xmlns:q='u:q' z=''><c/></p:b></a>";
        let document = Document::read(text.as_bytes()).unwrap();
        let cut = "<p:b xmlns=\"u:d\" xmlns:p=\"u:p\" xmlns:q=\"u:q\" z=\"\"><c></c></p:b>";
        assert_eq!(canonical(&document, 1, None), cut.as_bytes());
        let without = "<p:b xmlns=\"u:d\" xmlns:p=\"u:p\" xmlns:q=\"u:q\" z=\"\"></p:b>";
        assert_eq!(canonical(&document, 1, Some(2)), without.as_bytes());
    }

    #[test]
    fn what_records_do_not_have_is_refused() {
        let deep = format!("{}{}", "<a>".repeat(33), "</a>".repeat(33));
        let many = format!("<a>{}</a>", "<b/>".repeat(20_000));
        let wide = format!("<a {}/>", (0..33).map(|n| format!("a{n}='' ")).collect::<String>());
        let long = format!("<a>{}</a>", "x".repeat(1024 * 1024));
        for text in [
            "",
            " ",
            "x",
            "<a>",
            "<a></b>",
            "<a/><b/>",
            "<a/>x",
            "<a b='1' b='2'/>",
            "<p:a/>",
            "<a p:b=''/>",
            "<a xmlns:p='u' xmlns:q='u' p:b='' q:b=''/>",
            "<a xmlns:p=''/>",
            "<a>&x;</a>",
            "<a>&#0;</a>",
            "<a>&#1;</a>",
            "<a b='&#2;'/>",
            "<!DOCTYPE a><a/>",
            "<a><?p x?></a>",
            "<a xml:lang='es'/>",
            "<a xmlns:xml='u'/>",
            "<a:b:c/>",
            "<1a/>",
            "</a>",
            "<?xml version='1.0' encoding='ISO-8859-1'?><a/>",
            "<?xml version='1.1'?><a/>",
            &deep,
            &many,
            &wide,
            &long,
        ] {
            let refused = canonical_form(text.as_bytes());
            assert!(refused.is_err(), "{}", &text[..text.len().min(60)]);
        }
        assert!(matches!(canonical_form(b"<a>\xff</a>"), Err(SignatureError::Xml(XmlError::NotWellFormed))));
    }
}
