//! Subscriptions of a client: the requested filter, the granted filter, and the notifications.

use mcp_sansio::error::ViolationKind;
use mcp_sansio::event::{SubscriptionEnd, SubscriptionNews};
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::{CallId, ClientEvent, Received, Route};
use mcp_sansio_proptests::{ClientSide, config};

use super::kit::{
    DISCOVERY, absorb, asked, begun, connected, connected_with, error, initialize, is_alive,
    modern, news, only, result, tagged, violation,
};

pub(super) fn listen(id: u64, filter: &str) -> String {
    asked(id, "subscriptions/listen", &format!(r#""notifications":{filter}"#))
}

/// A client with a subscription that is not granted yet; its id is 2.
pub(super) fn opening() -> (ClientSide, CallId) {
    let mut side = connected();
    let filter = SubscriptionFilter::new().with_tools();
    let call = side.client.subscribe(&filter, side.now, &mut side.out).unwrap();
    assert_eq!(side.sent(), [listen(2, r#"{"toolsListChanged":true}"#)]);
    (side, call)
}

/// The acknowledgement of a subscription with this filter.
pub(super) fn granting(tag: &str, filter: &str) -> String {
    tagged("subscriptions/acknowledged", tag, &format!(r#""notifications":{filter}"#))
}

/// A client with a granted subscription to the tools.
pub(super) fn open() -> (ClientSide, CallId) {
    let (mut side, call) = opening();
    let (granted, _) = news(side.receive(&granting("2", r#"{"toolsListChanged":true}"#)));
    assert_eq!(granted, call);
    (side, call)
}

/// The subscription and the method of a change.
#[track_caller]
fn change(event: Option<ClientEvent<'static>>) -> (CallId, String) {
    match news(event) {
        (call, SubscriptionNews::Changed(notification)) => {
            (call, notification.method.to_str().into_owned())
        }
        other => panic!("nothing has changed: {other:?}"),
    }
}

/// Proves M-SUB-01, M-SUB-11, M-CANC-17: the requested filter, and the part that the server grants.
#[test]
fn a_subscription_is_granted_in_whole_or_in_part() {
    let everything = || {
        SubscriptionFilter::new()
            .with_tools()
            .with_prompts()
            .with_resources()
            .with_resource("a:b")
            .with_resource("c:d")
    };
    let all = r#"{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a:b","c:d"]}"#;
    let table = [
        (SubscriptionFilter::new(), "{}", "{}", "{}"),
        (
            SubscriptionFilter::new().with_prompts(),
            r#"{"promptsListChanged":true}"#,
            r#"{"promptsListChanged":true}"#,
            "{}",
        ),
        (everything(), all, all, "{}"),
        (everything(), all, "{}", all),
        (
            everything(),
            all,
            r#"{"toolsListChanged":true,"resourceSubscriptions":["c:d"]}"#,
            r#"{"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a:b"]}"#,
        ),
        (
            everything(),
            all,
            r#"{"toolsListChanged":false,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["c:d","a:b"],"more":1}"#,
            r#"{"toolsListChanged":true}"#,
        ),
    ];
    for (filter, sent, grant, missing) in table {
        let mut side = connected();
        let call = side.client.subscribe(&filter, side.now, &mut side.out).unwrap();
        assert_eq!(side.sent(), [listen(2, sent)]);
        assert!(side.client.in_flight().subscriptions().eq([call]));
        let (id, granted) = news(side.receive(&granting("2", grant)));
        let SubscriptionNews::Granted { granted, refused } = granted else { panic!("{granted:?}") };
        assert_eq!((id, granted.as_json(), refused.as_json()), (call, grant, missing));
        // From now on the subscription lasts.
        assert_eq!(side.elapse(10 * 3_600_000), []);
        is_alive(&mut side);
        // A second acknowledgement has no effect.
        assert_eq!(side.receive(&granting("2", all)), None);
        is_alive(&mut side);
    }
}

/// Proves M-CANC-17, M-SUB-20: a subscription that is not granted in time ends.
#[test]
fn a_subscription_that_is_not_granted_in_time_is_given_up() {
    let (mut side, call) = opening();
    assert_eq!(side.elapse(9_999), []);
    let (id, end) = news(only(side.elapse(1)));
    assert_eq!((id, end), (call, SubscriptionNews::Ended(SubscriptionEnd::TimedOut)));
    assert_eq!(side.sent(), [super::kit::timed_out(2)]);
    assert_eq!(side.client.in_flight().subscriptions().count(), 0);
    // A late acknowledgement, later notifications and the end have no effect.
    for late in [granting("2", "{}"), tagged("tools/list_changed", "2", "")] {
        assert_eq!(side.receive(&late), None);
    }
    assert!(matches!(
        side.receive(&result(2, r#"{"resultType":"complete"}"#)),
        Some(ClientEvent::UnmatchedResponse(_))
    ));
    is_alive(&mut side);
}

/// Proves M-SUB-13, M-SUB-15, M-STDIO-11, M-AMB-20: by the tag, or by a string that represents it.
#[test]
fn news_find_their_subscription_by_the_tag() {
    let mut side = connected();
    let filter = SubscriptionFilter::new().with_tools();
    let calls: Vec<_> =
        (0..2).map(|_| side.client.subscribe(&filter, side.now, &mut side.out).unwrap()).collect();
    assert_eq!(side.sent().len(), 2);
    for (call, tag) in calls.iter().zip(["2", "3"]) {
        assert_eq!(news(side.receive(&granting(tag, "{}"))).0, *call);
    }
    for (tag, index) in [("3", 1), ("2", 0), (r#""3""#, 1), (r#""2""#, 0), ("2", 0)] {
        for method in ["tools/list_changed", "prompts/list_changed", "resources/list_changed"] {
            let (call, changed) = change(side.receive(&tagged(method, tag, "")));
            assert_eq!((call, changed), (calls[index], format!("notifications/{method}")));
        }
        let updated = tagged("resources/updated", tag, r#""uri":"x:y""#);
        assert_eq!(
            change(side.receive(&updated)),
            (calls[index], "notifications/resources/updated".to_owned())
        );
    }
    is_alive(&mut side);
}

/// Proves M-SUB-14: a notification that belongs to no subscription is not delivered.
#[test]
fn notifications_without_a_subscription_are_not_delivered() {
    let (mut side, call) = open();
    let pending = side.call("tools/list");
    assert_eq!(side.sent().len(), 1);
    let bare = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    assert_eq!(violation(side.receive(bare)), ViolationKind::UnknownSubscription);
    for tag in ["99", r#""x""#, "null", "1.5", "{}", "-2"] {
        let event = side.receive(&tagged("tools/list_changed", tag, ""));
        assert_eq!(violation(event), ViolationKind::UnknownSubscription, "{tag}");
    }
    // A tag of another request is no subscription either.
    for tag in ["1", "3"] {
        let event = side.receive(&tagged("tools/list_changed", tag, ""));
        assert!(matches!(event, None | Some(ClientEvent::Violation(_))), "{tag}: {event:?}");
        assert!(!matches!(side.receive(&granting(tag, "{}")), Some(ClientEvent::Subscription(_))));
    }
    assert!(
        side.client.in_flight().is_pending(pending) && side.client.in_flight().is_pending(call)
    );
    is_alive(&mut side);
    // If the transport names the subscription, the tag may be missing.
    let route = Received::from(side.now).route(Route::Call(call));
    let event = side.client.receive(bare, route, &mut side.out).map(ClientEvent::into_owned);
    assert_eq!(change(event).0, call);
}

/// In a session the same notifications belong to the whole session.
#[test]
fn in_a_session_news_need_no_tag() {
    let mut side = ClientSide::ready(mcp_sansio::Revision::V2025_11_25);
    for text in [
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.to_owned(),
        tagged("tools/list_changed", "99", ""),
    ] {
        assert!(matches!(side.receive(&text), Some(ClientEvent::Notification(_))), "{text}");
    }
    let event = side.receive(&granting("1", "{}"));
    assert!(matches!(event, Some(ClientEvent::Violation(_))), "{event:?}");
}

/// Proves M-SUB-25: also for a part of a subscribed resource.
#[test]
fn resource_updates_with_any_uri_are_delivered() {
    let mut side = connected();
    let filter = SubscriptionFilter::new().with_resource("file:///d");
    let call = side.client.subscribe(&filter, side.now, &mut side.out).unwrap();
    side.sent();
    news(side.receive(&granting("2", r#"{"resourceSubscriptions":["file:///d"]}"#)));
    for uri in ["file:///d", "file:///d/x", "other:z"] {
        let (id, what) =
            news(side.receive(&tagged("resources/updated", "2", &format!(r#""uri":"{uri}""#))));
        let SubscriptionNews::Changed(changed) = what else { panic!("{what:?}") };
        assert_eq!(id, call);
        let params = changed.params.unwrap();
        assert_eq!(params.get("uri").map(|uri| uri.as_json().to_owned()), Some(format!("{uri:?}")));
    }
}

/// Proves M-SUB-12: notifications before the acknowledgement are delivered after it, in order, and a violation is
/// reported.
#[test]
fn early_notifications_wait_for_the_acknowledgement() {
    let (mut side, call) = opening();
    for method in ["tools/list_changed", "prompts/list_changed"] {
        assert_eq!(side.receive(&tagged(method, "2", "")), None);
    }
    let noted = side.outcomes();
    assert_eq!(noted.len(), 2);
    for event in noted {
        assert_eq!(violation(Some(event)), ViolationKind::NotAcknowledged);
    }
    assert!(
        matches!(news(side.receive(&granting("2", "{}"))), (id, SubscriptionNews::Granted { .. }) if id == call)
    );
    let changes: Vec<_> = side.outcomes().into_iter().map(|event| change(Some(event))).collect();
    let expected = ["notifications/tools/list_changed", "notifications/prompts/list_changed"]
        .map(|method| (call, method.to_owned()));
    assert_eq!(changes, expected);
    is_alive(&mut side);
}

/// A notification right after the acknowledgement is delivered after the earlier ones.
/// Proves M-SUB-12.
#[test]
fn early_news_are_not_overtaken() {
    let (mut side, call) = opening();
    assert_eq!(side.receive(&tagged("resources/updated", "2", r#""uri":"a:1""#)), None);
    let mut events = vec![side.receive(&granting("2", "{}"))];
    events.push(side.receive(&tagged("resources/updated", "2", r#""uri":"a:2""#)));
    events.extend(side.outcomes().into_iter().map(Some));
    let uris: Vec<_> = events
        .into_iter()
        .flatten()
        .filter_map(|event| match event {
            ClientEvent::Subscription(update) if update.call == call => Some(update.news),
            _ => None,
        })
        .filter_map(|what| match what {
            SubscriptionNews::Changed(changed) => {
                changed.params?.get("uri").map(|uri| uri.as_json().to_owned())
            }
            _ => None,
        })
        .collect();
    assert_eq!(uris, [r#""a:1""#, r#""a:2""#]);
}

/// Proves M-SUB-12, M-SECL-01: the number of kept notifications is limited, and the number of lost ones is
/// reported.
#[test]
fn only_so_much_is_kept_before_the_grant() {
    let mut config = modern();
    config.connection.limits.early_notifications = 2;
    let mut side = connected_with(config);
    let filter = SubscriptionFilter::new().with_tools();
    let call = side.client.subscribe(&filter, side.now, &mut side.out).unwrap();
    side.sent();
    for _ in 0..5 {
        assert_eq!(side.receive(&tagged("tools/list_changed", "2", "")), None);
    }
    assert_eq!(side.outcomes().len(), 5);
    news(side.receive(&granting("2", "{}")));
    let events: Vec<_> = side.outcomes().into_iter().map(|event| news(Some(event))).collect();
    let [
        (_, SubscriptionNews::Changed(_)),
        (_, SubscriptionNews::Changed(_)),
        (id, SubscriptionNews::Lagged { lost: 3 }),
    ] = &events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!(*id, call);
    // Later notifications are delivered as usual.
    assert_eq!(change(side.receive(&tagged("tools/list_changed", "2", ""))).0, call);
}

/// A notification that arrives before the loss of earlier ones was reported follows that report.
#[test]
fn a_notification_follows_the_report_of_lost_ones() {
    let mut config = modern();
    config.connection.limits.early_notifications = 0;
    let mut side = connected_with(config);
    let filter = SubscriptionFilter::new().with_tools();
    side.client.subscribe(&filter, side.now, &mut side.out).unwrap();
    side.sent();
    let changed = tagged("tools/list_changed", "2", "");
    assert_eq!(side.receive(&changed), None);
    _ = side.outcomes();
    news(side.receive(&granting("2", "{}")));
    // The report of the first one is due. Nothing is kept, so the second one adds to it.
    assert_eq!(side.receive(&changed), None);
    let events: Vec<_> = side.outcomes().into_iter().map(|event| news(Some(event)).1).collect();
    assert_eq!(events, [SubscriptionNews::Lagged { lost: 2 }]);
    assert_eq!(change(side.receive(&changed)).1, "notifications/tools/list_changed");
}

/// Proves M-SUB-34, M-ERA-28: the configured filter is subscribed to as soon as possible, after earlier
/// subscriptions.
#[test]
fn the_configured_filter_is_subscribed_to_once_connected() {
    let mut config = config::client_of_both_eras();
    config.listen = Some(SubscriptionFilter::new().with_tools().with_prompts());
    let mut side = begun(config.clone());
    let early = side
        .client
        .subscribe(&SubscriptionFilter::new().with_resource("a:b"), side.now, &mut side.out)
        .unwrap();
    assert_eq!(side.sent(), [asked(1, "server/discover", "")]);
    absorb(side.receive(&result(1, DISCOVERY)));
    let both = [
        listen(2, r#"{"resourceSubscriptions":["a:b"]}"#),
        listen(3, r#"{"toolsListChanged":true,"promptsListChanged":true}"#),
    ];
    assert_eq!(side.sent(), both);
    assert_eq!(side.client.in_flight().subscriptions().next(), Some(early));
    // A session has its own subscription methods, and this server offers nothing to subscribe to.
    let mut side = begun(config);
    let early = side
        .client
        .subscribe(&SubscriptionFilter::new().with_resource("a:b"), side.now, &mut side.out)
        .unwrap();
    side.sent();
    side.receive(&error(1, -32601, ""));
    assert_eq!(side.sent(), [initialize(3, "2025-11-25")]);
    absorb(side.receive(&result(3, super::kit::SESSION)));
    assert_eq!(side.sent(), [super::kit::INITIALIZED]);
    let id: Vec<_> = side.outcomes().into_iter().map(|event| news(Some(event))).collect();
    let [
        (of, SubscriptionNews::Granted { granted, refused }),
        (_, SubscriptionNews::Granted { .. }),
    ] = &id[..]
    else {
        panic!("{id:?}");
    };
    let refused = (granted.as_json(), refused.as_json());
    assert_eq!(*of, early);
    assert_eq!(refused, ("{}", r#"{"resourceSubscriptions":["a:b"]}"#));
}

/// The tags are numbers that count up from one, so that no tag is zero. Proves M-SUB-07, M-R-10, M-ARCH-13.
#[test]
fn ids_of_subscriptions_are_never_used_twice() {
    let mut side = connected();
    let mut ids = Vec::new();
    for _ in 0..5 {
        let call =
            side.client.subscribe(&SubscriptionFilter::new(), side.now, &mut side.out).unwrap();
        let sent: serde_json::Value = serde_json::from_str(&side.sent()[0]).unwrap();
        ids.push(sent["id"].as_u64().unwrap());
        side.client.cancel(call, None, &mut side.out).unwrap();
        side.sent();
    }
    assert_eq!(ids, [2, 3, 4, 5, 6]);
}

/// The time to be granted in begins when the server is asked, not while the subscription waits for the handshake.
///
/// Proves M-CANC-17, M-ERA-33.
#[test]
fn a_subscription_that_waits_for_the_handshake_has_no_timer() {
    let mut side = ClientSide::with(modern());
    let filter = SubscriptionFilter::new().with_tools();
    let call = side.client.subscribe(&filter, side.now, &mut side.out).unwrap();
    assert_eq!(side.elapse(60_000), []);
    side.client.connect(side.now, &mut side.out).unwrap();
    assert_eq!(side.sent(), [asked(2, "server/discover", "")]);
    assert_eq!(side.elapse(9_999), []);
    absorb(side.receive(&result(2, DISCOVERY)));
    assert_eq!(side.sent(), [listen(1, r#"{"toolsListChanged":true}"#)]);
    assert_eq!(side.elapse(9_999), []);
    let (id, end) = news(only(side.elapse(1)));
    assert_eq!((id, end), (call, SubscriptionNews::Ended(SubscriptionEnd::TimedOut)));
}
