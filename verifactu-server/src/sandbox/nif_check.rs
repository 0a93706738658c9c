//! The check of NIFs against the census: `VNifV2`.
//!
//! Its schema names namespaces with `https`, its manual writes them with `http`, and clients use
//! both; the answer comes in the one that was asked in. A natural person's name is echoed, an
//! entity's is the census's own.

use super::census::{Census, CensusStatus, Identified};
use super::finding::Finding;
use super::nif;
use super::refusal::Refusal;
use super::xml::{Element, NIF_CHECK_ANSWER, NIF_CHECK_ANSWER_PLAIN, Ns, Writer};

/// Most taxpayers of one message (`VNifV2Ent.xsd`).
const MOST: usize = 10_000;

/// Answers the request whose body is `root`.
pub(crate) fn answer(census: &Census, root: &Element) -> Result<String, Refusal> {
    if !root.text.is_empty() || root.children.is_empty() {
        return Err(wrong("Contribuyente"));
    }
    if root.children.len() > MOST {
        return Err(Refusal::new(4113));
    }
    let namespace = match root.ns {
        Ns::NifCheckPlain => NIF_CHECK_ANSWER_PLAIN,
        _ => NIF_CHECK_ANSWER,
    };
    let mut out = Writer::envelope();
    out.start("VNifV2Sal", "VNifV2Sal", &[("VNifV2Sal", namespace)]);
    for taxpayer in &root.children {
        let (nif, name) = read(root.ns, taxpayer)?;
        let (result, known) = result(census, nif, name);
        out.open("VNifV2Sal", "Contribuyente");
        out.leaf("VNifV2Sal", "Nif", nif);
        out.leaf("VNifV2Sal", "Nombre", known.unwrap_or(name));
        out.leaf("VNifV2Sal", "Resultado", result);
        out.close("VNifV2Sal", "Contribuyente");
    }
    out.close("VNifV2Sal", "VNifV2Sal");
    Ok(out.finish_envelope())
}

/// NIF and name of a `Contribuyente`, which holds these two and nothing else.
fn read(ns: Ns, taxpayer: &Element) -> Result<(&str, &str), Refusal> {
    let is = |element: &Element, name: &str| element.ns == ns && element.name == name;
    if !is(taxpayer, "Contribuyente") || !taxpayer.text.is_empty() {
        return Err(wrong(&taxpayer.name));
    }
    let leaf = |index: usize, name: &str| {
        taxpayer
            .children
            .get(index)
            .filter(|leaf| is(leaf, name) && leaf.children.is_empty())
            .ok_or_else(|| wrong(name))
    };
    let (nif, name) = (leaf(0, "Nif")?, leaf(1, "Nombre")?);
    match taxpayer.children.get(2) {
        None => Ok((&nif.text, &name.text)),
        Some(further) => Err(wrong(&further.name)),
    }
}

/// `Resultado`, and the name to answer with if it is not the one asked about.
fn result<'a>(census: &'a Census, nif: &str, name: &str) -> (&'static str, Option<&'a str>) {
    match census.look_up(nif, name) {
        Identified::No => ("NO IDENTIFICADO", None),
        Identified::Similar => ("NO IDENTIFICADO-SIMILAR", None),
        Identified::Yes(status, known) => {
            let result = match status {
                CensusStatus::Deregistered => "IDENTIFICADO-BAJA",
                CensusStatus::Revoked => "IDENTIFICADO-REVOCADO",
                CensusStatus::Active | CensusStatus::Missing => "IDENTIFICADO",
            };
            (result, known.filter(|_| !nif::is_person(nif)))
        }
    }
}

fn wrong(name: &str) -> Refusal {
    Finding::new(4102).naming(name).into()
}
