//! Calls that a modern server answers with tasks, message by message.

use mcp_sansio::json::Raw;
use mcp_sansio::{CallError, CallId, CallOptions, ClientEvent, ErrorCode};
use mcp_sansio_proptests::ClientSide;

use super::kit::*;

/// A client whose task requires these inputs, which the client has received. The next request has id 4.
fn with_inputs(keys: &[&str]) -> (ClientSide, CallId, Vec<mcp_sansio::IncomingId>) {
    let (mut side, call) = with_modern_task();
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [modern_task_request(3, "get")]);
    let asks = result(3, &modern_task("input_required", "05", &inputs(keys)));
    assert_eq!(task_event_text(side.receive(&asks)), "task t-1 input_required");
    let asked = questions(side.outcomes());
    assert!(asked.iter().all(|(_, needed_for)| *needed_for == Some(call)));
    assert_eq!(side.sent(), [""; 0]);
    (side, call, asked.into_iter().map(|(id, _)| id).collect())
}

/// Proves M-TASKX-01, M-TASKX-07, M-TASKX-48, M-TASKX-60, M-TASKX-62, M-ERA-26: every request declares the
/// extension, and a task is polled until its snapshot contains the outcome.
#[test]
fn a_task_is_polled_until_it_has_an_outcome() {
    let (mut side, call) = with_modern_task();
    for id in 3..6 {
        assert_eq!(task_event_texts(side.elapse(999)), [""; 0]);
        assert_eq!(side.sent(), [""; 0]);
        _ = side.elapse(1);
        assert_eq!(side.sent(), [modern_task_request(id, "get")]);
        assert_eq!(
            task_event_text(side.receive(&result(id, &modern_task("working", "00", "")))),
            ""
        );
    }
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [modern_task_request(6, "get")]);
    let done = modern_task("completed", "09", &format!(r#","result":{DONE}"#));
    assert_eq!(ended(side.receive(&result(6, &done))), (call, format!("result {DONE}")));
    is_over(&mut side);
}

/// Proves M-TASKX-07, M-TASKX-65: a server may return a result at once, although the client supports tasks.
#[test]
fn a_server_may_answer_without_a_task() {
    let mut side = without_session();
    let call = call_with(&mut side, CallOptions::new());
    assert_eq!(side.sent(), [modern_client_request(2, "tools/call", r#""name":"t""#)]);
    let done = r#"{"resultType":"complete","content":[]}"#;
    assert_eq!(ended(side.receive(&result(2, done))), (call, format!("result {done}")));
    is_over(&mut side);
}

/// Proves M-TASKX-60, M-TASKX-61, M-R-28: the outcome of a task is the outcome of its call.
#[test]
fn a_task_ends_its_call_as_it_has_ended() {
    let is_error = r#"{"content":[],"isError":true}"#;
    let typed = r#"{"resultType":"complete","content":[]}"#;
    let finished = |status, more: &str| result(3, &modern_task(status, "05", more));
    let cases = [
        (finished("completed", &format!(r#","result":{is_error}"#)), format!("result {is_error}")),
        (finished("completed", &format!(r#","result":{typed}"#)), format!("result {typed}")),
        (finished("failed", r#","error":{"code":-7,"message":"m"}"#), "error -7".into()),
        (finished("cancelled", ""), "TaskCancelled".into()),
        (error(3, -32602), "TaskNotFound".into()),
        (error(3, -32601), "error -32601".into()),
        (error(3, -32021), "error -32021".into()),
        (finished("completed", ""), "malformed InvalidResult".into()),
        (finished("failed", ""), "malformed InvalidResult".into()),
        (finished("completed", r#","result":7"#), "malformed InvalidResult".into()),
        (
            finished("completed", r#","result":{},"error":{"code":1,"message":"m"}"#),
            "malformed InvalidResult".into(),
        ),
        (
            finished("completed", r#","result":{"resultType":"input_required"}"#),
            "malformed InvalidResult".into(),
        ),
    ];
    for (answer, says) in cases {
        let (mut side, call) = with_modern_task();
        _ = side.elapse(1_000);
        assert_eq!(side.sent(), [modern_task_request(3, "get")]);
        assert_eq!(ended(side.receive(&answer)), (call, says), "{answer}");
        is_over(&mut side);
    }
}

/// Proves M-TASKX-60: a result that arrives in a task is checked like any other result.
#[test]
fn the_result_of_a_task_is_checked_like_any_other() {
    for (checks, says) in [(false, r#"result {"content":7}"#), (true, "malformed InvalidResult")] {
        let mut config = of_no_sessions();
        config.connection.check_results = checks;
        let (mut side, call) = modern_task_in(without_session_with(config));
        _ = side.elapse(1_000);
        assert_eq!(side.sent(), [modern_task_request(3, "get")]);
        let done = modern_task("completed", "09", r#","result":{"content":7}"#);
        assert_eq!(ended(side.receive(&result(3, &done))), (call, says.into()));
        is_over(&mut side);
    }
}

/// Proves M-TASKX-08, M-RES-04: a task is a valid result only for a tool call of a client that declares the
/// extension.
#[test]
fn a_task_is_no_answer_to_anything_else() {
    let mut ignorant = of_no_sessions();
    ignorant.capabilities.extensions = None;
    for (config, method) in [(ignorant, "tools/call"), (of_no_sessions(), "prompts/get")] {
        let mut side = without_session_with(config);
        let params = Raw::new(r#"{"name":"t"}"#).unwrap();
        let options = CallOptions::new();
        let call =
            side.client.call_method(method, &params, options, side.now, &mut side.out).unwrap();
        assert_eq!(side.sent().len(), 1);
        let answer = side.receive(&modern_task_created(2, "working"));
        assert_eq!(ended(answer), (call, "malformed InvalidResult".into()), "{method}");
        is_over(&mut side);
    }
}

/// Proves M-TASKX-08: a call that declares fewer capabilities declares the extensions all the same.
#[test]
fn a_call_with_fewer_capabilities_can_become_a_task() {
    use mcp_sansio::capability::{Capability, CapabilitySet};
    use mcp_sansio::model::ElicitationCapability;

    let mut config = of_no_sessions();
    config.capabilities.elicitation = Some(ElicitationCapability::both());
    let few = CapabilitySet::NONE.with(Capability::Elicitation).with(Capability::ElicitationForm);
    for (capabilities, declared) in [
        (CapabilitySet::NONE, r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#),
        (few, r#"{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#),
    ] {
        let mut side = without_session_with(config.clone());
        let call = call_with(&mut side, CallOptions::new().capabilities(capabilities));
        let sent = side.sent();
        let expected = format!(r#""io.modelcontextprotocol/clientCapabilities":{declared}"#);
        assert!(sent[0].contains(&expected), "{}", sent[0]);
        let text = task_event_text(side.receive(&modern_task_created(2, "working")));
        assert_eq!(text, "task t-1 working");
        assert!(side.client.cancel(call, None, &mut side.out).is_ok());
    }
}

/// A relayed result is not inspected, even if it is a task.
#[test]
fn a_relayed_result_may_be_a_task() {
    let mut config = of_no_sessions();
    config.connection.relay = mcp_sansio::config::Relay::Everything;
    let mut side = without_session_with(config);
    let call = call_with(&mut side, CallOptions::new());
    assert_eq!(side.sent().len(), 1);
    let (ended, says) = ended(side.receive(&modern_task_created(2, "working")));
    assert_eq!(ended, call);
    assert!(says.starts_with(r#"result {"resultType":"task","taskId":"t-1""#), "{says}");
    is_over(&mut side);
}

/// Proves M-TASKX-51, M-TASKX-52, M-TASKX-53: each input of a task is requested once, like an ordinary request of
/// the server, and each answer is sent as soon as it is given.
#[test]
fn task_inputs_are_requested_once_and_sent_one_by_one() {
    let (mut side, call, asked) = with_inputs(&["a", "b"]);
    assert_eq!(asked.len(), 2);
    for id in 4..7 {
        _ = side.elapse(1_000);
        assert_eq!(side.sent(), [modern_task_request(id, "get")], "it is asked about meanwhile");
        let again = modern_task("input_required", "05", &inputs(&["a", "b"]));
        assert_eq!(task_event_text(side.receive(&result(id, &again))), "");
        assert_eq!(task_event_texts(side.outcomes()), [""; 0], "each is asked once");
    }
    side.respond(asked[1], ANSWER);
    assert_eq!(side.sent(), [update(7, &format!(r#"{{"b":{ANSWER}}}"#))]);
    assert_eq!(task_event_text(side.receive(&understood(7))), "");
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [modern_task_request(8, "get")]);
    // The server has not processed the answer yet.
    let again = modern_task("input_required", "05", &inputs(&["a", "b"]));
    assert_eq!(task_event_text(side.receive(&result(8, &again))), "");
    assert_eq!(task_event_texts(side.outcomes()), [""; 0], "and is not asked again");
    side.respond(asked[0], ANSWER);
    assert_eq!(side.sent(), [update(9, &format!(r#"{{"a":{ANSWER}}}"#))]);
    assert_eq!(task_event_text(side.receive(&understood(9))), "");
    assert_eq!(task_event_texts(side.outcomes()), [""; 0]);
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [modern_task_request(10, "get")]);
    let done = modern_task("completed", "09", &format!(r#","result":{DONE}"#));
    let event = side.receive(&result(10, &done));
    let Some(ClientEvent::CallEnded(ended)) = event else { panic!("{event:?}") };
    assert_eq!((ended.call, ended.needed_input), (call, true));
    is_over(&mut side);
}

/// Proves M-TASKX-52, M-R-26: answers that may be lost are sent again with the next `tasks/get`.
#[test]
fn answers_that_were_lost_are_brought_again() {
    for answer in [Some(-32603), None] {
        let (mut side, _, asked) = with_inputs(&["a", "b"]);
        let both = format!(r#"{{"a":{ANSWER},"b":{ANSWER}}}"#);
        side.respond(asked[0], ANSWER);
        assert_eq!(side.sent(), [update(4, &format!(r#"{{"a":{ANSWER}}}"#))]);
        side.respond(asked[1], ANSWER);
        assert_eq!(side.sent(), [update(5, &format!(r#"{{"b":{ANSWER}}}"#))]);
        assert_eq!(task_event_texts(side.outcomes()), [""; 0]);
        match answer {
            Some(code) => assert_eq!(task_event_text(side.receive(&error(4, code))), ""),
            None => {
                // Only `tasks/get` receives a response.
                _ = side.elapse(1_000);
                assert_eq!(side.sent(), [modern_task_request(6, "get")]);
                let same = modern_task("input_required", "05", &inputs(&["a", "b"]));
                let same = same.replace("1000", "120000");
                assert_eq!(task_event_text(side.receive(&result(6, &same))), "");
                assert_eq!(task_event_texts(side.elapse(59_000)), [""; 0]);
                assert_eq!(side.sent(), [timed_out(4), timed_out(5)]);
                assert_eq!(task_event_texts(side.elapse(61_000)), [""; 0]);
                assert_eq!(side.sent(), [update(7, &both), modern_task_request(8, "get")]);
                continue;
            }
        }
        assert_eq!(side.sent(), [""; 0]);
        _ = side.elapse(1_000);
        assert_eq!(side.sent(), [update(6, &both), modern_task_request(7, "get")]);
        assert_eq!(task_event_text(side.receive(&understood(6))), "");
        let same = modern_task("input_required", "05", &inputs(&["a", "b"]));
        assert_eq!(task_event_text(side.receive(&result(7, &same))), "");
        _ = side.elapse(1_000);
        assert_eq!(side.sent(), [modern_task_request(8, "get")], "once is enough");
    }
}

/// Answers that the server refuses again and again end the call: they are sent less and less often, and not for ever.
#[test]
fn answers_that_are_always_refused_end_the_call() {
    let (mut side, call, asked) = with_inputs(&["a"]);
    side.respond(asked[0], ANSWER);
    let (mut updates, mut pauses, mut last) = (0, Vec::new(), side.now);
    loop {
        let mut end = None;
        for message in side.sent() {
            let message = Raw::new(&message).unwrap();
            let id = message.get("id").unwrap().as_json().parse().unwrap();
            let method = message.get("method").unwrap();
            if method.as_json() == "\"tasks/update\"" {
                updates += 1;
                pauses.push((side.now - last).as_secs());
                last = side.now;
                let event = side.receive(&error(id, -32602));
                end = event.map(|event| ended(Some(event)));
            } else {
                let same = modern_task("input_required", "05", &inputs(&["a"]));
                assert_eq!(task_event_text(side.receive(&result(id, &same))), "");
            }
        }
        if let Some(end) = end {
            assert_eq!(end, (call, "error -32602".into()));
            break;
        }
        assert_eq!(task_event_texts(side.elapse(1_000)), [""; 0]);
        assert!(updates < 9, "without end");
    }
    assert_eq!((updates, &*pauses), (5, &[0, 1, 4, 8, 16][..]));
    is_over(&mut side);
}

/// Updates that fail together count once, because their answers have not been sent again in between.
#[test]
fn answers_that_fail_together_are_sent_again() {
    let keys = ["a", "b", "c", "d", "e", "f"];
    let (mut side, call, asked) = with_inputs(&keys);
    for id in asked {
        side.respond(id, ANSWER);
    }
    assert_eq!(side.sent().len(), keys.len());
    for id in 4..10 {
        assert_eq!(task_event_text(side.receive(&error(id, -32603))), "");
    }
    assert!(side.client.in_flight().is_pending(call));
    assert_eq!(task_event_texts(side.elapse(1_000)), [""; 0]);
    let all: Vec<String> = keys.iter().map(|key| format!(r#""{key}":{ANSWER}"#)).collect();
    let again = update(10, &format!("{{{}}}", all.join(",")));
    assert_eq!(side.sent(), [again, modern_task_request(11, "get")]);
}

/// A task that goes on after its end never has a result: the call ends after a few polls.
#[test]
fn a_task_that_goes_on_after_its_end_ends_its_call() {
    let mut side = without_session();
    let call = call(&mut side);
    _ = side.sent();
    _ = side.receive(&modern_task_created(2, "completed"));
    for id in 3..8 {
        assert_eq!(side.sent(), [modern_task_request(id, "get")]);
        let event = side.receive(&result(id, &modern_task("working", "09", "")));
        if id == 7 {
            assert_eq!(ended(event), (call, "malformed InvalidResult".into()));
            return is_over(&mut side);
        }
        assert_eq!(task_event_text(event), "");
        assert_eq!(task_event_texts(side.elapse(60_000)), [""; 0]);
    }
}

/// A task that has ended when it is announced may not be kept for long: its result is requested at once.
#[test]
fn the_result_of_a_task_that_ended_at_once_is_requested_at_once() {
    let mut side = without_session();
    let call = call(&mut side);
    _ = side.sent();
    let created = modern_task_created(2, "completed").replace(r#""ttlMs":null"#, r#""ttlMs":500"#);
    assert_eq!(task_event_text(side.receive(&created)), "task t-1 completed");
    assert_eq!(side.sent(), [modern_task_request(3, "get")]);
    assert_eq!(task_event_texts(side.elapse(5_000)), [""; 0], "its lifetime is over, not lost");
    let done = modern_task("completed", "00", &format!(r#","result":{DONE}"#));
    assert_eq!(ended(side.receive(&result(3, &done))), (call, format!("result {DONE}")));
    is_over(&mut side);
}

/// Proves M-TASKX-54, M-R-27: an input that the task no longer requires is withdrawn.
#[test]
fn a_task_input_no_longer_required_is_withdrawn() {
    let (mut side, call, asked) = with_inputs(&["a", "b"]);
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [modern_task_request(4, "get")]);
    // Another client answered the first input, and the task requires a third.
    let other = modern_task("input_required", "06", &inputs(&["b", "c"]));
    assert_eq!(task_event_text(side.receive(&result(4, &other))), "task t-1 input_required");
    let events = side.outcomes();
    let (taken, new): (Vec<_>, Vec<_>) =
        events.into_iter().partition(|event| matches!(event, ClientEvent::Cancelled(_)));
    assert_eq!(task_event_texts(taken), ["withdrawn CallEnded"]);
    let new = questions(new);
    assert_eq!(new.len(), 1);
    let answer = Raw::new(ANSWER).unwrap();
    assert!(side.client.respond(asked[0], &answer, &mut side.out).is_err());
    side.respond(new[0].0, ANSWER);
    assert_eq!(side.sent(), [update(5, &format!(r#"{{"c":{ANSWER}}}"#))]);
    assert_eq!(task_event_texts(side.outcomes()), [""; 0]);
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [modern_task_request(6, "get")]);
    let done = modern_task("completed", "09", &format!(r#","result":{DONE}"#));
    assert_eq!(ended(side.receive(&result(6, &done))).0, call);
    assert_eq!(
        task_event_texts(side.outcomes()),
        ["withdrawn CallEnded"],
        "the end takes the rest back"
    );
    assert_eq!(task_event_text(side.receive(&understood(5))), "");
    is_over(&mut side);
}

/// Proves M-TASKX-37 for clients: an input request that is not permitted is skipped, and the others are handed out.
#[test]
fn a_task_input_that_is_not_permitted_is_skipped() {
    let odd = [
        r#"{"method":"tools/list"}"#,
        r#"{"method":"x/y","params":{}}"#,
        r#"{"method":7}"#,
        r#"{"params":{}}"#,
        r#"{"method":"elicitation/create"}"#,
        r#"{"method":"elicitation/create","params":[]}"#,
        "7",
    ];
    for one in odd {
        let (mut side, _) = with_modern_task();
        _ = side.elapse(1_000);
        assert_eq!(side.sent(), [modern_task_request(3, "get")]);
        let good = inputs(&["good"]);
        let mixed = good.replace(r#"{"good""#, &format!(r#"{{"odd":{one},"good""#));
        let asks = modern_task("input_required", "05", &mixed);
        assert_eq!(task_event_text(side.receive(&result(3, &asks))), "task t-1 input_required");
        let events = task_event_texts(side.outcomes());
        assert_eq!(events, ["violation InvalidResult", "asked"], "{one}");
    }
    // The client does not declare the capability for the input.
    let mut config = of_no_sessions();
    config.capabilities.elicitation = None;
    let mut side = without_session_with(config);
    call(&mut side);
    assert_eq!(
        task_event_text(side.receive(&modern_task_created(2, "working"))),
        "task t-1 working"
    );
    _ = side.elapse(1_000);
    let asks = modern_task("input_required", "05", &inputs(&["a"]));
    assert_eq!(task_event_text(side.receive(&result(3, &asks))), "task t-1 input_required");
    assert_eq!(task_event_texts(side.outcomes()), ["violation InvalidResult"]);
}

/// A task may require further inputs without end: only the number at the same time is limited.
#[test]
fn a_task_may_ask_for_more_than_fits_at_once() {
    let mut config = of_no_sessions();
    config.connection.limits.input_requests = 2;
    let (mut side, _) = modern_task_in(without_session_with(config));
    for (round, id) in (3..).step_by(2).take(6).enumerate() {
        _ = side.elapse(1_000);
        assert_eq!(side.sent(), [modern_task_request(id, "get")]);
        let key = format!("k{round}");
        let asks = modern_task("input_required", &format!("1{round}"), &inputs(&[&key]));
        assert_eq!(task_event_text(side.receive(&result(id, &asks))), "task t-1 input_required");
        let asked = questions(side.outcomes());
        assert_eq!(asked.len(), 1, "{round}");
        side.respond(asked[0].0, ANSWER);
        assert_eq!(side.sent(), [update(id + 1, &format!(r#"{{"{key}":{ANSWER}}}"#))]);
        assert_eq!(task_event_text(side.receive(&understood(id + 1))), "");
        assert_eq!(task_event_texts(side.outcomes()), [""; 0]);
    }
    _ = side.elapse(1_000);
    assert_eq!(side.sent(), [modern_task_request(15, "get")]);
    let asks = modern_task("input_required", "30", &inputs(&["x", "y", "z"]));
    assert_eq!(task_event_text(side.receive(&result(15, &asks))), "task t-1 input_required");
    assert_eq!(task_event_texts(side.outcomes()), ["violation InvalidResult", "asked", "asked"]);
}

/// A refused input ends the call, which stops polling and cancels the task.
#[test]
fn a_refused_question_ends_the_call() {
    let (mut side, call, asked) = with_inputs(&["a", "b"]);
    let code = ErrorCode::new(-1);
    side.client.reject(asked[0], code, "no", &mut side.out).unwrap();
    let events = side.outcomes();
    let delivered: Vec<_> = events
        .into_iter()
        .map(|event| match event {
            ClientEvent::CallEnded(ended) => {
                assert_eq!((ended.call, ended.needed_input), (call, true));
                task_outcome_text(&ended.outcome)
            }
            other => task_event_text(Some(other)),
        })
        .collect();
    assert_eq!(delivered, ["withdrawn CallEnded", &format!("InputRefused({code:?})")]);
    assert_eq!(side.sent(), [modern_task_request(4, "cancel")]);
    assert!(side.receive(&understood(4)).is_none());
    is_over(&mut side);
}

/// Proves M-TASKX-31, M-ERA-27: a session has its own tasks and ignores the extension.
#[test]
fn a_session_knows_nothing_of_the_extension() {
    let revision = mcp_sansio::Revision::V2025_11_25;
    let mut side = in_session_with(of_sessions(), revision, &format!("{TASKS}{EXTENSION}"));
    let call = call_with(&mut side, CallOptions::new());
    assert_eq!(side.sent().len(), 1);
    let answer = modern_task_created(2, "working");
    let (ended, says) = ended(side.receive(&answer));
    assert_eq!(ended, call);
    assert!(says.starts_with("result "), "it is no task: {says}");
    let params = Raw::new(r#"{"taskId":"t-1","inputResponses":{}}"#).unwrap();
    let (options, now) = (CallOptions::new(), side.now);
    let refused = side.client.call_method("tasks/update", &params, options, now, &mut side.out);
    assert!(matches!(refused, Err(CallError::NotAllowed(_))), "{refused:?}");
    is_over(&mut side);
    let mut side = without_session();
    for method in ["tasks/result", "tasks/list"] {
        let refused = side.client.call_method(method, &params, options, now, &mut side.out);
        assert!(matches!(refused, Err(CallError::NotAllowed(_))), "{method} {refused:?}");
    }
    is_over(&mut side);
}

/// Proves M-TASKX-49, M-R-25: notifications of a subscription count, and polling continues.
#[test]
fn a_subscription_to_a_task_does_not_replace_asking() {
    let (mut side, call) = with_modern_task();
    let filter = mcp_sansio::model::SubscriptionFilter::new().with_task("t-1");
    let listening = side.client.subscribe(&filter, side.now, &mut side.out).unwrap();
    let asked = r#""notifications":{"taskIds":["t-1"]}"#;
    assert_eq!(side.sent(), [modern_client_request(3, "subscriptions/listen", asked)]);
    let tagged = |method: &str, rest: &str| {
        let tag = r#""_meta":{"io.modelcontextprotocol/subscriptionId":3}"#;
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{{tag},{rest}}}}}"#
        )
    };
    let granted = side.receive(&tagged("subscriptions/acknowledged", asked));
    assert!(matches!(granted, Some(ClientEvent::Subscription(_))), "{granted:?}");
    for (id, (status, says)) in
        (4..).zip([("working", ""), ("input_required", "task t-1 input_required")])
    {
        _ = side.elapse(1_000);
        assert_eq!(side.sent(), [modern_task_request(id, "get")]);
        assert_eq!(
            task_event_text(side.receive(&result(id, &modern_task("working", "00", "")))),
            ""
        );
        let news = modern_task(status, "00", "").replace(r#""resultType":"complete","#, "");
        let news = news.trim_start_matches('{').trim_end_matches('}');
        assert_eq!(task_event_text(side.receive(&tagged("tasks", news))), says);
    }
    let done = modern_task("completed", "09", &format!(r#","result":{DONE}"#));
    let done = done.replace(r#""resultType":"complete","#, "");
    let done = done.strip_prefix('{').and_then(|done| done.strip_suffix('}')).unwrap();
    assert_eq!(ended(side.receive(&tagged("tasks", done))), (call, format!("result {DONE}")));
    assert!(side.client.in_flight().is_pending(listening));
}

/// A call that needed input before it became a task is marked with `needed_input` when it ends.
#[test]
fn input_before_a_task_is_not_forgotten() {
    let mut side = without_session();
    let call = call(&mut side);
    side.sent();
    let asks = inputs(&["a"]).replacen(',', "", 1);
    let asked = format!(r#"{{"resultType":"input_required",{asks}}}"#);
    let (request, needed_for) = question(side.receive(&result(2, &asked)));
    assert_eq!(needed_for, Some(call));
    side.respond(request, ANSWER);
    assert_eq!(side.sent().len(), 1);
    assert_eq!(
        task_event_text(side.receive(&modern_task_created(3, "working"))),
        "task t-1 working"
    );
    _ = side.elapse(1_000);
    let done = modern_task("completed", "09", &format!(r#","result":{DONE}"#));
    let event = side.receive(&result(4, &done));
    let Some(ClientEvent::CallEnded(ended)) = event else { panic!("{event:?}") };
    assert_eq!((ended.call, ended.needed_input), (call, true));
}
