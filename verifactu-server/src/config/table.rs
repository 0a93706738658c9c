//! Every setting of the service, by name.
//!
//! A name such as `data-dir` is the flag `--data-dir`, the variable `VERIFACTU_DATA_DIR` and the key
//! `data_dir` of the settings file; a table of the file is the beginning of a name, so that
//! `[retry] waits` is `retry-waits`.

/// A setting.
pub(super) struct Setting {
    pub(super) name: &'static str,
    file_name: &'static str,
    /// What the value is, for the help.
    pub(super) value: &'static str,
    pub(super) help: &'static str,
    pub(super) kind: Kind,
}

/// How a setting may be given.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    /// Also from the file that `<name>-file` names.
    Secret,
    /// Also under this variable (specification, Authentication).
    Alias(&'static str),
    /// Both.
    SecretAlias(&'static str),
}

impl Setting {
    /// Name of the setting for a file that holds the value, if the value is a secret.
    pub(super) const fn file_name(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Secret | Kind::SecretAlias(_) => Some(self.file_name),
            Kind::Plain | Kind::Alias(_) => None,
        }
    }

    /// What holds where nothing is set, as the help says.
    pub(super) fn default(&self) -> Option<String> {
        let (_, default) = self.help.strip_suffix(']')?.rsplit_once('[')?;
        Some(default.to_owned())
    }

    pub(super) const fn alias(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Alias(name) | Kind::SecretAlias(name) => Some(name),
            Kind::Plain | Kind::Secret => None,
        }
    }
}

macro_rules! settings {
    ($($name:literal, $value:literal, $kind:expr, $help:literal;)+) => {
        pub(super) const SETTINGS: &[Setting] =
            &[$(Setting { name: $name, file_name: concat!($name, "-file"), value: $value, help: $help, kind: $kind }),+];
    };
}

use Kind::{Alias, Plain, Secret, SecretAlias};

settings! {
    "data-dir", "DIR", Plain, "Directory of the ledger and of generated secrets";
    "environment", "NAME", Plain, "sandbox, preproduction or production";
    "listen", "ADDRESS", Plain, "Address to listen on; port 0 takes a free one [127.0.0.1:8080]";
    "tls-cert", "FILE", Plain, "Certificate chain of the service itself (PEM)";
    "tls-key", "FILE", Plain, "Private key of that certificate (PEM)";
    "role", "NAME", Plain, "all; api takes requests and sends nothing; worker sends and takes no requests [all]";
    "workers", "NUMBER", Plain, "Chains that are dispatched side by side [4]";
    "stop-delay", "TIME", Plain, "How long the service says that it is not ready before a stop begins [0s]";
    "stop-within", "TIME", Plain, "How long a stop may take [30s]";
    "keep", "TIME", Plain, "How long messages, attempts and deliveries are kept; records are kept for good [2160h]";
    "metrics", "WHO", Plain, "Who may read /metrics: open for anyone, admin for the operator, or off [open]";
    "log-format", "FORMAT", Plain, "json or text [json]";
    "log-level", "LEVEL", Plain, "error, warn, info, debug or trace [info]";

    "admin-key", "KEY", SecretAlias("ADMIN_KEY"), "Key of the operator; generated if absent";
    "key-pepper", "TEXT", Secret, "Keys the hashes of API keys; generated if absent";
    "vault-key", "KEYS", Secret, "Keys that seal certificates, as number:base64 of 32 bytes, comma between; generated if absent";
    "vault-seal-with", "NUMBER", Plain, "Number of the vault key that seals [the highest]";

    "ledger", "ADDRESS", Secret, "embedded, or the ledger that several processes share: postgres:// with user and password in it [embedded]";
    "ledger-ca", "FILE", Plain, "The only root certificates to trust at the ledger (PEM)";
    "ledger-connections", "NUMBER", Plain, "Most connections of this process to the ledger [10]";

    "queue", "ADDRESS", Secret, "memory, or the queue that several processes share: redis:// or rediss://, with user and password in it [memory]";
    "queue-ca", "FILE", Plain, "The only root certificates to trust at the queue (PEM)";
    "queue-name", "NAME", Plain, "Tells the queue from others at that address [the environment]";

    "authority-url", "URL", Plain, "Address of the authority, https://host:port; required in the sandbox";
    "authority-ca", "FILE", Plain, "The only root certificates to trust at the authority (PEM)";
    "nif-check-url", "URL", Plain, "Address of the check of NIFs, if it is another one";
    "authority-connect", "TIME", Plain, "Limit of connecting to the authority [10s]";
    "authority-exchange", "TIME", Plain, "Limit of a whole exchange with the authority [60s]";
    "authority-answer", "SIZE", Plain, "Largest answer of the authority [16 MiB]";
    "qr-url", "URL", Plain, "Where the sandbox's QR check page is [the authority's address]";

    "signature", "KIND", Plain, "xades or none [xades]";
    "signature-ec", "BOOLEAN", Plain, "Let elliptic-curve keys sign [false]";
    "require-tenant-certificate", "BOOLEAN", Alias("REQUIRE_TENANT_CERTIFICATE"), "Refuse invoices of accounts without a certificate [true; false in the sandbox]";
    "development-identity", "FILE", Plain, "PKCS#12 file for accounts without a certificate, in the sandbox only";
    "development-passphrase", "TEXT", Secret, "Passphrase of that file";

    "system-name", "TEXT", Plain, "Name of the computer system that records carry";
    "system-id", "TEXT", Plain, "Its two characters";
    "system-version", "TEXT", Plain, "Its version [that of this program]";
    "system-producer-name", "TEXT", Plain, "Name of its producer";
    "system-producer-nif", "NIF", Plain, "Tax number of its producer";
    "system-verifactu-only", "BOOLEAN", Plain, "Whether it can work in VERI*FACTU mode only [true]";

    "declaration-address", "TEXT", Plain, "Postal address of the producer, for its declaration; required in production";
    "declaration-date", "DATE", Plain, "When the producer signed it; required in production";
    "declaration-place", "TEXT", Plain, "Where: town and country; required in production";
    "declaration-components", "TEXT", Plain, "Hardware and software of the system and what it does [this service]";

    "retry-waits", "TIMES", Plain, "Waits before each retry, comma between [30s,2m,10m,30m,2h,6h,12h,24h]";
    "retry-transient-cap", "TIME", Plain, "Longest wait while the authority errs [1h]";
    "retry-doubt-interval", "TIME", Plain, "How often a doubt is looked into once the attempts are used up [1h]";
    "retry-jitter-percent", "NUMBER", Plain, "How far waits are spread [20]";
    "retry-count-unreachable", "BOOLEAN", Plain, "Whether an authority out of reach burns an attempt [false]";
    "initial-wait", "TIME", Plain, "Wait between messages until the authority names one [60s]";
    "late-after", "TIME", Plain, "Age from which a record counts as delayed by an incident [150s]";
    "max-records", "NUMBER", Plain, "Most records of a message [1000]";
    "lease", "TIME", Plain, "How long a worker keeps a chain without a sign of life [60s]";
    "sweep-every", "TIME", Plain, "How often the queue is rebuilt from the ledger [30s]";
    "validation-demote", "RULES", Plain, "Rules whose findings are only warnings, comma between";

    "webhook-loopback", "BOOLEAN", Plain, "Let webhooks go to this computer, also over HTTP; for development [false]";
    "billing", "BOOLEAN", Plain, "Whether the limits of plans hold [false]";
    "plans", "PLANS", Plain, "New invoices of a month by plan [free=50,pro=5000,enterprise=50000]";

    "rates", "BOOLEAN", Plain, "Whether the rates hold [true]";
    "rate-writes", "RATE", Plain, "Invoices and cancellations of an account, per minute/at once [600/100]";
    "rate-batches", "RATE", Plain, "Batches of an account, per minute [60]";
    "rate-job-reads", "RATE", Plain, "Questions of an account about jobs, per minute [1200]";
    "rate-reads", "RATE", Plain, "Other reads of an account, per minute [300]";
    "rate-authority", "RATE", Plain, "Requests of an account that ask the authority at once, per minute [60]";
    "rate-certificates", "RATE", Plain, "Changes of an account's certificate, per minute [10]";
    "rate-wrong-keys", "RATE", Plain, "Wrong keys from an address, per minute [20]";
    "web-account-prefix", "TEXT", Plain, "How identifiers of the web application's accounts begin [web-]";
    "trusted-proxies", "NETWORKS", Plain, "Proxies that are believed where a request comes from, comma between [none]";

    "limit-body", "SIZE", Plain, "Largest request body [256 KiB]";
    "limit-batch", "SIZE", Plain, "Largest body of a batch [8 MiB]";
    "limit-certificate", "SIZE", Plain, "Largest body of a certificate upload [128 KiB]";
    "limit-bodies", "SIZE", Plain, "Room for the bodies of all requests at a time [64 MiB]";
    "limit-headers", "SIZE", Plain, "Largest request line and headers together [16 KiB]";
    "limit-header-read", "TIME", Plain, "Limit of reading the headers [10s]";
    "limit-body-read", "TIME", Plain, "Limit of reading the body [30s]";
    "limit-write-stall", "TIME", Plain, "How long the writing of an answer may stand still [30s]";
    "limit-handshake", "TIME", Plain, "Limit of a TLS handshake [10s]";
    "limit-connections", "NUMBER", Plain, "Most connections at a time [4096]";
    "limit-children", "NUMBER", Plain, "Most child accounts of a partner [10000]";
    "limit-keys", "NUMBER", Plain, "Most keys of an account, revoked ones among them [1000]";
}
