//! Past bugs of the server: commands that fail halfway, duplicate ids, and ends at unexpected times.

use std::time::Duration;

use mcp_sansio::call::Timeout;
use mcp_sansio::config::{DuplicateIds, Listening};
use mcp_sansio::model::{ElicitParams, InputRequired, SubscriptionFilter};
use mcp_sansio::{CallOptions, Phase, RespondError, ServerEvent};
use mcp_sansio_proptests::{ServerSide, config};

use super::kit::{META, dual_server, form, listen, request, session, state_only, stateless_client};

/// The limit is one call, and two are needed.
#[test]
fn needs_that_cannot_all_be_asked_for_leave_nothing() {
    let mut side = session(|c| c.connection.limits.outbound_calls = 1);
    let tool = request(&mut side, "1");
    let before = side.server.clone();
    let visit = |id| ElicitParams::url("m", "https://x/", id);
    let required = InputRequired::new().elicit("a", visit("e1")).elicit("b", visit("e2"));
    let error = side.server.require_input(&tool, &required, side.now, &mut side.out).unwrap_err();
    assert_eq!(error, RespondError::TooManyRounds);
    assert_eq!(side.sent(), [""; 0]);
    assert!(before.in_flight().counts() == side.server.in_flight().counts());
    let notified = side.server.notify_method(
        "notifications/elicitation/complete",
        &serde_json::json!({"elicitationId": "e1"}),
        None,
        &mut side.out,
    );
    let connection = serde_json::json!({"elicitationId": "0-1"});
    let other = side.server.notify_method(
        "notifications/elicitation/complete",
        &connection,
        None,
        &mut side.out,
    );
    assert!(notified.is_err() && other.is_err(), "{notified:?} {other:?} {:?}", side.sent());
}

/// The response to a request cancels the open requests for its input.
#[test]
fn a_repeated_input_request_is_sent_once_and_withdrawn() {
    let mut side = session(|_| {});
    let tool = request(&mut side, "1");
    let required = InputRequired::new().elicit("a", form());
    side.server.require_input(&tool, &required, side.now, &mut side.out).unwrap();
    let second = side.server.require_input(&tool, &required, side.now, &mut side.out);
    assert_eq!(second, Ok(()));
    // The first request is withdrawn, because it has not left.
    let asked = r#"{"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}"#;
    assert_eq!(side.sent(), [asked]);
    side.server.respond(tool.id, &serde_json::json!({"content": []}), &mut side.out).unwrap();
    assert_eq!(side.server.in_flight().counts().outbound, 0);
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
    let withdrawn =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
    assert_eq!(side.sent(), [answer, withdrawn]);
}

/// Input that replaces other input brings its own state, or none.
#[test]
fn replaced_input_takes_its_state_with_it() {
    for (state, comes) in [(None, None), (Some("t"), Some("t"))] {
        let mut side = session(|_| {});
        let tool = request(&mut side, "1");
        let first = InputRequired::new().elicit("a", form()).state("s");
        side.server.require_input(&tool, &first, side.now, &mut side.out).unwrap();
        let second = InputRequired::new().elicit("a", form());
        let second = match state {
            Some(state) => second.state(state),
            None => second,
        };
        side.server.require_input(&tool, &second, side.now, &mut side.out).unwrap();
        assert_eq!(side.sent().len(), 1);
        let answer = r#"{"jsonrpc":"2.0","id":2,"result":{"action":"decline"}}"#;
        let Some(ServerEvent::Request(again)) = side.receive(answer) else { panic!() };
        let state = again.state.as_ref().map(|state| state.to_str().into_owned());
        assert_eq!(state.as_deref(), comes);
    }
}

#[test]
fn a_withdrawn_request_does_not_hide_a_later_timeout() {
    let mut side = session(|_| {});
    let tool = request(&mut side, "1");
    let required = InputRequired::new().elicit("a", form());
    side.server.require_input(&tool, &required, side.now, &mut side.out).unwrap();
    _ = side.server.require_input(&tool, &required, side.now, &mut side.out);
    side.server.respond(tool.id, &serde_json::json!({"content": []}), &mut side.out).unwrap();
    let call = side
        .server
        .call_method(
            "ping",
            &(),
            CallOptions::new().idle(Timeout::After(Duration::from_secs(901))),
            side.now,
            &mut side.out,
        )
        .unwrap();
    let events = side.elapse(902_000);
    assert_eq!(events.len(), 1, "{events:?} {call:?}");
}

#[test]
fn a_request_awaiting_its_retry_ends_on_close() {
    let mut side = session(|_| {});
    let tool = request(&mut side, "1");
    let required = InputRequired::new().state("s");
    side.server.require_input(&tool, &required, side.now, &mut side.out).unwrap();
    side.server.close();
    let events = side.outcomes();
    assert_eq!(events.len(), 2, "{events:?}");
}

/// The server serves duplicate ids.
#[test]
fn of_two_subscriptions_under_one_id_one_is_cancelled_once() {
    let mut side = dual_server(|c| c.connection.duplicate_ids = DuplicateIds::Serve);
    let mut ids = Vec::new();
    for _ in 0..2 {
        match side.receive(&listen("1", r#"{"toolsListChanged":true}"#)) {
            Some(ServerEvent::Subscribed(s)) => ids.push(s.id),
            other => panic!("{other:?}"),
        }
    }
    side.sent();
    let cancelled = side.receive(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
    );
    assert!(matches!(cancelled, Some(ServerEvent::Cancelled(_))));
    side.server
        .notify_method("notifications/tools/list_changed", &(), None, &mut side.out)
        .unwrap();
    let after = side.sent();
    side.server.shut_down(Duration::from_secs(1), side.now);
    let ends = side.outcomes().iter().filter(|e| matches!(e, ServerEvent::Cancelled(_))).count();
    assert_eq!((ends, after), (1, vec![]));
}

/// The same in a session, where both requests need a form.
#[test]
fn each_of_two_requests_under_one_id_ends_once() {
    let mut side = session(|c| c.connection.duplicate_ids = DuplicateIds::Serve);
    let required = InputRequired::new().elicit("a", form());
    let mut ids = Vec::new();
    for _ in 0..2 {
        let tool = request(&mut side, "1");
        side.server.require_input(&tool, &required, side.now, &mut side.out).unwrap();
        ids.push(tool.id);
    }
    let mut ends = Vec::new();
    let mut note = |event: Option<ServerEvent<'static>>| {
        if let Some(ServerEvent::Cancelled(c)) = event {
            ends.push(c.id);
        }
    };
    note(side.receive(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
    ));
    for id in 1..3 {
        note(side.receive(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-1,"message":"no"}}}}"#
        )));
    }
    for event in side.outcomes() {
        note(Some(event));
    }
    ends.sort_unstable();
    ids.sort_unstable();
    assert_eq!(ends, ids);
}

/// A notification without room before the end is not sent afterwards.
#[test]
fn a_held_notification_is_not_sent_after_close() {
    for by_frame in [false, true] {
        let mut side = dual_server(|c| c.connection.limits.outbox_bytes = 700);
        assert!(matches!(
            side.receive(&listen("1", r#"{"toolsListChanged":true}"#)),
            Some(ServerEvent::Subscribed(_))
        ));
        side.sent();
        let tool = side.receive(&format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"t",{META}}}}}"#
        ));
        let Some(ServerEvent::Request(tool)) = tool else { panic!() };
        side.server
            .respond(
                tool.id,
                &serde_json::json!({"content": [{"type":"text","text":"x".repeat(400)}]}),
                &mut side.out,
            )
            .unwrap();
        side.server.close();
        side.sent();
        if by_frame {
            _ = side.receive("{}");
        } else {
            _ = side.outcomes();
        }
        assert_eq!(side.sent(), [""; 0], "after the end");
    }
}

/// The requested filter is unchanged as well.
#[test]
fn a_grant_that_fails_changes_nothing() {
    let mut side = dual_server(|c| {
        c.listening = Listening::Asked;
        c.connection.limits.outbox_bytes = 100;
    });
    let Some(ServerEvent::Request(asked)) =
        side.receive(&listen("1", r#"{"toolsListChanged":true,"promptsListChanged":true}"#))
    else {
        panic!()
    };
    let before = side.server.clone();
    let filter = SubscriptionFilter::new().with_resource("a:/x");
    side.server.grant(asked.id, Some(&filter), &mut side.out).unwrap_err();
    assert!(before == side.server, "a command that fails changes nothing");
}

/// The form was held for the handshake.
#[test]
fn a_form_that_never_left_ends_with_its_request() {
    let mut config = config::server_of_both_eras();
    config.connection.timeouts.drain = Duration::from_secs(5);
    let mut side = ServerSide::with(config);
    let initialize = r#"{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{}}},"clientInfo":{"name":"c","version":"1"}}}"#;
    assert!(matches!(side.receive(initialize), Some(ServerEvent::Opened(_))));
    let tool = request(&mut side, "1");
    side.server
        .require_input(&tool, &InputRequired::new().elicit("a", form()), side.now, &mut side.out)
        .unwrap();
    side.sent();
    side.server.shut_down(Duration::from_secs(5), side.now);
    let events = side.outcomes();
    assert!(
        !events.iter().any(|e| matches!(e, ServerEvent::CallEnded(_))),
        "a call nobody made: {events:?}"
    );
    assert!(side.server.phase() == Phase::Closed, "{events:?}");
}

#[test]
fn debug_output_omits_request_state_and_params() {
    let mut side = stateless_client(|_| {});
    side.client
        .call_method(
            "tools/call",
            &serde_json::json!({"name":"t"}),
            CallOptions::new(),
            side.now,
            &mut side.out,
        )
        .unwrap();
    assert!(side.receive(&state_only(1).replace("\"s\"", "\"SECRET\"")).is_none());
    assert!(!format!("{:?}", side.client).contains("SECRET"), "request state");
    let mut side = session(|_| {});
    let frame = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"p":"SECRET"}}}"#;
    let Some(ServerEvent::Request(tool)) = side.receive(frame) else { panic!() };
    side.server
        .require_input(&tool, &InputRequired::new().elicit("a", form()), side.now, &mut side.out)
        .unwrap();
    assert!(!format!("{:?}", side.server).contains("SECRET"), "params of a bridge");
}
