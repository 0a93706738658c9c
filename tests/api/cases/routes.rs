//! The routes.

use super::Row;

/// Beside these, each route is asked for what all refuse: `contract::every_operation_refuses_what_all_refuse`.
pub(super) const ROUTES: &[Row] = &[
    (
        "POST /v1/send-invoice",
        "202 with job and QR; a replay says so; the authority's word with Prefer: wait",
        &[
            "idempotency::a_new_key_is_accepted_with_all_that_can_be_printed",
            "idempotency::a_job_that_waits_answers_again_with_itself",
            "waiting::an_answer_waits_for_the_authority",
            "corrections::every_cell_of_the_table_of_altas",
        ],
    ),
    (
        "POST /v1/cancel-invoice",
        "the same for a cancellation, in the chain of its invoice",
        &[
            "records::records_make_one_chain_that_proves_whole",
            "corrections::every_cell_of_the_table_of_annulments",
        ],
    ),
    (
        "POST /v1/invoices/preview",
        "the record that would be made; nothing is kept",
        &["batches::a_preview_leaves_no_trace"],
    ),
    (
        "GET /v1/invoices/lookup",
        "an invoice or a month, at the authority or in the ledger",
        &[
            "authority::an_invoice_is_looked_up_at_the_authority_and_in_the_ledger",
            "authority::a_month_is_paged_by_the_authoritys_key",
            "authority::what_a_lookup_needs_is_told_by_name",
        ],
    ),
    (
        "POST /v1/verify-nif",
        "one taxpayer or up to a hundred, as the census knows them",
        &["authority::taxpayers_are_checked_one_by_one_or_together"],
    ),
    (
        "POST /v1/batches",
        "1 to 1000 items, each with its own key and outcome, in their order",
        &["batches::a_batch_is_many_requests", "batches::a_batch_has_bounds"],
    ),
    ("GET /v1/batches/{id}", "where its items stand", &["batches::a_batch_is_many_requests"]),
    (
        "GET /v1/jobs",
        "pages, the newest first, narrowed by filters",
        &["lists::filters_narrow_the_lists_down", "lists::pages_are_linked_and_stable"],
    ),
    (
        "GET /v1/jobs/{id}",
        "the job with its result, for its account alone",
        &[
            "waiting::an_answer_waits_for_the_authority",
            "errors::nobody_sees_what_belongs_to_another_account",
        ],
    ),
    ("GET /v1/jobs/{id}/attempts", "what was tried", &["lists::a_job_shows_its_attempts_and_bytes"]),
    (
        "GET /v1/jobs/{id}/xml",
        "the exact bytes, and the answer's line",
        &["lists::a_job_shows_its_attempts_and_bytes"],
    ),
    (
        "GET /v1/jobs/{id}/qr",
        "SVG, PNG or text, before the authority has answered too",
        &["records::a_qr_comes_in_three_forms_before_the_authority_has_answered"],
    ),
    (
        "GET /v1/me",
        "the account behind any key",
        &[
            "errors::nobody_sees_what_belongs_to_another_account",
            "web_accounts::the_back_end_acts_for_web_accounts_alone",
        ],
    ),
    ("GET /v1/me/chains", "the account's chains", &["records::records_make_one_chain_that_proves_whole"]),
    (
        "GET /v1/me/chains/{id}/verify",
        "every huella is computed again",
        &["records::records_make_one_chain_that_proves_whole"],
    ),
    ("GET /v1/me/plan", "the plan and what the month has used", &["plans::a_plan_counts_new_invoices"]),
    ("GET /v1/me/usage", "counts by month, 1 to 36", &["plans::a_plan_counts_new_invoices"]),
    ("GET /v1/me/ledger", "amounts by month and issuer", &["plans::a_plan_counts_new_invoices"]),
    ("GET /v1/me/invoice-records", "pages narrowed by filters", &["lists::filters_narrow_the_lists_down"]),
    ("GET /v1/me/invoice-records/{id}", "one record", &["lists::a_job_shows_its_attempts_and_bytes"]),
    (
        "GET /v1/me/invoice-records/{id}/xml",
        "its exact bytes",
        &["lists::a_job_shows_its_attempts_and_bytes"],
    ),
    ("GET /v1/me/invoice-records/{id}/qr", "as for a job", &["lists::a_job_shows_its_attempts_and_bytes"]),
    (
        "GET /v1/me/invoice-records/export",
        "every record with its bytes, as lines of JSON or as XML",
        &["lists::the_export_has_every_record_with_its_bytes"],
    ),
    (
        "POST /v1/me/certificate",
        "a PKCS#12 in a form or in JSON; legacy files are converted",
        &["certificates::each_kind_of_file_has_its_answer", "certificates::a_form_does_as_well_as_json"],
    ),
    (
        "GET /v1/me/certificate",
        "whose it is and until when",
        &["certificates::a_certificate_is_shown_replaced_and_removed"],
    ),
    (
        "DELETE /v1/me/certificate",
        "removed, once",
        &["certificates::a_certificate_is_shown_replaced_and_removed"],
    ),
    (
        "GET /v1/partner/tenants",
        "the partner's own children",
        &["partners::children_are_made_listed_and_changed"],
    ),
    (
        "POST /v1/partner/tenants",
        "a child with its tax number",
        &["partners::children_are_made_listed_and_changed"],
    ),
    ("GET /v1/partner/tenants/{id}", "one child", &["partners::children_are_made_listed_and_changed"]),
    (
        "PATCH /v1/partner/tenants/{id}",
        "name and status; what the operator suspended stays so",
        &[
            "partners::children_are_made_listed_and_changed",
            "partners::suspension_blocks_the_writes_of_whom_it_names",
        ],
    ),
    (
        "GET /v1/partner/tenants/{id}/jobs",
        "as the child sees them",
        &["partners::a_partner_sees_what_the_child_sees"],
    ),
    (
        "GET /v1/partner/tenants/{id}/chains",
        "as the child sees them",
        &["partners::a_partner_sees_what_the_child_sees"],
    ),
    (
        "GET /v1/partner/tenants/{id}/usage",
        "as the child sees it",
        &["partners::a_partner_sees_what_the_child_sees"],
    ),
    (
        "GET /v1/partner/tenants/{id}/invoice-records",
        "as the child sees them",
        &["partners::a_partner_sees_what_the_child_sees"],
    ),
    (
        "GET /v1/partner/tenants/{id}/api-keys",
        "never in full again",
        &["partners::keys_of_a_child_are_shown_once_and_revoked"],
    ),
    (
        "POST /v1/partner/tenants/{id}/api-keys",
        "shown once, without the scopes of partners",
        &["partners::keys_of_a_child_are_shown_once_and_revoked"],
    ),
    (
        "POST /v1/partner/tenants/{id}/api-keys/{keyId}/revoke",
        "of no use from then on",
        &["partners::keys_of_a_child_are_shown_once_and_revoked"],
    ),
    (
        "GET /v1/partner/tenants/{id}/certificate",
        "whose it is and until when",
        &["partners::the_certificate_of_a_child_must_be_its_own"],
    ),
    (
        "POST /v1/partner/tenants/{id}/certificate",
        "its holder is the child",
        &["partners::the_certificate_of_a_child_must_be_its_own"],
    ),
    (
        "DELETE /v1/partner/tenants/{id}/certificate",
        "removed, once",
        &["partners::the_certificate_of_a_child_must_be_its_own"],
    ),
    (
        "POST /v1/admin/tenants",
        "creates an account, once",
        &["errors::every_wrong_request_is_told_what_is_wrong", "rates::plans_that_do_not_exist_are_refused"],
    ),
    ("GET /v1/admin/tenants", "all, by identifier", &["operator::accounts_are_listed_and_changed"]),
    ("GET /v1/admin/tenants/{id}", "one of them", &["operator::accounts_are_listed_and_changed"]),
    (
        "PATCH /v1/admin/tenants/{id}",
        "what is given changes; a suspended account only reads",
        &["operator::accounts_are_listed_and_changed", "operator::a_suspended_account_only_reads"],
    ),
    (
        "PUT /v1/admin/web-accounts/{userId}",
        "made once, its key never shown",
        &["web_accounts::a_web_account_is_made_once_and_shows_no_key"],
    ),
    (
        "POST /v1/admin/api-keys",
        "for an account that exists",
        &["errors::every_wrong_request_is_told_what_is_wrong"],
    ),
    ("GET /v1/admin/api-keys", "never in full again", &["operator::keys_are_listed_and_revoked"]),
    (
        "POST /v1/admin/api-keys/{id}/revoke",
        "of no use from then on",
        &["operator::keys_are_listed_and_revoked"],
    ),
    ("GET /v1/admin/jobs", "jobs of all accounts", &["operator::a_failed_job_is_found_and_retried_by_hand"]),
    (
        "GET /v1/admin/jobs/{id}/messages",
        "what was sent and answered",
        &["operator::a_failed_job_is_found_and_retried_by_hand"],
    ),
    (
        "POST /v1/admin/jobs/{id}/retry",
        "a failed job is due now, unless its chain is held",
        &["operator::a_failed_job_is_found_and_retried_by_hand", "operator::a_held_job_is_not_retried"],
    ),
    ("GET /v1/admin/issuers", "what waits and what is held", &["issuers::a_paused_issuer_waits_and_goes_on"]),
    (
        "POST /v1/admin/issuers/{tenantId}/{nif}/pause",
        "accepted and not sent",
        &["issuers::a_paused_issuer_waits_and_goes_on", "issuers::only_issuers_that_exist_are_paused"],
    ),
    (
        "POST /v1/admin/issuers/{tenantId}/{nif}/resume",
        "sent again, whatever held it",
        &[
            "issuers::a_paused_issuer_waits_and_goes_on",
            "issuers::a_suspended_presenter_is_held_in_all_its_accounts",
        ],
    ),
    ("GET /v1/admin/certificates/expiring", "those that end", &["operator::certificates_that_end_are_shown"]),
    ("GET /v1/admin/events", "each line is hashed", &["operator::every_call_is_in_the_linked_audit_log"]),
    (
        "GET /v1/admin/tenants/{id}/webhook",
        "never with its secret",
        &["webhooks::a_webhook_is_set_in_parts_and_never_shows_its_secret"],
    ),
    (
        "PATCH /v1/admin/tenants/{id}/webhook",
        "set in parts, and to nowhere inside",
        &[
            "webhooks::a_webhook_is_set_in_parts_and_never_shows_its_secret",
            "webhooks::nothing_is_sent_inside",
        ],
    ),
    (
        "POST /v1/admin/tenants/{id}/webhook/ping",
        "one event to try it",
        &["webhooks::a_trial_tells_what_became_of_it"],
    ),
    (
        "GET /v1/admin/tenants/{id}/webhook/deliveries",
        "every attempt",
        &["webhooks::an_attempt_that_fails_is_logged_and_not_repeated"],
    ),
    ("GET /health", "alive", &["stop::a_service_says_whether_it_is_alive_and_ready"]),
    (
        "GET /ready",
        "503 while the service cannot work, with what is the matter",
        &[
            "stop::a_service_says_whether_it_is_alive_and_ready",
            "stop::before_a_stop_the_service_says_that_it_is_not_ready_and_goes_on",
        ],
    ),
    (
        "GET /declaracion-responsable",
        "a page, text or JSON",
        &["declaration::the_declaration_has_its_items_in_order_and_in_three_forms"],
    ),
    (
        "GET /openapi.json",
        "the contract as data",
        &["contract::the_contract_is_served_as_data_and_as_a_page"],
    ),
    ("GET /docs", "the contract as a page", &["contract::the_contract_is_served_as_data_and_as_a_page"]),
    (
        "GET /metrics",
        "for anyone, for the operator or for nobody",
        &[
            "metrics::metrics_tell_what_happens_and_what_waits",
            "metrics::metrics_can_be_for_the_operator_or_for_nobody",
        ],
    ),
];
