//! Messages held until the handshake is complete: bounded, in order, on the right route, and never lost.

use std::time::Duration;

use mcp_sansio::config::Relay;
use mcp_sansio::error::NotifyError;
use mcp_sansio::event::UnmatchedCause;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{ElicitParams, LoggingLevel, method};
use mcp_sansio::subscription::{Delivery, Log};
use mcp_sansio::{
    CallError, CallOptions, ClientEvent, Outbox, Outboxes, Outcome, Phase, Revision, Route,
    ServerEvent,
};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

/// The result of the first call. Earlier held calls have lower ids.
const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{},"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}"#;

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Held messages have a limit of their own, so they are sent completely and in order, for any content of the outbox.
#[test]
fn held_messages_are_sent_in_order_after_the_handshake() {
    let mut config = config::client();
    config.connection.limits.outbox_bytes = 600;
    let mut side = ClientSide::with(config);
    let big = "x".repeat(2000);
    let params = serde_json::json!({"big": big});
    side.client.notify_method("x/big", &params, None, &mut side.out).unwrap();
    for _ in 0..20 {
        side.call("x/call");
    }
    side.client.connect(side.now, &mut side.out).unwrap();
    assert_eq!(side.sent().len(), 1);
    let result = RESULT.replace("\"id\":1", "\"id\":21");
    assert!(matches!(side.receive(&result), Some(ClientEvent::Connected(_))));
    assert_eq!(side.client.in_flight().counts().held_bytes, 0);
    let sent = side.sent();
    let methods: Vec<&str> = sent.iter().map(|message| method_of(message)).collect();
    assert_eq!(methods[..2], ["notifications/initialized", "x/big"]);
    assert_eq!(methods[2..], ["x/call"; 20]);
    // From here on the usual limit applies.
    assert!(side.client.notify_method("x/big", &params, None, &mut side.out).is_err());
}

fn method_of(message: &str) -> &str {
    message.split("\"method\":\"").nth(1).unwrap().split('"').next().unwrap()
}

/// A visit to a URL that is requested before the client is ready is requested afterwards.
///
/// Proves L-LIFE-08.
#[test]
fn a_visit_can_be_requested_before_the_client_is_ready() {
    let mut side = ServerSide::with(config::server());
    let initialize = INITIALIZE.replace(r#""sampling":{}"#, r#""elicitation":{"url":{}}"#);
    assert!(matches!(side.receive(&initialize), Some(ServerEvent::Opened(_))));
    _ = side.sent();
    let params = ElicitParams::url("m", "https://x/", "e");
    let (now, options) = (side.now, CallOptions::new());
    side.server.call::<method::Elicit>(&params, options, now, &mut side.out).unwrap();
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(side.receive(INITIALIZED), Some(ServerEvent::Ready));
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://x/","elicitationId":"e"}}"#
        ]
    );
    let completed = side.server.notifications().elicitation_complete("e", &mut side.out);
    assert_eq!(completed, Ok(Delivery::Sent));
}

#[test]
fn messages_held_before_the_handshake_are_bounded() {
    let mut config = config::client();
    config.connection.limits.held_bytes = 100;
    let mut side = ClientSide::with(config);
    side.call("x/call");
    side.call("x/call");
    let options = CallOptions::new();
    let third = side.client.call_method("x/call", &(), options, side.now, &mut side.out);
    assert!(matches!(third, Err(CallError::Encode(_))));
    assert_eq!(side.client.in_flight().counts().outbound, 2);
}

/// A session that ends before it opens sends none of the held messages, and reports this at once.
#[test]
fn shutdown_before_the_session_discards_held_messages() {
    for connected in [false, true] {
        let mut side = ClientSide::fresh();
        let call = side.call("x/call");
        side.client.notify_method("x/note", &(), None, &mut side.out).unwrap();
        if connected {
            side.client.connect(side.now, &mut side.out).unwrap();
        }
        _ = side.sent();
        side.client.shut_down(Duration::from_secs(5), side.now);
        let events = side.outcomes();
        let unsent = |event: &ClientEvent<'_>| {
            matches!(event, ClientEvent::CallEnded(ended)
                if ended.call == call && ended.outcome == Outcome::NotSent)
        };
        assert!(matches!(&events[0], ClientEvent::Draining { .. }), "{events:?}");
        assert!(unsent(&events[1]), "{events:?}");
        assert_eq!(side.client.in_flight().counts().held_bytes, 0);
        let late = side.client.notify_method("x/note", &(), None, &mut side.out);
        assert_eq!(late, Err(NotifyError::Closed));
        assert_eq!(side.sent(), [""; 0]);
    }
}

/// The same for a server: no message may precede the result of `initialize`.
#[test]
fn a_server_that_shuts_down_early_sends_nothing() {
    let mut side = ServerSide::fresh();
    let method = "notifications/tools/list_changed";
    side.server.notify_method(method, &(), None, &mut side.out).unwrap();
    side.server.shut_down(Duration::from_secs(5), side.now);
    let late = side.server.notify_method(method, &(), None, &mut side.out);
    assert_eq!(late, Err(NotifyError::Closed));
    assert_eq!(side.outcomes().len(), 2, "draining, closed");
    assert_eq!((side.server.phase(), side.sent().len()), (Phase::Closed, 0));
    // In a session that is not ready, messages related to a request may still be sent.
    let mut side = ServerSide::fresh();
    assert!(matches!(side.receive(INITIALIZE), Some(ServerEvent::Opened(_))));
    let request = side.request(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    _ = side.sent();
    side.server.shut_down(Duration::from_secs(5), side.now);
    let log = serde_json::json!({"level": "info", "data": 1});
    let related = Some(request);
    side.server.notify_method("notifications/message", &log, related, &mut side.out).unwrap();
    let late = side.server.notify_method(method, &(), None, &mut side.out);
    assert_eq!(late, Err(NotifyError::Closed));
    assert_eq!(side.sent().len(), 1);
}

/// A response to a held call is unmatched.
#[test]
fn a_call_that_is_held_cannot_be_answered() {
    let mut side = ServerSide::fresh();
    let call = side.call("roots/list");
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#;
    let event = side.receive(answer);
    let Some(ServerEvent::UnmatchedResponse(unmatched)) = event else { panic!("{event:?}") };
    assert_eq!(unmatched.cause, UnmatchedCause::NeverIssued);
    assert!(side.server.in_flight().is_pending(call));
    assert!(matches!(side.receive(INITIALIZE), Some(ServerEvent::Opened(_))));
    assert_eq!(side.receive(INITIALIZED), Some(ServerEvent::Ready));
    assert_eq!(method_of(&side.sent()[1]), "roots/list");
    assert!(matches!(side.receive(answer), Some(ServerEvent::CallEnded(_))));
}

/// A held message that belongs to a request keeps the route of that request.
#[test]
fn a_held_notification_keeps_its_route() {
    struct Routes {
        exchanges: Outbox,
        others: Outbox,
    }
    impl Outboxes for Routes {
        fn outbox(&mut self, route: Route) -> &mut Outbox {
            match route {
                Route::Exchange(_) => &mut self.exchanges,
                _ => &mut self.others,
            }
        }
    }
    let mut side = ServerSide::fresh();
    assert!(matches!(side.receive(INITIALIZE), Some(ServerEvent::Opened(_))));
    let request = side.request(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let empty = side.out.clone();
    let mut routes = Routes { exchanges: empty.clone(), others: empty };
    routes.exchanges.sent(usize::MAX);
    routes.others.sent(usize::MAX);
    side.server.notify_method("x/note", &(), Some(request), &mut routes).unwrap();
    let options = CallOptions::new().parent(request);
    side.server.call_method("x/call", &(), options, side.now, &mut routes).unwrap();
    side.server.notify_method("x/other", &(), None, &mut routes).unwrap();
    assert_eq!(side.server.receive(INITIALIZED, side.now, &mut routes), Some(ServerEvent::Ready));
    assert_eq!(routes.exchanges.messages().count(), 2);
    assert_eq!(routes.others.messages().count(), 1);
}

#[test]
fn a_held_call_times_out_and_is_never_sent() {
    let mut side = ClientSide::fresh();
    let first = side.call("x/one");
    side.now = side.now + Duration::from_secs(1);
    side.call("x/two");
    let events = side.elapse(59_000);
    let [ClientEvent::CallEnded(ended)] = &events[..] else { panic!("{events:?}") };
    assert_eq!(ended.call, first);
    side.client.connect(side.now, &mut side.out).unwrap();
    _ = side.sent();
    let result = RESULT.replace("\"id\":1", "\"id\":3");
    assert!(matches!(side.receive(&result), Some(ClientEvent::Connected(_))));
    assert_eq!(side.client.revision(), Some(Revision::V2025_11_25));
    let sent = side.sent();
    assert_eq!(
        sent.iter().map(|message| method_of(message)).collect::<Vec<_>>(),
        ["notifications/initialized", "x/two"]
    );
}

/// A relayed notification needs no subscription, whether it is held or not.
#[test]
fn a_held_notification_that_is_relayed_needs_no_subscription() {
    const METHOD: &str = "notifications/resources/updated";
    let params = Raw::new(r#"{"uri":"file:///a"}"#).unwrap();
    for (relay, is_relayed) in
        [(Relay::Nothing, false), (Relay::Methods(vec![METHOD.into()]), true)]
    {
        let mut config = config::server();
        config.connection.relay = relay;
        let mut side = ServerSide::with(config);
        let held = side.server.notify_method(METHOD, &params, None, &mut side.out);
        assert_eq!(held, Ok(Delivery::Held));
        assert!(matches!(side.receive(INITIALIZE), Some(ServerEvent::Opened(_))));
        assert_eq!(side.sent().len(), 1);
        assert_eq!(side.receive(INITIALIZED), Some(ServerEvent::Ready));
        let updated = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}"#;
        assert_eq!(side.sent(), vec![updated; usize::from(is_relayed)]);
    }
}

/// The level of a held log message is compared when the message is sent.
///
/// Proves L-LOG-04.
#[test]
fn a_held_log_message_is_compared_with_the_latest_level() {
    let info = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"d"}}"#;
    for (level, is_sent) in [("error", false), ("info", true)] {
        let mut side = ServerSide::fresh();
        let log = Log::new(LoggingLevel::Info, "d");
        let held = side.server.notifications().log(&log, &mut side.out);
        assert_eq!(held, Ok(Delivery::Held));
        assert!(matches!(side.receive(INITIALIZE), Some(ServerEvent::Opened(_))));
        let set = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{{"level":"{level}"}}}}"#
        );
        let request = side.request(&set);
        side.respond(request, "{}");
        side.sent();
        assert_eq!(side.receive(INITIALIZED), Some(ServerEvent::Ready));
        assert_eq!(side.sent(), vec![info; usize::from(is_sent)]);
    }
}

/// A held change of a part of a resource is sent only if the client is still subscribed to the resource. It names the
/// resource then.
///
/// Proves L-RES-10.
#[test]
fn a_held_change_of_a_part_ends_with_its_subscription() {
    let of = |id: u8, method: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/{method}","params":{{"uri":"a:b"}}}}"#
        )
    };
    for is_unsubscribed in [false, true] {
        let mut side = ServerSide::fresh();
        assert!(matches!(side.receive(INITIALIZE), Some(ServerEvent::Opened(_))));
        let request = side.request(&of(1, "subscribe"));
        side.respond(request, "{}");
        let below =
            side.server.notifications().resource_updated_below("a:b", "a:b/c", &mut side.out);
        assert_eq!(below, Ok(Delivery::Held));
        if is_unsubscribed {
            let request = side.request(&of(2, "unsubscribe"));
            side.respond(request, "{}");
        }
        side.sent();
        assert_eq!(side.receive(INITIALIZED), Some(ServerEvent::Ready));
        let updated = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b"}}"#;
        assert_eq!(side.sent(), vec![updated; usize::from(!is_unsubscribed)]);
    }
}

/// Log messages do not wait for the handshake, but those that were held before are sent before later ones.
#[test]
fn a_log_message_does_not_overtake_an_earlier_one() {
    let message = |data: u8| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":{data}}}}}"#
        )
    };
    let log = |side: &mut ServerSide, data: u8| {
        let log = Log::new(LoggingLevel::Info, &data);
        side.server.notifications().log(&log, &mut side.out).unwrap()
    };
    let mut side = ServerSide::fresh();
    assert_eq!(log(&mut side, 1), Delivery::Held);
    assert!(matches!(side.receive(INITIALIZE), Some(ServerEvent::Opened(_))));
    side.sent();
    assert_eq!(log(&mut side, 2), Delivery::Held);
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(side.receive(INITIALIZED), Some(ServerEvent::Ready));
    assert_eq!(log(&mut side, 3), Delivery::Sent);
    assert_eq!(side.sent(), [1, 2, 3].map(message));
}
