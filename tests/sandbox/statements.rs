//! Statements by chance: valid ones of every kind that has rules of its own, and ones changed in a few
//! fields.

use verifactu_core::{
    record::{
        BreakdownLine, Cancellation, ComputerSystem, Country, Exemption, ForeignId, ForeignIdType,
        GeneratedBy, Identification, Invoice, InvoiceId, InvoiceType, IssuedBy, Party, PriorRejection,
        Qualification, RectificationMode, RectifiedAmounts, Regime, Statement, SystemId, Tax,
    },
    testing::Chance,
    types::{Amount, Cents, Date, InvoiceNumber, Nif, Rate, Text},
};

use crate::invoice::{ISSUER, ISSUER_NAME};

fn amount(cents: i64) -> Amount {
    let (sign, cents) = (if cents < 0 { "-" } else { "" }, cents.unsigned_abs());
    Amount::parse(&format!("{sign}{}.{:02}", cents / 100, cents % 100)).unwrap()
}

fn rate(hundredths: u32) -> Rate {
    Rate::parse(&format!("{}.{:02}", hundredths / 100, hundredths % 100)).unwrap()
}

pub(crate) fn date(text: &str) -> Date {
    Date::parse(text).unwrap()
}

pub(crate) fn key(issuer: &str, number: &str, day: &str) -> InvoiceId {
    InvoiceId {
        issuer: Nif::parse(issuer).unwrap(),
        number: InvoiceNumber::parse(number).unwrap(),
        date: date(day),
    }
}

fn person(nif: &str) -> Party {
    Party {
        name: Text::parse("CLIENTE").unwrap(),
        identification: Identification::Nif(Nif::parse(nif).unwrap()),
    }
}

fn foreigner(country: &str, kind: ForeignIdType, id: &str) -> Party {
    let id = ForeignId { country: Country::parse(country), kind, id: Text::parse(id).unwrap() };
    Party { name: Text::parse("CLIENT").unwrap(), identification: Identification::Foreign(id) }
}

fn any_party(chance: &mut Chance) -> Party {
    const NIFS: &[&str] = &["A58818501", "89890002E", "P0000000J", "Q2238877A", "X5102754C", ISSUER];
    const COUNTRIES: &[&str] = &["", "ES", "FR", "GR", "GB", "DE", "US"];
    const IDS: &[&str] = &[
        "FR1A345678901",
        "EL123456789",
        "GB123456789",
        "XI123456789",
        "DE123456789",
        "DE12345678",
        "fr12345678901",
        "ES89890001K",
        "89890002E",
        "B65410011",
        "A1234",
        "RO0234",
        "12345678Z",
    ];
    if chance.one_in(3) {
        let nif: &&str = chance.pick(NIFS);
        return person(nif);
    }
    let (country, kind): (&&str, _) = (chance.pick(COUNTRIES), *chance.pick(ForeignIdType::ALL));
    let id: &&str = chance.pick(IDS);
    foreigner(country, kind, id)
}

/// 100.00 at 21 % under the general regime of VAT.
fn taxed() -> BreakdownLine {
    BreakdownLine {
        regime: Some(Regime::R01),
        qualification: Some(Qualification::S1),
        rate: Some(rate(21_00)),
        tax_amount: Some(amount(21_00)),
        ..BreakdownLine::new(amount(10_000))
    }
}

fn exempt(regime: Regime, exemption: Exemption) -> BreakdownLine {
    BreakdownLine { regime: Some(regime), exemption: Some(exemption), ..BreakdownLine::new(amount(10_000)) }
}

fn not_subject(regime: Regime, qualification: Qualification) -> BreakdownLine {
    BreakdownLine {
        regime: Some(regime),
        qualification: Some(qualification),
        ..BreakdownLine::new(amount(10_000))
    }
}

fn of_tax(tax: Tax, regime: Option<Regime>) -> BreakdownLine {
    BreakdownLine {
        tax: Some(tax),
        regime,
        rate: Some(rate(7_00)),
        tax_amount: Some(amount(7_00)),
        ..taxed()
    }
}

fn invoice(kind: InvoiceType, line: BreakdownLine) -> Invoice {
    let name = Text::parse(ISSUER_NAME).unwrap();
    let description = Text::parse("Servicios").unwrap();
    let mut invoice =
        Invoice::new(key(ISSUER, "N", "15-09-2026"), name, kind, description, vec![line]).unwrap();
    if !kind.is_simplified() {
        invoice.recipients = vec![person("A58818501")];
    }
    if kind.is_rectifying() {
        invoice.rectification = Some(RectificationMode::Differences);
    }
    invoice
}

/// Valid invoices, one of each kind that has rules of its own.
pub(crate) fn valid() -> Vec<Invoice> {
    let f1 = |line| invoice(InvoiceType::F1, line);
    let to = |party: Party, line| Invoice { recipients: vec![party], ..f1(line) };
    let surcharged =
        BreakdownLine { surcharge_rate: Some(rate(5_20)), surcharge_amount: Some(amount(5_20)), ..taxed() };
    let reverse = BreakdownLine {
        qualification: Some(Qualification::S2),
        rate: Some(rate(0)),
        tax_amount: Some(amount(0)),
        ..taxed()
    };
    let group = BreakdownLine { regime: Some(Regime::R06), base_at_cost: Some(amount(10_000)), ..taxed() };
    let works = Invoice {
        operation_date: Some(date("15-12-2026")),
        ..to(person("P0000000J"), BreakdownLine { regime: Some(Regime::R14), ..taxed() })
    };
    let third = Invoice {
        issued_by: Some(IssuedBy::ThirdParty),
        third_party: Some(person("B65410011")),
        ..f1(taxed())
    };
    let substitution = Invoice {
        rectification: Some(RectificationMode::Substitution),
        rectified: vec![key(ISSUER, "OLD", "01-09-2026")],
        rectified_amounts: Some(RectifiedAmounts {
            base: amount(90_00),
            tax: amount(18_90),
            surcharge: None,
        }),
        ..invoice(InvoiceType::R1, taxed())
    };
    let eu = foreigner("FR", ForeignIdType::EuVat, "FR1A345678901");
    let mut invoices: Vec<Invoice> = InvoiceType::ALL.iter().map(|kind| invoice(*kind, taxed())).collect();
    invoices.extend([
        f1(surcharged),
        f1(reverse),
        f1(group),
        f1(exempt(Regime::R01, Exemption::E1)),
        f1(exempt(Regime::R02, Exemption::E2)),
        f1(exempt(Regime::R04, Exemption::E6)),
        to(eu.clone(), exempt(Regime::R01, Exemption::E5)),
        to(eu, not_subject(Regime::R01, Qualification::N2)),
        to(foreigner("ES", ForeignIdType::NotInCensus, "89890002E"), taxed()),
        f1(not_subject(Regime::R08, Qualification::N2)),
        f1(not_subject(Regime::R10, Qualification::N1)),
        f1(BreakdownLine { regime: Some(Regime::R11), ..taxed() }),
        f1(BreakdownLine { regime: Some(Regime::R07), ..taxed() }),
        f1(of_tax(Tax::Igic, Some(Regime::R01))),
        f1(BreakdownLine {
            qualification: Some(Qualification::N1),
            tax_amount: Some(amount(0)),
            ..of_tax(Tax::Igic, Some(Regime::R01))
        }),
        f1(BreakdownLine { tax: Some(Tax::Igic), ..not_subject(Regime::R20, Qualification::N2) }),
        f1(of_tax(Tax::Ipsi, Some(Regime::R08))),
        f1(of_tax(Tax::Other, None)),
        works,
        third,
        substitution,
    ]);
    invoices
}

/// One of these, or nothing.
fn maybe<T: Copy>(chance: &mut Chance, all: &[T]) -> Option<T> {
    (!chance.one_in(4)).then(|| *chance.pick(all))
}

fn any_amount(chance: &mut Chance) -> Amount {
    amount(
        *chance.pick(&[0, 1, -1, 5_20, 21_00, -21_00, 10_99, 11_00, 31_00, 31_01, 10_000, -10_000, 300_000]),
    )
}

fn any_rate(chance: &mut Chance) -> Rate {
    rate(*chance.pick(&[0, 26, 50, 62, 1_00, 1_40, 1_75, 2_00, 4_00, 5_00, 5_20, 7_50, 10_00, 20_00, 21_00]))
}

fn any_day(chance: &mut Chance, today: &str) -> Date {
    const DAYS: &[&str] = &[
        "27-10-2024",
        "28-10-2024",
        "31-12-2024",
        "30-09-2024",
        "01-07-2022",
        "31-12-2022",
        "01-01-2023",
        "31-12-2020",
        "15-01-2021",
        "01-02-2021",
        "22-09-2006",
        "21-09-2006",
        "01-02-2007",
        "31-12-2027",
        "01-01-2028",
        "31-12-2028",
        "01-01-2029",
        "23-09-2026",
        "15-10-2026",
    ];
    let day: &&str = chance.pick(DAYS);
    date(if chance.one_in(4) { today } else { day })
}

/// Every rate with every surcharge, on a day of each time that has rates of its own; every regime with every
/// classification, for the taxes that know most of them; and what every type of invoice bears or does not.
pub(crate) fn systematic() -> Vec<Invoice> {
    const RATES: &[u32] = &[0, 2_00, 4_00, 5_00, 7_50, 10_00, 20_00, 21_00];
    const SURCHARGES: &[u32] = &[0, 26, 50, 62, 1_00, 1_40, 1_75, 5_20, 9_99];
    let mut invoices = Vec::new();
    for day in ["15-08-2022", "15-06-2023", "15-11-2024", "15-09-2026"] {
        for (of, with) in RATES.iter().flat_map(|of| SURCHARGES.iter().map(move |with| (*of, *with))) {
            let line = BreakdownLine {
                rate: Some(rate(of)),
                tax_amount: Some(amount(of.into())),
                surcharge_rate: Some(rate(with)),
                surcharge_amount: Some(amount(with.into())),
                ..taxed()
            };
            let operation_date = Some(date(day));
            invoices.push(Invoice { operation_date, ..invoice(InvoiceType::F1, line) });
        }
    }
    for regime in Regime::ALL {
        let reverse = BreakdownLine {
            rate: Some(rate(0)),
            tax_amount: Some(amount(0)),
            ..not_subject(*regime, Qualification::S2)
        };
        let mut lines = vec![
            BreakdownLine {
                regime: Some(*regime),
                rate: Some(rate(10_00)),
                tax_amount: Some(amount(10_00)),
                ..taxed()
            },
            reverse,
            not_subject(*regime, Qualification::N1),
            not_subject(*regime, Qualification::N2),
        ];
        lines.extend(Exemption::ALL.iter().map(|exemption| exempt(*regime, *exemption)));
        for tax in [Tax::Vat, Tax::Igic] {
            let of_tax = lines.iter().map(|line| BreakdownLine { tax: Some(tax), ..line.clone() });
            invoices.extend(of_tax.map(|line| invoice(InvoiceType::F1, line)));
        }
    }
    for kind in InvoiceType::ALL {
        let reverse = BreakdownLine { rate: Some(rate(0)), ..not_subject(Regime::R01, Qualification::S2) };
        let works = BreakdownLine { regime: Some(Regime::R14), ..taxed() };
        let operation_date = Some(date("15-12-2026"));
        invoices.push(invoice(*kind, BreakdownLine { tax_amount: Some(amount(0)), ..reverse }));
        invoices.push(Invoice { operation_date, ..invoice(*kind, works) });
        for base in [301_000, 301_001] {
            let line = exempt(Regime::R01, Exemption::E1);
            invoices.push(invoice(*kind, BreakdownLine { base: amount(base), ..line }));
        }
    }
    for id in ["89890002E", "B65410011", "X5102754C", "A1234"] {
        let recipients = vec![foreigner("ES", ForeignIdType::NotInCensus, id)];
        invoices.push(Invoice { recipients, ..invoice(InvoiceType::F1, taxed()) });
    }
    invoices
}

/// A line of the regime whose base is at cost.
fn any_group(chance: &mut Chance) -> BreakdownLine {
    BreakdownLine {
        regime: Some(Regime::R06),
        base_at_cost: Some(any_amount(chance)),
        rate: (!chance.one_in(4)).then(|| any_rate(chance)),
        tax_amount: (!chance.one_in(4)).then(|| any_amount(chance)),
        ..taxed()
    }
}

fn change_line(line: &mut BreakdownLine, chance: &mut Chance) {
    match chance.below(11) {
        0 => line.tax = maybe(chance, Tax::ALL),
        1 | 2 => line.regime = maybe(chance, Regime::ALL),
        // The schema wants one of the two, and only one.
        3 => (line.qualification, line.exemption) = (Some(*chance.pick(Qualification::ALL)), None),
        4 => (line.qualification, line.exemption) = (None, Some(*chance.pick(Exemption::ALL))),
        5 => line.rate = (!chance.one_in(4)).then(|| any_rate(chance)),
        6 => line.base = amount(*chance.pick(&[0, 10_000, -10_000, 10_001, 248_300, 298_900, 298_901])),
        7 => line.base_at_cost = (!chance.one_in(4)).then(|| any_amount(chance)),
        8 => line.tax_amount = (!chance.one_in(4)).then(|| any_amount(chance)),
        9 => line.surcharge_rate = (!chance.one_in(4)).then(|| any_rate(chance)),
        _ => line.surcharge_amount = (!chance.one_in(4)).then(|| any_amount(chance)),
    }
}

fn change(invoice: &mut Invoice, chance: &mut Chance, today: &str) {
    let some = |chance: &mut Chance| maybe(chance, &[true, false]);
    match chance.below(30) {
        0 => invoice.invoice_type = *chance.pick(InvoiceType::ALL),
        1 => invoice.rectification = maybe(chance, RectificationMode::ALL),
        2 => invoice.rectified = vec![key(ISSUER, "OLD", "01-09-2026")],
        3 => invoice.replaced = vec![key(ISSUER, "OLD", "01-09-2026")],
        4 => {
            let amounts = RectifiedAmounts { base: amount(1), tax: amount(1), surcharge: None };
            invoice.rectified_amounts = maybe(chance, &[amounts]);
        }
        5 => invoice.operation_date = (!chance.one_in(4)).then(|| any_day(chance, today)),
        6 => invoice.id.date = any_day(chance, today),
        7 => invoice.qualified_simplified = some(chance),
        8 => invoice.without_recipient = some(chance),
        9 => {
            invoice.large_amount = some(chance);
            let large = 10_000_000_000 - i64::from(chance.one_in(2));
            if chance.one_in(2) {
                invoice.breakdown = vec![exempt(Regime::R01, Exemption::E1)];
                (invoice.breakdown[0].base, invoice.total) = (amount(large), amount(large));
                invoice.tax_total = amount(0);
            }
        }
        10 => invoice.issued_by = maybe(chance, IssuedBy::ALL),
        11 => invoice.third_party = (!chance.one_in(4)).then(|| any_party(chance)),
        12 => invoice.recipients = Vec::new(),
        13 | 14 => invoice.recipients = vec![any_party(chance)],
        15 => invoice.recipients.push(any_party(chance)),
        16 => invoice.coupon = some(chance),
        17 => invoice.tax_total = any_amount(chance),
        18 => invoice.total = any_amount(chance),
        19 => invoice.invoicing_agreement = Some(Text::parse("1").unwrap()),
        20 => invoice.correction.prior_rejection = maybe(chance, PriorRejection::ALL),
        21 => {
            let mut line = taxed();
            change_line(&mut line, chance);
            invoice.breakdown.push(line);
        }
        22 => {
            invoice.issued_by = Some(IssuedBy::ThirdParty);
            invoice.third_party = Some(any_party(chance));
        }
        23 => {
            let id: &&str = chance.pick(&["XI123456789", "GB123456789"]);
            invoice.recipients = vec![foreigner("GB", ForeignIdType::EuVat, id)];
            invoice.operation_date = Some(any_day(chance, today));
        }
        24 | 25 => invoice.breakdown = vec![any_group(chance)],
        _ => {
            let at = chance.below(invoice.breakdown.len() as u64) as usize;
            change_line(&mut invoice.breakdown[at], chance);
        }
    }
}

fn any_cancellation(chance: &mut Chance) -> Cancellation {
    let mut cancellation = Cancellation::new(key(ISSUER, "N", "15-09-2026"));
    // Nothing of it is registered, which it says.
    cancellation.without_prior_record = Some(true);
    cancellation.generated_by = maybe(chance, GeneratedBy::ALL);
    cancellation.generator = (!chance.one_in(4)).then(|| any_party(chance));
    cancellation
}

pub(crate) fn any_statement(chance: &mut Chance, valid: &[Invoice], today: &str) -> Statement {
    if chance.one_in(8) {
        return Statement::Cancellation(Box::new(any_cancellation(chance)));
    }
    let mut invoice = chance.pick(valid).clone();
    // Totals follow the lines unless they are what is changed.
    let adds_up = !chance.one_in(3);
    for _ in 0..chance.below(4) {
        change(&mut invoice, chance, today);
    }
    if adds_up {
        let add =
            |sum: (Cents, Cents), line: &BreakdownLine| (sum.0 + line.tax_total(), sum.1 + line.total());
        let (taxes, total) = invoice.breakdown.iter().fold((Cents(0), Cents(0)), add);
        (invoice.tax_total, invoice.total) = (taxes.amount().unwrap(), total.amount().unwrap());
    }
    Statement::Invoice(Box::new(invoice))
}

pub(crate) fn numbered(mut statement: Statement, number: &str) -> Statement {
    let number = InvoiceNumber::parse(number).unwrap();
    match &mut statement {
        Statement::Invoice(invoice) => invoice.id.number = number,
        Statement::Cancellation(cancellation) => cancellation.id.number = number,
    }
    statement
}

pub(crate) fn system() -> ComputerSystem {
    ComputerSystem {
        producer: Party { name: Text::parse("PRODUCTOR").unwrap(), ..person("B65410011") },
        name: Text::parse("Sistema").unwrap(),
        id: SystemId::parse("77").unwrap(),
        version: Text::parse("1.0").unwrap(),
        installation: Text::parse("1").unwrap(),
        verifactu_only: true,
        multiple_issuers_possible: false,
        multiple_issuers: false,
    }
}
