//! Every decision of ARCHITECTURE.md has tests, and the tests that are named here exist.

use std::collections::BTreeSet;

use harness::functions::{is_test, tests};

use crate::{none, source::root};

/// The number of the decision, and the functions that hold it: the file's path without its ending,
/// and the function.
const HELD_BY: &[(u32, &[&str])] = &[
    (
        1,
        &[
            "tests/engine/halving::the_order_holds_during_the_search",
            "tests/engine/outcomes::an_authority_out_of_reach_delays_and_burns_nothing",
            "verifactu-core/src/testing/ledger/selection::l31_the_run_ends_before_a_barrier",
        ],
    ),
    (
        2,
        &[
            "tests/engine/outcomes::an_invoice_and_its_cancellation_are_registered_once_in_one_chain",
            "tests/engine/pace::late_records_travel_in_messages_of_their_own",
            "tests/engine/paths::a_slot_that_opens_early_is_for_full_messages_alone",
        ],
    ),
    (
        3,
        &[
            "tests/engine/outcomes::a_refused_correction_that_is_overtaken_is_never_sent_again",
            "tests/engine/paths::a_refused_correction_is_never_sent_after_a_later_one_of_another_chain",
        ],
    ),
    (
        4,
        &[
            "tests/engine/doubt::lost_answers_settle_right_whatever_was_stored",
            "tests/engine/doubt::a_record_of_somebody_else_is_told_and_not_taken_for_ours",
            "tests/engine/hostile::whatever_comes_back_every_record_settles_right",
            "tests/engine/outcomes::without_the_query_a_doubt_stays_and_is_never_given_up",
            "tests/engine/outcomes::a_process_that_stops_after_sending_finds_out_what_became_of_it",
            "tests/engine/troubles::an_answer_that_a_store_never_took_is_found_out_again",
        ],
    ),
    (
        5,
        &[
            "tests/engine/table::row_1_refused_records_and_headers_burn_and_take_the_eight_waits",
            "tests/engine/table::row_2_an_authority_that_errs_burns_and_is_waited_for_an_hour_at_most",
            "tests/engine/table::row_3_no_answer_burns_and_is_in_doubt_until_resolved",
            "tests/engine/table::row_4_never_reached_burns_nothing_and_waits_longer_each_time",
            "tests/engine/table::row_5_a_certificate_that_is_not_let_in_holds_the_chain",
            "tests/engine/table::row_6_a_suspended_presenter_is_held_in_all_its_chains",
        ],
    ),
    (
        6,
        &[
            "tests/api/operator::a_failed_job_is_found_and_retried_by_hand",
            "tests/api/operator::a_held_job_is_not_retried",
        ],
    ),
    (
        7,
        &[
            "tests/engine/pace::the_pace_is_kept_and_nobody_starves",
            "tests/engine/pace::a_wait_survives_a_restart_and_slows_no_other_issuer",
            "tests/engine/pace::a_thousand_waiting_records_do_not_wait_and_take_nobody_along",
            "tests/engine/troubles::a_backlog_of_many_messages_takes_turns_with_the_other_chains",
        ],
    ),
    (
        8,
        &[
            "tests/engine/pace::late_records_travel_in_messages_of_their_own",
            "tests/engine/outcomes::late_records_say_so_and_are_not_flagged",
            "tests/sandbox/records::the_clock",
        ],
    ),
    (
        9,
        &[
            "tests/engine/halving::one_of_a_thousand_is_isolated_and_the_others_go_through",
            "tests/engine/halving::the_search_outlives_the_process",
            "tests/engine/halving::a_refused_header_is_never_halved",
        ],
    ),
    (10, &["tests/engine/hostile::whatever_comes_back_every_record_settles_right"]),
    (
        11,
        &[
            "verifactu-core/src/testing/ledger/append::l03_chains_are_apart",
            "verifactu-core/src/testing/ledger/append::l11_a_minted_installation_is_kept",
            "tests/engine/place::the_number_of_issuers_is_stated",
            "tests/api/records::a_system_of_the_callers_own_needs_leave",
        ],
    ),
    (
        12,
        &[
            "tests/engine/place::times_never_go_back_along_a_chain",
            "tests/engine/clock::a_clock_that_is_set_costs_no_record_and_no_order",
        ],
    ),
    (
        13,
        &[
            "tests/chain/literals::what_is_written_is_read_back_and_holds",
            "tests/chain/written::the_huella_covers_the_text_of_the_xml",
        ],
    ),
    (
        14,
        &[
            "tests/engine/place::replays_and_repeated_invoices_append_nothing",
            "verifactu-core/src/testing/ledger/append::l06_an_invoice_is_submitted_once",
            "verifactu-core/src/testing/ledger/append::l19_records_of_an_invoice_see_one_another",
            "tests/engine/paths::an_invoice_that_came_to_nothing_can_be_corrected",
        ],
    ),
    (
        15,
        &[
            "tests/engine/place::flags_follow_what_the_authority_will_hold",
            "tests/engine/paths::a_correction_made_while_the_refused_record_is_under_way_counts_it_as_held",
            "tests/ledger/postgres/races::a_repeat_and_a_new_invoice_know_of_each_other",
        ],
    ),
    (
        16,
        &[
            "tests/chain/written::a_record_is_the_same_inside_and_outside_a_message",
            "tests/signing/signature::a_signed_record_is_the_same_inside_its_envelope",
            "verifactu-core/src/testing/ledger/dispatch::l23_the_first_bytes_stay",
        ],
    ),
    (17, &["tests/ledger/sqlite/damage::a_ledger_belongs_to_one_environment"]),
    (18, &["tests/rules/rules::classification", "tests/rules/bodies::further_spellings_say_the_same"]),
    (
        19,
        &[
            "tests/api/operator::the_representative_stands_in_the_header",
            "tests/api/operator::the_last_day_of_verifactu_stands_in_the_header",
            "tests/engine/outcomes::a_last_day_that_the_authority_no_longer_takes_is_left_out",
        ],
    ),
    (
        20,
        &[
            "tests/rules/json::equal_numbers_have_one_fingerprint",
            "tests/rules/json::canonical_form_orders_and_escapes_as_rfc_8785",
        ],
    ),
    (
        21,
        &[
            "tests/api/plans::a_plan_counts_new_invoices",
            "tests/api/plans::the_last_place_of_a_plan_is_given_once",
            "verifactu-core/src/testing/ledger/append::l08_the_plan_counts_new_invoices",
        ],
    ),
    (
        22,
        &[
            "tests/api/operator::a_suspended_account_only_reads",
            "tests/api/partners::suspension_blocks_the_writes_of_whom_it_names",
        ],
    ),
    (
        23,
        &[
            "tests/api/waiting::an_answer_waits_for_the_authority",
            "tests/api/waiting::silence_is_a_time_out_and_no_answer_in_time_is_a_202",
        ],
    ),
    (
        24,
        &[
            "tests/signing/certificate::among_several_identities_the_wanted_holder_goes_first_then_the_newest",
            "tests/api/certificates::jobs_wait_for_a_certificate_and_go_on_with_it",
            "tests/api/certificates::where_certificates_are_required_no_invoice_goes_without",
            "tests/api/config::certificates_are_required_everywhere_but_in_the_sandbox",
        ],
    ),
    (25, &["tests/api/operator::a_failed_job_is_found_and_retried_by_hand"]),
    (26, &["tests/api/lists::the_export_has_every_record_with_its_bytes"]),
    (
        27,
        &[
            "tests/rules/rules::a_rule_can_be_demoted_unless_the_specification_lists_it",
            "tests/api/metrics::what_a_demoted_rule_lets_pass_is_told",
        ],
    ),
    (
        28,
        &[
            "verifactu-core/src/testing/webhooks::w4_a_delivery_is_taken_once",
            "tests/api/webhooks::an_attempt_that_fails_is_logged_and_not_repeated",
        ],
    ),
    (29, &["tests/sandbox/differential::core_and_sandbox_read_the_same_rules"]),
    (
        30,
        &[
            "tests/api/rates::checks_come_in_their_order",
            "tests/api/idempotency::only_an_accepted_request_uses_its_key_up",
        ],
    ),
    (
        31,
        &[
            "tests/api/rates::each_kind_of_calls_has_a_rate_of_its_own",
            "tests/api/rates::wrong_keys_have_a_limit_that_no_proved_key_feels",
            "tests/api/rates::trusted_proxies_tell_where_a_request_comes_from",
            "tests/api/batches::a_batch_is_many_requests",
        ],
    ),
    (
        32,
        &[
            "tests/api/web_accounts::a_web_account_is_made_once_and_shows_no_key",
            "tests/api/web_accounts::the_back_end_acts_for_web_accounts_alone",
            "tests/api/web_accounts::acting_for_an_account_is_written_down_and_can_be_ended",
        ],
    ),
    (33, &["tests/api/keeping::messages_attempts_and_deliveries_are_forgotten_after_ninety_days"]),
    (
        34,
        &[
            "tests/processes/restore::an_old_backup_forks_nothing",
            "tests/processes/restore::an_old_dump_forks_nothing",
        ],
    ),
    (
        35,
        &[
            "tests/api/declaration::the_declaration_has_its_items_in_order_and_in_three_forms",
            "tests/api/declaration::the_declaration_is_checked_at_the_start",
        ],
    ),
    (
        36,
        &[
            "tests/api/authority::an_invoice_is_looked_up_at_the_authority_and_in_the_ledger",
            "tests/api/authority::the_month_is_that_of_the_operation",
            "tests/api/authority::an_authority_that_fails_is_told_from_one_that_is_silent",
        ],
    ),
    (37, &["tests/api/issuers::a_suspended_presenter_is_held_in_all_its_accounts"]),
];

#[test]
fn every_decision_is_held_by_tests_that_exist() {
    let document = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let section = document.split_once("\n## Decisions\n").unwrap().1;
    let section = section.split("\n## ").next().unwrap();
    let stated: BTreeSet<u32> =
        section.lines().filter_map(|line| line.split_once(". ")?.0.parse().ok()).collect();
    assert!(!stated.is_empty(), "the decisions were not read");
    let held: BTreeSet<u32> = HELD_BY.iter().map(|(number, _)| *number).collect();
    let mut findings: Vec<String> =
        stated.symmetric_difference(&held).map(|number| format!("decision {number}")).collect();

    for (number, tests) in HELD_BY {
        if tests.is_empty() {
            findings.push(format!("decision {number} has no test"));
        }
        let gone = tests.iter().filter(|test| !is_test(test));
        findings.extend(gone.map(|test| format!("decision {number}: there is no test {test}")));
    }
    none("Every decision of ARCHITECTURE.md is held by tests:", &findings);
}

#[test]
fn tests_are_told_from_other_functions() {
    let code = "fn a() {}\n#[test]\nfn b() {}\n#[tokio::test(flavor = \"x\")]\n#[allow(x)]\nasync fn c() {}\n\
                pub async fn l01_d(x: X) {}\npub async fn e() {}\n";
    assert_eq!(tests(code), ["b", "c", "l01_d"]);
}
