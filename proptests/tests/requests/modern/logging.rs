//! Progress and log messages about modern requests.

use std::time::Duration;

use mcp_sansio::capability::Capability;
use mcp_sansio::config::DuplicateIds;
use mcp_sansio::error::{NotAllowed, NotifyError};
use mcp_sansio::json::{Number, Raw};
use mcp_sansio::model::{LogParams, LoggingLevel, method};
use mcp_sansio::progress::{Progress, ProgressReport};
use mcp_sansio::subscription::{Delivery, Log};
use mcp_sansio::{IncomingId, RespondError, Revision, ServerEvent};
use mcp_sansio_proptests::{ServerSide, config};

use crate::modern::kit::*;

const LEVELS: [LoggingLevel; 8] = [
    LoggingLevel::Debug,
    LoggingLevel::Info,
    LoggingLevel::Notice,
    LoggingLevel::Warning,
    LoggingLevel::Error,
    LoggingLevel::Critical,
    LoggingLevel::Alert,
    LoggingLevel::Emergency,
];

fn call_at(id: &str, level: LoggingLevel) -> String {
    let more = format!(r#""io.modelcontextprotocol/logLevel":"{}""#, level.name());
    with_more(id, "tools/call", &more, r#""name":"t""#)
}

fn message(level: LoggingLevel) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"{}","data":"d"}}}}"#,
        level.name()
    )
}

fn log(side: &mut ServerSide, level: LoggingLevel, id: IncomingId) -> Delivery {
    side.server.notifications().log(&Log::new(level, "d").about(id), &mut side.out).unwrap()
}

/// The same by the method name of the notification.
fn notify(side: &mut ServerSide, level: LoggingLevel, id: IncomingId) -> Delivery {
    let params = LogParams::new(level, Raw::new(r#""d""#).unwrap());
    side.server.notify::<method::Log>(&params, Some(id), &mut side.out).unwrap()
}

/// Proves M-LOG-01: a request that names no level gets no messages.
#[test]
fn a_request_without_a_level_gets_no_logs() {
    for mut side in [server(), without_sessions(), beside_session(Revision::V2025_11_25)] {
        let id = side.request(&modern_request("1", "tools/call", r#""name":"t""#));
        for level in LEVELS {
            assert_eq!(log(&mut side, level, id), Delivery::NotWanted);
            assert_eq!(notify(&mut side, level, id), Delivery::NotWanted);
        }
        assert_eq!(side.sent(), [""; 0]);
    }
}

/// Proves M-LOG-02, M-LOG-05, M-LOG-06: a request gets the messages of its level and above, by either way of
/// sending them.
#[test]
fn a_request_gets_the_logs_of_its_level() {
    for (at, least) in LEVELS.into_iter().enumerate() {
        let mut side = server();
        let id = side.request(&call_at("1", least));
        for (index, level) in LEVELS.into_iter().enumerate() {
            let expected = if at <= index { Delivery::Sent } else { Delivery::NotWanted };
            assert_eq!(log(&mut side, level, id), expected, "{level:?} at {least:?}");
            assert_eq!(notify(&mut side, level, id), expected, "{level:?} at {least:?}");
            let times = if at <= index { 2 } else { 0 };
            assert_eq!(side.sent(), vec![message(level); times]);
        }
    }
}

/// Proves M-LOG-03: each request has its own level, until it is answered.
#[test]
fn each_request_has_its_own_level() {
    let mut side = server();
    let loud = side.request(&call_at("1", LoggingLevel::Debug));
    let quiet = side.request(&call_at("2", LoggingLevel::Error));
    assert_eq!(log(&mut side, LoggingLevel::Info, quiet), Delivery::NotWanted);
    assert_eq!(log(&mut side, LoggingLevel::Info, loud), Delivery::Sent);
    side.respond(loud, r#"{"content":[]}"#);
    assert_eq!(log(&mut side, LoggingLevel::Emergency, loud), Delivery::NotWanted);
    assert_eq!(log(&mut side, LoggingLevel::Emergency, quiet), Delivery::Sent);
    assert!(side.receive(&cancel("2")).is_some());
    assert_eq!(log(&mut side, LoggingLevel::Emergency, quiet), Delivery::NotWanted);
    let answer = complete("1", r#""content":[]"#);
    // The unsent message of the other request was withdrawn.
    assert_eq!(side.sent(), [message(LoggingLevel::Info), answer]);
}

/// Proves M-LOG-03: a session does not get messages about a modern request.
#[test]
fn a_session_does_not_get_the_logs_of_others() {
    let mut side = beside_session(Revision::V2025_11_25);
    let id = side.request(&call_at("1", LoggingLevel::Debug));
    side.respond(id, r#"{"content":[]}"#);
    assert_eq!(side.sent().len(), 1);
    assert_eq!(log(&mut side, LoggingLevel::Emergency, id), Delivery::NotWanted);
    assert_eq!(notify(&mut side, LoggingLevel::Emergency, id), Delivery::NotWanted);
    assert_eq!(side.sent(), [""; 0]);
}

/// Proves M-LOG-04, M-CAP-14: a server that does not declare logging cannot log.
#[test]
fn a_server_without_the_logging_capability_cannot_log() {
    let mut side = server_with(|config| config.capabilities.logging = None);
    let id = side.request(&call_at("1", LoggingLevel::Debug));
    let refused = NotifyError::NotAllowed(NotAllowed::Capability(Capability::Logging));
    let delivered = side
        .server
        .notifications()
        .log(&Log::new(LoggingLevel::Error, "d").about(id), &mut side.out);
    assert_eq!(delivered, Err(refused));
    assert_eq!(side.sent(), [""; 0]);
    side.respond(id, r#"{"content":[]}"#);
    assert_eq!(side.sent(), [complete("1", r#""content":[]"#)]);
}

/// Proves M-LOG-03: a message without a request is not sent in the modern era.
#[test]
fn a_modern_log_without_a_request_is_not_sent() {
    let mut side = server();
    side.request(&call_at("1", LoggingLevel::Debug));
    let delivered =
        side.server.notifications().log(&Log::new(LoggingLevel::Emergency, "d"), &mut side.out);
    assert_eq!(delivered, Ok(Delivery::NotWanted));
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(side.server.in_flight().counts().held_bytes, 0);
}

/// Proves M-LOG-07, M-ERA-10: a session has one level of its own, which is not that of modern requests.
#[test]
fn a_session_has_a_level_of_its_own() {
    let mut side = beside_session(Revision::V2025_11_25);
    let level = side.request(&of_session("1", "logging/setLevel", r#""level":"error""#));
    side.server.respond(level, &(), &mut side.out).unwrap();
    let in_session = side.request(&of_session("2", "tools/call", r#""name":"t""#));
    let by_itself = side.request(&call_at("3", LoggingLevel::Info));
    side.sent();
    assert_eq!(log(&mut side, LoggingLevel::Info, in_session), Delivery::NotWanted);
    assert_eq!(log(&mut side, LoggingLevel::Info, by_itself), Delivery::Sent);
    assert_eq!(log(&mut side, LoggingLevel::Error, in_session), Delivery::Sent);
    assert_eq!(side.sent(), [message(LoggingLevel::Info), message(LoggingLevel::Error)]);
}

fn progress(token: &str, members: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},{members}}}}}"#
    )
}

fn report(
    side: &mut ServerSide,
    id: IncomingId,
    progress: Progress<'_>,
) -> Result<ProgressReport, RespondError> {
    side.server.progress(id, progress, side.now, &mut side.out)
}

/// Proves M-PROG-02, M-PROG-11: progress is sent under the token of the request, unchanged.
#[test]
fn progress_has_the_token_that_came() {
    for token in ["1", r#""1""#, "0", r#""""#, r#""\u0061""#, "9007199254740993"] {
        let mut side = server();
        let more = format!(r#""progressToken":{token}"#);
        let id = side.request(&with_more("7", "tools/call", &more, r#""name":"t""#));
        let half = Number::try_from(0.5).unwrap();
        let sent = report(&mut side, id, Progress::new(half).total(1_u32).message("m"));
        assert_eq!(sent, Ok(ProgressReport::Sent));
        assert_eq!(side.sent(), [progress(token, r#""progress":0.5,"total":1,"message":"m""#)]);
    }
    let mut side = server();
    let id = side.request(&modern_request("7", "tools/call", r#""name":"t""#));
    assert_eq!(report(&mut side, id, Progress::new(1_u32)), Ok(ProgressReport::NotWanted));
    assert_eq!(side.sent(), [""; 0]);
    assert!(Number::try_from(f64::NAN).is_err() && Number::try_from(f64::INFINITY).is_err());
}

/// Proves M-PROG-03, M-PROG-04, M-PROG-05: progress increases and precedes the response.
#[test]
fn progress_grows_and_precedes_the_answer() {
    let mut side = server();
    let id = side.request(&with_more("7", "tools/call", r#""progressToken":1"#, r#""name":"t""#));
    for (value, expected) in [
        (5_u32, ProgressReport::Sent),
        (5, ProgressReport::NotIncreasing),
        (4, ProgressReport::NotIncreasing),
        (6, ProgressReport::Sent),
    ] {
        assert_eq!(report(&mut side, id, Progress::new(value)), Ok(expected));
    }
    side.respond(id, r#"{"content":[]}"#);
    assert_eq!(report(&mut side, id, Progress::new(7_u32)), Err(RespondError::Answered));
    let answer = complete("7", r#""content":[]"#);
    assert_eq!(
        side.sent(),
        [progress("1", r#""progress":5"#), progress("1", r#""progress":6"#), answer]
    );
}

/// Proves M-PROG-08, M-PROG-05: reports in quick succession are delayed, and the newest one precedes the response.
#[test]
fn progress_has_a_rate() {
    let mut side = server_with(|config| {
        config.connection.progress_interval = Some(Duration::from_millis(100));
    });
    let id = side.request(&with_more("7", "tools/call", r#""progressToken":1"#, r#""name":"t""#));
    for value in 1..5_u32 {
        assert!(report(&mut side, id, Progress::new(value)).is_ok());
    }
    assert_eq!(side.sent(), [progress("1", r#""progress":1"#)]);
    side.respond(id, r#"{"content":[]}"#);
    assert_eq!(side.sent(), [progress("1", r#""progress":4"#), complete("7", r#""content":[]"#)]);
    side.elapse(1000);
    assert_eq!(side.sent(), [""; 0]);
}

/// Proves M-PROG-10: a modern client sends no progress.
#[test]
fn a_client_reports_on_nothing() {
    let mut side = server();
    let frame = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#;
    assert!(side.receive(frame).is_some());
    assert_eq!(side.sent(), [""; 0]);
    lives(&mut side);
}

/// The level of a request concerns log messages only. Another notification may have a member of that name.
#[test]
fn a_notification_of_the_application_has_no_level() {
    let mut side = server();
    let id = side.request(&call_at("1", LoggingLevel::Error));
    let params = Raw::new(r#"{"level":"debug"}"#).unwrap();
    let notified = side.server.notify_method("x/note", &params, Some(id), &mut side.out);
    assert_eq!(notified, Ok(Delivery::Sent));
    let note = r#"{"jsonrpc":"2.0","method":"x/note","params":{"level":"debug"}}"#;
    assert_eq!(side.sent(), [note]);
}

/// A connection that has ended takes no notification, also about a request that has been answered.
#[test]
fn a_closed_connection_takes_no_notification_about_a_request() {
    let mut side = server();
    let id = side.request(&modern_request("1", "tools/call", r#""name":"t""#));
    side.respond(id, r#"{"content":[]}"#);
    let notify =
        |side: &mut ServerSide| side.server.notify_method("x/note", &(), Some(id), &mut side.out);
    assert_eq!(notify(&mut side), Ok(Delivery::NotWanted));
    side.server.close();
    assert_eq!(notify(&mut side), Err(NotifyError::Closed));
}

/// A cancellation ends all requests of its id, also those whose event has not been returned yet. Proves M-CANC-06.
#[test]
fn nothing_is_logged_about_the_twin_of_a_cancelled_request() {
    let mut config = config::server_of_both_eras();
    config.connection.duplicate_ids = DuplicateIds::Serve;
    let mut side = ServerSide::with(config);
    let call = call_at("1", LoggingLevel::Debug);
    let twins = [side.request(&call), side.request(&call)];
    let cancelled = side.receive(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
    );
    assert!(matches!(cancelled, Some(ServerEvent::Cancelled(_))), "{cancelled:?}");
    for id in twins {
        assert_eq!(log(&mut side, LoggingLevel::Error, id), Delivery::NotWanted);
        assert_eq!(notify(&mut side, LoggingLevel::Error, id), Delivery::NotWanted);
    }
    assert_eq!(side.sent(), [""; 0]);
}
