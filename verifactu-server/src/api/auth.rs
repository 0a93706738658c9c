//! Who calls: the key of an account, or that of the operator (specification, Authentication).

use http::{HeaderMap, HeaderName, header::AUTHORIZATION};
use jiff::Timestamp;
use verifactu_core::{
    api::Scope,
    ledger::{ApiKey, Caller, Tenant, TenantStatus},
    types::TenantId,
};

use crate::accounts::{KeyText, Origin};

use super::{Service, error::Fault};

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const ADMIN_KEY: HeaderName = HeaderName::from_static("x-admin-key");
/// The web account that the operator's key acts for.
pub(crate) const ACT_AS: HeaderName = HeaderName::from_static("x-act-as");

/// The account that a request is about, with the key it came with.
pub(crate) struct Account {
    pub(super) tenant: Tenant,
    pub(super) key: ApiKey,
    /// End of validity of the account's certificate, if it has one.
    pub(super) certificate_until: Option<Timestamp>,
    /// The partner whose key it is, when it acts for a child account.
    pub(super) partner: Option<Tenant>,
}

impl Account {
    /// Whether the key may do what a route needs.
    pub(super) fn may(&self, scope: Option<Scope>) -> Result<(), Fault> {
        match scope {
            Some(scope) if !self.key.scopes.contains(scope.as_str()) => Err(Fault::Scope(scope)),
            _ => Ok(()),
        }
    }

    /// Who calls.
    pub(super) fn caller(&self) -> &Tenant {
        self.partner.as_ref().unwrap_or(&self.tenant)
    }

    /// Suspended accounts only read, and a partner does not write for them either.
    pub(super) fn may_write(&self) -> Result<(), Fault> {
        active(self.caller())?;
        active(&self.tenant)
    }
}

/// That an account is not suspended.
pub(super) fn active(tenant: &Tenant) -> Result<(), Fault> {
    match tenant.status {
        TenantStatus::Active => Ok(()),
        TenantStatus::Suspended | TenantStatus::SuspendedByPartner => Err(Fault::Suspended),
    }
}

impl Service {
    /// The account whose key the request carries, or that the operator acts for.
    pub(super) async fn account(&self, headers: &HeaderMap, origin: Origin) -> Result<Account, Fault> {
        if headers.contains_key(ACT_AS) {
            self.operator(headers, origin)?;
            let None = sent_key(headers)? else { return Err(Fault::AuthAmbiguous) };
            let key = self.acted_for(headers).await?;
            return self.prove(&key).await;
        }
        let key = sent_key(headers).and_then(|key| key.ok_or(Fault::KeyMissing("x-api-key")));
        let proved = match key.map(|key| KeyText::parse(&key)) {
            Ok(Some(key)) => self.prove(&key).await,
            Ok(None) => Err(Fault::KeyInvalid),
            Err(fault) => Err(fault),
        };
        proved.map_err(|fault| self.count(fault, origin))
    }

    /// That the request carries the operator's key.
    pub(super) fn operator(&self, headers: &HeaderMap, origin: Origin) -> Result<(), Fault> {
        let key = headers.get(ADMIN_KEY).ok_or(Fault::KeyMissing("x-admin-key"))?;
        if let Some(wait) = self.strangers.locked(origin, self.clock.now()) {
            return Err(Fault::RateLimited(wait));
        }
        let right = key.to_str().is_ok_and(|key| self.keys.pepper.same(key, &self.keys.admin));
        if right { Ok(()) } else { Err(self.count(Fault::KeyInvalid, origin)) }
    }

    /// Whether the head of a request carries what may be a key. Nothing is looked up or counted.
    pub(crate) fn may_be_known(&self, headers: &HeaderMap) -> bool {
        let operator = headers.get(ADMIN_KEY).and_then(|key| key.to_str().ok());
        operator.is_some_and(|key| self.keys.pepper.same(key, &self.keys.admin))
            || sent_key(headers).is_ok_and(|key| key.is_some_and(|key| KeyText::parse(&key).is_some()))
    }

    /// A wrong key is told as such until there have been too many.
    fn count(&self, fault: Fault, origin: Origin) -> Fault {
        let Fault::KeyInvalid = fault else { return fault };
        self.strangers.wrong(origin, self.clock.now()).map_or(fault, Fault::RateLimited)
    }

    /// The account of a key that is known and may still be used.
    async fn prove(&self, text: &KeyText) -> Result<Account, Fault> {
        let found = self.accounts.caller(text.public()).await?;
        // An unknown key costs the same comparison as a known one.
        let proved = self.keys.pepper.proves(text, &found.as_ref().map_or([0; 32], |known| known.key.hash));
        let Caller { key, tenant, certificate_until } = found.filter(|_| proved).ok_or(Fault::KeyInvalid)?;
        if key.revoked_at.is_some() {
            return Err(Fault::KeyRevoked);
        }
        if key.expires_at.is_some_and(|end| end <= self.clock.now()) {
            return Err(Fault::KeyExpired);
        }
        Ok(Account { tenant, key, certificate_until, partner: None })
    }

    /// The partner's child that a path names, for the partner to act for. The child of another is as
    /// absent as one that does not exist.
    pub(super) async fn child(&self, partner: Account, id: &str) -> Result<Account, Fault> {
        const ABSENT: Fault = Fault::NotFound("account");
        let id = TenantId::parse(id).map_err(|_| ABSENT)?;
        let tenant = self.accounts.tenant(&id).await?;
        let tenant = tenant.filter(|tenant| tenant.parent.as_ref() == Some(&partner.tenant.id));
        let tenant = tenant.ok_or(ABSENT)?;
        let certificate_until = self.accounts.certificate(&id).await?.map(|known| known.not_after);
        Ok(Account { tenant, key: partner.key, certificate_until, partner: Some(partner.tenant) })
    }
}

/// The one key that the two headers name, if they name any.
fn sent_key(headers: &HeaderMap) -> Result<Option<String>, Fault> {
    let mut keys = Vec::new();
    for value in headers.get_all(API_KEY) {
        keys.push(value.to_str().map_err(|_| Fault::KeyInvalid)?.trim());
    }
    for value in headers.get_all(AUTHORIZATION) {
        let value = value.to_str().map_err(|_| Fault::KeyInvalid)?;
        if let Some((scheme, key)) = value.split_once(' ')
            && scheme.eq_ignore_ascii_case("bearer")
        {
            keys.push(key.trim());
        }
    }
    keys.retain(|key| !key.is_empty());
    keys.dedup();
    match keys.as_slice() {
        [] => Ok(None),
        [key] => Ok(Some((*key).to_owned())),
        _ => Err(Fault::AuthAmbiguous),
    }
}
