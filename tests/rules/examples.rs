//! The records that the authority publishes as examples break no rule.
//!
//! Its examples have placeholders for tax numbers, and were written for days before the first on which
//! an invoice can be issued; both are filled in before they are read.

use quick_xml::{Reader, events::Event};
use serde_json::{Map, Value, json};

use super::{
    official,
    rules::{TODAY, read},
};

const FILES: &[&str] = &[
    "sweb-pdf/9.1.1.1-alta.xml",
    "sweb-pdf/9.1.2.1-alta-subsanacion.xml",
    "sweb-pdf/9.1.3.1-alta-tras-rechazo.xml",
    "sweb-pdf/9.2.1.1-anulacion.xml",
    "sweb-pdf/9.2.2.1-anulacion-tras-rechazo.xml",
    "sweb-pdf/9.2.3.1-anulacion-sin-registro-previo.xml",
    "sweb-pdf/9.3.1-tres-registros.xml",
    "sweb-pdf/10.1.1.1-requerimiento-alta.xml",
    "sweb-pdf/10.1.2.1-requerimiento-subsanacion.xml",
    "sweb-pdf/10.2.1.1-requerimiento-anulacion.xml",
    "firma/ejemploRegistro.xml",
];

#[test]
fn published_examples_break_no_rule() {
    let mut bodies = 0;
    for name in FILES {
        let Some(path) = official::file(&format!("examples/{name}")) else { return };
        let text = std::fs::read_to_string(path).unwrap();
        let filled = [("AAAA", "89890001K"), ("BBBB", "89890002E"), ("NNNN", "89890001K")]
            .into_iter()
            .chain(["13-09-2024", "13-02-2024"].map(|day| (day, "28-10-2024")))
            .fold(text, |text, (from, to)| text.replace(&format!(">{from}<"), &format!(">{to}<")));
        let root = tree(&filled);
        for record in root.all("RegistroAlta") {
            assert_eq!(read(&invoice(record), TODAY), [""; 0], "{name}");
            bodies += 1;
        }
        for record in root.all("RegistroAnulacion") {
            assert_eq!(read(&cancellation(record), TODAY), [""; 0], "{name}");
            bodies += 1;
        }
    }
    assert_eq!(bodies, 13);
}

fn invoice(record: &Element) -> Value {
    let id = record.child("IDFactura");
    let mut body = invoice_id(id, "");
    let members = body.as_object_mut().unwrap();
    record.copy(
        members,
        &[
            ("NombreRazonEmisor", "nombre"),
            ("Subsanacion", "subsanacion"),
            ("RechazoPrevio", "rechazoPrevio"),
            ("TipoFactura", "tipoFactura"),
            ("TipoRectificativa", "tipoRectificativa"),
            ("FechaOperacion", "fechaOperacion"),
            ("DescripcionOperacion", "descripcion"),
            ("CuotaTotal", "cuotaTotal"),
            ("ImporteTotal", "total"),
        ],
    );
    let list = |name, of: fn(&Element) -> Value| record.all(name).into_iter().map(of).collect::<Value>();
    members.insert("destinatarios".into(), list("IDDestinatario", party));
    members.insert("facturasRectificadas".into(), list("IDFacturaRectificada", |id| invoice_id(id, "")));
    members.insert("desglose".into(), list("DetalleDesglose", line));
    body
}

fn cancellation(record: &Element) -> Value {
    let mut body = invoice_id(record.child("IDFactura"), "Anulada");
    let members = body.as_object_mut().unwrap();
    members.insert("nombre".into(), json!("certificado uno telematicas"));
    record.copy(members, &[("SinRegistroPrevio", "sinRegistroPrevio"), ("RechazoPrevio", "rechazoPrevio")]);
    body
}

fn invoice_id(id: &Element, suffix: &str) -> Value {
    let text = |name: &str| id.child(&format!("{name}{suffix}")).text.clone();
    json!({"nif": text("IDEmisorFactura"), "numSerie": text("NumSerieFactura"),
        "fecha": text("FechaExpedicionFactura")})
}

fn party(party: &Element) -> Value {
    json!({"nombre": party.child("NombreRazon").text, "nif": party.child("NIF").text})
}

fn line(line: &Element) -> Value {
    let mut members = Map::new();
    let names = [
        ("ClaveRegimen", "clave"),
        ("CalificacionOperacion", "calif"),
        ("TipoImpositivo", "tipo"),
        ("BaseImponibleOimporteNoSujeto", "base"),
        ("CuotaRepercutida", "cuota"),
    ];
    line.copy(&mut members, &names);
    assert_eq!(members.len(), line.children.len(), "a field of the line is not copied");
    Value::Object(members)
}

#[derive(Default)]
struct Element {
    name: String,
    text: String,
    children: Vec<Element>,
}

impl Element {
    fn child(&self, name: &str) -> &Self {
        self.children.iter().find(|child| child.name == name).unwrap_or_else(|| panic!("no {name}"))
    }

    fn all(&self, name: &str) -> Vec<&Self> {
        let inner = self.children.iter().flat_map(|child| child.all(name));
        self.children.iter().filter(|child| child.name == name).chain(inner).collect()
    }

    fn copy(&self, members: &mut Map<String, Value>, names: &[(&str, &str)]) {
        for (from, to) in names {
            if let Some(child) = self.children.iter().find(|child| child.name == *from) {
                members.insert((*to).into(), json!(child.text));
            }
        }
    }
}

/// The document as the only child of an element without name.
fn tree(text: &str) -> Element {
    let mut open = vec![Element::default()];
    let mut reader = Reader::from_str(text);
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) => {
                open.push(Element { name: start.local_name().as_ref().to_owned(), ..Element::default() })
            }
            Event::Text(part) => {
                open.last_mut().unwrap().text.push_str(part.trim());
            }
            Event::End(_) => {
                let element = open.pop().unwrap();
                open.last_mut().unwrap().children.push(element);
            }
            Event::Eof => return open.pop().unwrap(),
            _ => {}
        }
    }
}
