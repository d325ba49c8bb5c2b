//! What every kind of store does alike: facts, written once and told of each.
//!
//! A kind joins by one line in `tests.rs`: `contract!(name, || its ledger);`

mod chain;
mod claims;
mod finding;
pub(crate) mod given;
mod rows;
mod sessions;

use super::super::Store;

pub(crate) use {chain::*, claims::*, finding::*, rows::*, sessions::*};

/// A ledger that is new at first and can be opened several times.
pub(crate) trait Ledger: Sync {
    fn open(&self) -> Box<dyn Store + Send>;
}

/// Tells every fact of this module of a kind of store. `$fresh` makes a new ledger of it, or none where
/// that cannot be had here and has been said.
macro_rules! contract {
    ($kind:ident, $fresh:expr) => {
        mod $kind {
            use super::*;

            $crate::ledger::store::tests::contract::facts! {
                $fresh =>
                a_row_comes_back_as_it_was_written
                a_very_large_answer_comes_back_as_it_was_written
                links_follow_one_another
                a_link_that_is_not_the_next_is_refused
                a_link_that_is_none_is_refused
                steps_are_counted_without_gaps_and_by_session
                a_session_is_opened_once_and_its_opener_stays
                a_row_that_breaks_a_rule_is_refused
                a_transaction_that_fails_leaves_nothing
                reading_leaves_nothing
                a_row_is_pruned_or_taken_back_and_changed_in_nothing_else
                what_is_not_there_is_not_changed
                a_claim_comes_back_as_it_was_written_and_goes_on
                one_claim_of_a_key_is_open
                claims_are_found_by_what_they_are_about
                what_people_are_asked_and_decide_comes_back_as_it_was_written
                grants_and_reviews_come_back_as_they_were_written
                whoever_holds_a_claim_is_seen_by_others_until_it_ends
                a_delivery_is_found_by_its_key_or_its_task
                steps_of_a_task_are_found_by_it_and_answer_no_delivery
                only_what_says_something_new_is_an_answer_to_a_delivery
                only_what_succeeded_is_the_same_request
                rows_are_found_in_their_order
                ids_are_found_by_their_beginning
                sessions_are_counted_and_their_answers_found_in_all_of_them
                a_whole_id_comes_before_longer_ones_and_another_session_has_none
                what_was_answered_before_a_link_is_found_and_nothing_after_it
                the_links_of_a_session_are_its_own
                history_stands_before_the_first_link_and_its_sessions_go_on
                the_key_for_secrets_is_made_once
                stores_that_write_at_once_leave_a_chain_without_gaps
            }
        }
    };
}

macro_rules! facts {
    ($fresh:expr => $($fact:ident)*) => {
        $(
            #[test]
            fn $fact() {
                if let Some(ledger) = $fresh() {
                    $crate::ledger::store::tests::contract::$fact(&ledger);
                }
            }
        )*
    };
}

pub(crate) use {contract, facts};
