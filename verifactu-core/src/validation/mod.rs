//! The authority's published rules, as data.
//!
//! What can be known before a record is sent is checked before it is sent: a rejection costs the
//! issuer a correction, and a record can never be taken back. The rules are [rows of data](rules), each
//! with the code the authority answers when it is broken, the dates between which it holds, and a
//! function that finds where a statement breaks it. [`validate`] returns every finding, not the first.
//!
//! A wrong rejection stops a business, so a rule whose condition the authority's documents leave
//! open takes its lenient reading, and where its publications contradict each other the finding is
//! no more than a doubt. Rules that [need the ledger](Needs::Ledger) are listed, and kept where records
//! are sealed. What needs the census, a register or the authority's own records is not here:
//! [`coverage`] says for every published code who looks after it. Source: "Validaciones y errores" (Val)
//! 1.2.2 and the code list of 2026-07-30.
//!
//! To add a rule, write its function beside its like and one row at the top of the same file.

mod blocks;
mod cancellation;
pub mod coverage;
mod dates;
mod header;
mod lexical;
mod lines;
mod parties;
mod path;
mod rates;
mod regimes;
mod rule;
mod sealing;
mod totals;
mod vat_number;

pub use lexical::{lexical_code, number_code};
pub use path::{Field, Path, Step};
pub use rule::{Level, Needs, Rule};

use rule::Check;

use crate::{
    record::{BreakdownLine, GeneratedBy, Party, Statement},
    types::Date,
};

/// A place where a statement breaks a rule.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The field that should change.
    pub path: Path,
    /// What is wrong, in English, with the values concerned where they help.
    pub message: String,
}

/// What a statement is measured against besides itself.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// The present day in peninsular Spain.
    pub today: Date,
}

/// The part in which somebody is named.
#[derive(Clone, Copy, Debug)]
enum Role {
    /// With the day of the operation.
    Recipient(Date),
    /// With the day of the operation.
    ThirdParty(Date),
    Generator(Option<GeneratedBy>),
    Producer,
}

/// Takes the findings of one rule at one place.
struct Report<'a> {
    rule: &'static Rule,
    base: &'a [Step],
    findings: &'a mut Vec<Finding>,
}

impl Report<'_> {
    /// The rule is broken here; its own text says all there is to say.
    fn at(&mut self, field: Field) {
        self.because(field, self.rule.text_en.to_owned());
    }

    /// The rule is broken here, with the values concerned.
    fn because(&mut self, field: Field, message: String) {
        let path = Path::within(self.base, &[Step::Field(field)]);
        self.findings.push(Finding { rule: self.rule, path, message });
    }

    /// The rule is broken further in.
    fn inside(&mut self, path: &[Step]) {
        let path = Path::within(self.base, path);
        self.findings.push(Finding { rule: self.rule, path, message: self.rule.text_en.to_owned() });
    }
}

/// Every rule, in the order of the findings.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    [
        lines::RULES,
        rates::RULES,
        regimes::RULES,
        dates::RULES,
        blocks::RULES,
        parties::RULES,
        cancellation::RULES,
        totals::RULES,
        header::RULES,
        sealing::RULES,
    ]
    .into_iter()
    .flatten()
}

/// Everything that is wrong with a statement, in the order of the rules.
#[must_use]
pub fn validate(statement: &Statement, context: &Context) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in in_force(context) {
        let mut run = |base: &[Step], check: &mut dyn FnMut(&mut Report<'_>)| {
            check(&mut Report { rule, base, findings: &mut findings });
        };
        match (rule.check, statement) {
            (Check::Invoice(check), Statement::Invoice(invoice)) => {
                run(&[], &mut |report| check(invoice, context, report));
            }
            (Check::Line(_) | Check::LineOf(_), Statement::Invoice(invoice)) => {
                for (index, line) in invoice.breakdown.iter().enumerate() {
                    let path = [Step::Field(Field::Breakdown), Step::Index(index)];
                    run(&path, &mut |report| match rule.check {
                        Check::Line(check) => check(line, report),
                        Check::LineOf(check) => check(invoice, line, report),
                        _ => {}
                    });
                }
            }
            (Check::Party(check), Statement::Invoice(invoice)) => {
                let date = invoice.operation_date.unwrap_or(invoice.id.date);
                for (index, party) in invoice.recipients.iter().enumerate() {
                    let path = [Step::Field(Field::Recipients), Step::Index(index)];
                    run(&path, &mut |report| check(party, &Role::Recipient(date), report));
                }
                if let Some(party) = &invoice.third_party {
                    let path = [Step::Field(Field::ThirdParty)];
                    run(&path, &mut |report| check(party, &Role::ThirdParty(date), report));
                }
            }
            (Check::Party(check), Statement::Cancellation(cancellation)) => {
                if let Some(party) = &cancellation.generator {
                    let role = Role::Generator(cancellation.generated_by);
                    run(&[Step::Field(Field::Generator)], &mut |report| check(party, &role, report));
                }
            }
            (Check::Cancellation(check), Statement::Cancellation(cancellation)) => {
                run(&[], &mut |report| check(cancellation, report));
            }
            (Check::Invoice(_) | Check::Line(_) | Check::LineOf(_), Statement::Cancellation(_))
            | (Check::Cancellation(_), Statement::Invoice(_))
            | (Check::LastDay(_) | Check::Ledger, _) => {}
        }
    }
    findings
}

/// Everything that is wrong with one breakdown line by itself: what can be said of an invoice whose
/// other parts could not be read.
#[must_use]
pub fn validate_line(line: &BreakdownLine, index: usize, context: &Context) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in in_force(context) {
        if let Check::Line(check) = rule.check {
            let base = &[Step::Field(Field::Breakdown), Step::Index(index)];
            check(line, &mut Report { rule, base, findings: &mut findings });
        }
    }
    findings
}

/// Everything that is wrong with the producer of a computer system.
#[must_use]
pub fn validate_producer(producer: &Party, context: &Context) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in in_force(context) {
        if let Check::Party(check) = rule.check {
            let base = &[Step::Field(Field::System)];
            check(producer, &Role::Producer, &mut Report { rule, base, findings: &mut findings });
        }
    }
    findings
}

/// Everything that is wrong with the last day of VERI*FACTU operation that messages shall state.
#[must_use]
pub fn validate_verifactu_end(day: Date, context: &Context) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in in_force(context) {
        if let Check::LastDay(check) = rule.check {
            check(day, context, &mut Report { rule, base: &[], findings: &mut findings });
        }
    }
    findings
}

fn in_force(context: &Context) -> impl Iterator<Item = &'static Rule> {
    let today = context.today;
    rules().filter(move |rule| rule.is_in_force(today))
}
