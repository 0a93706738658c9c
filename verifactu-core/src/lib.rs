//! The VERI*FACTU SDK: invoice records, huella, chain, AEAT XML, signature, certificates, and the
//! engine that carries records to the authority.
//!
//! Build an invoice, seal it, and print what stands on the paper:
//!
//! ```
//! use verifactu_core::{
//!     chain,
//!     qr::{CheckService, Symbol},
//!     record::{
//!         BreakdownLine, ComputerSystem, Identification, Invoice, InvoiceId, InvoiceType, Link, Party,
//!         Qualification, Regime, Statement, SystemId,
//!     },
//!     types::{Amount, Date, Environment, GenerationTime, InvoiceNumber, Nif, Rate, Text},
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let line = BreakdownLine {
//!     regime: Some(Regime::R01),
//!     qualification: Some(Qualification::S1),
//!     rate: Some(Rate::parse("21")?),
//!     tax_amount: Some(Amount::parse("21")?),
//!     ..BreakdownLine::new(Amount::parse("100")?)
//! };
//! let id = InvoiceId {
//!     issuer: Nif::parse("B12345674")?,
//!     number: InvoiceNumber::parse("2026/0001")?,
//!     date: Date::parse("15-10-2026")?,
//! };
//! let (name, description) = (Text::parse("TALLERES EBRO SL")?, Text::parse("Reparación")?);
//! let invoice = Invoice::new(id, name, InvoiceType::F2, description, vec![line])
//!     .ok_or("the total has too many digits")?;
//!
//! let check = CheckService::new(Environment::Preproduction, "");
//! let qr = check.text(&invoice);
//!
//! let system = ComputerSystem {
//!     producer: Party {
//!         name: Text::parse("PRODUCTOR DE PRUEBAS SL")?,
//!         identification: Identification::Nif(Nif::parse("B65410011")?),
//!     },
//!     name: Text::parse("ERP DE PRUEBAS")?,
//!     id: SystemId::parse("EP").ok_or("two characters")?,
//!     version: Text::parse("1.0")?,
//!     installation: Text::parse("1")?,
//!     verifactu_only: true,
//!     multiple_issuers_possible: false,
//!     multiple_issuers: false,
//! };
//! let time = GenerationTime::parse("2026-10-15T10:00:00+02:00")?;
//! let record = chain::seal(Statement::Invoice(Box::new(invoice)), Link::First, system, time);
//!
//! println!("huella {}", record.huella);
//! println!("{qr}\n{}", Symbol::new(&qr)?.terminal());
//! # assert_eq!(record.huella.as_str(), "9C53EDA09E4CD9803E8E9574C0C25A2A4A5965C9659CB54E9B3CC39B98542B2E");
//! # assert_eq!(qr, "https://prewww2.aeat.es/wlpl/TIKE-CONT/ValidarQR?nif=B12345674&numserie=2026%2F0001&fecha=15-10-2026&importe=121.0");
//! # Ok(())
//! # }
//! ```
//!
//! The next record of the issuer names this one: `Link::Previous`. From here on the engine does that
//! work, under a lock, with a ledger: see the `engine` module, and `examples/programs` in the
//! repository.
//!
//! New to VERI*FACTU? The `guide` tells what a record is, when it is sealed and how to mend what is wrong, and
//! what law and authority ask for beside the code that answers.
//!
//! Features only add. Without any there are model, rules, huella and chain, QR, REST types and webhook
//! signatures. `xml` adds the authority's XML, `signing` certificates and signatures, `engine` ledger,
//! queue and engine, `https` the way to the authority, `sqlite` the embedded ledger. The default is all
//! of these. `postgres` adds the ledger and `redis` the queue that several processes share, `testing` the suites
//! that a ledger or a queue of your own has to pass, `schema` JSON schemas of the REST types.

pub mod api;
#[cfg(feature = "engine")]
pub mod authority;
#[cfg(feature = "signing")]
pub mod certificate;
pub mod chain;
#[cfg(feature = "engine")]
pub mod engine;
#[cfg(feature = "engine")]
pub mod guide;
pub mod job;
#[cfg(feature = "engine")]
pub mod ledger;
pub mod qr;
#[cfg(feature = "engine")]
pub mod queue;
pub mod record;
#[cfg(feature = "signing")]
pub mod signature;
#[cfg(feature = "testing")]
pub mod testing;
pub mod types;
pub mod validation;
pub mod webhook;
#[cfg(feature = "xml")]
pub mod xml;
