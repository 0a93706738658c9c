//! AEAT's own schemas as the judge, through the real `xmllint`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The directory of AEAT's schema files, if this checkout has it. Says so once if not.
fn schemas() -> Option<&'static Path> {
    static SCHEMAS: OnceLock<Option<PathBuf>> = OnceLock::new();
    SCHEMAS
        .get_or_init(|| {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/aeat/xsd");
            if root.join("soap-envelope-check.xsd").exists() {
                return Some(root);
            }
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED: answers are not validated, {} does not exist",
                root.display()
            );
            None
        })
        .as_deref()
}

/// Asserts that an envelope is valid against AEAT's schemas.
pub(crate) fn assert_valid(envelope: &str) {
    let Some(schemas) = schemas() else { return };
    validate(&schemas.join("soap-envelope-check.xsd"), schemas, envelope);
}

fn validate(schema: &Path, schemas: &Path, document: &str) {
    let mut child = Command::new("xmllint")
        .args(["--nonet", "--noout", "--schema"])
        .arg(schema)
        .arg("-")
        .env("XML_CATALOG_FILES", schemas.join("catalog.xml"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("xmllint is installed");
    child.stdin.take().unwrap().write_all(document.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}\n{document}", String::from_utf8_lossy(&output.stderr));
}

/// AEAT's example of a signed-off record, wrapped in an envelope, if this checkout has it.
pub(crate) fn official_example() -> Option<String> {
    let path = schemas()?.join("../examples/derived/alta-request.soap.xml");
    Some(std::fs::read_to_string(path).unwrap())
}

/// Asserts that the body of an envelope is valid against AEAT's schema of NIF checks.
pub(crate) fn assert_valid_nif_check(envelope: &str) {
    let Some(schemas) = schemas() else { return };
    let body =
        envelope.split_once("<env:Body Id=\"Body\">").and_then(|(_, rest)| rest.split_once("</env:Body>"));
    validate(&schemas.join("../vnif/VNifV2Sal.xsd"), schemas, body.unwrap().0);
}
