//! Documents that no authority sends, or should not. Each is refused for its own reason, without a
//! panic and without growing.

use verifactu_core::xml::{
    answer,
    reader::{MAX_TEXT, ReadError},
};

use super::samples::{self, Prefixes, RECEIPT, answer_template, line, registration};

const SOAP: &str = "http://schemas.xmlsoap.org/soap/envelope/";

fn enveloped(body: &str) -> Vec<u8> {
    format!("<e:Envelope xmlns:e=\"{SOAP}\"><e:Body>{body}</e:Body></e:Envelope>").into_bytes()
}

fn edited(from: &str, to: &str) -> Vec<u8> {
    let document = String::from_utf8(samples::accepted()).unwrap();
    assert!(document.contains(from), "{from}");
    document.replacen(from, to, 1).into_bytes()
}

/// A name for the kind of error.
fn kind(error: &ReadError) -> String {
    let debug = format!("{error:?}");
    debug.split(['(', ' ', '{']).next().unwrap_or_default().to_owned()
}

#[test]
fn each_is_refused_for_its_own_reason() {
    let deep = "<a>".repeat(100_000) + &"</a>".repeat(100_000);
    let bomb = "<!DOCTYPE lol [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;\">]>";
    let latin = {
        let mut document = edited("EMPRESA", "ESPA\u{1}A");
        let at = document.iter().position(|byte| *byte == 1).unwrap();
        document[at] = 0xD1;
        document
    };
    let declared_latin = edited("encoding=\"UTF-8\"", "encoding=\"ISO-8859-1\"");
    let cut_in_character = {
        let document = edited("EMPRESA", "ESPAÑA");
        let at = document.iter().position(|byte| *byte == 0xC3).unwrap();
        document[..=at].to_vec()
    };
    let many_attributes: String = (0..100).map(|n| format!(" a{n}=\"\"")).collect();
    let many_elements = "<a/>".repeat(1_000_001);
    let accepted = samples::accepted();
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("nothing", Vec::new(), "Truncated"),
        ("blanks", b" \r\n\t".to_vec(), "Truncated"),
        ("a word", b"Error".to_vec(), "OutsideRoot"),
        ("document type", [b"<!DOCTYPE html>".to_vec(), accepted.clone()].concat(), "DocumentType"),
        ("entity bomb", [bomb.as_bytes(), &enveloped("&b;")].concat(), "DocumentType"),
        ("undeclared entity in a part that is passed over", edited("EMPRESA", "&b;"), "Entity"),
        ("undeclared entity in a value", edited("A-86U4KHPACUMVZE", "&b;"), "Entity"),
        ("reference to no character", edited("A-86U4KHPACUMVZE", "&#xD800;"), "Entity"),
        ("reference to NUL", edited("A-86U4KHPACUMVZE", "&#0;"), "Entity"),
        ("reference to a control character", edited("A-86U4KHPACUMVZE", "&#8;"), "Character"),
        ("unending reference", edited("A-86U4KHPACUMVZE", "&amp"), "Syntax"),
        ("NUL", edited("A-86U4KHPACUMVZE", "A\0"), "Character"),
        ("escape character", edited("A-86U4KHPACUMVZE", "A\u{1b}"), "Character"),
        ("100 000 levels", enveloped(&deep), "Unexpected"),
        (
            "100 000 levels in the header",
            {
                format!("<e:Envelope xmlns:e=\"{SOAP}\"><e:Header>{deep}</e:Header></e:Envelope>")
                    .into_bytes()
            },
            "Depth",
        ),
        (
            "a million elements",
            {
                format!("<e:Envelope xmlns:e=\"{SOAP}\"><e:Header>{many_elements}</e:Header></e:Envelope>")
                    .into_bytes()
            },
            "Size",
        ),
        ("a hundred attributes", edited("<tikR:CSV>", &format!("<tikR:CSV{many_attributes}>")), "Size"),
        ("attribute twice", edited("<tikR:CSV>", "<tikR:CSV a=\"\" a=\"\">"), "Syntax"),
        ("huge text", edited("A-86U4KHPACUMVZE", &"A".repeat(MAX_TEXT + 1)), "TextSize"),
        ("huge text in pieces", edited("A-86U4KHPACUMVZE", &"A&amp;".repeat(MAX_TEXT)), "TextSize"),
        ("ISO-8859-1", latin, "Encoding"),
        ("declared as ISO-8859-1", declared_latin, "Encoding"),
        ("UTF-16", b"\xFF\xFE<\0a\0/\0>\0".to_vec(), "Encoding"),
        ("cut inside a character", cut_in_character, "Encoding"),
        ("two declarations", [b"<?xml version=\"1.0\"?>".to_vec(), accepted.clone()].concat(), "OutsideRoot"),
        ("two byte order marks", ["\u{FEFF}\u{FEFF}".as_bytes(), &accepted].concat(), "OutsideRoot"),
        ("two roots", [accepted.clone(), b"<a/>".to_vec()].concat(), "OutsideRoot"),
        ("text behind the root", [accepted.clone(), b"x".to_vec()].concat(), "OutsideRoot"),
        ("wrong end tag", edited("</tikR:CSV>", "</tik:CSV>"), "Syntax"),
        ("prefix not declared", edited("<tikR:CSV>A-86U4KHPACUMVZE</tikR:CSV>", "<q:CSV/>"), "Prefix"),
        ("prefix taken back", edited("<tikR:CSV>", "<tikR:CSV xmlns:tikR=\"\">"), "Prefix"),
        ("< in an attribute", edited("<tikR:CSV>", "<tikR:CSV a=\"<\">"), "Unexpected"),
        (
            "web page",
            b"<html><head><title>503</title></head><body><p>Hi<br></body></html>".to_vec(),
            "Unexpected",
        ),
        ("web page with a document type", b"<!DOCTYPE html><html></html>".to_vec(), "DocumentType"),
        ("JSON", b"{\"error\":1}".to_vec(), "OutsideRoot"),
        ("envelope of another SOAP", edited(SOAP, "http://www.w3.org/2003/05/soap-envelope"), "Unexpected"),
        ("no body", format!("<e:Envelope xmlns:e=\"{SOAP}\"/>").into_bytes(), "Missing"),
        ("empty body", enveloped(""), "Missing"),
        ("another message", enveloped("<RegFactuSistemaFacturacion/>"), "Unexpected"),
        ("two messages", enveloped(&fault_body().repeat(2)), "TooMany"),
        ("fault without code", enveloped("<e:Fault><faultstring>x</faultstring></e:Fault>"), "Missing"),
        ("no state", edited("<tikR:EstadoEnvio>Correcto</tikR:EstadoEnvio>", ""), "Missing"),
        ("unknown state", edited("EstadoEnvio>Correcto", "EstadoEnvio>Perfecto"), "Value"),
        (
            "state twice",
            edited("<tikR:EstadoEnvio>", "<tikR:EstadoEnvio>Correcto</tikR:EstadoEnvio><tikR:EstadoEnvio>"),
            "TooMany",
        ),
        (
            "line without its state",
            edited("<tikR:EstadoRegistro>Correcto</tikR:EstadoRegistro>", ""),
            "Missing",
        ),
        ("line with an unknown state", edited("EstadoRegistro>Correcto", "EstadoRegistro>Anulada"), "Value"),
        (
            "line with two states",
            edited(
                "<tikR:EstadoRegistro>",
                "<tikR:EstadoRegistro>Incorrecto</tikR:EstadoRegistro><tikR:EstadoRegistro>",
            ),
            "TooMany",
        ),
        ("line without number", edited("<tik:NumSerieFactura>A-1</tik:NumSerieFactura>", ""), "Missing"),
        ("line without operation", edited("<tik:TipoOperacion>Alta</tik:TipoOperacion>", ""), "Missing"),
        ("elements inside a text", edited("A-86U4KHPACUMVZE", "<tikR:b/>"), "Unexpected"),
    ];
    for (name, document, expected) in cases {
        let found = answer::read(&document).map_or_else(|error| kind(&error), |_| "ok".to_owned());
        assert_eq!(found, expected, "{name}");
    }
}

fn fault_body() -> &'static str {
    "<e:Fault><faultcode>e:Client</faultcode><faultstring>x</faultstring></e:Fault>"
}

#[test]
fn swapped_namespaces_are_not_mistaken_for_each_other() {
    let template = answer_template(RECEIPT, "60", "Correcto", &line("A-1", "Correcto", ""));
    let own =
        Prefixes { soap: "env", own: "tikR", shared: "tik" }.apply(&template, "RespuestaConsultaLR.xsd");
    assert!(matches!(answer::read(&own), Err(ReadError::Unexpected { .. })));
    let shared = String::from_utf8(registration(&template)).unwrap().replace("<tik:Tipo", "<tikR:Tipo");
    let shared = shared.replace("</tik:Tipo", "</tikR:Tipo");
    assert!(matches!(answer::read(shared.as_bytes()), Err(ReadError::Missing("TipoOperacion"))));
    let state = template.replace("R:EstadoRegistro", "I:EstadoRegistro");
    assert!(matches!(answer::read(&registration(&state)), Err(ReadError::Missing("EstadoRegistro"))));
}

#[test]
fn no_cut_and_no_changed_byte_makes_it_panic_or_lie() {
    let whole = samples::accepted();
    for end in 0..whole.len() {
        assert!(answer::read(&whole[..end]).is_err(), "cut at {end}");
    }
    let mut document = whole.clone();
    for at in 0..whole.len() {
        for byte in [0, b'<', b'>', b'&', b'"', b' ', b'/', b'!', b'?', b':', 0x80, 0xFF] {
            document[at] = byte;
            // Whatever it says, it says it in time; and a line's place is always inside the document.
            if let Ok(answer::Reply::Registration(answer)) = answer::read(&document) {
                assert!(answer.lines.iter().all(|line| document.get(line.bytes.clone()).is_some()));
            }
        }
        document[at] = whole[at];
    }
}

#[test]
fn a_mebibyte_of_anything_is_refused_in_time() {
    let size = 1 << 20;
    for piece in
        ["<", "<a ", "&amp;", "<!--", "<![CDATA[", "<a>", "<a/>", "\"", "x", "<?a?>", "<a b=\"", "]]>"]
    {
        let document = enveloped(&piece.repeat(size / piece.len()));
        assert!(answer::read(&document).is_err(), "{piece}");
    }
}
