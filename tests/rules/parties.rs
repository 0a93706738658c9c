//! Rules on recipients, third parties, foreign numbers and cancellations.

use serde_json::{Value, json};

use super::rules::{TODAY, cancellation, check, full, read, simplified, with};

#[test]
fn recipients_and_third_parties() {
    let third = json!({"nombre": "Gestor", "nif": "A58818501"});
    let foreign = |id: Value| with(full(), json!({"destinatarios": [{"nombre": "X", "idOtro": id}]}));
    let on = |day: &str, id: Value| with(foreign(id), json!({"fechaOperacion": day}));
    let by = |id: Value| with(full(), json!({"emitidaPor": "T", "tercero": {"nombre": "X", "idOtro": id}}));
    check(vec![
        (with(full(), json!({"emitidaPor": "T", "tercero": third})), &[]),
        (with(full(), json!({"tercero": third})), &["1155 emitidaPor"]),
        (with(full(), json!({"emitidaPor": "D", "tercero": third})), &["1159 tercero"]),
        (with(full(), json!({"emitidaPor": "T"})), &["1186 tercero"]),
        (with(full(), json!({"emitidaPor": "D"})), &[]),
        (with(simplified(), json!({"emitidaPor": "D"})), &["1158 destinatarios"]),
        (with(full(), json!({"emitidaPor": "E"})), &["1151 emitidaPor"]),
        (
            with(full(), json!({"emitidaPor": "T", "tercero": {"nombre": "X", "nif": "B12345674"}})),
            &["1188 tercero.nif"],
        ),
        (with(full(), json!({"destinatarios": []})), &["1189 destinatarios"]),
        (with(simplified(), json!({"destinatarios": [third]})), &["1190 destinatarios"]),
        (
            with(
                simplified(),
                json!({"destinatarios": [{"nombre": "X", "idOtro": {"idType": "02", "id": "FR12345678901"}}]}),
            ),
            &["1156 destinatarios[0].idOtro.idType", "1190 destinatarios"],
        ),
        (foreign(json!({"idType": "02", "id": "FR12345678901"})), &[]),
        (foreign(json!({"idType": "02", "codigoPais": "FR", "id": "FR12345678901"})), &[]),
        (
            foreign(json!({"idType": "02", "codigoPais": "DE", "id": "FR12345678901"})),
            &["1122 destinatarios[0].idOtro.codigoPais"],
        ),
        (foreign(json!({"idType": "02", "codigoPais": "GR", "id": "EL123456789"})), &[]),
        (foreign(json!({"idType": "02", "codigoPais": "GB", "id": "XI123456789"})), &[]),
        (foreign(json!({"idType": "02", "id": "12345678901"})), &["1103 destinatarios[0].idOtro.id"]),
        (foreign(json!({"idType": "02", "id": "fr12345678901"})), &["1103 destinatarios[0].idOtro.id"]),
        (foreign(json!({"idType": "04", "id": "ABC"})), &["1111 destinatarios[0].idOtro.codigoPais"]),
        (foreign(json!({"idType": "04", "codigoPais": "US", "id": "ABC"})), &[]),
        (
            foreign(json!({"idType": "04", "codigoPais": "MQ", "id": "ABC"})),
            &["1101 destinatarios[0].idOtro.codigoPais"],
        ),
        (
            foreign(json!({"idType": "01", "codigoPais": "US", "id": "ABC"})),
            &["1102 destinatarios[0].idOtro.idType"],
        ),
        (foreign(json!({"idType": "03", "codigoPais": "ES", "id": "ABC"})), &[]),
        (
            foreign(json!({"idType": "06", "codigoPais": "ES", "id": "ABC"})),
            &["1126 destinatarios[0].idOtro.codigoPais"],
        ),
        (foreign(json!({"idType": "07", "codigoPais": "ES", "id": "12345678Z"})), &[]),
        (
            foreign(json!({"idType": "07", "codigoPais": "FR", "id": "12345678Z"})),
            &["1126 destinatarios[0].idOtro.codigoPais"],
        ),
        (foreign(json!({"idType": "07", "id": "12345678Z"})), &["1111 destinatarios[0].idOtro.codigoPais"]),
        (
            foreign(json!({"idType": "07", "codigoPais": "ES", "id": "A58818501"})),
            &["1131 destinatarios[0].idOtro.id"],
        ),
        (
            foreign(json!({"idType": "07", "codigoPais": "ES", "id": "12345678A"})),
            &["1290 destinatarios[0].idOtro.id"],
        ),
        (
            on("31-12-2020", json!({"idType": "02", "id": "XI123456789"})),
            &["1254 destinatarios[0].idOtro.id"],
        ),
        (on("01-01-2021", json!({"idType": "02", "id": "XI123456789"})), &[]),
        (on("31-01-2021", json!({"idType": "02", "id": "GB123456789"})), &[]),
        (
            on("01-02-2021", json!({"idType": "02", "id": "GB123456789"})),
            &["1255 destinatarios[0].idOtro.id"],
        ),
        (by(json!({"idType": "07", "codigoPais": "ES", "id": "12345678Z"})), &["1211 tercero.idOtro.idType"]),
        (by(json!({"idType": "03", "codigoPais": "ES", "id": "ABC"})), &[]),
        (by(json!({"idType": "05", "codigoPais": "ES", "id": "ABC"})), &["1232 tercero.idOtro.idType"]),
    ]);
}

#[test]
fn producers_of_systems() {
    let by =
        |id: Value| with(full(), json!({"sistemaInformatico": {"nombreRazon": "Productor", "idOtro": id}}));
    check(vec![
        (with(full(), json!({"sistemaInformatico": {"nombreRazon": "X", "nif": "A58818501"}})), &[]),
        (by(json!({"idType": "02", "id": "FR12345678901"})), &[]),
        (by(json!({"idType": "02", "id": "12345678901"})), &["1103 sistemaInformatico.idOtro.id"]),
        (by(json!({"idType": "04", "id": "ABC"})), &["1111 sistemaInformatico.idOtro.codigoPais"]),
        (by(json!({"idType": "04", "codigoPais": "US", "id": "ABC"})), &[]),
        (by(json!({"idType": "03", "codigoPais": "ES", "id": "ABC"})), &[]),
        (
            by(json!({"idType": "04", "codigoPais": "ES", "id": "ABC"})),
            &["1232 sistemaInformatico.idOtro.idType"],
        ),
        (
            by(json!({"idType": "07", "codigoPais": "ES", "id": "12345678Z"})),
            &["1221 sistemaInformatico.idOtro.idType"],
        ),
        (
            with(
                full(),
                json!({"sistemaInformatico": {"nombreRazon": "X", "nif": "A58818501",
                    "idSistemaInformatico": "a1"}}),
            ),
            &["1177 sistemaInformatico.idSistemaInformatico"],
        ),
    ]);
}

#[test]
fn vat_numbers_have_their_countries_shape() {
    let good = "DE123456789 ATU12345678 BE0123456789 BG123456789 BG1234567890 HR12345678901 CY12345678L CZ12345678 \
        CZ123456789 CZ1234567890 DK12345678 EE123456789 FI12345678 FR12345678901 FRXX345678901 EL123456789 HU12345678 \
        IE1234567A IE1234567AB IT12345678901 LV12345678901 LT123456789 LT123456789012 LU12345678 MT12345678 \
        NL123456789B01 PL1234567890 PT123456789 RO12 RO1234567890 SK1234567890 SI12345678 SE123456789012 XI12345 \
        XI123456789 XI123456789012";
    let bad = "DE12345678 DE1234567890 DE12345678A ES12345678Z RO1 RO01 RO12345678901 LV123456789 EL12345678 GR123456789 \
        XI1234 NL123456789b01 FR1234567890 US123456789 D X FR";
    let read = |id: &str| {
        read(
            &with(full(), json!({"destinatarios": [{"nombre": "X", "idOtro": {"idType": "02", "id": id}}]})),
            TODAY,
        )
    };
    for id in good.split_whitespace() {
        assert_eq!(read(id), [""; 0], "{id}");
    }
    for id in bad.split_whitespace() {
        assert_eq!(read(id), ["1103 destinatarios[0].idOtro.id"], "{id}");
    }
}

#[test]
fn cancellations() {
    let by = |who: Value, id: Value| {
        with(cancellation(), json!({"generadoPor": who, "generador": {"nombre": "X", "idOtro": id}}))
    };
    let nif = |who: &str, nif: &str| {
        with(cancellation(), json!({"generadoPor": who, "generador": {"nombre": "X", "nif": nif}}))
    };
    let passport = json!({"codigoPais": "ES", "idType": "03", "id": "ABC"});
    let other = json!({"codigoPais": "ES", "idType": "06", "id": "ABC"});
    let unknown = json!({"codigoPais": "ES", "idType": "07", "id": "12345678Z"});
    check(vec![
        (cancellation(), &[]),
        (with(cancellation(), json!({"generadoPor": "E", "generador": {}})), &[]),
        (with(cancellation(), json!({"generadoPor": "T"})), &["1224 generador"]),
        (
            with(cancellation(), json!({"generador": {"nombre": "X", "nif": "A58818501"}})),
            &["1224 generadoPor"],
        ),
        (with(cancellation(), json!({"generadoPor": "X"})), &["1225 generadoPor"]),
        (nif("E", "B12345674"), &[]),
        (nif("T", "A58818501"), &[]),
        (nif("T", "B12345674"), &["1259 generador.nif"]),
        (nif("D", "B12345674"), &["1259 generador.nif"]),
        (by(json!("E"), passport.clone()), &["1227 generador.nif"]),
        (by(json!("T"), passport.clone()), &[]),
        (by(json!("T"), unknown.clone()), &["1229 generador.idOtro.idType"]),
        (by(json!("T"), other.clone()), &["1232 generador.idOtro.idType"]),
        (by(json!("D"), unknown), &[]),
        (by(json!("D"), passport), &[]),
        (by(json!("D"), other), &["1230 generador.idOtro.idType"]),
        // A cancellation has no day of operation by which a British prefix would be refused.
        (by(json!("D"), json!({"idType": "02", "id": "GB123456789"})), &[]),
        (with(cancellation(), json!({"sinRegistroPrevio": "X"})), &["1276 sinRegistroPrevio"]),
        (with(cancellation(), json!({"rechazoPrevio": "X"})), &["1275 rechazoPrevio"]),
        (with(cancellation(), json!({"numSerie": "A=1"})), &["1287 numSerie"]),
    ]);
}
