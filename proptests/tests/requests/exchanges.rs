//! Accepted requests of the peer: cancellation and progress.

use mcp_sansio::error::ViolationKind;
use mcp_sansio::event::CancelCause;
use mcp_sansio::json::Number;
use mcp_sansio::progress::{Progress, ProgressReport};
use mcp_sansio::subscription::Delivery;
use mcp_sansio::{ErrorCode, RespondError, Revision, ServerEvent};
use mcp_sansio_proptests::{ServerSide, config};

fn ready() -> ServerSide {
    ServerSide::ready(Revision::V2025_11_25)
}

fn work(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x/work"}}"#)
}

fn work_with_token(id: u32, token: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"x/work","params":{{"_meta":{{"progressToken":{token}}}}}}}"#
    )
}

fn cancel(params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#)
}

/// Proves L-CANCEL-05, L-CANCEL-06, L-RACE-02, L-AMB-11. Pain 25.
#[test]
fn a_cancelled_request_is_never_answered() {
    let mut side = ready();
    let id = side.request(&work_with_token(1, "1"));
    let event = side.receive(&cancel(r#"{"requestId":1,"reason":"no \"time\""}"#));
    let Some(ServerEvent::Cancelled(cancelled)) = event else { panic!("{event:?}") };
    assert_eq!((cancelled.id, cancelled.cause), (id, CancelCause::Peer));
    assert_eq!(cancelled.reason.unwrap(), "no \"time\"");
    assert_eq!(side.server.in_flight().counts().inbound, 0);
    let answered = side.server.respond(id, &(), &mut side.out);
    assert_eq!(answered, Err(RespondError::Cancelled));
    let rejected = side.server.reject(id, ErrorCode::INTERNAL_ERROR, "x", &mut side.out);
    assert_eq!(rejected, Err(RespondError::Cancelled));
    let progressed = side.server.progress(id, Progress::new(1_u8), side.now, &mut side.out);
    assert_eq!(progressed, Err(RespondError::Cancelled));
    assert_eq!(side.sent(), [""; 0]);
    // The slot is reused, and the old handle still reports how its request ended.
    let next = side.request(&work("2"));
    assert_eq!(next.index(), id.index());
    let answered = side.server.respond(id, &(), &mut side.out);
    assert_eq!(answered, Err(RespondError::Cancelled));
    side.server.respond(next, &(), &mut side.out).unwrap();
}

/// Proves L-CANCEL-07, L-CANCEL-08, L-AMB-12, L-RACE-03, L-RACE-04. Pain 26.
#[test]
fn a_cancellation_of_nothing_is_ignored() {
    let mut side = ready();
    let id = side.request(&work("1"));
    side.server.respond(id, &(), &mut side.out).unwrap();
    _ = side.sent();
    assert_eq!(side.receive(&cancel(r#"{"requestId":1}"#)), None, "finished");
    assert_eq!(side.receive(&cancel(r#"{"requestId":42}"#)), None, "never seen");
    assert_eq!(side.receive(&cancel(r#"{"requestId":"x"}"#)), None);
    for params in [r#"{}"#, r#"{"requestId":null}"#, r#"{"requestId":[1]}"#, r#"{"requestId":1.5}"#]
    {
        let event = side.receive(&cancel(params));
        let Some(ServerEvent::Violation(violation)) = event else { panic!("{event:?}") };
        assert_eq!(violation.kind, ViolationKind::MalformedCancellation);
    }
    let bare = r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#;
    assert!(matches!(side.receive(bare), Some(ServerEvent::Violation(_))));
    assert_eq!(side.sent(), [""; 0]);
    // A cancellation that arrives before its request is not remembered.
    assert_eq!(side.receive(&cancel(r#"{"requestId":7}"#)), None);
    side.request(&work("7"));
}

/// Proves L-CANCEL-11, L-JSONRPC-08. Pains 20 and 21.
#[test]
fn a_cancellation_names_exactly_one_id() {
    let mut side = ready();
    let ids = ["0", r#""""#, "1", r#""1""#].map(|id| side.request(&work(id)));
    for (wire, id) in [("0", ids[0]), (r#""""#, ids[1]), (r#""\u0031""#, ids[3]), ("1", ids[2])] {
        let event = side.receive(&cancel(&format!(r#"{{"requestId":{wire}}}"#)));
        assert!(
            matches!(&event, Some(ServerEvent::Cancelled(c)) if c.id == id),
            "{wire}: {event:?}"
        );
    }
}

/// Proves L-PROG-03, L-PROG-04, L-PROG-05, L-PROG-06, L-PROG-11. Pain 64.
#[test]
fn progress_is_sent_under_the_token_while_it_increases() {
    let mut side = ready();
    let id = side.request(&work_with_token(1, r#""t\u0041""#));
    let half = Number::try_from(0.5).unwrap();
    let mut report = |progress| side.server.progress(id, progress, side.now, &mut side.out);
    assert_eq!(report(Progress::new(0_u8)), Ok(ProgressReport::Sent));
    assert_eq!(report(Progress::new(half).total(2_u8).message("a\nb")), Ok(ProgressReport::Sent));
    assert_eq!(report(Progress::new(half)), Ok(ProgressReport::NotIncreasing));
    assert_eq!(report(Progress::new(0_u8)), Ok(ProgressReport::NotIncreasing));
    assert_eq!(report(Progress::new(5_u8).total(2_u8)), Ok(ProgressReport::Sent));
    side.server.respond(id, &(), &mut side.out).unwrap();
    let late = side.server.progress(id, Progress::new(9_u8), side.now, &mut side.out);
    assert_eq!(late, Err(RespondError::Answered));
    let params = |rest: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":"t\u0041",{rest}}}}}"#
        )
    };
    assert_eq!(
        side.sent(),
        [
            params(r#""progress":0"#),
            params(r#""progress":0.5,"total":2,"message":"a\nb""#),
            params(r#""progress":5,"total":2"#),
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_string(),
        ]
    );
}

/// Proves L-PROG-03: a request without a token gets no progress, and the report is no error.
#[test]
fn progress_without_a_progress_token_is_not_sent() {
    let mut side = ready();
    for frame in [work("1"), work_with_token(2, "null")] {
        let id = side.request(&frame);
        let report = side.server.progress(id, Progress::new(1_u8), side.now, &mut side.out);
        assert_eq!(report, Ok(ProgressReport::NotWanted));
    }
    assert_eq!(side.sent(), [""; 0]);
}

/// Proves L-PROG-07: 2024-11-05 has no member for a progress message.
#[test]
fn a_progress_message_goes_only_where_it_exists() {
    for revision in Revision::LEGACY {
        let mut side = ServerSide::ready(revision);
        let id = side.request(&work_with_token(1, "7"));
        side.server
            .progress(id, Progress::new(1_u8).message("m"), side.now, &mut side.out)
            .unwrap();
        let has_message = side.sent()[0].contains("message");
        assert_eq!(has_message, revision != Revision::V2024_11_05, "{revision}");
    }
}

/// Proves L-PROG-18: a number that is not finite cannot be created and so cannot be reported.
#[test]
fn progress_is_finite() {
    assert!(Number::try_from(f64::NAN).is_err());
    assert!(Number::try_from(f64::NEG_INFINITY).is_err());
}

/// In a session, a notification about a request can follow its response.
#[test]
fn a_notification_about_an_answered_request_is_sent_to_the_session() {
    let mut side = ready();
    let id = side.request(&work("1"));
    side.respond(id, "{}");
    let notified = side.server.notify_method("x/note", &(), Some(id), &mut side.out);
    assert_eq!(notified, Ok(Delivery::Sent));
    let note = r#"{"jsonrpc":"2.0","method":"x/note"}"#;
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, note]);
}

/// The task that a request belongs to is repeated in the response, unless its metadata is longer than the limit.
#[test]
fn the_metadata_of_a_related_task_is_bounded() {
    const RELATED: &str = r#"{"taskId":"t"}"#;
    let meta = format!(r#""_meta":{{"io.modelcontextprotocol/related-task":{RELATED}}}"#);
    let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{meta}}}}}"#);
    for (uri_bytes, is_repeated) in [(RELATED.len(), true), (RELATED.len() - 1, false)] {
        let mut config = config::server();
        config.connection.limits.uri_bytes = uri_bytes;
        let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
        let id = side.request(&frame);
        side.respond(id, r#"{"tools":[]}"#);
        let more = if is_repeated { format!(",{meta}") } else { String::new() };
        let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[]{more}}}}}"#);
        assert_eq!(side.sent(), [answer]);
        let kinds: Vec<_> = side
            .outcomes()
            .into_iter()
            .map(|event| match event {
                ServerEvent::Violation(violation) => violation.kind,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(kinds, vec![ViolationKind::MalformedRelatedTask; usize::from(!is_repeated)]);
    }
}
