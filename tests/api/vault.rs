//! The vault's key is replaced while the service runs on: a new key seals, old ones open, and at a start
//! everything moves to the newest.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;
use verifactu_core::{
    certificate::{Purpose, Vault},
    ledger::{Accounts as _, ApiKey, ApiKeyId, Page},
    types::{SecretBytes, TenantId},
};
use verifactu_server::{Running, config::Config};

use crate::world::{SCOPES, World};

fn keys(numbers: &[u8]) -> impl FnOnce(&mut Config) {
    let keys = numbers.iter().map(|number| (*number, SecretBytes::new(vec![*number; 32]))).collect();
    move |config| {
        config.secrets.vault_keys = keys;
        config.webhook_loopback = true;
    }
}

/// Which keys seal what the account has. The number stands in the second octet.
async fn sealed_with(world: &World) -> [u8; 2] {
    let tenant = TenantId::parse("acme").unwrap();
    let certificate = world.accounts.certificate(&tenant).await.unwrap().unwrap();
    let webhook = world.accounts.webhook(&tenant).await.unwrap().unwrap();
    [certificate.sealed[1], webhook.secret[1]]
}

async fn moved(world: &World, number: u8) {
    let until = async {
        while sealed_with(world).await != [number; 2] {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), until).await.expect("all is sealed anew");
}

/// An account with something sealed for each purpose; its key.
async fn account(world: &World) -> String {
    let key = world.ready_account("acme").await;
    let webhook = json!({ "url": "http://127.0.0.1:1/", "secret": "whsec" });
    world.ask("PATCH", "/v1/admin/tenants/acme/webhook").admin().json(&webhook).await.expect(200);
    key
}

/// That a service opens both: the certificate is shown, and an event is signed as far as the connection.
async fn opens(world: &World, service: &Running, key: &str) {
    let at = service.address();
    let shown = world.ask_at(at, "GET", "/v1/me/certificate").key(key).send().await.expect(200);
    assert_eq!(shown["hasCertificate"], true);
    let ping = world.ask_at(at, "POST", "/v1/admin/tenants/acme/webhook/ping").admin().send().await;
    assert_eq!(ping.expect(200)["delivery"]["error"], "no connection");
}

#[tokio::test]
async fn a_new_key_takes_over_and_the_old_one_can_go() {
    let world = World::with(keys(&[1])).await;
    let key = account(&world).await;
    opens(&world, &world.running, &key).await;
    assert_eq!(sealed_with(&world).await, [1, 1]);

    let both = world.beside(keys(&[1, 7])).await;
    moved(&world, 7).await;
    opens(&world, &both, &key).await;
    both.stop().await;
    let newest = world.beside(keys(&[7])).await;
    opens(&world, &newest, &key).await;
    newest.stop().await;

    // Without the key that sealed them nothing opens, and nothing is lost.
    let wrong = world.beside(keys(&[8])).await;
    let shown = world.ask_at(wrong.address(), "GET", "/v1/me/certificate").key(&key).send().await;
    shown.fails(500, "internal_error");
    wrong.stop().await;
    assert_eq!(sealed_with(&world).await, [7, 7]);
    opens(&world, &world.beside(keys(&[7, 8])).await, &key).await;
}

/// Of several processes all have to open what one seals, so the new key is known to all before it seals.
#[tokio::test]
async fn a_new_key_seals_only_once_it_may() {
    let world = World::with(keys(&[1])).await;
    let key = account(&world).await;
    let first = world
        .beside(|config| {
            keys(&[1, 7])(config);
            config.secrets.vault_seal_with = Some(1);
        })
        .await;
    let body = world.sandbox_certificate();
    world.ask_at(first.address(), "POST", "/v1/me/certificate").key(&key).json(&body).await.expect(200);
    assert_eq!(sealed_with(&world).await, [1, 1]);
    opens(&world, &world.running, &key).await;
    let second = world.beside(keys(&[1, 7])).await;
    moved(&world, 7).await;
    opens(&world, &first, &key).await;
    second.stop().await;
}

/// However many keys an account has had.
#[tokio::test]
async fn the_last_key_of_many_is_sealed_anew_too() {
    let world = World::with(keys(&[1])).await;
    account(&world).await;
    let tenant = TenantId::parse("acme").unwrap();
    let vault = Vault::new([(1, SecretBytes::new(vec![1; 32]))]).unwrap();
    let mut key = ApiKey {
        id: ApiKeyId(Uuid::nil()),
        tenant: tenant.clone(),
        name: String::new(),
        public: String::new(),
        hash: [0; 32],
        scopes: std::collections::BTreeSet::new(),
        created_at: Timestamp::UNIX_EPOCH,
        expires_at: None,
        revoked_at: None,
        sealed: None,
    };
    for number in 1..=1200 {
        key.id = ApiKeyId(Uuid::from_u128(number));
        key.public = format!("{number}");
        world.accounts.create_key(&key).await.unwrap();
    }
    key.id = ApiKeyId(Uuid::max());
    key.public = "last".to_owned();
    key.sealed = Some(vault.seal(&tenant, Purpose::ApiKey, b"vf_last").unwrap());
    world.accounts.create_key(&key).await.unwrap();
    let both = world.beside(keys(&[1, 7])).await;
    let last = Page::behind(Some(ApiKeyId(Uuid::from_u128(u128::MAX - 1))), 1);
    let until = async {
        while world.accounts.keys(Some(&tenant), last).await.unwrap().items[0].sealed.as_ref().unwrap()[1]
            != 7
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), until).await.expect("it is sealed anew");
    both.stop().await;
}

/// A key that was generated is number 1, for as long as its file is there.
#[tokio::test]
async fn a_generated_key_gives_way_to_one_of_the_settings() {
    let world = World::with(|config| config.webhook_loopback = true).await;
    let key = account(&world).await;
    let file = world.directory.path().join("data/vault-key");
    let generated = std::fs::read_to_string(&file).unwrap();
    assert_eq!(generated.trim_end().len(), 44, "32 bytes in base64");
    let given = world.beside(keys(&[2])).await;
    moved(&world, 2).await;
    given.stop().await;
    std::fs::remove_file(&file).unwrap();
    let service = world.beside(keys(&[2])).await;
    opens(&world, &service, &key).await;
    assert!(!file.exists(), "no key is generated beside one that is given");
    world.ask("GET", "/v1/me").key(&world.key("acme", SCOPES).await).send().await.expect(200);
}
