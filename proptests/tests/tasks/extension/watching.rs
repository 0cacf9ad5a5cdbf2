//! Subscriptions to tasks: the granted filter, the notifications, and the end.

use std::collections::BTreeMap;

use mcp_sansio::config::Listening;
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::subscription::{ChangedList, Delivery};
use mcp_sansio::task::{NewTask, Tasks};
use mcp_sansio::{Framing, IncomingId, Limits, Outbox, Outboxes, Route, ServerEvent};

use crate::extension::kit::*;

/// The members of a task that waits for an answer.
fn waiting(task: &str) -> String {
    detailed(task, "input_required", &format!(r#""inputRequests":{{"a":{QUESTION}}}"#))
}

/// The members of a failed task.
fn ended_badly(task: &str) -> String {
    format!(
        r#""taskId":"{task}","status":"failed","statusMessage":"broken",{TIMES},{PACE},"error":{{"code":-32603,"message":"broken"}}"#
    )
}

/// Proves M-SUB-35, M-TASKX-26, M-ERR-11: a subscription to tasks needs the declaration of the extension. Without
/// it nothing is acknowledged, whether or not the task exists.
#[test]
fn a_task_subscription_needs_the_declared_extension() {
    for listening in [Listening::Asked, Listening::Granted] {
        let mut host = Host::configured(|config| config.listening = listening);
        host.begin("t");
        for capabilities in ["{}", r#"{"tasks":{}}"#, r#"{"extensions":{"x/y":{}}}"#] {
            for filter in [
                granted(r#""t""#),
                granted(r#""absent""#),
                format!(r#"{},"toolsListChanged":true"#, granted(r#""t""#)),
            ] {
                let members = format!(r#""notifications":{{{filter}}}"#);
                let frame = of_client("1", "subscriptions/listen", capabilities, &members);
                host.refuses(&frame, &undeclared("1"));
            }
        }
        assert_eq!(host.side.server.in_flight().counts().inbound, 0);
        assert_eq!(host.tasks.next_connection(), None);
    }
}

/// Proves M-SUB-35, M-CAP-12: a server without the extension ignores task ids.
#[test]
fn a_server_without_tasks_passes_over_their_ids() {
    for capabilities in ["{}", KNOWING] {
        let mut other = Host::new();
        other.begin("t");
        let mut host = Host::configured(|config| config.capabilities.extensions = None);
        host.tasks = other.tasks;
        let members = r#""notifications":{"taskIds":["t"],"toolsListChanged":true}"#;
        let frame = of_client("1", "subscriptions/listen", capabilities, members);
        let request = host.request(&frame).id;
        host.grant(request);
        assert_eq!(host.sent(), [acknowledged("1", r#""toolsListChanged":true"#)]);
    }
}

/// Proves M-SUB-36, M-TASKX-19, M-R-24: of the requested tasks, those that exist and belong to the requestor are
/// granted, and no others are notified.
#[test]
fn a_subscription_is_to_tasks_that_are_there() {
    let mut host = Host::new();
    let mut keys = BTreeMap::new();
    for (task, owner) in [("a", 1), ("b", 1), ("c", 2)] {
        let call = of_client("1", "tools/call", ABLE, r#""name":"t""#);
        let request = request_of(&mut host.side, &call, owner).id;
        keys.insert(task, host.begin_for(request, NewTask::new(task)));
    }
    host.sent();
    let all = r#""a","b","c","absent","later","A","""#;
    for (id, owner, list) in [("1", 1, r#""a","b""#), ("2", 2, r#""c""#)] {
        let request = request_of(&mut host.side, &listen(id, all), owner).id;
        host.grant(request);
        let tasks = list
            .split(',')
            .map(|task| task_notification(id, &fresh(task.trim_matches('"'), "working")));
        let expected: Vec<String> =
            [acknowledged(id, &granted(list))].into_iter().chain(tasks).collect();
        assert_eq!(host.sent(), expected);
    }
    let request = request_of(&mut host.side, &listen("3", all), 3).id;
    host.grant(request);
    assert_eq!(host.sent(), [acknowledged("3", "")]);
    // A task that begins later did not exist and was not granted.
    let later = host.begin("later");
    for key in keys.values().copied().chain([later]) {
        host.completes(key);
    }
    host.settle();
    let expected = [("1", "a"), ("1", "b"), ("2", "c")];
    assert_eq!(host.sent(), expected.map(|(id, task)| task_notification(id, &ended_well(task))));
}

/// Proves M-TASKX-45, M-TASKX-46, M-AMB-26: every change is sent to each subscriber, as the whole task with the tag
/// of the subscription and without a `resultType`.
#[test]
fn each_task_change_is_notified_as_the_whole_task() {
    let mut host = Host::new();
    let key = host.begin("t");
    host.subscribe(r#""s""#, r#""t""#);
    let working = fresh("t", "working");
    let expected =
        [acknowledged(r#""s""#, &granted(r#""t""#)), task_notification(r#""s""#, &working)];
    assert_eq!(host.sent(), expected);
    assert_eq!(
        expected[1],
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/tasks","params":{{{working},"_meta":{{"io.modelcontextprotocol/subscriptionId":"s"}}}}}}"#
        )
    );
    host.asks(key, &["a"]);
    host.settle();
    assert_eq!(host.sent(), [task_notification(r#""s""#, &waiting("t"))]);
    assert!(host.serve(&update("1", "t", &format!(r#""a":{ANSWER}"#))).is_some());
    assert_eq!(host.sent(), [complete("1", ""), task_notification(r#""s""#, &working)]);
    host.tasks.set_message(key, Some("half"), host.side.now).unwrap();
    host.settle();
    let half = working.replace(r#""working","#, r#""working","statusMessage":"half","#);
    assert_eq!(host.sent(), [task_notification(r#""s""#, &half)]);
    host.fails(key);
    host.settle();
    assert_eq!(host.sent(), [task_notification(r#""s""#, &ended_badly("t"))]);
    // The notification has the same members as a response.
    host.answers(&get("2", "t"), &complete("2", &ended_badly("t")));
    assert_eq!(host.tasks.next_connection(), None);
}

/// Proves M-TASKX-45: the end of a task is notified with the same members as in a response.
#[test]
fn each_end_of_a_task_is_notified() {
    for end in ["completed", "failed", "cancelled"] {
        let mut host = Host::new();
        let key = host.begin("t");
        host.subscribe("1", r#""t""#);
        host.sent();
        let shown = match end {
            "completed" => {
                host.completes(key);
                ended_well("t")
            }
            "failed" => {
                host.fails(key);
                ended_badly("t")
            }
            _ => {
                assert!(host.serve(&cancel("2", "t")).is_some());
                assert_eq!(
                    host.sent(),
                    [complete("2", ""), task_notification("1", &fresh("t", "cancelled"))]
                );
                continue;
            }
        };
        host.settle();
        assert_eq!(host.sent(), [task_notification("1", &shown)]);
    }
}

/// Proves M-TASKX-45: each subscription receives a change once, under its own id, and only for granted tasks.
#[test]
fn each_subscription_gets_a_task_change_once() {
    let mut host = Host::new();
    let keys = ["a", "b"].map(|task| host.begin(task));
    let mut other = connection(1, config());
    host.subscribe("1", r#""a""#);
    host.subscribe("2", r#""a","b""#);
    host.subscribe(r#""1""#, r#""b""#);
    let request = request_of(&mut other, &listen("1", r#""a""#), 0).id;
    let (now, tasks) = (other.now, &mut host.tasks);
    other.server.tasks(tasks).grant(request, None, now, &mut other.out).unwrap();
    assert_eq!(host.sent().len(), 3 + 4);
    assert_eq!(other.sent().len(), 2);
    // A subscription to lists only receives nothing.
    let lists = host.request(&listen_to("3", r#""toolsListChanged":true"#)).id;
    host.grant(lists);
    assert_eq!(host.sent(), [acknowledged("3", r#""toolsListChanged":true"#)]);
    host.completes(keys[0]);
    host.completes(keys[1]);
    let connections: Vec<_> = std::iter::from_fn(|| {
        let next = host.tasks.next_connection()?;
        if next == other.server.connection_number() {
            other.server.tasks(&mut host.tasks).settle(now, &mut other.out);
        } else {
            host.settle();
        }
        Some(next)
    })
    .collect();
    assert_eq!(
        connections,
        [host.side.server.connection_number(), other.server.connection_number()]
    );
    let (first, second) = (ended_well("a"), ended_well("b"));
    let expected = [
        task_notification("1", &first),
        task_notification("2", &first),
        task_notification("2", &second),
        task_notification(r#""1""#, &second),
    ];
    assert_eq!(host.sent(), expected);
    assert_eq!(other.sent(), [task_notification("1", &first)]);
}

/// Proves M-TASKX-45: a task that is named twice is notified once, also if the subscription is granted twice.
#[test]
fn a_task_named_twice_is_notified_once() {
    let mut host = Host::new();
    let key = host.begin("t");
    let request = host.subscribe("1", r#""t","t","\u0074""#);
    let expected =
        [acknowledged("1", &granted(r#""t""#)), task_notification("1", &fresh("t", "working"))];
    assert_eq!(host.sent(), expected);
    host.grant(request);
    assert_eq!(host.sent(), [""; 0]);
    host.completes(key);
    host.settle();
    assert_eq!(host.sent(), [task_notification("1", &ended_well("t"))]);
}

/// Proves M-R-25: a subscription to a task that has ended receives the end once, after the acknowledgement.
#[test]
fn a_subscription_to_an_ended_task_gets_its_end_once() {
    let mut host = Host::new();
    let key = host.begin("t");
    host.completes(key);
    let request = host.subscribe("1", r#""t""#);
    let expected =
        [acknowledged("1", &granted(r#""t""#)), task_notification("1", &ended_well("t"))];
    assert_eq!(host.sent(), expected);
    host.settle();
    assert_eq!(host.sent(), [""; 0]);
    assert_eq!(host.tasks.next_connection(), None);
    host.side.server.respond(request, &(), &mut host.side.out).unwrap();
    assert_eq!(host.sent(), [ended("1")]);
}

/// Proves M-R-25, M-TASKX-45: no notification precedes the acknowledgement. The changes in between are sent
/// afterwards, as the current state.
#[test]
fn no_task_notification_precedes_the_acknowledgement() {
    let mut host = Host::new();
    let key = host.begin("t");
    let request = host.request(&listen_to("1", r#""taskIds":["t"],"toolsListChanged":true"#)).id;
    host.asks(key, &["a"]);
    host.settle();
    host.completes(key);
    host.settle();
    let held =
        host.side.server.notifications().list_changed(ChangedList::Tools, &mut host.side.out);
    assert_eq!(held, Ok(Delivery::Held));
    assert_eq!(host.sent(), [""; 0]);
    host.grant(request);
    let filter = format!(r#""toolsListChanged":true,{}"#, granted(r#""t""#));
    let tag = r#""params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#;
    let changed = format!(r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed",{tag}"#);
    let expected = [acknowledged("1", &filter), changed, task_notification("1", &ended_well("t"))];
    assert_eq!(host.sent(), expected);
}

/// Proves M-SUB-36: the application can grant a part of the filter, and never more than was requested.
#[test]
fn a_subscription_can_be_granted_in_part() {
    let grant = |filter: Option<SubscriptionFilter<'_>>| {
        let mut host = Host::new();
        host.begin("a");
        host.begin("b");
        let request = host.request(&listen("1", r#""b","a""#)).id;
        let Host { side, tasks } = &mut host;
        let out = &mut side.out;
        side.server.tasks(tasks).grant(request, filter.as_ref(), side.now, out).unwrap();
        host.sent()
    };
    let [first, second] = ["a", "b"].map(|task| task_notification("1", &fresh(task, "working")));
    let both = acknowledged("1", &granted(r#""a","b""#));
    assert_eq!(grant(None), [both, first, second.clone()]);
    let some = SubscriptionFilter::new().with_task("b").with_task("absent");
    assert_eq!(grant(Some(some)), [acknowledged("1", &granted(r#""b""#)), second]);
    let none = SubscriptionFilter::new();
    assert_eq!(grant(Some(none)), [acknowledged("1", "")]);
}

/// Proves M-SUB-36: a subscription that is granted without a task table contains no tasks.
#[test]
fn a_subscription_without_tasks_at_hand_names_none() {
    let mut host = Host::new();
    let key = host.begin("t");
    let request = host.request(&listen("1", r#""t""#)).id;
    host.side.server.grant(request, None, &mut host.side.out).unwrap();
    assert_eq!(host.sent(), [acknowledged("1", "")]);
    let mut open = Host::configured(|config| config.listening = Listening::Granted);
    open.begin("t");
    let event = open.side.receive(&listen("1", r#""t""#));
    assert!(matches!(event, Some(ServerEvent::Subscribed(_))), "{event:?}");
    assert_eq!(open.sent(), [acknowledged("1", "")]);
    host.completes(key);
    host.settle();
    assert_eq!(host.sent(), [""; 0]);
}

/// Proves M-TASKX-45: after the end of a subscription no notification is sent on it, whichever side ended it, and
/// even if one waits for room.
#[test]
fn no_task_notification_follows_the_end_of_a_subscription() {
    for by_client in [true, false] {
        let mut host = Host::new();
        let key = host.begin("t");
        let request = host.subscribe("1", r#""t""#);
        host.sent();
        host.asks(key, &["a"]);
        if by_client {
            let frame =
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
            assert!(matches!(host.side.receive(frame), Some(ServerEvent::Cancelled(_))));
        } else {
            host.side.server.respond(request, &(), &mut host.side.out).unwrap();
            assert_eq!(host.sent(), [ended("1")]);
        }
        host.settle();
        host.completes(key);
        host.settle();
        assert_eq!(host.sent(), [""; 0]);
        assert_eq!(host.tasks.next_connection(), None);
        // A new subscription with the same id receives the current state.
        host.subscribe("1", r#""t""#);
        let expected =
            [acknowledged("1", &granted(r#""t""#)), task_notification("1", &ended_well("t"))];
        assert_eq!(host.sent(), expected);
    }
}

/// Proves M-SUB-02: the `taskIds` of a filter are a list of ids, limited in number and length.
#[test]
fn the_tasks_of_a_filter_are_a_list_of_ids() {
    let mut host = Host::configured(|config| {
        config.connection.limits.subscriptions = 2;
        config.connection.limits.uri_bytes = 4;
    });
    host.begin("t");
    for (tasks, wrong) in [
        (r#""t""#, "taskIds has the wrong type"),
        ("7", "taskIds has the wrong type"),
        (r#"{"t":true}"#, "taskIds has the wrong type"),
        ("[7]", "taskIds[0] has the wrong type"),
        (r#"["t",null]"#, "taskIds[1] has the wrong type"),
    ] {
        let frame = listen_to("1", &format!(r#""taskIds":{tasks}"#));
        host.refuses(
            &frame,
            &error("1", -32602, &format!("invalid params: notifications.{wrong}")),
        );
    }
    for tasks in [r#""a","b","c""#, r#""t","t","t""#, r#""12345""#] {
        let event = host.side.receive(&listen("1", tasks));
        assert!(matches!(event, Some(ServerEvent::Violation(_))), "{event:?} {tasks}");
        let sent = host.sent();
        assert!(sent[0].starts_with(r#"{"jsonrpc":"2.0","id":1,"error":"#), "{sent:?}");
    }
    assert_eq!(host.side.server.in_flight().counts().inbound, 0);
    host.subscribe("1", r#""t","1234""#);
    assert_eq!(host.sent().len(), 2);
}

/// Proves M-TASKX-45: a connection that has ended receives nothing and delays nothing.
#[test]
fn an_ended_connection_gets_no_task_notification() {
    let mut host = Host::new();
    let key = host.begin("t");
    host.subscribe("1", r#""t""#);
    host.sent();
    host.asks(key, &["a"]);
    host.side.server.close();
    host.side.outcomes();
    host.sent();
    host.settle();
    assert_eq!(host.sent(), [""; 0]);
    assert_eq!(host.tasks.next_connection(), None);
    host.completes(key);
    assert_eq!(host.tasks.next_connection(), None);
    // The same without a last call of `settle` on the ended connection.
    let mut host = Host::new();
    let key = host.begin("t");
    host.subscribe("1", r#""t""#);
    host.completes(key);
    let connection = host.side.server.connection_number();
    assert!(host.tasks.has_news_for(connection));
    host.tasks.disconnected(connection);
    assert!(!host.tasks.has_news_for(connection));
    assert_eq!(host.tasks.next_connection(), None);
}

/// A transport with a stream for each request.
#[derive(Default)]
struct Streams(BTreeMap<String, Outbox>);

impl Outboxes for Streams {
    fn outbox(&mut self, route: Route) -> &mut Outbox {
        let fresh = || Outbox::new(Framing::Messages, &Limits::default());
        self.0.entry(format!("{route:?}")).or_insert_with(fresh)
    }
}

/// Proves M-TASKX-45: a task is notified on the streams of its subscriptions and on no other stream.
#[test]
fn a_task_is_notified_only_on_streams_of_its_subscriptions() {
    let mut out = Streams::default();
    let mut tasks = Tasks::default();
    let side = connection(0, config());
    let (mut server, now) = (side.server, side.now);
    let take = |out: &mut Streams, id: IncomingId| -> Vec<String> {
        let outbox = out.outbox(Route::Exchange(id));
        outbox.messages().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()).collect()
    };
    let open = |server: &mut mcp_sansio::Server, out: &mut Streams, frame: &str| -> IncomingId {
        match server.receive(frame, now, out) {
            Some(ServerEvent::Request(request)) => request.id,
            other => panic!("{other:?}"),
        }
    };
    let call = open(&mut server, &mut out, &of_client("1", "tools/call", ABLE, r#""name":"t""#));
    let key = server.tasks(&mut tasks).begin(call, NewTask::new("t"), now, &mut out).unwrap();
    assert_eq!(take(&mut out, call), [result("1", "task", &fresh("t", "working"))]);
    let [to_it, to_none] = [listen("2", r#""t""#), listen("3", r#""absent""#)].map(|frame| {
        let request = open(&mut server, &mut out, &frame);
        server.tasks(&mut tasks).grant(request, None, now, &mut out).unwrap();
        request
    });
    let expected =
        [acknowledged("2", &granted(r#""t""#)), task_notification("2", &fresh("t", "working"))];
    assert_eq!(take(&mut out, to_it), expected);
    assert_eq!(take(&mut out, to_none), [acknowledged("3", "")]);
    tasks.complete(key, &done(), now).unwrap();
    server.tasks(&mut tasks).settle(now, &mut out);
    assert_eq!(take(&mut out, to_it), [task_notification("2", &ended_well("t"))]);
    assert!(out.0.values().all(Outbox::is_empty));
}
