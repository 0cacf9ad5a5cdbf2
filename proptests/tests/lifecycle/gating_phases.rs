//! Messages around the handshake, in older sessions, and after failures.

use std::time::Duration;

use mcp_sansio::capability::{Capability, CapabilitySet};
use mcp_sansio::error::{NotAllowed, NotifyError, ViolationKind};
use mcp_sansio::event::{ConnectFailure, Expiry};
use mcp_sansio::json::Raw;
use mcp_sansio::model::LoggingLevel;
use mcp_sansio::subscription::{Delivery, Log};
use mcp_sansio::{
    CallError, CallOptions, Cause, ClientEvent, Outcome, Phase, Revision, RevisionSet, ServerEvent,
};
use mcp_sansio_proptests::{ClientSide, ServerSide, config, payload};

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn initialize(revision: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{"roots":{{}},"sampling":{{}}}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    )
}

fn answer(revision: &str, capabilities: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"{revision}","capabilities":{capabilities},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
    )
}

fn connecting(config: mcp_sansio::ClientConfig) -> ClientSide {
    let mut side = ClientSide::with(config);
    side.client.connect(side.now, &mut side.out).unwrap();
    assert_eq!(side.sent().len(), 1);
    side
}

/// Proves L-AMB-05: the response to `initialize` opens the session for the client's requests.
#[test]
fn requests_are_served_before_the_client_says_initialized() {
    for revision in Revision::LEGACY {
        let mut side = ServerSide::fresh();
        assert!(side.receive(&initialize(revision.name())).is_some());
        _ = side.sent();
        for (id, method) in
            ["tools/list", "resources/read", "logging/setLevel", "x/own"].into_iter().enumerate()
        {
            let params = payload::params(method);
            let params = params.as_json().replace("null", "{}");
            let request = side.request(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
            ));
            assert_eq!(side.server.phase(), Phase::Handshake);
            let result = payload::result(method);
            side.respond(request, result.as_json());
            let expected =
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#, result.as_json());
            assert_eq!(side.sent(), [expected]);
        }
        assert_eq!(side.server.in_flight().counts().violations, 0);
        assert_eq!(side.receive(INITIALIZED), Some(ServerEvent::Ready));
    }
}

/// Proves L-AMB-53 for a server: messages sent before the session is open wait for it.
#[test]
fn a_server_that_is_early_waits() {
    let mut side = ServerSide::fresh();
    let call = side.call("roots/list");
    let changed = "notifications/tools/list_changed";
    let delivery = side.server.notify_method(changed, &(), None, &mut side.out);
    assert_eq!(delivery, Ok(Delivery::Held));
    assert_eq!(side.sent(), [""; 0]);
    assert!(side.receive(&initialize("2025-06-18")).is_some());
    assert_eq!(side.sent().len(), 1, "the answer to initialize, and nothing else");
    assert!(side.server.in_flight().is_pending(call));
    assert_eq!(side.receive(INITIALIZED), Some(ServerEvent::Ready));
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        ]
    );
}

/// Proves L-AMB-53 for a server: not even a log message precedes the response to `initialize`.
#[test]
fn a_log_message_does_not_come_before_the_answer_to_initialize() {
    let mut side = ServerSide::fresh();
    let log = Log::new(LoggingLevel::Info, "early");
    assert_eq!(side.server.notifications().log(&log, &mut side.out), Ok(Delivery::Held));
    assert_eq!(side.sent(), [""; 0]);
    assert!(side.receive(&initialize("2025-06-18")).is_some());
    assert_eq!(side.sent().len(), 1, "the answer to initialize, and nothing else");
    assert_eq!(side.receive(INITIALIZED), Some(ServerEvent::Ready));
    let early = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"early"}}"#;
    assert_eq!(side.sent(), [early]);
}

/// Proves L-AMB-53 for a client: early log messages and pings of a server are accepted.
#[test]
fn a_client_takes_logs_and_pings_from_a_server_that_is_early() {
    let mut side = connecting(config::client());
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"early"}}"#;
    let event = side.receive(log);
    let Some(ClientEvent::Notification(notification)) = event else { panic!("{event:?}") };
    assert_eq!(notification.method, "notifications/message");
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(side.receive(r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#), None);
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":5,"result":{}}"#]);
    let event = side.receive(r#"{"jsonrpc":"2.0","id":6,"method":"roots/list"}"#);
    let Some(ClientEvent::Violation(violation)) = event else { panic!("{event:?}") };
    assert_eq!((violation.kind, violation.answered), (ViolationKind::NotInitialized, true));
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","id":6,"error":{"code":-32600,"message":"the session is not initialized"}}"#
        ]
    );
    let event = side.receive(&answer("2025-06-18", "{}"));
    assert!(matches!(event, Some(ClientEvent::Connected(_))), "{event:?}");
    assert_eq!(side.sent(), [INITIALIZED]);
}

/// Proves L-LIFE-22 for members: members that a revision does not have are omitted.
#[test]
fn members_of_a_later_revision_are_left_out() {
    let annotated = r#"{"name":"t","description":"d","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;
    let titled = r#"{"name":"t","title":"T","description":"d","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"k":1}}"#;
    let full = r#"{"name":"t","title":"T","description":"d","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"execution":{"taskSupport":"forbidden"},"icons":[{"src":"data:,"}],"_meta":{"k":1}}"#;
    let expected = [
        r#"{"name":"t","description":"d","inputSchema":{"type":"object"}}"#,
        annotated,
        titled,
        full,
    ];
    for (revision, tool) in Revision::LEGACY.into_iter().zip(expected) {
        let mut side = ServerSide::ready(revision);
        let id = side.request(r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#);
        side.respond(id, &format!(r#"{{"tools":[{full}]}}"#));
        let sent = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"tools":[{tool}]}}}}"#);
        assert_eq!(side.sent(), [sent], "{revision}");
    }
    let context = r#","context":{"arguments":{"a":"b"}}"#;
    for revision in Revision::LEGACY {
        let mut side = ClientSide::ready(revision);
        let plain = r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}"#;
        let params = format!("{plain}{context}}}");
        let params = Raw::new(&params).unwrap();
        let (now, options) = (side.now, CallOptions::new());
        side.client
            .call_method("completion/complete", &params, options, now, &mut side.out)
            .unwrap();
        let kept = if revision < Revision::V2025_06_18 { "" } else { context };
        let sent = format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"completion/complete","params":{plain}{kept}}}}}"#
        );
        assert_eq!(side.sent(), [sent], "{revision}");
    }
}

/// Proves L-LIFE-22 for methods.
#[test]
fn methods_of_a_later_revision_are_not_sent() {
    for revision in [Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18] {
        let mut side = ServerSide::ready(revision);
        let unknown = Err(NotifyError::NotAllowed(NotAllowed::Revision));
        assert_eq!(side.server.notifications().elicitation_complete("e", &mut side.out), unknown);
        let status = "notifications/tasks/status";
        assert_eq!(side.server.notify_method(status, &(), None, &mut side.out), unknown);
        assert_eq!(side.sent(), [""; 0], "{revision}");
    }
}

/// Proves L-LIFE-22 for tasks, which only the latest legacy revision has.
#[test]
fn tasks_are_not_asked_for_in_older_sessions() {
    for revision in [Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18] {
        for method in ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"] {
            let (mut client, mut server) =
                (ClientSide::ready(revision), ServerSide::ready(revision));
            let unknown = Err(CallError::NotAllowed(NotAllowed::Revision));
            let (now, options) = (client.now, CallOptions::new());
            let call = client.client.call_method(method, &(), options, now, &mut client.out);
            assert_eq!(call, unknown, "{revision} {method}");
            let call = server.server.call_method(method, &(), options, now, &mut server.out);
            assert_eq!(call, unknown, "{revision} {method}");
            assert_eq!((client.sent().len(), server.sent().len()), (0, 0));
        }
    }
}

/// Proves L-LIFE-22 for the member that turns a call into a task.
#[test]
fn calls_are_not_tasks_in_older_sessions() {
    for revision in [Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18] {
        let mut side = ClientSide::ready(revision);
        let params = Raw::new(r#"{"name":"t","task":{"ttl":1}}"#).unwrap();
        let (now, options) = (side.now, CallOptions::new());
        side.client.call_method("tools/call", &params, options, now, &mut side.out).unwrap();
        assert_eq!(
            side.sent(),
            [r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}"#],
            "{revision}"
        );
    }
}

/// Proves L-LIFE-24 for a client: each failure has a distinct variant.
#[test]
fn each_client_failure_is_reported_distinctly() {
    let mut config = config::client();
    config.revisions = RevisionSet::only(Revision::V2025_06_18);
    config.required = CapabilitySet::NONE.with(Capability::Tools);
    let mut side = connecting(config.clone());
    let event = side.receive(&answer("2025-03-26", r#"{"tools":{}}"#));
    let Some(ClientEvent::ConnectFailed(ConnectFailure::UnsupportedRevision { theirs, ours })) =
        event
    else {
        panic!("{event:?}")
    };
    assert_eq!((theirs == "2025-03-26", ours), (true, config.revisions));

    let mut side = connecting(config.clone());
    let failure = ConnectFailure::MissingCapabilities(config.required);
    let event = side.receive(&answer("2025-06-18", "{}"));
    assert_eq!(event, Some(ClientEvent::ConnectFailed(failure)));

    let mut side = connecting(config);
    let events = side.elapse(60_000);
    assert_eq!(events[0], ClientEvent::ConnectFailed(ConnectFailure::TimedOut));

    let mut side = ClientSide::ready(Revision::V2024_11_05);
    let call = side.call("tools/list");
    let events = side.elapse(60_000);
    let [ClientEvent::CallEnded(ended)] = &events[..] else { panic!("{events:?}") };
    assert_eq!((ended.call, &ended.outcome), (call, &Outcome::TimedOut(Expiry::Idle)));

    side.call("tools/list");
    side.client.shut_down(Duration::from_secs(1), side.now);
    let events = side.elapse(1_000);
    let last = events.last().unwrap();
    assert_eq!(*last, ClientEvent::Closed { cause: Cause::DrainDeadline });
}

/// Proves L-LIFE-24 for a server.
#[test]
fn each_server_failure_is_reported_distinctly() {
    let mut config = config::server();
    config.revisions = RevisionSet::only(Revision::V2025_06_18);
    config.refuse_other_revisions = true;
    let mut side = ServerSide::with(config);
    assert_eq!(side.receive(&initialize("2025-03-26")), None);
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2025-06-18"],"requested":"2025-03-26"}}}"#
        ]
    );
    assert!(side.receive(&initialize("2025-06-18")).is_some());
    assert_eq!(side.receive(INITIALIZED), Some(ServerEvent::Ready));
    _ = side.sent();
    let params = payload::params("elicitation/create");
    let (now, options) = (side.now, CallOptions::new());
    let call = side.server.call_method("elicitation/create", &params, options, now, &mut side.out);
    let missing = NotAllowed::Capability(Capability::Elicitation);
    assert_eq!(call, Err(CallError::NotAllowed(missing)));
    let call = side.call("roots/list");
    let events = side.elapse(60_000);
    let [ServerEvent::CallEnded(ended)] = &events[..] else { panic!("{events:?}") };
    assert_eq!((ended.call, &ended.outcome), (call, &Outcome::TimedOut(Expiry::Idle)));
    side.request(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    side.server.shut_down(Duration::from_secs(1), side.now);
    let events = side.elapse(1_000);
    let last = events.last().unwrap();
    assert_eq!(*last, ServerEvent::Closed { cause: Cause::DrainDeadline });
}
