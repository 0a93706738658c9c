//! The page behind the QR of an invoice.

use serde_json::{Value, json};
use verifactu_core::{qr::CheckService, record::InvoiceId, types::*};
use verifactu_server::sandbox::QR_PATH;

use crate::bench::{Bench, client};
use crate::invoice::{Alta, Anulacion, ISSUER, TODAY};

/// What a browser without a certificate gets.
async fn browse(bench: &Bench, address: &str) -> (u16, String, String) {
    let response = client(bench.sandbox.pki(), None).get(address).send().await.unwrap();
    let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
    (response.status().as_u16(), kind, response.text().await.unwrap())
}

async fn json_of(bench: &Bench, query: &str) -> Value {
    let address = format!("{}{QR_PATH}?{query}&formato=json", bench.sandbox.url());
    let (status, kind, body) = browse(bench, &address).await;
    assert_eq!((status, kind.as_str()), (200, "application/json;charset=UTF-8"));
    serde_json::from_str(&body).unwrap()
}

#[tokio::test]
async fn the_qr_of_an_invoice_leads_to_it() {
    let bench = Bench::start().await;
    let number = "A/1 & <b>+";
    let stored = bench.line(Alta::new(number.replace(['<', '>'], "")).record()).await;
    assert_eq!(stored.1, "");
    let id = InvoiceId {
        issuer: Nif::parse(ISSUER).unwrap(),
        number: InvoiceNumber::parse("A/1 & b+").unwrap(),
        date: Date::parse(TODAY).unwrap(),
    };
    let service = CheckService::new(Environment::Sandbox, &bench.sandbox.url());
    let address = service.text_of(&id, Amount::parse("121.00").unwrap());
    let (status, kind, page) = browse(&bench, &address).await;
    assert_eq!((status, kind.as_str()), (200, "text/html;charset=UTF-8"));
    assert!(page.contains("<h1>Factura encontrada</h1>"), "{page}");
    assert!(page.contains("<dd>A/1 &amp; b+</dd>"), "{page}");
    let other = service.text_of(&id, Amount::parse("121.01").unwrap());
    assert!(browse(&bench, &other).await.2.contains("<h1>Factura no encontrada</h1>"));
    let script = format!("{address}&numserie=%3Cscript%3E");
    assert!(browse(&bench, &script).await.2.contains("<dd>&lt;script&gt;</dd>"));
}

#[tokio::test]
async fn answers_in_json() {
    let bench = Bench::start().await;
    let stored = bench.line(Alta::new("J-1").record()).await;
    assert_eq!(stored.1, "");
    let ask = |amount: &str| format!("nif={ISSUER}&numserie=J-1&fecha={TODAY}&importe={amount}");
    let found = |result: &str, text: &str| {
        json!({
            "status": "OK", "mensaje": text, "visible": "N", "crashlytics": "N",
            "respuesta": {
                "resultado": result, "nif": ISSUER, "numserie": "J-1", "fecha": TODAY, "importe": "121.00",
            },
        })
    };
    for amount in ["121", "121.0", "121.00", "%2B121"] {
        assert_eq!(json_of(&bench, &ask(amount)).await, found("00", "Encontrada"), "{amount}");
    }
    assert_eq!(json_of(&bench, &ask("-121.5")).await["respuesta"]["importe"], "-121.50");
    let annulled = bench.line(Anulacion::new("J-1").record()).await;
    assert_eq!(annulled.1, "");
    assert_eq!(json_of(&bench, &ask("121")).await, found("01", "No encontrada"));
}

#[tokio::test]
async fn parameters_that_are_wrong() {
    let bench = Bench::start().await;
    let long = "x".repeat(61);
    for (nif, number, date, amount, codes) in [
        ("", "", "", "", "1001.1002.1003.1004"),
        (ISSUER, "1", "", "", "1003.1004"),
        ("89890001A", "1", TODAY, "1", "2001"),
        (ISSUER, &long, TODAY, "1", "2002"),
        (ISSUER, "%C3%B1", TODAY, "1", "2003"),
        (ISSUER, "1", "2026-09-22", "1", "2004"),
        (ISSUER, "1", "31-02-2026", "1", "2004"),
        (ISSUER, "1", TODAY, "1,5", "2005"),
        (ISSUER, "1", TODAY, "1.234", "2006"),
        (ISSUER, "1", TODAY, "1234567890123", "2006"),
        ("X", "1", "x", "x", "2001.2004.2005"),
    ] {
        let query = format!("nif={nif}&numserie={number}&fecha={date}&importe={amount}");
        let answer = json_of(&bench, &query).await;
        assert_eq!((&answer["status"], &answer["codigo_error"]), (&json!("KO"), &json!(codes)), "{query}");
        assert_eq!(answer["mensaje"].as_str().unwrap().split('.').count(), codes.split('.').count());
        assert!(answer.get("respuesta").is_none());
        let page = browse(&bench, &format!("{}{QR_PATH}?{query}", bench.sandbox.url())).await.2;
        assert!(page.contains(&format!("({codes})")), "{page}");
    }
    let bare = browse(&bench, &format!("{}{QR_PATH}", bench.sandbox.url())).await;
    assert!(bare.2.contains("(1001.1002.1003.1004)"));
    let posted = bench.client.post(format!("{}{QR_PATH}", bench.sandbox.url())).send().await.unwrap();
    assert_eq!(posted.status(), 405);
}
