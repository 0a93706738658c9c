//! Programs (`programs/`) and sample invoices (`invoices/`) for VERI*FACTU for Rust. Each program is
//! an example of cargo's and asserts what it prints; the tests run all of them.
//!
//! Here is what the programs that call a service share: one that runs in the same process, over a sandbox
//! authority, so that they need nothing.

use std::{error::Error, path::Path, time::Duration};

use verifactu_client::{
    Client,
    api::{CreateApiKey, CreateTenant, Line, Person, Scope, SendInvoice},
};
use verifactu_core::{
    record::{ComputerSystem, Identification, InvoiceType, Party, SystemId},
    types::{
        Amount, Clock, Date, Environment, InvoiceNumber, Nif, Rate, Secret, SecretBytes, TenantId, Text,
    },
};
use verifactu_server::{
    Builder, Running, Server,
    clock::SystemClock,
    config::Config,
    sandbox::{Holder, RunningSandbox, SandboxConfig, Settings},
};

/// The NIF of the business whose invoices the programs send.
pub const ISSUER: &str = "B12345674";
/// Its name.
pub const ISSUER_NAME: &str = "TALLERES EBRO SL";
/// The passphrase of its certificate's file.
pub const PASSPHRASE: &str = "a passphrase";

/// What a program ends with.
pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// A sandbox authority, and a service that sends to it. The authority asks for a wait of one second
/// between messages; the real one asks for sixty.
pub struct Place {
    /// The authority.
    pub sandbox: RunningSandbox,
    /// The service.
    pub service: Running,
    _directory: tempfile::TempDir,
}

impl Place {
    /// Starts both on free ports.
    ///
    /// # Errors
    /// One of them does not start.
    pub async fn open() -> Outcome<Self> {
        Self::open_with(Server::builder).await
    }

    /// As [`open`](Self::open), with a service whose parts the program chooses.
    ///
    /// # Errors
    /// One of them does not start.
    pub async fn open_with(parts: impl FnOnce(Config) -> Builder) -> Outcome<Self> {
        let directory = tempfile::tempdir()?;
        let settings = Settings { wait_seconds: Some(1), ..Settings::default() };
        let sandbox = SandboxConfig::default().data(directory.path().join("sandbox")).settings(settings);
        let sandbox = sandbox.start().await?;
        let service = parts(config(&sandbox, directory.path())?).start().await?;
        Ok(Self { sandbox, service, _directory: directory })
    }

    /// The address of the service.
    #[must_use]
    pub fn address(&self) -> String {
        format!("http://{}/v1", self.service.address())
    }

    /// A client with the operator's key.
    ///
    /// # Errors
    /// The client cannot be set up.
    pub fn admin(&self) -> Outcome<Client> {
        Ok(Client::builder(&self.address()).admin_key(self.service.admin_key().clone()).build()?)
    }

    /// What the operator does for a new customer: an account and a key.
    ///
    /// # Errors
    /// The service refuses.
    pub async fn open_account(&self) -> Outcome<Secret> {
        let operator = self.admin()?.operator();
        let tenant_id = TenantId::parse("talleres-ebro")?;
        let tenant = CreateTenant {
            issuer_name: Some(ISSUER_NAME.to_owned()),
            ..CreateTenant::new(tenant_id.clone())
        };
        operator.create_tenant(&tenant).await?;
        let scopes = vec![Scope::InvoicesWrite, Scope::InvoicesRead, Scope::CertificatesWrite];
        Ok(operator.create_api_key(&CreateApiKey::new(tenant_id, scopes)).await?.key)
    }

    /// The file of a certificate of the issuer, as it would have from its certification authority.
    ///
    /// # Errors
    /// The sandbox issues none.
    pub fn certificate(&self) -> Outcome<SecretBytes> {
        let holder = Holder::seal(ISSUER, ISSUER_NAME).with_passphrase(PASSPHRASE);
        Ok(SecretBytes::new(self.sandbox.pki().issue(&holder)?.pkcs12()?.to_vec()))
    }

    /// A client of a new customer that has uploaded its certificate.
    ///
    /// # Errors
    /// The service refuses.
    pub async fn customer(&self) -> Outcome<Client> {
        let client = Client::builder(&self.address()).api_key(self.open_account().await?).build()?;
        client.upload_certificate(&self.certificate()?, &Secret::new(PASSPHRASE.to_owned())).await?;
        Ok(client)
    }

    /// Ends both.
    pub async fn close(self) {
        self.service.stop().await;
        self.sandbox.stop().await;
    }
}

/// An invoice of today to a customer in Spain.
///
/// # Errors
/// The number is not one.
pub fn invoice(number: &str) -> Outcome<SendInvoice> {
    let line = Line::vat(Amount::parse("100")?, Rate::parse("21")?, Amount::parse("21")?);
    let invoice = SendInvoice::new(
        Nif::parse(ISSUER)?,
        InvoiceNumber::parse(number)?,
        Date::in_madrid(SystemClock.now()),
        InvoiceType::F1,
        "Reparación de un motor",
        vec![line],
    );
    Ok(invoice.recipient(Person::spanish("CLIENTE SA", Nif::parse("A58818501")?)))
}

fn config(sandbox: &RunningSandbox, directory: &Path) -> Outcome<Config> {
    let mut config = Config::new(Environment::Sandbox, directory.join("service"), system()?);
    config.listen = ([127, 0, 0, 1], 0).into();
    config.authority.url = Some(sandbox.url());
    config.authority.ca = Some(directory.join("sandbox/pki/ca.pem"));
    config.webhook_loopback = true;
    // A doubt is looked into at once, and not after a minute: an answer that was lost names no wait.
    config.engine.retry.transient_cap = Duration::from_secs(2);
    config.engine.initial_wait = Duration::from_secs(1);
    Ok(config)
}

/// What records name as the system that made them.
///
/// # Errors
/// None; the texts are good.
pub fn system() -> Outcome<ComputerSystem> {
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

/// The Rust in README.md, which is compiled and run with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
