use crate::place::{PASSPHRASE, Place, invoice, run};

#[tokio::test(flavor = "multi_thread")]
async fn an_account_works_from_the_command_line() {
    let place = Place::start().await;
    let (code, status) = run(place.tool(), &["cert", "status"]).await;
    assert_eq!((code, &status["hasCertificate"]), (1, &false.into()));
    let (code, findings) = run(place.tool(), &["doctor"]).await;
    assert_eq!(code, 1, "{findings}");
    assert_eq!(findings["layers"].as_array().unwrap().last().unwrap()["layer"], "certificate");

    let mut upload = place.tool();
    upload.env("VERIFACTU_PASSPHRASE", "other");
    assert_eq!(run(upload, &["cert", "upload", "issuer.p12"]).await.0, 3);
    let mut upload = place.tool();
    upload.env("VERIFACTU_PASSPHRASE", PASSPHRASE);
    assert_eq!(run(upload, &["cert", "upload", "issuer.p12"]).await.0, 0);
    let (code, findings) = run(place.tool(), &["doctor"]).await;
    assert_eq!(code, 0, "{findings}");

    std::fs::write(place.data.path().join("one.json"), invoice("1").to_string()).unwrap();
    let (code, sent) = run(place.tool(), &["send", "one.json", "--idempotency-key", "k1"]).await;
    assert_eq!((code, &sent["replayed"]), (0, &false.into()), "{sent}");
    let id = sent["answer"]["jobId"].as_str().unwrap();
    let (code, job) = run(place.tool(), &["wait", id, "--patience", "60"]).await;
    assert_eq!((code, &job["status"]), (0, &"SUCCEEDED".into()), "{job}");
    assert_eq!(run(place.tool(), &["job", id]).await.0, 0);
    let (code, again) = run(place.tool(), &["send", "one.json", "--idempotency-key", "k1"]).await;
    assert_eq!((code, &again["replayed"]), (0, &true.into()));

    // A service that does not answer: whoever did not choose the key has to learn it, to repeat the request.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut unanswered = place.tool();
    unanswered.env("VERIFACTU_URL", format!("http://{}", silent.local_addr().unwrap()));
    let (code, failure) = run(unanswered, &["send", "one.json", "--timeout", "1"]).await;
    assert_eq!((code, failure["idempotencyKey"].is_string()), (4, true), "{failure}");

    assert!(run(place.tool(), &["qr", id]).await.1["qr"].as_str().unwrap().contains("numserie=1"));
    assert!(
        run(place.tool(), &["qr", id, "--format", "svg"]).await.1["qr"].as_str().unwrap().starts_with("<svg")
    );
    assert_eq!(run(place.tool(), &["qr", id, "--format", "png", "--out", "qr.png"]).await.0, 0);
    assert!(std::fs::read(place.data.path().join("qr.png")).unwrap().starts_with(b"\x89PNG"));

    let (code, record) = run(place.tool(), &["records", "--state", "correcto", "--limit", "1"]).await;
    assert_eq!((code, &record["numSerie"], &record["posicion"]), (0, &"1".into(), &1.into()));
    for format in ["ndjson", "xml"] {
        assert_eq!(run(place.tool(), &["export", "--format", format, "--out", "all"]).await.0, 0);
        let (code, walked) = run(place.tool(), &["verify-chain", "all"]).await;
        assert_eq!(code, 0, "{format}: {walked}");
    }
    let (code, plan) = run(place.tool(), &["plan"]).await;
    assert_eq!((code, &plan["usage"]["invoices"]), (0, &1.into()));
    let (nif, date) = (invoice("1")["nif"].clone(), invoice("1")["fecha"].clone());
    let (nif, date) = (nif.as_str().unwrap(), date.as_str().unwrap());
    for source in [&[][..], &["--ledger"]] {
        let found = run(place.tool(), &[&["lookup", nif, "1", date], source].concat()).await;
        assert_eq!((found.0, &found.1["estado"]), (0, &"CORRECTO".into()), "{}", found.1);
    }
    let mut nothing = place.tool();
    nothing.args(["lookup", nif, "2", date]);
    let nothing = tokio::task::spawn_blocking(move || nothing.output().unwrap()).await.unwrap();
    assert_eq!(nothing.status.code(), Some(1), "{nothing:?}");
    assert_eq!(run(place.tool(), &["nif", nif, "TALLERES EBRO SL"]).await.0, 0);
    assert_eq!(run(place.tool(), &["nif", "11111111H", "NADIE"]).await.0, 1);

    // A record signed with the same certificate, and one that was changed afterwards.
    let chain = harness::records::chain(1);
    std::fs::write(place.data.path().join("record.xml"), verifactu_core::xml::record::to_vec(&chain[0]))
        .unwrap();
    let mut sign = place.tool();
    sign.env("VERIFACTU_PASSPHRASE", PASSPHRASE);
    let (code, signed) = run(sign, &["sign", "record.xml", "--pfx", "issuer.p12"]).await;
    assert_eq!(code, 0, "{signed}");
    let signed = signed["xml"].as_str().unwrap();
    for (text, expected) in [(signed.to_owned(), 0), (signed.replace("2026/A", "2026/B"), 1)] {
        std::fs::write(place.data.path().join("signed.xml"), text).unwrap();
        assert_eq!(run(place.tool(), &["verify-signature", "signed.xml"]).await.0, expected);
    }

    let mut stranger = place.tool();
    stranger.env("VERIFACTU_KEY", "vf_unknown");
    let (code, findings) = run(stranger, &["doctor"]).await;
    assert_eq!((code, &findings["layers"].as_array().unwrap().last().unwrap()["layer"]), (1, &"key".into()));
    assert!(!findings.to_string().contains("vf_unknown"));
    place.stop().await;
}
