//! The suite that defines a [`Ledger`](crate::ledger::Ledger). Every case starts with an empty ledger.

mod append;
mod dispatch;
mod due;
mod listing;
mod selection;
mod support;
mod upkeep;
mod usage;

pub use append::*;
pub use dispatch::*;
pub use due::*;
pub use listing::*;
pub use selection::*;
pub use support::*;
pub use upkeep::*;
pub use usage::*;

/// Runs the ledger suite; the expression makes `(Arc<dyn Ledger>, guard)`.
#[macro_export]
macro_rules! ledger_suite {
    ($open:expr) => {
        $crate::conformance_cases!($open, ledger {
            l01_the_first_record_starts_the_chain
            l02_records_follow_one_another
            l03_chains_are_apart
            l04_a_used_key_replays
            l05_a_key_belongs_to_account_and_kind
            l06_an_invoice_is_submitted_once
            l07_a_repeat_sees_the_history
            l08_the_plan_counts_new_invoices
            l09_a_refusal_leaves_no_trace
            l10_a_misfit_is_an_error_without_trace
            l11_a_minted_installation_is_kept
            l12_several_chains_are_told
            l13_appends_at_the_same_time_make_one_chain
            l14_the_same_key_at_the_same_time_is_one_record
            l15_the_same_invoice_at_the_same_time_is_one_record
            l16_jobs_belong_to_their_account
            l17_records_are_read_in_order
            l18_chains_are_listed_for_their_account
            l19_records_of_an_invoice_see_one_another
            l20_a_claim_raises_the_epoch
            l21_a_stale_lease_writes_nothing
            l22_a_message_is_open_until_it_is_settled
            l23_the_first_bytes_stay
            l24_repeated_writes_change_nothing
            l25_what_is_not_of_the_chain_is_an_error
            l26_a_settlement_is_stored_whole
            l27_jobs_are_revised_only_as_seen
            l28_a_release_is_for_one_reason
            l29_the_store_can_be_probed
            l30_the_first_run_is_in_order
            l31_the_run_ends_before_a_barrier
            l32_retries_are_sent_due_and_not_in_doubt
            l33_doubts_are_looked_into_when_due
            l34_earlier_failures_are_overtaken
            l35_a_hold_stays_until_it_is_released
            l36_a_hold_is_for_an_issuer_and_has_its_weight
            l37_chains_of_all_accounts_are_searched
            l40_nothing_is_due_without_work
            l41_a_chain_waits_for_its_slot
            l42_only_the_front_counts_among_the_never_sent
            l43_the_soonest_retry_counts
            l44_an_open_message_is_due
            l45_a_full_message_opens_the_slot
            l46_due_chains_come_in_pages
            l50_lists_are_narrowed_down
            l51_pages_follow_one_another
            l52_records_belong_to_their_account
            l53_the_answer_line_is_kept
            l60_months_are_counted
            l70_a_job_of_any_account_is_found
            l71_a_search_goes_through_all_accounts
            l72_messages_are_told_with_their_answers
            l80_all_chains_come_in_pages
            l81_the_overview_counts_what_waits
            l82_old_messages_and_attempts_are_forgotten
            l83_a_closed_chain_gets_no_record
            l84_closing_reassesses_what_is_unfinished
        });
    };
}
