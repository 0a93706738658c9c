//! Lists of jobs and records, their pages, attempts, XML and the export. Each test names the line of the
//! contract that it stands for.

use serde_json::{Value, json};

use crate::world::{ISSUER, Mode, SCOPES, World, cancellation, invoice};

async fn send(world: &World, key: &str, number: &str) -> Value {
    let ask = world.ask("POST", "/v1/send-invoice").key(key).idempotency(&number.replace(' ', "-"));
    ask.json(&invoice(number)).await.expect(202)
}

fn texts<'a>(rows: &'a Value, member: &str) -> Vec<&'a str> {
    rows.as_array().unwrap().iter().map(|row| row[member].as_str().unwrap()).collect()
}

/// GET /jobs?status&type&nif&numSerie&from&to; GET /me/invoice-records?from&to&serie&tipo&nif&estado.
#[tokio::test]
async fn filters_narrow_the_lists_down() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    let sent = send(&world, &key, "A/1").await;
    world.job_when(&key, sent["jobId"].as_str().unwrap(), |job| job["status"] == "SUCCEEDED").await;
    world.set(Mode::Silence);
    send(&world, &key, "A 2").await;
    let cancel = world.ask("POST", "/v1/cancel-invoice").key(&key).idempotency("C");
    cancel.json(&cancellation("A/1")).await.expect(202);
    let other = world.account(json!({ "id": "other" }), SCOPES).await;

    let jobs = |query: &str| world.ask("GET", &format!("/v1/jobs?{query}")).key(&key).send();
    for (query, wanted) in [
        ("", vec!["A/1", "A 2", "A/1"]),
        ("status=SUCCEEDED", vec!["A/1"]),
        ("status=DEAD", vec![]),
        ("type=CANCEL_INVOICE", vec!["A/1"]),
        ("type=SEND_INVOICE", vec!["A 2", "A/1"]),
        ("nif=B12345674&type=SEND_INVOICE", vec!["A 2", "A/1"]),
        ("nif=A58818501", vec![]),
        ("numSerie=A%2F1", vec!["A/1", "A/1"]),
        ("numSerie=A+2", vec!["A 2"]),
        ("from=2000-01-01&to=2999-01-01&status=SUCCEEDED", vec!["A/1"]),
        ("to=2000-01-01T00:00:00Z", vec![]),
    ] {
        let answer = jobs(query).await.expect(200);
        assert_eq!(texts(&answer["jobs"], "numSerie"), wanted, "{query}");
        assert_eq!(answer["total"], wanted.len(), "{query}");
        assert_eq!(answer["nextCursor"], Value::Null, "{query}");
    }
    let many: Vec<_> = (0..33).map(|number| format!("p{number}=1")).collect();
    let answer = jobs(&many.join("&")).await;
    answer.fails(400, "validation_failed");
    assert_eq!(answer.fields(), [""], "they are not even looked at: {}", answer.body);
    let records = |query: &str| world.ask("GET", &format!("/v1/me/invoice-records?{query}")).key(&key).send();
    for (query, wanted) in [
        ("", vec!["ANULACION", "ALTA", "ALTA"]),
        ("tipo=ANULACION", vec!["ANULACION"]),
        ("serie=A%2F", vec!["ANULACION", "ALTA"]),
        ("estado=CORRECTO", vec!["ALTA"]),
        ("estado=INCORRECTO", vec![]),
        ("nif=B12345674&tipo=ALTA&from=01-01-2000", vec!["ALTA", "ALTA"]),
    ] {
        let answer = records(query).await.expect(200);
        assert_eq!(texts(&answer["records"], "tipo"), wanted, "{query}");
        assert_eq!(answer["total"], wanted.len(), "{query}");
    }
    let first = &records("estado=CORRECTO").await.expect(200)["records"][0];
    assert_eq!((first["nifEmisor"].as_str(), first["posicion"].as_u64()), (Some(ISSUER), Some(1)), "{first}");
    assert_eq!((&first["huella"], &first["huellaAnterior"]), (&sent["qrInfo"]["huella"], &Value::Null));
    assert_eq!((&first["id"], &first["jobId"]), (&sent["recordId"], &sent["jobId"]));
    assert!(first["csv"].is_string() && first["fechaHoraHusoGenRegistro"].is_string(), "{first}");

    for path in ["/v1/jobs", "/v1/me/invoice-records"] {
        let theirs = world.ask("GET", path).key(&other).send().await.expect(200);
        assert_eq!(theirs["total"], 0);
    }
    for (query, field) in [
        ("status=NEW", "status"),
        ("status=", "status"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("offset=-1", "offset"),
        ("cursor=x", "cursor"),
        ("cursor=00000000-0000-0000-0000-000000000000", "cursor"),
        ("cursor=00000000-0000-0000-0000-000000000000&offset=1", "offset"),
        ("from=yesterday", "from"),
        ("nif=B1", "nif"),
        ("estado=CORRECTO", "estado"),
        ("limit=1&limit=2", "limit"),
        ("status=%F", "status"),
    ] {
        let answer = jobs(query).await;
        answer.fails(400, "validation_failed");
        assert_eq!(answer.fields(), [field], "{query}");
    }
    // A cursor of another account is none.
    let cursor = sent["jobId"].as_str().unwrap();
    let answer = world.ask("GET", &format!("/v1/jobs?cursor={cursor}")).key(&other).send().await;
    answer.fails(400, "validation_failed");
}

/// Lists: limit (default 20, maximum 200) with cursor or offset; total, nextCursor and a Link header.
#[tokio::test]
async fn pages_are_linked_and_stable() {
    let world = World::new().await;
    world.set(Mode::Unreachable);
    let key = world.ready_account("acme").await;
    for number in 1..=22 {
        send(&world, &key, &format!("P-{number}")).await;
    }
    let page = world.ask("GET", "/v1/jobs").key(&key).send().await.expect(200);
    assert_eq!(page["jobs"].as_array().unwrap().len(), 20);

    let (mut path, mut seen) = ("/v1/jobs?type=SEND_INVOICE&limit=9".to_owned(), Vec::new());
    loop {
        let answer = world.ask("GET", &path).key(&key).send().await;
        let link = answer.header("link").to_owned();
        let body = answer.expect(200);
        seen.extend(texts(&body["jobs"], "numSerie").into_iter().map(str::to_owned));
        let Some(next) = link.strip_prefix('<') else {
            assert_eq!(body["nextCursor"], Value::Null);
            break;
        };
        let (next, relation) = next.split_once('>').unwrap();
        assert_eq!(relation, "; rel=\"next\"");
        assert!(next.contains(body["nextCursor"].as_str().unwrap()) && next.contains("type=SEND_INVOICE"));
        path = next.to_owned();
        // A row that is added meanwhile moves nothing.
        send(&world, &key, &format!("N-{}", seen.len())).await;
    }
    let wanted: Vec<String> = (1..=22).rev().map(|number| format!("P-{number}")).collect();
    assert_eq!(seen, wanted);

    let page = world.ask("GET", "/v1/jobs?limit=2&offset=2").key(&key).send().await.expect(200);
    assert_eq!(texts(&page["jobs"], "numSerie"), ["P-22", "P-21"]);
    // Without its version the route says both where it moved and what comes next.
    let old = world.ask("GET", "/jobs?limit=2").key(&key).send().await;
    assert_eq!(old.headers.get_all("link").iter().count(), 2);
}

/// Lists that the next test walks: who asks, where, and where the rows are.
const LISTS: &[(Caller, &str, &str, &str)] = &[
    (Caller::Child, "/v1/jobs", "/v1/jobs", "jobs"),
    (Caller::Child, "/v1/me/invoice-records", "/v1/me/invoice-records", "records"),
    (Caller::Partner, "/v1/partner/tenants", "/v1/partner/tenants", "tenants"),
    (Caller::Partner, "/v1/partner/tenants/{id}/jobs", "/v1/partner/tenants/a/jobs", "jobs"),
    (
        Caller::Partner,
        "/v1/partner/tenants/{id}/invoice-records",
        "/v1/partner/tenants/a/invoice-records",
        "records",
    ),
    (Caller::Partner, "/v1/partner/tenants/{id}/api-keys", "/v1/partner/tenants/a/api-keys", "apiKeys"),
    (Caller::Operator, "/v1/admin/tenants", "/v1/admin/tenants", "tenants"),
    (Caller::Operator, "/v1/admin/api-keys", "/v1/admin/api-keys", "apiKeys"),
    (Caller::Operator, "/v1/admin/jobs", "/v1/admin/jobs", "jobs"),
    (Caller::Operator, "/v1/admin/issuers", "/v1/admin/issuers", "issuers"),
    (
        Caller::Operator,
        "/v1/admin/tenants/{id}/webhook/deliveries",
        "/v1/admin/tenants/a/webhook/deliveries",
        "deliveries",
    ),
    (Caller::Operator, "/v1/admin/events", "/v1/admin/events", "events"),
];

#[derive(Clone, Copy)]
enum Caller {
    Child,
    Partner,
    Operator,
}

/// Lists: limit with cursor or offset; the rows, total, nextCursor and a Link header, whoever asks.
#[tokio::test]
async fn every_list_is_paged_alike() {
    let world = World::with(|config| config.webhook_loopback = true).await;
    world.set(Mode::Unreachable);
    let partner =
        world.account(json!({ "id": "firm" }), &["partner:tenants:read", "partner:tenants:write"]).await;
    let mut keys = Vec::new();
    for id in ["a", "b", "c"] {
        let child = json!({ "id": id, "parentTenantId": "firm", "allowedNif": ISSUER });
        let key = world.account(child, SCOPES).await;
        world.key(id, SCOPES).await;
        world.upload_sandbox_certificate(&key).await;
        for number in ["L-1", "L-2", "L-3"] {
            send(&world, &key, number).await;
        }
        keys.push(key);
    }
    world.key("a", SCOPES).await;
    let path = "/v1/admin/tenants/a/webhook";
    let webhook = json!({ "url": "http://127.0.0.1:1/", "secret": "s" });
    world.ask("PATCH", path).admin().json(&webhook).await.expect(200);
    for _ in 0..3 {
        world.ask("POST", &format!("{path}/ping")).admin().send().await.expect(200);
    }
    let get = |caller: Caller, path: &str| {
        let ask = world.ask("GET", path);
        match caller {
            Caller::Child => ask.key(&keys[0]),
            Caller::Partner => ask.key(&partner),
            Caller::Operator => ask.admin(),
        }
        .send()
    };
    for (caller, _, path, rows) in LISTS.iter().copied() {
        let whole = get(caller, &format!("{path}?limit=200")).await.expect(200);
        let all = whole[rows].as_array().unwrap();
        assert!(all.len() >= 3, "{path}: {whole}");
        assert_eq!((&whole["total"], &whole["nextCursor"]), (&json!(all.len()), &Value::Null), "{path}");
        let (mut next, mut seen) = (Some(format!("{path}?limit=2")), Vec::new());
        while let Some(at) = next {
            let answer = get(caller, &at).await;
            let link = answer.headers.get("link").map(|link| link.to_str().unwrap().to_owned());
            let page = answer.expect(200);
            assert!(page["total"].as_u64().unwrap() >= all.len() as u64, "{at}: {page}");
            assert_eq!(link.is_some(), page["nextCursor"] != Value::Null, "{at}: {page}");
            seen.extend(page[rows].as_array().unwrap().iter().cloned());
            next = link.map(|link| link.split_once('>').unwrap().0.trim_start_matches('<').to_owned());
        }
        let skipped = get(caller, &format!("{path}?limit=200&offset=1")).await.expect(200);
        let skipped = skipped[rows].as_array().unwrap();
        if rows == "events" {
            // Each reading is a line of its own, so that the log is longer every time.
            assert!(seen.ends_with(all) && skipped.ends_with(all), "{path}");
        } else {
            assert_eq!((seen.as_slice(), skipped.as_slice()), (all.as_slice(), &all[1..]), "{path}");
        }
        let both = get(caller, &format!("{path}?offset=1&cursor={}", "1")).await;
        both.fails(400, "validation_failed");
        let odd = get(caller, &format!("{path}?cursor=!")).await;
        odd.fails(400, "validation_failed");
        assert_eq!(odd.fields(), ["cursor"], "{path}");
    }
}

/// What takes a limit is a list, and is among those that the test before walks.
#[tokio::test]
async fn every_list_of_the_document_is_walked() {
    let world = World::new().await;
    let document = world.ask("GET", "/openapi.json").send().await.expect(200);
    let mut lists = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        let Some(parameters) = operations["get"]["parameters"].as_array() else { continue };
        let takes = |name: &str| parameters.iter().any(|parameter| parameter["name"] == name);
        if takes("limit") {
            assert!(takes("cursor") && takes("offset"), "{path}");
            let headers = &operations["get"]["responses"]["200"]["headers"];
            assert!(headers.get("Link").is_some(), "{path}: {headers}");
            lists.push(path.as_str());
        }
    }
    let mut walked: Vec<&str> = LISTS.iter().map(|(_, path, ..)| *path).collect();
    walked.sort_unstable();
    lists.sort_unstable();
    assert_eq!(lists, walked);
}

/// GET /jobs/:id/attempts and GET /jobs/:id/xml?part=request|response; GET /me/invoice-records/:id, /xml, /qr.
#[tokio::test]
async fn a_job_shows_its_attempts_and_bytes() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    world.set(Mode::Fault);
    let sent = send(&world, &key, "X-1").await;
    let job = sent["jobId"].as_str().unwrap();
    world.job_when(&key, job, |job| job["status"] == "FAILED").await;
    let get = |path: String| world.ask("GET", &path).key(&key).send();
    let attempts = get(format!("/v1/jobs/{job}/attempts")).await.expect(200);
    let [attempt] = attempts["attempts"].as_array().unwrap().as_slice() else { panic!("{attempts}") };
    assert_eq!((attempt["n"].as_u64(), attempt["outcome"].as_str()), (Some(1), Some("error")), "{attempt}");
    assert!(
        attempt["messageId"].is_string()
            && attempt["durationMs"].is_u64()
            && attempt["startedAt"].is_string()
    );

    get(format!("/v1/jobs/{job}/xml?part=response")).await.fails(404, "not_found");
    let answer = get(format!("/v1/jobs/{job}/xml?part=answer")).await;
    answer.fails(400, "validation_failed");
    let request = get(format!("/v1/jobs/{job}/xml?part=request")).await;
    assert_eq!(request.header("content-type"), "application/xml");
    let text = String::from_utf8(request.bytes).unwrap();
    assert!(text.contains(sent["qrInfo"]["huella"].as_str().unwrap()), "{text}");

    world.set(Mode::Sandbox);
    let accepted = send(&world, &key, "X-2").await;
    let job = accepted["jobId"].as_str().unwrap();
    world.job_when(&key, job, |job| job["status"] == "SUCCEEDED").await;
    let line = get(format!("/v1/jobs/{job}/xml?part=response")).await;
    assert!(String::from_utf8(line.bytes).unwrap().contains("Correcto"));
    let record = accepted["recordId"].as_str().unwrap();
    let shown = get(format!("/v1/me/invoice-records/{record}")).await.expect(200);
    assert_eq!((&shown["jobId"], shown["estado"].as_str()), (&accepted["jobId"], Some("CORRECTO")));
    let by_record = get(format!("/v1/me/invoice-records/{record}/xml")).await.bytes;
    assert_eq!(by_record, get(format!("/v1/jobs/{job}/xml")).await.bytes);
    let qr = get(format!("/v1/me/invoice-records/{record}/qr?format=txt")).await.bytes;
    assert_eq!(String::from_utf8(qr).unwrap(), accepted["qrInfo"]["qrText"].as_str().unwrap());

    let other = world.account(json!({ "id": "other" }), SCOPES).await;
    for path in [
        format!("/v1/jobs/{job}/attempts"),
        format!("/v1/jobs/{job}/xml"),
        format!("/v1/me/invoice-records/{record}"),
        format!("/v1/me/invoice-records/{record}/xml"),
        format!("/v1/me/invoice-records/{record}/qr"),
    ] {
        world.ask("GET", &path).key(&other).send().await.fails(404, "not_found");
    }
}

/// GET /me/invoice-records/export?format=ndjson|xml&from&to, streamed, the exact bytes.
#[tokio::test]
async fn the_export_has_every_record_with_its_bytes() {
    let world = World::new().await;
    world.set(Mode::Unreachable);
    let key = world.ready_account("acme").await;
    let mut records = Vec::new();
    for number in 1..=250 {
        records.push(send(&world, &key, &format!("E-{number}")).await["recordId"].clone());
    }
    let export =
        |query: &str| world.ask("GET", &format!("/v1/me/invoice-records/export{query}")).key(&key).send();
    let ndjson = export("").await;
    assert_eq!(ndjson.header("content-type"), "application/x-ndjson");
    let lines: Vec<Value> = std::str::from_utf8(&ndjson.bytes)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.iter().map(|line| line["id"].clone()).collect::<Vec<_>>(), records);
    for (line, position) in lines.iter().zip(1_u64..) {
        assert_eq!(line["posicion"], position);
    }
    let path = format!("/v1/me/invoice-records/{}/xml", records[249].as_str().unwrap());
    let exact = String::from_utf8(world.ask("GET", &path).key(&key).send().await.bytes).unwrap();
    assert_eq!(lines[249]["xml"], exact);

    let xml = String::from_utf8(export("?format=xml").await.bytes).unwrap();
    assert!(xml.starts_with("<?xml") && xml.ends_with("</Registros>\n"));
    assert!(xml.contains(&exact));
    assert_eq!(xml.matches("<RegistroAlta").count(), 250);

    assert!(export("?from=2999-01-01").await.bytes.is_empty());
    assert!(export("?to=2000-01-01").await.bytes.is_empty());
    assert_eq!(export("?from=2000-01-01&to=2999-01-01").await.bytes, ndjson.bytes);
    export("?format=csv").await.fails(400, "validation_failed");
}
