//! Batches that are refused, and messages that are refused inside a batch.

use std::time::Duration;

use mcp_sansio::config::Relay;
use mcp_sansio::error::{BatchError, NotAllowed, ViolationKind};
use mcp_sansio::json::Raw;
use mcp_sansio::model::ResourceUpdatedParams;
use mcp_sansio::model::method::{Empty, Ping, ResourceUpdated, ResourcesChanged};
use mcp_sansio::schema::EncodeError;
use mcp_sansio::subscription::Delivery;
use mcp_sansio::{
    CallError, CallOptions, Cause, Frame, Frames, Framing, Limits, Outbox, Revision, ServerEvent,
};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

const BATCHED: Revision = Revision::V2025_03_26;

fn ping(id: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)
}

fn pong(id: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

/// An array with more elements than the limit is one violation: no element is read.
#[test]
fn a_batch_with_too_many_elements_is_refused_as_a_whole() {
    let mut config = config::server();
    config.connection.limits.batch_elements = 2;
    let limits = config.connection.limits.clone();
    let mut side = ServerSide::ready_with(config, BATCHED);
    for (count, expected) in [(2, None), (3, Some(ViolationKind::LongBatch))] {
        let batch = format!("[{}]", (0..count).map(ping).collect::<Vec<_>>().join(","));
        let events: Vec<_> = Frames::of(batch.as_bytes(), &limits)
            .filter_map(|frame| side.server.receive(frame, side.now, &mut side.out))
            .map(ServerEvent::into_owned)
            .collect();
        let kinds: Vec<_> = events
            .iter()
            .map(|event| match event {
                ServerEvent::Violation(violation) => (violation.kind, violation.answered),
                other => panic!("no violation: {other:?}"),
            })
            .collect();
        assert_eq!(kinds, expected.map(|kind| (kind, false)).as_slice(), "{count}");
        let pongs =
            if count == 2 { vec![format!("[{},{}]", pong(0), pong(1))] } else { Vec::new() };
        assert_eq!(side.sent(), pongs, "{count}");
    }
    assert_eq!(side.receive(&ping(7)), None);
    assert_eq!(side.sent(), [pong(7)]);
}

/// A batch needs an open session of the revision that has batches.
#[test]
fn a_batch_is_made_only_in_an_open_session() {
    let make = |side: &mut ClientSide| {
        side.client.batch(side.now, &mut side.out, |batch| {
            batch.call_method("x/a", &(), CallOptions::new())?;
            Ok::<_, BatchError>(())
        })
    };
    let mut side = ClientSide::fresh();
    assert_eq!(make(&mut side), Err(BatchError::NotReady));
    side.client.connect(side.now, &mut side.out).unwrap();
    assert_eq!(make(&mut side), Err(BatchError::NotReady));
    let mut side = ClientSide::ready(BATCHED);
    side.client.disconnected(Cause::EndOfInput, side.now);
    assert_eq!(make(&mut side), Err(BatchError::NotReady));
    for revision in Revision::LEGACY.into_iter().filter(|revision| *revision != BATCHED) {
        let mut side = ClientSide::ready(revision);
        assert_eq!(make(&mut side), Err(BatchError::NotInRevision), "{revision}");
        assert_eq!(side.sent(), [""; 0]);
    }
}

/// A batch that its outbox cannot hold is not sent, and its calls were never made.
#[test]
fn a_batch_without_room_is_not_sent() {
    let mut side = ClientSide::ready(BATCHED);
    let mut limits = side.client.config().connection.limits.clone();
    limits.outbox_bytes = 60;
    let roomy = std::mem::replace(&mut side.out, Outbox::new(Framing::Messages, &limits));
    let made = side.client.batch(side.now, &mut side.out, |batch| {
        batch.call_method("x/a", &(), CallOptions::new())?;
        batch.call_method("x/b", &(), CallOptions::new())?;
        Ok::<_, BatchError>(())
    });
    assert_eq!(made, Err(BatchError::Encode(EncodeError::Full)));
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(side.client.in_flight().counts().outbound, 0);
    side.out = roomy;
    assert_eq!(side.outcomes(), []);
}

/// The machine answers every request of a batch: what finds no room among the answers of its batch is sent alone.
#[test]
fn a_refusal_without_room_in_its_batch_is_sent_alone() {
    let mut config = config::server();
    let limits = &mut config.connection.limits;
    (limits.outbox_bytes, limits.reserve_bytes, limits.batches) = (1_000, 1_000, 0);
    let limits = limits.clone();
    let mut side = ServerSide::ready_with(config, BATCHED);
    let request = |id: usize| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x"}}"#);
    let batch = format!("[{}]", (10..40).map(request).collect::<Vec<_>>().join(","));
    let (mut sent, mut refused) = (Vec::new(), 0);
    for frame in Frames::of(batch.as_bytes(), &limits) {
        match side.server.receive(frame, side.now, &mut side.out) {
            Some(ServerEvent::Violation(violation)) if violation.answered => refused += 1,
            other => panic!("{other:?}"),
        }
        sent.extend(side.sent());
    }
    let together = sent.iter().filter(|message| message.starts_with('[')).count();
    let lengths: Vec<usize> = sent.iter().map(String::len).collect();
    assert!(together == 1 && 5 < sent.len(), "{lengths:?}");
    let answered = |id: usize| sent.iter().any(|text| text.contains(&format!(r#""id":{id},"#)));
    assert!(refused == 30 && (10..40).all(answered), "{sent:?}");
    // A ping is answered as well.
    let filler = (10..40).map(request).collect::<Vec<_>>().join(",");
    for frame in Frames::of(format!("[{filler},{}]", ping(7)).as_bytes(), &limits) {
        _ = side.server.receive(frame, side.now, &mut side.out);
        sent.extend(side.sent());
    }
    assert!(sent.contains(&pong(7)), "{sent:?}");
}

/// The typed methods of a batch add the same messages as the methods by name.
#[test]
fn typed_messages_of_a_batch_are_checked_and_written() {
    let mut side = ServerSide::ready(BATCHED);
    let updated = ResourceUpdatedParams::new("file:///a");
    let deliveries = side.server.batch(side.now, &mut side.out, |batch| {
        batch.call::<Ping>(&Empty::default(), CallOptions::new())?;
        // The client is not subscribed to the resource, so this notification stays out.
        let updated = batch.notify::<ResourceUpdated>(&updated)?;
        let changed = batch.notify::<ResourcesChanged>(&Empty::default())?;
        Ok::<_, BatchError>([updated, changed])
    });
    assert_eq!(deliveries, Ok([Delivery::NotWanted, Delivery::Sent]));
    assert_eq!(
        side.sent(),
        [
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping","params":{}},{"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{}}]"#
        ]
    );
    let subscribe =
        r#"{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"file:///a"}}"#;
    let id = side.request(subscribe);
    side.respond(id, "{}");
    _ = side.sent();
    let delivery = side.server.batch(side.now, &mut side.out, |batch| {
        Ok::<_, BatchError>(batch.notify::<ResourceUpdated>(&updated)?)
    });
    assert_eq!(delivery, Ok(Delivery::Sent));
    assert_eq!(
        side.sent(),
        [
            r#"[{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}]"#
        ]
    );
}

/// A relayed notification is sent in a batch as it is outside of one.
#[test]
fn a_relayed_notification_of_a_batch_needs_no_subscription() {
    let mut config = config::server();
    config.connection.relay = Relay::Methods(vec!["notifications/resources/updated".into()]);
    let mut side = ServerSide::ready_with(config, BATCHED);
    let updated = ResourceUpdatedParams::new("file:///a");
    let alone = side.server.notify::<ResourceUpdated>(&updated, None, &mut side.out);
    let delivery = side.server.batch(side.now, &mut side.out, |batch| {
        Ok::<_, BatchError>(batch.notify::<ResourceUpdated>(&updated)?)
    });
    assert_eq!((alone, delivery), (Ok(Delivery::Sent), Ok(Delivery::Sent)));
    let sent = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}"#;
    assert_eq!(side.sent(), [sent.to_owned(), format!("[{sent}]")]);
}

/// A message that is not allowed outside a batch is not allowed inside one. The batch is not sent.
#[test]
fn messages_of_a_batch_need_the_same_permission() {
    let mut side = ClientSide::ready_with(config::bare_client(), BATCHED);
    let params = Raw::new("{}").unwrap();
    let made = side.client.batch(side.now, &mut side.out, |batch| {
        batch.call_method("x/a", &(), CallOptions::new())?;
        batch.call_method("sampling/createMessage", &params, CallOptions::new())?;
        Ok::<_, BatchError>(())
    });
    assert_eq!(made, Err(BatchError::Call(CallError::NotAllowed(NotAllowed::Direction))));
    let made = side.client.batch(side.now, &mut side.out, |batch| {
        batch.call_method("x/a", &(), CallOptions::new())?;
        batch.notify_method("notifications/resources/updated", &params)?;
        Ok::<_, BatchError>(())
    });
    assert_eq!(made, Err(BatchError::Notify(NotAllowed::Direction.into())));
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(side.client.in_flight().counts().outbound, 0);
}

/// A server that shuts down in the middle of a batch sends the responses that wait for the rest of the batch.
#[test]
fn responses_of_an_unfinished_batch_are_sent_at_the_end() {
    let mut side = ServerSide::ready(BATCHED);
    let batch = format!("[{},{}]", ping(7), ping(8));
    let first = Frames::of(batch.as_bytes(), &Limits::default()).next().unwrap();
    assert_eq!(side.server.receive(first, side.now, &mut side.out), None);
    assert_eq!(side.sent(), [""; 0]);
    side.server.shut_down(Duration::from_secs(1), side.now);
    let events = side.outcomes();
    let closed = ServerEvent::Closed { cause: Cause::ShutDown };
    assert_eq!(events.last(), Some(&closed), "{events:?}");
    assert_eq!(side.sent(), [format!("[{}]", pong(7))]);
}

/// The responses to a batch count as kept bytes until the batch is sent.
#[test]
fn waiting_responses_are_kept_bytes() {
    let mut side = ServerSide::ready(BATCHED);
    let work = r#"{"jsonrpc":"2.0","id":8,"method":"x/work"}"#;
    let batch = format!("[{},{work}]", ping(7));
    let mut requests = Vec::new();
    for frame in Frames::of(batch.as_bytes(), &Limits::default()) {
        match side.server.receive(frame, side.now, &mut side.out) {
            Some(ServerEvent::Request(request)) => requests.push(request.id),
            event => assert_eq!(event, None),
        }
    }
    let kept = side.server.in_flight().counts().kept_bytes;
    assert!(2 * work.len() + pong(7).len() <= kept, "{kept}");
    for request in requests {
        side.respond(request, "{}");
    }
    assert_eq!(side.sent(), [format!("[{},{}]", pong(7), pong(8))]);
    assert_eq!(side.server.in_flight().counts().kept_bytes, 0);
}

/// A driver that waits for room learns whether the first element of a batch would be admitted.
#[test]
fn only_the_first_element_of_a_batch_needs_room_among_the_batches() {
    let mut config = config::server();
    config.connection.limits.batches = 1;
    let mut side = ServerSide::ready_with(config, BATCHED);
    let limits = Limits::default();
    let work = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x/work"}}"#);
    let has_room =
        |side: &ServerSide, frame: &Frame<'_>| side.server.in_flight().has_room_for(frame, 0);
    side.request(&work(1));
    let batch = format!("[{},{}]", work(2), work(3));
    let single = work(4);
    for frame in Frames::of(batch.as_bytes(), &limits) {
        assert!(has_room(&side, &frame), "{frame:?}");
        let event = side.server.receive(frame, side.now, &mut side.out);
        assert!(matches!(event, Some(ServerEvent::Request(_))), "{event:?}");
    }
    let next = format!("[{}]", work(5));
    let first = Frames::of(next.as_bytes(), &limits).next().unwrap();
    assert!(!has_room(&side, &first), "another batch waits for its responses");
    assert!(has_room(&side, &Frame::from(&single)), "it is no batch");
}

/// The elements of a refused batch are one violation together, so they do not end a row of violations.
#[test]
fn the_elements_of_a_refused_batch_do_not_end_a_row_of_violations() {
    let mut config = config::server();
    config.connection.limits.violations_in_a_row = 1;
    let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
    let batch = format!("[{},{},{}]", ping(1), ping(2), ping(3));
    let mut kinds = Vec::new();
    for _ in 0..2 {
        for frame in Frames::of(batch.as_bytes(), &Limits::default()) {
            match side.server.receive(frame, side.now, &mut side.out) {
                Some(ServerEvent::Violation(violation)) => kinds.push(violation.kind),
                event => assert_eq!(event, None),
            }
        }
    }
    assert_eq!(kinds, [ViolationKind::BatchNotAllowed]);
    assert_eq!(side.server.in_flight().counts().violations, 2);
}
