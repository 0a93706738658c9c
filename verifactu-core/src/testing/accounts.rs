//! The suite that defines an [`Accounts`] store.

use std::sync::Arc;

use jiff::{Timestamp, ToSpan};
use uuid::Uuid;

use crate::{
    ledger::{
        Accounts, ApiKey, ApiKeyId, AuditEntry, Batch, BatchItem, SealedCertificate, Tenant, TenantStatus,
    },
    types::{BatchId, JobId, Nif, RequestId, TenantId, Text},
};

/// Runs the accounts suite; the expression makes `(Arc<dyn Accounts>, guard)`.
#[macro_export]
macro_rules! accounts_suite {
    ($open:expr) => {
        $crate::conformance_cases!($open, accounts {
            a1_an_account_is_created_once
            a2_a_key_is_found_by_its_public_part
            a3_an_account_has_one_certificate
            a4_the_audit_log_takes_every_line
            a20_a_batch_is_kept_for_its_time
        });
    };
}

fn noon() -> Timestamp {
    "2026-07-01T12:00:00.123456Z".parse().unwrap()
}

fn tenant(id: &str) -> Tenant {
    Tenant {
        id: TenantId::parse(id).unwrap(),
        name: Text::parse("Asesoría Núñez").ok(),
        issuer_name: None,
        allowed_nif: Nif::parse("12345678Z").ok(),
        parent: TenantId::parse("firm").ok(),
        plan: Some("basic".to_owned()),
        own_system: true,
        status: TenantStatus::Suspended,
        created_at: noon(),
    }
}

/// A1. An account is created once and read as it was; a second one of its name changes nothing.
pub async fn a1_an_account_is_created_once(accounts: Arc<dyn Accounts>) {
    let first = tenant("acme");
    let plain = Tenant {
        name: None,
        allowed_nif: None,
        parent: None,
        plan: None,
        own_system: false,
        status: TenantStatus::Active,
        ..tenant("plain")
    };
    assert!(accounts.create_tenant(&first).await.unwrap());
    assert!(accounts.create_tenant(&plain).await.unwrap());
    assert!(!accounts.create_tenant(&Tenant { plan: None, ..first.clone() }).await.unwrap());
    assert_eq!(accounts.tenant(&first.id).await.unwrap(), Some(first));
    assert_eq!(accounts.tenant(&plain.id).await.unwrap(), Some(plain));
    assert_eq!(accounts.tenant(&TenantId::parse("nobody").unwrap()).await.unwrap(), None);
}

/// A2. A key is found by its public part, with its hash and scopes; a public part is given once.
pub async fn a2_a_key_is_found_by_its_public_part(accounts: Arc<dyn Accounts>) {
    let key = ApiKey {
        id: ApiKeyId(Uuid::from_u128(1)),
        tenant: TenantId::parse("acme").unwrap(),
        name: "till".to_owned(),
        public: "abcdef".to_owned(),
        hash: [9; 32],
        scopes: ["invoices:write", "invoices:read"].map(str::to_owned).into(),
        created_at: noon(),
        expires_at: Some(noon() + 24.hours()),
        revoked_at: None,
    };
    accounts.create_key(&key).await.unwrap();
    let twin = ApiKey { id: ApiKeyId(Uuid::from_u128(2)), hash: [8; 32], ..key.clone() };
    accounts.create_key(&twin).await.unwrap_err();
    assert_eq!(accounts.key("abcdef").await.unwrap(), Some(key));
    assert_eq!(accounts.key("abcde").await.unwrap(), None);
}

/// A3. An account has at most one certificate: a new one takes the place of the old.
pub async fn a3_an_account_has_one_certificate(accounts: Arc<dyn Accounts>) {
    let certificate = |tenant: &str, sealed: &[u8]| SealedCertificate {
        tenant: TenantId::parse(tenant).unwrap(),
        sealed: sealed.to_vec(),
        not_after: noon() + 48.hours(),
        uploaded_at: noon(),
    };
    let (old, new, other) =
        (certificate("acme", b"old"), certificate("acme", b"new"), certificate("other", b"other"));
    for stored in [&old, &new, &other] {
        accounts.put_certificate(stored).await.unwrap();
    }
    assert_eq!(accounts.certificate(&new.tenant).await.unwrap().as_ref(), Some(&new));
    assert!(accounts.delete_certificate(&new.tenant).await.unwrap());
    assert!(!accounts.delete_certificate(&new.tenant).await.unwrap());
    assert_eq!(accounts.certificate(&new.tenant).await.unwrap(), None);
    assert_eq!(accounts.certificate(&other.tenant).await.unwrap(), Some(other));
}

/// A4. The audit log takes every line, equal ones too.
pub async fn a4_the_audit_log_takes_every_line(accounts: Arc<dyn Accounts>) {
    let entry = AuditEntry {
        at: noon(),
        actor: "admin".to_owned(),
        action: "job.retry".to_owned(),
        subject: "1".to_owned(),
        request: Some(RequestId(Uuid::from_u128(3))),
    };
    accounts.audit(&entry).await.unwrap();
    accounts.audit(&entry).await.unwrap();
    accounts.audit(&AuditEntry { request: None, ..entry }).await.unwrap();
}

/// A20. A batch is read as it was by its own account, until a later one says that it has expired.
pub async fn a20_a_batch_is_kept_for_its_time(accounts: Arc<dyn Accounts>) {
    let batch = |number: u128, created_at: Timestamp| Batch {
        id: BatchId(Uuid::from_u128(number)),
        tenant: TenantId::parse("acme").unwrap(),
        created_at,
        items: vec![
            BatchItem::Accepted(JobId(Uuid::from_u128(7))),
            BatchItem::Refused("{\"code\":\"invalid\"}".to_owned()),
        ],
    };
    let (first, second) = (batch(1, noon()), batch(2, noon() + 1.hour()));
    accounts.put_batch(&first, noon()).await.unwrap();
    assert_eq!(accounts.batch(&first.tenant, first.id).await.unwrap(), Some(first.clone()));
    let stranger = TenantId::parse("other").unwrap();
    assert_eq!(accounts.batch(&stranger, first.id).await.unwrap(), None);
    accounts.put_batch(&second, noon() + 1.second()).await.unwrap();
    assert_eq!(accounts.batch(&first.tenant, first.id).await.unwrap(), None);
    assert_eq!(accounts.batch(&first.tenant, second.id).await.unwrap(), Some(second));
}
