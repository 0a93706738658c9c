//! Records one by one: their form, the rules that refuse them, and the errors that are noted.

use crate::bench::{Bench, issue};
use crate::invoice::{Alta, Anulacion, LINE, Link, NOW, RECIPIENT, Rec, TODAY, envelope, envelope_with};
use crate::xmllint;
use verifactu_server::sandbox::Holder;

/// AEAT's own example: its huella is right, its stamp is old.
#[tokio::test]
async fn the_official_example() {
    let Some(example) = xmllint::official_example() else {
        return;
    };
    let bench = Bench::start().await;
    let late = bench.post(example.clone()).await;
    assert_eq!(late.text("tikR:EstadoEnvio"), "ParcialmenteCorrecto", "{}", late.body);
    assert_eq!(late.text("tikR:EstadoRegistro"), "AceptadoConErrores");
    assert_eq!(late.text("tikR:CodigoErrorRegistro"), "2004");
    assert!(late.text("tikR:DescripcionErrorRegistro").ends_with("margen de error de: 240 segundos."));
    assert_eq!(late.text("tik:NIFPresentador"), "89890001K");
    assert_eq!(late.text("tik:TimestampPresentacion"), NOW);

    let bench = Bench::start().await;
    let incident = example.replace(
        "</sum:Cabecera>",
        "<sum1:RemisionVoluntaria><sum1:Incidencia>S</sum1:Incidencia></sum1:RemisionVoluntaria></sum:Cabecera>",
    );
    let accepted = bench.post(incident).await;
    assert_eq!(accepted.text("tikR:EstadoEnvio"), "Correcto", "{}", accepted.body);
    assert_eq!(accepted.text("tik:Incidencia"), "S");

    let bench = Bench::start().await;
    bench.set_clock("2025-02-03T14:34:00+01:00");
    let in_time = bench.post(example.clone()).await;
    assert_eq!(in_time.text("tikR:EstadoEnvio"), "Correcto", "{}", in_time.body);

    let bench = Bench::start().await;
    bench.set_clock("2025-02-03T14:30:00+01:00");
    let wrong = bench.post(example.replace("FF954378B64E", "FF954378B64F")).await;
    assert_eq!(wrong.text("tikR:CodigoErrorRegistro"), "2000");
    let canonical = "IDEmisorFactura=89890001K&amp;NumSerieFactura=12345678-G66&amp;FechaExpedicionFactura=03-02-2025&amp;TipoFactura=R3&amp;CuotaTotal=41.4&amp;ImporteTotal=241.4&amp;Huella=C9AF4AF1EF5EBBA700350DE3EEF12C2D355C56AC56F13DB2A25E0031BD2B7ED5&amp;FechaHoraHusoGenRegistro=2025-02-03T14:30:00+01:00";
    assert!(wrong.text("tikR:DescripcionErrorRegistro").contains(canonical), "{}", wrong.body);
}

/// Changes to the text of a valid alta, and the code of the answer; empty for "accepted". A code in
/// the second thousands is accepted with an error.
#[tokio::test]
async fn altas_and_their_codes() {
    let bench = Bench::start().await;
    let long = "x".repeat(121);
    let many_lines = LINE.repeat(12);
    let exempt =
        "<s:CalificacionOperacion>S1</s:CalificacionOperacion><s:TipoImpositivo>21</s:TipoImpositivo>";
    let quota = "<s:CuotaRepercutida>21.00</s:CuotaRepercutida>";
    let reverse =
        "<s:CalificacionOperacion>S2</s:CalificacionOperacion><s:TipoImpositivo>0</s:TipoImpositivo>";
    let recipients = Alta::new("").recipients;
    let surcharged = |rate: &str, amount: &str| format!("{quota}{rate}{amount}");
    let rate = "<s:TipoRecargoEquivalencia>5.2</s:TipoRecargoEquivalencia>";
    let amount = "<s:CuotaRecargoEquivalencia>5.20</s:CuotaRecargoEquivalencia>";
    let both = surcharged(rate, amount);
    let rate_alone = surcharged(rate, "");
    let amount_alone = surcharged("", amount);
    let zero = "<s:CuotaRepercutida>0.00</s:CuotaRepercutida>";
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[], ""),
        (&[("IDVersion>1.0", "IDVersion>1.1")], "1251"),
        (&[("IDEmisorFactura>89890001K", "IDEmisorFactura>ESF00000000")], "1219"),
        (
            &[(
                "IDEmisorFactura>89890001K</s:IDEmisorFactura><s:NumSerieFactura>N",
                "IDEmisorFactura>A58818501</s:IDEmisorFactura><s:NumSerieFactura>N",
            )],
            "1108",
        ),
        (
            &[(
                "FechaExpedicionFactura>22-09-2026</s:FechaExpedicionFactura></s:IDFactura>",
                "FechaExpedicionFactura>30-02-2026</s:FechaExpedicionFactura></s:IDFactura>",
            )],
            "1105",
        ),
        (
            &[(
                "FechaExpedicionFactura>22-09-2026</s:FechaExpedicionFactura></s:IDFactura>",
                "FechaExpedicionFactura>2026-09-22</s:FechaExpedicionFactura></s:IDFactura>",
            )],
            "1105",
        ),
        (&[("<s:NombreRazonEmisor>", &format!("<s:NombreRazonEmisor>{long}"))], "1100"),
        (&[("<s:TipoFactura>F1", "<s:TipoFactura>F9")], "1106"),
        (&[("<s:TipoFactura>", "<s:Subsanacion>s</s:Subsanacion><s:TipoFactura>")], "1171"),
        (&[("<s:TipoFactura>", "<s:RechazoPrevio>Z</s:RechazoPrevio><s:TipoFactura>")], "1171"),
        (&[("Servicios", "")], "1100"),
        (&[("Servicios", &"y".repeat(501))], "1100"),
        (&[("Servicios", &"ñ".repeat(500))], ""),
        (&[("<s:CuotaTotal>21.00", "<s:CuotaTotal>21,00")], "1100"),
        (&[("<s:CuotaTotal>21.00", "<s:CuotaTotal>21.001")], "1100"),
        (&[("<s:ImporteTotal>121.00", "<s:ImporteTotal>1234567890123")], "1100"),
        (&[("<s:ClaveRegimen>01", "<s:ClaveRegimen>12")], "1246"),
        (&[("<s:CalificacionOperacion>S1", "<s:CalificacionOperacion>S3")], "1181"),
        (&[("<s:ClaveRegimen>", "<s:Impuesto>04</s:Impuesto><s:ClaveRegimen>")], "1218"),
        (&[("<s:IdSistemaInformatico>77", "<s:IdSistemaInformatico>7")], "1177"),
        (&[("<s:IdSistemaInformatico>77", "<s:IdSistemaInformatico>a7")], "1177"),
        (&[("<s:NombreSistemaInformatico>Sistema", "<s:NombreSistemaInformatico>")], "1220"),
        (&[("<s:IndicadorMultiplesOT>N", "<s:IndicadorMultiplesOT>0")], "1226"),
        (&[("12:00:00+02:00", "12:00:00.123+02:00")], "1244"),
        (&[("12:00:00+02:00", "12:00:00+0200")], "1244"),
        (&[("12:00:00+02:00", "12:00:00+02:00:00")], "1244"),
        (&[("12:00:00+02:00", "12:00:00")], "1244"),
        (&[("12:00:00+02:00", "12:61:00+02:00")], "1244"),
        (&[("<s:TipoHuella>01", "<s:TipoHuella>02")], "1247"),
        (
            &[(
                "<s:NombreRazon>CLIENTE</s:NombreRazon><s:NIF>89890002E",
                "<s:NombreRazon>CLIENTE</s:NombreRazon><s:NIF>89890002A",
            )],
            "4109",
        ),
        (
            &[(
                "<s:NombreRazon>PRODUCTOR</s:NombreRazon><s:NIF>89890001K",
                "<s:NombreRazon>PRODUCTOR</s:NombreRazon><s:NIF>A58818502",
            )],
            "4109",
        ),
        (
            &[(
                "<s:NIF>89890002E</s:NIF>",
                "<s:IDOtro><s:CodigoPais>XK</s:CodigoPais><s:IDType>04</s:IDType><s:ID>1</s:ID></s:IDOtro>",
            )],
            "1101",
        ),
        (
            &[(
                "<s:NIF>89890002E</s:NIF>",
                "<s:IDOtro><s:CodigoPais>FR</s:CodigoPais><s:IDType>01</s:IDType><s:ID>1</s:ID></s:IDOtro>",
            )],
            "1102",
        ),
        (
            &[(
                "<s:NIF>89890002E</s:NIF>",
                "<s:IDOtro><s:CodigoPais>FR</s:CodigoPais><s:IDType>04</s:IDType><s:ID>1</s:ID></s:IDOtro>",
            )],
            "",
        ),
        (&[(&recipients, "")], "1189"),
        (&[("<s:TipoFactura>F1", "<s:TipoFactura>F2")], "1190"),
        (&[("<s:TipoFactura>F1", "<s:TipoFactura>F2"), (&recipients, "")], "2000"),
        (&[("<s:CalificacionOperacion>S1</s:CalificacionOperacion>", "")], "1195"),
        (
            &[(
                "</s:CalificacionOperacion>",
                "</s:CalificacionOperacion><s:OperacionExenta>E1</s:OperacionExenta>",
            )],
            "1196",
        ),
        (&[(quota, "")], "1208"),
        (&[(quota, ""), ("<s:ClaveRegimen>01", "<s:ClaveRegimen>06")], "1209"),
        (
            &[
                (quota, ""),
                (
                    "100.00</s:BaseImponibleOimporteNoSujeto>",
                    "100.00</s:BaseImponibleOimporteNoSujeto><s:BaseImponibleACoste>100</s:BaseImponibleACoste>",
                ),
            ],
            "1257",
        ),
        (&[("<s:CalificacionOperacion>S1", "<s:CalificacionOperacion>N1")], "1237"),
        (
            &[
                ("<s:CalificacionOperacion>S1", "<s:CalificacionOperacion>N2"),
                ("<s:ClaveRegimen>", "<s:Impuesto>03</s:Impuesto><s:ClaveRegimen>"),
            ],
            "1207",
        ),
        (&[(exempt, "<s:OperacionExenta>E1</s:OperacionExenta>")], "1238"),
        (&[(exempt, "<s:OperacionExenta>E1</s:OperacionExenta>"), (quota, zero)], "1238"),
        (&[(exempt, "<s:OperacionExenta>E1</s:OperacionExenta>"), (quota, "")], "2005"),
        (&[("<s:CalificacionOperacion>S1", "<s:CalificacionOperacion>S2")], "1198"),
        (&[(exempt, reverse), (quota, zero)], "2005"),
        (&[(exempt, reverse), (quota, "")], "1198"),
        (&[(quota, &both)], ""),
        (&[(quota, &rate_alone)], "1284"),
        (&[(quota, &amount_alone)], "1284"),
        (
            &[
                (exempt, "<s:CalificacionOperacion>N1</s:CalificacionOperacion>"),
                (quota, &both[quota.len()..]),
                ("<s:ClaveRegimen>", "<s:Impuesto>03</s:Impuesto><s:ClaveRegimen>"),
            ],
            "1281",
        ),
        (
            &[
                (LINE, &many_lines),
                ("<s:CuotaTotal>21.00", "<s:CuotaTotal>252.00"),
                ("<s:ImporteTotal>121.00", "<s:ImporteTotal>1452.00"),
            ],
            "2000",
        ),
        (
            &[(
                "22-09-2026</s:FechaExpedicionFactura><s:Huella>",
                "31-09-2026</s:FechaExpedicionFactura><s:Huella>",
            )],
            "1174",
        ),
        (&[("PREVIOUS", "")], "1175"),
        (&[("<s:Huella>ABAB", "<s:Huella>AB-B")], "1291"),
        (&[("<s:Huella>ABAB", "<s:Huella>ABA")], "2000"),
    ];
    for (index, (changes, code)) in cases.iter().enumerate() {
        let mut record = Alta::new(format!("N-{index}")).record();
        for (from, to) in *changes {
            assert!(record.xml.contains(from), "{index}: {from} is not in {}", record.xml);
            record.xml = record.xml.replacen(from, to, 1);
        }
        let (state, answered, description) = bench.line(record).await;
        assert_eq!(answered, *code, "{index} {changes:?}: {state} {description}");
        let expected = match *code {
            "" => "Correcto",
            code if code.starts_with('2') => "AceptadoConErrores",
            _ => "Incorrecto",
        };
        assert_eq!(state, expected, "{index} {changes:?}: {description}");
    }
}

#[tokio::test]
async fn descriptions_are_composed_as_the_service_does() {
    let bench = Bench::start().await;
    let mut record = Alta::new("T-1").record();
    record.xml = record.xml.replace("<s:NIF>89890002E", "<s:NIF>89890002EX");
    let (_, _, description) = bench.line(record).await;
    assert_eq!(description, "Valor o tipo incorrecto del campo.: NIF");

    let mut record = Alta::new("T-2").record();
    record.xml = record.xml.replace(RECIPIENT, "00000000A");
    let (_, _, description) = bench.line(record).await;
    assert_eq!(
        description,
        "Error en el bloque Destinatario.. El formato del NIF es incorrecto.. NIF:00000000A. NOMBRE_RAZON:CLIENTE"
    );
}

/// Every printable character in a number, in altas and annulments alike.
#[tokio::test]
async fn characters_of_numbers() {
    let bench = Bench::start().await;
    for character in ' '..='~' {
        let number = format!("C{character}C");
        let code = if "\"'<>=".contains(character) { "1287" } else { "" };
        let alta = bench.line(Alta::new(&number).record()).await;
        assert_eq!(alta.1, code, "{character}: {}", alta.2);
        let annulment = bench.line(Anulacion::new(&number).record()).await;
        assert_eq!(annulment.1, code, "{character}: {}", annulment.2);
    }
    for character in ['ñ', '\u{a0}', '€', '\u{301}'] {
        let (_, code, _) = bench.line(Alta::new(format!("C{character}C")).record()).await;
        assert_eq!(code, "1130", "{character:?}");
    }
    let (_, code, description) = bench.line(Anulacion::new("a=b").record()).await;
    assert_eq!(code, "1287");
    assert!(description.contains("NumSerieFactura "), "{description}");
    assert_eq!(bench.line(Alta::new("x".repeat(60)).record()).await.1, "");
    assert_eq!(bench.line(Alta::new("x".repeat(61)).record()).await.1, "1104");
    assert_eq!(bench.line(Alta::new("").record()).await.1, "1104");
}

#[tokio::test]
async fn dates_of_issue() {
    let bench = Bench::start().await;
    let issued = |day: &str| Alta::new("DAY").with(|alta| alta.issued = day.into()).record();
    for (day, code) in [(TODAY, ""), ("23-09-2026", "1112"), ("28-10-2024", ""), ("27-10-2024", "1152")] {
        assert_eq!(bench.line(issued(day)).await.1, code, "{day}");
    }
    // The day is Madrid's: past midnight there, while UTC is still on the day before.
    bench.set_clock("2026-09-23T00:30:00+02:00");
    let record = Alta::new("DAY").with(|alta| {
        (alta.issued, alta.stamp) = ("23-09-2026".into(), "2026-09-23T00:30:00+02:00".into());
    });
    assert_eq!(bench.line(record.record()).await.1, "");
}

/// The margin of the clock, to both sides, and what lifts it.
#[tokio::test]
async fn the_clock() {
    let bench = Bench::start().await;
    let stamped =
        |number: &str, stamp: &str| Alta::new(number).with(|alta| alta.stamp = stamp.into()).record();
    for (index, (stamp, code)) in [
        ("2026-09-22T12:04:00+02:00", ""),
        ("2026-09-22T12:04:01+02:00", "2004"),
        ("2026-09-22T11:56:00+02:00", ""),
        ("2026-09-22T11:55:59+02:00", "2004"),
        ("2026-09-22T10:00:00Z", ""),
        ("2026-09-22T10:00:00+00:00", ""),
    ]
    .into_iter()
    .enumerate()
    {
        let (state, answered, _) = bench.line(stamped(&format!("CK-{index}"), stamp)).await;
        assert_eq!(answered, code, "{stamp}");
        assert_eq!(state, if code.is_empty() { "Correcto" } else { "AceptadoConErrores" });
    }
    let late = stamped("CK-LATE", "2026-09-18T12:00:00+02:00");
    let incident = "<s:RemisionVoluntaria><s:Incidencia>S</s:Incidencia></s:RemisionVoluntaria>";
    let answer = bench.post(envelope_with(incident, &[late])).await;
    assert_eq!(answer.text("tikR:EstadoEnvio"), "Correcto", "{}", answer.body);
}

/// The form of the huellas, and which of several errors is told.
#[tokio::test]
async fn huellas() {
    let bench = Bench::start().await;
    let previous =
        |huella: &str| Link::Previous { number: "P".into(), issued: TODAY.into(), huella: huella.into() };
    let own = |number: &str, huella: &str| {
        Alta::new(number).with(|alta| alta.huella = Some(huella.into())).record()
    };
    assert_eq!(bench.line(own("H-1", &"A".repeat(63))).await.1, "1262");
    assert_eq!(bench.line(own("H-2", &"A".repeat(65))).await.1, "1262");
    assert_eq!(bench.line(own("H-3", &"-".repeat(64))).await.1, "1292");
    assert_eq!(bench.line(own("H-4", &"A".repeat(64))).await.1, "2000");
    let lower = Alta::new("H-5").record().huella.to_lowercase();
    assert_eq!(bench.line(own("H-5", &lower)).await.1, "2000");
    let linked =
        |number: &str, huella: &str| Alta::new(number).with(|alta| alta.link = previous(huella)).record();
    assert_eq!(bench.line(linked("H-6", &"A".repeat(63))).await.1, "2002");
    assert_eq!(bench.line(linked("H-7", &"a".repeat(64))).await.1, "2003");
    assert_eq!(bench.line(linked("H-8", &"G".repeat(64))).await.1, "2003");
    assert_eq!(bench.line(linked("H-9", &"_".repeat(64))).await.1, "1291");
    // A wrong huella goes before a wrong time, and both before the form of the previous one.
    let all_wrong = Alta::new("H-10").with(|alta| {
        alta.link = previous("A");
        alta.stamp = "2026-09-20T12:00:00+02:00".into();
    });
    assert_eq!(bench.line(all_wrong.record()).await.1, "2004");
    let worse = all_wrong.with(|alta| {
        alta.number = "H-11".into();
        alta.huella = Some("B".repeat(64));
    });
    assert_eq!(bench.line(worse.record()).await.1, "2000");
    let annulment = Anulacion::new("H-6").with(|record| record.huella = Some("C".repeat(64)));
    let (state, code, _) = bench.line(annulment.record()).await;
    assert_eq!((state.as_str(), code.as_str()), ("AceptadoConErrores", "2000"));
}

/// `PrimerRegistro` is noted when the system has records, and only then.
#[tokio::test]
async fn first_records() {
    let bench = Bench::start().await;
    let first = |number: &str, installation: &str| {
        Alta::new(number)
            .with(|alta| (alta.link, alta.installation) = (Link::First, installation.into()))
            .record()
    };
    let mut refused = first("F-0", "1");
    refused.xml = refused.xml.replace("<s:TipoHuella>01", "<s:TipoHuella>09");
    assert_eq!(bench.line(refused).await.1, "1247");
    assert_eq!(bench.line(first("F-1", "1")).await.1, "", "a refused record leaves no trace");
    assert_eq!(bench.line(first("F-2", "1")).await.1, "2007");
    assert_eq!(bench.line(first("F-3", "2")).await.1, "", "another installation is another system");
    let answer = bench.submit(&[first("F-4", "3"), first("F-5", "3")]).await;
    assert_eq!(answer.texts("tikR:EstadoRegistro"), ["Correcto", "AceptadoConErrores"]);
    assert_eq!(answer.text("tikR:EstadoEnvio"), "ParcialmenteCorrecto");
    let incident = "<s:RemisionVoluntaria><s:Incidencia>S</s:Incidencia></s:RemisionVoluntaria>";
    let late = bench.post(envelope_with(incident, &[first("F-7", "1")])).await;
    assert_eq!(late.text("tikR:EstadoRegistro"), "Correcto", "an incident has delayed it");
    let mut wrong = first("F-6", "4");
    wrong.xml = wrong.xml.replace("<s:PrimerRegistro>S", "<s:PrimerRegistro>N");
    assert_eq!(bench.line(wrong).await.1, "1274");
}

/// Values are trimmed of blanks, tabs and line ends before anything else, but not of other spaces.
#[tokio::test]
async fn blanks_around_values() {
    let bench = Bench::start().await;
    let mut record = Alta::new("B-1").with(|alta| alta.reference = Some("R".into())).record();
    record.xml = record.xml.replace(">B-1<", ">\t\n B-1 \r\n<").replace(">R<", "> R &amp; R\u{a0} <");
    let answer = bench.submit(&[record]).await;
    assert_eq!(answer.text("tikR:EstadoRegistro"), "Correcto", "{}", answer.body);
    assert_eq!(answer.text("tik:NumSerieFactura"), "B-1");
    assert_eq!(answer.text("tikR:RefExterna"), "R &amp; R\u{a0}");
    let cdata = Rec {
        xml: Alta::new("B-2").record().xml.replace(">B-2<", "><![CDATA[B]]>-<!-- - -->&#50;<"),
        huella: String::new(),
    };
    let answer = bench.submit(&[cdata]).await;
    assert_eq!(answer.text("tikR:EstadoRegistro"), "Correcto", "{}", answer.body);
    assert_eq!(answer.text("tik:NumSerieFactura"), "B-2");
}

/// A message of 1000 records is taken whole.
#[tokio::test]
async fn a_thousand_records() {
    let bench = Bench::start().await;
    let records: Vec<Rec> = (0..1000).map(|index| Alta::new(format!("M-{index}")).record()).collect();
    let answer = bench.submit(&records).await;
    assert_eq!(answer.text("tikR:EstadoEnvio"), "Correcto");
    assert_eq!(answer.texts("tikR:EstadoRegistro").len(), 1000);
    let over: Vec<Rec> = (0..1001).map(|index| Alta::new(format!("O-{index}")).record()).collect();
    let refused = bench.post(envelope(&over)).await;
    refused.assert_fault(4114, "facturas a registrar.");
}

/// A signature inside a record is let through unread.
#[tokio::test]
async fn a_signature_is_opaque() {
    let bench = Bench::start().await;
    let mut record = Alta::new("S-1").record();
    record.xml = record.xml.replace(
        "</s:RegistroAlta>",
        "<d:Signature xmlns:d=\"http://www.w3.org/2000/09/xmldsig#\" Id=\"x\"><d:Whatever>1<d:Deep/></d:Whatever></d:Signature></s:RegistroAlta>",
    );
    assert_eq!(bench.line(record).await.0, "Correcto");
    assert_eq!(issue(&Holder::seal("A58818501", "X")).chain_der().len(), 2);
}
