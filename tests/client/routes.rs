//! Every method of the client against the service itself.

use std::{collections::BTreeSet, path::Path};

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use verifactu_client::{
    Client, Error, IdempotencyKey, Operator, Partner, Submitted,
    api::{
        BatchOutcome, CancelInvoice, ChangeChildTenant, ChangeTenant, CheckNif, CreateApiKey,
        CreateChildApiKey, CreateChildTenant, CreateTenant, ExportFilter, ExportedRecord, FoundState,
        IssuerFilter, Job, JobFilter, JobStatus, LookupFilter, OperatorJobFilter, PauseIssuer, RecordFilter,
        RecordState, RecordType, Scope, TenantStatus, WebhookPatch,
    },
    blocking,
    types::{Date, Nif, Secret, TenantId},
};

use crate::{
    scripted::invoice,
    service::{ISSUER, PATIENCE, World, key, number},
};

const CHILD_NIF: &str = "B65410011";
const OWN: &[Scope] = &[
    Scope::InvoicesWrite,
    Scope::InvoicesRead,
    Scope::NifRead,
    Scope::CertificatesRead,
    Scope::CertificatesWrite,
];
const PARTNER: &[Scope] = &[Scope::PartnerRead, Scope::PartnerWrite];
const PERSON_NIF: &str = "12345678Z";

fn tenant(id: &str) -> CreateTenant {
    CreateTenant { name: Some(id.to_owned()), ..CreateTenant::new(TenantId::parse(id).unwrap()) }
}

fn code(error: Error) -> String {
    error.service().unwrap().document.code.clone()
}

/// A client with a new key of an account.
async fn client(world: &World, operator: &Operator, tenant: &TenantId, scopes: &[Scope]) -> Client {
    let wanted = CreateApiKey::new(tenant.clone(), scopes.to_vec());
    let made = operator.create_api_key(&wanted).await.unwrap();
    Client::builder(&world.address()).api_key(made.key).build().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_method_reaches_its_route() {
    let world = World::start().await;
    let operator = world.admin().operator();
    let id = operator.create_tenant(&tenant("erp")).await.unwrap().tenant_id;
    let partner = client(&world, &operator, &id, PARTNER).await;
    let client = client(&world, &operator, &id, OWN).await;
    client.upload_certificate(&world.pkcs12(), &Secret::new("test".into())).await.unwrap();
    let job = invoices(&client).await;
    account(&client, &job).await;
    authority(&client).await;
    administration(&operator, &id, &job).await;
    partners(&world, &partner.partner(), &id).await;

    // The back end of a web application, which has the operator's key and no other.
    let user = TenantId::parse("7").unwrap();
    let account = operator.web_account(&user).await.unwrap();
    assert_eq!(operator.web_account(&user).await.unwrap(), account);
    let acting = world.admin().acting_as(&account.tenant_id);
    assert_eq!(acting.me().await.unwrap().tenant_id, account.tenant_id);
    assert!(world.admin().declaration().await.unwrap_err().service().unwrap().is_not_found());
    world.server.stop().await;
    world.sandbox.stop().await;
}

/// Sends a batch, and looks at what became of it; gives one of its jobs.
async fn invoices(client: &Client) -> Job {
    assert_eq!(client.preview(&invoice("1")).await.unwrap().huella_anterior, None);
    let nif = Nif::parse(ISSUER).unwrap();
    let cancellation = CancelInvoice::new(nif, number("3"), Date::parse("15-01-2026").unwrap());
    let items = vec![
        key("1").send(invoice("1")),
        key("2").send(invoice("2")),
        key("1").send(invoice("1")),
        key("1").send(invoice("9")),
        key("3").send(invoice("3")),
        key("3").cancel(cancellation.clone()),
    ];
    let taken = client.send_batch(items).await.unwrap();
    assert_eq!((taken.accepted, taken.rejected), (5, 1));
    let jobs: Vec<_> = taken
        .items
        .iter()
        .filter_map(|item| match &item.outcome {
            BatchOutcome::Job { job_id, .. } => Some(*job_id),
            BatchOutcome::Refused { error } => {
                assert_eq!((item.index, error.code.as_str()), (3, "idempotency_conflict"));
                None
            }
        })
        .collect();
    assert_eq!(jobs[0], jobs[2], "the same key and body");
    for id in &jobs {
        let job = client.wait_for_job(*id, PATIENCE).await.unwrap();
        assert_eq!(job.status, JobStatus::Succeeded, "{job:?}");
    }
    let counts = client.batch(taken.batch_id).await.unwrap().counts;
    assert_eq!((counts.succeeded, counts.rejected), (5, 1));
    let body = serde_json::to_string(&cancellation).unwrap();
    assert!(client.cancel_invoice_json(&key("3"), &body).await.unwrap().replayed);

    // Lists: in pages, and row by row over the pages.
    let all = client.jobs(&JobFilter::default());
    let page = all.clone().limit(3).page().await.unwrap();
    assert_eq!((page.rows.len(), page.total), (3, Some(4)));
    let rest = all.clone().limit(3).page_after(&page.next.unwrap()).await.unwrap();
    assert_eq!((rest.rows.len(), rest.next), (1, None));
    let rows: Vec<Job> = all.limit(1).rows().try_collect().await.unwrap();
    assert_eq!(rows.len(), 4);
    let wanted = JobFilter {
        status: Some(JobStatus::Succeeded),
        num_serie: Some(number("2")),
        from: Some(Date::parse("01-01-2020").unwrap().into()),
        ..JobFilter::default()
    };
    let found = client.jobs(&wanted).page().await.unwrap().rows;
    assert_eq!(found.iter().map(|job| job.num_serie.as_str()).collect::<Vec<_>>(), ["2"]);

    let job = found.into_iter().next().unwrap();
    assert_eq!(client.job(job.job_id).await.unwrap(), job);
    assert!(client.service_time().await.unwrap().is_some());
    let attempts = client.job_attempts(job.job_id).await.unwrap();
    assert_eq!(attempts.len(), 1);
    assert!(String::from_utf8(client.job_xml(job.job_id).await.unwrap()).unwrap().contains("RegistroAlta"));
    let answer = String::from_utf8(client.job_answer_xml(job.job_id).await.unwrap()).unwrap();
    assert!(answer.contains("Correcto"), "{answer}");
    job
}

async fn account(client: &Client, job: &Job) {
    let me = client.me().await.unwrap();
    assert_eq!((me.tenant_id.as_str(), me.scopes.len()), ("erp", OWN.len()));
    assert_eq!(client.plan().await.unwrap().usage.invoices, 3);
    let used = &client.usage(2).await.unwrap()[0];
    assert_eq!((used.invoices, used.cancellations), (3, 1));
    let stated = &client.ledger(2).await.unwrap()[0];
    assert_eq!((stated.nif.as_str(), stated.altas, stated.anulaciones), (ISSUER, 3, 1));
    let chains = client.chains().await.unwrap().chains;
    assert_eq!((chains.len(), chains[0].length), (1, 4));
    let verified = client.verify_chain(chains[0].id).await.unwrap();
    assert!(verified.valid && verified.checked == 4);

    let wanted = RecordFilter {
        tipo: Some(RecordType::Anulacion),
        estado: Some(RecordState::Correcto),
        ..RecordFilter::default()
    };
    let cancelled = client.invoice_records(&wanted).page().await.unwrap().rows;
    assert_eq!((cancelled.len(), cancelled[0].posicion), (1, 4));
    let record = client.invoice_record(job.record_id).await.unwrap();
    assert_eq!(record.job_id, job.job_id);
    assert!(client.record_qr_svg(record.id).await.unwrap().starts_with("<svg"));
    assert!(client.record_qr_png(record.id).await.unwrap().starts_with(b"\x89PNG"));
    assert_eq!(client.record_qr_text(record.id).await.unwrap(), client.qr_text(job.job_id).await.unwrap());
    let xml = client.record_xml(record.id).await.unwrap();
    assert_eq!(xml, client.job_xml(job.job_id).await.unwrap());

    let all = ExportFilter::default();
    let exported: Vec<ExportedRecord> = client.export(&all).await.unwrap().try_collect().await.unwrap();
    assert_eq!(exported.iter().map(|record| record.posicion).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(exported[1].xml.as_bytes(), xml);
    let pieces: Vec<Bytes> = client.export_xml(&all).await.unwrap().try_collect().await.unwrap();
    assert!(String::from_utf8(pieces.concat()).unwrap().trim_end().ends_with("</Registros>"));
    let late = ExportFilter { from: Some(Date::parse("01-01-2090").unwrap().into()), to: None };
    assert_eq!(client.export(&late).await.unwrap().count().await, 0);
}

async fn authority(client: &Client) {
    let nif = Nif::parse(ISSUER).unwrap();
    let one = LookupFilter::invoice(nif, number("2"), Date::parse("15-01-2026").unwrap());
    let found = client.lookup(&one).page().await.unwrap().rows;
    assert_eq!((found.len(), found[0].estado), (1, FoundState::Correcto), "{found:?}");
    let month = LookupFilter::month(nif, 2026, 1);
    let held: Vec<_> = client.lookup(&month).rows().try_collect().await.unwrap();
    assert_eq!(held.iter().filter(|found| found.estado == FoundState::Anulado).count(), 1, "{held:?}");
    let own: Vec<_> = client.lookup(&one.in_ledger()).rows().try_collect().await.unwrap();
    assert!(own.len() == 1 && own[0].csv.is_some(), "{own:?}");

    let person =
        |name: &str| CheckNif { nif: Nif::parse(PERSON_NIF).unwrap(), nombre: Some(name.to_owned()) };
    assert!(client.verify_nif(&person("EBRO GARCIA ANA")).await.unwrap().identificado);
    let missing = CheckNif { nif: Nif::parse("11111111H").unwrap(), nombre: Some("NADIE".to_owned()) };
    let checked = client.verify_nifs(vec![person("EBRO GARCIA ANA"), missing]).await.unwrap();
    assert_eq!(checked.iter().map(|one| one.identificado).collect::<Vec<_>>(), [true, false]);
}

async fn administration(operator: &Operator, id: &TenantId, job: &Job) {
    operator.create_tenant(&tenant("other")).await.unwrap();
    let tenants: Vec<_> = operator.tenants().limit(1).rows().try_collect().await.unwrap();
    assert_eq!(tenants.iter().map(|tenant| tenant.tenant_id.as_str()).collect::<Vec<_>>(), ["erp", "other"]);
    let change = ChangeTenant {
        name: Some(None),
        issuer_name: Some(Some("Emisor SL".to_owned())),
        ..ChangeTenant::default()
    };
    let changed = operator.change_tenant(id, &change).await.unwrap();
    assert_eq!((&changed.name, changed.issuer_name.as_deref()), (&None, Some("Emisor SL")));
    assert_eq!(operator.tenant(id).await.unwrap(), changed);

    let wanted =
        CreateApiKey { name: Some("lost".to_owned()), ..CreateApiKey::new(id.clone(), vec![Scope::NifRead]) };
    let lost = operator.create_api_key(&wanted).await.unwrap().id;
    assert!(operator.revoke_api_key(lost).await.unwrap().revoked_at.is_some());
    let keys: Vec<_> = operator.api_keys(Some(id)).rows().try_collect().await.unwrap();
    assert_eq!(keys.len(), 3);

    let request = operator
        .jobs(&OperatorJobFilter { tenant_id: Some(id.clone()), ..OperatorJobFilter::default() })
        .page()
        .await
        .unwrap()
        .rows;
    let accepted = request.iter().find(|found| found.job.job_id == job.job_id).unwrap().accepted_request_id;
    let by_request = OperatorJobFilter { request_id: Some(accepted), ..OperatorJobFilter::default() };
    assert_eq!(operator.jobs(&by_request).rows().count().await, 4, "the jobs of one batch");
    let messages = operator.job_messages(job.job_id).await.unwrap();
    assert!(messages.messages[0].answer.as_deref().unwrap().contains("Correcto"));
    assert_eq!(code(operator.retry_job(job.job_id).await.unwrap_err()), "job_not_retryable");
    assert_eq!(operator.expiring_certificates(36_500).await.unwrap().certificates.len(), 1);
    let events = operator.events().limit(200).page().await.unwrap().rows;
    assert!(events.iter().any(|event| event.action == "api_key.revoke"));

    let nif = Nif::parse(ISSUER).unwrap();
    let reason = PauseIssuer { reason: Some("looked into".to_owned()) };
    let paused = operator.pause_issuer(id, nif, &reason).await.unwrap().issuers;
    assert!(paused[0].held.is_some());
    let held = IssuerFilter { held: Some(true), ..IssuerFilter::default() };
    assert_eq!(operator.issuers(&held).rows().count().await, 1);
    assert!(operator.resume_issuer(id, nif).await.unwrap().issuers[0].held.is_none());

    assert!(!operator.webhook(id).await.unwrap().enabled);
    let webhook = WebhookPatch {
        url: Some(Some("https://203.0.113.1/hook".to_owned())),
        secret: Some(Secret::new("whsec".into())),
        enabled: Some(false),
    };
    let refused = operator.set_webhook(id, &webhook).await.unwrap_err();
    assert!(refused.service().unwrap().is_validation(), "an address for documentation");
    let webhook = WebhookPatch { url: Some(Some("https://hook.invalid/".to_owned())), ..webhook };
    assert!(operator.set_webhook(id, &webhook).await.unwrap().has_secret);
    assert_eq!(operator.ping_webhook(id).await.unwrap().delivered, Some(false));
    assert_eq!(operator.webhook_deliveries(id).rows().count().await, 1);
}

async fn partners(world: &World, partner: &Partner, parent: &TenantId) {
    let wanted = CreateChildTenant {
        id: Some(TenantId::parse("ana").unwrap()),
        name: "Ana".to_owned(),
        allowed_nif: Nif::parse(CHILD_NIF).unwrap(),
    };
    let child = partner.create_tenant(&wanted).await.unwrap();
    assert_eq!(child.parent_tenant_id.as_ref(), Some(parent));
    let id = child.tenant_id.clone();
    assert_eq!(partner.tenant(&id).await.unwrap(), child);
    let absent = partner.tenant(&TenantId::parse("other").unwrap()).await.unwrap_err();
    assert!(absent.service().unwrap().is_not_found());
    let suspended = ChangeChildTenant { name: None, status: Some(TenantStatus::Suspended) };
    assert_eq!(partner.change_tenant(&id, &suspended).await.unwrap().status, TenantStatus::Suspended);
    let active = ChangeChildTenant { name: None, status: Some(TenantStatus::Active) };
    partner.change_tenant(&id, &active).await.unwrap();
    assert_eq!(partner.tenants().rows().count().await, 1);

    let key = CreateChildApiKey::new(vec![Scope::InvoicesRead]);
    let key = partner.create_api_key(&id, &key).await.unwrap();
    assert_eq!(partner.api_keys(&id).rows().count().await, 1);
    let revoked = partner.revoke_api_key(&id, key.id).await.unwrap();
    assert!(revoked.revoked_at.is_some());

    let passphrase = Secret::new("test".into());
    let foreign = partner.upload_certificate(&id, &world.pkcs12(), &passphrase).await;
    assert_eq!(code(foreign.unwrap_err()), "cert_nif_mismatch");
    let own = world.pkcs12_of(CHILD_NIF);
    assert!(partner.upload_certificate(&id, &own, &passphrase).await.unwrap().has_certificate);
    assert!(partner.certificate(&id).await.unwrap().has_certificate);
    assert_eq!(partner.remove_certificate(&id).await.unwrap().waiting_jobs, 0);

    assert_eq!(partner.jobs(&id, &JobFilter::default()).rows().count().await, 0);
    assert_eq!(partner.invoice_records(&id, &RecordFilter::default()).rows().count().await, 0);
    assert!(partner.chains(&id).await.unwrap().chains.is_empty());
    assert!(partner.usage(&id, 1).await.unwrap().iter().all(|month| month.invoices == 0));
}

#[test]
fn the_client_that_waits_does_what_the_other_does() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let world = runtime.block_on(World::start());
    let (id, inner) = runtime.block_on(async {
        let operator = world.admin().operator();
        let id = operator.create_tenant(&tenant("erp")).await.unwrap().tenant_id;
        let client = client(&world, &operator, &id, OWN).await;
        (id, client)
    });
    let waiting = blocking::Client::new(inner).unwrap();
    let status = waiting.upload_certificate(&world.pkcs12(), &Secret::new("test".into())).unwrap();
    assert!(status.has_certificate);
    let job = waiting.send_and_wait(&IdempotencyKey::random(), &invoice("1"), PATIENCE).unwrap();
    assert_eq!(job.status, JobStatus::Succeeded, "{job:?}");
    let jobs: Result<Vec<Job>, Error> = waiting.jobs(&JobFilter::default()).limit(1).rows().collect();
    assert_eq!(jobs.unwrap(), [job]);
    assert_eq!(waiting.export(&ExportFilter::default()).unwrap().count(), 1);
    let admin = blocking::Client::new(world.admin()).unwrap();
    assert_eq!(admin.operator().tenant(&id).unwrap().tenant_id, id);
    // Within a runtime it waits too, and can be dropped there.
    let submitted: Submitted =
        runtime.block_on(async move { waiting.send_invoice(&key("2"), &invoice("2")) }).unwrap();
    assert!(!submitted.replayed);
    runtime.block_on(world.server.stop());
    runtime.block_on(world.sandbox.stop());
}

/// The names of the methods that reach the service.
fn methods() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("verifactu-client/src");
    let mut names = BTreeSet::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let own = path.file_stem().is_some_and(|stem| stem == "list" || stem == "blocking");
        if path.is_dir() || own {
            continue;
        }
        let text = std::fs::read_to_string(path).unwrap();
        for (start, _) in text.match_indices("    pub ") {
            let rest = &text[start + 8..];
            let head = rest.split('{').next().unwrap_or_default();
            let asynchronous = head.strip_prefix("async fn ");
            let list = head.strip_prefix("fn ").filter(|head| head.contains("-> List<"));
            if let Some(head) = asynchronous.or(list) {
                names.insert(head.split('(').next().unwrap_or_default().to_owned());
            }
        }
    }
    assert!(names.len() > 40, "{names:?}");
    names
}

#[test]
fn no_method_is_left_out() {
    let tests: String =
        [include_str!("routes.rs"), include_str!("service.rs"), include_str!("waits.rs")].concat();
    let blocking = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let blocking = std::fs::read_to_string(blocking.join("verifactu-client/src/blocking.rs")).unwrap();
    let untried: Vec<_> =
        methods().into_iter().filter(|name| !tests.contains(&format!(".{name}("))).collect();
    assert!(untried.is_empty(), "no test calls {untried:?}");
    let missing: Vec<_> =
        methods().into_iter().filter(|name| !blocking.contains(&format!(" {name}("))).collect();
    assert!(missing.is_empty(), "the client that waits lacks {missing:?}");
}
