//! A service with its sandbox, an account with its key, and the tool set up for them.

use std::{net::Ipv4Addr, path::Path, process::Command};

use harness::{
    programs::{program, said},
    records,
};
use serde_json::Value;
use verifactu_client::{
    Client,
    api::{CreateApiKey, CreateTenant, Scope},
    types::{Environment, Secret, TenantId},
};
use verifactu_server::{
    Running, Server,
    config::{Config, Rates},
    sandbox::{Holder, RunningSandbox, SandboxConfig, Settings},
};

pub(crate) const ISSUER: &str = "B12345674";
pub(crate) const PASSPHRASE: &str = "secreto";

pub(crate) struct Place {
    pub(crate) sandbox: RunningSandbox,
    pub(crate) server: Running,
    pub(crate) data: tempfile::TempDir,
    pub(crate) key: Secret,
}

impl Place {
    pub(crate) async fn start() -> Self {
        Self::with_rates(Rates::default()).await
    }

    pub(crate) async fn with_rates(rates: Rates) -> Self {
        let data = tempfile::tempdir().unwrap();
        let settings = Settings { wait_seconds: Some(1), ..Settings::default() };
        let sandbox = SandboxConfig::default().settings(settings).start().await.unwrap();
        let ca = data.path().join("ca.pem");
        std::fs::write(&ca, sandbox.pki().ca_pem()).unwrap();
        let mut config = Config::new(Environment::Sandbox, data.path().join("service"), records::system());
        config.listen = (Ipv4Addr::LOCALHOST, 0).into();
        config.authority.url = Some(sandbox.url());
        config.authority.ca = Some(ca);
        config.rates = rates;
        let server = Server::start(config).await.unwrap();
        let address = format!("http://{}", server.address());
        let admin = Client::builder(&address).admin_key(server.admin_key().clone()).build().unwrap();
        let operator = admin.operator();
        let tenant = CreateTenant {
            issuer_name: Some("Emisor SL".to_owned()),
            ..CreateTenant::new(TenantId::parse("erp").unwrap())
        };
        operator.create_tenant(&tenant).await.unwrap();
        let scopes = vec![
            Scope::InvoicesWrite,
            Scope::InvoicesRead,
            Scope::NifRead,
            Scope::CertificatesRead,
            Scope::CertificatesWrite,
        ];
        let wanted = CreateApiKey::new(tenant.id, scopes);
        let key = operator.create_api_key(&wanted).await.unwrap().key;
        let holder = Holder::representative("12345678Z", "EBRO GARCIA ANA", ISSUER, "Emisor SL");
        let file = sandbox.pki().issue(&holder.with_passphrase(PASSPHRASE)).unwrap().pkcs12().unwrap();
        std::fs::write(data.path().join("issuer.p12"), &*file).unwrap();
        Self { sandbox, server, data, key }
    }

    pub(crate) fn tool(&self) -> Command {
        let mut command = tool(self.data.path());
        command
            .env("VERIFACTU_URL", format!("http://{}/v1", self.server.address()))
            .env("VERIFACTU_KEY", self.key.expose());
        command
    }

    pub(crate) async fn stop(self) {
        self.server.stop().await;
        self.sandbox.stop().await;
    }
}

/// The tool in a folder, with no settings but those given.
pub(crate) fn tool(folder: &Path) -> Command {
    let mut command = Command::new(program("verifactu"));
    command.env_clear().current_dir(folder).arg("--json");
    command
}

/// Runs to the end; the exit code and the JSON that was printed.
pub(crate) async fn run(mut command: Command, arguments: &[&str]) -> (i32, Value) {
    command.args(arguments);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let printed = if output.stdout.is_empty() { &output.stderr } else { &output.stdout };
    let json = serde_json::from_slice(printed).unwrap_or_else(|_| panic!("{}", said(&output)));
    (output.status.code().unwrap_or(-1), json)
}

pub(crate) fn invoice(number: &str) -> Value {
    serde_json::json!({
        "nif": ISSUER, "nombre": "Emisor SL", "numSerie": number, "fecha": "15-01-2026", "tipoFactura": "F2",
        "descripcion": "Ticket",
        "desglose": [{"clave": "01", "calif": "S1", "base": "10", "tipo": "21", "cuota": "2.1"}]
    })
}
