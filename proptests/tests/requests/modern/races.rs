//! Messages that cross, at a server: each order of simultaneous messages.

use std::time::Duration;

use mcp_sansio::config::Listening;
use mcp_sansio::model::InputRequired;
use mcp_sansio::progress::{Progress, ProgressReport};
use mcp_sansio::subscription::{ChangedList, Delivery, Log};
use mcp_sansio::{ErrorCode, Framing, IncomingId, Outbox, Phase, RespondError, ServerEvent};
use mcp_sansio_proptests::ServerSide;

use crate::modern::kit::*;

const TOOLS: &str = r#""toolsListChanged":true"#;
const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
const CONTENT: &str = r#"{"content":[]}"#;

fn changed(side: &mut ServerSide) -> Delivery {
    side.server.notifications().list_changed(ChangedList::Tools, &mut side.out).unwrap()
}

#[track_caller]
fn is_cancelled(event: Option<ServerEvent<'static>>, id: IncomingId) {
    match event {
        Some(ServerEvent::Cancelled(cancelled)) => assert_eq!(cancelled.id, id),
        other => panic!("not cancelled: {other:?}"),
    }
}

/// A tool call that asks for progress and log messages.
fn call(side: &mut ServerSide, id: &str) -> IncomingId {
    let more = r#""progressToken":"p","io.modelcontextprotocol/logLevel":"debug""#;
    side.request(&with_more(id, "tools/call", more, r#""name":"t""#))
}

fn report(
    side: &mut ServerSide,
    id: IncomingId,
    so_far: u32,
) -> Result<ProgressReport, RespondError> {
    side.server.progress(id, Progress::new(so_far), side.now, &mut side.out)
}

fn log(side: &mut ServerSide, id: IncomingId) -> Delivery {
    let log = Log::new(mcp_sansio::model::LoggingLevel::Error, "d").about(id);
    side.server.notifications().log(&log, &mut side.out).unwrap()
}

/// Proves M-R-01, M-CANC-07: a cancellation that crosses the response has no effect.
#[test]
fn a_cancellation_that_crosses_the_answer_is_ignored() {
    let mut side = server();
    let id = call(&mut side, "1");
    side.respond(id, CONTENT);
    let answer = complete("1", r#""content":[]"#);
    assert_eq!(side.receive(&cancel("1")), None);
    assert_eq!(side.sent(), [answer], "an answer is not taken back");
    for unknown in ["1", "77", r#""1""#] {
        assert_eq!(side.receive(&cancel(unknown)), None);
    }
    assert_eq!(side.sent(), [""; 0]);
    lives(&mut side);
}

/// Proves M-R-02, M-R-13, M-CANC-05, M-CANC-06: after a cancellation no message about the request is sent, through
/// any command.
#[test]
fn nothing_of_a_cancelled_request_leaves() {
    let mut side = server();
    let more = r#""progressToken":"p","io.modelcontextprotocol/logLevel":"debug""#;
    let request = request(&mut side, &with_more("1", "tools/call", more, r#""name":"t""#));
    let id = request.id;
    is_cancelled(side.receive(&cancel("1")), id);
    assert_eq!(report(&mut side, id, 1), Err(RespondError::Cancelled));
    assert_eq!(log(&mut side, id), Delivery::NotWanted);
    assert_eq!(side.server.respond(id, &(), &mut side.out), Err(RespondError::Cancelled));
    let code = ErrorCode::INTERNAL_ERROR;
    assert_eq!(side.server.reject(id, code, "no", &mut side.out), Err(RespondError::Cancelled));
    let needed = [mcp_sansio::capability::Capability::Roots].into_iter().collect();
    let missing = side.server.reject_missing(id, needed, &mut side.out);
    assert_eq!(missing, Err(RespondError::Cancelled));
    let need = InputRequired::new().state("s");
    let asked = side.server.require_input(&request, &need, side.now, &mut side.out);
    assert_eq!(asked, Err(RespondError::Cancelled));
    assert_eq!(side.sent(), [""; 0]);
    lives(&mut side);
}

/// Proves M-R-03, M-STDIO-12, M-CANC-06: a message whose first bytes were sent is finished, and an unsent message
/// is withdrawn, of this request and no other.
#[test]
fn unsent_messages_of_a_cancelled_request_are_dropped() {
    let mut side = server();
    side.out = Outbox::new(Framing::Lines, &side.server.config().connection.limits.clone());
    let (first, other) = (call(&mut side, "1"), call(&mut side, "2"));
    for so_far in 1..4 {
        assert_eq!(report(&mut side, first, so_far), Ok(ProgressReport::Sent));
        assert_eq!(log(&mut side, other), Delivery::Sent);
    }
    side.out.sent(5);
    is_cancelled(side.receive(&cancel("1")), first);
    let left = String::from_utf8(side.out.unsent().to_vec()).unwrap();
    let lines: Vec<&str> = left.lines().collect();
    assert_eq!(lines.len(), 4, "{left}");
    assert!(lines[0].ends_with(r#""progress":1}}"#), "{left}");
    assert!(lines[1..].iter().all(|line| line.contains("notifications/message")), "{left}");
    assert!(left.ends_with('\n'));
}

/// Proves M-R-04: a subscription that is cancelled before its acknowledgement is never acknowledged.
#[test]
fn a_subscription_that_is_cancelled_early_is_never_acknowledged() {
    let mut side = server_with(|config| config.listening = Listening::Asked);
    let id = side.request(&listen("1", TOOLS));
    assert_eq!(changed(&mut side), Delivery::Held);
    is_cancelled(side.receive(&cancel("1")), id);
    assert_eq!(side.server.grant(id, None, &mut side.out), Err(RespondError::Cancelled));
    assert_eq!(changed(&mut side), Delivery::NotWanted);
    assert_eq!(side.server.respond(id, &(), &mut side.out), Err(RespondError::Cancelled));
    side.server.shut_down(Duration::ZERO, side.now);
    side.outcomes();
    assert_eq!(side.sent(), [""; 0]);
}

/// Proves M-R-04, M-R-06: the same if the acknowledgement is in the outbox, with all messages behind it.
#[test]
fn unsent_messages_of_a_cancelled_subscription_are_dropped() {
    let mut side = server();
    let Some(ServerEvent::Subscribed(subscribed)) = side.receive(&listen("1", TOOLS)) else {
        panic!();
    };
    assert_eq!(changed(&mut side), Delivery::Sent);
    is_cancelled(side.receive(&cancel("1")), subscribed.id);
    assert_eq!(side.sent(), [""; 0]);
    // Its id can be used again without confusion.
    let next = subscribe(&mut side, "1", TOOLS, TOOLS);
    assert_ne!(next, subscribed.id);
    assert_eq!(changed(&mut side), Delivery::Sent);
    assert_eq!(side.sent(), [tagged("1", TOOLS_CHANGED, "")]);
}

/// Proves M-R-05: a change before and after the request for the subscription, and before and after its
/// acknowledgement.
#[test]
fn a_subscription_gets_changes_from_its_request_on() {
    for at in 0..4 {
        let mut side = server_with(|config| config.listening = Listening::Asked);
        // After a modern request no session is expected, so that no notification is held for one.
        lives(&mut side);
        let mut step = 0;
        let mut change = |side: &mut ServerSide| {
            if step == at {
                changed(side);
            }
            step += 1;
        };
        change(&mut side);
        let id = side.request(&listen("1", TOOLS));
        change(&mut side);
        side.server.grant(id, None, &mut side.out).unwrap();
        change(&mut side);
        side.server.respond(id, &(), &mut side.out).unwrap();
        change(&mut side);
        let mut expected = vec![acknowledged("1", TOOLS), ended("1")];
        if at == 1 || at == 2 {
            expected.insert(1, tagged("1", TOOLS_CHANGED, ""));
        }
        assert_eq!(side.sent(), expected, "changed at step {at}");
    }
}

/// Proves M-R-07, M-R-09, M-R-08: the end of a subscription by the server and by the client, in each order.
#[test]
fn a_subscription_ends_once() {
    let mut side = server();
    let id = subscribe(&mut side, "1", TOOLS, TOOLS);
    assert_eq!(changed(&mut side), Delivery::Sent);
    side.server.respond(id, &(), &mut side.out).unwrap();
    assert_eq!(side.receive(&cancel("1")), None);
    assert_eq!(changed(&mut side), Delivery::NotWanted);
    assert_eq!(side.server.respond(id, &(), &mut side.out), Err(RespondError::Answered));
    assert_eq!(side.sent(), [tagged("1", TOOLS_CHANGED, ""), ended("1")]);
}

/// Proves M-R-12, M-PROG-04: no progress is sent after the response.
#[test]
fn progress_after_the_answer_is_not_sent() {
    for is_error in [false, true] {
        let mut side = server();
        let id = call(&mut side, "1");
        if is_error {
            side.server.reject(id, ErrorCode::new(1), "no", &mut side.out).unwrap();
        } else {
            side.respond(id, CONTENT);
        }
        assert_eq!(side.sent().len(), 1);
        assert_eq!(report(&mut side, id, 1), Err(RespondError::Answered));
        assert_eq!(log(&mut side, id), Delivery::NotWanted);
        assert_eq!(side.sent(), [""; 0]);
    }
}

/// Proves M-CANC-08: a cancellation that names no request is ignored.
#[test]
fn a_cancellation_that_names_nothing_is_ignored() {
    let mut side = server();
    let id = call(&mut side, "1");
    for params in [
        "{}",
        r#"{"requestId":null}"#,
        r#"{"requestId":{}}"#,
        r#"{"requestId":1.5}"#,
        r#"{"requestId":true}"#,
    ] {
        let frame =
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#);
        let event = side.receive(&frame);
        assert!(!matches!(event, Some(ServerEvent::Cancelled(_))), "{event:?}");
        assert_eq!(side.sent(), [""; 0]);
    }
    // An id of another type is another id.
    assert_eq!(side.receive(&cancel(r#""1""#)), None);
    side.respond(id, CONTENT);
    assert_eq!(side.sent(), [complete("1", r#""content":[]"#)]);
}

/// Proves M-CANC-21: a cancellation is not remembered.
#[test]
fn a_cancellation_is_not_remembered() {
    let mut side = server();
    assert_eq!(side.receive(&cancel("5")), None);
    let id = call(&mut side, "5");
    side.respond(id, CONTENT);
    assert_eq!(side.sent(), [complete("5", r#""content":[]"#)]);
}

/// Proves M-R-40: while a server ends, new requests are refused, and open ones may be answered.
#[test]
fn a_server_that_ends_takes_nothing_new() {
    let mut side = server();
    let open = call(&mut side, "1");
    side.server.shut_down(Duration::from_secs(1), side.now);
    assert_eq!(side.outcomes().len(), 1);
    for frame in [
        modern_request("2", "tools/list", ""),
        modern_request("2", "server/discover", ""),
        listen("2", TOOLS),
    ] {
        let event = side.receive(&frame);
        assert!(matches!(event, Some(ServerEvent::Violation(_))), "{event:?}");
        assert_eq!(side.sent(), [error("2", -32603, "the connection is shutting down")]);
    }
    side.respond(open, CONTENT);
    assert_eq!(side.sent(), [complete("1", r#""content":[]"#)]);
    assert_eq!(side.outcomes().len(), 1);
    assert_eq!(side.server.phase(), Phase::Closed);
    let late = side.receive(&modern_request("3", "tools/list", ""));
    assert_eq!((late, side.sent().len()), (None, 0));
}
