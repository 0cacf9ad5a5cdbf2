//! Requests of a modern client, and their outcomes.

use std::time::Duration;

use mcp_sansio::call::{Cancellation, Timeout};
use mcp_sansio::capability::{Capability, CapabilitySet};
use mcp_sansio::error::{CancelError, ViolationKind};
use mcp_sansio::event::{Expiry, UnmatchedCause};
use mcp_sansio::model::{ElicitationCapability, EmptyCapability, LoggingLevel};
use mcp_sansio::{CallOptions, Cause, ClientEvent, Frames, Framing, Outbox, Outcome};
use mcp_sansio_proptests::{ClientSide, config, payload};

use super::kit::{
    SESSION, absorb, asked, asked_with, begun, cancelled, complete, connected, connected_with,
    ended, error, is_alive, modern, only, result, timed_out, violation,
};

fn call(side: &mut ClientSide, method: &str, options: CallOptions) -> mcp_sansio::CallId {
    let params = payload::params(method);
    side.client.call_method(method, &params, options, side.now, &mut side.out).unwrap()
}

/// Proves M-META-01, M-META-02, M-META-03, M-RPC-01, M-RPC-03, M-PAGE-07: every method of the revision, byte for
/// byte.
#[test]
fn every_modern_request_carries_the_required_meta() {
    let mut side = connected();
    let params = |method: &str| match method {
        "tools/call" | "prompts/get" => r#""name":"n""#,
        "resources/read" => r#""uri":"x:y""#,
        "completion/complete" => {
            r#""ref":{"type":"ref/prompt","name":"n"},"argument":{"name":"a","value":""}"#
        }
        _ => "",
    };
    let methods = [
        "server/discover",
        "tools/list",
        "tools/call",
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "completion/complete",
        "x.example/own",
    ];
    for (id, method) in (2..).zip(methods) {
        side.call(method);
        assert_eq!(side.sent(), [asked(id, method, params(method))]);
    }
    let filter = mcp_sansio::model::SubscriptionFilter::new().with_tools();
    side.client.subscribe(&filter, side.now, &mut side.out).unwrap();
    let listen = asked(12, "subscriptions/listen", r#""notifications":{"toolsListChanged":true}"#);
    assert_eq!(side.sent(), [listen]);
}

/// Proves M-META-06, M-META-13: the application's members of `_meta` are kept, except for the keys of the machine.
#[test]
fn the_applications_meta_stays_and_the_machines_is_its_own() {
    let meta = r#"{"com.example/x":[1],"io.modelcontextprotocol/protocolVersion":"1999","io.modelcontextprotocol/clientInfo":{"name":"liar","version":"0"},"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"loud","progressToken":"mine","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"a=b"}"#;
    let params =
        mcp_sansio::json::Raw::try_from(format!(r#"{{"name":"n","_meta":{meta}}}"#)).unwrap();
    for progress in [false, true] {
        let mut side = connected();
        let options = if progress { CallOptions::new().progress() } else { CallOptions::new() };
        side.client.call_method("tools/call", &params, options, side.now, &mut side.out).unwrap();
        let sent = side.sent();
        let value: serde_json::Value = serde_json::from_str(&sent[0]).unwrap();
        let meta = &value["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "client");
        assert_eq!(
            meta["io.modelcontextprotocol/clientCapabilities"]["roots"],
            serde_json::json!({})
        );
        assert_eq!(meta.get("io.modelcontextprotocol/logLevel"), None);
        assert_eq!(meta["com.example/x"], serde_json::json!([1]));
        assert_eq!(meta["traceparent"], "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
        assert_eq!(meta["tracestate"], "a=b");
        for key in ["protocolVersion\":", "clientInfo\":", "clientCapabilities\":"] {
            assert_eq!(sent[0].matches(key).count(), 1, "{key}");
        }
        if progress {
            assert_eq!(meta["progressToken"], 2);
            assert_eq!(sent[0].matches("progressToken").count(), 1);
        } else {
            assert_eq!(meta.get("progressToken"), None, "a token of the application");
        }
    }
}

/// A call that is made before the era is known has the token of the machine in both eras, and once.
///
/// Proves M-PROG-01, L-PROG-01.
#[test]
fn a_call_that_waits_for_the_era_keeps_its_progress_token() {
    let params = mcp_sansio::json::Raw::new(r#"{"name":"n","_meta":{"a/b":1}}"#).unwrap();
    for is_modern in [true, false] {
        let mut side = begun(config::client_of_both_eras());
        let (options, now) = (CallOptions::new().progress(), side.now);
        side.client.call_method("tools/call", &params, options, now, &mut side.out).unwrap();
        side.sent();
        if is_modern {
            absorb(side.receive(&result(1, super::kit::DISCOVERY)));
        } else {
            side.receive(&error(1, -32601, ""));
            side.sent();
            absorb(side.receive(&result(3, SESSION)));
        }
        let sent = side.sent();
        let sent = sent.last().unwrap();
        assert!(sent.contains(r#""_meta":{"progressToken":2,"#), "{sent}");
        assert!(
            sent.contains(r#""a/b":1"#) && sent.matches("progressToken").count() == 1,
            "{sent}"
        );
    }
}

/// Proves M-META-21, M-ERA-28, M-PROG-01: the options that differ between requests.
#[test]
fn each_request_can_have_its_own_terms() {
    let mut config = modern();
    config.log_level = Some(LoggingLevel::Error);
    let mut side = begun(config);
    let level = |level: &str| format!(r#""io.modelcontextprotocol/logLevel":"{level}""#);
    assert_eq!(side.sent(), [asked(1, "server/discover", "")]);
    absorb(side.receive(&result(1, super::kit::DISCOVERY)));
    call(&mut side, "tools/list", CallOptions::new());
    assert_eq!(side.sent(), [asked_with(2, "tools/list", &level("error"), "")]);
    call(&mut side, "tools/list", CallOptions::new().log_level(LoggingLevel::Debug));
    assert_eq!(side.sent(), [asked_with(3, "tools/list", &level("debug"), "")]);
    call(&mut side, "tools/list", CallOptions::new().progress());
    let both = format!(r#""progressToken":4,{}"#, level("error"));
    assert_eq!(side.sent(), [asked_with(4, "tools/list", &both, "")]);
    let declared = |set: CapabilitySet, id, text: &str| {
        let mut side = connected();
        for _ in 2..id {
            call(&mut side, "tools/list", CallOptions::new());
        }
        side.sent();
        call(&mut side, "tools/list", CallOptions::new().capabilities(set));
        let full = asked(id, "tools/list", "");
        let at = full.find(r#"{"roots":{}"#).unwrap();
        assert_eq!(side.sent(), [format!("{}{text}}}}}}}", &full[..at])]);
    };
    declared(CapabilitySet::NONE, 2, "{}");
    let roots = CapabilitySet::NONE.with(Capability::Roots);
    declared(roots, 3, r#"{"roots":{}}"#);
    // A call declares no more than the client supports.
    declared(roots.with(Capability::Tools), 2, r#"{"roots":{}}"#);
    // Elicitation without a mode means forms, and a mode includes elicitation.
    let of = |capability| CapabilitySet::NONE.with(capability);
    declared(of(Capability::Elicitation), 2, r#"{"elicitation":{"form":{}}}"#);
    declared(of(Capability::ElicitationUrl), 2, r#"{"elicitation":{"url":{}}}"#);
    declared(of(Capability::SamplingTools), 2, r#"{"sampling":{"tools":{}}}"#);
}

/// A call declares no elicitation by forms for a client that can only visit URLs. Without a mode it would mean forms.
#[test]
fn a_call_declares_no_mode_that_the_client_lacks() {
    let mut config = modern();
    config.capabilities.elicitation =
        Some(ElicitationCapability::default().url(EmptyCapability::default()));
    let mut side = connected_with(config);
    let elicitation = CapabilitySet::NONE.with(Capability::Elicitation);
    call(&mut side, "tools/list", CallOptions::new().capabilities(elicitation));
    let sent = side.sent();
    assert!(sent[0].contains(r#"/clientCapabilities":{}"#), "{sent:?}");
}

/// Proves M-RPC-06, M-RPC-07, M-RPC-20, M-RPC-21: each response belongs to one call, by its id and the type of the
/// id, in any sequence of messages.
#[test]
fn answers_find_their_calls() {
    let mut side = connected();
    let calls: Vec<_> = (0..3).map(|_| side.call("tools/list")).collect();
    side.sent();
    let list = r#"{"resultType":"complete","tools":[]}"#;
    for (strange, cause) in [
        (r#"99"#, UnmatchedCause::NeverIssued),
        (r#""2""#, UnmatchedCause::NeverIssued),
        (r#"1"#, UnmatchedCause::Completed),
        (r#""a""#, UnmatchedCause::NeverIssued),
    ] {
        let event = side.receive(&format!(r#"{{"jsonrpc":"2.0","id":{strange},"result":{list}}}"#));
        let Some(ClientEvent::UnmatchedResponse(unmatched)) = event else { panic!("{event:?}") };
        assert_eq!(unmatched.cause, cause, "{strange}");
        assert!(side.client.in_flight().calls().eq(calls.iter().copied()));
    }
    // Responses arrive in any order, each once.
    for (call, id) in calls.into_iter().zip([2, 3, 4]).rev() {
        assert_eq!(complete(side.receive(&result(id, list))), (call, list.to_owned()));
        let event = side.receive(&result(id, list));
        assert!(
            matches!(event, Some(ClientEvent::UnmatchedResponse(unmatched)) if unmatched.cause == UnmatchedCause::Completed)
        );
    }
    is_alive(&mut side);
}

/// Proves M-RPC-22, M-AMB-12: an error without an id belongs to no call, unless the transport names one.
#[test]
fn an_error_without_an_id_belongs_to_no_call() {
    for id in ["", r#""id":null,"#] {
        let mut side = connected();
        let call = side.call("tools/list");
        side.sent();
        let fault = format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32700,"message":"m"}}}}"#);
        let event = side.receive(&fault);
        assert!(
            matches!(event, Some(ClientEvent::UnsolicitedError(error)) if error.code.get() == -32700)
        );
        assert!(side.client.in_flight().is_pending(call));
        let route = mcp_sansio::Received::from(side.now).route(mcp_sansio::Route::Call(call));
        let event = side.client.receive(&*fault, route, &mut side.out);
        let (ended, outcome) = ended(event.map(ClientEvent::into_owned));
        assert!(ended == call && matches!(outcome, Outcome::PeerError(_)));
        is_alive(&mut side);
    }
}

/// Proves M-RPC-15, M-RPC-16, M-RPC-18, M-RPC-27, M-STDIO-06, M-ELIC-09, M-ROOT-02: requests and responses that a
/// server may not send are never answered and do no harm.
/// Pain 42.
#[test]
fn messages_a_server_may_not_send_get_no_response() {
    let mut side = connected();
    let pending = side.call("tools/list");
    side.sent();
    for method in [
        "ping",
        "roots/list",
        "sampling/createMessage",
        "elicitation/create",
        "initialize",
        "x/y",
        "tools/list",
    ] {
        for id in ["1", "2", r#""a""#] {
            let request = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{}}}"#,
                payload::params(method).as_json().replace("null", "{}")
            );
            assert_eq!(
                violation(side.receive(&request)),
                ViolationKind::RequestFromServer,
                "{method}"
            );
            assert_eq!(side.sent(), [""; 0]);
        }
    }
    let batch = format!("[{}]", result(2, "{}"));
    let limits = side.client.config().connection.limits.clone();
    let mut frames = Frames::of(batch.as_bytes(), &limits);
    let event = side.client.receive(frames.next().unwrap(), side.now, &mut side.out);
    let event = event.map(ClientEvent::into_owned);
    assert!(frames.next().is_none());
    assert_eq!(violation(event), ViolationKind::BatchNotAllowed);
    for noise in [
        "starting...",
        "7",
        r#"{"jsonrpc":"2.0"}"#,
        "\u{1b}[31mred",
        r#"{"jsonrpc":"2.0","id":77}"#,
        r#"{"jsonrpc":"2.0","id":77,"method":"ping""#,
        r#"{"jsonrpc":"1.0","id":77,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":77,"method":7}"#,
    ] {
        let event = side.receive(noise);
        assert!(
            matches!(event, Some(ClientEvent::Violation(violation)) if !violation.answered),
            "{noise}"
        );
        assert_eq!(side.sent(), [""; 0], "{noise}");
    }
    for gone in [
        "notifications/elicitation/complete",
        "notifications/roots/list_changed",
        "notifications/initialized",
        "notifications/tasks/status",
    ] {
        let params = r#"{"elicitationId":"e","taskId":"t"}"#;
        let event =
            side.receive(&format!(r#"{{"jsonrpc":"2.0","method":"{gone}","params":{params}}}"#));
        assert!(
            !matches!(event, Some(ClientEvent::Request(_) | ClientEvent::CallEnded(_))),
            "{gone}: {event:?}"
        );
    }
    let own = side.receive(r#"{"jsonrpc":"2.0","method":"notifications/future"}"#);
    assert!(matches!(own, Some(ClientEvent::Notification(_))), "{own:?}");
    assert!(side.client.in_flight().is_pending(pending));
    is_alive(&mut side);
}

/// Proves M-CANC-01, M-CANC-03, M-CANC-04, M-CANC-09, M-CANC-10, M-META-19, and M-R-01: a call is cancelled on the
/// wire, once, and later messages about it have no effect.
#[test]
fn a_cancelled_call_is_over() {
    let mut side = connected();
    let one = side.call("tools/call");
    side.sent();
    assert_eq!(side.client.cancel(one, None, &mut side.out), Ok(Cancellation::Notified));
    assert_eq!(side.sent(), [cancelled(2)]);
    for _ in 0..2 {
        assert_eq!(side.client.cancel(one, None, &mut side.out), Err(CancelError::NotInFlight));
        is_alive(&mut side);
    }
    let event = side.receive(&result(2, r#"{"resultType":"input_required","requestState":"s"}"#));
    assert!(
        matches!(event, Some(ClientEvent::UnmatchedResponse(unmatched)) if unmatched.cause == UnmatchedCause::Cancelled)
    );
    is_alive(&mut side);
    let two = side.call("tools/call");
    side.sent();
    assert_eq!(side.client.cancel(two, Some("bored"), &mut side.out), Ok(Cancellation::Notified));
    let reason = cancelled(6).replace(r#""requestId":6"#, r#""requestId":6,"reason":"bored""#);
    assert_eq!(side.sent(), [reason]);
    // A call that has not left is withdrawn.
    let three = side.call("tools/call");
    assert_eq!(side.client.cancel(three, None, &mut side.out), Ok(Cancellation::Withdrawn));
    is_alive(&mut side);
    // A call that was answered cannot be cancelled.
    let four = side.call("tools/list");
    side.sent();
    let id = 9;
    complete(side.receive(&result(id, r#"{"tools":[]}"#)));
    side.outcomes();
    assert_eq!(side.client.cancel(four, None, &mut side.out), Err(CancelError::NotInFlight));
    is_alive(&mut side);
}

/// Proves M-CANC-13, M-CANC-14, as far as calls are concerned: a server does not cancel a call of this side.
#[test]
fn a_server_cannot_cancel_a_call() {
    let mut side = connected();
    let call = side.call("tools/call");
    side.sent();
    for id in ["2", r#""2""#, "1", "99", "null"] {
        let params = format!(r#"{{"requestId":{id},"reason":"no"}}"#);
        let event = side.receive(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#
        ));
        assert!(matches!(event, None | Some(ClientEvent::Violation(_))), "{id}: {event:?}");
        assert!(side.client.in_flight().is_pending(call));
    }
    is_alive(&mut side);
}

/// Proves M-CANC-15, M-CANC-16, M-ERR-08, M-META-19, M-R-41: idle and total timeouts, with progress in between.
/// Pain 28: the outcome names the timeout and is no error of the peer.
#[test]
fn a_call_that_takes_too_long_is_cancelled() {
    let after = |milliseconds| Timeout::After(Duration::from_millis(milliseconds));
    let mut side = connected();
    let idle = call(&mut side, "tools/call", CallOptions::new().idle(after(10)));
    side.sent();
    assert_eq!(side.elapse(9), []);
    assert_eq!(ended(only(side.elapse(1))), (idle, Outcome::TimedOut(Expiry::Idle)));
    assert_eq!(side.sent(), [timed_out(2)]);
    let event = side.receive(&result(2, r#"{"content":[]}"#));
    assert!(
        matches!(event, Some(ClientEvent::UnmatchedResponse(unmatched)) if unmatched.cause == UnmatchedCause::TimedOut)
    );
    is_alive(&mut side);
    let options = CallOptions::new().idle(after(10)).total(after(25)).progress();
    let total = call(&mut side, "tools/call", options);
    side.sent();
    for progress in 1..=2 {
        assert_eq!(side.elapse(9), []);
        let event = side.receive(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":4,"progress":{progress}}}}}"#));
        assert!(matches!(event, Some(ClientEvent::Progress(update)) if update.call == total));
    }
    assert_eq!(side.elapse(6), []);
    assert_eq!(ended(only(side.elapse(1))), (total, Outcome::TimedOut(Expiry::Total)));
    assert_eq!(side.sent(), [timed_out(4)]);
    // An error of the peer with a code of its own is no timeout.
    let call = side.call("tools/list");
    side.sent();
    let outcome = ended(side.receive(&error(5, -32001, "")));
    assert!(
        matches!(outcome, (ended, Outcome::PeerError(error)) if ended == call && error.code.get() == -32001)
    );
    is_alive(&mut side);
}

/// Proves M-PROG-01, M-PROG-06, M-PROG-07, M-R-12, M-R-13: progress belongs to the open call with its token, and
/// increases.
#[test]
fn progress_is_for_one_call_and_increases() {
    let mut side = connected();
    let watched = call(&mut side, "tools/call", CallOptions::new().progress());
    let unwatched = side.call("tools/call");
    side.sent();
    let progress = |token: &str, progress: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress}}}}}"#
        )
    };
    let reports = [
        ("2", "5", true),
        ("2", "5", false),
        ("2", "4.9", false),
        ("2", "5.5", true),
        ("3", "1", false),
        (r#""2""#, "9", false),
        ("77", "1", false),
    ];
    for (token, value, counts) in reports {
        let event = side.receive(&progress(token, value));
        let delivered =
            matches!(&event, Some(ClientEvent::Progress(update)) if update.call == watched);
        assert_eq!(delivered, counts, "{token} {value}: {event:?}");
    }
    complete(side.receive(&result(2, r#"{"content":[]}"#)));
    side.outcomes();
    assert_eq!(side.receive(&progress("2", "9")), None);
    side.client.cancel(unwatched, None, &mut side.out).unwrap();
    side.sent();
    assert_eq!(side.receive(&progress("3", "9")), None);
    is_alive(&mut side);
}

/// Proves M-LOG-08: log messages that were not requested do no harm.
#[test]
fn unrequested_log_messages_do_no_harm() {
    let mut side = connected();
    for level in ["debug", "emergency", "loud"] {
        let event = side.receive(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"{level}","data":1}}}}"#));
        assert!(
            matches!(event, Some(ClientEvent::Notification(_) | ClientEvent::Violation(_))),
            "{level}: {event:?}"
        );
    }
    is_alive(&mut side);
}

/// Proves M-STDIO-09, M-R-37: the end of the connection ends everything, each call once.
#[test]
fn the_end_ends_every_call_once() {
    let mut side = connected();
    let sent = side.call("tools/list");
    side.sent();
    let unsent = side.call("tools/list");
    side.client.disconnected(Cause::EndOfInput, side.now);
    let events = side.outcomes();
    let [
        ClientEvent::CallEnded(first),
        ClientEvent::CallEnded(second),
        ClientEvent::Closed { cause },
    ] = &events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!((first.call, &first.outcome), (sent, &Outcome::Closed(Cause::EndOfInput)));
    assert_eq!((second.call, &second.outcome), (unsent, &Outcome::NotSent));
    assert_eq!(*cause, Cause::EndOfInput);
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(side.receive(&result(2, "{}")), None);
    assert_eq!(
        (side.client.in_flight().counts().outbound, side.client.in_flight().counts().inbound),
        (0, 0)
    );
}

/// Proves M-STDIO-01: a message is one line, with any content.
#[test]
fn one_message_is_one_line() {
    let mut side = connected();
    let mut out = Outbox::new(Framing::Lines, &side.client.config().connection.limits);
    let pretty =
        mcp_sansio::json::Raw::new("{\n\"name\":\"a\\nb\",\r\n\t\"arguments\":{}\n}").unwrap();
    let options = CallOptions::new();
    side.client.call_method("tools/call", &pretty, options, side.now, &mut out).unwrap();
    let lines = String::from_utf8(out.unsent().to_vec()).unwrap();
    let params = r#""name":"a\nb","arguments":{}"#;
    assert_eq!(lines, asked(2, "tools/call", params) + "\n");
}

/// Proves M-DISC-12, M-DISC-13, M-DISC-17: a call whose version is refused is repeated once, under a new id and the
/// same handle.
#[test]
fn a_refused_version_is_corrected_once_for_each_call() {
    let mut side = connected();
    let options = CallOptions::new().progress().log_level(LoggingLevel::Info);
    let one = call(&mut side, "tools/call", options);
    let two = side.call("tools/list");
    let meta = |id| format!(r#""progressToken":{id},"io.modelcontextprotocol/logLevel":"info""#);
    let name = r#""name":"n""#;
    assert_eq!(
        side.sent(),
        [asked_with(2, "tools/call", &meta(2), name), asked(3, "tools/list", "")]
    );
    assert_eq!(side.receive(&error(2, -32022, super::kit::SUPPORTED)), None);
    assert_eq!(side.sent(), [asked_with(4, "tools/call", &meta(4), name)]);
    assert_eq!(side.receive(&error(3, -32022, super::kit::SUPPORTED)), None);
    assert_eq!(side.sent(), [asked(5, "tools/list", "")]);
    assert!(side.client.in_flight().calls().eq([one, two]));
    let outcome = ended(side.receive(&error(4, -32022, super::kit::SUPPORTED)));
    assert!(
        matches!(outcome, (call, Outcome::PeerError(error)) if call == one && error.code.get() == -32022)
    );
    assert!(
        matches!(complete(side.receive(&result(5, r#"{"tools":[]}"#))), (call, _) if call == two)
    );
    side.outcomes();
    is_alive(&mut side);
    // Its timeouts restart, except for the total timeout.
    let after = |seconds| Timeout::After(Duration::from_secs(seconds));
    let three = call(&mut side, "tools/call", CallOptions::new().idle(after(10)).total(after(15)));
    side.sent();
    side.elapse(9_000);
    assert_eq!(side.receive(&error(7, -32022, super::kit::SUPPORTED)), None);
    assert_eq!(side.sent(), [asked(8, "tools/call", name)]);
    assert_eq!(side.elapse(5_999), []);
    assert_eq!(ended(only(side.elapse(1))), (three, Outcome::TimedOut(Expiry::Total)));
    assert_eq!(side.sent(), [timed_out(8)]);
}

/// Proves M-DISC-12, M-DISC-14, M-DISC-15: without a supported version there is no repetition.
#[test]
fn a_refused_version_without_another_is_the_outcome() {
    for data in [
        "",
        r#","data":null"#,
        r#","data":{}"#,
        r#","data":{"supported":"2026-07-28"}"#,
        r#","data":{"supported":[]}"#,
        r#","data":{"supported":["2025-11-25"]}"#,
        r#","data":{"supported":["2099-01-01"]}"#,
    ] {
        let mut side = connected_with(config::client_of_both_eras());
        let call = side.call("tools/call");
        side.sent();
        let outcome = ended(side.receive(&error(2, -32022, data)));
        assert!(
            matches!(outcome, (ended, Outcome::PeerError(error)) if ended == call && error.code.get() == -32022)
        );
        is_alive(&mut side);
    }
}
