//! Three vocabularies, each in its place: English in the model, the authority's names where XML is
//! written and read, the REST names where JSON is. Also: status codes in one file.

use crate::{
    none,
    source::{File, rust_files, without_comments},
};

/// Words that give the authority's spelling away; no English name and no REST name contains one.
const AUTHORITY: &[&str] = &[
    "NumSerieFactura",
    "IDEmisorFactura",
    "FechaExpedicion",
    "FechaOperacion",
    "FechaHoraHuso",
    "TipoFactura",
    "DetalleDesglose",
    "RegistroAnterior",
    "RegistroAlta",
    "RegistroAnulacion",
    "ImporteTotal",
    "CuotaTotal",
    "CuotaRepercutida",
    "ClaveRegimen",
    "EstadoRegistro",
    "EstadoEnvio",
    "TiempoEspera",
    "NombreRazon",
    "IDOtro",
];

/// Where the authority's names belong: its wire, the string it hashes, the element that is signed,
/// the texts of its codes, and the sandbox, which stands on the authority's side.
const AUTHORITY_PLACES: &[&str] = &[
    "verifactu-core/src/xml",
    "verifactu-core/src/api",
    "verifactu-core/src/chain/canonical.rs",
    "verifactu-core/src/signature",
    "verifactu-core/src/authority/codes",
    "verifactu-server/src/sandbox",
];

/// Words that give the REST spelling away.
const REST: &[&str] =
    &["numSerie", "tipoFactura", "cuotaTotal", "facturasRectificadas", "primerRegistro", "qrInfo"];

/// The demonstration is a client that speaks JSON by hand, and prints lines for others to do so.
const REST_PLACES: &[&str] =
    &["verifactu-core/src/api", "verifactu-server/src/api", "verifactu-server/src/demo"];

const STATUS_PLACES: &[&str] = &["verifactu-server/src/api/error.rs", "verifactu-server/src/sandbox"];

#[test]
fn the_authoritys_names_stay_on_its_wire() {
    none("The authority's spelling outside its places:", &findings(&sources(), AUTHORITY, AUTHORITY_PLACES));
}

#[test]
fn rest_names_stay_in_the_api() {
    none("REST spelling outside its places:", &findings(&sources(), REST, REST_PLACES));
}

#[test]
fn status_codes_stand_in_one_file() {
    let server = rust_files("verifactu-server/src");
    none("Status codes outside their file:", &findings(&server, &["StatusCode::"], STATUS_PLACES));
}

#[test]
fn the_scanner_reads_code_and_not_documentation() {
    let file = |text: &str| File { path: "verifactu-core/src/job/mod.rs".into(), text: text.into() };
    let found = |text: &str| findings(&[file(text)], AUTHORITY, AUTHORITY_PLACES).len();
    assert_eq!(found("struct NumSerieFactura;"), 1);
    assert_eq!(found("const X: &str = \"<ImporteTotal>\";"), 1);
    assert_eq!(
        found("/// `NumSerieFactura`\n#[doc(alias = \"NumSerieFactura\")]\nnumber: u8, // ImporteTotal"),
        0
    );
}

fn sources() -> Vec<File> {
    ["verifactu-core/src", "verifactu-server/src", "verifactu-client/src"]
        .into_iter()
        .flat_map(rust_files)
        .collect()
}

fn findings(files: &[File], words: &[&str], places: &[&str]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| !file.is_in(places)) {
        for (index, line) in without_comments(&file.text).lines().enumerate() {
            if !line.contains("doc(alias")
                && let Some(word) = words.iter().find(|word| line.contains(**word))
            {
                findings.push(format!("{}:{}: {word}", file.path, index + 1));
            }
        }
    }
    findings
}
