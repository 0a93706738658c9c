//! The REST contract, line by line: every route, every code of failure and every limit, with its rule and
//! the tests that drive it through HTTP. What the OpenAPI document or the settings have and a table lacks
//! fails, and so does a row that is left over or names a test that is not there.

mod routes;

use std::collections::{BTreeMap, BTreeSet};

use harness::functions::{body, is_test};
use serde_json::Value;
use verifactu_server::config::{Flags, effective};

use routes::ROUTES;

/// What stands for the line, its rule, and the tests, which are this suite's unless they name their folder.
type Row = (&'static str, &'static str, &'static [&'static str]);

const WRONG: &str = "errors::every_wrong_request_is_told_what_is_wrong";
const TROUBLE: &str = "errors::an_account_in_trouble_is_told_so";

/// The tests of a code provoke it in their own words.
const CODES: &[Row] = &[
    (
        "validation_failed",
        "400 naming each field",
        &[WRONG, "contract::every_operation_refuses_what_all_refuse"],
    ),
    ("invalid_json", "400 for no JSON, a key twice, or more than 32 levels", &[WRONG]),
    ("idempotency_key_missing", "400 without a key", &[WRONG]),
    ("idempotency_key_invalid", "400 for any but 1 to 128 visible characters", &[WRONG]),
    ("huella_mismatch", "400 when the caller's huella does not follow from its data", &[WRONG]),
    (
        "auth_ambiguous",
        "400 for two keys that differ",
        &[WRONG, "web_accounts::the_back_end_acts_for_web_accounts_alone"],
    ),
    ("api_key_missing", "401 without a key", &[WRONG, "operator::nobody_else_gets_in"]),
    ("api_key_invalid", "401 for a key of nobody", &[WRONG, "operator::nobody_else_gets_in"]),
    ("api_key_revoked", "401", &[TROUBLE, "operator::keys_are_listed_and_revoked"]),
    ("api_key_expired", "401", &[TROUBLE]),
    (
        "plan_limit_reached",
        "402 with limit, use and the day of reset",
        &["plans::a_plan_counts_new_invoices"],
    ),
    ("insufficient_scope", "403 naming the scope", &["contract::every_scope_is_asked_for"]),
    ("account_suspended", "403 for writes alone", &[TROUBLE, "operator::a_suspended_account_only_reads"]),
    (
        "not_found",
        "404, also for what is another's",
        &[WRONG, "errors::nobody_sees_what_belongs_to_another_account"],
    ),
    ("method_not_allowed", "405 with Allow", &[WRONG, "contract::every_operation_refuses_what_all_refuse"]),
    (
        "request_timeout",
        "408 for a body that does not arrive",
        &["limits::slow_callers_lose_their_connection"],
    ),
    (
        "chain_continuity",
        "409 with the huella expected and the one received",
        &["records::records_make_one_chain_that_proves_whole"],
    ),
    (
        "chain_state",
        "409 for a first record where records are",
        &["records::records_make_one_chain_that_proves_whole"],
    ),
    (
        "correction_conflict",
        "409 for flags against what the ledger knows",
        &["idempotency::a_dead_job_stays_dead"],
    ),
    (
        "idempotency_conflict",
        "409 for a key with another body",
        &["idempotency::a_job_that_waits_answers_again_with_itself"],
    ),
    ("idempotency_job_dead", "409 with the dead job", &["idempotency::a_dead_job_stays_dead"]),
    (
        "invoice_already_submitted",
        "409 with the first job",
        &["idempotency::a_job_that_succeeded_answers_again_with_its_result"],
    ),
    (
        "issuer_held",
        "409 saying why",
        &["operator::a_held_job_is_not_retried", "issuers::a_held_issuers_job_is_not_retried"],
    ),
    (
        "job_not_retryable",
        "409 for a job that is not FAILED",
        &["operator::a_failed_job_is_found_and_retried_by_hand"],
    ),
    ("tenant_exists", "409", &[WRONG, "partners::children_are_made_listed_and_changed"]),
    (
        "payload_too_large",
        "413 before the key is looked at",
        &["limits::bodies_have_a_limit_however_they_come"],
    ),
    ("unsupported_media_type", "415", &[WRONG, "certificates::a_form_does_as_well_as_json"]),
    (
        "tenant_certificate_required",
        "422 where certificates are required and there is none",
        &["certificates::where_certificates_are_required_no_invoice_goes_without"],
    ),
    ("allowed_nif_mismatch", "422 for another issuer than the account's", &[WRONG]),
    (
        "cert_nif_mismatch",
        "422 for another holder than the account's",
        &["certificates::each_kind_of_file_has_its_answer"],
    ),
    ("wrong_passphrase", "422", &["certificates::each_kind_of_file_has_its_answer"]),
    (
        "malformed",
        "422 for a file without key or certificate",
        &["certificates::each_kind_of_file_has_its_answer"],
    ),
    (
        "legacy_rc2",
        "422 for a file that cannot be converted",
        &["certificates::each_kind_of_file_has_its_answer"],
    ),
    ("expired", "422 for a certificate of the past", &["certificates::each_kind_of_file_has_its_answer"]),
    ("rate_limited", "429 with the seconds to wait", &["rates::checks_come_in_their_order"]),
    ("headers_too_large", "431", &["limits::headers_have_a_limit"]),
    ("internal_error", "500 without the inside", &[TROUBLE]),
    (
        "authority_error",
        "502 with the job, which goes on by itself",
        &[
            "waiting::an_answer_waits_for_the_authority",
            "authority::an_authority_that_fails_is_told_from_one_that_is_silent",
        ],
    ),
    (
        "authority_timeout",
        "504 with the job",
        &["waiting::silence_is_a_time_out_and_no_answer_in_time_is_a_202"],
    ),
    (
        "overloaded",
        "503 after a wait for one's turn",
        &["certificates::an_upload_that_gets_no_turn_is_told_so"],
    ),
    ("store_unavailable", "503, and the next request may succeed", &[TROUBLE]),
    (
        "clock_skew",
        "503 while the chain's last record lies ahead",
        &["records::a_clock_behind_the_chain_is_told"],
    ),
    (
        "shutting_down",
        "503 for what arrives after the stop",
        &["stop::a_request_after_the_stop_is_sent_elsewhere"],
    ),
];

const KINDS: &str = "rates::each_kind_of_calls_has_a_rate_of_its_own";
const SLOW: &str = "limits::slow_callers_lose_their_connection";
const WAITS: &str = "tests/engine/table::row_1_refused_records_and_headers_burn_and_take_the_eight_waits";

/// A setting, its default, and the tests.
const LIMITS: &[Row] = &[
    ("limit-body", "256 KiB", &["limits::bodies_have_a_limit_however_they_come"]),
    ("limit-batch", "8 MiB", &["batches::a_batch_has_bounds"]),
    ("limit-certificate", "128 KiB", &["certificates::each_kind_of_file_has_its_answer"]),
    ("limit-bodies", "64 MiB", &["limits::bodies_share_their_room"]),
    ("limit-headers", "16 KiB", &["limits::headers_have_a_limit"]),
    ("limit-header-read", "10s", &[SLOW]),
    ("limit-body-read", "30s", &[SLOW]),
    ("limit-write-stall", "30s", &["limits::who_does_not_read_the_answers_is_cut_off"]),
    ("limit-handshake", "10s", &["stop::a_service_speaks_tls_by_itself"]),
    ("limit-connections", "4096", &["limits::connections_above_their_number_wait_their_turn"]),
    ("limit-children", "10000", &["limits::accounts_have_so_many_children_and_keys"]),
    ("limit-keys", "1000", &["limits::accounts_have_so_many_children_and_keys"]),
    ("rate-writes", "600/100", &[KINDS]),
    ("rate-batches", "60", &[KINDS]),
    ("rate-job-reads", "1200", &[KINDS]),
    ("rate-reads", "300", &[KINDS]),
    ("rate-authority", "60", &[KINDS]),
    ("rate-certificates", "10", &[KINDS]),
    ("rate-wrong-keys", "20", &["rates::wrong_keys_have_a_limit_that_no_proved_key_feels"]),
    ("plans", "free=50,pro=5000,enterprise=50000", &["plans::a_plan_counts_new_invoices"]),
    ("billing", "false", &["plans::without_billing_nothing_is_refused"]),
    ("retry-waits", "30s,2m,10m,30m,2h,6h,12h,24h", &[WAITS]),
    ("retry-jitter-percent", "20", &[WAITS]),
    (
        "authority-connect",
        "10s",
        &["tests/wire/transport::a_handshake_that_never_ends_is_a_connection_not_made"],
    ),
    (
        "authority-exchange",
        "60s",
        &["tests/wire/transport::after_the_message_has_left_every_failure_is_in_doubt"],
    ),
    ("authority-answer", "16 MiB", &["tests/wire/transport::a_gigabyte_is_not_taken_in"]),
    (
        "lease",
        "60s",
        &[
            "tests/queue/faults::a_lease_belongs_to_one_process",
            "verifactu-core/src/testing/queue::q4_a_lease_runs_out",
            "verifactu-core/src/testing/queue::q5_a_lease_can_be_prolonged",
        ],
    ),
];

fn full(test: &str) -> String {
    if test.contains('/') { test.to_owned() } else { format!("tests/api/{test}") }
}

/// Fails for what has no row or several, for rows of nothing, and for rows without tests that exist.
fn assert_covered(rows: &[Row], wanted: BTreeSet<String>) {
    let mut findings: Vec<String> = Vec::new();
    let mut known = BTreeSet::new();
    for (name, rule, tests) in rows {
        if !known.insert((*name).to_owned()) {
            findings.push(format!("{name} has two rows"));
        }
        if rule.is_empty() || tests.is_empty() {
            findings.push(format!("{name} has no rule or no test"));
        }
        let gone = tests.iter().filter(|test| !is_test(&full(test)));
        findings.extend(gone.map(|test| format!("{name}: there is no test {test}")));
    }
    findings.extend(wanted.difference(&known).map(|name| format!("{name} has no row")));
    findings.extend(known.difference(&wanted).map(|name| format!("{name} is a row of nothing")));
    assert!(findings.is_empty(), "{findings:#?}");
}

fn document() -> Value {
    serde_json::from_str(verifactu_server::openapi::document()).unwrap()
}

#[test]
fn every_route_has_its_case() {
    let document = document();
    let of = |(path, methods): (&String, &Value)| -> Vec<String> {
        methods
            .as_object()
            .unwrap()
            .keys()
            .map(|method| format!("{} {path}", method.to_uppercase()))
            .collect()
    };
    assert_covered(ROUTES, document["paths"].as_object().unwrap().iter().flat_map(of).collect());
}

/// The statuses are those that the document gives the codes, which the rules begin with.
#[test]
fn every_code_has_its_case() {
    let document = document();
    let mut statuses = BTreeMap::from([("method_not_allowed".to_owned(), "405".to_owned())]);
    for operation in
        document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values())
    {
        for (status, response) in operation["responses"].as_object().unwrap() {
            let path = response["$ref"].as_str().unwrap_or_default().trim_start_matches('#');
            let response = document.pointer(path).unwrap();
            let codes = &response["content"]["application/json"]["schema"]["properties"]["code"]["enum"];
            for code in codes.as_array().into_iter().flatten() {
                statuses.insert(code.as_str().unwrap().to_owned(), status.clone());
            }
        }
    }
    assert_covered(CODES, statuses.keys().cloned().collect());
    for (code, rule, tests) in CODES {
        assert!(rule.starts_with(&statuses[*code]), "{code} is {}", statuses[*code]);
        for test in *tests {
            let provokes = body(&full(test)).unwrap().contains(&format!("\"{code}\""));
            assert!(provokes, "{test} does not speak of {code}");
        }
    }
}

#[test]
fn every_limit_has_its_case_and_its_default() {
    let settings = effective(&Flags::default()).unwrap();
    let is_limit = |name: &str| {
        let known = LIMITS.iter().any(|(limit, ..)| *limit == name);
        known || name.starts_with("limit-") || name.starts_with("rate-")
    };
    let limits = settings.iter().filter(|setting| is_limit(setting.name));
    assert_covered(LIMITS, limits.map(|setting| setting.name.to_owned()).collect());
    for (name, default, _) in LIMITS {
        let found = settings.iter().find(|setting| setting.name == *name).unwrap();
        assert_eq!(found.value.as_deref(), Some(*default), "{name}");
    }
}
