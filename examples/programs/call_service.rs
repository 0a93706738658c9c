//! A program that calls the service through the client library. Service and sandbox authority are
//! started in the same process, so it needs nothing; everything after that is what an integrator does:
//! account and key, certificate, invoice, QR, receipt, and the same request once more.
//!
//! `cargo run -p verifactu-examples --example call_service`
#![allow(clippy::print_stdout)]

use std::{error::Error, path::Path, time::Duration};

use verifactu_client::{
    Client, IdempotencyKey, Operator,
    api::{CreateApiKey, CreateTenant, JobStatus, Line, Person, Scope, SendInvoice},
};
use verifactu_core::{
    record::{ComputerSystem, Identification, InvoiceType, Party, SystemId},
    types::{
        Amount, Clock, Date, Environment, InvoiceNumber, Nif, Rate, Secret, SecretBytes, TenantId, Text,
    },
};
use verifactu_server::{
    Running, Server,
    clock::SystemClock,
    config::Config,
    sandbox::{Holder, RunningSandbox, SandboxConfig},
};

const ISSUER: &str = "B12345674";
const ISSUER_NAME: &str = "TALLERES EBRO SL";
const PASSPHRASE: &str = "a passphrase";

type Outcome<T> = Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let directory = tempfile::tempdir()?;
    let sandbox = SandboxConfig::default().data(directory.path().join("sandbox")).start().await?;
    let service = service(&sandbox, directory.path()).await?;
    let address = format!("http://{}/v1", service.address());

    let admin = Client::builder(&address).admin_key(service.admin_key().clone()).build()?;
    let key = open_account(&admin.operator()).await?;

    let client = Client::builder(&address).api_key(key).build()?;
    let issued = sandbox.pki().issue(&Holder::seal(ISSUER, ISSUER_NAME).with_passphrase(PASSPHRASE))?;
    let file = SecretBytes::new(issued.pkcs12()?.to_vec());
    let status = client.upload_certificate(&file, &Secret::new(PASSPHRASE.to_owned())).await?;
    println!("certificate of {:?}", status.certificate.and_then(|certificate| certificate.nif));

    // The key is stored with the invoice before the first sending: after a failure the same is sent.
    let (key, invoice) = (IdempotencyKey::random(), invoice()?);
    let submitted = client.send_invoice(&key, &invoice).await?;
    println!(
        "accepted as job {}; on paper goes {}",
        submitted.job_id(),
        client.qr_text(submitted.job_id()).await?
    );

    let job = client.wait_for_job(submitted.job_id(), Duration::from_secs(60)).await?;
    assert_eq!(job.status, JobStatus::Succeeded);
    let csv = job.result.and_then(|result| result.qr_info.csv).ok_or("no receipt")?;
    println!("registered, CSV {csv}");

    let again = client.send_invoice(&key, &invoice).await?;
    assert!(again.replayed && again.job_id() == submitted.job_id());
    assert_eq!(sandbox.registrations(Some(ISSUER)).await?.len(), 1);
    println!("sent once more: the same job, and one registration");

    service.stop().await;
    sandbox.stop().await;
    Ok(())
}

/// The service on a free port, with a ledger of its own.
async fn service(sandbox: &RunningSandbox, directory: &Path) -> Outcome<Running> {
    let mut config = Config::new(Environment::Sandbox, directory.join("service"), system()?);
    config.listen = ([127, 0, 0, 1], 0).into();
    config.authority.url = Some(sandbox.url());
    config.authority.ca = Some(directory.join("sandbox/pki/ca.pem"));
    Ok(Server::start(config).await?)
}

/// What the operator does for a new customer.
async fn open_account(operator: &Operator) -> Outcome<Secret> {
    let tenant_id = TenantId::parse("talleres-ebro")?;
    let tenant = CreateTenant {
        id: tenant_id.clone(),
        name: None,
        issuer_name: Some(ISSUER_NAME.to_owned()),
        plan_id: None,
        parent_tenant_id: None,
        allowed_nif: None,
        client_sif_enabled: false,
    };
    operator.create_tenant(&tenant).await?;
    let scopes = vec![Scope::InvoicesWrite, Scope::InvoicesRead, Scope::CertificatesWrite];
    let key = CreateApiKey { tenant_id, name: None, scopes, expires_at: None };
    Ok(operator.create_api_key(&key).await?.key)
}

fn invoice() -> Outcome<SendInvoice> {
    let line = Line::vat(Amount::parse("100")?, Rate::parse("21")?, Amount::parse("21")?);
    let invoice = SendInvoice::new(
        Nif::parse(ISSUER)?,
        InvoiceNumber::parse("2026/0001")?,
        Date::in_madrid(SystemClock.now()),
        InvoiceType::F1,
        "Reparación de un motor",
        vec![line],
    );
    Ok(invoice.recipient(Person::spanish("CLIENTE SA", Nif::parse("A58818501")?)))
}

/// What the service's records name as the system that made them.
fn system() -> Outcome<ComputerSystem> {
    Ok(ComputerSystem {
        producer: Party {
            name: Text::parse("PRODUCTOR DE PRUEBAS SL")?,
            identification: Identification::Nif(Nif::parse("B65410011")?),
        },
        name: Text::parse("SERVICIO DE PRUEBAS")?,
        id: SystemId::parse("SP").ok_or("two characters")?,
        version: Text::parse("1.0")?,
        installation: Text::parse("1")?,
        verifactu_only: true,
        multiple_issuers_possible: true,
        multiple_issuers: false,
    })
}
