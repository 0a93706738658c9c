//! Recipients and the other parties of a record (Val 3.1.3.11 to 3.1.3.13, 3.1.5).

use super::super::finding::Finding;
use super::super::nif;
use super::super::record::Record;
use super::super::xml::Element;
use super::Facts;

const RECIPIENT: &str = "Error en el bloque Destinatario.";
const THIRD_PARTY: &str = "Error en el bloque de Tercero.";
const GENERATOR: &str = "Error en el bloque de Generador.";
const SYSTEM: &str = "Error en el bloque de SistemaInformatico.";

pub(super) fn recipients_by_type(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    if !record.is_alta() {
        return None;
    }
    match (record.text("TipoFactura"), record.at("Destinatarios").is_some()) {
        ("F2" | "R5", true) => Some(Finding::new(1190)),
        ("F1" | "F3" | "R1" | "R2" | "R3" | "R4", false) => Some(Finding::new(1189)),
        _ => None,
    }
}

/// A wrong check character comes back as 4109 on the record's line, though AEAT lists the code
/// among those that refuse a message.
pub(super) fn check_characters(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let recipients = record.at("Destinatarios").map(|block| block.all("IDDestinatario"));
    recipients
        .into_iter()
        .flatten()
        .map(|party| (RECIPIENT, party))
        .chain(record.at("Tercero").map(|party| (THIRD_PARTY, party)))
        .chain(record.at("Generador").map(|party| (GENERATOR, party)))
        .chain(record.at("SistemaInformatico").map(|party| (SYSTEM, party)))
        .find_map(|(block, party)| wrong_check_character(block, party))
}

fn wrong_check_character(block: &'static str, party: &Element) -> Option<Finding> {
    let written = party.text_at("NIF")?;
    if nif::is_valid(written) {
        return None;
    }
    let name = party.text_at("NombreRazon").unwrap_or_default();
    let detail = format!(". NIF:{written}. NOMBRE_RAZON:{name}");
    Some(Finding::new(4109).in_block(block).with_detail(detail))
}
