//! The rules on one record, on both edges: what is refused or noted, and its neighbour that is not.

use crate::bench::Bench;
use crate::invoice::{Alta, Anulacion, NOW, RECIPIENT, Rec};

/// A line, in cents and hundredths of a per cent.
#[derive(Clone, Copy)]
struct Line {
    tax: &'static str,
    regime: &'static str,
    /// A qualification or an exemption.
    class: &'static str,
    rate: Option<i64>,
    base: i64,
    quota: Option<i64>,
    at_cost: Option<i64>,
    surcharge: Option<(i64, i64)>,
}

/// 100.00 € at 21 % under the general regime.
const TAXED: Line = Line {
    tax: "",
    regime: "01",
    class: "S1",
    rate: Some(2100),
    base: 10_000,
    quota: Some(2_100),
    at_cost: None,
    surcharge: None,
};

/// 100.00 €, exempt or not subject or whatever the class says, without rate and quota.
const UNTAXED: Line = Line { class: "E1", rate: None, quota: None, ..TAXED };

const REVERSED: Line = Line { class: "S2", rate: Some(0), quota: Some(0), ..TAXED };

impl Line {
    fn xml(self) -> String {
        let class = if self.class.starts_with('E') { "OperacionExenta" } else { "CalificacionOperacion" };
        [
            leaf("Impuesto", self.tax),
            leaf("ClaveRegimen", self.regime),
            leaf(class, self.class),
            self.rate.map(|rate| leaf("TipoImpositivo", &decimal(rate))).unwrap_or_default(),
            leaf("BaseImponibleOimporteNoSujeto", &decimal(self.base)),
            self.at_cost.map(|cost| leaf("BaseImponibleACoste", &decimal(cost))).unwrap_or_default(),
            self.quota.map(|quota| leaf("CuotaRepercutida", &decimal(quota))).unwrap_or_default(),
            self.surcharge
                .map(|(rate, _)| leaf("TipoRecargoEquivalencia", &decimal(rate)))
                .unwrap_or_default(),
            self.surcharge
                .map(|(_, sum)| leaf("CuotaRecargoEquivalencia", &decimal(sum)))
                .unwrap_or_default(),
        ]
        .concat()
    }

    fn quotas(self) -> i64 {
        self.quota.unwrap_or(0) + self.surcharge.map_or(0, |(_, sum)| sum)
    }
}

/// An alta: its type, what stands before and behind its description, its recipients and lines, and
/// by how much its totals are wrong.
#[derive(Clone)]
struct Sent {
    kind: &'static str,
    issued: String,
    before: String,
    behind: String,
    recipients: String,
    lines: Vec<Line>,
    more_quota: i64,
    more_total: i64,
}

fn sent(kind: &'static str, lines: &[Line]) -> Sent {
    let recipients = match kind {
        "F2" | "R5" => String::new(),
        _ => recipient(&leaf("NIF", RECIPIENT)),
    };
    let before = if kind.starts_with('R') { leaf("TipoRectificativa", "I") } else { String::new() };
    let issued = "22-09-2026".to_owned();
    Sent {
        kind,
        issued,
        before,
        behind: String::new(),
        recipients,
        lines: lines.to_vec(),
        more_quota: 0,
        more_total: 0,
    }
}

impl Sent {
    fn before(mut self, xml: &str) -> Self {
        self.before = xml.to_owned();
        self
    }

    fn behind(mut self, xml: &str) -> Self {
        self.behind = xml.to_owned();
        self
    }

    fn to(mut self, recipients: &str) -> Self {
        self.recipients = recipients.to_owned();
        self
    }

    fn issued(mut self, day: &str) -> Self {
        self.issued = day.to_owned();
        self
    }

    fn wrong_by(mut self, quota: i64, total: i64) -> Self {
        (self.more_quota, self.more_total) = (quota, total);
        self
    }

    fn record(&self, number: &str, stamp: &str) -> Rec {
        let quota: i64 = self.lines.iter().map(|line| line.quotas()).sum();
        let base: i64 = self.lines.iter().map(|line| line.base).sum();
        let mut record = Alta::new(number)
            .with(|alta| {
                (alta.kind, alta.issued, alta.stamp) = (self.kind, self.issued.clone(), stamp.to_owned());
                alta.recipients = self.recipients.clone();
                alta.lines = self
                    .lines
                    .iter()
                    .map(|line| format!("<s:DetalleDesglose>{}</s:DetalleDesglose>", line.xml()))
                    .collect();
                alta.quota = decimal(quota + self.more_quota);
                alta.total = decimal(base + quota + self.more_total);
            })
            .record();
        let description = leaf("DescripcionOperacion", "Servicios");
        record.xml =
            record.xml.replacen(&description, &format!("{}{description}{}", self.before, self.behind), 1);
        record
    }
}

fn leaf(name: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<s:{name}>{text}</s:{name}>") }
}

fn decimal(hundredths: i64) -> String {
    let sign = if hundredths < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", hundredths.abs() / 100, hundredths.abs() % 100)
}

fn recipient(identification: &str) -> String {
    format!(
        "<s:Destinatarios><s:IDDestinatario><s:NombreRazon>CLIENTE</s:NombreRazon>{identification}</s:IDDestinatario></s:Destinatarios>"
    )
}

fn other(country: &str, kind: &str, id: &str) -> String {
    format!("<s:IDOtro>{}{}{}</s:IDOtro>", leaf("CodigoPais", country), leaf("IDType", kind), leaf("ID", id))
}

/// Sends every case; an empty code stands for "accepted".
async fn judged(bench: &Bench, stamp: &str, cases: Vec<(Sent, &str)>) {
    for (index, (sent, code)) in cases.iter().enumerate() {
        let record = sent.record(&format!("N-{}-{index}", cases.len()), stamp);
        let (state, answered, description) = bench.line(record.clone()).await;
        assert_eq!(answered, *code, "{index}: {state} {description}\n{}", record.xml);
    }
}

#[tokio::test]
async fn corrections_and_flags() {
    let bench = Bench::start().await;
    let mode = |mode: &str| leaf("TipoRectificativa", mode);
    let key = |nif: &str| {
        format!(
            "<s:IDEmisorFactura>{nif}</s:IDEmisorFactura><s:NumSerieFactura>OLD</s:NumSerieFactura><s:FechaExpedicionFactura>01-09-2026</s:FechaExpedicionFactura>"
        )
    };
    let corrected = |nif: &str| {
        format!(
            "<s:FacturasRectificadas><s:IDFacturaRectificada>{}</s:IDFacturaRectificada></s:FacturasRectificadas>",
            key(nif)
        )
    };
    let substituted = format!(
        "<s:FacturasSustituidas><s:IDFacturaSustituida>{}</s:IDFacturaSustituida></s:FacturasSustituidas>",
        key("89890001K")
    );
    let amounts = "<s:ImporteRectificacion><s:BaseRectificada>1</s:BaseRectificada><s:CuotaRectificada>0</s:CuotaRectificada></s:ImporteRectificacion>";
    let own = corrected("89890001K");
    let large = Line { base: 9_000_000_000, rate: Some(0), quota: Some(0), ..TAXED };
    let rest = Line { base: 1_000_000_000, ..large };
    let almost = Line { base: 999_999_999, ..large };
    let cases = vec![
        (sent("R1", &[TAXED]), ""),
        (sent("R1", &[TAXED]).before(""), "1114"),
        (sent("F1", &[TAXED]).before(&mode("I")), "1115"),
        (sent("R1", &[TAXED]).before(&format!("{}{own}", mode("I"))), ""),
        (sent("R1", &[TAXED]).before(&format!("{}{}", mode("I"), corrected("11111111H"))), "1154"),
        (sent("F1", &[TAXED]).before(&own), "1117"),
        (sent("F3", &[TAXED]).before(&substituted), ""),
        (sent("F1", &[TAXED]).before(&substituted), "1116"),
        (sent("R1", &[TAXED]).before(&mode("S")), "1118"),
        (sent("R1", &[TAXED]).before(&format!("{}{amounts}", mode("S"))), ""),
        (sent("R1", &[TAXED]).before(&format!("{}{amounts}", mode("I"))), "1119"),
        (sent("F1", &[TAXED]).behind(&leaf("FacturaSimplificadaArt7273", "S")), ""),
        (sent("F2", &[TAXED]).behind(&leaf("FacturaSimplificadaArt7273", "S")), "1183"),
        (sent("F2", &[TAXED]).behind(&leaf("FacturaSimplificadaArt7273", "N")), ""),
        (sent("R5", &[TAXED]).behind(&leaf("FacturaSinIdentifDestinatarioArt61d", "S")), ""),
        (sent("F1", &[TAXED]).behind(&leaf("FacturaSinIdentifDestinatarioArt61d", "S")), "1185"),
        (sent("R5", &[TAXED]).to("<s:Cupon>S</s:Cupon>"), ""),
        (sent("F2", &[TAXED]).to("<s:Cupon>S</s:Cupon>"), "1157"),
        (sent("F2", &[TAXED]).to("<s:Cupon>N</s:Cupon>"), ""),
        (sent("F1", &[large, rest]), "1139"),
        (sent("F1", &[large, rest]).behind(&leaf("Macrodato", "S")), ""),
        (sent("F1", &[large, almost]), ""),
        (sent("F1", &[large, almost]).behind(&leaf("Macrodato", "S")), "1138"),
    ];
    judged(&bench, NOW, cases).await;
}

#[tokio::test]
async fn dates_of_the_operation() {
    let bench = Bench::start().await;
    let on = |line: Line, day: &str| sent("F1", &[line]).before(&leaf("FechaOperacion", day));
    let works = Line { regime: "14", ..TAXED };
    let supplies = Line { regime: "15", ..TAXED };
    let ipsi = Line { tax: "02", regime: "08", rate: Some(400), quota: Some(400), ..TAXED };
    let public = recipient(&leaf("NIF", "Q2238877A"));
    let cases = vec![
        (on(TAXED, "22-09-2026"), ""),
        (on(TAXED, "23-09-2026"), "1146"),
        (on(TAXED, "22-09-2006"), ""),
        (on(TAXED, "21-09-2006"), "1134"),
        (on(supplies, "31-12-2027"), ""),
        (on(supplies, "01-01-2028"), "1125"),
        (on(ipsi, "23-09-2026"), ""),
        (on(TAXED, "23-09-2026").issued("21-09-2026"), "1146"),
        (on(works, "23-09-2026").to(&public), ""),
        (on(works, "22-09-2026").to(&public), "1147"),
        (sent("F1", &[works]).to(&public), "1147"),
        (on(works, "23-09-2026"), "1149"),
        (on(works, "23-09-2026").to(&recipient(&other("DE", "04", "1"))), "1149"),
    ];
    judged(&bench, NOW, cases).await;
    let simplified = sent("F2", &[works]).before(&leaf("FechaOperacion", "23-09-2026"));
    judged(&bench, NOW, vec![(simplified, "1148")]).await;
}

#[tokio::test]
async fn classifications() {
    let bench = Bench::start().await;
    let igic = |line: Line| Line { tax: "03", ..line };
    let exempt = |class: &'static str| Line { class, ..UNTAXED };
    let foreign = recipient(&other("", "02", "DE123456789"));
    let cases = vec![
        (sent("F1", &[exempt("E6")]), ""),
        (sent("F1", &[exempt("E7")]), "1182"),
        (sent("F1", &[igic(exempt("E7"))]), ""),
        (sent("F1", &[REVERSED]), ""),
        (sent("F2", &[REVERSED]), "1197"),
        (sent("F1", &[igic(Line { class: "N1", quota: Some(0), rate: Some(0), ..UNTAXED })]), ""),
        (sent("F1", &[igic(Line { class: "N1", quota: Some(1), rate: Some(0), ..UNTAXED })]), "1207"),
        (sent("F1", &[exempt("E5")]), "1289"),
        (sent("F1", &[exempt("E5")]).to(&foreign), ""),
        (sent("F1", &[igic(exempt("E5"))]), ""),
        (sent("F1", &[Line { at_cost: Some(10_000), ..TAXED }]), "1257"),
        (sent("F1", &[Line { tax: "05", regime: "", at_cost: Some(10_000), ..TAXED }]), ""),
    ];
    judged(&bench, NOW, cases).await;
}

#[tokio::test]
async fn regimes() {
    let bench = Bench::start().await;
    let under = |regime: &'static str, line: Line| sent("F1", &[Line { regime, ..line }]);
    let of = |kind: &'static str, regime: &'static str, line: Line| sent(kind, &[Line { regime, ..line }]);
    let class = |class: &'static str| Line { class, ..UNTAXED };
    let igic = |line: Line| Line { tax: "03", ..line };
    let at_cost = Line { at_cost: Some(10_000), ..TAXED };
    let ten = Line { rate: Some(1000), quota: Some(1_000), ..TAXED };
    let ipsi = Line { tax: "02", rate: Some(400), quota: Some(400), ..TAXED };
    let cases = vec![
        (under("", TAXED), "1245"),
        (under("", igic(TAXED)), "1245"),
        (under("21", TAXED), "1246"),
        (under("21", igic(TAXED)), ""),
        (under("01", Line { tax: "05", ..TAXED }), "1260"),
        (under("", Line { tax: "05", ..TAXED }), ""),
        (under("", ipsi), "2009"),
        (under("02", ipsi), "2009"),
        (under("11", ipsi), ""),
        (under("01", class("E2")), "1199"),
        (under("01", class("E4")), ""),
        (under("02", class("E2")), ""),
        (under("02", class("N2")), "1286"),
        (under("03", TAXED), ""),
        (under("03", REVERSED), "1200"),
        (under("03", class("E1")), ""),
        (under("04", REVERSED), ""),
        (under("04", class("E1")), ""),
        (under("04", TAXED), "1201"),
        (under("06", at_cost), ""),
        (under("06", TAXED), "1202"),
        (of("F3", "06", at_cost), "1202"),
        (under("07", TAXED), ""),
        (under("07", class("E1")), ""),
        (under("07", REVERSED), "1203"),
        (under("07", class("E3")), "1203"),
        (under("08", class("N2")), ""),
        (under("08", TAXED), "1252"),
        (under("08", class("E1")), "1252"),
        (under("10", class("N1")), ""),
        (under("10", class("N2")), "1205"),
        (of("F2", "10", class("N1")), "1205"),
        (under("10", class("N1")).to(&recipient(&other("DE", "04", "1"))), "1205"),
        (under("11", TAXED), ""),
        (under("11", ten), "1206"),
        (under("11", igic(ten)), ""),
        (under("20", igic(class("N2"))), ""),
        (under("20", igic(TAXED)), "1293"),
        (under("20", TAXED), ""),
    ];
    judged(&bench, NOW, cases).await;
    // From 2027 on, the key of IPSI is demanded.
    let bench = Bench::start().await;
    let stamp = "2027-01-01T00:00:10+01:00";
    bench.set_clock(stamp);
    judged(
        &bench,
        stamp,
        vec![(under("", ipsi), "1245"), (under("02", ipsi), "1245"), (under("01", ipsi), "")],
    )
    .await;
    let bench = Bench::start().await;
    let stamp = "2026-12-31T23:59:50+01:00";
    bench.set_clock(stamp);
    judged(&bench, stamp, vec![(under("", ipsi), "2009")]).await;
}

#[tokio::test]
async fn rates_by_date() {
    let bench = Bench::start().await;
    let at = |rate: i64, day: &str| {
        let line = Line { rate: Some(rate), quota: Some(10_000 * rate / 10_000), ..TAXED };
        sent("F1", &[line]).before(&leaf("FechaOperacion", day))
    };
    let mut cases = Vec::new();
    for rate in [0, 400, 1000, 2100] {
        cases.push((at(rate, "22-09-2026"), ""));
        cases.push((at(rate, "01-01-2010"), ""));
    }
    for (rate, day, code) in [
        (1800, "01-01-2011", "1124"),
        (401, "22-09-2026", "1124"),
        (500, "30-06-2022", "1194"),
        (500, "01-07-2022", ""),
        (500, "30-09-2024", ""),
        (500, "01-10-2024", "1194"),
        (200, "30-09-2024", "1235"),
        (200, "01-10-2024", ""),
        (200, "31-12-2024", ""),
        (200, "01-01-2025", "1235"),
        (750, "30-09-2024", "1236"),
        (750, "01-10-2024", ""),
        (750, "31-12-2024", ""),
        (750, "01-01-2025", "1236"),
    ] {
        cases.push((at(rate, day), code));
    }
    let igic = Line { tax: "03", rate: Some(700), quota: Some(700), ..TAXED };
    cases.push((sent("F1", &[igic]), ""));
    judged(&bench, NOW, cases).await;
}

#[tokio::test]
async fn surcharges_by_rate_and_date() {
    let bench = Bench::start().await;
    let mut cases = Vec::new();
    for (rate, surcharge, day, code) in [
        (2100, 520, "22-09-2026", ""),
        (2100, 175, "22-09-2026", ""),
        (2100, 140, "22-09-2026", "1162"),
        (2100, 521, "22-09-2026", "1127"),
        (1000, 140, "22-09-2026", ""),
        (1000, 520, "22-09-2026", "1163"),
        (400, 50, "22-09-2026", ""),
        (400, 62, "22-09-2026", "1164"),
        (750, 100, "01-10-2024", ""),
        (750, 140, "01-10-2024", "1169"),
        (200, 26, "01-10-2024", ""),
        (200, 50, "01-10-2024", "1166"),
        (500, 50, "31-12-2022", ""),
        (500, 50, "01-01-2023", "1167"),
        (500, 62, "31-12-2022", "1168"),
        (500, 62, "01-01-2023", ""),
        (500, 140, "01-01-2023", "1160"),
        (0, 0, "01-01-2023", ""),
        (0, 26, "30-09-2024", "1165"),
        (0, 26, "01-10-2024", ""),
        (0, 0, "22-09-2026", ""),
        (0, 520, "22-09-2026", "1170"),
    ] {
        let line =
            Line { rate: Some(rate), quota: Some(rate), surcharge: Some((surcharge, surcharge)), ..TAXED };
        cases.push((sent("F1", &[line]).before(&leaf("FechaOperacion", day)), code));
    }
    judged(&bench, NOW, cases).await;
}

/// The margin of 10.00 of every comparison, and what lifts it.
#[tokio::test]
async fn amounts_and_totals() {
    let bench = Bench::start().await;
    let quota = |quota: i64| Line { quota: Some(quota), ..TAXED };
    let cost =
        |quota: i64| Line { regime: "06", at_cost: Some(10_000), ..Line { quota: Some(quota), ..TAXED } };
    let small = |quota: i64| Line { base: 4_700, ..Line { quota: Some(quota), ..TAXED } };
    let surcharged = Line { surcharge: Some((520, 520)), ..TAXED };
    let limit = |base: i64| Line { class: "E1", base, ..UNTAXED };
    let insolvency = |line: Line| sent("R2", &[line]);
    let mode_s = format!(
        "{}<s:ImporteRectificacion><s:BaseRectificada>1</s:BaseRectificada><s:CuotaRectificada>0</s:CuotaRectificada></s:ImporteRectificacion>",
        leaf("TipoRectificativa", "S")
    );
    let free = |regime: &'static str, class: &'static str| {
        let line = if class == "S1" { TAXED } else { UNTAXED };
        let at_cost = (regime == "06").then_some(10_000);
        Line { regime, class, at_cost, ..line }
    };
    let mut cases = vec![
        (sent("F1", &[quota(3_100)]), ""),
        (sent("F1", &[quota(3_101)]), "1142"),
        (sent("F1", &[quota(1_100)]), ""),
        (sent("F1", &[quota(1_099)]), "1142"),
        (sent("F1", &[small(0)]), ""),
        (sent("F1", &[small(-1)]), "1143"),
        (sent("F1", &[cost(3_100)]), ""),
        (sent("F1", &[cost(3_101)]), "1144"),
        (sent("F1", &[cost(-1)]), "1140"),
        (sent("R1", &[quota(9_000)]), ""),
        (sent("R1", &[quota(9_000)]).before(&mode_s), "1142"),
        (insolvency(quota(9_000)).before(&mode_s), ""),
        (sent("F1", &[TAXED]).wrong_by(0, 1_000), ""),
        (sent("F1", &[TAXED]).wrong_by(0, -1_000), ""),
        (sent("F1", &[TAXED]).wrong_by(0, 1_001), "2005"),
        (sent("F1", &[TAXED]).wrong_by(0, -1_001), "2005"),
        (sent("F1", &[TAXED]).wrong_by(1_000, 0), ""),
        (sent("F1", &[TAXED]).wrong_by(1_001, 0), "2006"),
        (sent("F1", &[TAXED]).wrong_by(5_000, 5_000), "2005"),
        (sent("F1", &[surcharged, TAXED]), ""),
        (sent("F1", &[surcharged, TAXED]).wrong_by(-1_001, 0), "2006"),
        (sent("F2", &[limit(301_000)]), ""),
        (sent("F2", &[limit(301_001)]), "1150"),
        (sent("F2", &[limit(301_001)]).behind(&leaf("FacturaSinIdentifDestinatarioArt61d", "S")), ""),
        (sent("R5", &[limit(301_001)]), ""),
        (sent("F1", &[limit(301_001)]), ""),
    ];
    for (regime, class) in [("03", "S1"), ("05", "S1"), ("06", "S1"), ("08", "N2"), ("09", "S1")] {
        cases.push((sent("F1", &[TAXED, free(regime, class)]).wrong_by(5_000, 5_000), ""));
    }
    cases.push((sent("F1", &[TAXED, free("07", "S1")]).wrong_by(5_000, 5_000), "2005"));
    judged(&bench, NOW, cases).await;
    let mut agreed = sent("F2", &[limit(301_001)]).record("AGREED", NOW);
    agreed.xml = agreed.xml.replace(
        "<s:TipoHuella>",
        "<s:NumRegistroAcuerdoFacturacion>1</s:NumRegistroAcuerdoFacturacion><s:TipoHuella>",
    );
    assert_eq!(bench.line(agreed).await.1, "");
}

#[tokio::test]
async fn third_parties() {
    let bench = Bench::start().await;
    let third = |by: &str, identification: &str| {
        let block = format!("<s:Tercero><s:NombreRazon>OTRO</s:NombreRazon>{identification}</s:Tercero>");
        let block = if identification.is_empty() { String::new() } else { block };
        sent("F1", &[TAXED]).behind(&format!("{}{block}", leaf("EmitidaPorTerceroODestinatario", by)))
    };
    let nif = |nif: &str| leaf("NIF", nif);
    let cases = vec![
        (third("T", &nif("A58818501")), ""),
        (third("T", ""), "1186"),
        (third("D", ""), ""),
        (third("", &nif("A58818501")), "1155"),
        (third("D", &nif("A58818501")), "1159"),
        (third("T", &nif("89890001K")), "1188"),
        (third("T", &nif("11111111H")), "1110"),
        (third("T", &nif("A58818502")), "4109"),
        (third("T", &other("ES", "03", "AB1")), ""),
        (third("T", &other("ES", "04", "AB1")), "1232"),
        (third("T", &other("ES", "07", "12345678Z")), "1211"),
        (third("T", &other("DE", "04", "AB1")), ""),
    ];
    judged(&bench, NOW, cases).await;
    let nobody = sent("F2", &[TAXED]).behind(&leaf("EmitidaPorTerceroODestinatario", "D"));
    judged(&bench, NOW, vec![(nobody, "1158")]).await;
}

#[tokio::test]
async fn other_identifications() {
    let bench = Bench::start().await;
    let to = |identification: &str| sent("F1", &[TAXED]).to(&recipient(identification));
    let early = |identification: &str, day: &str| to(identification).before(&leaf("FechaOperacion", day));
    let cases = vec![
        (to(&other("", "02", "DE123456789")), ""),
        (to(&other("DE", "02", "DE123456789")), ""),
        (to(&other("FR", "02", "DE123456789")), "1122"),
        (to(&other("GR", "02", "EL123456789")), ""),
        (to(&other("GB", "02", "XI123456789")), ""),
        (to(&other("", "02", "123456789")), "1103"),
        (to(&other("", "02", "de123456789")), "1103"),
        (to(&other("", "02", "ES89890001K")), "1103"),
        (to(&other("", "04", "X1")), "1111"),
        (to(&other("DE", "04", "X1")), ""),
        (to(&other("ES", "03", "X1")), ""),
        (to(&other("ES", "06", "X1")), "1126"),
        (to(&other("ES", "02", "DE123456789")), "1126"),
        (to(&other("DE", "07", "12345678Z")), "1126"),
        (to(&other("ES", "07", "12345678A")), "1290"),
        (to(&other("ES", "07", "A58818501")), "1131"),
        (to(&other("ES", "07", "11111111H")), "2001"),
        (to(&other("ES", "07", "12345678Z")), ""),
        (early(&other("", "02", "XI123456789"), "31-12-2020"), "1254"),
        (early(&other("", "02", "XI123456789"), "01-01-2021"), ""),
        (early(&other("", "02", "GB123456789"), "31-01-2021"), ""),
        (early(&other("", "02", "GB123456789"), "01-02-2021"), "1255"),
        (sent("F2", &[TAXED]).to(&recipient(&other("", "02", "DE123456789"))), "1156"),
        (sent("R3", &[TAXED]).to(&recipient(&other("", "02", "DE123456789"))), ""),
    ];
    judged(&bench, NOW, cases).await;
    for (changed, code) in [
        (other("", "02", "DE123456789"), ""),
        (other("", "02", "DE12345678"), "1103"),
        (other("ES", "07", "12345678Z"), "1221"),
        (other("ES", "05", "1"), "1232"),
        (leaf("NIF", "11111111H"), "1179"),
    ] {
        let mut record = Alta::new(format!("S-{code}")).record();
        let producer = "PRODUCTOR</s:NombreRazon>";
        record.xml = record
            .xml
            .replace(&format!("{producer}<s:NIF>89890001K</s:NIF>"), &format!("{producer}{changed}"));
        assert_eq!(bench.line(record).await.1, code, "{changed}");
    }
}

#[tokio::test]
async fn generators_of_annulments() {
    let bench = Bench::start().await;
    for number in 0..20 {
        let stored = bench.line(Alta::new(format!("G-{number}")).record()).await;
        assert_eq!(stored.1, "");
    }
    let nif = |nif: &str| leaf("NIF", nif);
    let cases = [
        ("T", nif("A58818501"), ""),
        ("D", nif("A58818501"), ""),
        ("E", nif("89890001K"), ""),
        ("T", String::new(), "1224"),
        ("", nif("A58818501"), "1224"),
        ("E", other("DE", "04", "1"), "1227"),
        ("T", nif("89890001K"), "1259"),
        ("D", nif("89890001K"), "1259"),
        ("T", nif("11111111H"), "1259"),
        ("T", nif("A58818502"), "4109"),
        ("T", other("ES", "07", "12345678Z"), "1229"),
        ("T", other("ES", "04", "1"), "1232"),
        ("T", other("ES", "03", "1"), ""),
        ("D", other("ES", "04", "1"), "1230"),
        ("D", other("ES", "07", "12345678Z"), ""),
        ("D", other("", "04", "1"), "1111"),
    ];
    for (index, (by, identification, code)) in cases.iter().enumerate() {
        let mut record = Anulacion::new(format!("G-{index}")).record();
        let block = format!("<s:Generador><s:NombreRazon>OTRO</s:NombreRazon>{identification}</s:Generador>");
        let block = if identification.is_empty() { String::new() } else { block };
        let inserted = format!("{}{block}<s:Encadenamiento>", leaf("GeneradoPor", by));
        record.xml = record.xml.replacen("<s:Encadenamiento>", &inserted, 1);
        let (_, answered, description) = bench.line(record).await;
        assert_eq!(answered, *code, "{by} {identification}: {description}");
    }
}

/// Of several errors the first in the authority's order is told: a refusal before what is noted, and
/// of what is noted the most pressing.
#[tokio::test]
async fn which_of_several_errors_is_told() {
    let bench = Bench::start().await;
    let ipsi = Line { tax: "02", regime: "", rate: Some(400), quota: Some(400), ..TAXED };
    let late = "2026-09-22T10:00:00+02:00";
    let unknown = recipient(&other("ES", "07", "11111111H"));
    let wrong = sent("F1", &[ipsi]).wrong_by(2_000, 5_000);
    judged(
        &bench,
        late,
        vec![
            (wrong.clone().to(&unknown), "2001"),
            (wrong.clone(), "2005"),
            (sent("F1", &[ipsi]).wrong_by(2_000, 0), "2006"),
            (sent("F1", &[ipsi]), "2009"),
            (sent("F1", &[TAXED]), "2004"),
            (wrong.issued("23-09-2026"), "1112"),
        ],
    )
    .await;
}
