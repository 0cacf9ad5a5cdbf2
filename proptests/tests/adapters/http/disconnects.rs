//! Clients that disconnect.

use std::time::Duration;

use mcp_sansio::Principal;
use mcp_sansio::http::ResponseMode;
use mcp_sansio_http::EndpointOptions;
use tokio::io::AsyncWriteExt;

use crate::http::kit::{Served, server_config, soon};
use crate::http::raw::{Raw, http2, legacy, listen, modern, request, text_of};

/// Proves H-HTTP-118, H-HR-01, M-CANC-18
#[tokio::test]
async fn without_a_session_to_go_is_to_cancel() {
    let mut served = Served::new().await;
    // The client disconnects before the head of the response.
    let mut raw = Raw::connect(served.address).await;
    raw.send(modern(1, "wait", "1")).await;
    assert_eq!(served.log.next().await, "waiting 1");
    drop(raw);
    assert_eq!(served.log.next().await, "cancelled 1");
    // The client disconnects while the response streams.
    let mut options = EndpointOptions::new();
    options.http.stream_after = Some(Duration::ZERO);
    let mut streaming = Served::with(server_config(), options, Duration::ZERO).await;
    let mut raw = Raw::connect(streaming.address).await;
    raw.send(modern(2, "wait", "2")).await;
    raw.head().await;
    assert_eq!(streaming.log.next().await, "waiting 2");
    drop(raw);
    assert_eq!(streaming.log.next().await, "cancelled 2");
    served.is_quiet().await;
    streaming.is_quiet().await;
    assert!(served.log.is_silent() && streaming.log.is_silent());
}

/// Proves H-HTTP-120
#[tokio::test]
async fn to_go_after_the_answer_is_nothing() {
    let mut served = Served::new().await;
    for id in 0..10 {
        let mut raw = Raw::connect(served.address).await;
        raw.send(modern(id, "note", "done")).await;
        assert_eq!(raw.answer().await.status(), "200");
        drop(raw);
        assert_eq!(served.log.next().await, "note done");
    }
    served.is_quiet().await;
    assert!(served.log.is_silent());
}

/// Proves H-HR-01, M-ARCH-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_session_to_go_is_not_to_cancel() {
    let mut served = Served::new().await;
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = Raw::connect(served.address).await.initialize(version).await;
        let mut raw = Raw::connect(served.address).await;
        raw.send(legacy(&session, 1, "gate", version)).await;
        assert_eq!(served.log.next().await, format!("at the gate {version}"));
        // The exchange ends once the server has seen the end of the stream, at an unknown time, but never with a
        // cancellation.
        raw.stream.shutdown().await.unwrap();
        assert!(raw.is_over().await);
        served.script.gate.add_permits(1);
        assert_eq!(served.log.next().await, format!("through {version}"));
        let mut raw = Raw::connect(served.address).await;
        raw.send(legacy(&session, 2, "echo", "still there")).await;
        assert_eq!(text_of(&raw.answer().await.json()), "still there");
    }
    assert_eq!(served.endpoint.sessions(), 3);
}

/// A client disconnects while its event stream is open, and requests another one.
///
/// Proves H-HTTP-157, H-HTTP-159
#[tokio::test]
async fn an_event_stream_can_be_asked_for_again() {
    let served = Served::new().await;
    let session = Raw::connect(served.address).await.initialize("2025-06-18").await;
    let mut first = Raw::connect(served.address).await;
    first.send(listen(&session, "")).await;
    assert!(first.head().await.starts_with("HTTP/1.1 200 "));
    let mut second = Raw::connect(served.address).await;
    second.send(listen(&session, "")).await;
    assert_eq!(second.answer().await.status(), "409");
    drop(first);
    loop {
        // Repeats until the server has seen the end of the first stream.
        second.send(listen(&session, "")).await;
        let head = second.head().await;
        if head.starts_with("HTTP/1.1 200 ") {
            break;
        }
        assert!(head.starts_with("HTTP/1.1 409 "), "{head}");
        second = Raw::connect(served.address).await;
    }
    let mut raw = Raw::connect(served.address).await;
    raw.send(legacy(&session, 1, "change", "")).await;
    assert_eq!(text_of(&raw.answer().await.json()), "changed");
    let event = second.chunk().await;
    assert!(event.contains("notifications/tools/list_changed"), "{event}");
}

/// Proves H-HTTP-172
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_ends_with_everything_in_it() {
    let mut served = Served::new().await;
    let mut raw = Raw::connect(served.address).await;
    let session = raw.initialize("2025-06-18").await;
    let mut events = Raw::connect(served.address).await;
    events.send(listen(&session, "")).await;
    events.head().await;
    let mut call = Raw::connect(served.address).await;
    call.send(legacy(&session, 1, "wait", "1")).await;
    assert_eq!(served.log.next().await, "waiting 1");
    raw.send(listen(&session, "").replace("GET", "DELETE")).await;
    assert_eq!(raw.answer().await.status(), "200");
    assert_eq!(served.log.next().await, "cancelled 1");
    assert_eq!(events.chunk().await, "");
    assert_eq!(call.answer().await.status(), "404");
    raw.send(legacy(&session, 2, "echo", "")).await;
    assert_eq!(raw.answer().await.status(), "404");
    assert_eq!(served.endpoint.sessions(), 0);
}

/// Clients that connect, send a slow request and disconnect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_disconnects_leaves_nothing() {
    const CLIENTS: usize = 500;
    let mut served = Served::new().await;
    let mut clients = Vec::new();
    for id in 0..u32::try_from(CLIENTS).unwrap() {
        let mut raw = Raw::connect(served.address).await;
        raw.send(modern(id, "wait", "")).await;
        clients.push(raw);
    }
    assert_eq!(served.log.sorted(CLIENTS).await, ["waiting "; CLIENTS]);
    assert_eq!(served.endpoint.open_requests(), CLIENTS);
    drop(clients);
    assert_eq!(served.log.sorted(CLIENTS).await, ["cancelled "; CLIENTS]);
    served.is_quiet().await;
    assert!(served.log.is_silent());
    let mut raw = Raw::connect(served.address).await;
    raw.send(modern(1, "echo", "afterwards")).await;
    assert_eq!(text_of(&raw.answer().await.json()), "afterwards");
}

/// A reset HTTP/2 stream is a client that has disconnected; the other streams of its connection stay open.
///
/// Proves H-HTTP-118
#[tokio::test]
async fn to_reset_a_stream_is_to_cancel() {
    let mut served = Served::new().await;
    let client = http2();
    let lasting = tokio::spawn(client.request(request(&served, modern(1, "gate", "lasting"))));
    assert_eq!(served.log.next().await, "at the gate lasting");
    for id in 2..20 {
        let going = tokio::spawn(client.request(request(&served, modern(id, "wait", "going"))));
        assert_eq!(served.log.next().await, "waiting going");
        going.abort();
        assert_eq!(served.log.next().await, "cancelled going");
    }
    assert_eq!(served.endpoint.open_requests(), 1);
    served.script.gate.add_permits(1);
    assert_eq!(soon(lasting).await.unwrap().unwrap().status(), 200);
    assert_eq!(served.log.next().await, "through lasting");
    served.is_quiet().await;
}

/// Messages that are sent while no client reads are delivered when a client resumes; the latest resumption gets them.
///
/// Proves H-HR-08, H-HR-09
#[tokio::test]
async fn a_stream_goes_on_where_it_broke_off() {
    let mut options = EndpointOptions::new();
    options.http.responses = ResponseMode::EventStream;
    let mut served = Served::with(server_config(), options, Duration::ZERO).await;
    let session = Raw::connect(served.address).await.initialize_streaming("2025-11-25").await;
    let mut raw = Raw::connect(served.address).await;
    raw.send(legacy(&session, 1, "gate", "1")).await;
    raw.head().await;
    let primed = raw.chunk().await;
    let id = primed.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    assert_eq!(served.log.next().await, "at the gate 1");
    let resume = listen(&session, &format!("Last-Event-ID: {id}\r\n"));
    // The first connection is half dead when the second one resumes, and the second one is dropped as well.
    let mut second = Raw::connect(served.address).await;
    second.send(&resume).await;
    second.head().await;
    assert_eq!(raw.chunk().await, "");
    drop((raw, second));
    served.script.gate.add_permits(1);
    assert_eq!(served.log.next().await, "through 1");
    for _ in 0..2 {
        // A client can resume any number of times with the same event id.
        let mut third = Raw::connect(served.address).await;
        third.send(&resume).await;
        assert!(third.head().await.starts_with("HTTP/1.1 200 "));
        let event = third.chunk().await;
        assert!(event.starts_with("id: ") && event.contains("through 1"), "{event}");
        assert_eq!(third.chunk().await, "");
    }
    assert!(served.log.is_silent());
}

/// A session of another principal is reported as missing.
///
/// Proves H-HTTP-174
#[tokio::test]
async fn a_session_is_its_owners() {
    let served = Served::new().await;
    let session = Raw::connect(served.address).await.initialize("2025-06-18").await;
    let stranger = Principal::new(7);
    for text in [
        legacy(&session, 1, "echo", ""),
        listen(&session, ""),
        listen(&session, "").replace("GET", "DELETE"),
    ] {
        let answer = served.endpoint.handle_as(stranger, request(&served, text)).await;
        assert_eq!(answer.status(), 404);
    }
    assert_eq!(served.endpoint.sessions(), 1);
}
