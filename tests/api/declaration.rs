//! The producer's declaration.

use verifactu_server::config::{Config, Flags};

use super::world::World;

#[tokio::test]
async fn the_declaration_has_its_items_in_order_and_in_three_forms() {
    let world = World::with(|config| {
        let declared = config.declaration.as_mut().unwrap();
        declared.address = verifactu_core::types::Text::parse("Calle <Mayor> & Sol 1, Ávila").unwrap();
    })
    .await;
    let ask = || world.ask("GET", "/declaracion-responsable");
    let json = ask().header("accept", "application/json").send().await.expect(200);
    assert_eq!(json["titulo"], "DECLARACIÓN RESPONSABLE DEL SISTEMA INFORMÁTICO DE FACTURACIÓN");
    let items = json["apartados"].as_array().unwrap();
    let letters: String = items.iter().map(|item| item["letra"].as_str().unwrap()).collect();
    assert_eq!(letters, "abcdefghijkl");
    let wanted = [
        "VERIFACTU DE PRUEBAS",
        "VR",
        env!("CARGO_PKG_VERSION"),
        "interfaz REST",
        "Sí.",
        "Sí.",
        "No procede",
        "PRODUCTOR DE PRUEBAS SL",
        "B12345674",
        "Calle <Mayor> & Sol 1, Ávila",
        "29.2.j",
        "1 de enero de 2026. Madrid, España.",
    ];
    for (item, wanted) in items.iter().zip(wanted) {
        assert!(item["contenido"].as_str().unwrap().contains(wanted), "{wanted} in {item}");
        assert!(!item["enunciado"].as_str().unwrap().is_empty());
    }

    let page = ask().header("accept", "text/html,application/xhtml+xml,*/*;q=0.8").send().await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    let page = String::from_utf8(page.bytes).unwrap();
    assert!(page.contains("<dt>j) ") && page.contains("Calle &lt;Mayor&gt; &amp; Sol 1"), "{page}");
    let text = ask().header("accept", "text/plain").send().await;
    assert_eq!(text.header("content-type"), "text/plain; charset=utf-8");
    assert!(String::from_utf8(text.bytes).unwrap().contains("\nl) Fecha y lugar"));
    let any = ask().send().await;
    assert_eq!(any.header("content-type"), "text/html; charset=utf-8");
}

/// Production does not start without a declaration; pre-production may, and has none to show.
#[test]
fn the_declaration_is_checked_at_the_start() {
    let system = [
        ("data-dir", "/tmp/x"),
        ("system-producer-name", "X SL"),
        ("system-producer-nif", "B12345674"),
        ("system-name", "X"),
        ("system-id", "XX"),
    ];
    let read = |environment: &'static str, more: &[(&'static str, &'static str)]| {
        let mut flags: Vec<_> = system.iter().chain(more).copied().collect();
        flags.push(("environment", environment));
        Config::read(&Flags::new(flags), &|_| None).map(|(config, _)| config.declaration)
    };
    let whole = [
        ("declaration-address", "Calle Mayor 1, Ávila"),
        ("declaration-date", "31-12-2026"),
        ("declaration-place", "Ávila, España"),
    ];
    assert!(read("production", &whole).unwrap().is_some());
    assert!(read("preproduction", &[]).unwrap().is_none());
    for environment in ["production", "preproduction", "sandbox"] {
        for (missing, (name, _)) in whole.iter().enumerate() {
            let mut part = whole.to_vec();
            part.remove(missing);
            part.push(("authority-url", "https://localhost:1"));
            let error = read(environment, &part).unwrap_err().to_string();
            assert!(error.starts_with(&format!("--{name} is required")), "{environment}: {error}");
        }
    }
    let error = read("production", &[]).unwrap_err().to_string();
    assert!(error.starts_with("--declaration-address is required in production"), "{error}");
    let error =
        read("sandbox", &[("authority-url", "https://localhost:1"), ("declaration-date", "30-02-2026")]);
    assert!(error.unwrap_err().to_string().starts_with("--declaration-date: expected a day"));
}
