//! One suite for every adapter: blocking threads, tokio with one thread and with several, async-std, smol.
//!
//! The cases are independent of runtimes: the tested code runs on threads of its own, and the tests block. No case
//! sleeps to wait for an event.

mod calling;
mod composition;
mod ending;
mod extending;
mod hiding;
mod keeping;
mod kit;
mod locks;
pub(crate) mod pipes;
// Its servers are scripts of the shell, and its statuses have signals.
#[cfg(unix)]
mod processes;
#[cfg(windows)]
mod processes_on_windows;
mod router;
mod runtimes;
mod script;
mod serving;
mod volume;

/// Generates a test for every case on every adapter.
macro_rules! suite {
    ($($(#[$cfg:meta])* $room:ident: $($case:ident)+;)+) => {
        suite!(@on blocking Blocking, $($(#[$cfg])* $room: $($case)+;)+);
        suite!(@on tokio_with_one_thread TokioWithOneThread, $($(#[$cfg])* $room: $($case)+;)+);
        suite!(@on tokio_with_threads TokioWithThreads, $($(#[$cfg])* $room: $($case)+;)+);
        suite!(@on async_std AsyncStd, $($(#[$cfg])* $room: $($case)+;)+);
        suite!(@on smol Smol, $($(#[$cfg])* $room: $($case)+;)+);
    };
    (@on $name:ident $Adapter:ident, $($(#[$cfg:meta])* $room:ident: $($case:ident)+;)+) => {
        mod $name {
            $(
                $(#[$cfg])*
                mod $room {
                    $(
                        #[test]
                        fn $case() {
                            crate::suite::$room::$case::<crate::suite::runtimes::$Adapter>();
                        }
                    )+
                }
            )+
        }
    };
}

suite! {
    calling:
        a_session_from_beginning_to_end
        a_thousand_calls_at_once
        a_call_is_cancelled_by_its_caller
        a_call_is_cancelled_by_its_number
        a_dropped_call_is_cancelled
        a_call_survives_waits_that_time_out
        progress_is_a_stream
        a_deadline_fires_while_the_peer_does_not_read
        there_is_room_when_the_peer_has_read
        a_list_in_pages
        a_list_that_changes_is_read_again
        requests_and_notifications_are_sent_in_order
        a_server_that_prints_other_things
        characters_in_pieces;
    serving:
        a_waiting_handler_does_not_delay_other_requests
        a_tool_asks_the_client
        requests_sent_by_a_cancelled_tool_call_are_cancelled
        a_handler_that_panics_or_forgets_is_answered_for
        a_request_that_waits_can_be_cancelled
        a_peer_that_does_not_read_gets_no_new_work_done
        answers_are_taken_however_full_it_is
        pings_have_room_behind_answers
        unread_ping_results_close_the_connection
        malformed_messages_do_not_affect_later_requests
        the_last_line_needs_no_end;
    ending:
        handlers_may_finish_when_the_input_ends
        refusals_do_not_wait_for_the_end
        a_stuck_handler_finds_out
        a_server_that_dies_ends_every_call
        a_server_that_closes_its_input_ends_every_call
        the_drain_timeout_ends_a_peer_that_stops_reading
        a_peer_that_reads_steadily_is_waited_for
        closing_again_and_again_is_closing_once
        nothing_is_left_of_a_connection
        everything_can_be_dropped_by_anybody;
    router:
        blocking_functions_do_not_block_other_requests
        lists_come_by_themselves
        functions_of_every_kind
        unknown_names_and_invalid_arguments_are_refused
        a_result_that_does_not_fit_the_revision_is_an_error
        a_list_that_does_not_fit_names_the_member
        router_changes_are_notified_once
        changes_wait_for_room
        a_function_can_ask_first;
    composition:
        middleware_runs_around_every_function
        a_middleware_handles_a_panic
        a_function_without_arguments_takes_nothing
        a_mounted_router_keeps_its_middleware
        a_guard_holds_in_a_mounted_router
        one_template_reads_a_uri
        duplicate_names_are_reported
        arguments_are_completed
        arguments_and_results_are_compared_with_schemas
        calls_in_one_line;
    extending:
        a_router_serves_methods_of_extensions
        typed_calls_need_the_extension_on_both_sides
        methods_of_a_mounted_router_keep_their_names
        a_router_rejects_calls_that_the_task_support_of_a_tool_excludes;
    hiding:
        hidden_entries_do_not_exist
        pages_have_the_entries_that_a_client_sees
        filters_hold_in_a_mounted_router;
    #[cfg(unix)]
    processes:
        a_server_that_ends_with_its_input
        a_server_that_ignores_end_of_input_is_killed
        a_kill_switch_kills_a_running_server_at_once
        a_kill_switch_kills_a_server_during_the_handshake
        child_processes_of_a_server_end_with_the_server
        a_server_that_was_dropped_is_gone
        a_server_that_is_killed
        standard_error_never_fills_up
        a_server_that_is_not_there
        a_server_that_ends_at_once
        a_server_that_ends_at_once_leaves_its_standard_error
        a_server_is_started_again_only_for_the_question
        a_server_process_gets_its_environment_and_directory;
    #[cfg(windows)]
    processes_on_windows:
        a_server_that_ends_with_its_input
        a_server_that_ignores_end_of_input_is_killed
        child_processes_of_a_server_end_with_the_server
        a_server_that_was_dropped_is_gone
        a_kill_switch_kills_a_running_server_at_once
        a_server_that_is_not_there
        a_server_that_ends_at_once;
    volume:
        large_messages_through_narrow_pipes
        everything_that_was_written_at_once_is_answered
        room_that_a_slow_handler_takes_is_not_waited_for;
}
