//! Past bugs of the client: full outboxes, and responses at unexpected times.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::call::Timeout;
use mcp_sansio::error::NotAllowed;
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::{
    CallError, CallOptions, Cause, Client, ClientEvent, Framing, Instant, Limits, Outbox, Outcome,
    Revision, RevisionSet,
};
use mcp_sansio_proptests::{ClientSide, config};

use super::kit::{needs_roots, state_only, stateless_client};

/// The params of an unknown method are not kept, so the request cannot be repeated: the error is the outcome.
#[test]
fn a_refused_version_ends_a_call_of_an_unknown_method() {
    let mut side = stateless_client(|_| {});
    let options = CallOptions::new().idle(Timeout::Never).total(Timeout::Never);
    let call = side.client.call_method("x/y", &(), options, side.now, &mut side.out).unwrap();
    assert_eq!(side.sent().len(), 1);
    let event = side.receive(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"m","data":{"supported":["2026-07-28"],"requested":"x"}}}"#);
    let Some(ClientEvent::CallEnded(ended)) = event else { panic!("{event:?}") };
    let Outcome::PeerError(error) = ended.outcome else { panic!("{:?}", ended.outcome) };
    assert_eq!((ended.call, error.code.get()), (call, -32022));
    assert_eq!(side.sent(), [""; 0]);
}

/// The repeated request has no id on the wire yet.
#[test]
fn a_request_that_waits_to_be_made_again_is_not_cancelled_on_the_wire() {
    let mut side = stateless_client(|c| c.connection.limits.outbox_bytes = 600);
    let call = side.call("tools/list");
    assert_eq!(side.sent().len(), 1);
    let filler = side.client.call_method(
        "x",
        &serde_json::json!({"t": "y".repeat(150)}),
        CallOptions::new(),
        side.now,
        &mut side.out,
    );
    filler.unwrap();
    let event = side.receive(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"m","data":{"supported":["2026-07-28"],"requested":"x"}}}"#);
    assert!(event.is_none());
    assert_eq!(side.sent().len(), 1, "the filler only");
    side.client.cancel(call, None, &mut side.out).unwrap();
    assert_eq!(side.sent(), [""; 0], "nothing to cancel on the wire");
}

/// The answers are larger than the outbox.
#[test]
fn a_request_that_can_never_be_made_again_ends_its_call() {
    let mut side = stateless_client(|c| c.connection.limits.outbox_bytes = 2000);
    let options = CallOptions::new().total(Timeout::Never);
    let call = side
        .client
        .call_method(
            "tools/call",
            &serde_json::json!({"name":"t"}),
            options,
            side.now,
            &mut side.out,
        )
        .unwrap();
    side.sent();
    let Some(ClientEvent::Request(need)) = side.receive(&needs_roots(1)) else { panic!() };
    let roots = serde_json::json!({"roots": [{"uri": format!("file:///{}", "x".repeat(3000))}]});
    let given = side.client.respond(need.id, &roots, &mut side.out);
    let mut ended = given.is_err();
    for _ in 0..100 {
        ended |= side.elapse(60_000).iter().any(|e| matches!(e, ClientEvent::CallEnded(_)));
    }
    assert!(ended, "never: {:?}", side.client.in_flight().is_pending(call));
}

/// The requests are repeated in a loop, not by recursion.
#[test]
fn any_number_of_requests_is_made_again_at_once() {
    let count = 20_000;
    let mut side = stateless_client(|c| c.connection.limits.outbound_calls = count);
    for _ in 0..count {
        side.client
            .call_method(
                "tools/call",
                &serde_json::json!({"name":"t"}),
                CallOptions::new(),
                side.now,
                &mut side.out,
            )
            .unwrap();
    }
    side.sent();
    for id in 1..=u64::from(count) {
        assert!(side.receive(&state_only(id)).is_none());
    }
    assert_eq!(side.elapse(60).len(), 0);
    assert_eq!(side.sent().len(), count as usize);
}

#[test]
fn a_successor_that_never_came_up_leaves_its_subscriptions_to_the_next() {
    let mut side = stateless_client(|_| {});
    let filter = SubscriptionFilter::new().with_resource("a:/x");
    side.client.subscribe(&filter, side.now, &mut side.out).unwrap();
    side.client.disconnected(Cause::EndOfInput, side.now);
    _ = side.outcomes();
    let mut second = side.client.reconnect(mcp_sansio::ConnectionNumber::default());
    // The second connection never opens.
    second.disconnected(Cause::EndOfInput, side.now);
    let mut out = Outbox::new(Framing::Messages, &Limits::default());
    while second.handle_timeout(side.now, &mut out).is_some() {}
    let mut third = second.reconnect(mcp_sansio::ConnectionNumber::default());
    third.connect(side.now, &mut out).unwrap();
    let sent: Vec<_> = out.messages().map(|m| String::from_utf8_lossy(m).into_owned()).collect();
    assert!(sent.iter().any(|m| m.contains("subscriptions/listen")), "{sent:?}");
}

#[test]
fn a_connect_that_fails_changes_nothing() {
    let mut config = config::client_of_both_eras();
    config.connection.limits.outbox_bytes = 10;
    let mut side = ClientSide::with(config);
    let before = side.client.clone();
    side.client.connect(side.now, &mut side.out).unwrap_err();
    assert!(before == side.client);
}

/// The response to the probe arrives before the first `handle_timeout`.
#[test]
fn an_early_probe_response_connects_a_client_once() {
    let mut config = config::client_of_both_eras();
    config.known = Some(Revision::V2026_07_28);
    let mut side = ClientSide::with(config);
    side.client.connect(side.now, &mut side.out).unwrap();
    let event = side.receive(r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}}"#);
    assert!(matches!(event, Some(ClientEvent::Connected(_))), "{event:?}");
    side.client.close();
    let events = side.outcomes();
    assert!(matches!(events[..], [ClientEvent::Closed { .. }]), "{events:?}");
}

/// All due events are returned.
#[test]
fn calls_that_expire_with_the_probe_are_reported() {
    let mut config = config::client_of_both_eras();
    config.connection.timeouts.probe = Some(Duration::from_secs(1));
    let mut side = ClientSide::with(config);
    side.client.connect(side.now, &mut side.out).unwrap();
    let options = CallOptions::new().idle(Timeout::After(Duration::from_secs(1)));
    side.client.call_method("tools/list", &(), options, side.now, &mut side.out).unwrap();
    let events = side.elapse(1000);
    assert_eq!(events.len(), 1, "{events:?}");
}

/// This holds for any room in the outbox.
#[test]
fn params_of_a_call_that_was_not_made_are_forgotten() {
    for filler in 0..900 {
        let mut config = config::client_of_both_eras();
        config.revisions = RevisionSet::MODERN;
        config.probe = false;
        config.connection.limits.outbox_bytes = 1500;
        let limits = config.connection.limits.clone();
        let mut client = Client::new(Arc::new(config));
        let mut out = Outbox::new(Framing::Lines, &limits);
        let now = Instant::from_millis(1000);
        client.connect(now, &mut out).unwrap();
        while client.handle_timeout(now, &mut out).is_some() {}
        let text = serde_json::json!({"t": "y".repeat(filler)});
        client.call_method("x", &text, CallOptions::new(), now, &mut out).unwrap();
        let first = serde_json::json!({"name": "secret", "arguments": {"p": "first-first-first"}});
        if client.call_method("tools/call", &first, CallOptions::new(), now, &mut out).is_ok() {
            continue;
        }
        out.messages().for_each(drop);
        let second = serde_json::json!({"name": "t"});
        client.call_method("tools/call", &second, CallOptions::new(), now, &mut out).unwrap();
        out.messages().for_each(drop);
        assert!(client.receive(state_only(2).as_str(), now, &mut out).is_none());
        _ = client.handle_timeout(now + Duration::from_secs(1), &mut out);
        let sent: Vec<_> =
            out.messages().map(|m| String::from_utf8_lossy(m).into_owned()).collect();
        assert_eq!(sent.len(), 1);
        assert!(!sent.iter().any(|m| m.contains("secret")), "filler {filler}: {sent:?}");
    }
}

#[test]
fn debug_output_of_a_client_omits_call_params() {
    let mut side = stateless_client(|_| {});
    side.client
        .call_method(
            "tools/call",
            &serde_json::json!({"name":"t","arguments":{"p":"SECRET"}}),
            CallOptions::new(),
            side.now,
            &mut side.out,
        )
        .unwrap();
    let text = format!("{:?}", side.client);
    assert!(!text.contains("SECRET"), "params of a call");
}

/// A malformed interim result ends its call, which does not wait without end.
#[test]
fn a_need_that_names_a_member_twice_is_refused() {
    for params in [
        r#"{"message":"m","message":5,"requestedSchema":{"type":"object","properties":{}}}"#,
        r#"{"message":5,"message":"m","requestedSchema":{"type":"object","properties":{}}}"#,
    ] {
        let mut side = stateless_client(|_| {});
        let call = side.call("tools/call");
        side.sent();
        let event = side.receive(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"input_required","inputRequests":{{"k":{{"method":"elicitation/create","params":{params}}}}}}}}}"#));
        let Some(ClientEvent::CallEnded(ended)) = event else { panic!("{params}: {event:?}") };
        assert!(ended.call == call && matches!(ended.outcome, Outcome::Malformed { .. }));
    }
}

/// The client assumed a modern server, and the server turns out to need a session.
#[test]
fn nothing_is_made_again_while_a_session_is_opened() {
    let mut config = config::client_of_both_eras();
    config.known = Some(Revision::V2026_07_28);
    let mut side = ClientSide::with(config);
    side.client.connect(side.now, &mut side.out).unwrap();
    _ = side.outcomes();
    let call = side.call("tools/call");
    side.sent();
    let Some(ClientEvent::Request(need)) = side.receive(&needs_roots(2)) else { panic!() };
    _ = side.receive(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m"}}"#);
    let [initialize] = &side.sent()[..] else { panic!("only `initialize` is sent") };
    assert!(initialize.contains(r#""method":"initialize""#), "{initialize}");
    side.client.respond(need.id, &serde_json::json!({"roots": []}), &mut side.out).unwrap();
    assert_eq!(side.sent(), [""; 0], "in the middle of the handshake");
    let events = side.outcomes();
    let [ClientEvent::CallEnded(ended)] = &events[..] else { panic!("{events:?}") };
    let expected = Outcome::CallError(CallError::NotAllowed(NotAllowed::Revision));
    assert_eq!((ended.call, &ended.outcome), (call, &expected));
}
