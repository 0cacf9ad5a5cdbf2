//! Log messages, and the level of a client.

use mcp_sansio::json::Raw;
use mcp_sansio::model::method::{self, SetLevel};
use mcp_sansio::model::{LoggingLevel, SetLevelParams};
use mcp_sansio::subscription::{Delivery, Log};
use mcp_sansio::{
    CallOptions, ClientEvent, ClientRequest, ErrorCode, Frames, Limits, Outcome, Revision,
    ServerEvent,
};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

const ANSWERED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

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

fn set_level(id: u32, level: LoggingLevel) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"logging/setLevel","params":{{"level":"{level}"}}}}"#
    )
}

fn message(level: LoggingLevel) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"{level}","data":"x"}}}}"#
    )
}

#[track_caller]
fn log(side: &mut ServerSide, level: LoggingLevel) -> Delivery {
    side.server.notifications().log(&Log::new(level, "x"), &mut side.out).unwrap()
}

/// The same by the method name of the notification.
#[track_caller]
fn log_by_name(side: &mut ServerSide, level: LoggingLevel) -> Delivery {
    let params = format!(r#"{{"level":"{level}","data":"x"}}"#);
    let params = Raw::new(&params).unwrap();
    side.server.notify_method("notifications/message", &params, None, &mut side.out).unwrap()
}

/// Sends a message of every level in both ways, and compares the output.
#[track_caller]
fn sends_from(side: &mut ServerSide, least: LoggingLevel) {
    for level in LEVELS {
        let (delivery, expected) = if least <= level {
            (Delivery::Sent, vec![message(level); 2])
        } else {
            (Delivery::NotWanted, Vec::new())
        };
        assert_eq!(log(side, level), delivery, "{level} from {least} on");
        assert_eq!(log_by_name(side, level), delivery, "{level} from {least} on");
        assert_eq!(side.sent(), expected);
    }
}

/// Proves L-LOG-01, L-LOG-04: each level in each revision, from the request to the following messages.
#[test]
fn a_client_sets_the_level_of_log_messages() {
    for revision in Revision::LEGACY {
        let mut server = ServerSide::ready(revision);
        for level in LEVELS {
            let mut client = ClientSide::ready(revision);
            let (params, options) = (SetLevelParams::new(level), CallOptions::new());
            let (now, out) = (client.now, &mut client.out);
            let call = client.client.call::<SetLevel>(&params, options, now, out).unwrap();
            let sent = client.sent();
            assert_eq!(sent, [set_level(2, level)]);

            let Some(ServerEvent::Request(request)) = server.receive(&sent[0]) else { panic!() };
            assert_eq!(request.kind, ClientRequest::SetLevel(level));
            server.server.respond(request.id, &(), &mut server.out).unwrap();
            let answer = server.sent();
            assert_eq!(answer, [r#"{"jsonrpc":"2.0","id":2,"result":{}}"#]);
            assert_eq!(server.server.notifications().log_level(), level);
            sends_from(&mut server, level);

            let Some(ClientEvent::CallEnded(ended)) = client.receive(&answer[0]) else { panic!() };
            let Outcome::Result(result) = ended.outcome else { panic!("{:?}", ended.outcome) };
            assert_eq!((ended.call, result.as_json()), (call, "{}"));
        }
    }
}

/// Proves L-LOG-04, L-RACE-28: the level applies from the response to its request, for later messages, and not at
/// all if the request is refused.
#[test]
fn a_level_counts_once_its_request_is_answered() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let id = side.request(&set_level(1, LoggingLevel::Error));
    side.server.reject(id, ErrorCode::INTERNAL_ERROR, "not now", &mut side.out).unwrap();
    assert_eq!(side.sent().len(), 1);
    assert_eq!(side.server.notifications().log_level(), LoggingLevel::Debug);
    let id = side.request(&set_level(1, LoggingLevel::Error));
    assert_eq!(log(&mut side, LoggingLevel::Info), Delivery::Sent);
    side.server.respond(id, &(), &mut side.out).unwrap();
    assert_eq!(log(&mut side, LoggingLevel::Info), Delivery::NotWanted);
    assert_eq!(log(&mut side, LoggingLevel::Warning), Delivery::NotWanted);
    assert_eq!(log(&mut side, LoggingLevel::Error), Delivery::Sent);
    assert_eq!(
        side.sent(),
        [message(LoggingLevel::Info), ANSWERED.to_owned(), message(LoggingLevel::Error)]
    );
}

/// Proves L-LOG-04 for batches, which only 2025-03-26 has: the level applies although the response waits for the
/// rest of the batch.
#[test]
fn a_level_that_was_set_in_a_batch_counts_at_once() {
    let mut side = ServerSide::ready(Revision::V2025_03_26);
    let other = r#"{"jsonrpc":"2.0","id":2,"method":"x/other"}"#;
    let batch = format!("[{},{other}]", set_level(1, LoggingLevel::Error));
    let mut requests = Vec::new();
    for frame in Frames::of(batch.as_bytes(), &Limits::default()) {
        match side.server.receive(frame, side.now, &mut side.out) {
            Some(ServerEvent::Request(request)) => requests.push(request.id),
            other => panic!("{other:?}"),
        }
    }
    side.server.respond(requests[0], &(), &mut side.out).unwrap();
    assert_eq!(side.sent(), [""; 0]);
    sends_from(&mut side, LoggingLevel::Error);
    side.server.respond(requests[1], &(), &mut side.out).unwrap();
    assert_eq!(side.sent(), [format!(r#"[{ANSWERED},{{"jsonrpc":"2.0","id":2,"result":{{}}}}]"#)]);
}

/// Proves L-LOG-05, L-AMB-46: the host chooses the level until the client sets one.
#[test]
fn the_host_chooses_the_level_until_the_client_does() {
    for revision in Revision::LEGACY {
        sends_from(&mut ServerSide::ready(revision), LoggingLevel::Debug);
        for level in LEVELS {
            let mut config = config::server();
            config.log_level = level;
            let mut side = ServerSide::ready_with(config, revision);
            assert_eq!(side.server.notifications().log_level(), level);
            sends_from(&mut side, level);
            // The client may set a lower or higher level than the host.
            let id = side.request(&set_level(1, LoggingLevel::Notice));
            side.server.respond(id, &(), &mut side.out).unwrap();
            assert_eq!(side.sent(), [ANSWERED]);
            sends_from(&mut side, LoggingLevel::Notice);
        }
    }
}

/// Proves L-AMB-46, L-LOG-04: each session has its own level.
#[test]
fn a_level_belongs_to_its_session() {
    let mut config = config::server();
    config.log_level = LoggingLevel::Warning;
    let mut one = ServerSide::ready_with(config.clone(), Revision::V2025_11_25);
    let mut other = ServerSide::ready_with(config, Revision::V2024_11_05);
    let id = one.request(&set_level(1, LoggingLevel::Alert));
    one.server.respond(id, &(), &mut one.out).unwrap();
    assert_eq!(one.sent(), [ANSWERED]);
    sends_from(&mut one, LoggingLevel::Alert);
    sends_from(&mut other, LoggingLevel::Warning);
}

/// Proves L-RACE-28, L-LOG-04: a message that was in flight when the level was set is delivered like any other.
#[test]
fn a_client_takes_messages_below_its_level() {
    for revision in Revision::LEGACY {
        let mut side = ClientSide::ready(revision);
        let (params, options) = (SetLevelParams::new(LoggingLevel::Error), CallOptions::new());
        side.client.call::<SetLevel>(&params, options, side.now, &mut side.out).unwrap();
        assert_eq!(side.sent(), [set_level(2, LoggingLevel::Error)]);
        for answered in [false, true] {
            if answered {
                let event = side.receive(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
                assert!(matches!(event, Some(ClientEvent::CallEnded(_))), "{event:?}");
            }
            for level in LEVELS {
                let event = side.receive(&message(level));
                let Some(ClientEvent::Notification(received)) = event else { panic!("{event:?}") };
                let params = received.parse::<method::Log>().unwrap().unwrap();
                assert_eq!((params.level, params.data.as_json()), (level, r#""x""#));
            }
        }
        assert_eq!(side.sent(), [""; 0]);
    }
}

/// A message about a task names the task in its metadata, in the revision that has tasks.
#[test]
fn a_message_about_a_task_names_the_task() {
    let log = Log::new(LoggingLevel::Error, "x").logger("l").of_task("t-1");
    assert_eq!((log.level(), log.data()), (LoggingLevel::Error, "x"));
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    assert_eq!(side.server.notifications().log(&log, &mut side.out), Ok(Delivery::Sent));
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","logger":"l","data":"x","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t-1"}}}}"#
        ]
    );
}
