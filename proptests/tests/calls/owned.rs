//! Events, outcomes and failures as owned values and as text.

use mcp_sansio::call::{Paging, TaskOptions, TaskTicket};
use mcp_sansio::error::{ErrorObject, ViolationKind};
use mcp_sansio::event::{CancelCause, ConnectFailure, Expiry, SubscriptionEnd, UnmatchedCause};
use mcp_sansio::json::Raw;
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::model::method::ListTools;
use mcp_sansio::pagination::PageStop;
use mcp_sansio::{
    CallError, CallOptions, Cause, ClientEvent, ErrorCode, Instant, Outcome, Revision, RevisionSet,
    ServerEvent,
};
use mcp_sansio_proptests::{ClientSide, config};

fn raw(text: &str) -> Raw<'_> {
    Raw::new(text).unwrap()
}

/// Every outcome that an application can construct.
fn outcomes() -> Vec<Outcome<'static>> {
    vec![
        Outcome::Result(raw(r#"{"a":1}"#)),
        Outcome::InputRequired(raw(r#"{"inputRequests":{}}"#)),
        Outcome::Malformed { kind: ViolationKind::InvalidResult, message: b"{}"[..].into() },
        Outcome::Truncated { stop: PageStop::RepeatedCursor, last: raw("{}") },
        Outcome::TaskCancelled,
        Outcome::TaskNotFound,
        Outcome::InputRefused(ErrorCode::INVALID_PARAMS),
        Outcome::TooManyRounds,
        Outcome::CallError(CallError::TooManyCalls),
        Outcome::TimedOut(Expiry::Idle),
        Outcome::Closed(Cause::EndOfInput),
        Outcome::NotSent,
    ]
}

#[test]
fn an_owned_value_equals_the_value() {
    for outcome in outcomes() {
        assert_eq!(outcome.clone().into_owned(), outcome);
        let is_result = matches!(outcome, Outcome::Result(_));
        assert_eq!(outcome.parse::<ListTools>().is_some(), is_result, "{outcome:?}");
    }
    let ours = RevisionSet::LEGACY;
    for failure in [
        ConnectFailure::UnsupportedRevision { theirs: "x".into(), ours },
        ConnectFailure::NoCommonRevision { theirs: raw("[]"), ours },
        ConnectFailure::Malformed { kind: ViolationKind::InvalidResult, message: b"{}"[..].into() },
        ConnectFailure::TimedOut,
        ConnectFailure::RestartAdvised(Cause::EndOfInput),
        ConnectFailure::Closed(Cause::EndOfInput),
    ] {
        assert_eq!(failure.clone().into_owned(), failure);
    }
    for end in [
        SubscriptionEnd::Finished,
        SubscriptionEnd::Cancelled { reason: Some("r".into()) },
        SubscriptionEnd::Malformed(ViolationKind::InvalidResult),
        SubscriptionEnd::TimedOut,
        SubscriptionEnd::CallError(CallError::Closed),
        SubscriptionEnd::Lost(Cause::EndOfInput),
    ] {
        assert_eq!(end.clone().into_owned(), end);
    }
    let (deadline, cause) = (Instant::from_millis(7), Cause::EndOfInput);
    for event in [
        ClientEvent::Unresponsive { missed: 2 },
        ClientEvent::Draining { deadline },
        ClientEvent::Closed { cause },
    ] {
        assert_eq!(event.clone().into_owned(), event);
    }
    for event in [
        ServerEvent::Unresponsive { missed: 2 },
        ServerEvent::Draining { deadline },
        ServerEvent::Closed { cause },
    ] {
        assert_eq!(event.clone().into_owned(), event);
    }
}

/// The texts that end up in the logs of an application.
#[test]
fn causes_are_sentences() {
    let texts = |causes: &[&dyn std::fmt::Display]| -> Vec<String> {
        causes.iter().map(|cause| cause.to_string()).collect()
    };
    assert_eq!(
        texts(&[
            &CancelCause::Peer,
            &CancelCause::Closed,
            &CancelCause::CallEnded,
            &CancelCause::InputFailed,
        ]),
        [
            "the peer cancelled the request",
            "the connection has ended",
            "the call that the request was needed for has ended",
            "the peer did not provide the required input",
        ]
    );
    assert_eq!(
        texts(&[&Expiry::Idle, &Expiry::Total, &Expiry::Paused]),
        [
            "no answer and no progress came in time",
            "no answer came in the time that a call may take at most",
            "a person took too long",
        ]
    );
    assert_eq!(
        texts(&[
            &UnmatchedCause::NeverIssued,
            &UnmatchedCause::Completed,
            &UnmatchedCause::Cancelled,
            &UnmatchedCause::TimedOut,
        ]),
        [
            "no call was ever made with this id",
            "the call was answered already, or ended long ago",
            "the call was cancelled",
            "the call had timed out",
        ]
    );
    let error = |message: &str| {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":2,"error":{{"code":-32601,"message":"{message}"}}}}"#
        );
        let mut side = ClientSide::ready(Revision::V2025_11_25);
        side.call("x/own");
        match side.receive(&text) {
            Some(ClientEvent::CallEnded(ended)) => match ended.outcome {
                Outcome::PeerError(error) => error,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    };
    let shown = |error: ErrorObject<'_>| error.to_string();
    assert_eq!(shown(error("no")), format!("{}: no", ErrorCode::METHOD_NOT_FOUND));
    assert_eq!(shown(error("")), ErrorCode::METHOD_NOT_FOUND.to_string());
    assert_eq!(i64::from(ErrorCode::METHOD_NOT_FOUND), -32601);
    assert_eq!(RevisionSet::default(), RevisionSet::ALL);
    let set = format!("{:?}", RevisionSet::since(Revision::V2025_11_25));
    assert_eq!(set, "{2025-11-25, 2026-07-28}");
}

/// A page of a list is decoded like its result, and each page is sent under another id.
#[test]
fn a_page_is_decoded() {
    let mut side = ClientSide::ready(Revision::V2025_11_25);
    let options = CallOptions::new();
    let call =
        side.client.list::<ListTools>(Paging::default(), options, side.now, &mut side.out).unwrap();
    assert_eq!(side.client.in_flight().own_id(call), Some(2));
    let page = r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}],"nextCursor":"c"}}"#;
    let Some(ClientEvent::Page(page)) = side.receive(page) else { panic!("a page") };
    let tools = page.parse::<ListTools>().unwrap().tools;
    assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["t"]);
    assert_eq!(side.client.in_flight().own_id(call), Some(3));
    let last = r#"{"jsonrpc":"2.0","id":3,"result":{"tools":[]}}"#;
    assert!(matches!(side.receive(last), Some(ClientEvent::CallEnded(_))));
    assert_eq!(side.client.in_flight().own_id(call), None);
    let id = side.request(r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#);
    assert_eq!(side.client.in_flight().peer_id(id).unwrap().to_string(), r#""r""#);
    side.respond(id, r#"{"roots":[]}"#);
    assert_eq!(side.client.in_flight().peer_id(id), None);
}

/// A call without a request of its own has no id: a resumed task, and a subscription in a session.
#[test]
fn a_call_without_a_request_has_no_id() {
    let mut config = config::client();
    config.capabilities = config.capabilities.with_tasks();
    let mut side = ClientSide::ready_with(config, Revision::V2025_11_25);
    let ticket = TaskTicket::new("t", "tools/call");
    let options = TaskOptions::new();
    let (now, out) = (side.now, &mut side.out);
    let resumed = side.client.resume_task(&ticket, options, now, out).unwrap();
    let filter = SubscriptionFilter::new().with_tools();
    let subscribed = side.client.subscribe(&filter, now, out).unwrap();
    let called = side.call("tools/list");
    let in_flight = side.client.in_flight();
    assert_eq!((in_flight.own_id(resumed), in_flight.own_id(subscribed)), (None, None));
    let id = in_flight.own_id(called).unwrap();
    let sent = side.sent();
    assert!(sent.last().unwrap().contains(&format!(r#""id":{id},"#)), "{sent:?}");
}
