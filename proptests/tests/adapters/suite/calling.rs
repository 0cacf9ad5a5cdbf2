//! Cases of the calling side.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use mcp_sansio::call::{Cancellation, Paging, Timeout};
use mcp_sansio::event::Expiry;
use mcp_sansio::model::{LoggingLevel, PageParams, method};
use mcp_sansio::pagination::PageStop;
use mcp_sansio::{CallError, CallOptions, Era, Phase, RevisionSet};
use mcp_sansio_driver::{CallFailure, ConnectionOptions, Waiting};
use serde_json::json;

use crate::suite::kit::{
    A_LONG_TIME, Peer, World, accepting, client_config, server_config, start, text_of,
};
use crate::suite::pipes::pipes;
use crate::suite::runtimes::Adapter;
use crate::suite::script::Answers;

pub(crate) fn a_session_from_beginning_to_end<A: Adapter>() {
    for revisions in [RevisionSet::LEGACY, RevisionSet::MODERN, RevisionSet::ALL] {
        let (mut server, mut client) = (server_config(), client_config());
        (server.revisions, client.revisions) = (revisions, revisions);
        let world = World::<A>::with(4096, server, client, ConnectionOptions::new());
        assert_eq!(world.call("echo", "hello").unwrap(), "hello");
        let server = world.connection.handle();
        let params = PageParams::default();
        let connected = world.connection.connected();
        assert_eq!(connected.server_info().unwrap().name, "server");
        assert_eq!(server.revision(), Some(connected.revision));
        assert_eq!(connected.revision, revisions.latest().unwrap());
        assert_eq!(server.peer_capabilities(), connected.capabilities);
        server.set_log_level(LoggingLevel::Debug).wait().unwrap();
        if connected.revision.era() == Era::Legacy {
            assert_eq!(world.log.next(), "level debug");
        }
        assert_eq!(server.subscriptions(), []);
        let tools = server.call::<method::ListTools>(&params, CallOptions::new()).wait().unwrap();
        assert_eq!(tools.parse().unwrap().tools.get(0).unwrap().name, "first");
        assert!(matches!(world.call("nothing", ""), Err(CallFailure::PeerError(_))));
        let handle = world.connection.handle().clone();
        let World { connection, served, log, .. } = world;
        assert_eq!(connection.close(A_LONG_TIME).wait().unwrap(), None);
        assert_eq!(handle.phase(), Phase::Closed);
        served.recv_timeout(A_LONG_TIME).unwrap().unwrap();
        assert_eq!(log.next(), "draining");
        assert_eq!(log.next(), "closed: the peer ended the connection");
    }
}

pub(crate) fn a_thousand_calls_at_once<A: Adapter>() {
    let world = World::<A>::new();
    let words: Vec<String> = (0..1000).map(|call| format!("call {call}")).collect();
    let calls: Vec<_> = words.iter().map(|word| world.start("echo", word)).collect();
    for (call, word) in calls.into_iter().zip(&words) {
        assert_eq!(&text_of(&call.wait().unwrap()), word);
    }
    assert!(world.script.most_at_once() <= 64, "{}", world.script.most_at_once());
    // The same from several threads.
    thread::scope(|scope| {
        for caller in 0..8 {
            let connection = &world.connection;
            scope.spawn(move || {
                for call in 0..25 {
                    let word = format!("{caller} {call}");
                    let call = start(connection, "echo", &word, CallOptions::new());
                    assert_eq!(text_of(&call.wait().unwrap()), word);
                }
            });
        }
    });
    world.end();
}

/// Pain 16.
pub(crate) fn a_call_is_cancelled_by_its_caller<A: Adapter>() {
    let world = World::<A>::new();
    let call = world.start("wait", "");
    assert_eq!(world.log.next(), "waiting");
    call.cancel(Some("enough"));
    assert_eq!(world.connection.handle().counts().outbound, 0, "at once");
    assert_eq!(world.log.next(), "cancelled");
    assert!(world.log.next().starts_with("too late: "));
    assert_eq!(world.call("echo", "x").unwrap(), "x");
    world.end();
}

/// A cancelled call fails for its caller; cancelling an ended call fails without a notification.
pub(crate) fn a_call_is_cancelled_by_its_number<A: Adapter>() {
    let world = World::<A>::new();
    let server = world.connection.handle();
    let call = world.start("wait", "");
    let id = call.id().unwrap().unwrap();
    assert_eq!(world.log.next(), "waiting");
    assert_eq!(server.cancel(id, Some("enough")), Ok(Cancellation::Notified));
    assert_eq!(call.wait(), Err(CallFailure::Cancelled));
    assert_eq!(world.log.next(), "cancelled");
    assert!(world.log.next().starts_with("too late: "));
    assert!(server.cancel(id, None).is_err(), "it is over");
    assert_eq!(world.call("echo", "x").unwrap(), "x");
    world.end();
}

/// Pain 16: a dropped call is cancelled even while its caller waits for it; an ended call is not cancelled.
pub(crate) fn a_dropped_call_is_cancelled<A: Adapter>() {
    let (adapter, (ours, theirs)) = (A::new(), pipes(4096));
    let (sender, arrived) = channel();
    let server = thread::spawn(move || {
        let mut peer = Peer::new(theirs);
        peer.accept();
        let waited = peer.receive();
        sender.send(()).unwrap();
        assert_eq!(peer.receive()["params"]["requestId"], waited["id"]);
        let answered = peer.receive();
        peer.send(&json!({"jsonrpc": "2.0", "id": answered["id"], "result": {}}));
        let lines = peer.rest();
        assert_eq!(lines, [json!(null); 0], "nothing is cancelled that has been answered");
    });
    let options = ConnectionOptions::new();
    let connection = adapter.connect_with(client_config(), options, ours, Answers::default());
    let connection = connection.unwrap();
    let call = start(&connection, "wait", "", CallOptions::new());
    let Err(call) = call.wait_timeout(Duration::from_millis(1)) else { panic!("it has ended") };
    // An earlier drop would withdraw the unsent request.
    arrived.recv_timeout(A_LONG_TIME).unwrap();
    drop(call);
    assert_eq!(connection.handle().counts().outbound, 0);
    let mut call = start(&connection, "echo", "", CallOptions::new());
    assert!(Waiting::new(&mut call).wait().is_ok());
    drop(call);
    connection.close(Duration::ZERO).wait().unwrap();
    server.join().unwrap();
}

/// Pain 46: a dropped future loses nothing.
pub(crate) fn a_call_survives_waits_that_time_out<A: Adapter>() {
    let world = World::<A>::new();
    let mut call = world.start("gate", "");
    assert_eq!(world.log.next(), "at the gate");
    for _ in 0..10 {
        call = call.wait_timeout(Duration::from_millis(1)).unwrap_err();
    }
    world.script.open_gate(1);
    assert_eq!(text_of(&call.wait().unwrap()), "through");
    world.end();
}

pub(crate) fn progress_is_a_stream<A: Adapter>() {
    let world = World::<A>::new();
    let options = CallOptions::new().progress();
    let mut call = start(&world.connection, "progress", "", options);
    let follow = async {
        let mut steps = Vec::new();
        let mut updates = call.progress();
        while let Some(update) = futures_lite::StreamExt::next(&mut updates).await {
            steps.push(update.progress.as_f64());
        }
        steps
    };
    assert_eq!(Waiting::new(follow).wait(), [1.0, 2.0, 3.0]);
    assert_eq!(text_of(&call.wait().unwrap()), "done");
    let mut steps = Vec::new();
    let call = start(&world.connection, "progress", "", options);
    let reply = call.wait_with(|update| steps.push(update.progress.as_f64())).unwrap();
    assert_eq!((steps, text_of(&reply).as_str()), (vec![1.0, 2.0, 3.0], "done"));
    world.end();
}

/// Pain 1: neither a deadline nor a cancellation waits for a write. Pain 88: closing does not wait for it either.
pub(crate) fn a_deadline_fires_while_the_peer_does_not_read<A: Adapter>() {
    let (adapter, (ours, theirs)) = (A::new(), pipes(64));
    let accepting = accepting(theirs);
    let options = ConnectionOptions::new();
    let connection = adapter.connect_with(client_config(), options, ours, Answers::default());
    let connection = connection.unwrap();
    // From here on the peer does not read.
    let peer = accepting.join().unwrap();
    let text = "x".repeat(10_000);
    let idle =
        |milliseconds| CallOptions::new().idle(Timeout::After(Duration::from_millis(milliseconds)));
    let first = start(&connection, "echo", &text, idle(20)).wait();
    assert_eq!(first.unwrap_err(), CallFailure::TimedOut(Expiry::Idle));
    let second = start(&connection, "echo", &text, CallOptions::new());
    let third = start(&connection, "echo", &text, idle(20)).wait();
    assert_eq!(third.unwrap_err(), CallFailure::TimedOut(Expiry::Idle));
    second.cancel(Some("enough"));
    assert_eq!(connection.handle().counts().outbound, 0);
    // The peer has half a second to read the remaining bytes.
    connection.close(Duration::ZERO).wait().unwrap();
    drop(peer);
}

/// A sender of large messages can wait until the peer has read enough of them.
pub(crate) fn there_is_room_when_the_peer_has_read<A: Adapter>() {
    let (adapter, (ours, theirs)) = (A::new(), pipes(64));
    let accepting = accepting(theirs);
    let mut config = client_config();
    config.connection.limits.congestion_bytes = 1000;
    let options = ConnectionOptions::new();
    let connection = adapter.connect_with(config, options, ours, Answers::default()).unwrap();
    let mut peer = accepting.join().unwrap();
    let handle = connection.handle().clone();
    handle.room().wait();
    let text = json!({"text": "x".repeat(200_000)});
    handle.notify_method("x/much", &text).unwrap();
    let (sender, room) = channel();
    let waiting = thread::spawn(move || {
        let mut wait = Box::pin(handle.room());
        let is_full = smol::block_on(futures_lite::future::poll_once(&mut wait)).is_none();
        sender.send(is_full).unwrap();
        Waiting::new(wait).wait();
    });
    assert_eq!(room.recv_timeout(A_LONG_TIME), Ok(true), "there is none");
    assert_eq!(peer.receive()["method"], "x/much");
    waiting.join().unwrap();
    // After the end, no future waits for room.
    connection.close(Duration::ZERO).wait().unwrap();
}

pub(crate) fn a_list_in_pages<A: Adapter>() {
    let world = World::<A>::new();
    let server = world.connection.handle();
    let list = server.list::<method::ListTools>(Paging::default(), CallOptions::new()).wait();
    let list = list.unwrap();
    let name =
        |page: usize| list.pages[page].parse().unwrap().tools.get(0).unwrap().name.to_string();
    assert_eq!((list.pages.len(), list.stale, list.cut), (2, false, None));
    assert_eq!((name(0).as_str(), name(1).as_str()), ("first", "second"));
    // A list whose page limit is reached keeps the pages that have arrived.
    let mut paging = Paging::default();
    paging.limits.pages = 1;
    let list = server.list::<method::ListTools>(paging, CallOptions::new()).wait().unwrap();
    assert_eq!((list.pages.len(), list.cut), (1, Some(PageStop::TooManyPages)));
    world.end();
}

/// All tools are of one state of the list, unless it changes more than three times while it is read.
pub(crate) fn a_list_that_changes_is_read_again<A: Adapter>() {
    for changes in [3, 4] {
        let (adapter, (ours, theirs)) = (A::new(), pipes(4096));
        let server = thread::spawn(move || {
            let mut peer = Peer::new(theirs);
            peer.accept();
            for (before, name) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
                let asked = peer.receive();
                let is_last = name == "e";
                let cursor = if is_last { json!("next") } else { json!(null) };
                assert_eq!(asked["params"]["cursor"], cursor, "{name}");
                if before < changes {
                    let changed = "notifications/tools/list_changed";
                    peer.send(&json!({"jsonrpc": "2.0", "method": changed}));
                }
                let tools = json!([{"name": name, "inputSchema": {"type": "object"}}]);
                let mut result = json!({"tools": tools});
                if !is_last {
                    result["nextCursor"] = json!("next");
                }
                peer.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}));
            }
            peer.rest()
        });
        let options = ConnectionOptions::new();
        let connection = adapter.connect_with(client_config(), options, ours, Answers::default());
        let connection = connection.unwrap();
        let tools = connection.handle().list_all_tools().wait().unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool.name.to_string()).collect();
        assert_eq!(names, ["d", "e"], "{changes} changes");
        connection.close(Duration::ZERO).wait().unwrap();
        assert_eq!(server.join().unwrap(), [json!(null); 0]);
    }
}

/// Pain 58.
pub(crate) fn requests_and_notifications_are_sent_in_order<A: Adapter>() {
    let (adapter, (ours, theirs)) = (A::new(), pipes(64));
    let server = thread::spawn(move || {
        let mut peer = Peer::new(theirs);
        peer.accept();
        (0..200).map(|_| peer.receive()).collect::<Vec<_>>()
    });
    let options = ConnectionOptions::new();
    let connection = adapter.connect_with(client_config(), options, ours, Answers::default());
    let connection = connection.unwrap();
    let calls: Vec<_> = (0..100)
        .map(|number| {
            let call = start(&connection, "echo", &number.to_string(), CallOptions::new());
            connection.handle().notify_method("x/after", &json!({"number": number})).unwrap();
            call
        })
        .collect();
    let lines = server.join().unwrap();
    for (number, pair) in lines.chunks(2).enumerate() {
        assert_eq!(pair[0]["params"]["arguments"]["text"], number.to_string());
        assert_eq!(pair[1]["params"]["number"], number);
    }
    // The server has ended.
    for call in calls {
        assert!(matches!(call.wait(), Err(CallFailure::Closed(_))));
    }
}

/// Pain 49: a banner or a log line on the wire causes a violation event, and nothing else.
pub(crate) fn a_server_that_prints_other_things<A: Adapter>() {
    let (adapter, (ours, theirs)) = (A::new(), pipes(64));
    let server = thread::spawn(move || {
        let mut peer = Peer::new(theirs);
        peer.write(b"Server started on stdio\n\n");
        peer.accept();
        peer.write(b"[db] connected\n{\"log\":1}\n\xff\xfe\n");
        let call = peer.receive();
        peer.write(b"debug: call\n");
        peer.send(&json!({"jsonrpc": "2.0", "id": call["id"], "result": {"content": [{"type": "text", "text": "good"}]}}));
        assert_eq!(peer.line(), None, "none of it is answered");
    });
    let (answers, log) = Answers::with_log();
    let options = ConnectionOptions::new();
    let connection = adapter.connect_with(client_config(), options, ours, answers).unwrap();
    let reply = start(&connection, "echo", "", CallOptions::new()).wait().unwrap();
    assert_eq!(text_of(&reply), "good");
    connection.close(Duration::ZERO).wait().unwrap();
    server.join().unwrap();
    let reported = log.rest();
    assert_eq!(
        reported.iter().filter(|line| line.starts_with("violation")).count(),
        5,
        "{reported:?}"
    );
    assert_eq!(reported.last().unwrap(), "closed: the connection was shut down");
}

/// Pain 45: multi-byte characters arrive one byte at a time.
pub(crate) fn characters_in_pieces<A: Adapter>() {
    let config = (server_config(), client_config());
    let world = World::<A>::with(1, config.0, config.1, ConnectionOptions::new());
    let text = "é漢😀\u{10ffff} \"\\ \u{7f}\n";
    assert_eq!(world.call("echo", text).unwrap(), text);
    let World { connection, adapter, .. } = world;
    // A call after the end is rejected.
    let handle = connection.handle().clone();
    connection.close(Duration::ZERO).wait().unwrap();
    let late = handle.call_method("ping", &(), CallOptions::new());
    assert!(matches!(late.id(), Some(Err(CallError::Closed))), "{late:?}");
    assert!(matches!(late.wait(), Err(CallFailure::CallError(CallError::Closed))));
    drop(adapter);
}
