//! The cost of a task does not grow with the number of connections that used it.

use mcp_sansio::task::NewTask;
use mcp_sansio::testing::WorkMeter;
use mcp_sansio::{Framing, Limits, Outbox};
use mcp_sansio_proptests::allocations::held;

use crate::extension::kit::*;

/// Proves M-STATE-04, M-TASKX-45: any number of connections that subscribed to a task and ended costs as much as a
/// few.
#[test]
fn subscriptions_that_have_ended_with_their_connections_cost_nothing() {
    let mut host = Host::new();
    let key = host.begin("t");
    let ((), bytes) = held(|| {
        for number in 1..2_000 {
            let mut side = connection(number, config());
            let request = request_of(&mut side, &listen("1", r#""t""#), 0).id;
            let now = side.now;
            let tasks = &mut host.tasks;
            side.server.tasks(tasks).grant(request, None, now, &mut side.out).unwrap();
            assert_eq!(side.sent().len(), 2);
            side.server.close();
            side.outcomes();
            host.tasks.disconnected(side.server.connection_number());
        }
    });
    assert!(bytes < 2_000, "{bytes} bytes");
    assert_eq!(host.tasks.next_connection(), None);
    host.completes(key);
    assert_eq!(host.tasks.next_connection(), None);
}

/// Proves M-STATE-04, M-TASKX-45: the same for subscriptions that have ended on one connection.
#[test]
fn subscriptions_that_have_ended_cost_nothing() {
    let mut host = Host::new();
    host.begin("t");
    let frame = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let round = |host: &mut Host| {
        host.subscribe("1", r#""t""#);
        assert_eq!(host.sent().len(), 2);
        assert!(host.side.receive(frame).is_some());
    };
    round(&mut host);
    let ((), bytes) = held(|| (0..2_000).for_each(|_| round(&mut host)));
    assert!(bytes < 2_000, "{bytes} bytes");
}

/// The search for ended subscriptions keeps the open ones, also those of other connections.
#[test]
fn a_subscription_outlasts_those_of_others() {
    let mut host = Host::new();
    let key = host.begin("t");
    let mut other = connection(1, config());
    let request = request_of(&mut other, &listen("1", r#""t""#), 0).id;
    let now = other.now;
    other.server.tasks(&mut host.tasks).grant(request, None, now, &mut other.out).unwrap();
    assert_eq!(other.sent().len(), 2);
    let frame = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    for _ in 0..20 {
        host.subscribe("1", r#""t""#);
        assert_eq!(host.sent().len(), 2);
        assert!(host.side.receive(frame).is_some());
    }
    host.subscribe("2", r#""t""#);
    assert_eq!(host.sent().len(), 2);
    host.completes(key);
    let both = [host.side.server.connection_number(), other.server.connection_number()];
    assert!(host.tasks.connections_with_news().eq(both));
    host.settle();
    assert_eq!(host.sent(), [task_notification("2", &ended_well("t"))]);
    assert!(host.tasks.connections_with_news().eq([other.server.connection_number()]));
    other.server.tasks(&mut host.tasks).settle(now, &mut other.out);
    assert_eq!(other.sent(), [task_notification("1", &ended_well("t"))]);
    assert_eq!(host.tasks.connections_with_news().next(), None);
}

/// Proves M-STATE-04, M-TASKX-32: the same for sessions that waited for the result.
#[test]
fn sessions_that_have_ended_wait_for_nothing() {
    let mut host = Host::new();
    let key = host.begin("t");
    let ((), bytes) = held(|| {
        for number in 1..2_000 {
            let mut side = in_session(number, config());
            let frame = of_session("1", "tasks/result", r#""taskId":"t""#);
            assert_eq!(serve(&mut side, &mut host.tasks, &frame), None);
            side.server.close();
            side.outcomes();
            host.tasks.disconnected(side.server.connection_number());
        }
    });
    assert!(bytes < 2_000, "{bytes} bytes");
    host.completes(key);
    assert_eq!(host.tasks.next_connection(), None);
}

/// Proves M-STATE-03, M-STATE-04: tasks keep no state of connections that only began tasks and sent requests about
/// them.
#[test]
fn connections_that_have_only_asked_cost_nothing() {
    let mut host = Host::new();
    let mut round = |number: u32| {
        let mut side = connection(number, config());
        let call = of_client("1", "tools/call", ABLE, r#""name":"t""#);
        let request = request_of(&mut side, &call, 0).id;
        let (now, new) = (side.now, NewTask::new("t"));
        let tasks = &mut host.tasks;
        let key = side.server.tasks(tasks).begin(request, new, now, &mut side.out).unwrap();
        serve(&mut side, tasks, &get("2", "t"));
        serve(&mut side, tasks, &cancel("3", "t"));
        assert!(tasks.remove(key));
    };
    round(0);
    let ((), bytes) = held(|| (1..2_000).for_each(&mut round));
    assert!(bytes < 2_000, "{bytes} bytes");
}

/// Proves M-TASKX-45: changes that the peer does not read cost no more than one change.
#[test]
fn unread_task_changes_take_the_memory_of_one() {
    let mut host = Host::new();
    let key = host.begin("t");
    host.subscribe("1", r#""t""#);
    host.fill();
    let change = |host: &mut Host| {
        host.tasks.set_message(key, Some("soon"), host.side.now).unwrap();
        host.settle();
    };
    change(&mut host);
    let ((), bytes) = held(|| (0..2_000).for_each(|_| change(&mut host)));
    assert!(bytes < 2_000, "{bytes} bytes");
}

/// Proves M-STATE-04, M-TASKX-45: connections without room for news of tasks do not add to the cost of operations on
/// other connections.
#[test]
fn connections_without_room_are_not_looked_at() {
    let mut host = Host::new();
    let key = host.begin("t");
    let mut others: Vec<_> = (1..=1_000).map(|number| connection(number, config())).collect();
    let mut limits = Limits::default();
    limits.outbox_bytes = 300;
    for side in &mut others {
        let request = request_of(side, &listen("1", r#""t""#), 0).id;
        side.out = Outbox::new(Framing::Messages, &limits);
        let now = side.now;
        side.server.tasks(&mut host.tasks).grant(request, None, now, &mut side.out).unwrap();
    }
    host.completes(key);
    assert_eq!(host.tasks.connections_with_news().count(), 1_000);
    let meter = WorkMeter::start();
    assert_eq!(host.tasks.connections_with_untried_news().count(), 0);
    assert!(meter.steps() < 10, "{} steps", meter.steps());
    // A connection that has got another notice is found among them.
    let second = host.begin("u");
    host.subscribe("1", r#""u""#);
    host.completes(second);
    let meter = WorkMeter::start();
    let own = host.side.server.connection_number();
    assert!(host.tasks.connections_with_untried_news().eq([own]));
    assert!(meter.steps() < 10, "{} steps", meter.steps());
}
