//! The same tasks on several connections, some of which end.

use std::sync::Arc;

use mcp_sansio::json::Raw;
use mcp_sansio::model::InputRequired;
use mcp_sansio::progress::{Progress, ProgressReport};
use mcp_sansio::task::{NewTask, Status, TaskKey, TaskNews, Tasks, TasksConfig};
use mcp_sansio::{Cause, ConnectionNumber, Framing, Limits, Outbox, Outcome, Server};
use mcp_sansio_proptests::ServerSide;

use crate::sessions::kit::{
    Host, Reaction, Stage, about, asking, cancelled, changed, dismissed, related, request, result,
    result_of, server_config, shown, unknown,
};

/// A server in a session on the connection with this number.
fn numbered(number: u32) -> ServerSide {
    let config = server_config();
    let mut side = ServerSide::with(config.clone());
    side.server = Server::with_connection_number(Arc::new(config), ConnectionNumber::new(number));
    side.receive(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}"#,
    );
    side.receive(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(side.sent().len(), 1);
    side
}

fn quiet() -> Tasks {
    let mut config = TasksConfig::default();
    config.notify = false;
    Tasks::new(config)
}

fn begin(side: &mut ServerSide, tasks: &mut Tasks, id: &str, more: &str) -> TaskKey {
    let request = side.request(&asking::<ServerSide>(r#""begin""#, more));
    let key = side.begin(request, NewTask::new(id), tasks).unwrap();
    assert_eq!(side.sent().len(), 1);
    key
}

#[track_caller]
fn serve(side: &mut ServerSide, tasks: &mut Tasks, frame: &str, principal: u64) -> Vec<String> {
    let Reaction::Task(request, call) = side.take_in(frame, principal) else { panic!("{frame}") };
    side.serve(request, &call, tasks).unwrap();
    side.sent()
}

fn sent_after_settling(side: &mut ServerSide, tasks: &mut Tasks) -> Vec<String> {
    side.settle(tasks);
    side.sent()
}

fn complete(tasks: &mut Tasks, key: TaskKey, side: &ServerSide) {
    tasks.complete(key, &Raw::new(ServerSide::RESULT).unwrap(), side.now).unwrap();
}

fn ask(tasks: &mut Tasks, key: TaskKey, side: &ServerSide, input: &'static str) {
    tasks.require_input(key, &InputRequired::new().roots(input), side.now).unwrap();
}

fn question(id: u32) -> String {
    request(&id.to_string(), "roots/list", &related("a"))
}

/// Proves L-TASK-40: a waiting `tasks/result` is answered on its own connection.
#[test]
fn a_result_goes_where_it_was_asked_for() {
    let (mut one, mut two, mut tasks) = (numbered(1), numbered(2), quiet());
    let key = begin(&mut one, &mut tasks, "a", r#""task":{}"#);
    assert_eq!(serve(&mut two, &mut tasks, &about("1", "result", "a"), 0), [""; 0]);
    assert_eq!(serve(&mut one, &mut tasks, &about("1", "result", "a"), 0), [""; 0]);
    assert_eq!(serve(&mut two, &mut tasks, &about("2", "result", "a"), 0), [""; 0]);
    complete(&mut tasks, key, &one);
    assert_eq!(tasks.next_connection(), Some(ConnectionNumber::new(1)));
    assert!(tasks.has_news_for(ConnectionNumber::new(2)));
    assert_eq!(sent_after_settling(&mut one, &mut tasks), [result_of::<ServerSide>("1", "a")]);
    assert_eq!(tasks.next_connection(), Some(ConnectionNumber::new(2)));
    let answers = ["1", "2"].map(|id| result_of::<ServerSide>(id, "a"));
    assert_eq!(sent_after_settling(&mut two, &mut tasks), answers);
    assert_eq!(tasks.next_connection(), None);
}

/// Requests for a result on one connection displace none on another.
#[test]
fn waiting_requests_of_other_connections_stay() {
    let (mut one, mut two, mut tasks) = (numbered(1), numbered(2), quiet());
    let key = begin(&mut one, &mut tasks, "a", r#""task":{}"#);
    assert_eq!(serve(&mut two, &mut tasks, &about("1", "result", "a"), 0), [""; 0]);
    for id in 1..20 {
        let waits = about(&id.to_string(), "result", "a");
        assert_eq!(serve(&mut one, &mut tasks, &waits, 0), [""; 0]);
    }
    complete(&mut tasks, key, &one);
    assert_eq!(sent_after_settling(&mut one, &mut tasks).len(), 19);
    assert_eq!(sent_after_settling(&mut two, &mut tasks), [result_of::<ServerSide>("1", "a")]);
}

/// Proves L-TASK-63, L-TASK-33: the host names the requestor of a request, independent of the connection.
#[test]
fn an_owner_is_not_a_connection() {
    let (mut one, mut two, mut tasks) = (numbered(1), numbered(2), quiet());
    let frame = asking::<ServerSide>("1", r#""task":{}"#);
    let Reaction::Request(request) = one.take_in(&frame, 7) else { panic!() };
    let key = one.begin(request, NewTask::new("a"), &mut tasks).unwrap();
    assert_eq!(tasks.get(key).unwrap().owner().principal().get(), 7);
    one.sent();
    let working = result("2", shown("a", "working"));
    assert_eq!(serve(&mut two, &mut tasks, &about("2", "get", "a"), 7), [working.as_str()]);
    for side in [&mut one, &mut two] {
        for what in ["get", "result", "cancel"] {
            assert_eq!(serve(side, &mut tasks, &about("3", what, "a"), 8), [unknown("3")]);
            assert_eq!(serve(side, &mut tasks, &about("3", what, "a"), 0), [unknown("3")]);
        }
    }
    assert_eq!(serve(&mut one, &mut tasks, &about("2", "get", "a"), 7), [working]);
}

/// The requests of a task go to the connection with the latest `tasks/result`, and are cancelled elsewhere.
#[test]
fn questions_follow_the_requestor() {
    let (mut one, mut two, mut tasks) = (numbered(1), numbered(2), quiet());
    let key = begin(&mut one, &mut tasks, "a", r#""task":{}"#);
    ask(&mut tasks, key, &one, "r");
    assert_eq!(sent_after_settling(&mut one, &mut tasks), [question(1)]);
    assert_eq!(serve(&mut two, &mut tasks, &about("1", "result", "a"), 0), [question(1)]);
    assert_eq!(sent_after_settling(&mut one, &mut tasks), [dismissed(1)]);
    let unmatched = one.take_in(&result("1", r#"{"roots":[]}"#), 0);
    assert!(matches!(unmatched, Reaction::Other(_)), "{unmatched:?}");
    let Reaction::Answer(answer) = two.take_in(&result("1", r#"{"roots":[]}"#), 0) else {
        panic!()
    };
    assert_eq!(tasks.answered(&answer, two.now), Some(TaskNews::Input(key)));
    complete(&mut tasks, key, &one);
    assert_eq!(sent_after_settling(&mut one, &mut tasks), [""; 0]);
    assert_eq!(sent_after_settling(&mut two, &mut tasks), [result_of::<ServerSide>("1", "a")]);
}

/// If the connection with the latest `tasks/result` ends, the requests go to another connection that still waits,
/// whichever notice of the end comes first.
#[test]
fn task_requests_move_to_a_connection_that_still_waits() {
    for (asks_before, hands_on_first) in [(true, true), (true, false), (false, false)] {
        let (mut one, mut two, mut tasks) = (numbered(1), numbered(2), quiet());
        let key = begin(&mut one, &mut tasks, "a", r#""task":{}"#);
        if asks_before {
            ask(&mut tasks, key, &one, "r");
        }
        _ = serve(&mut one, &mut tasks, &about("1", "result", "a"), 0);
        _ = serve(&mut two, &mut tasks, &about("1", "result", "a"), 0);
        _ = sent_after_settling(&mut one, &mut tasks);
        two.server.disconnected(Cause::ReadFailed, two.now);
        let outcomes = two.due();
        if !hands_on_first {
            tasks.disconnected(ConnectionNumber::new(2));
        }
        for reaction in outcomes {
            if let Reaction::Answer(answer) = reaction {
                assert_eq!(tasks.answered(&answer, two.now), None);
            }
        }
        tasks.disconnected(ConnectionNumber::new(2));
        if !asks_before {
            ask(&mut tasks, key, &one, "r");
        }
        let asked = sent_after_settling(&mut one, &mut tasks);
        let id = if asks_before { 2 } else { 1 };
        assert_eq!(asked, [question(id)], "{asks_before} {hands_on_first}");
        complete(&mut tasks, key, &one);
        assert_eq!(
            sent_after_settling(&mut one, &mut tasks).last().unwrap(),
            &result_of::<ServerSide>("1", "a")
        );
        assert_eq!(tasks.next_connection(), None);
    }
}

/// Proves L-TASK-76: a task outlives its connection. No message is sent there any more, and its open requests are
/// sent again on the next connection with a `tasks/result`.
#[test]
fn a_task_outlives_its_connection() {
    for hands_on in [false, true] {
        let (mut one, mut two, mut tasks) = (numbered(1), numbered(2), quiet());
        let key = begin(&mut one, &mut tasks, "a", r#""task":{}"#);
        ask(&mut tasks, key, &one, "r");
        assert_eq!(sent_after_settling(&mut one, &mut tasks), [question(1)]);
        serve(&mut one, &mut tasks, &about("1", "result", "a"), 0);
        one.server.disconnected(Cause::ReadFailed, one.now);
        let outcomes = one.due();
        assert_eq!(outcomes.len(), 3, "{outcomes:?}");
        for reaction in outcomes {
            if let Reaction::Answer(answer) = reaction {
                assert_eq!(answer.outcome, Outcome::Closed(Cause::ReadFailed));
                if hands_on {
                    assert_eq!(tasks.answered(&answer, one.now), None);
                }
            }
        }
        tasks.disconnected(ConnectionNumber::new(1));
        assert_eq!(tasks.get(key).unwrap().status(), Status::InputRequired);
        assert_eq!(
            (sent_after_settling(&mut one, &mut tasks).len(), tasks.next_connection()),
            (0, None)
        );
        let waits = result("1", shown("a", "input_required"));
        assert_eq!(serve(&mut two, &mut tasks, &about("1", "get", "a"), 0), [waits]);
        assert_eq!(serve(&mut two, &mut tasks, &about("2", "result", "a"), 0), [question(1)]);
        let Reaction::Answer(answer) = two.take_in(&result("1", r#"{"roots":[]}"#), 0) else {
            panic!()
        };
        assert_eq!(tasks.answered(&answer, two.now), Some(TaskNews::Input(key)));
        complete(&mut tasks, key, &one);
        assert_eq!(tasks.next_connection(), Some(ConnectionNumber::new(2)));
        assert_eq!(sent_after_settling(&mut two, &mut tasks), [result_of::<ServerSide>("2", "a")]);
    }
}

/// Proves L-TASK-76: a machine whose connection has ended deregisters itself when the tasks are settled.
#[test]
fn a_connection_that_has_ended_is_forgotten() {
    let (mut one, mut tasks) = (numbered(1), Tasks::default());
    let key = begin(&mut one, &mut tasks, "a", r#""task":{}"#);
    serve(&mut one, &mut tasks, &about("1", "result", "a"), 0);
    one.server.disconnected(Cause::ReadFailed, one.now);
    complete(&mut tasks, key, &one);
    assert_eq!(tasks.next_connection(), Some(ConnectionNumber::new(1)));
    assert_eq!(sent_after_settling(&mut one, &mut tasks), [""; 0]);
    assert_eq!(tasks.next_connection(), None);
    tasks.remove(key);
    assert_eq!(tasks.next_connection(), None);
}

/// Proves L-RACE-53: a progress token belongs to the connection of its request; on another connection the same
/// token may belong to another request.
#[test]
fn progress_stays_on_the_connection_of_its_token() {
    let (mut one, mut two, mut tasks) = (numbered(1), numbered(2), quiet());
    let with_token = r#""task":{},"_meta":{"progressToken":1}"#;
    let key = begin(&mut one, &mut tasks, "a", with_token);
    two.request(&asking::<ServerSide>("1", r#""_meta":{"progressToken":1}"#));
    serve(&mut two, &mut tasks, &about("2", "result", "a"), 0);
    let elsewhere = two.report(key, Progress::new(1_u32), &mut tasks);
    assert_eq!((elsewhere, two.sent().len()), (Ok(ProgressReport::NotWanted), 0));
    let here = one.report(key, Progress::new(1_u32), &mut tasks);
    assert_eq!((here, one.sent().len()), (Ok(ProgressReport::Sent), 1));
}

/// Connections that begin, wait and end leave no state in a running task.
#[test]
fn connections_that_end_take_no_room() {
    let mut tasks = quiet();
    let mut first = numbered(0);
    let key = begin(&mut first, &mut tasks, "a", r#""task":{}"#);
    ask(&mut tasks, key, &first, "r");
    let mut longest = 0;
    for number in 1..300 {
        let mut side = numbered(number);
        serve(&mut side, &mut tasks, &about("1", "result", "a"), 0);
        side.server.disconnected(Cause::ReadFailed, side.now);
        for reaction in side.due() {
            if let Reaction::Answer(answer) = reaction {
                _ = tasks.answered(&answer, side.now);
            }
        }
        tasks.disconnected(ConnectionNumber::new(number));
        longest = longest.max(format!("{tasks:?}").len());
    }
    assert!(longest < 2_500, "{longest}");
}

/// Alternating requests on two connections that do not read leave only the open requests.
#[test]
fn asking_here_and_there_takes_no_room() {
    let (mut one, mut two, mut tasks) = (numbered(1), numbered(2), Tasks::default());
    let key = begin(&mut one, &mut tasks, "a", r#""task":{}"#);
    ask(&mut tasks, key, &one, "r");
    // Neither peer reads, so no message can be sent.
    let mut longest = 0;
    for _ in 0..300 {
        for side in [&mut one, &mut two] {
            let Reaction::Task(waiter, call) = side.take_in(&about("1", "result", "a"), 0) else {
                panic!()
            };
            let mut full = Outbox::new(Framing::Messages, &small());
            let ping = request("7", "ping", "");
            assert!(side.server.receive(ping.as_str(), side.now, &mut full).is_none());
            side.server.tasks(&mut tasks).serve(waiter, &call, side.now, &mut full).unwrap();
            assert_eq!(full.messages().count(), 1);
            assert!(matches!(side.take_in(&cancelled("1"), 0), Reaction::Cancelled(..)));
        }
        longest = longest.max(format!("{tasks:?}").len());
    }
    assert!(longest < 2_500, "{longest}");
    one.sent();
    two.sent();
    let delivered = sent_after_settling(&mut two, &mut tasks);
    assert_eq!(delivered, [changed(shown("a", "input_required")), question(1)]);
}

/// Limits with room for one short response of the machine.
fn small() -> Limits {
    let mut limits = Limits::default();
    limits.outbox_bytes = 40;
    limits
}

/// A result that fits no outbox does not hold up the other results.
#[test]
fn a_result_too_large_to_send_does_not_delay_others() {
    let host = ServerSide::host_with(crate::sessions::kit::WITH_TASKS, |config| {
        config.limits.outbox_bytes = 500;
    });
    let mut stage = Stage::of(host, quiet());
    let (long, short) = (stage.begin("a"), stage.begin("b"));
    stage.serve(&about("1", "result", "a"));
    stage.serve(&about("2", "result", "b"));
    let now = stage.now();
    let text = "x".repeat(600);
    let outcome = mcp_sansio::model::CallToolResult::text(text.as_str());
    stage.tasks.complete(long, &outcome, now).unwrap();
    stage.complete(short);
    let delivered = stage.settled_messages();
    let refused =
        crate::sessions::kit::error("1", -32603, "the result cannot be sent on this connection");
    assert_eq!(delivered, [refused, result_of::<ServerSide>("2", "b")]);
    assert_eq!(stage.tasks.next_connection(), None);
}

/// The messages depend on the events, not on the copy of the tasks that received them.
#[test]
fn a_copy_of_the_tasks_goes_on_in_the_same_way() {
    let mut stage = Stage::<ServerSide>::quiet();
    let key = stage.begin("a");
    for number in 0..20 {
        let mut copy = stage.clone();
        for stage in [&mut stage, &mut copy] {
            stage.serve(&about("1", "result", "a"));
            if number % 3 == 0 {
                stage.serve(&about(&format!("1{number}"), "result", "a"));
            }
            stage.receive(&cancelled("1"));
        }
        assert_eq!(stage.tasks, copy.tasks);
        stage = copy;
    }
    stage.complete(key);
    assert_eq!(stage.settled_messages().len(), 7);
}

/// A requestor that has ended its input still receives its results while the connection is open.
#[test]
fn the_end_of_the_input_ends_no_waiting() {
    for ends_in_time in [false, true] {
        let mut stage = Stage::<ServerSide>::quiet();
        let key = stage.begin("a");
        stage.serve(&about("1", "result", "a"));
        let now = stage.now();
        stage.host.server.disconnected(Cause::EndOfInput, now);
        let draining = stage.host.due();
        assert_eq!(draining.len(), 1, "{draining:?}");
        if ends_in_time {
            stage.complete(key);
            assert_eq!(stage.settled_messages(), [result_of::<ServerSide>("1", "a")]);
            assert_eq!(stage.host.due().len(), 1);
        } else {
            stage.pass(5);
            let ended = stage.host.due();
            assert!(matches!(ended[0], Reaction::Cancelled(..)), "{ended:?}");
            let refused = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the connection is shutting down"}}"#;
            assert_eq!(stage.settled_messages(), [refused]);
            stage.complete(key);
            assert_eq!(stage.settled_messages(), [""; 0]);
        }
        assert_eq!(stage.host.server.phase(), mcp_sansio::Phase::Closed);
        stage.settle();
        assert_eq!(stage.tasks.next_connection(), None);
    }
}
