//! The shell in README.md does what README.md says, and so does that of the deployment. The blocks run as they
//! stand there, in one shell for each story that they tell, but for what a test has to change: the programs are
//! those that are built already, the ports are free ones, long runs are short ones, and a value that the reader has
//! to copy comes from the answer before.

use std::{fs, net::TcpListener, process::Command};

use harness::programs::{program, said, workspace};
use serde_json::Value;

// The blocks that a story runs, each by a piece of it.
const DEMO: &str = "-- demo\n";
const SEND: &str = "$VERIFACTU_URL/send-invoice";
const FETCH: &str = "qr?format=svg";
const DRAW: &str = "verifactu qr $JOB_ID";
const SERVE: &str = "verifactu-server serve --environment sandbox";
const ACCOUNT: &str = "/admin/api-keys";
const SANDBOX: &str = "--admin 127.0.0.1:8644\n";
const FAULTS: &str = "8644/faults";
const CENSUS: &str = "8644/settings";
const TOOL: &str = "verifactu doctor";
const EXAMPLES: &str = "--example hash_invoice";
const PREPRODUCTION: &str = "--environment preproduction";
const HARNESS: &str = "target/debug/faults";
const RUN: &[&str] = &[
    DEMO,
    SEND,
    FETCH,
    DRAW,
    TOOL,
    SERVE,
    ACCOUNT,
    SANDBOX,
    FAULTS,
    CENSUS,
    EXAMPLES,
    PREPRODUCTION,
    HARNESS,
];

/// The blocks that no story can run, and why.
const NOT_RUN: &[(&str, &str)] =
    &[("cargo bench", "it measures a release, which takes many minutes to build and run")];

/// What a block that is not run asks for exists at least.
#[test]
fn the_benches_are_there() {
    let described = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(workspace())
        .output()
        .unwrap();
    let described: Value = serde_json::from_slice(&described.stdout).unwrap();
    let text = readme();
    let block = *blocks(&text).iter().find(|block| block.contains("cargo bench")).unwrap();
    let mut found = 0;
    for line in block.lines().filter(|line| line.starts_with("cargo ")) {
        let words: Vec<&str> = line.split(' ').collect();
        let after = |flag: &str| words.iter().position(|word| *word == flag).map(|at| words[at + 1]);
        if let Some(manifest) = after("--manifest-path") {
            assert!(workspace().join(manifest).exists(), "{line}");
        } else {
            let packages = described["packages"].as_array().unwrap();
            let package = packages.iter().find(|package| package["name"] == after("-p").unwrap());
            let bench = after("--bench").unwrap();
            let targets = package.unwrap()["targets"].as_array().unwrap();
            let named = |target: &&Value| target["name"] == bench && target["kind"][0] == "bench";
            assert!(targets.iter().any(|target| named(&target)), "{line}");
        }
        found += 1;
    }
    assert_eq!(found, 3);
}

#[test]
fn every_block_is_known() {
    let text = readme();
    let blocks = blocks(&text);
    let pieces: Vec<&str> =
        RUN.iter().copied().chain(NOT_RUN.iter().map(|(piece, _reason)| *piece)).collect();
    for block in &blocks {
        let known = pieces.iter().filter(|piece| block.contains(**piece)).count();
        assert_eq!(known, 1, "the tables of blocks have this block of README.md {known} times:\n{block}");
    }
    assert_eq!(blocks.len(), pieces.len(), "the tables name blocks that README.md has no more");
}

#[test]
fn five_minutes_end_with_a_qr() {
    let mut story = Story::new();
    story.block(
        DEMO,
        &[
            ("cargo run --release -p verifactu-server -- demo", "verifactu-server demo >demo.txt &"),
            // This test is a part of it.
            ("tests/run", ""),
        ],
    );
    story.until("grep -q VERIFACTU_KEY= demo.txt");
    story.line("eval \"$(grep -o 'export VERIFACTU_URL=.*' demo.txt)\"");
    let sent = story.block(SEND, &[]);
    let job_id = story.field(&sent, "jobId");
    let asked = story.block(FETCH, &[("JOB_ID=…", &format!("JOB_ID={job_id}"))]);
    let drawn = story.block(DRAW, &[INSTALLED]);
    let used = story.block(TOOL, &[INSTALLED]);
    let told = story.run();
    assert!(told.file("demo.txt").contains("the chain is whole"), "{}", told.file("demo.txt"));
    let answer = told.answers(&sent).remove(0);
    assert_eq!(told.statuses, ["202", "200", "200"]);
    assert_eq!(answer["qrInfo"]["huella"].as_str().unwrap_or_default().len(), 64, "{answer}");
    assert_eq!(told.answers(&asked)[0]["jobId"], answer["jobId"]);
    assert!(told.file("qr.svg").starts_with("<svg"), "{}", told.file("qr.svg"));
    let drawn = told.file(&drawn);
    assert!(drawn.contains("SUCCEEDED") && drawn.contains('█'), "{drawn}");
    let used = told.file(&used);
    for expected in ["certificate  ok", "CURL-1", "identificado: true", "ok 25 records in"] {
        assert!(used.contains(expected), "{expected}: {used}");
    }
}

#[test]
fn a_service_is_set_up_by_hand() {
    let (authority, service) = (free_port(), free_port());
    let (authority_host, service_host) = (format!("127.0.0.1:{authority}"), format!("127.0.0.1:{service}"));
    let mut story = Story::new();
    story.block(
        SERVE,
        &[
            ("cargo build --release -p verifactu-server", ""),
            ("PATH=\"$PWD/target/release:$PATH\"; cd \"$(mktemp -d)\"", ""),
            ("--data sandbox &", &format!("--data sandbox --listen {authority_host} &")),
            ("127.0.0.1:8643", &authority_host),
            ("serve --environment", &format!("serve --listen {service_host} --environment")),
        ],
    );
    story.until(&format!("curl -fs http://{service_host}/ready"));
    let created = story.block(
        ACCOUNT,
        &[
            ("127.0.0.1:8080", &service_host),
            ("VERIFACTU_KEY=vf_…", "VERIFACTU_KEY=$(grep -o 'vf_[^\"]*' account-key | tail -1)"),
            ("\"tenant:certificates:write\"]}'", "\"tenant:certificates:write\"]}' | tee account-key"),
        ],
    );
    // The same account goes on to send what the section before it showed.
    let sent = story.block(SEND, &[]);
    let job_id = story.field(&sent, "jobId");
    let drawn = story.block(DRAW, &[INSTALLED, ("$JOB_ID", &job_id)]);
    let told = story.run();
    assert_eq!(told.statuses, ["201", "201", "200", "202"]);
    let answers = told.answers(&created);
    let [tenant, key, certificate] = answers.as_slice() else { panic!("{answers:?}") };
    assert!(tenant.to_string().contains("\"ebro\""), "{tenant}");
    assert!(key.to_string().contains("vf_"), "{key}");
    assert!(certificate.to_string().contains("B12345674"), "{certificate}");
    assert!(told.file(&drawn).contains("SUCCEEDED"), "{}", told.file(&drawn));
}

#[test]
fn the_sandbox_takes_faults_and_a_census() {
    let (authority, admin) = (free_port(), free_port());
    let admin_host = format!("127.0.0.1:{admin}");
    let port = ("127.0.0.1:8644", admin_host.as_str());
    let mut story = Story::new();
    let listen = format!("--listen 127.0.0.1:{authority} --admin {admin_host} &");
    story.block(SANDBOX, &[("--admin 127.0.0.1:8644", &listen)]);
    story.until(&format!("curl -fs http://{admin_host}/registrations"));
    let ordered = story.block(FAULTS, &[port]);
    let set = story.block(CENSUS, &[port]);
    let told = story.run();
    assert_eq!(told.statuses, ["200", "200", "200"]);
    let ordered = told.answers(&ordered);
    assert_eq!(ordered[0], serde_json::json!([]));
    assert!(ordered[1].to_string().contains("cut"), "{ordered:?}");
    let settings = told.answers(&set).remove(0);
    assert_eq!(settings["census"]["listed"]["12345678Z"]["status"], "missing", "{settings}");
}

#[test]
fn the_examples_run() {
    let built = program("verifactu").with_file_name("examples");
    let mut story = Story::new();
    let said = story
        .block(EXAMPLES, &[("cargo run -p verifactu-examples --example ", &format!("{}/", built.display()))]);
    let told = story.run();
    assert!(told.file(&said).contains("registered, CSV"), "{}", told.file(&said));
}

/// Nothing is there to be sent, and nothing could be: the authority's address is one where nobody listens.
#[test]
fn preproduction_is_a_matter_of_settings() {
    let host = format!("127.0.0.1:{}", free_port());
    let serve = format!("serve --listen {host} --authority-url https://127.0.0.1:9 --environment");
    let mut story = Story::new();
    let last = "--system-producer-nif B12345674";
    story.block(PREPRODUCTION, &[("serve --environment", &serve), (last, &format!("{last} &"))]);
    story.until(&format!("curl -fs http://{host}/ready"));
    story.line(&format!("curl -s http://{host}/ready >ready"));
    let told = story.run();
    assert_eq!(told.answers("ready")[0]["ready"], true, "{}", told.file("ready"));
}

#[test]
fn the_harness_of_faults_judges_its_runs() {
    let mut story = Story::new();
    let judged = story.block(
        HARNESS,
        &[
            ("cargo build --workspace --all-features --bins", ""),
            (
                "target/debug/faults --kill-single 50 --authority-after 10",
                "faults --kill-single 1 --authority-after 1",
            ),
        ],
    );
    let told = story.run();
    assert!(told.answers(&judged).len() >= 2, "{}", told.file(&judged));
}

/// The secrets that the deployment makes, and the settings of its compose file, are such that the service starts
/// with them in either role.
#[test]
fn the_deployment_has_the_settings_that_it_needs() {
    let compose = document("examples/deploy/compose.yaml");
    let settings: String = compose
        .lines()
        .filter_map(|line| line.trim().strip_prefix("VERIFACTU_")?.split_once(": "))
        .map(|(name, value)| {
            format!("export VERIFACTU_{name}=\"{}\"\n", value.replace("/run/secrets", "secrets"))
        })
        .collect();
    let mut story = Story::new();
    let check = "for role in api worker; do VERIFACTU_ROLE=$role verifactu-server config check; done";
    story.line(&format!("cat >check <<'END'\nset -eu\n{settings}{check}\nEND"));
    story.line("export VERIFACTU_DATA_DIR=data");
    let text = document("examples/deploy/README.md");
    let [start, restore] = blocks(&text)[..] else { panic!("another block has to be tested too") };
    // That one has gaps for its reader to fill; restore.rs takes a dump back with the same programs.
    assert!(restore.contains("pg_restore"), "{restore}");
    let checked =
        story.commands(start, &[("cd examples/deploy", ""), ("docker compose up --build", "sh check")]);
    let told = story.run();
    let checked = told.file(&checked);
    for expected in ["MI ERP", "B12345674", "(VERIFACTU_VAULT_KEY_FILE)", "(VERIFACTU_ROLE)"] {
        assert_eq!(checked.matches(expected).count(), 2, "{expected}: {checked}");
    }
}

/// What README.md says under "Embedding the core", in a package of its own: the core without features, and the
/// first program.
#[test]
fn the_first_program_needs_the_core_alone() {
    let text = readme();
    let fenced =
        |kind: &str| text.split(&format!("```{kind}\n")).nth(1).unwrap().split("```").next().unwrap();
    let core = fenced("toml").replace('…', &workspace().display().to_string());
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let package = "[package]\nname = \"erp\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n";
    fs::write(at("Cargo.toml"), format!("{package}{core}")).unwrap();
    fs::create_dir(at("src")).unwrap();
    fs::write(at("src/main.rs"), fenced("rust")).unwrap();
    fs::copy(workspace().join("Cargo.lock"), at("Cargo.lock")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline", "--target-dir", "target"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
}

/// The tool is built already.
const INSTALLED: (&str, &str) = ("cargo install --locked --path verifactu-client --features cli\n", "");

fn readme() -> String {
    document("README.md")
}

fn document(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap()
}

/// The shell blocks, each with its closing fence.
fn blocks(text: &str) -> Vec<&str> {
    text.split("```sh\n").skip(1).map(|part| &part[..part.find("```").unwrap() + 3]).collect()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Blocks that one shell runs one after the other, in a folder of their own.
struct Story {
    folder: tempfile::TempDir,
    script: String,
    blocks: usize,
}

impl Story {
    fn new() -> Self {
        program("verifactu");
        let server = program("verifactu-server");
        let programs = server.parent().unwrap().display();
        let script =
            format!("set -eu\nPATH=\"{programs}:$PATH\"\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n");
        Self { folder: tempfile::tempdir().unwrap(), script, blocks: 0 }
    }

    /// Adds the block with this piece, with these texts of it replaced. Gives the file of what it prints.
    fn block(&mut self, piece: &str, replaced: &[(&str, &str)]) -> String {
        let text = readme();
        let block = *blocks(&text).iter().find(|block| block.contains(piece)).unwrap();
        self.commands(block, replaced)
    }

    /// Adds these commands, with these texts of them replaced. Gives the file of what they print.
    fn commands(&mut self, block: &str, replaced: &[(&str, &str)]) -> String {
        let mut block = block.trim_end_matches("```").to_owned();
        for (from, to) in replaced {
            assert!(block.contains(from), "there is no {from} here:\n{block}");
            block = block.replace(from, to);
        }
        self.blocks += 1;
        let printed = format!("block-{}", self.blocks);
        // A block may be left with no command at all.
        self.script += &format!("{{\n{block}:\n}} >{printed}\n");
        printed
    }

    fn line(&mut self, line: &str) {
        self.script += line;
        self.script.push('\n');
    }

    /// Waits until a command succeeds, which has no quotes in it.
    fn until(&mut self, command: &str) {
        self.line(&format!("timeout 120 sh -c 'until {command} >/dev/null 2>&1; do sleep 0.1; done'"));
    }

    /// What stands for a text field of an answer, in the shell.
    fn field(&self, printed: &str, name: &str) -> String {
        format!("$(grep -o '\"{name}\": *\"[^\"]*' {printed} | cut -d'\"' -f4)")
    }

    fn run(self) -> Told {
        std::os::unix::fs::symlink(workspace().join("examples"), self.folder.path().join("examples"))
            .unwrap();
        fs::write(self.folder.path().join(".curlrc"), "write-out = \"%{stderr}status %{http_code}\\n\"\n")
            .unwrap();
        let output = Command::new("timeout")
            .args(["240", "bash", "-c", &self.script])
            .env("HOME", self.folder.path())
            .env("no_proxy", "127.0.0.1")
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}\n{}", self.script, said(&output));
        let log = String::from_utf8_lossy(&output.stderr);
        let statuses =
            log.lines().filter_map(|line| line.strip_prefix("status ")).map(str::to_owned).collect();
        Told { folder: self.folder, statuses }
    }
}

/// What the blocks of a story left behind.
struct Told {
    folder: tempfile::TempDir,
    /// Of the answers that curl had, in order.
    statuses: Vec<String>,
}

impl Told {
    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    /// The JSON that a block printed.
    fn answers(&self, printed: &str) -> Vec<Value> {
        let text = self.file(printed);
        let values: Result<_, _> = serde_json::Deserializer::from_str(&text).into_iter().collect();
        values.unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}
