//! Subscriptions to tasks under difficult conditions: a full outbox, equal connection numbers, duplicate ids that
//! end together.

use mcp_sansio::schema::EncodeError;
use mcp_sansio::task::NewTask;
use mcp_sansio::testing::WorkMeter;
use mcp_sansio::{ClientRequest, Framing, Limits, Outbox, RespondError, ServerEvent};
use mcp_sansio_proptests::allocations::count;

use crate::extension::kit::*;

/// Proves M-TASKX-45: of two subscriptions with the same id that are cancelled together, neither receives a
/// notification, even before the application has both events.
#[test]
fn subscriptions_cancelled_together_get_no_notification() {
    let mut host = Host::configured(|config| {
        config.connection.duplicate_ids = mcp_sansio::config::DuplicateIds::Serve;
    });
    let key = host.begin("t");
    host.subscribe("1", r#""t""#);
    host.subscribe("1", r#""t""#);
    assert_eq!(host.sent().len(), 4);
    let frame = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert!(matches!(host.side.receive(frame), Some(ServerEvent::Cancelled(_))));
    host.completes(key);
    host.settle();
    assert_eq!(host.sent(), [""; 0]);
    assert_eq!(host.side.outcomes().len(), 1);
    assert_eq!(host.side.server.in_flight().counts().inbound, 0);
}

/// Proves M-TASKX-45, M-TASKX-19: no connection receives notifications about a task that it was not granted, even
/// if the program gave two connections the same number.
#[test]
fn a_reused_connection_number_exposes_no_tasks_of_others() {
    let mut host = Host::new();
    let call = of_client("1", "tools/call", ABLE, r#""name":"t""#);
    let request = request_of(&mut host.side, &call, 7).id;
    let key = host.begin_for(request, NewTask::new("t"));
    let first = request_of(&mut host.side, &listen("1", r#""t""#), 7).id;
    host.grant(first);
    let mut other = connection(0, config());
    let request = request_of(&mut other, &call, 8).id;
    other.server.respond(request, &done(), &mut other.out).unwrap();
    let second = request_of(&mut other, &listen("1", r#""t""#), 8).id;
    assert_eq!(first, second, "the handles are the same, which is what can go wrong");
    let (now, tasks) = (other.now, &mut host.tasks);
    other.server.tasks(tasks).grant(second, None, now, &mut other.out).unwrap();
    assert_eq!(other.sent()[1..], [acknowledged("1", "")]);
    host.completes(key);
    other.server.tasks(&mut host.tasks).settle(now, &mut other.out);
    assert_eq!(other.sent(), [""; 0]);
}

/// Proves M-TASKX-45: a client that does not read receives the newest state later, once.
#[test]
fn a_slow_reader_gets_the_newest_task_state_once() {
    let mut host = Host::new();
    let keys = ["a", "b"].map(|task| host.begin(task));
    host.subscribe("1", r#""a","b""#);
    host.sent();
    let roomy = host.fill();
    for _ in 0..3 {
        for key in keys {
            host.tasks.set_message(key, Some("soon"), host.side.now).unwrap();
            host.settle();
        }
    }
    host.completes(keys[0]);
    host.settle();
    assert_eq!(host.sent(), [error(r#""fill""#, -32603, "no")]);
    assert!(host.tasks.has_news_for(host.side.server.connection_number()));
    host.side.out = roomy;
    host.settle();
    let soon =
        fresh("b", "working").replace(r#""working","#, r#""working","statusMessage":"soon","#);
    // Intermediate states are obsolete and are not sent.
    assert_eq!(
        host.sent(),
        [task_notification("1", &ended_well("a")), task_notification("1", &soon)]
    );
    host.settle();
    assert_eq!(host.sent(), [""; 0]);
    assert_eq!(host.tasks.next_connection(), None);
    // From then on each change is sent again.
    host.completes(keys[1]);
    host.settle();
    let second = ended_well("b");
    assert_eq!(host.sent(), [task_notification("1", &second)]);
}

/// A connection without room is no longer among those with untried news, until there is another notice for it.
#[test]
fn a_connection_without_room_is_tried_again_for_another_notice() {
    let mut host = Host::new();
    let keys = ["a", "b"].map(|task| host.begin(task));
    host.subscribe("1", r#""a","b""#);
    host.sent();
    let connection = host.side.server.connection_number();
    let untried = |host: &Host| host.tasks.connections_with_untried_news().next();
    let roomy = host.fill();
    for key in keys {
        host.tasks.set_message(key, Some("soon"), host.side.now).unwrap();
        assert_eq!(untried(&host), Some(connection));
        host.settle();
        assert!(host.tasks.has_news_for(connection) && untried(&host).is_none());
    }
    host.completes(keys[0]);
    assert_eq!(untried(&host), None, "that notice waits already");
    host.side.out = roomy;
    host.settle();
    assert!(!host.tasks.has_news_for(connection));
    host.completes(keys[1]);
    assert_eq!(untried(&host), Some(connection));
}

/// Proves M-TASKX-45, M-R-25: if there is room only for the acknowledgement, the state of the task follows later,
/// once, whichever changes happen meanwhile.
#[test]
fn the_first_state_can_come_later() {
    let mut host = Host::new();
    let key = host.begin("t");
    let request = host.request(&listen("1", r#""t""#)).id;
    let mut limits = Limits::default();
    limits.outbox_bytes = 200;
    let roomy = std::mem::replace(&mut host.side.out, Outbox::new(Framing::Messages, &limits));
    host.grant(request);
    host.asks(key, &["a"]);
    host.settle();
    host.completes(key);
    host.settle();
    assert_eq!(host.sent(), [acknowledged("1", &granted(r#""t""#))]);
    host.side.out = roomy;
    host.settle();
    assert_eq!(host.sent(), [task_notification("1", &ended_well("t"))]);
    assert_eq!(host.tasks.next_connection(), None);
}

/// Proves M-TASKX-45: a notification that fits no outbox is dropped and delays no other.
#[test]
fn a_notification_too_large_for_the_outbox_is_dropped() {
    let mut host = Host::new();
    let keys = ["a", "b"].map(|task| host.begin(task));
    host.subscribe("1", r#""a","b""#);
    host.sent();
    let mut limits = Limits::default();
    limits.outbox_bytes = 1_000;
    host.side.out = Outbox::new(Framing::Messages, &limits);
    let long = mcp_sansio::model::CallToolResult::text("x".repeat(1_000));
    host.tasks.complete(keys[0], &long, host.side.now).unwrap();
    host.completes(keys[1]);
    host.settle();
    assert_eq!(host.sent(), [task_notification("1", &ended_well("b"))]);
    assert_eq!(host.tasks.next_connection(), None);
}

/// Proves M-TASKX-22: a `tasks/result` in a session gets an error if the result fits no outbox.
#[test]
fn a_result_that_will_never_fit_is_an_error() {
    let mut host = Host::new();
    let key = host.begin("t");
    open_session(&mut host.side, "");
    assert_eq!(host.serve(&of_session("1", "tasks/result", r#""taskId":"t""#)), None);
    let mut limits = Limits::default();
    limits.outbox_bytes = 1_000;
    host.side.out = Outbox::new(Framing::Messages, &limits);
    let long = mcp_sansio::model::CallToolResult::text("x".repeat(1_000));
    host.tasks.complete(key, &long, host.side.now).unwrap();
    host.settle();
    let refusal = error("1", -32603, "the result cannot be sent on this connection");
    assert_eq!(host.sent(), [refusal]);
    assert_eq!(host.side.server.in_flight().counts().inbound, 0);
    assert_eq!(host.tasks.next_connection(), None);
}

/// Proves M-SUB-36: a subscription whose acknowledgement has no room is not open and can be granted later.
#[test]
fn a_subscription_that_finds_no_room_is_not_open() {
    let mut host = Host::new();
    let key = host.begin("t");
    let request = host.request(&listen("1", r#""t""#)).id;
    let mut limits = Limits::default();
    limits.outbox_bytes = 20;
    let roomy = std::mem::replace(&mut host.side.out, Outbox::new(Framing::Messages, &limits));
    let Host { side, tasks } = &mut host;
    let refused = side.server.tasks(tasks).grant(request, None, side.now, &mut side.out);
    assert!(matches!(refused, Err(RespondError::Encode(_))), "{refused:?}");
    assert_eq!(tasks.next_connection(), None);
    host.completes(key);
    host.side.out = roomy;
    host.grant(request);
    let expected =
        [acknowledged("1", &granted(r#""t""#)), task_notification("1", &ended_well("t"))];
    assert_eq!(host.sent(), expected);
}

/// Proves M-TASKX-45: a result without room is not read for each notification of it, nor for a poll of the task. The
/// result of a task of a session, which is sent in another form here, is not read either.
#[test]
fn a_result_without_room_is_not_read() {
    for is_of_session in [false, true] {
        let mut host = Host::new();
        let key = if is_of_session {
            open_session(&mut host.side, "");
            let call = of_session(r#""begin""#, "tools/call", r#""name":"t","task":{}"#);
            let request = host.request(&call).id;
            host.begin_for(request, NewTask::new("t"))
        } else {
            host.begin("t")
        };
        for id in 0..60 {
            host.subscribe(&id.to_string(), r#""t""#);
        }
        host.sent();
        // There is room for the beginning of a message with the result.
        let mut limits = Limits::default();
        limits.outbox_bytes = 50_000;
        let small = Outbox::new(Framing::Messages, &limits);
        let roomy = std::mem::replace(&mut host.side.out, small);
        let request = host.called(r#""fill""#);
        let Host { side, .. } = &mut host;
        side.server.respond(request, &done(), &mut side.out).unwrap();
        let long = mcp_sansio::model::CallToolResult::text("x".repeat(100_000));
        host.tasks.complete(key, &long, host.side.now).unwrap();
        let meter = WorkMeter::start();
        let ((), allocations) = count(|| host.settle());
        assert!(meter.steps() < 2_000, "{} steps", meter.steps());
        assert!(allocations < 20, "{allocations} allocations");
        let request = host.request(&get("70", "t"));
        let ClientRequest::Task(call) = &request.kind else { panic!("{request:?}") };
        let Host { side, tasks } = &mut host;
        let meter = WorkMeter::start();
        let refused = side.server.tasks(tasks).serve(request.id, call, side.now, &mut side.out);
        assert_eq!(refused, Err(RespondError::Encode(EncodeError::Full)));
        assert!(meter.steps() < 1_000, "{} steps", meter.steps());
        host.side.out = roomy;
        host.settle();
        let notified =
            host.sent().iter().filter(|sent| sent.contains(r#""notifications/tasks""#)).count();
        assert_eq!(notified, 60);
    }
}
