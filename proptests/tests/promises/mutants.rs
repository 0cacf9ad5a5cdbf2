//! Each promise has an oracle in `promises.rs`. This test breaks each promise in the core, with a switch that
//! `src/mutant.rs` explains, and its oracle has to notice.
//!
//! Compiled only with `--cfg mutants`: `.ci/run mutants`.

use std::process::{Command, Output};

/// The defects: the name of the switch, and the prefix of the names of the tests that have to notice it.
const MUTANTS: [(&str, &str); 25] = [
    ("more_brackets_close_than_open", "promise_1_no"),
    ("ids_of_batches_are_compared_one_by_one", "promise_1_work"),
    ("ids_may_collide", "promise_1_work"),
    ("an_expired_call_goes_on", "promise_2_"),
    ("an_answer_ends_the_first_call", "promise_2_"),
    ("broken_responses_are_answered", "promise_3_"),
    ("a_cancelled_request_stays_open", "promise_3_"),
    ("no_call_is_withdrawn", "promise_4_"),
    ("no_cancellation_is_sent", "promise_4_"),
    ("a_line_ends_with_its_chunk", "promise_5_chunks"),
    ("withdrawing_leaves_bytes_behind", "promise_5_messages"),
    ("requests_are_not_bounded", "promise_6_"),
    ("kept_bytes_are_not_bounded", "promise_6_"),
    ("ids_depend_on_the_clock", "promise_7_"),
    ("receiving_allocates", "promise_8_"),
    ("unknown_content_is_forgotten", "promise_9_"),
    ("debug_shows_payloads", "promise_10_"),
    ("the_principal_of_a_post_is_lost", "owners_reach_the_machine"),
    ("a_session_is_anybodys", "owners_reach_the_machine"),
    ("a_foreign_task_is_reached", "owners_reach_their_tasks"),
    ("sessions_share_their_tasks", "owners_reach_their_tasks"),
    ("tokens_are_not_saved", "tokens_are_kept"),
    ("the_issuer_of_a_response_is_not_compared", "tokens_are_kept"),
    ("every_url_is_fetched", "tokens_are_kept"),
    ("what_others_have_stored_is_overlooked", "tokens_are_kept"),
];

/// Runs the oracles with this prefix, in a process with this defect.
fn run(oracles: &str, mutant: &str) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(format!("promises::{oracles}")).env("RUST_BACKTRACE", "0").env("MUTANT", mutant);
    command.output().unwrap()
}

/// A mutant that no oracle notices would be a gap, and so would a promise without a mutant.
#[test]
fn each_broken_promise_is_noticed_by_its_oracle() {
    for oracles in ["promise_", "owners_", "tokens_"] {
        let whole = run(oracles, "none");
        assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stdout));
    }
    let mut survivors = Vec::new();
    for (mutant, oracle) in MUTANTS {
        let output = run(oracle, mutant);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(!text.contains("running 0 tests"), "there is no oracle {oracle}");
        assert!(!text.contains("ANOTHER, "), "{mutant}: not its own promise: {text}");
        println!("{oracle:20} {mutant}: noticed {}", !output.status.success());
        if output.status.success() {
            survivors.push(mutant);
        }
    }
    assert_eq!(survivors, [""; 0]);
    for promise in 1..=10 {
        let name = format!("promise_{promise}_");
        assert!(MUTANTS.iter().any(|(_, oracle)| oracle.starts_with(&name)), "{name}");
    }
}
