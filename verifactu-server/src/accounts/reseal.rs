//! Moves what is sealed to the vault key that seals now, so that an older key can be taken out of the
//! settings. A value that somebody replaces meanwhile is left to them.

use verifactu_core::{
    certificate::{Purpose, Vault},
    ledger::{Accounts, LedgerError, Page},
    types::TenantId,
};

/// Accounts, or keys of one, that are read at a time.
const PAGE: u32 = 200;

/// What a pass over all accounts found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing that an older key sealed.
    Nothing,
    /// Something, which was moved; or did not open, as the log says.
    Older,
}

/// Seals anew whatever an older key sealed, and says in the log what does not open.
pub(crate) async fn reseal(accounts: &dyn Accounts, vault: &Vault) -> Result<Found, LedgerError> {
    let (mut moved, mut found) = (0_u64, Found::Nothing);
    let mut after = None;
    loop {
        let page = accounts.tenants(None, Page::behind(after, PAGE)).await?.items;
        for tenant in &page {
            for (purpose, known) in sealed(accounts, &tenant.id).await? {
                if vault.is_current(&known) {
                    continue;
                }
                found = Found::Older;
                let opened = vault.open(&tenant.id, purpose, &known);
                match opened.and_then(|secret| vault.seal(&tenant.id, purpose, secret.expose())) {
                    Ok(new) => moved += u64::from(accounts.reseal(&tenant.id, purpose, &known, &new).await?),
                    Err(error) => {
                        tracing::error!(%error, tenant = %tenant.id, ?purpose, "a sealed value does not open");
                    }
                }
            }
        }
        match page.into_iter().next_back() {
            Some(last) => after = Some(last.id),
            None => break,
        }
    }
    if moved > 0 {
        tracing::info!(moved, "sealed anew with the newer vault key");
    }
    Ok(found)
}

/// The sealed values of an account.
async fn sealed(accounts: &dyn Accounts, tenant: &TenantId) -> Result<Vec<(Purpose, Vec<u8>)>, LedgerError> {
    let certificate = accounts.certificate(tenant).await?.map(|found| (Purpose::Identity, found.sealed));
    let webhook = accounts.webhook(tenant).await?.map(|found| (Purpose::WebhookSecret, found.secret));
    let mut all: Vec<_> = certificate.into_iter().chain(webhook).collect();
    let mut after = None;
    loop {
        let keys = accounts.keys(Some(tenant), Page::behind(after, PAGE)).await?.items;
        let Some(last) = keys.last() else { return Ok(all) };
        after = Some(last.id);
        all.extend(keys.into_iter().filter_map(|key| Some((Purpose::ApiKey, key.sealed?))));
    }
}
