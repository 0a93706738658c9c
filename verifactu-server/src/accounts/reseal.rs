//! Moves what is sealed to the newest key of the vault, so that an older key can be taken out of the
//! settings. A value that somebody replaces meanwhile is left to them.

use verifactu_core::{
    certificate::{Purpose, Vault},
    ledger::{Accounts, LedgerError, Page},
    types::TenantId,
};

/// Accounts that are read at a time.
const PAGE: u32 = 200;
/// Most keys of an account among which sealed ones are looked for.
const MOST_KEYS: u32 = 1000;

/// Seals anew whatever is not sealed with the newest key, and says in the log what does not open.
pub(crate) async fn reseal(accounts: &dyn Accounts, vault: &Vault) -> Result<(), LedgerError> {
    let (mut moved, mut stuck) = (0_u64, 0_u64);
    let mut after = None;
    loop {
        let page = accounts.tenants(None, Page::behind(after, PAGE)).await?.items;
        for tenant in &page {
            for (purpose, known) in sealed(accounts, &tenant.id).await? {
                if vault.is_current(&known) {
                    continue;
                }
                let opened = vault.open(&tenant.id, purpose, &known);
                match opened.and_then(|secret| vault.seal(&tenant.id, purpose, secret.expose())) {
                    Ok(new) => moved += u64::from(accounts.reseal(&tenant.id, purpose, &known, &new).await?),
                    Err(error) => {
                        stuck += 1;
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
    if moved > 0 && stuck == 0 {
        tracing::info!(moved, "all is sealed with the newest vault key; older ones can be removed");
    }
    Ok(())
}

/// The sealed values of an account.
async fn sealed(accounts: &dyn Accounts, tenant: &TenantId) -> Result<Vec<(Purpose, Vec<u8>)>, LedgerError> {
    let certificate = accounts.certificate(tenant).await?.map(|found| (Purpose::Identity, found.sealed));
    let webhook = accounts.webhook(tenant).await?.map(|found| (Purpose::WebhookSecret, found.secret));
    let keys = accounts.keys(Some(tenant), Page::behind(None, MOST_KEYS)).await?;
    let keys = keys.items.into_iter().filter_map(|key| Some((Purpose::ApiKey, key.sealed?)));
    Ok(certificate.into_iter().chain(webhook).chain(keys).collect())
}
