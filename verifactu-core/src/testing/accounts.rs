//! The suite that defines an [`Accounts`] store.

use std::sync::Arc;

use jiff::{Timestamp, ToSpan};
use uuid::Uuid;

use crate::{
    certificate::Purpose,
    ledger::{
        Accounts, ApiKey, ApiKeyId, AuditEntry, Batch, BatchItem, Caller, Listing, Page, SealedCertificate,
        Start, Tenant, TenantStatus, Webhook,
    },
    types::{BatchId, Date, JobId, Nif, RequestId, TenantId, Text},
    xml::envelope::SpanishParty,
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
            a5_an_account_can_be_changed
            a6_accounts_are_listed_in_order
            a7_keys_are_listed_and_revoked
            a8_certificates_that_end_are_found
            a9_a_sealed_value_is_replaced_if_it_is_known
            a10_an_account_is_changed_from_what_is_known
            a11_changes_at_once_all_stay
            a12_callers_at_once_are_told_apart
            a20_a_batch_is_kept_for_its_time
            a21_requests_add_up
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
        representative: Some(SpanishParty {
            name: Text::parse("Gestoría Ruiz").unwrap(),
            nif: Nif::parse("B12345674").unwrap(),
        }),
        verifactu_end: Date::parse("31-12-2026").ok(),
        status: TenantStatus::Suspended,
        created_at: noon(),
    }
}

fn key(number: u8, tenant: &Tenant, public: &str) -> ApiKey {
    ApiKey {
        id: ApiKeyId(Uuid::from_u128(number.into())),
        tenant: tenant.id.clone(),
        name: "till".to_owned(),
        public: public.to_owned(),
        hash: [number; 32],
        scopes: ["invoices:write", "invoices:read"].map(str::to_owned).into(),
        created_at: noon(),
        expires_at: Some(noon() + 24.hours()),
        revoked_at: None,
        sealed: Some(b"sealed".to_vec()),
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
        representative: None,
        verifactu_end: None,
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

/// A2. A key is found by its public part, with its hash, its scopes and what is sealed of it, its account
/// and the end of that account's certificate; a public part is given once.
pub async fn a2_a_key_is_found_by_its_public_part(accounts: Arc<dyn Accounts>) {
    let acme = tenant("acme");
    accounts.create_tenant(&acme).await.unwrap();
    accounts.create_tenant(&tenant("other")).await.unwrap();
    let key = key(1, &acme, "abcdef");
    accounts.create_key(&key).await.unwrap();
    let twin = ApiKey { id: ApiKeyId(Uuid::from_u128(2)), hash: [8; 32], ..key.clone() };
    accounts.create_key(&twin).await.unwrap_err();
    let mut caller = Caller { key, tenant: acme, certificate_until: None };
    assert_eq!(accounts.caller("abcdef").await.unwrap(), Some(caller.clone()));
    for (tenant, hours) in [("other", 1), ("acme", 2)] {
        let certificate = SealedCertificate {
            tenant: TenantId::parse(tenant).unwrap(),
            sealed: b"sealed".to_vec(),
            not_after: noon() + hours.hours(),
            uploaded_at: noon(),
        };
        accounts.put_certificate(&certificate).await.unwrap();
    }
    caller.certificate_until = Some(noon() + 2.hours());
    assert_eq!(accounts.caller("abcdef").await.unwrap(), Some(caller));
    assert_eq!(accounts.caller("abcde").await.unwrap(), None);
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

/// A4. The audit log takes every line, equal ones too, and links each to the one before. It is read from
/// its end.
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
    let last = AuditEntry { request: None, ..entry.clone() };
    accounts.audit(&last).await.unwrap();

    let page = async |start, limit| accounts.audit_lines(Page { start, limit }).await.unwrap();
    let Listing { items: lines, more, total } = page(Start::Skip(0), 10).await;
    assert_eq!((more, total), (false, Some(3)));
    assert_eq!(lines.iter().map(|line| line.position).collect::<Vec<_>>(), [3, 2, 1]);
    let mut hash = [0; 32];
    for (line, wanted) in lines.iter().rev().zip([&entry, &entry, &last]) {
        hash = wanted.hash_behind(&hash);
        assert_eq!((&line.entry, line.hash), (wanted, hash));
    }
    for (start, wanted, more) in [
        (Start::After(3), 1..2, true),
        (Start::After(2), 2..3, false),
        (Start::After(1), 0..0, false),
        (Start::Skip(1), 1..2, true),
        (Start::Skip(3), 0..0, false),
    ] {
        let wanted = Listing { items: lines[wanted].to_vec(), more, total: Some(3) };
        assert_eq!(page(start, 1).await, wanted, "{start:?}");
    }
}

/// A5. An account can be changed, all but its identifier, its parent and the time of its creation; one
/// that does not exist cannot.
pub async fn a5_an_account_can_be_changed(accounts: Arc<dyn Accounts>) {
    let first = tenant("acme");
    assert!(!accounts.update_tenant(&first, &first).await.unwrap());
    assert_eq!(accounts.tenant(&first.id).await.unwrap(), None);
    accounts.create_tenant(&first).await.unwrap();
    let changed = Tenant {
        name: None,
        issuer_name: Text::parse("Emisor SL").ok(),
        allowed_nif: None,
        plan: None,
        own_system: false,
        representative: None,
        verifactu_end: None,
        status: TenantStatus::SuspendedByPartner,
        ..first.clone()
    };
    let moved = Tenant {
        id: TenantId::parse("other").unwrap(),
        parent: None,
        created_at: noon() + 1.hour(),
        ..changed.clone()
    };
    assert!(accounts.update_tenant(&first, &moved).await.unwrap());
    assert_eq!(accounts.tenant(&first.id).await.unwrap().as_ref(), Some(&changed));
    assert_eq!(accounts.tenant(&moved.id).await.unwrap(), None);
    assert!(accounts.update_tenant(&changed, &first).await.unwrap());
    assert_eq!(accounts.tenant(&first.id).await.unwrap(), Some(first));
}

/// A6. Accounts are listed in the order of their identifiers, those of a parent apart; a page tells how many
/// there are in all, and whether more follow.
pub async fn a6_accounts_are_listed_in_order(accounts: Arc<dyn Accounts>) {
    let orphan = Tenant { parent: None, ..tenant("b") };
    for created in [&tenant("c"), &orphan, &tenant("a"), &tenant("d")] {
        accounts.create_tenant(created).await.unwrap();
    }
    let (firm, nobody) = (TenantId::parse("firm").unwrap(), TenantId::parse("nobody").unwrap());
    let after = |id: &str| Start::After(TenantId::parse(id).unwrap());
    let begin = || Start::Skip(0);
    for (parent, start, limit, wanted, more, total) in [
        (None, begin(), 10, "abcd", false, 4),
        (None, begin(), 4, "abcd", false, 4),
        (None, begin(), 2, "ab", true, 4),
        (None, after("b"), 10, "cd", false, 4),
        (None, after("bb"), 1, "c", true, 4),
        (None, Start::Skip(1), 2, "bc", true, 4),
        (None, Start::Skip(4), 2, "", false, 4),
        (Some(&firm), begin(), 10, "acd", false, 3),
        (Some(&firm), after("a"), 1, "c", true, 3),
        (Some(&firm), Start::Skip(2), 9, "d", false, 3),
        (Some(&nobody), begin(), 10, "", false, 0),
    ] {
        let what = format!("{start:?}");
        let page = accounts.tenants(parent, Page { start, limit }).await.unwrap();
        let found = page.items.iter().map(|tenant| tenant.id.to_string()).collect::<String>();
        assert_eq!((&*found, page.more, page.total), (wanted, more, Some(total)), "{what}");
    }
}

/// A7. Keys are listed in the order of their identifiers, those of an account apart. A key is revoked
/// once, and through another account not at all.
pub async fn a7_keys_are_listed_and_revoked(accounts: Arc<dyn Accounts>) {
    let acme = TenantId::parse("acme").unwrap();
    let other = TenantId::parse("other").unwrap();
    let key = |id: u128, tenant: &TenantId| ApiKey {
        id: ApiKeyId(Uuid::from_u128(id)),
        tenant: tenant.clone(),
        name: String::new(),
        public: id.to_string(),
        hash: [0; 32],
        scopes: ["invoices:read".to_owned()].into(),
        created_at: noon(),
        expires_at: None,
        revoked_at: None,
        sealed: None,
    };
    let keys = [key(1, &acme), key(2, &other), key(3, &acme)];
    for key in keys.iter().rev() {
        accounts.create_key(key).await.unwrap();
    }
    let [first, second, third] = &keys;
    for (tenant, start, limit, wanted, more, total) in [
        (None, Start::Skip(0), 10, vec![first, second, third], false, 3),
        (None, Start::After(first.id), 1, vec![second], true, 3),
        (None, Start::Skip(1), 1, vec![second], true, 3),
        (Some(&acme), Start::After(first.id), 10, vec![third], false, 2),
        (Some(&acme), Start::Skip(1), 10, vec![third], false, 2),
        (Some(&other), Start::Skip(0), 1, vec![second], false, 1),
    ] {
        let page = accounts.keys(tenant, Page { start, limit }).await.unwrap();
        let wanted = Listing { items: wanted.into_iter().cloned().collect(), more, total: Some(total) };
        assert_eq!(page, wanted, "{tenant:?} {start:?}");
    }

    let revoke =
        async |tenant: Option<&TenantId>, at| accounts.revoke_key(tenant, keys[0].id, at).await.unwrap();
    assert_eq!(revoke(Some(&other), noon()).await, None);
    assert_eq!(accounts.keys(Some(&acme), Page::behind(None, 1)).await.unwrap().items[0].revoked_at, None);
    assert_eq!(revoke(Some(&acme), noon()).await.unwrap().revoked_at, Some(noon()));
    assert_eq!(revoke(None, noon() + 1.hour()).await.unwrap().revoked_at, Some(noon()));
    assert_eq!(
        accounts.keys(Some(&acme), Page::behind(None, 1)).await.unwrap().items[0].revoked_at,
        Some(noon())
    );
    assert_eq!(accounts.revoke_key(None, ApiKeyId(Uuid::nil()), noon()).await.unwrap(), None);
}

/// A8. Certificates that end before a time are found, the first to end first.
pub async fn a8_certificates_that_end_are_found(accounts: Arc<dyn Accounts>) {
    let certificate = |tenant: &str, hours: i64| SealedCertificate {
        tenant: TenantId::parse(tenant).unwrap(),
        sealed: b"sealed".to_vec(),
        not_after: noon() + hours.hours(),
        uploaded_at: noon(),
    };
    let (late, early, last) = (certificate("a", 2), certificate("b", 1), certificate("c", 3));
    for stored in [&late, &early, &last] {
        accounts.put_certificate(stored).await.unwrap();
    }
    let ending = accounts.expiring_certificates(last.not_after, 10).await.unwrap();
    assert_eq!(ending, [early.clone(), late]);
    assert_eq!(accounts.expiring_certificates(last.not_after, 1).await.unwrap(), [early]);
}

/// A9. A sealed value is replaced only while it is the one that is known, and nothing beside it changes.
pub async fn a9_a_sealed_value_is_replaced_if_it_is_known(accounts: Arc<dyn Accounts>) {
    let acme = TenantId::parse("acme").unwrap();
    let sealed = |text: &str| text.as_bytes().to_vec();
    let certificate = SealedCertificate {
        tenant: acme.clone(),
        sealed: sealed("old"),
        not_after: noon() + 48.hours(),
        uploaded_at: noon(),
    };
    let webhook = Webhook {
        tenant: acme.clone(),
        url: "https://example.com/hook".to_owned(),
        secret: sealed("old"),
        enabled: false,
        updated_at: noon(),
    };
    let reseal = async |purpose, known: &str, new: &str| {
        accounts.reseal(&acme, purpose, known.as_bytes(), new.as_bytes()).await.unwrap()
    };
    for purpose in [Purpose::Identity, Purpose::WebhookSecret, Purpose::ApiKey] {
        assert!(!reseal(purpose, "old", "new").await, "there is none yet");
    }
    accounts.put_certificate(&certificate).await.unwrap();
    accounts.put_webhook(None, &webhook).await.unwrap();
    assert!(reseal(Purpose::Identity, "old", "new").await);
    assert!(!reseal(Purpose::Identity, "old", "newer").await);
    let moved = SealedCertificate { sealed: sealed("new"), ..certificate };
    assert_eq!(accounts.certificate(&acme).await.unwrap(), Some(moved));
    assert_eq!(accounts.webhook(&acme).await.unwrap().as_ref(), Some(&webhook), "another purpose");
    assert!(reseal(Purpose::WebhookSecret, "old", "new").await);
    assert!(!reseal(Purpose::WebhookSecret, "old", "newer").await);
    let moved = Webhook { secret: sealed("new"), ..webhook };
    assert_eq!(accounts.webhook(&acme).await.unwrap(), Some(moved));
    let key = |sealed: Option<Vec<u8>>, public: &str| ApiKey {
        id: ApiKeyId(Uuid::from_u128(public.len() as u128)),
        tenant: acme.clone(),
        name: String::new(),
        public: public.to_owned(),
        hash: [9; 32],
        scopes: [].into(),
        created_at: noon(),
        expires_at: None,
        revoked_at: None,
        sealed,
    };
    accounts.create_key(&key(None, "plain")).await.unwrap();
    accounts.create_key(&key(Some(sealed("old")), "sealed")).await.unwrap();
    assert!(reseal(Purpose::ApiKey, "old", "new").await);
    assert!(!reseal(Purpose::ApiKey, "old", "newer").await);
    let keys = [key(None, "plain"), key(Some(sealed("new")), "sealed")];
    assert_eq!(accounts.keys(Some(&acme), Page::behind(None, 2)).await.unwrap().items, keys);
}

/// A10. An account is changed only while it is what the caller knows, in every part.
pub async fn a10_an_account_is_changed_from_what_is_known(accounts: Arc<dyn Accounts>) {
    let first = tenant("acme");
    accounts.create_tenant(&first).await.unwrap();
    let same = || first.clone();
    let party = first.representative.clone().unwrap();
    let others = [
        Tenant { name: None, ..same() },
        Tenant { issuer_name: Text::parse("Emisor SL").ok(), ..same() },
        Tenant { allowed_nif: None, ..same() },
        Tenant { plan: Some("pro".to_owned()), ..same() },
        Tenant { own_system: false, ..same() },
        Tenant { representative: None, ..same() },
        Tenant {
            representative: Some(SpanishParty { nif: Nif::parse("12345678Z").unwrap(), ..party }),
            ..same()
        },
        Tenant { verifactu_end: None, ..same() },
        Tenant { status: TenantStatus::Active, ..same() },
    ];
    let aim = Tenant { name: Text::parse("Otra").ok(), ..same() };
    for other in &others {
        assert!(!accounts.update_tenant(other, &aim).await.unwrap(), "{other:?} is not known");
        assert_eq!(accounts.tenant(&first.id).await.unwrap().as_ref(), Some(&first));
        assert!(accounts.update_tenant(&first, other).await.unwrap());
        assert!(accounts.update_tenant(other, &first).await.unwrap());
    }
}

/// A11. Of changes at the same time each starts from what the one before left, so that all stay.
pub async fn a11_changes_at_once_all_stay(accounts: Arc<dyn Accounts>) {
    const LETTERS: &str = "abcdefgh";
    let first = Tenant { plan: None, ..tenant("acme") };
    accounts.create_tenant(&first).await.unwrap();
    let mut changes = tokio::task::JoinSet::new();
    for letter in LETTERS.chars() {
        let (accounts, id) = (accounts.clone(), first.id.clone());
        changes.spawn(async move {
            loop {
                let known = accounts.tenant(&id).await.unwrap().unwrap();
                let plan = format!("{}{letter}", known.plan.as_deref().unwrap_or_default());
                let changed = Tenant { plan: Some(plan), ..known.clone() };
                if accounts.update_tenant(&known, &changed).await.unwrap() {
                    break;
                }
            }
        });
    }
    changes.join_all().await;
    let plan = accounts.tenant(&first.id).await.unwrap().unwrap().plan.unwrap();
    let mut letters: Vec<char> = plan.chars().collect();
    letters.sort_unstable();
    assert_eq!(letters.iter().collect::<String>(), LETTERS);
}

/// A12. Of callers at the same time each is told its own key and account, and one without is told that.
pub async fn a12_callers_at_once_are_told_apart(accounts: Arc<dyn Accounts>) {
    const KEYS: u8 = 8;
    let mut known = Vec::new();
    for number in 0..KEYS {
        let tenant = tenant(&format!("account-{number}"));
        let key = key(number, &tenant, &format!("key-{number}"));
        accounts.create_tenant(&tenant).await.unwrap();
        accounts.create_key(&key).await.unwrap();
        known.push(Caller { key, tenant, certificate_until: None });
    }
    let known = Arc::new(known);
    let mut callers = tokio::task::JoinSet::new();
    for number in 0..200 {
        let (accounts, known, number) = (accounts.clone(), known.clone(), number % usize::from(KEYS + 1));
        callers.spawn(async move {
            let found = accounts.caller(&format!("key-{number}")).await.unwrap();
            assert_eq!(found.as_ref(), known.get(number));
        });
    }
    callers.join_all().await;
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

/// A21. Requests add up by account and month.
pub async fn a21_requests_add_up(accounts: Arc<dyn Accounts>) {
    let tenant = |id: &str| TenantId::parse(id).unwrap();
    let count = |id: &str, month: &str, count: u64| (tenant(id), month.to_owned(), count);
    let first = [count("acme", "2026-07", 2), count("acme", "2026-06", 1), count("other", "2026-07", 5)];
    accounts.count_requests(&first).await.unwrap();
    accounts.count_requests(&[count("acme", "2026-07", 3)]).await.unwrap();
    let months = |rows: &[(&str, u64)]| -> Vec<(String, u64)> {
        rows.iter().map(|(month, count)| ((*month).to_owned(), *count)).collect()
    };
    let all = accounts.requests(&tenant("acme"), "2026-01").await.unwrap();
    assert_eq!(all, months(&[("2026-06", 1), ("2026-07", 5)]));
    assert_eq!(accounts.requests(&tenant("acme"), "2026-07").await.unwrap(), months(&[("2026-07", 5)]));
    assert_eq!(accounts.requests(&tenant("third"), "2026-01").await.unwrap(), []);
}
