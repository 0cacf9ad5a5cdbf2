//! Subscriptions in both eras: which of them a change reaches, their number, and their successors.

use mcp_sansio::call::{Cancellation, TaskOptions};
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::subscription::{ChangedList, Delivery};
use mcp_sansio::{CallError, CallOptions, ClientEvent, ConnectionNumber, Revision, RevisionSet};
use mcp_sansio_proptests::{ClientSide, ServerSide, config, payload};

use super::subscribing::{Both, ERAS, about, done, subscribing, subscription_updates};

/// Each list has its own subscribers, in both eras.
#[test]
fn a_changed_list_is_reported_to_its_subscribers() {
    let filter = SubscriptionFilter::new;
    let lists = [
        (ChangedList::Tools, filter().with_tools(), "notifications/tools/list_changed "),
        (ChangedList::Prompts, filter().with_prompts(), "notifications/prompts/list_changed "),
        (
            ChangedList::Resources,
            filter().with_resources(),
            "notifications/resources/list_changed ",
        ),
    ];
    for revisions in ERAS {
        for (list, filter, changed) in &lists {
            let mut both = Both::of(revisions, config::client_of_both_eras());
            let call = both.subscribe(filter);
            both.take_updates();
            let ServerSide { server, out, .. } = &mut both.server;
            for (one, ..) in &lists {
                let delivery = server.notifications().list_changed(*one, out).unwrap();
                let is_sent = one == list || revisions == RevisionSet::LEGACY;
                assert_eq!(delivery == Delivery::Sent, is_sent);
            }
            both.settle();
            assert_eq!(both.take_updates(), [(call, String::from(*changed))]);
        }
    }
}

/// In a session a subscription takes one call for itself and one for each of its resources.
#[test]
fn a_subscription_needs_a_call_for_each_of_its_resources() {
    for (calls, has_room) in [(3, true), (2, false)] {
        let mut config = config::client();
        config.connection.limits.outbound_calls = calls;
        let mut side = ClientSide::ready_with(config, Revision::V2025_11_25);
        let filter = SubscriptionFilter::new().with_resource("a:1").with_resource("a:2");
        let subscribed = side.client.subscribe(&filter, side.now, &mut side.out).map(drop);
        assert_eq!(subscribed, if has_room { Ok(()) } else { Err(CallError::TooManyCalls) });
        assert_eq!(side.sent().len(), if has_room { 2 } else { 0 });
    }
}

/// A resource is subscribed to again after the response to the request that unsubscribed from it: a server may handle
/// the two requests in the other order.
///
/// Proves L-RACE-27.
#[test]
fn a_resource_is_subscribed_to_again_after_it_was_unsubscribed_from() {
    let mut side = ClientSide::ready(Revision::V2025_11_25);
    let filter = SubscriptionFilter::new().with_resource("x:y");
    let first = subscribing(&mut side, &filter);
    assert_eq!(side.sent(), [about(3, "subscribe")]);
    assert_eq!(side.receive(&done(3)), None);
    assert_eq!(subscription_updates(&mut side).len(), 1);
    side.client.cancel(first, None, &mut side.out).unwrap();
    assert_eq!((side.outcomes(), side.sent()), (vec![], vec![about(4, "unsubscribe")]));
    let [second, third] = [(); 2].map(|()| subscribing(&mut side, &filter));
    assert_eq!((side.outcomes(), side.sent()), (vec![], vec![]), "they wait for the response");
    side.client.cancel(third, None, &mut side.out).unwrap();
    assert_eq!(side.receive(&done(4)), None);
    assert_eq!((side.outcomes(), side.sent()), (vec![], vec![about(7, "subscribe")]));
    assert_eq!(side.receive(&done(7)), None);
    let [(granted, _)] = &subscription_updates(&mut side)[..] else { panic!() };
    assert_eq!(*granted, second);
    side.client.cancel(second, None, &mut side.out).unwrap();
    assert_eq!((side.outcomes(), side.sent()), (vec![], vec![about(8, "unsubscribe")]));
}

/// A client that is replaced before its connection has ended passes its open subscriptions on, each once.
#[test]
fn a_successor_opens_the_subscriptions_that_are_open() {
    for revisions in ERAS {
        let mut client = config::client_of_both_eras();
        client.listen = Some(SubscriptionFilter::new().with_tools());
        let mut both = Both::of(revisions, client);
        both.subscribe(&SubscriptionFilter::new().with_resource("a:1"));
        both.take_updates();
        let mut server = config::server_of_both_eras();
        server.revisions = revisions;
        both.server = ServerSide::with(server);
        both.client.client = both.client.client.reconnect(ConnectionNumber::new(1));
        both.client.client.connect(both.client.now, &mut both.client.out).unwrap();
        both.settle();
        let granted: Vec<String> = both.take_updates().into_iter().map(|(_, news)| news).collect();
        let tools = r#"granted {"toolsListChanged":true} not {}"#;
        let resource = r#"granted {"resourceSubscriptions":["a:1"]} not {}"#;
        assert_eq!(granted, [tools, resource]);
    }
}

/// A client of the legacy era can subscribe before it is connected, as any other client.
///
/// Proves M-ERA-28, M-ERA-33.
#[test]
fn a_legacy_client_can_subscribe_before_it_is_connected() {
    let mut side = ClientSide::fresh();
    let filter = SubscriptionFilter::new().with_resource("a:1");
    let call = side.client.subscribe(&filter, side.now, &mut side.out).unwrap();
    side.client.connect(side.now, &mut side.out).unwrap();
    assert_eq!(side.sent().len(), 1);
    let opened = r#"{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"}}}"#;
    assert!(matches!(side.receive(opened), Some(ClientEvent::Connected(_))));
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"a:1"}}"#,
        ]
    );
    assert_eq!(side.receive(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#), None);
    let events = side.outcomes();
    assert!(matches!(&events[..], [ClientEvent::Subscription(granted)] if granted.call == call));
}

/// A call that was given up makes room for a subscription, as it does for a call.
#[test]
fn a_call_that_was_given_up_makes_room_for_a_subscription() {
    let mut config = config::client();
    config.connection.limits.outbound_calls = 1;
    let mut side = ClientSide::with(config);
    side.client.connect(side.now, &mut side.out).unwrap();
    let opened = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"s","version":"1"}}}"#;
    assert!(matches!(side.receive(opened), Some(ClientEvent::Connected(_))));
    let options = CallOptions::new().task(TaskOptions::default());
    let params = payload::params("tools/call");
    let made = side.client.call_method("tools/call", &params, options, side.now, &mut side.out);
    assert_eq!(side.sent().len(), 3);
    let cancelled = side.client.cancel(made.unwrap(), None, &mut side.out);
    assert_eq!(cancelled, Ok(Cancellation::Deferred));
    let filter = SubscriptionFilter::new().with_tools();
    let call = side.client.subscribe(&filter, side.now, &mut side.out).unwrap();
    let again = side.client.subscribe(&filter, side.now, &mut side.out);
    assert_eq!(again, Err(CallError::TooManyCalls));
    let events = side.outcomes();
    assert!(matches!(&events[..], [ClientEvent::Subscription(granted)] if granted.call == call));
    assert_eq!(side.client.in_flight().counts().outbound, 1);
}
