//! Records read back from their XML, and the chain they prove.

use verifactu_core::{
    chain::{BreakReason, Walk},
    record::{Cancellation, Link, Predecessor, Record, Statement},
    xml::{literals, record},
};

use harness::records;

/// Two invoices, and the cancellation of the second.
fn documents() -> Vec<String> {
    let mut chain: Vec<Record> = records::chain(2);
    let last = &chain[1];
    let invoice = last.statement.invoice_id().clone();
    let link = Link::Previous(Predecessor { invoice: invoice.clone(), huella: last.huella });
    let cancellation = Statement::Cancellation(Box::new(Cancellation::new(invoice)));
    let sealed =
        verifactu_core::chain::seal(cancellation, link, records::system(), last.generated_at.clone());
    chain.push(sealed);
    chain.iter().map(|record| String::from_utf8(record::to_vec(record)).unwrap()).collect()
}

fn walk(documents: &[String]) -> Result<u64, (u64, BreakReason)> {
    let mut walk = Walk::default();
    for document in documents {
        let literals = literals::read(document.as_bytes()).unwrap();
        walk.next(literals.chained()).map_err(|found| (found.position, found.reason))?;
    }
    Ok(walk.checked())
}

#[test]
fn what_is_written_is_read_back_and_holds() {
    assert_eq!(walk(&documents()), Ok(3));
}

#[test]
fn whatever_is_changed_is_found() {
    for (record, from, to) in [
        (0, "<ImporteTotal>1583.84</ImporteTotal>", "<ImporteTotal>1583.85</ImporteTotal>"),
        (1, "<TipoFactura>F1</TipoFactura>", "<TipoFactura>F2</TipoFactura>"),
        (2, "<FechaExpedicionFacturaAnulada>15", "<FechaExpedicionFacturaAnulada>16"),
    ] {
        let mut changed = documents();
        assert!(changed[record].contains(from), "{}", changed[record]);
        changed[record] = changed[record].replace(from, to);
        let (position, reason) = walk(&changed).unwrap_err();
        assert_eq!(position, record as u64 + 1);
        assert!(matches!(reason, BreakReason::Huella { .. }), "{reason:?}");
    }
    let mut missing = documents();
    missing.remove(1);
    assert!(matches!(walk(&missing), Err((2, BreakReason::PreviousHuella { .. }))));
}

#[test]
fn spelling_and_prefixes_are_the_writers_own() {
    let [first, ..] =
        documents().try_into().unwrap_or_else(|_| [String::new(), String::new(), String::new()]);
    let prefixed = first
        .replace("</", "<\u{1}")
        .replace('<', "<r:")
        .replace("<r:\u{1}", "</r:")
        .replace("xmlns=", "xmlns:r=");
    let (plain, prefixed) =
        (literals::read(first.as_bytes()).unwrap(), literals::read(prefixed.as_bytes()).unwrap());
    assert_eq!(plain, prefixed);

    let spaced = first.replace("<CuotaTotal>", "<CuotaTotal>\n  ");
    assert_eq!(literals::read(spaced.as_bytes()).unwrap(), plain);
    for wrong in [
        first.replace("RegistroAlta", "Registro"),
        first.replace("SuministroInformacion.xsd", "Otra.xsd"),
        first.replace("<TipoFactura>F1</TipoFactura>", ""),
    ] {
        assert!(literals::read(wrong.as_bytes()).is_err(), "{wrong}");
    }
}
