//! Races between a client and a server on one wire, for messages of one role: the end of the handshake,
//! subscriptions, and log levels.

use mcp_sansio::model::LoggingLevel;
use mcp_sansio::subscription::{ChangedList, Delivery, Log};
use mcp_sansio::{CallOptions, ClientEvent, IncomingId, ServerEvent};
use mcp_sansio_proptests::{Pair, Seen, config, payload};

fn ready() -> Pair {
    mcp_sansio_proptests::ready(config::client(), config::server())
}

/// Calls a method from the client.
fn ask(pair: &mut Pair, method: &str) {
    let (params, options) = (payload::params(method), CallOptions::new());
    let Pair { client, client_out, now, .. } = pair;
    client.call_method(method, &params, options, *now, client_out).unwrap();
}

/// Delivers the output of the client, which must be one request.
#[track_caller]
fn asked(pair: &mut Pair) -> IncomingId {
    match &pair.to_server(usize::MAX)[..] {
        [Seen::Server(ServerEvent::Request(request))] => request.id,
        other => panic!("not one request: {other:?}"),
    }
}

fn grant(pair: &mut Pair, request: IncomingId) {
    pair.server.respond(request, &(), &mut pair.server_out).unwrap();
}

/// Delivers the output of the server. Returns a short name of each event of the client.
fn received_event_names(pair: &mut Pair) -> Vec<String> {
    let seen = pair.to_client(usize::MAX);
    let name = |seen: &Seen| match seen {
        Seen::Client(ClientEvent::Notification(notification)) => notification.method.to_string(),
        Seen::Client(ClientEvent::CallEnded(_)) => "ended".to_string(),
        other => panic!("neither a notification nor an end: {other:?}"),
    };
    seen.iter().map(name).collect()
}

fn update(pair: &mut Pair) -> Delivery {
    pair.server.notifications().resource_updated("x:y", &mut pair.server_out).unwrap()
}

const UPDATED: &str = "notifications/resources/updated";

/// Proves L-RACE-27, L-RES-12.
#[test]
fn an_update_and_the_end_of_its_subscription_cross() {
    let mut pair = ready();
    ask(&mut pair, "resources/subscribe");
    let request = asked(&mut pair);
    assert_eq!(update(&mut pair), Delivery::NotWanted, "it has not been granted");
    grant(&mut pair, request);
    assert_eq!(received_event_names(&mut pair), ["ended"]);

    // The update arrives first.
    ask(&mut pair, "resources/unsubscribe");
    assert_eq!(update(&mut pair), Delivery::Sent);
    assert_eq!(
        received_event_names(&mut pair),
        [UPDATED],
        "after it was asked to stop, and no fault"
    );
    // The end of the subscription arrives first.
    let request = asked(&mut pair);
    grant(&mut pair, request);
    assert_eq!(update(&mut pair), Delivery::NotWanted);
    assert_eq!(received_event_names(&mut pair), ["ended"]);
    assert_eq!(pair.client.in_flight().counts().violations, 0);
}

/// Proves L-RACE-28, L-LOG-04.
#[test]
fn a_log_message_and_a_level_cross() {
    let mut pair = ready();
    let log = |pair: &mut Pair| {
        let message = Log::new(LoggingLevel::Info, "m");
        pair.server.notifications().log(&message, &mut pair.server_out).unwrap()
    };
    let level = |pair: &mut Pair| {
        let params = serde_json::json!({ "level": "error" });
        let Pair { client, client_out, now, .. } = pair;
        let options = CallOptions::new();
        client.call_method("logging/setLevel", &params, options, *now, client_out).unwrap();
    };
    level(&mut pair);
    assert_eq!(log(&mut pair), Delivery::Sent, "the level has not arrived");
    assert_eq!(
        received_event_names(&mut pair),
        ["notifications/message"],
        "below the level, and no fault"
    );
    let request = asked(&mut pair);
    grant(&mut pair, request);
    assert_eq!(log(&mut pair), Delivery::NotWanted);
    assert_eq!(received_event_names(&mut pair), ["ended"]);
    assert_eq!(pair.client.in_flight().counts().violations, 0);
}

/// Proves L-RACE-17, L-RACE-18, L-RACE-20: messages of a server before `initialized` are held until it arrives, and
/// messages of a client are not.
#[test]
fn the_end_of_the_handshake_and_everything_else_cross() {
    let mut pair = Pair::new(config::client(), config::server());
    let Pair { client, client_out, now, .. } = &mut pair;
    client.connect(*now, client_out).unwrap();
    assert!(matches!(&pair.to_server(usize::MAX)[..], [Seen::Server(ServerEvent::Opened(_))]));
    let tools = ChangedList::Tools;
    let delivered = pair.server.notifications().list_changed(tools, &mut pair.server_out).unwrap();
    assert_eq!(delivered, Delivery::Held);
    let (params, options) = (payload::params("roots/list"), CallOptions::new());
    let Pair { server, server_out, now, .. } = &mut pair;
    server.call_method("roots/list", &params, options, *now, server_out).unwrap();
    let seen = pair.to_client(usize::MAX);
    assert!(matches!(&seen[..], [Seen::Client(ClientEvent::Connected(_))]), "{seen:?}");

    // `initialized` and a request are in flight. Only a part of them arrives.
    ask(&mut pair, "tools/list");
    assert_eq!(pair.to_server(1), []);
    assert_eq!(pair.to_client(usize::MAX), [], "all of it waits");
    let seen = pair.to_server(usize::MAX);
    assert!(
        matches!(
            &seen[..],
            [Seen::Server(ServerEvent::Ready), Seen::Server(ServerEvent::Request(_))]
        ),
        "{seen:?}"
    );
    let seen = pair.to_client(usize::MAX);
    assert!(
        matches!(
            &seen[..],
            [Seen::Client(ClientEvent::Notification(_)), Seen::Client(ClientEvent::Request(_))]
        ),
        "{seen:?}"
    );
}
