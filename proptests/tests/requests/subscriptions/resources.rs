//! Subscriptions to single resources.

use mcp_sansio::capability::Capability;
use mcp_sansio::error::{NotAllowed, NotifyError, ViolationKind};
use mcp_sansio::json::Raw;
use mcp_sansio::model::method::ResourceUpdated;
use mcp_sansio::model::{LoggingLevel, ResourceUpdatedParams, ResourcesCapability};
use mcp_sansio::schema::Json;
use mcp_sansio::subscription::{ChangedList, Delivery, Log};
use mcp_sansio::{ClientEvent, ClientRequest, ErrorCode, Outcome, Revision, ServerEvent};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const ANSWERED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
const REFUSED: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not available in this session"}}"#;

fn updated(uri: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"{uri}"}}}}"#
    )
}

fn initialize(revision: Revision) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    )
}

/// A request about a subscription, with the URI in wire form.
fn request(method: &str, uri: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"resources/{method}","params":{{"uri":"{uri}"}}}}"#
    )
}

/// Sends a request about a subscription and grants it.
#[track_caller]
fn grant(side: &mut ServerSide, method: &str, uri: &str) {
    let id = side.request(&request(method, uri));
    side.server.respond(id, &(), &mut side.out).unwrap();
    assert_eq!(side.sent(), [ANSWERED]);
}

fn subscriptions(side: &mut ServerSide) -> Vec<&str> {
    side.server.notifications().subscriptions().collect()
}

#[track_caller]
fn notify(side: &mut ServerSide, uri: &str) -> Delivery {
    side.server.notifications().resource_updated(uri, &mut side.out).unwrap()
}

fn not_declared(capability: Capability) -> NotifyError {
    NotifyError::NotAllowed(NotAllowed::Capability(capability))
}

/// Proves L-RES-01: `subscribe` and `listChanged` are declared and obeyed independently.
#[test]
fn a_server_offers_subscriptions_and_changes_independently() {
    let combinations = [
        (None, None, "{}"),
        (Some(true), None, r#"{"subscribe":true}"#),
        (None, Some(true), r#"{"listChanged":true}"#),
        (Some(true), Some(true), r#"{"subscribe":true,"listChanged":true}"#),
        (Some(false), Some(false), r#"{"subscribe":false,"listChanged":false}"#),
    ];
    for revision in Revision::LEGACY {
        for (subscribe, list_changed, declared) in combinations {
            let mut resources = ResourcesCapability::default();
            resources.subscribe = subscribe;
            resources.list_changed = list_changed;
            let mut config = config::bare_server();
            config.capabilities.resources = Some(resources);
            let mut side = ServerSide::with(config);
            assert!(matches!(side.receive(&initialize(revision)), Some(ServerEvent::Opened(_))));
            assert_eq!(
                side.sent(),
                [format!(
                    r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"{revision}","capabilities":{{"resources":{declared}}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
                )]
            );
            assert_eq!(side.receive(INITIALIZED), Some(ServerEvent::Ready));
            side.request(r#"{"jsonrpc":"2.0","id":2,"method":"resources/list"}"#);
            obeys(&mut side, subscribe == Some(true), list_changed == Some(true));
        }
    }
}

/// Asserts that a server offers exactly the declared features.
#[track_caller]
fn obeys(side: &mut ServerSide, subscribe: bool, list_changed: bool) {
    for method in ["subscribe", "unsubscribe"] {
        match side.receive(&request(method, "x:y")) {
            Some(ServerEvent::Request(request)) if subscribe => {
                side.server.respond(request.id, &(), &mut side.out).unwrap();
                assert_eq!(side.sent(), [ANSWERED]);
            }
            Some(ServerEvent::Violation(violation)) if !subscribe => {
                assert_eq!(violation.kind, ViolationKind::MethodNotAvailable);
                assert!(violation.answered);
                assert_eq!(side.sent(), [REFUSED]);
            }
            other => panic!("{method}: {other:?}"),
        }
    }
    let delivered = side.server.notifications().resource_updated("x:y", &mut side.out);
    let expected = match subscribe {
        true => Ok(Delivery::NotWanted),
        false => Err(not_declared(Capability::ResourcesSubscribe)),
    };
    assert_eq!(delivered, expected);
    let delivered = side.server.notifications().list_changed(ChangedList::Resources, &mut side.out);
    let expected = match list_changed {
        true => Ok(Delivery::Sent),
        false => Err(not_declared(Capability::ResourcesListChanged)),
    };
    assert_eq!(delivered, expected);
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}"#;
    assert_eq!(side.sent(), vec![changed; usize::from(list_changed)]);
}

/// Proves L-RES-09: a second subscription to a URI has no effect, and an unknown one can be ended.
#[test]
fn subscriptions_are_a_set() {
    for revision in Revision::LEGACY {
        let mut side = ServerSide::ready(revision);
        grant(&mut side, "unsubscribe", "x:unknown");
        assert_eq!(subscriptions(&mut side), [""; 0]);
        grant(&mut side, "subscribe", "x:b");
        grant(&mut side, "subscribe", "x:a");
        grant(&mut side, "subscribe", "x:b");
        assert_eq!(subscriptions(&mut side), ["x:a", "x:b"]);
        assert_eq!(notify(&mut side, "x:b"), Delivery::Sent);
        assert_eq!(side.sent(), [updated("x:b")], "once, although it was asked for twice");
        grant(&mut side, "unsubscribe", "x:b");
        assert_eq!(subscriptions(&mut side), ["x:a"]);
        grant(&mut side, "unsubscribe", "x:b");
        assert_eq!(subscriptions(&mut side), ["x:a"]);
        assert_eq!(notify(&mut side, "x:b"), Delivery::NotWanted);
        assert_eq!(side.sent(), [""; 0]);
    }
}

/// Proves L-RES-09: each session has its own subscriptions, which end with it.
#[test]
fn subscriptions_belong_to_their_session() {
    let mut one = ServerSide::ready(Revision::V2025_11_25);
    let mut other = ServerSide::ready(Revision::V2025_11_25);
    grant(&mut one, "subscribe", "x:y");
    assert_eq!(notify(&mut one, "x:y"), Delivery::Sent);
    assert_eq!(notify(&mut other, "x:y"), Delivery::NotWanted);
    assert_eq!(one.sent(), [updated("x:y")]);
    assert_eq!(other.sent(), [""; 0]);
    one.server.close();
    assert_eq!(one.outcomes().len(), 1);
    assert_eq!(subscriptions(&mut one), [""; 0]);
    assert_eq!(
        one.server.notifications().resource_updated("x:y", &mut one.out),
        Err(NotifyError::Closed)
    );
}

/// Proves L-RES-10: an update that is notified in either way goes only to a session with a subscription.
#[test]
fn resource_updates_are_sent_only_to_subscribed_sessions() {
    for revision in Revision::LEGACY {
        let mut side = ServerSide::ready(revision);
        let by_name = |side: &mut ServerSide, uri: &str| {
            let params = ResourceUpdatedParams::new(uri);
            side.server.notify::<ResourceUpdated>(&params, None, &mut side.out).unwrap()
        };
        assert_eq!(notify(&mut side, "x:y"), Delivery::NotWanted);
        assert_eq!(by_name(&mut side, "x:y"), Delivery::NotWanted);
        assert_eq!(side.sent(), [""; 0]);
        // The same URI with another escape.
        grant(&mut side, "subscribe", r"x:\u0079");
        assert_eq!(subscriptions(&mut side), ["x:y"]);
        assert_eq!(notify(&mut side, "x:y"), Delivery::Sent);
        assert_eq!(by_name(&mut side, "x:y"), Delivery::Sent);
        assert_eq!(side.sent(), [updated("x:y"), updated("x:y")]);
        // The application sends it with an escape, too.
        let params = Raw::new(r#"{"uri":"x\u003ay"}"#).unwrap();
        let method = "notifications/resources/updated";
        let escaped = side.server.notify_method(method, &params, None, &mut side.out);
        assert_eq!(escaped, Ok(Delivery::Sent));
        assert_eq!(side.sent(), [updated(r"x\u003ay")]);
        // URIs are compared as strings.
        for other in ["x:y/", "X:y", "x:y#", "x:", "x:%79"] {
            assert_eq!(notify(&mut side, other), Delivery::NotWanted, "{other}");
            assert_eq!(by_name(&mut side, other), Delivery::NotWanted, "{other}");
        }
        assert_eq!(side.sent(), [""; 0]);
    }
}

/// Proves L-RES-10: a subscription begins when it is granted, and a refused one never begins.
#[test]
fn a_subscription_begins_with_its_answer() {
    let mut side = ServerSide::ready(Revision::V2025_06_18);
    let id = side.request(&request("subscribe", "x:y"));
    assert_eq!(notify(&mut side, "x:y"), Delivery::NotWanted);
    side.server.reject(id, ErrorCode::RESOURCE_NOT_FOUND, "no such thing", &mut side.out).unwrap();
    assert_eq!(side.sent().len(), 1);
    assert_eq!(notify(&mut side, "x:y"), Delivery::NotWanted);
    let id = side.request(&request("subscribe", "x:y"));
    side.server.respond(id, &(), &mut side.out).unwrap();
    assert_eq!(notify(&mut side, "x:y"), Delivery::Sent);
    assert_eq!(side.sent(), [ANSWERED.to_owned(), updated("x:y")]);
    // A cancelled request is not granted any more.
    let id = side.request(&request("unsubscribe", "x:y"));
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert!(matches!(side.receive(cancel), Some(ServerEvent::Cancelled(_))));
    assert!(side.server.respond(id, &(), &mut side.out).is_err());
    assert_eq!(notify(&mut side, "x:y"), Delivery::Sent);
}

/// Proves L-RES-11: the client is notified of parts of a subscribed resource.
#[test]
fn an_update_of_a_part_is_delivered() {
    for revision in Revision::LEGACY {
        let mut side = ServerSide::ready(revision);
        grant(&mut side, "subscribe", "file:///d");
        assert_eq!(notify(&mut side, "file:///d/x"), Delivery::NotWanted);
        let out = &mut side.out;
        let delivered =
            side.server.notifications().resource_updated_below("file:///d", "file:///d/x", out);
        assert_eq!(delivered, Ok(Delivery::Sent));
        let delivered =
            side.server.notifications().resource_updated_below("file:///e", "file:///d", out);
        assert_eq!(delivered, Ok(Delivery::NotWanted), "it is the subscription that counts");
        let sent = side.sent();
        assert_eq!(sent, [updated("file:///d/x")]);

        let mut client = ClientSide::ready(revision);
        subscribe(&mut client, "file:///d");
        assert_eq!(client.receive(ANSWERED_TWO).map(outcome), Some("{}".to_owned()));
        assert_eq!(updated_uri(client.receive(&sent[0])), "file:///d/x");
        assert_eq!(updated_uri(client.receive(&updated("other:thing"))), "other:thing");
        assert_eq!(client.sent(), [""; 0]);
    }
}

const ANSWERED_TWO: &str = r#"{"jsonrpc":"2.0","id":2,"result":{}}"#;

/// Subscribes with a client that has made no call.
#[track_caller]
fn subscribe(client: &mut ClientSide, uri: &str) {
    let params = mcp_sansio::model::UriParams::new(uri);
    let options = mcp_sansio::CallOptions::new();
    let (now, out) = (client.now, &mut client.out);
    client.client.call::<mcp_sansio::model::method::Subscribe>(&params, options, now, out).unwrap();
    assert_eq!(
        client.sent(),
        [format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{{"uri":"{uri}"}}}}"#
        )]
    );
}

/// The URI of an update that reached the application.
#[track_caller]
fn updated_uri(event: Option<ClientEvent<'static>>) -> String {
    let Some(ClientEvent::Notification(notification)) = event else { panic!("{event:?}") };
    let params = notification.parse::<ResourceUpdated>().unwrap().unwrap();
    params.uri.to_string()
}

#[track_caller]
fn outcome(event: ClientEvent<'static>) -> String {
    match event {
        ClientEvent::CallEnded(ended) => match ended.outcome {
            Outcome::Result(result) => result.as_json().to_owned(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

/// Proves L-RES-12, L-RACE-27: an update may overtake the response that grants the subscription, or arrive after
/// the end. It is delivered without a violation.
#[test]
fn a_client_takes_updates_at_any_time() {
    for revision in Revision::LEGACY {
        let mut side = ClientSide::ready(revision);
        assert_eq!(updated_uri(side.receive(&updated("x:y"))), "x:y");
        subscribe(&mut side, "x:y");
        assert_eq!(updated_uri(side.receive(&updated("x:y"))), "x:y");
        assert_eq!(side.receive(ANSWERED_TWO).map(outcome), Some("{}".to_owned()));
        assert_eq!(updated_uri(side.receive(&updated("x:y"))), "x:y");
        side.call("resources/unsubscribe");
        assert_eq!(updated_uri(side.receive(&updated("x:y"))), "x:y");
        let answered = r#"{"jsonrpc":"2.0","id":3,"result":{}}"#;
        assert_eq!(side.receive(answered).map(outcome), Some("{}".to_owned()));
        assert_eq!(updated_uri(side.receive(&updated("x:y"))), "x:y");
        assert_eq!(
            side.sent(),
            [r#"{"jsonrpc":"2.0","id":3,"method":"resources/unsubscribe","params":{"uri":"x:y"}}"#]
        );
    }
}

/// Proves L-RACE-27: updates stop with the response that ends the subscription, and not before.
#[test]
fn updates_stop_once_the_subscription_has_ended() {
    for revision in Revision::LEGACY {
        let mut side = ServerSide::ready(revision);
        grant(&mut side, "subscribe", "x:y");
        let Some(ServerEvent::Request(end)) = side.receive(&request("unsubscribe", "x:y")) else {
            panic!("a request");
        };
        assert!(matches!(&end.kind, ClientRequest::Unsubscribe { uri } if *uri == "x:y"));
        assert_eq!(notify(&mut side, "x:y"), Delivery::Sent);
        side.server.respond(end.id, &(), &mut side.out).unwrap();
        assert_eq!(notify(&mut side, "x:y"), Delivery::NotWanted);
        assert_eq!(side.sent(), [updated("x:y"), ANSWERED.to_owned()]);
    }
}

/// Proves L-RES-10, L-RACE-27: also if the update was held for the handshake.
#[test]
fn a_held_update_is_not_sent_after_unsubscribing() {
    let mut side = ServerSide::fresh();
    assert!(matches!(
        side.receive(&initialize(Revision::V2025_11_25)),
        Some(ServerEvent::Opened(_))
    ));
    assert_eq!(side.sent().len(), 1);
    grant(&mut side, "subscribe", "x:y");
    grant(&mut side, "subscribe", "x:z");
    assert_eq!(notify(&mut side, "x:y"), Delivery::Held);
    assert_eq!(notify(&mut side, "x:z"), Delivery::Held);
    grant(&mut side, "unsubscribe", "x:y");
    assert_eq!(side.receive(INITIALIZED), Some(ServerEvent::Ready));
    assert_eq!(side.sent(), [updated("x:z")]);
}

/// A request that has ended does not count, for any kind of end.
#[test]
fn only_pending_subscriptions_count_towards_the_limit() {
    let mut config = config::server();
    config.connection.limits.subscriptions = 2;
    let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
    let ask = |side: &mut ServerSide, id: u32| {
        // Other requests do not count.
        side.request(&format!(r#"{{"jsonrpc":"2.0","id":{},"method":"tools/list"}}"#, id + 100));
        let event = side.receive(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/subscribe","params":{{"uri":"x:{id}"}}}}"#
        ));
        match event {
            Some(ServerEvent::Request(request)) => Some(request.id),
            Some(ServerEvent::Violation(violation)) => {
                assert_eq!(violation.kind, ViolationKind::TooManySubscriptions);
                None
            }
            event => panic!("{event:?}"),
        }
    };
    let (first, second) = (ask(&mut side, 1).unwrap(), ask(&mut side, 2).unwrap());
    assert_eq!(ask(&mut side, 3), None);
    side.server.reject(first, ErrorCode::new(1), "", &mut side.out).unwrap();
    let fourth = ask(&mut side, 4).unwrap();
    assert_eq!(ask(&mut side, 5), None);
    let cancelled =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}"#;
    let Some(ServerEvent::Cancelled(cancelled)) = side.receive(cancelled) else { panic!() };
    assert_eq!(cancelled.id, fourth);
    let sixth = ask(&mut side, 6).unwrap();
    side.server.respond(second, &(), &mut side.out).unwrap();
    assert_eq!(ask(&mut side, 7), None, "one is granted and one is pending");
    side.server.respond(sixth, &(), &mut side.out).unwrap();
    assert_eq!(subscriptions(&mut side), ["x:2", "x:6"]);
    assert_eq!(ask(&mut side, 8), None);
}

/// The number of subscriptions never exceeds the limit, even if many are granted late.
#[test]
fn pending_subscriptions_count_towards_the_limit() {
    let mut config = config::server();
    config.connection.limits.subscriptions = 1;
    let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
    let ask = |id: u32, uri: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/subscribe","params":{{"uri":"{uri}"}}}}"#
        )
    };
    let first = side.request(&ask(1, "x:a"));
    let second = side.receive(&ask(2, "x:b"));
    side.server.respond(first, &(), &mut side.out).unwrap();
    if let Some(ServerEvent::Request(second)) = second {
        _ = side.server.respond(second.id, &(), &mut side.out);
    }
    assert_eq!(subscriptions(&mut side), ["x:a"]);
}

/// The limit counts the bytes of the URI as received.
#[test]
fn a_subscription_with_a_long_uri_is_refused() {
    let mut config = config::server();
    config.connection.limits.uri_bytes = 8;
    let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
    for (uri, is_refused) in [("x:345678", false), ("x:3456789", true), (r"x:\u0061b", true)] {
        let event = side.receive(&request("subscribe", uri));
        if !is_refused {
            let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
            side.server.respond(request.id, &(), &mut side.out).unwrap();
            assert_eq!(side.sent(), [ANSWERED]);
            continue;
        }
        let Some(ServerEvent::Violation(violation)) = event else { panic!("{event:?}") };
        assert_eq!((violation.kind, violation.answered), (ViolationKind::LongUri, true), "{uri}");
        let error =
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"the URI is too long"}}"#;
        assert_eq!(side.sent(), [error]);
    }
    assert_eq!(subscriptions(&mut side), ["x:345678"]);
}

/// Proves L-RES-09, L-LOG-04: the limit of kept texts does not apply to URIs and logging levels, which have their own. A granted
/// request takes effect.
#[test]
fn a_granted_request_takes_effect_under_any_limit_of_kept_texts() {
    let mut config = config::server();
    config.connection.limits.kept_bytes = 0;
    config.connection.limits.uri_bytes = 8;
    let mut side = ServerSide::ready_with(config, Revision::V2025_11_25);
    let grant = |side: &mut ServerSide, frame: &str| {
        let id = side.request(frame);
        side.server.respond(id, &(), &mut side.out).unwrap();
        assert_eq!(side.sent(), [ANSWERED]);
    };
    grant(&mut side, &request("subscribe", "x:345678"));
    assert_eq!(subscriptions(&mut side), ["x:345678"]);
    grant(&mut side, &request("unsubscribe", "x:345678"));
    assert_eq!(subscriptions(&mut side), [""; 0]);
    let level =
        r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"emergency"}}"#;
    grant(&mut side, level);
    for (level, is_wanted) in [(LoggingLevel::Alert, false), (LoggingLevel::Emergency, true)] {
        let log = Log::new(level, "text");
        assert_eq!(side.server.notifications().wants_log(&log), is_wanted);
    }
}

/// Params that count how often they are serialised.
struct Counted(std::cell::Cell<u32>);

impl serde::Serialize for Counted {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.set(self.0.get() + 1);
        ResourceUpdatedParams::new("x:y").serialize(serializer)
    }
}

/// The params of a notification are serialised once if only the session can be subscribed to it.
#[test]
fn params_for_a_session_are_serialised_once() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    grant(&mut side, "subscribe", "x:y");
    let (method, params) = ("notifications/resources/updated", Counted(0.into()));
    let notified = side.server.notify_method(method, &Json(&params), None, &mut side.out);
    assert_eq!((notified, params.0.get()), (Ok(Delivery::Sent), 1));
    assert_eq!(side.sent(), [updated("x:y")]);
}
