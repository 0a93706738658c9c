//! The whole way: client, service and sandbox authority.

use std::{net::Ipv4Addr, time::Duration};

use rqrr::PreparedImage;
use serde_json::json;
use verifactu_client::{
    Client, Error, IdempotencyKey, Submission,
    api::{CancelInvoice, CreateApiKey, CreateTenant, JobStatus, JobType, Place, Scope},
    record::{ComputerSystem, Identification, Party, SystemId},
    types::{Date, Environment, Huella, InvoiceNumber, Nif, Secret, SecretBytes, TenantId, Text},
};
use verifactu_server::{
    Running, Server,
    config::Config,
    sandbox::{Holder, RunningSandbox, SandboxConfig, Settings},
};

use crate::scripted::{HUELLA, invoice};

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
pub(crate) const ISSUER: &str = "B12345674";

pub(crate) struct World {
    pub(crate) sandbox: RunningSandbox,
    pub(crate) server: Running,
    _data: tempfile::TempDir,
}

impl World {
    pub(crate) async fn start() -> Self {
        let data = tempfile::tempdir().unwrap();
        let settings = Settings { wait_seconds: Some(1), ..Settings::default() };
        let sandbox = SandboxConfig::default().settings(settings).start().await.unwrap();
        let ca = data.path().join("ca.pem");
        std::fs::write(&ca, sandbox.pki().ca_pem()).unwrap();
        let mut config = Config::new(Environment::Sandbox, data.path().join("service"), system());
        config.listen = (Ipv4Addr::LOCALHOST, 0).into();
        config.authority.url = Some(sandbox.url());
        config.authority.ca = Some(ca);
        config.certificates.required = true;
        let server = Server::start(config).await.unwrap();
        Self { sandbox, server, _data: data }
    }

    pub(crate) fn address(&self) -> String {
        format!("http://{}/v1", self.server.address())
    }

    pub(crate) fn admin(&self) -> Client {
        Client::builder(&self.address()).admin_key(self.server.admin_key().clone()).build().unwrap()
    }

    pub(crate) fn pkcs12(&self) -> SecretBytes {
        self.pkcs12_of(ISSUER)
    }

    /// The file of a certificate of somebody who represents this entity.
    pub(crate) fn pkcs12_of(&self, entity: &str) -> SecretBytes {
        let holder = Holder::representative("12345678Z", "EBRO GARCIA ANA", entity, "Emisor SL");
        let file = self.sandbox.pki().issue(&holder.with_passphrase("test")).unwrap().pkcs12().unwrap();
        SecretBytes::new(file.to_vec())
    }
}

fn system() -> ComputerSystem {
    ComputerSystem {
        producer: Party {
            name: Text::parse("Productora SL").unwrap(),
            identification: Identification::Nif(Nif::parse("B65410011").unwrap()),
        },
        name: Text::parse("verifactu").unwrap(),
        id: SystemId::parse("VR").unwrap(),
        version: Text::parse("1").unwrap(),
        installation: Text::parse("1").unwrap(),
        verifactu_only: true,
        multiple_issuers_possible: true,
        multiple_issuers: false,
    }
}

pub(crate) fn key(text: &str) -> IdempotencyKey {
    IdempotencyKey::parse(text).unwrap()
}

pub(crate) fn number(text: &str) -> InvoiceNumber {
    InvoiceNumber::parse(text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invoice_goes_all_the_way() {
    let world = World::start().await;
    let admin = world.admin();
    let operator = admin.operator();
    assert_eq!(admin.health().await.unwrap().status, "ok");
    assert!(admin.ready().await.unwrap().ready);

    // Account and key.
    let tenant =
        CreateTenant { name: Some("ERP".into()), ..CreateTenant::new(TenantId::parse("erp").unwrap()) };
    assert_eq!(operator.create_tenant(&tenant).await.unwrap().tenant_id, tenant.id);
    assert_eq!(operator.create_tenant(&tenant).await.unwrap_err().status(), Some(409));
    let wanted = CreateApiKey {
        tenant_id: tenant.id,
        name: Some("till".into()),
        scopes: vec![
            Scope::InvoicesWrite,
            Scope::InvoicesRead,
            Scope::CertificatesRead,
            Scope::CertificatesWrite,
        ],
        expires_at: None,
    };
    let made = operator.create_api_key(&wanted).await.unwrap();
    let client = Client::builder(&world.address()).api_key(made.key).build().unwrap();

    // Certificate.
    let early = client.send_invoice(&key("1"), &invoice("1")).await.unwrap_err();
    assert_eq!(early.service().unwrap().document.code, "tenant_certificate_required");
    assert!(!client.certificate().await.unwrap().has_certificate);
    let wrong = client.upload_certificate(&world.pkcs12(), &Secret::new("other".into())).await.unwrap_err();
    assert_eq!(wrong.service().unwrap().document.code, "wrong_passphrase");
    let status = client.upload_certificate(&world.pkcs12(), &Secret::new("test".into())).await.unwrap();
    assert_eq!(status.certificate.unwrap().nif, Some(Nif::parse(ISSUER).unwrap()));
    assert!(client.certificate().await.unwrap().has_certificate);

    // Send, print, wait.
    let submitted = client.send_invoice(&key("1"), &invoice("1")).await.unwrap();
    assert!(!submitted.replayed);
    let printed = submitted.qr_info().unwrap().clone();
    let text = client.qr_text(submitted.job_id()).await.unwrap();
    assert_eq!(Some(&text), printed.qr_text.as_ref());
    assert!(client.qr_svg(submitted.job_id()).await.unwrap().starts_with("<svg"));
    assert_eq!(qr_text_of(&client.qr_png(submitted.job_id()).await.unwrap()), text);
    let job = client.wait_for_job(submitted.job_id(), PATIENCE).await.unwrap();
    assert_eq!(job.status, JobStatus::Succeeded, "{job:?}");
    let result = job.result.unwrap();
    assert_eq!(result.qr_info.huella, printed.huella);
    assert!(result.qr_info.csv.is_some());

    // Replay and conflicts.
    let replay = client.send_invoice(&key("1"), &invoice("1")).await.unwrap();
    assert!(replay.replayed && matches!(replay.submission, Submission::Finished(_)));
    assert_eq!(replay.job_id(), submitted.job_id());
    let other = client.send_invoice(&key("1"), &invoice("2")).await.unwrap_err();
    assert!(other.service().unwrap().is_idempotency_conflict());
    let again = client.send_invoice(&key("2"), &invoice("1")).await.unwrap_err();
    assert!(again.service().unwrap().is_already_submitted());
    assert_eq!(again.service().unwrap().document.job_id, Some(submitted.job_id()));
    let mut misplaced = invoice("2");
    misplaced.encadenamiento = Some(Place::After(Huella::parse(HUELLA).unwrap()));
    let misplaced = client.send_invoice(&key("2"), &misplaced).await.unwrap_err();
    assert!(misplaced.service().unwrap().is_chain_conflict());
    assert_eq!(misplaced.service().unwrap().document.expected_huella, Some(printed.huella));

    // A body of the caller's own, and what is wrong with one.
    let body = serde_json::to_string(&invoice("2")).unwrap();
    let second = client.send_invoice_json(&key("2"), &body).await.unwrap();
    let replay = client.send_invoice(&key("2"), &invoice("2")).await.unwrap();
    assert_eq!((replay.replayed, replay.job_id()), (true, second.job_id()));
    let invalid = client.send_invoice_json(&key("3"), &json!({"nif": 1}).to_string()).await.unwrap_err();
    assert!(invalid.service().unwrap().is_validation());

    // Cancel.
    let cancellation =
        CancelInvoice::new(Nif::parse(ISSUER).unwrap(), number("1"), Date::parse("15-01-2026").unwrap());
    let cancelled = client.cancel_invoice(&key("1"), &cancellation).await.unwrap();
    let job = client.wait_for_job(cancelled.job_id(), PATIENCE).await.unwrap();
    assert_eq!((job.kind, job.status), (JobType::CancelInvoice, JobStatus::Succeeded), "{job:?}");
    assert!(
        matches!(client.qr_svg(cancelled.job_id()).await, Err(Error::Service(error)) if error.is_not_found())
    );

    // One call for it all, and the end of the certificate.
    let job = client.send_and_wait(&key("4"), &invoice("4"), PATIENCE).await.unwrap();
    assert_eq!(job.status, JobStatus::Succeeded, "{job:?}");
    assert_eq!(client.remove_certificate().await.unwrap().waiting_jobs, 0);
    assert!(!client.certificate().await.unwrap().has_certificate);

    world.server.stop().await;
    world.sandbox.stop().await;
}

fn qr_text_of(png: &[u8]) -> String {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut pixels).unwrap();
    let (width, height) = (frame.width as usize, frame.height as usize);
    let dark = |x: usize, y: usize| pixels[y * frame.line_size + x / 8] >> (7 - x % 8) & 1 == 0;
    let mut image = PreparedImage::prepare_from_bitmap(width, height, dark);
    image.detect_grids()[0].decode().unwrap().1
}
