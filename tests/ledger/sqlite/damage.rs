//! Files that are not what they should be are refused, and never taken for an empty ledger.

use std::fs;

use verifactu_core::{
    ledger::{
        Ledger, LedgerErrorKind,
        sqlite::{SqliteLedger, SqliteOptions},
    },
    testing::Scene,
    types::Environment,
};

use super::Place;

fn refusal(place: &Place, environment: Environment) -> LedgerErrorKind {
    SqliteLedger::open(place.path(), environment, &SqliteOptions::default()).unwrap_err().kind
}

#[tokio::test]
async fn a_ledger_belongs_to_one_environment() {
    let place = Place::new();
    drop(place.open());
    for other in [Environment::Preproduction, Environment::Production] {
        assert_eq!(refusal(&place, other), LedgerErrorKind::Incompatible);
    }
    place.open().probe().await.unwrap();
}

/// The ledger holds names and amounts, and its directory may be open to others.
#[cfg(unix)]
#[tokio::test]
async fn only_its_owner_may_read_a_ledger() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = Place::new();
    let directory = place.path().parent().unwrap().to_owned();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    let ledger = place.open();
    ledger.probe().await.unwrap();
    let mut names = Vec::new();
    for file in fs::read_dir(&directory).unwrap() {
        let file = file.unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", file.file_name());
        names.push(file.file_name().into_string().unwrap());
    }
    names.sort();
    assert_eq!(names, ["ledger.db", "ledger.db-lock", "ledger.db-shm", "ledger.db-wal"]);
    drop(ledger);
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let place = Place::new();
    drop(place.open());
    place.raw().pragma_update(None, "user_version", 9999).unwrap();
    assert_eq!(refusal(&place, Environment::Sandbox), LedgerErrorKind::Incompatible);
}

#[tokio::test]
async fn what_is_no_ledger_is_refused_and_left_alone() {
    let place = Place::new();
    place.raw().execute_batch("CREATE TABLE mine (x); INSERT INTO mine VALUES (1);").unwrap();
    let before = fs::read(place.path()).unwrap();
    assert_eq!(refusal(&place, Environment::Sandbox), LedgerErrorKind::Incompatible);
    assert_eq!(fs::read(place.path()).unwrap(), before);

    let garbage = Place::new();
    fs::write(garbage.path(), vec![b'x'; 9000]).unwrap();
    assert_eq!(refusal(&garbage, Environment::Sandbox), LedgerErrorKind::Corrupt);

    let nowhere = Place::new();
    let path = nowhere.path().join("no/such/folder");
    let error = SqliteLedger::open(path, Environment::Sandbox, &SqliteOptions::default()).unwrap_err();
    assert_eq!(error.kind, LedgerErrorKind::Unavailable);
}

#[tokio::test]
async fn one_process_writes_at_a_time() {
    let place = Place::new();
    let first = place.open();
    assert_eq!(refusal(&place, Environment::Sandbox), LedgerErrorKind::Unavailable);
    drop(first);
    place.open().probe().await.unwrap();
}

/// A head that is gone, altered or unreadable stops the chain; nothing is linked to it, and above all
/// no second first record.
#[tokio::test]
async fn a_damaged_head_stops_the_chain() {
    for damage in [
        "UPDATE chain SET last_huella = replace(last_huella, substr(last_huella, 1, 1), 'x') WHERE tenant = 'acme'",
        "UPDATE chain SET last_huella = NULL, length = 0 WHERE tenant = 'acme'",
        "UPDATE chain SET length = 2 WHERE tenant = 'acme'",
        "DROP TRIGGER record_kept; PRAGMA foreign_keys = OFF; DELETE FROM record WHERE tenant = 'acme'",
        "DROP TRIGGER record_kept; PRAGMA foreign_keys = OFF; DELETE FROM record WHERE position = 3",
        "DROP TRIGGER record_unchanged; UPDATE record SET date = '' WHERE position = 3",
        "DROP TRIGGER record_unchanged; UPDATE record SET generated_at = 'yesterday' WHERE position = 3",
        "DROP TRIGGER record_unchanged; UPDATE record SET huella = '' WHERE position = 3",
    ] {
        let place = Place::new();
        let ledger = place.open();
        let scene = Scene::new();
        scene.accept_many(&ledger, 3).await;
        scene.accept(&ledger, &scene.of("other").invoice("F-1")).await;
        let raw = place.raw();
        raw.execute_batch(damage).unwrap();
        let rows: i64 = raw.query_row("SELECT count(*) FROM record", [], |row| row.get(0)).unwrap();
        for _ in 0..2 {
            let error = ledger.append(scene.invoice("next").append()).await.unwrap_err();
            assert_eq!(error.kind, LedgerErrorKind::Corrupt, "{damage}");
        }
        let after: i64 = raw.query_row("SELECT count(*) FROM record", [], |row| row.get(0)).unwrap();
        assert_eq!(after, rows, "{damage}");
        // Other chains are not concerned.
        scene.accept(&ledger, &scene.of("other").invoice("F-2")).await;
    }
}

/// The file itself forbids a fork and a changed record, whoever writes.
#[tokio::test]
async fn the_file_forbids_forks_and_changes() {
    let place = Place::new();
    let ledger = place.open();
    Scene::new().accept_many(&ledger, 3).await;
    let raw = place.raw();
    let copy_of_2 = |id: &str, position: &str, previous: &str| {
        format!(
            "INSERT INTO record (id, chain, position, tenant, kind, issuer, number, date, issuer_name, huella, \
             previous, generated_at, xml) SELECT {id}, chain, {position}, tenant, kind, issuer, number, date, \
             issuer_name, huella, {previous}, generated_at, xml FROM record WHERE position = 2"
        )
    };
    for forbidden in [
        "UPDATE record SET total = 0".to_owned(),
        "DELETE FROM record WHERE position = 3".to_owned(),
        copy_of_2("x'00'", "3", "'another'"),
        copy_of_2("x'00'", "4", "previous"),
        copy_of_2("x'00'", "4", "NULL"),
        copy_of_2("id", "4", "'another'"),
    ] {
        let error = raw.execute_batch(&forbidden).unwrap_err();
        assert_eq!(
            error.sqlite_error_code(),
            Some(rusqlite::ErrorCode::ConstraintViolation),
            "{forbidden}: {error}"
        );
    }
}
