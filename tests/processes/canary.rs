//! Secrets are planted through every door, and looked for in everything that comes out: answers, the log at
//! its most verbose, the files of the ledger, and what a start that fails says.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    process::Command,
    time::Duration,
};

use base64::{
    Engine as _, engine::general_purpose::STANDARD as BASE64, engine::general_purpose::STANDARD_NO_PAD,
};
use harness::programs::{Process, endpoints, program, said};
use reqwest::Method;
use serde_json::{Value, json};
use verifactu_core::types::{Clock as _, Date};
use verifactu_server::{
    clock::SystemClock,
    sandbox::{Holder, RunningSandbox, SandboxConfig, Settings},
};

const ISSUER: &str = "B12345674";
/// An account that is called by its holder's tax identifier.
const PERSON: &str = "12345678Z";

const ADMIN: &str = "canary-of-the-operator's-key";
const PEPPER: &str = "canary-of-the-pepper";
const VAULT: &[u8; 32] = b"canary of the vault's key 123456";
const PASSPHRASE: &str = "canary of a pass+phrase/ñ&%";
const WEBHOOK: &str = "canary-of-the-webhook-secret";
const WRONG_ADMIN: &str = "canary-of-a-wrong-operator's-key";
const WRONG_PASSPHRASE: &str = "canary of a wrong passphrase";
/// Of the shape of a key, and nobody's.
const WRONG_KEY: &str = "vf_canarycanarycanarycanarycanarycanarycanarycanarycanaryca";
const QUEUE: &str = "canary-of-the-queue's-password";

/// A secret in every form that it could come out in.
struct Canary {
    name: String,
    forms: Vec<String>,
}

impl Canary {
    fn new(name: &str, secret: &[u8]) -> Self {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let mut forms = vec![visible(secret), hex(secret), hex(secret).to_uppercase()];
        forms.push(visible(&secret.iter().flat_map(|byte| [0, *byte]).collect::<Vec<_>>()));
        forms.push(secret.iter().map(u8::to_string).collect::<Vec<_>>().join(", "));
        for shift in 0..3 {
            let core = base64_core(secret, shift);
            forms.push(core.replace('+', "-").replace('/', "_"));
            forms.push(core);
        }
        for space in ["+", "%20"] {
            let escaped = percent(secret, space);
            forms.push(escaped.to_lowercase());
            forms.push(escaped);
        }
        if let Ok(text) = std::str::from_utf8(secret) {
            forms.extend(
                [text.escape_default(), text.escape_debug().to_string().escape_default()]
                    .map(|f| f.to_string()),
            );
            forms.push(visible(serde_json::to_string(text).unwrap().trim_matches('"').as_bytes()));
        }
        forms.sort();
        forms.dedup();
        Self { name: name.to_owned(), forms }
    }

    /// Of bytes: pieces from their inside, so that a part does not get out either.
    fn of_bytes(name: &str, bytes: &[u8]) -> Vec<Self> {
        [55, 70, 85].iter().map(|at| Self::new(name, &bytes[bytes.len() * at / 100..][..24])).collect()
    }

    fn is_in(&self, text: &str) -> bool {
        self.forms.iter().any(|form| text.contains(form))
    }
}

/// Each byte as the character of its number, so that bytes and texts are searched alike.
fn visible(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// The characters of base64 that these bytes alone determine, behind as many others.
fn base64_core(bytes: &[u8], others: usize) -> String {
    let text = STANDARD_NO_PAD.encode([&vec![0; others][..], bytes].concat());
    text[[0, 2, 3][others]..(others + bytes.len()) * 8 / 6].to_owned()
}

fn percent(bytes: &[u8], space: &str) -> String {
    let escaped = |byte: &u8| match byte {
        b' ' => space.to_owned(),
        b'-' | b'_' | b'.' | b'~' => char::from(*byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(*byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    bytes.iter().map(escaped).collect()
}

/// That no secret stands in these bytes, in any form.
fn assert_none(canaries: &[Canary], place: &str, bytes: &[u8]) {
    let text = visible(bytes);
    for canary in canaries {
        assert!(!canary.is_in(&text), "{} in {place}", canary.name);
    }
}

#[test]
fn a_canary_is_heard_in_every_form() {
    let secret = PASSPHRASE.as_bytes();
    let canary = Canary::new("passphrase", secret);
    let mut forms = vec![
        secret.to_vec(),
        format!("{PASSPHRASE:?}").into_bytes(),
        format!("{secret:?}").into_bytes(),
        format!("{secret:02x?}").replace(", ", "").into_bytes(),
        json!({ "x": PASSPHRASE }).to_string().into_bytes(),
        b"x=canary+of+a+pass%2Bphrase%2F%C3%B1%26%25&y".to_vec(),
        b"/canary%20of%20a%20pass%2bphrase%2f%c3%b1%26%25/".to_vec(),
    ];
    for before in ["", "a", "ab", "abc"] {
        forms.push(BASE64.encode(format!("{before}{PASSPHRASE}{before}")).into_bytes());
    }
    for form in forms {
        assert!(canary.is_in(&visible(&form)), "{}", visible(&form));
    }
    assert!(!canary.is_in("canary of another pass"));
}

/// The service as a process, and everything that it has answered.
struct Scene {
    service: Process,
    sandbox: RunningSandbox,
    http: reqwest::Client,
    canaries: Vec<Canary>,
    answers: Vec<(String, Vec<u8>)>,
}

impl Scene {
    async fn start(folder: &Path) -> Self {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let settings = Settings { wait_seconds: Some(0), ..Settings::default() };
        let sandbox = SandboxConfig::default().settings(settings).start().await.unwrap();
        let (data, ca, config) = (folder.join("data"), folder.join("ca.pem"), folder.join("config.toml"));
        fs::write(&ca, sandbox.pki().ca_pem()).unwrap();
        let vault = format!("3:{}", BASE64.encode(VAULT));
        fs::write(&config, format!("admin_key = \"{ADMIN}\"\n[key]\npepper = \"{PEPPER}\"\n")).unwrap();
        let arguments = [
            ["--config", config.to_str().unwrap()],
            ["--environment", "sandbox"],
            ["--data-dir", data.to_str().unwrap()],
            ["--listen", "127.0.0.1:0"],
            ["--authority-url", &sandbox.url()],
            ["--authority-ca", ca.to_str().unwrap()],
            ["--vault-key", &vault],
            ["--initial-wait", "0s"],
            ["--webhook-loopback", "true"],
            ["--rates", "false"],
            ["--log-level", "trace"],
        ];
        let arguments: Vec<&str> = std::iter::once("serve").chain(arguments.into_iter().flatten()).collect();
        let log = fs::File::create(folder.join("log")).unwrap();
        let service = Process::logging("verifactu-server", &arguments, log.into());
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(20)).build().unwrap();
        let canaries = [
            ("the operator's key", ADMIN.as_bytes()),
            ("the pepper", PEPPER.as_bytes()),
            ("the vault's key", VAULT),
            ("a passphrase", PASSPHRASE.as_bytes()),
            ("a webhook's secret", WEBHOOK.as_bytes()),
            ("a wrong operator's key", WRONG_ADMIN.as_bytes()),
            ("a wrong passphrase", WRONG_PASSPHRASE.as_bytes()),
            ("a wrong key", WRONG_KEY.as_bytes()),
        ];
        let canaries = canaries.map(|(name, secret)| Canary::new(name, secret)).into();
        Self { service, sandbox, http, canaries, answers: Vec::new() }
    }

    /// Asks, and keeps the whole answer.
    async fn ask(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Value {
        let url = format!("{}{path}", self.service.told("url"));
        let mut request = self.http.request(Method::from_bytes(method.as_bytes()).unwrap(), url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = request.body(body.to_vec()).send().await.unwrap();
        let head = format!("{} {:?}\n", answer.status(), answer.headers());
        let body = answer.bytes().await.unwrap();
        self.answers.push((format!("{method} {path}"), [head.as_bytes(), &body].concat()));
        serde_json::from_slice(&body).unwrap_or_default()
    }

    async fn json(&mut self, method: &str, path: &str, key: (&str, &str), body: &Value) -> Value {
        self.ask(method, path, &[key, ("content-type", "application/json")], body.to_string().as_bytes())
            .await
    }

    /// A key of an account. The answer to its creation is the one place that may show it.
    async fn key(&mut self, tenant: &str, scopes: &[&str]) -> String {
        let body = json!({ "tenantId": tenant, "scopes": scopes });
        let made = self.json("POST", "/v1/admin/api-keys", ("x-admin-key", ADMIN), &body).await;
        let key = made["apiKey"]["key"].as_str().unwrap().to_owned();
        let (_, answer) = self.answers.last_mut().unwrap();
        *answer = visible(answer).replacen(&key, "", 1).into_bytes();
        self.canaries.push(Canary::new(&format!("the key of {tenant}"), key.as_bytes()));
        self.canaries.push(Canary::new(&format!("the secret part of {tenant}'s key"), &key.as_bytes()[19..]));
        key
    }

    /// Sends bytes as they are.
    fn raw(&mut self, bytes: &[u8]) {
        let mut stream = TcpStream::connect(self.service.told("address")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(!answer.is_empty(), "no answer to {}", visible(bytes));
        self.answers.push((visible(bytes), answer));
    }

    /// Every endpoint that reads, as each of those who could.
    async fn read_everything(&mut self, keys: [&str; 2], things: &Value) {
        for (method, path) in endpoints().into_iter().filter(|(method, _)| method == "GET") {
            let named = path.split('/').map(|segment| match (segment, path.split('/').nth(1)) {
                (":id", Some("jobs")) => things["jobId"].as_str().unwrap(),
                (":id", Some("admin")) if path.contains("/jobs/") => things["jobId"].as_str().unwrap(),
                (":id", Some("me")) if path.contains("/chains/") => things["chain"].as_str().unwrap(),
                (":id", Some("me")) => things["recordId"].as_str().unwrap(),
                (segment, _) if segment.starts_with(':') => "child",
                (segment, _) => segment,
            });
            let path = named.collect::<Vec<_>>().join("/");
            let system = self.ask(&method, &path, &[], b"").await;
            if system["code"] == "not_found" || !system["success"].as_bool().unwrap_or(true) {
                for caller in [("x-api-key", keys[0]), ("x-api-key", keys[1]), ("x-admin-key", ADMIN)] {
                    self.ask(&method, &format!("/v1{path}"), &[caller], b"").await;
                }
            }
        }
    }
}

/// The parts of a form with a file and its passphrase.
fn form(file: &[u8], passphrase: &str) -> Vec<u8> {
    let mut body =
        b"--border\r\nContent-Disposition: form-data; name=\"pfx\"; filename=\"c.p12\"\r\n\r\n".to_vec();
    body.extend_from_slice(file);
    let rest = format!(
        "\r\n--border\r\nContent-Disposition: form-data; name=\"pfxPassphrase\"\r\n\r\n{passphrase}\r\n--border--\r\n"
    );
    body.extend_from_slice(rest.as_bytes());
    body
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_comes_out() {
    const JSON: (&str, &str) = ("content-type", "application/json");
    const OPERATOR: (&str, &str) = ("x-admin-key", ADMIN);
    let folder = tempfile::tempdir().unwrap();
    let mut scene = Scene::start(folder.path()).await;
    for (id, parent) in [("firm", Value::Null), ("child", json!("firm")), (PERSON, Value::Null)] {
        let tenant = json!({ "id": id, "parentTenantId": parent, "name": "Cuenta" });
        let made = scene.json("POST", "/v1/admin/tenants", OPERATOR, &tenant).await;
        assert_eq!(made["success"], true, "{made}");
    }
    let own = [
        "invoices:write",
        "invoices:read",
        "nif:read",
        "tenant:certificates:read",
        "tenant:certificates:write",
    ];
    let child = scene.key("child", &own).await;
    let firm = scene.key("firm", &["partner:tenants:read", "partner:tenants:write"]).await;
    let (by_child, by_firm) = (("x-api-key", child.as_str()), ("x-api-key", firm.as_str()));

    // Certificates: good and bad, as JSON and as a form, by the child and by its partner.
    let holder = Holder::seal(ISSUER, "Talleres Ebro SL").with_passphrase(PASSPHRASE);
    let issued = scene.sandbox.pki().issue(&holder).unwrap();
    let file = issued.pkcs12().unwrap();
    scene.canaries.extend(Canary::of_bytes("the PKCS#12 file", &file));
    scene.canaries.extend(Canary::of_bytes("the private key", issued.key_der().secret_der()));
    let good = json!({ "pfxBase64": BASE64.encode(&file), "pfxPassphrase": PASSPHRASE });
    let wrong = json!({ "pfxBase64": BASE64.encode(&file), "pfxPassphrase": WRONG_PASSPHRASE });
    let cut = json!({ "pfxBase64": BASE64.encode(&file[..file.len() - 9]), "pfxPassphrase": PASSPHRASE });
    let shaped = json!({ "pfxBase64": [BASE64.encode(&file)], "pfxPassphrase": { "is": PASSPHRASE } });
    let named = json!({ "pfx": BASE64.encode(&file), "passphrase": PASSPHRASE });
    for (path, key) in [("/v1/me/certificate", by_child), ("/v1/partner/tenants/child/certificate", by_firm)]
    {
        for (body, status) in
            [(&wrong, false), (&cut, false), (&shaped, false), (&named, false), (&good, true)]
        {
            assert_eq!(scene.json("POST", path, key, body).await["success"], status, "{path}");
        }
        let multipart = ("content-type", "multipart/form-data; boundary=border");
        for (body, status) in [
            (form(&file, WRONG_PASSPHRASE), false),
            (form(&file[..900], PASSPHRASE), false),
            (form(&file, PASSPHRASE)[..400].to_vec(), false),
            (form(&file, PASSPHRASE), true),
        ] {
            assert_eq!(scene.ask("POST", path, &[key, multipart], &body).await["success"], status, "{path}");
        }
        let text = good.to_string();
        scene.ask("POST", path, &[key, JSON], &text.as_bytes()[..text.len() - 2]).await;
        scene.ask("POST", path, &[key, ("content-type", "text/plain")], text.as_bytes()).await;
        scene.ask("POST", path, &[key, JSON], text.repeat(60).as_bytes()).await;
    }

    // Keys: wrong ones, in wrong places, twice, too long, and as no request at all.
    for headers in [
        vec![("x-api-key", WRONG_KEY)],
        vec![("x-api-key", &WRONG_KEY[..30])],
        vec![("x-api-key", child.as_str()), ("authorization", "Bearer other")],
        vec![("authorization", WRONG_KEY)],
        vec![("x-admin-key", WRONG_ADMIN)],
        vec![("x-admin-key", child.as_str())],
        vec![("x-api-key", child.as_str()), ("accept", "application/problem+json")],
    ] {
        scene.ask("GET", "/v1/admin/events", &headers, b"").await;
        scene.ask("GET", "/v1/partner/tenants", &headers, b"").await;
    }
    for path in [format!("/v1/jobs/{child}"), format!("/{child}"), format!("/v1/jobs?limit={child}")] {
        scene.ask("GET", &path, &[by_child], b"").await;
    }
    let long = format!(
        "GET /v1/me HTTP/1.1\r\nhost: x\r\nx-api-key: {}\r\nconnection: close\r\n\r\n",
        child.repeat(600)
    );
    scene.raw(long.as_bytes());
    scene.raw(format!("{child} {ADMIN}\r\n\r\n").as_bytes());
    scene.raw(format!("GET / HTTP/1.1\r\nhost: x\r\n{child}\r\n\r\n").as_bytes());

    // Webhooks: set well and badly, then sent to nobody and to one who refuses.
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let sandbox = scene.sandbox.address();
    for tenant in ["child", PERSON] {
        let path = format!("/v1/admin/tenants/{tenant}/webhook");
        for body in [
            json!({ "url": format!("http://user:{WEBHOOK}@127.0.0.1/"), "secret": WEBHOOK }),
            json!({ "url": "http://10.0.0.1/", "secret": WEBHOOK.repeat(30) }),
            json!({ "url": format!("http://{nobody}/"), "secret": [WEBHOOK] }),
        ] {
            assert_eq!(scene.json("PATCH", &path, OPERATOR, &body).await["success"], false);
        }
        for url in [format!("http://{nobody}/"), format!("http://{sandbox}/"), format!("https://{sandbox}/")]
        {
            let body = json!({ "url": url, "secret": WEBHOOK });
            assert_eq!(scene.json("PATCH", &path, OPERATOR, &body).await["success"], true);
            let ping = scene.ask("POST", &format!("{path}/ping"), &[OPERATOR], b"").await;
            assert_eq!(ping["delivery"]["delivered"], false, "{ping}");
        }
    }

    // An invoice all the way to its receipt, signed and sent with the certificate.
    let date = Date::in_madrid(SystemClock.now()).to_string();
    let invoice = json!({
        "nif": ISSUER, "nombre": "Talleres Ebro SL", "numSerie": "CANARY-1", "fecha": date, "tipoFactura": "F2",
        "descripcion": "Ticket", "desglose": [{ "clave": "01", "calif": "S1", "base": 10, "tipo": 21, "cuota": 2.1 }],
    });
    let headers = [by_child, JSON, ("x-idempotency-key", "1"), ("prefer", "wait=20")];
    let sent = scene.ask("POST", "/v1/send-invoice", &headers, invoice.to_string().as_bytes()).await;
    assert_eq!(sent["status"], "SUCCEEDED", "{sent}");
    let chains = scene.ask("GET", "/v1/me/chains", &[by_child], b"").await;
    let mut things = sent.clone();
    things["chain"] = chains["chains"][0]["id"].clone();
    scene.read_everything([&child, &firm], &things).await;
    scene.ask("DELETE", "/v1/me/certificate", &[by_child], b"").await;

    // The files while it runs, with what is not yet in the ledger's own; then the log as a whole.
    let Scene { service, canaries, answers, sandbox, .. } = scene;
    let files: Vec<_> =
        fs::read_dir(folder.path().join("data")).unwrap().map(|file| file.unwrap().path()).collect();
    let mut stored = Vec::new();
    for file in &files {
        let bytes = fs::read(file).unwrap();
        assert_none(&canaries, &file.display().to_string(), &bytes);
        stored.extend(bytes);
    }
    assert!(visible(&stored).contains("CANARY-1"), "the ledger was read: {files:?}");
    assert!(service.terminate(Duration::from_secs(20)));
    sandbox.stop().await;
    for (place, answer) in &answers {
        assert_none(&canaries, place, answer);
    }
    let log = fs::read(folder.path().join("log")).unwrap();
    assert_none(&canaries, "the log", &log);

    // Every line is JSON; the request's identifier finds it; nobody's tax identifier stands in it.
    let log = String::from_utf8(log).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(lines.iter().any(|line| line["level"] == "TRACE"), "the log is verbose");
    let access = lines.iter().find(|line| line["request"] == sent["requestId"] && line["target"] == "access");
    assert_eq!(
        access.map(|line| (&line["route"], &line["status"])),
        Some((&json!("/send-invoice"), &json!(200)))
    );
    assert!(lines.iter().any(|line| line["tenant"] == "***4567**"), "the account with a tax identifier");
    for nif in [ISSUER, PERSON] {
        let canary = Canary::new(nif, nif.as_bytes());
        let line = log.lines().find(|line| canary.is_in(line));
        assert_eq!(line, None, "{nif}");
    }
}

/// The settings in force are printed without the secrets among them.
#[test]
fn printed_settings_show_no_secret() {
    let vault = format!("2:{}", BASE64.encode(VAULT));
    let queue = format!("redis://user:{QUEUE}@127.0.0.1:1/0");
    let output = Command::new(program("verifactu-server"))
        .args(["config", "check", "--environment", "sandbox", "--authority-url", "https://127.0.0.1:1"])
        .args(["--data-dir", "nowhere", "--admin-key", ADMIN, "--key-pepper", PEPPER, "--vault-key", &vault])
        .args(["--queue", &queue, "--development-passphrase", PASSPHRASE])
        .output()
        .unwrap();
    let said = said(&output);
    assert!(output.status.success() && said.contains("admin"), "{said}");
    let secrets = [ADMIN, PEPPER, QUEUE, PASSPHRASE].map(str::as_bytes).into_iter().chain([&VAULT[..]]);
    let secrets: Vec<Canary> = secrets.map(|secret| Canary::new(&visible(secret), secret)).collect();
    assert_none(&secrets, &said, said.as_bytes());
}

/// A start that fails says which setting is wrong, and not its value.
#[test]
fn a_start_that_fails_shows_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let secrets = [ADMIN, QUEUE, PASSPHRASE].map(|secret| Canary::new(secret, secret.as_bytes()));
    let unquoted = file("unquoted.toml", &format!("listen = \"127.0.0.1:0\"\nadmin_key = {ADMIN}\n"));
    let shaped = file("shaped.toml", &format!("admin_key = {{ a = [{{ b = \"{ADMIN}\" }}] }}\n"));
    let unknown = file("unknown.toml", &format!("admin_kye = \"{ADMIN}\"\n"));
    let secret = file("secret", ADMIN);
    let data = folder.path().join("data").to_str().unwrap().to_owned();
    let queue = format!("redis://user:{QUEUE}@127.0.0.1:port/0");
    let vault = format!("2:{}", BASE64.encode(ADMIN));
    let rows: &[(&[&str], &str)] = &[
        (&["--config", &unquoted], "line 2"),
        (&["--config", &shaped], "shaped.toml"),
        (&["--config", &unknown], "admin-kye"),
        (&["--admin-key", ADMIN, "--admin-key-file", &secret], "--admin-key"),
        (&["--vault-key", ADMIN], "--vault-key"),
        (&["--vault-key", &vault], "--vault-key"),
        (&["--queue", &queue], "queue"),
        (&["--development-identity", &secret, "--development-passphrase", PASSPHRASE], "development"),
        (&["--admin-key", ADMIN, "--limit-body", "x"], "--limit-body"),
        (&["--admin-kye", ADMIN], "--admin-kye"),
    ];
    for (arguments, wanted) in rows {
        let output = Command::new(program("verifactu-server"))
            .args(["serve", "--environment", "sandbox", "--authority-url", "https://127.0.0.1:1"])
            .args(["--listen", "127.0.0.1:0", "--data-dir", &data])
            .args(*arguments)
            .output()
            .unwrap();
        assert!(!output.status.success(), "{wanted}");
        let said = said(&output);
        assert!(said.contains(wanted), "{wanted}: {said}");
        assert_none(&secrets, &said, said.as_bytes());
    }
}
