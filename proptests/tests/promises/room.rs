//! Requests without room can wait in the inbox.

use mcp_sansio::{Frame, Inbox, Limits, Revision, ServerEvent};
use mcp_sansio_proptests::{ServerSide, config};

/// If a driver leaves requests without room in its inbox, none is refused, except a request that never fits.
#[test]
fn requests_without_room_can_wait_in_the_inbox() {
    let mut config = config::server();
    config.connection.limits.connection_bytes = 1_000;
    config.connection.limits.inbound_requests = 3;
    let mut side = ServerSide::ready_with(config, Revision::V2025_06_18);
    let request = |id: u32, bytes: usize| {
        let text = "x".repeat(bytes);
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x/work","params":{{"a":"{text}"}}}}"#)
    };
    let has_room = |side: &ServerSide, text: &str, unsent| {
        side.server.in_flight().has_room_for(&Frame::from(text), unsent)
    };
    let (small, large, endless) = (request(9, 10), request(9, 300), request(9, 1_000));
    assert!(has_room(&side, &endless, 0), "to wait does not help");
    assert!(!has_room(&side, &endless, 1));
    let first = side.request(&request(1, 100));
    assert!(has_room(&side, &small, 0) && !has_room(&side, &large, 0));
    assert!(!has_room(&side, &small, 600), "what has not been sent counts");
    side.request(&request(2, 10));
    side.request(&request(3, 10));
    assert!(!has_room(&side, &small, 0), "there are enough requests");
    side.respond(first, "{}");
    assert!(has_room(&side, &small, 0));
    side.request(&request(4, 10));
}

/// Only requests, and batches with requests, need room: a driver passes on everything else at once.
#[test]
fn only_requests_need_room() {
    let side = ServerSide::ready(Revision::V2025_06_18);
    let needs_room = |text: &str| side.server.in_flight().needs_room(&Frame::from(text));
    assert!(needs_room(r#"{"jsonrpc":"2.0","id":1,"method":"x/work"}"#));
    assert!(needs_room(r#"{"params":{"a":[1]},"method":"ping","id":"a","jsonrpc":"2.0"}"#));
    for other in [
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping""#,
        "",
    ] {
        assert!(!needs_room(other), "{other}");
    }
}

/// A driver that holds requests back finds the one that a cancellation names. The machine knows those in flight.
#[test]
fn the_cancellation_of_a_request_that_waits_has_its_id() {
    let mut side = ServerSide::ready(Revision::V2025_06_18);
    let request = |id: &str| format!(r#"{{"id":{id},"jsonrpc":"2.0","method":"x/work"}}"#);
    let named = |id: &str| {
        let params = format!(r#"{{"reason":"late","requestId":{id}}}"#);
        format!(r#"{{"jsonrpc":"2.0","params":{params},"method":"notifications/cancelled"}}"#)
    };
    let (a, a_escaped) = (request(r#""a""#), named(r#""\u0061""#));
    let id = side.server.in_flight().request_id(&Frame::from(&*a)).unwrap();
    assert_eq!(id.as_wire(), r#""a""#);
    assert_eq!(side.server.in_flight().request_id(&Frame::from(&*a_escaped)), None);
    let cancelled = |side: &ServerSide, text: &str| {
        let id = side.server.in_flight().cancelled_before_receipt(&Frame::from(text));
        id.map(|id| id.into_owned())
    };
    assert_eq!(cancelled(&side, &a_escaped), Some(id.into_owned()), "ids are compared decoded");
    side.request(&a);
    assert_eq!(cancelled(&side, &a_escaped), None, "it is in flight");
    assert!(cancelled(&side, &named("1")).is_some());
    for other in [
        named("null"),
        named("1.5"),
        named("[]"),
        request("1"),
        named("1").replace("cancelled", "progress"),
        named("1").replace("requestId", "request"),
        named("1").replace("\"2.0\"", "2"),
        named("1").replace(r#""jsonrpc""#, r#""id":7,"jsonrpc""#),
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#.into(),
        String::new(),
    ] {
        assert_eq!(cancelled(&side, &other), None, "{other}");
    }
}

/// A batch beyond the limit of batches needs room, unless it begins with a response.
#[test]
fn a_batch_beyond_the_limit_needs_room() {
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"x/work"}"#;
    let response = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    for batches in [0, 1] {
        let mut config = config::server();
        config.connection.limits.batches = batches;
        let side = ServerSide::ready_with(config, Revision::V2025_03_26);
        let first_needs_room = |batch: &str| {
            let mut inbox = Inbox::new(&Limits::default());
            _ = inbox.feed(batch.as_bytes());
            inbox.peek().map(|frame| side.server.in_flight().needs_room(&frame))
        };
        let is_full = Some(batches == 0);
        assert_eq!(first_needs_room(&format!("[{notification},{request}]\n")), is_full);
        assert_eq!(first_needs_room(&format!("[1,{request}]\n")), is_full);
        assert_eq!(first_needs_room(&format!("[{request},{notification}]\n")), Some(true));
        assert_eq!(first_needs_room(&format!("[{response},{response}]\n")), Some(false));
    }
}

/// A batch without room is not refused either if the driver waits.
#[test]
fn a_batch_can_wait() {
    let mut config = config::server();
    config.connection.limits.batches = 1;
    let mut side = ServerSide::ready_with(config, Revision::V2025_03_26);
    let batch = |id: u32| {
        format!(
            "[{},{}]\n",
            format_args!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x/work"}}"#),
            format_args!(r#"{{"jsonrpc":"2.0","id":"p{id}","method":"ping"}}"#)
        )
    };
    let mut inbox = Inbox::new(&Limits::default());
    _ = inbox.feed((batch(1) + &batch(2)).as_bytes());
    let mut requests = Vec::new();
    let mut take = |side: &mut ServerSide| {
        while inbox.peek().is_some_and(|frame| side.server.in_flight().has_room_for(&frame, 0)) {
            let Some(frame) = inbox.next() else { break };
            match side.server.receive(frame, side.now, &mut side.out) {
                Some(ServerEvent::Request(request)) => requests.push(request.id),
                None => {}
                other => panic!("{other:?}"),
            }
        }
        requests.pop()
    };
    let first = take(&mut side).unwrap();
    assert_eq!(take(&mut side), None);
    side.respond(first, "{}");
    assert!(take(&mut side).is_some());
}
