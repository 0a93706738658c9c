//! Settings: where they come from, and what is said about wrong ones.

use std::{collections::HashMap, fs, time::Duration};

use verifactu_core::types::Environment;
use verifactu_server::config::{Config, ConfigError, Flags, QueueConfig, Role, SignatureMode};

/// Settings from flags and variables.
fn read(flags: &[(&str, &str)], variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let base = [("environment", "sandbox"), ("data-dir", "/tmp/x"), ("authority-url", "https://localhost:1")];
    let unset = |(name, _): &&(&str, &str)| !flags.iter().any(|(given, _)| given == name);
    let all: Vec<_> =
        base.iter().filter(unset).chain(flags).copied().filter(|(_, v)| !v.is_empty()).collect();
    let variables: HashMap<_, _> = variables.iter().copied().collect();
    Config::read(&Flags::new(all), &|name| variables.get(name).map(Into::into)).map(|(config, _)| config)
}

#[test]
fn flags_come_before_variables_and_these_before_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("settings.toml");
    fs::write(
        &file,
        "workers = 2\ninitial_wait = \"2s\"\n[retry]\nwaits = [\"1s\", \"2m\"]\njitter_percent = 0\n",
    )
    .unwrap();
    let file = file.to_str().unwrap();
    let variables = [("VERIFACTU_CONFIG", file), ("VERIFACTU_WORKERS", "3"), ("VERIFACTU_LATE_AFTER", "90s")];
    let config = read(&[("workers", "4")], &variables).unwrap();
    assert_eq!(config.workers, 4);
    assert_eq!(config.engine.late_after, Duration::from_secs(90));
    assert_eq!(config.engine.initial_wait, Duration::from_secs(2));
    assert_eq!(config.engine.retry.waits, [Duration::from_secs(1), Duration::from_secs(120)]);
    assert_eq!(config.engine.retry.max_attempts(), 3);
    assert_eq!(read(&[], &variables).unwrap().workers, 3);
    assert_eq!(read(&[], &variables[..1]).unwrap().workers, 2);
}

#[test]
fn secrets_come_from_files_too_and_show_nowhere() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("admin");
    fs::write(&file, "from the file\n").unwrap();
    let file = file.to_str().unwrap();
    let admin = |flags: &[(&str, &str)], variables: &[(&str, &str)]| {
        read(flags, variables).unwrap().secrets.admin_key.unwrap().expose().to_owned()
    };
    assert_eq!(admin(&[], &[("ADMIN_KEY", "plain")]), "plain");
    assert_eq!(admin(&[], &[("ADMIN_KEY_FILE", file)]), "from the file");
    assert_eq!(admin(&[], &[("VERIFACTU_ADMIN_KEY_FILE", file), ("ADMIN_KEY", "plain")]), "from the file");
    assert_eq!(admin(&[("admin-key-file", file)], &[("ADMIN_KEY", "plain")]), "from the file");

    let config = read(&[("admin-key", "hush"), ("key-pepper", "hush")], &[]).unwrap();
    assert!(!format!("{config:?}").contains("hush"));
    let config = read(&[("queue", "redis://user:hush@localhost"), ("role", "api")], &[]).unwrap();
    assert!(matches!(config.queue, QueueConfig::Redis { .. }) && config.role == Role::Api);
    assert!(!format!("{config:?}").contains("hush"));
    assert!(!format!("{:?}", Flags::new([("admin-key", "hush")])).contains("hush"));
    let error = read(&[("vault-key", "hush")], &[]).unwrap_err();
    assert!(error.to_string().starts_with("--vault-key: expected ") && !error.to_string().contains("hush"));
}

#[test]
fn each_wrong_setting_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (unknown, broken) = (path("unknown.toml", "[retry]\nwait = 1\n"), path("broken.toml", "workers ="));
    for (flags, variables, wanted) in [
        (vec![("environment", "")], vec![], "--environment is required and has no default"),
        (vec![("data-dir", "")], vec![], "--data-dir is required and has no default"),
        (vec![("authority-url", "")], vec![], "--authority-url is required in the sandbox"),
        (
            vec![("environment", "test")],
            vec![],
            "--environment: expected sandbox, preproduction or production",
        ),
        (
            vec![("environment", "production")],
            vec![],
            "--system-producer-name is required outside the sandbox",
        ),
        (vec![("listen", "8080")], vec![], "--listen: expected an address"),
        (vec![], vec![("VERIFACTU_LEASE", "60")], "VERIFACTU_LEASE: expected a time"),
        (
            vec![],
            vec![("REQUIRE_TENANT_CERTIFICATE", "maybe")],
            "REQUIRE_TENANT_CERTIFICATE: expected true or false",
        ),
        (vec![("limit-body", "1 TB")], vec![], "--limit-body: expected a number of bytes"),
        (vec![("max-records", "1001")], vec![], "--max-records: expected 1 to 1000"),
        (
            vec![("validation-demote", "1206,1260x")],
            vec![],
            "--validation-demote: expected rules that may be",
        ),
        (vec![("validation-demote", "1208")], vec![], "--validation-demote: expected rules that may be"),
        (vec![("queue", "http://x")], vec![], "--queue: expected memory, redis:// or rediss://"),
        (vec![("queue-name", "a{b}")], vec![], "--queue-name: expected 1 to 64 letters"),
        (vec![("role", "worker")], vec![], "--queue is required in the roles api and worker"),
        (vec![("tls-cert", "x")], vec![], "--tls-key is required beside --tls-cert"),
        (vec![("authority-url", "http://x")], vec![], "--authority-url: expected https://host:port"),
        (
            vec![("admin-key", "a"), ("admin-key-file", "b")],
            vec![],
            "--admin-key: give the value or the file",
        ),
        (vec![("admin-key-file", "/nonexistent")], vec![], "--admin-key-file: /nonexistent cannot be read"),
        (vec![], vec![("VERIFACTU_CONFIG", &*unknown)], "there is no setting retry-wait"),
        (vec![], vec![("VERIFACTU_CONFIG", &*broken)], "not TOML"),
    ] {
        let error = read(&flags, &variables).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error} / {wanted}");
    }
}

#[test]
fn certificates_are_required_everywhere_but_in_the_sandbox() {
    let system = [
        ("environment", "preproduction"),
        ("authority-url", ""),
        ("system-name", "ERP"),
        ("system-id", "77"),
        ("system-producer-name", "Productora SL"),
        ("system-producer-nif", "B12345674"),
    ];
    let config = read(&system, &[]).unwrap();
    assert_eq!(config.environment, Environment::Preproduction);
    assert!(config.certificates.required);
    assert_eq!(config.signature, SignatureMode::Xades);
    assert!(!read(&system, &[("REQUIRE_TENANT_CERTIFICATE", "false")]).unwrap().certificates.required);
    assert!(!read(&[], &[]).unwrap().certificates.required);
    let mut development = system.to_vec();
    development.push(("development-identity", "/tmp/x.p12"));
    let error = read(&development, &[]).unwrap_err().to_string();
    assert!(error.starts_with("--development-identity: expected nothing outside the sandbox"), "{error}");
}
