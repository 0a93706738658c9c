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
    let mut child = Command::new("xmllint")
        .args(["--nonet", "--noout", "--schema"])
        .arg(schemas.join("soap-envelope-check.xsd"))
        .arg("-")
        .env("XML_CATALOG_FILES", schemas.join("catalog.xml"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("xmllint is installed");
    child.stdin.take().unwrap().write_all(envelope.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}\n{envelope}", String::from_utf8_lossy(&output.stderr));
}

/// AEAT's example of a signed-off record, wrapped in an envelope, if this checkout has it.
pub(crate) fn official_example() -> Option<String> {
    let path = schemas()?.join("../examples/derived/alta-request.soap.xml");
    Some(std::fs::read_to_string(path).unwrap())
}
