//! What needs no service: huella, rules, XML, signatures and chains of files.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::{Value, json};
use verifactu_client::{
    api::{CancelRequest, Defaults, Detail, Json, SendRequest, SystemClaim, Warning},
    record::{ComputerSystem, InvoiceId, Link, Predecessor, Statement},
    types::{Date, GenerationTime, Huella, InvoiceNumber, Nif, Text},
};
use verifactu_core::{
    certificate::{self, MAX_FILE, Wanted},
    chain::{self, Break, Walk},
    signature::{self, EcKeys, Signer},
    xml::{literals, record},
};

use crate::{
    failure::{End, Failure, Finding},
    online::MAX_BODY,
    output::{Output, listed},
    surroundings::{self, PASSPHRASE},
};

/// Largest export, in bytes.
const MAX_EXPORT: u64 = 256 * 1024 * 1024;

#[derive(Args)]
pub(crate) struct Body {
    /// The JSON body as the service takes it; `-` reads the standard input.
    file: PathBuf,
    /// The body cancels an invoice.
    #[arg(long)]
    cancel: bool,
    /// Name of the issuer, for a body without one; the service takes the account's.
    #[arg(long, value_name = "NAME", value_parser = Text::<120>::parse)]
    issuer_name: Option<Text<120>>,
}

/// A statement with what the body says beside it, or all that is wrong.
struct Read {
    statement: Statement,
    system: Option<SystemClaim>,
    warnings: Vec<Warning>,
}

impl Body {
    fn read(&self) -> Result<Result<Read, Vec<Detail>>, Failure> {
        let text = surroundings::read(&self.file, MAX_BODY)?;
        let body = Json::parse(&text).map_err(|error| Failure::unusable("the body", error))?;
        let today = Date::in_madrid(surroundings::now());
        let defaults = Defaults { issuer_name: self.issuer_name.as_ref(), today, demoted: &[] };
        Ok(if self.cancel {
            CancelRequest::read(&body, &defaults).map(|request| Read {
                statement: Statement::Cancellation(Box::new(request.cancellation)),
                system: request.system,
                warnings: request.warnings,
            })
        } else {
            SendRequest::read(&body, &defaults).map(|request| Read {
                statement: Statement::Invoice(Box::new(request.invoice)),
                system: request.system,
                warnings: request.warnings,
            })
        })
    }

    pub(crate) fn validate(&self, output: Output) -> Result<End, Failure> {
        let (details, warnings) = match self.read()? {
            Ok(read) => (Vec::new(), read.warnings),
            Err(details) => (details, Vec::new()),
        };
        violations(details, &warnings, output)
    }
}

fn violations(details: Vec<Detail>, warnings: &[Warning], output: Output) -> Result<End, Failure> {
    let finding = Finding::from(details.is_empty());
    let json = json!({"valid": details.is_empty(), "details": details, "warnings": warnings});
    output.print(&format!("{}\n{}", Output::word(finding), listed(&json)), &json)?;
    Ok(End::well_if(finding))
}

#[derive(Args)]
pub(crate) struct Hash {
    #[command(flatten)]
    body: Body,
    /// Huella of the record before; none makes it the first of its chain.
    #[arg(long, value_name = "HUELLA", value_parser = Huella::parse)]
    previous: Option<Huella>,
    /// When the record was generated, such as 2026-10-15T10:00:00+02:00; now if not given.
    #[arg(long, value_parser = GenerationTime::parse)]
    time: Option<GenerationTime>,
}

impl Hash {
    pub(crate) fn run(self, output: Output) -> Result<End, Failure> {
        let read = match self.body.read()? {
            Ok(read) => read,
            Err(details) => return violations(details, &[], output),
        };
        let time = time(self.time);
        let canonical = chain::canonical(&read.statement, self.previous.as_ref(), &time);
        let huella = chain::huella(&read.statement, self.previous.as_ref(), &time);
        let json = json!({"huella": huella.as_str(), "canonical": canonical});
        output.print(&format!("{}\n{canonical}", huella.as_str()), &json)?;
        Ok(End::Well)
    }
}

fn time(given: Option<GenerationTime>) -> GenerationTime {
    given.unwrap_or_else(|| GenerationTime::in_madrid(surroundings::now()))
}

#[derive(Args)]
pub(crate) struct Xml {
    #[command(flatten)]
    body: Body,
    /// XML of the record before; none makes it the first of its chain.
    #[arg(long, value_name = "FILE")]
    previous: Option<PathBuf>,
    /// When the record was generated, such as 2026-10-15T10:00:00+02:00; now if not given.
    #[arg(long, value_parser = GenerationTime::parse)]
    time: Option<GenerationTime>,
}

impl Xml {
    pub(crate) fn run(self, output: Output) -> Result<End, Failure> {
        let read = match self.body.read()? {
            Ok(read) => read,
            Err(details) => return violations(details, &[], output),
        };
        let system = read.system.and_then(complete).ok_or(Failure::System)?;
        let link = self.previous.as_deref().map_or(Ok(Link::First), follow)?;
        let record = chain::seal(read.statement, link, system, time(self.time));
        let xml = String::from_utf8_lossy(&record::to_vec(&record)).into_owned();
        output.print(&xml, &json!({"xml": xml, "huella": record.huella.as_str()}))?;
        Ok(End::Well)
    }
}

/// The system, if all of it was stated: nothing is made up about who answers for it.
fn complete(claim: SystemClaim) -> Option<ComputerSystem> {
    Some(ComputerSystem {
        producer: claim.producer?,
        name: claim.name?,
        id: claim.id?,
        version: claim.version?,
        installation: claim.installation?,
        verifactu_only: claim.verifactu_only?,
        multiple_issuers_possible: claim.multiple_issuers_possible?,
        multiple_issuers: claim.multiple_issuers?,
    })
}

fn follow(path: &Path) -> Result<Link, Failure> {
    let text = surroundings::read(path, MAX_BODY)?;
    let unusable = |error| Failure::Unusable("the record before", error);
    let literals = literals::read(&text).map_err(|error| unusable(error.into()))?;
    let [issuer, number, date] = &literals.invoice;
    Ok(Link::Previous(Predecessor {
        invoice: InvoiceId {
            issuer: Nif::parse(issuer).map_err(|error| unusable(error.into()))?,
            number: InvoiceNumber::parse(number).map_err(|error| unusable(error.into()))?,
            date: Date::parse(date).map_err(|error| unusable(error.into()))?,
        },
        huella: Huella::parse(&literals.huella).map_err(|error| unusable(error.into()))?,
    }))
}

#[derive(Args)]
pub(crate) struct Sign {
    /// A record as `verifactu xml` writes it; `-` reads the standard input.
    file: PathBuf,
    /// The PKCS#12 file; its passphrase is in VERIFACTU_PASSPHRASE or a file.
    #[arg(long, value_name = "FILE")]
    pfx: PathBuf,
    /// File with the passphrase.
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Let elliptic-curve keys sign.
    #[arg(long)]
    ec: bool,
}

impl Sign {
    pub(crate) fn run(&self, output: Output) -> Result<End, Failure> {
        let record = surroundings::read(&self.file, MAX_BODY)?;
        let record = String::from_utf8(record).map_err(|_| Failure::NotText(self.file.clone()))?;
        let pfx = zeroize::Zeroizing::new(surroundings::read(&self.pfx, MAX_FILE as u64)?);
        let passphrase = surroundings::secret(self.passphrase_file.as_deref(), PASSPHRASE)?
            .ok_or(Failure::Unset("passphrase", "--passphrase-file", PASSPHRASE))?;
        let now = surroundings::now();
        let opened = certificate::open(&pfx, &passphrase, Wanted { holder: None, now })
            .map_err(|error| Failure::unusable("the certificate", error))?;
        let ec = if self.ec { EcKeys::Allow } else { EcKeys::Refuse };
        let mut signed = Vec::new();
        Signer::new(&opened.identity, ec)
            .and_then(|signer| signer.sign(record.trim_end(), surroundings::identifier(), now, &mut signed))
            .map_err(|error| Failure::unusable("the signature", error))?;
        let signed = String::from_utf8_lossy(&signed);
        output.print(&signed, &json!({"xml": signed}))?;
        Ok(End::Well)
    }
}

/// Whether the certificate is trusted or revoked is not decided here.
pub(crate) fn verify_signature(path: &Path, output: Output) -> Result<End, Failure> {
    let document = surroundings::read(path, MAX_BODY)?;
    // The line end that printing adds is no part of the record.
    let (finding, json) = match signature::verify(document.trim_ascii_end()) {
        Ok(verified) => (
            Finding::Holds,
            json!({"valid": true, "signingTime": verified.signing_time.to_string(), "policy": verified.policy,
                "algorithm": format!("{:?}", verified.algorithm)}),
        ),
        Err(error) => (Finding::Fails, json!({"valid": false, "reason": crate::failure::told(&error)})),
    };
    output.print(&format!("{}\n{}", Output::word(finding), listed(&json)), &json)?;
    Ok(End::well_if(finding))
}

/// Walks the chains of an export: an XML document with the records, or one JSON per line, a text of XML
/// or an object with the text in `xml`.
pub(crate) fn verify_chain(path: &Path, output: Output) -> Result<End, Failure> {
    let export = surroundings::read(path, MAX_EXPORT)?;
    let content = export.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&export).trim_ascii();
    let mut chains = Chains::default();
    let broken = if content.starts_with(b"<") {
        chains.step(content)
    } else {
        content.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).try_for_each(
            |line| {
                let line: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
                let xml = line.as_str().or_else(|| line["xml"].as_str()).ok_or("the line holds no XML")?;
                chains.step(xml.as_bytes())
            },
        )
    }
    .err();
    let (checked, position, count) = (chains.checked, chains.checked + 1, chains.walks.len());
    let finding = Finding::from(broken.is_none() && checked > 0);
    let (text, json) = match broken {
        Some(reason) => (
            format!("record {position}: {reason}"),
            json!({"valid": false, "checked": checked, "position": position, "reason": reason}),
        ),
        None if checked == 0 => {
            ("no records".to_owned(), json!({"valid": false, "checked": 0, "reason": "no records"}))
        }
        None => (
            format!("{checked} records in {count} {}", if count == 1 { "chain" } else { "chains" }),
            json!({"valid": true, "checked": checked, "chains": count}),
        ),
    };
    output.print(&format!("{} {text}", Output::word(finding)), &json)?;
    Ok(End::well_if(finding))
}

/// The chains of an export, told apart by whose they are, in what order the records of several may come.
#[derive(Default)]
struct Chains {
    walks: HashMap<[String; 4], Walk>,
    /// Records that held so far.
    checked: u64,
}

impl Chains {
    fn step(&mut self, document: &[u8]) -> Result<(), String> {
        for record in literals::read_all(document).map_err(|error| crate::failure::told(&error))? {
            let [producer, system, installation] = &record.system;
            let chain = [&record.invoice[0], producer, system, installation].map(ToString::to_string);
            let walk = self.walks.entry(chain).or_default();
            walk.next(record.chained()).map_err(|Break { reason, .. }| reason.to_string())?;
            self.checked += 1;
        }
        Ok(())
    }
}
