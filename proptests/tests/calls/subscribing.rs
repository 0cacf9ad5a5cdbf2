//! One interface for subscriptions in both eras: in a session the machine emulates the missing parts.

use std::time::Duration;

use mcp_sansio::call::Cancellation;
use mcp_sansio::event::{SubscriptionEnd, SubscriptionNews, SubscriptionUpdate};
use mcp_sansio::model::{LoggingLevel, SubscriptionFilter};
use mcp_sansio::subscription::{ChangedList, Delivery};
use mcp_sansio::{
    CallId, Cause, ClientConfig, ClientEvent, ClientRequest, ConnectionNumber, Era, Instant,
    Revision, RevisionSet, ServerEvent,
};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

/// A client and a server, and the subscription events of the client.
pub(super) struct Both {
    pub(super) client: ClientSide,
    pub(super) server: ServerSide,
    received: Vec<(CallId, String)>,
    /// The other events of the client, and the messages that it sent.
    others: Vec<String>,
    sent: Vec<String>,
}

impl Both {
    pub(super) fn of(revisions: RevisionSet, client: ClientConfig) -> Self {
        let mut server = config::server_of_both_eras();
        server.revisions = revisions;
        let mut both = Self {
            client: ClientSide::with(client),
            server: ServerSide::with(server),
            received: Vec::new(),
            others: Vec::new(),
            sent: Vec::new(),
        };
        both.client.client.connect(both.client.now, &mut both.client.out).unwrap();
        both.settle();
        both.others.clear();
        both.sent.clear();
        both
    }

    /// Transfers all messages. The server grants every request.
    pub(super) fn settle(&mut self) {
        loop {
            let (to_server, to_client) = (self.client.sent(), self.server.sent());
            for message in &to_server {
                if let Some(ServerEvent::Request(request)) = self.server.receive(message) {
                    assert!(matches!(
                        request.kind,
                        ClientRequest::Subscribe { .. }
                            | ClientRequest::Unsubscribe { .. }
                            | ClientRequest::SetLevel(_)
                    ));
                    self.server.server.respond(request.id, &(), &mut self.server.out).unwrap();
                }
            }
            for message in &to_client {
                let event = self.client.receive(message);
                self.note(event);
            }
            while let Some(event) =
                self.client.client.handle_timeout(self.client.now, &mut self.client.out)
            {
                self.note(Some(event));
            }
            let is_quiet = to_server.is_empty() && to_client.is_empty();
            self.sent.extend(to_server);
            if is_quiet && self.client.out.is_empty() {
                return;
            }
        }
    }

    fn note(&mut self, event: Option<ClientEvent<'static>>) {
        match event {
            Some(ClientEvent::Subscription(SubscriptionUpdate { call, news, .. })) => {
                self.received.push((call, in_words(&news)));
            }
            Some(event) => self.others.push(format!("{event:?}")),
            None => {}
        }
    }

    pub(super) fn subscribe(&mut self, filter: &SubscriptionFilter<'_>) -> CallId {
        let Self { client, .. } = self;
        let call = client.client.subscribe(filter, client.now, &mut client.out).unwrap();
        self.settle();
        call
    }

    fn cancel(&mut self, call: CallId) -> Cancellation {
        let Self { client, .. } = self;
        let cancelled = client.client.cancel(call, None, &mut client.out).unwrap();
        self.settle();
        cancelled
    }

    pub(super) fn take_updates(&mut self) -> Vec<(CallId, String)> {
        std::mem::take(&mut self.received)
    }
}

fn in_words(news: &SubscriptionNews<'_>) -> String {
    match news {
        SubscriptionNews::Granted { granted, refused } => {
            format!("granted {granted} not {refused}")
        }
        SubscriptionNews::Changed(notification) => {
            let uri = notification.params.as_ref().and_then(|params| params.get("uri"));
            format!(
                "{} {}",
                notification.method,
                uri.map(|uri| uri.to_string()).unwrap_or_default()
            )
        }
        SubscriptionNews::Ended(SubscriptionEnd::Lost(cause)) => format!("lost: {cause}"),
        news => format!("{news:?}"),
    }
}

pub(super) const ERAS: [RevisionSet; 2] = [RevisionSet::LEGACY, RevisionSet::MODERN];

/// Proves M-ERA-28: the same calls give the same events with a server of either era.
#[test]
fn subscriptions_are_the_same_in_both_eras() {
    for revisions in ERAS {
        let mut both = Both::of(revisions, config::client_of_both_eras());
        let everything =
            SubscriptionFilter::new().with_tools().with_resource("a:1").with_resource("a:2");
        let first = both.subscribe(&everything);
        let second = both.subscribe(&SubscriptionFilter::new().with_resource("a:1").with_prompts());
        assert_eq!(
            both.take_updates(),
            [
                (
                    first,
                    r#"granted {"toolsListChanged":true,"resourceSubscriptions":["a:1","a:2"]} not {}"#.into()
                ),
                (
                    second,
                    r#"granted {"promptsListChanged":true,"resourceSubscriptions":["a:1"]} not {}"#.into()
                ),
            ]
        );
        let ServerSide { server, out, .. } = &mut both.server;
        assert_eq!(
            server.notifications().list_changed(ChangedList::Tools, out),
            Ok(Delivery::Sent)
        );
        assert_eq!(server.notifications().resource_updated("a:1", out), Ok(Delivery::Sent));
        assert_eq!(server.notifications().resource_updated("a:2", out), Ok(Delivery::Sent));
        assert_eq!(server.notifications().resource_updated("a:3", out), Ok(Delivery::NotWanted));
        both.settle();
        let updated =
            |call, uri: &str| (call, format!("notifications/resources/updated \"{uri}\""));
        let mut received = both.take_updates();
        // A change for several subscriptions is reported once for each; the order depends on the era.
        received.sort();
        let mut expected = [
            (first, "notifications/tools/list_changed ".into()),
            updated(first, "a:1"),
            updated(second, "a:1"),
            updated(first, "a:2"),
        ];
        expected.sort();
        assert_eq!(received, expected);
        assert_eq!(both.cancel(first), Cancellation::Notified);
        let ServerSide { server, out, .. } = &mut both.server;
        assert_eq!(server.notifications().resource_updated("a:2", out), Ok(Delivery::NotWanted));
        assert_eq!(server.notifications().resource_updated("a:1", out), Ok(Delivery::Sent));
        both.settle();
        assert_eq!(both.take_updates(), [updated(second, "a:1")]);
        assert_eq!(both.client.client.in_flight().subscriptions().collect::<Vec<_>>(), [second]);
        assert_eq!(both.client.client.in_flight().counts().outbound, 1);
        assert_eq!(both.others, [""; 0]);
    }
}

/// In a session, notifications do not name their subscription. A URI in one that is not about a resource means nothing.
///
/// Proves M-ERA-28.
#[test]
fn a_changed_list_with_a_uri_is_no_update_of_a_resource() {
    let mut both = Both::of(RevisionSet::LEGACY, config::client_of_both_eras());
    let call = both.subscribe(&SubscriptionFilter::new().with_resource("a:1"));
    both.take_updates();
    let ServerSide { server, out, .. } = &mut both.server;
    let params = serde_json::json!({"uri": "a:1"});
    for method in ["tools/list_changed", "resources/updated"] {
        let method = format!("notifications/{method}");
        let sent = server.notify_method(&method, &params, None, out);
        assert_eq!(sent, Ok(Delivery::Sent), "{method}");
    }
    both.settle();
    assert_eq!(both.take_updates(), [(call, r#"notifications/resources/updated "a:1""#.into())]);
}

/// Proves M-ERA-26, M-ERA-27: the messages on the wire are those of the era.
#[test]
fn each_era_has_its_own_words_for_a_subscription() {
    let filter = SubscriptionFilter::new().with_tools().with_resource("a:1");
    let mut both = Both::of(RevisionSet::LEGACY, config::client_of_both_eras());
    let call = both.subscribe(&filter);
    both.cancel(call);
    let sent: Vec<&str> = both.sent.iter().map(|message| &**message).collect();
    assert_eq!(
        sent,
        [
            r#"{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"a:1"}}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"resources/unsubscribe","params":{"uri":"a:1"}}"#,
        ]
    );
    let mut both = Both::of(RevisionSet::MODERN, config::client_of_both_eras());
    let call = both.subscribe(&filter);
    both.cancel(call);
    assert_eq!(both.sent.len(), 2);
    assert!(both.sent[0].contains(r#""id":2,"method":"subscriptions/listen""#));
    assert_eq!(
        both.sent[1],
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#
    );
}

/// Proves M-SUB-34, M-SUB-22: the configured filter is subscribed to at once, and lost subscriptions are opened
/// again on the next connection.
#[test]
fn subscriptions_are_reopened_after_a_reconnect() {
    for revisions in ERAS {
        let mut client = config::client_of_both_eras();
        client.listen = Some(SubscriptionFilter::new().with_tools());
        let mut both = Both::of(revisions, client);
        let automatic = both.client.client.in_flight().subscriptions().next().unwrap();
        let own = both.subscribe(&SubscriptionFilter::new().with_resource("a:1"));
        let received: Vec<CallId> = both.take_updates().into_iter().map(|(call, _)| call).collect();
        assert_eq!(received, [automatic, own]);
        let cause = Cause::EndOfInput;
        both.client.client.disconnected(cause, both.client.now);
        both.settle();
        let lost = format!("lost: {cause}");
        assert_eq!(both.take_updates(), [(automatic, lost.clone()), (own, lost)]);
        let mut server = config::server_of_both_eras();
        server.revisions = revisions;
        both.server = ServerSide::with(server);
        both.client.client = both.client.client.reconnect(ConnectionNumber::new(1));
        both.client.client.connect(both.client.now, &mut both.client.out).unwrap();
        both.settle();
        let granted: Vec<String> = both.take_updates().into_iter().map(|(_, news)| news).collect();
        assert_eq!(
            granted,
            [
                r#"granted {"toolsListChanged":true} not {}"#,
                r#"granted {"resourceSubscriptions":["a:1"]} not {}"#,
            ]
        );
    }
}

/// The part of a filter that a server does not offer is refused, and nothing is sent for it.
#[test]
fn unoffered_parts_of_a_filter_are_refused() {
    for revisions in ERAS {
        let mut both = Both::of(revisions, config::client_of_both_eras());
        let mut bare = config::server_of_both_eras();
        bare.revisions = revisions;
        bare.capabilities.resources = None;
        bare.capabilities.prompts = None;
        both.server = ServerSide::with(bare);
        both.client = ClientSide::with(config::client_of_both_eras());
        both.client.client.connect(both.client.now, &mut both.client.out).unwrap();
        both.settle();
        let filter = SubscriptionFilter::new().with_tools().with_prompts().with_resource("a:1");
        let call = both.subscribe(&filter);
        let refused = r#"{"promptsListChanged":true,"resourceSubscriptions":["a:1"]}"#;
        let granted = format!(r#"granted {{"toolsListChanged":true}} not {refused}"#);
        assert_eq!(both.take_updates(), [(call, granted)]);
    }
}

/// Proves M-ERA-28 for log levels: one command, which is a request in the legacy era and a member of each request
/// in the modern era.
#[test]
fn a_level_is_set_in_both_eras() {
    for revisions in ERAS {
        let mut both = Both::of(revisions, config::client_of_both_eras());
        let ClientSide { client, out, now, .. } = &mut both.client;
        let call = client.set_log_level(LoggingLevel::Error, *now, out).unwrap();
        both.settle();
        let is_session = both.client.client.revision().unwrap().era() == Era::Legacy;
        assert_eq!(call.is_some(), is_session);
        if let Some(call) = call {
            assert!(both.others[0].contains(&format!("{call:?}")), "{:?}", both.others);
            assert_eq!(both.server.server.notifications().log_level(), LoggingLevel::Error);
        }
        let ClientSide { client, out, now, .. } = &mut both.client;
        let options = mcp_sansio::CallOptions::new();
        client.call_method("tools/list", &(), options, *now, out).unwrap();
        let sent = both.client.sent();
        let says = sent[0].contains(r#""io.modelcontextprotocol/logLevel":"error""#);
        assert_eq!(says, !is_session, "{sent:?}");
    }
}

/// A client of one era can set the level before it is connected as well.
#[test]
fn a_level_that_is_set_early_is_sent_with_each_request() {
    let mut config = config::client_of_both_eras();
    config.revisions = RevisionSet::MODERN;
    let mut both = Both::of(RevisionSet::MODERN, config.clone());
    both.client = ClientSide::with(config);
    let ClientSide { client, out, now, .. } = &mut both.client;
    assert_eq!(client.set_log_level(LoggingLevel::Error, *now, out), Ok(None));
    client.connect(*now, out).unwrap();
    both.settle();
    let ClientSide { client, out, now, .. } = &mut both.client;
    client.call_method("tools/list", &(), mcp_sansio::CallOptions::new(), *now, out).unwrap();
    assert!(both.client.sent()[0].contains(r#""io.modelcontextprotocol/logLevel":"error""#));
}

/// A session has no notifications about tasks for a subscription: their ids are refused.
///
/// Proves M-SUB-11.
#[test]
fn tasks_are_refused_to_a_subscription_in_a_session() {
    let mut side = ClientSide::ready(LATEST);
    let call = subscribing(&mut side, &SubscriptionFilter::new().with_tools().with_task("t"));
    let granted = r#"granted {"toolsListChanged":true} not {"taskIds":["t"]}"#;
    assert_eq!(subscription_updates(&mut side), [(call, granted.into())]);
}

/// A subscription that is made before the era is known waits like any call, in both eras.
#[test]
fn an_early_subscription_waits() {
    for revisions in ERAS {
        let mut both = Both::of(revisions, config::client_of_both_eras());
        let mut server = config::server_of_both_eras();
        server.revisions = revisions;
        both.server = ServerSide::with(server);
        both.client = ClientSide::with(config::client_of_both_eras());
        both.client.client.connect(both.client.now, &mut both.client.out).unwrap();
        let call = both.subscribe(&SubscriptionFilter::new().with_tools().with_resource("a:1"));
        let granted = r#"granted {"toolsListChanged":true,"resourceSubscriptions":["a:1"]} not {}"#;
        assert_eq!(both.take_updates(), [(call, granted.into())]);
    }
}

const LATEST: Revision = Revision::V2025_11_25;
const GRANTED: &str = r#"granted {"resourceSubscriptions":["x:y"]} not {}"#;

/// Subscribes a client in a session. A subscription takes an id as well: the first has id 2, and its request id 3.
pub(super) fn subscribing(side: &mut ClientSide, filter: &SubscriptionFilter<'_>) -> CallId {
    side.client.subscribe(filter, side.now, &mut side.out).unwrap()
}

pub(super) fn about(id: u64, method: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/{method}","params":{{"uri":"x:y"}}}}"#
    )
}

pub(super) fn done(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

/// The subscription events of a client.
pub(super) fn subscription_updates(side: &mut ClientSide) -> Vec<(CallId, String)> {
    let news = |event| match event {
        ClientEvent::Subscription(update) => (update.call, in_words(&update.news)),
        other => panic!("{other:?}"),
    };
    side.outcomes().into_iter().map(news).collect()
}

/// Two subscriptions request the same resource at the same time, and one of them is cancelled.
#[test]
fn a_subscription_is_not_deafened_by_the_end_of_another_one() {
    let filter = SubscriptionFilter::new().with_resource("x:y");
    for is_granted_first in [true, false] {
        let mut side = ClientSide::ready(LATEST);
        let first = subscribing(&mut side, &filter);
        let second = subscribing(&mut side, &filter);
        assert_eq!(side.sent(), [about(3, "subscribe"), about(5, "subscribe")]);
        if is_granted_first {
            assert_eq!(side.receive(&done(3)), None);
            assert_eq!(subscription_updates(&mut side), [(first, GRANTED.into())]);
        }
        side.client.cancel(first, None, &mut side.out).unwrap();
        if !is_granted_first {
            assert_eq!(side.receive(&done(3)), None);
        }
        assert_eq!((subscription_updates(&mut side), side.sent()), (vec![], vec![]));
        assert_eq!(side.receive(&done(5)), None);
        assert_eq!(subscription_updates(&mut side), [(second, GRANTED.into())]);
        side.client.cancel(second, None, &mut side.out).unwrap();
        assert_eq!(
            (subscription_updates(&mut side), side.sent()),
            (vec![], vec![about(6, "unsubscribe")])
        );
    }
}

/// A subscription that is cancelled before it is granted is unsubscribed once it is granted, but not if it was
/// refused.
#[test]
fn a_subscription_that_is_cancelled_early_is_unsubscribed_from() {
    let refused = r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no"}}"#;
    for (answer, expected) in
        [(done(3), vec![about(4, "unsubscribe")]), (refused.to_owned(), vec![])]
    {
        let mut side = ClientSide::ready(LATEST);
        let filter = SubscriptionFilter::new().with_resource("x:y");
        let call = subscribing(&mut side, &filter);
        assert_eq!(side.sent(), [about(3, "subscribe")]);
        side.client.cancel(call, None, &mut side.out).unwrap();
        assert_eq!((subscription_updates(&mut side), side.sent()), (vec![], vec![]));
        assert_eq!(side.receive(&answer), None);
        assert_eq!((subscription_updates(&mut side), side.sent()), (vec![], expected));
    }
}

/// The number of kept notifications is limited as in the modern era, and they are delivered in order.
#[test]
fn notifications_before_a_subscription_opens_are_bounded() {
    const TOOLS: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let mut config = config::client();
    config.connection.limits.early_notifications = 3;
    let mut side = ClientSide::ready_with(config, LATEST);
    let call = subscribing(&mut side, &SubscriptionFilter::new().with_tools().with_resource("x:y"));
    for _ in 0..5 {
        assert_eq!(side.receive(TOOLS), None);
        assert_eq!(subscription_updates(&mut side), []);
    }
    side.receive(&done(3));
    // A notification at this point, before any delivery, is last.
    let update =
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:y"}}"#;
    assert_eq!(side.receive(update), None);
    let words: Vec<String> = subscription_updates(&mut side)
        .into_iter()
        .map(|(of, words)| {
            assert_eq!(of, call);
            words
        })
        .collect();
    let changed = "notifications/tools/list_changed ";
    let granted = r#"granted {"toolsListChanged":true,"resourceSubscriptions":["x:y"]} not {}"#;
    assert_eq!(words, [granted, changed, changed, changed, "Lagged { lost: 3 }"]);
    // No earlier notification is left.
    assert!(matches!(side.receive(update), Some(ClientEvent::Subscription(_))));
}

/// A notification is delivered after earlier ones that are not delivered yet.
#[test]
fn early_notifications_are_delivered_in_order() {
    const TOOLS: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    const UPDATE: &str =
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:y"}}"#;
    let mut side = ClientSide::ready(LATEST);
    subscribing(&mut side, &SubscriptionFilter::new().with_tools().with_resource("x:y"));
    assert_eq!(side.receive(TOOLS), None);
    assert_eq!(side.receive(&done(3)), None);
    // Only the grant is delivered so far.
    let granted = side.client.handle_timeout(side.now, &mut side.out);
    assert!(matches!(granted, Some(ClientEvent::Subscription(_))), "{granted:?}");
    assert_eq!(side.receive(UPDATE), None);
    let words: Vec<String> =
        subscription_updates(&mut side).into_iter().map(|(_, words)| words).collect();
    let expected = ["notifications/tools/list_changed ", "notifications/resources/updated \"x:y\""];
    assert_eq!(words, expected);
}

/// A connection that is shut down does not wait for subscriptions.
#[test]
fn a_subscription_does_not_hold_up_the_end() {
    for revisions in ERAS {
        let mut both = Both::of(revisions, config::client_of_both_eras());
        let call = both.subscribe(&SubscriptionFilter::new().with_tools());
        both.take_updates();
        let ClientSide { client, out, now, .. } = &mut both.client;
        client.shut_down(Duration::from_secs(60), *now);
        let mut delivered = Vec::new();
        while let Some(event) = client.handle_timeout(*now, out) {
            delivered.push(match event {
                ClientEvent::Subscription(update) => in_words(&update.news),
                event => format!("{event:?}"),
            });
        }
        assert_eq!(
            delivered,
            [
                "Draining { deadline: 1060s }",
                "lost: the connection was shut down",
                "Closed { cause: ShutDown }",
            ]
        );
        assert!(!client.in_flight().is_pending(call));
        let sent = both.client.sent();
        assert_eq!(sent.len(), usize::from(revisions == RevisionSet::MODERN), "{sent:?}");
    }
}

/// A level that could not be asked for is not used.
#[test]
fn a_level_that_cannot_be_set_changes_nothing() {
    let mut config = config::client_of_both_eras();
    config.connection.limits.held_bytes = 10;
    let mut side = ClientSide::with(config);
    assert!(side.client.set_log_level(LoggingLevel::Error, side.now, &mut side.out).is_err());
    side.client.connect(side.now, &mut side.out).unwrap();
    side.sent();
    let discovery = r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}"#;
    assert!(matches!(side.receive(discovery), Some(ClientEvent::Connected(_))));
    side.call("tools/list");
    assert!(!side.sent()[0].contains("logLevel"));
}

/// A change for two subscriptions is reported for each of them, also if the connection ends before the second report.
#[test]
fn the_end_of_the_connection_follows_the_notifications_before_it() {
    const TOOLS: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let ends: [fn(&mut ClientSide); 2] = [
        |side| side.client.disconnected(Cause::EndOfInput, side.now),
        |side| side.client.shut_down(Duration::from_secs(1), side.now),
    ];
    for (end, cause) in
        ends.into_iter().zip(["the peer ended the connection", "the connection was shut down"])
    {
        let mut side = ClientSide::ready(LATEST);
        let filter = SubscriptionFilter::new().with_tools();
        let calls: Vec<CallId> = (0..2).map(|_| subscribing(&mut side, &filter)).collect();
        subscription_updates(&mut side);
        assert!(
            matches!(side.receive(TOOLS), Some(ClientEvent::Subscription(of)) if of.call == calls[0])
        );
        // A third one is granted, and that is not reported yet.
        let third = subscribing(&mut side, &SubscriptionFilter::new().with_prompts());
        end(&mut side);
        let updates = side.outcomes().into_iter().filter_map(|event| match event {
            ClientEvent::Subscription(update) => Some((update.call, in_words(&update.news))),
            _ => None,
        });
        let lost = |call: CallId| (call, format!("lost: {cause}"));
        let granted = r#"granted {"promptsListChanged":true} not {}"#.to_owned();
        let changed = "notifications/tools/list_changed ".to_owned();
        assert_eq!(
            updates.collect::<Vec<_>>(),
            [(calls[1], changed), (third, granted), lost(calls[0]), lost(calls[1]), lost(third)]
        );
    }
}

/// A resource that the server was subscribed to for a subscription that has ended is unsubscribed from, if the
/// subscription that still waits for it is refused.
#[test]
fn a_resource_that_is_refused_to_the_last_subscription_is_unsubscribed_from() {
    let filter = SubscriptionFilter::new().with_resource("x:y");
    for is_cancelled in [false, true] {
        let mut side = ClientSide::ready(LATEST);
        let first = subscribing(&mut side, &filter);
        let second = subscribing(&mut side, &filter);
        assert_eq!(side.sent(), [about(3, "subscribe"), about(5, "subscribe")]);
        assert_eq!(side.receive(&done(3)), None);
        assert_eq!(subscription_updates(&mut side), [(first, GRANTED.into())]);
        side.client.cancel(first, None, &mut side.out).unwrap();
        assert_eq!((subscription_updates(&mut side), side.sent()), (vec![], vec![]));
        if is_cancelled {
            side.client.cancel(second, None, &mut side.out).unwrap();
        }
        let refused = r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"no"}}"#;
        assert_eq!(side.receive(refused), None);
        let nothing = r#"granted {} not {"resourceSubscriptions":["x:y"]}"#.to_owned();
        let expected = if is_cancelled { vec![] } else { vec![(second, nothing)] };
        assert_eq!(subscription_updates(&mut side), expected);
        assert_eq!(side.sent(), [about(6, "unsubscribe")]);
    }
    // A resource that was never granted is not unsubscribed from.
    let mut side = ClientSide::ready(LATEST);
    subscribing(&mut side, &filter);
    side.sent();
    side.receive(r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no"}}"#);
    assert_eq!((subscription_updates(&mut side).len(), side.sent()), (1, vec![]));
}

/// The same if the first subscription is cancelled before it is granted, and if another one replaces a granted one.
#[test]
fn a_resource_is_unsubscribed_from_in_any_order_of_cancellations() {
    let filter = SubscriptionFilter::new().with_resource("x:y");
    let refused = r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"no"}}"#;
    for is_granted_first in [false, true] {
        let mut side = ClientSide::ready(LATEST);
        let first = subscribing(&mut side, &filter);
        if is_granted_first {
            assert_eq!(side.receive(&done(3)), None);
            assert_eq!(subscription_updates(&mut side), [(first, GRANTED.into())]);
            side.client.cancel(first, None, &mut side.out).unwrap();
        }
        let second = subscribing(&mut side, &filter);
        if !is_granted_first {
            side.client.cancel(first, None, &mut side.out).unwrap();
            assert_eq!(side.receive(&done(3)), None);
        }
        assert_eq!(subscription_updates(&mut side), []);
        assert_eq!(side.sent(), [about(3, "subscribe"), about(5, "subscribe")]);
        assert_eq!(side.receive(refused), None);
        let nothing = r#"granted {} not {"resourceSubscriptions":["x:y"]}"#.to_owned();
        assert_eq!(subscription_updates(&mut side), [(second, nothing)]);
        assert_eq!(side.sent(), [about(6, "unsubscribe")]);
    }
}

/// A request that times out may have reached the server. One that has not left has not.
#[test]
fn a_resource_is_unsubscribed_from_after_a_timeout() {
    let filter = SubscriptionFilter::new().with_resource("x:y");
    for is_sent in [true, false] {
        let mut side = ClientSide::ready(LATEST);
        let call = subscribing(&mut side, &filter);
        if is_sent {
            assert_eq!(side.sent(), [about(3, "subscribe")]);
        }
        let timeout = side.client.config().connection.timeouts.acknowledgement.unwrap();
        let events = side.elapse(timeout.as_millis() as u64);
        let [ClientEvent::Subscription(update)] = &events[..] else { panic!("{events:?}") };
        let nothing = r#"granted {} not {"resourceSubscriptions":["x:y"]}"#;
        assert_eq!((update.call, &*in_words(&update.news)), (call, nothing));
        assert!(side.client.poll_timeout() != Some(Instant::EPOCH), "nothing is due");
        let cancelled =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#;
        let sent = [cancelled.to_owned(), about(4, "unsubscribe")];
        assert_eq!(side.sent(), if is_sent { &sent[..] } else { &[] });
    }
}

/// After a response that cannot be read, the server may be subscribed as well.
#[test]
fn a_resource_is_unsubscribed_from_after_a_malformed_response() {
    let filter = SubscriptionFilter::new().with_resource("x:y");
    let mut side = ClientSide::ready(LATEST);
    let call = subscribing(&mut side, &filter);
    assert_eq!(side.sent(), [about(3, "subscribe")]);
    assert!(side.receive(r#"{"jsonrpc":"2.0","id":3}"#).is_none());
    let events = side.outcomes();
    let [ClientEvent::Subscription(update)] = &events[..] else { panic!("{events:?}") };
    let nothing = r#"granted {} not {"resourceSubscriptions":["x:y"]}"#;
    assert_eq!((update.call, &*in_words(&update.news)), (call, nothing));
    assert_eq!(side.sent(), [about(4, "unsubscribe")]);
}

/// A client that shuts down waits for no response about a resource.
#[test]
fn pending_requests_of_a_subscription_hold_up_no_shutdown() {
    let mut side = ClientSide::ready(LATEST);
    let call = subscribing(&mut side, &SubscriptionFilter::new().with_resource("x:y"));
    assert_eq!(side.sent(), [about(3, "subscribe")]);
    side.client.shut_down(Duration::from_secs(60), side.now);
    let cause = Cause::ShutDown;
    let [ClientEvent::Draining { .. }, ClientEvent::Subscription(update), closed] =
        &side.outcomes()[..]
    else {
        panic!("draining, then the end of the subscription, then that of the connection")
    };
    assert_eq!((update.call, closed), (call, &ClientEvent::Closed { cause }));
    assert!(matches!(update.news, SubscriptionNews::Ended(SubscriptionEnd::Lost(_))));
}
