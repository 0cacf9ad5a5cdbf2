//! Subscriptions that a request keeps open: the granted filter, the notifications, and the end.

use std::time::Duration;

use mcp_sansio::config::Listening;
use mcp_sansio::error::ViolationKind;
use mcp_sansio::event::{CancelCause, Subscribed};
use mcp_sansio::model::method::ToolsChanged;
use mcp_sansio::model::{ListChanged, LogParams, LoggingLevel, SubscriptionFilter};
use mcp_sansio::progress::{Progress, ProgressReport};
use mcp_sansio::subscription::{ChangedList, Delivery, Log};
use mcp_sansio::{
    ClientRequest, ErrorCode, IncomingId, Phase, RespondError, Revision, ServerEvent,
};
use mcp_sansio_proptests::ServerSide;

use crate::modern::kit::*;

const TOOLS: &str = r#""toolsListChanged":true"#;
const PROMPTS: &str = r#""promptsListChanged":true"#;
const RESOURCES: &str = r#""resourcesListChanged":true"#;
const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
const LISTS: [(ChangedList, &str, &str); 3] = [
    (ChangedList::Tools, TOOLS, TOOLS_CHANGED),
    (ChangedList::Prompts, PROMPTS, "notifications/prompts/list_changed"),
    (ChangedList::Resources, RESOURCES, "notifications/resources/list_changed"),
];

fn changed(side: &mut ServerSide, list: ChangedList) -> Delivery {
    side.server.notifications().list_changed(list, &mut side.out).unwrap()
}

fn update(side: &mut ServerSide, uri: &str) -> Delivery {
    side.server.notifications().resource_updated(uri, &mut side.out).unwrap()
}

/// A server whose application decides on subscriptions.
fn asking() -> ServerSide {
    server_with(|config| config.listening = Listening::Asked)
}

/// Proves M-SUB-02: an invalid filter is refused.
#[test]
fn a_filter_has_to_be_one() {
    let mut side = server();
    for params in [
        "",
        r#""notifications":[]"#,
        r#""notifications":true"#,
        r#""notifications":{"toolsListChanged":1}"#,
        r#""notifications":{"promptsListChanged":"true"}"#,
        r#""notifications":{"resourcesListChanged":{}}"#,
        r#""notifications":{"resourceSubscriptions":"x:y"}"#,
        r#""notifications":{"resourceSubscriptions":[7]}"#,
    ] {
        let event = side.receive(&modern_request("1", "subscriptions/listen", params));
        let Some(ServerEvent::Violation(violation)) = event else { panic!("{event:?} {params}") };
        let text = format!("invalid params: {}", violation.misfit.unwrap());
        assert_eq!(side.sent(), [error("1", -32602, &text)]);
        lives(&mut side);
    }
}

/// Proves M-SUB-03, M-SUB-04, M-SUB-32, M-AMB-41: a subscription may be empty.
#[test]
fn one_can_subscribe_to_nothing() {
    for filter in [
        "",
        r#""toolsListChanged":false,"x":true"#,
        r#""resourceSubscriptions":[]"#,
        r#""toolsListChanged":null"#,
    ] {
        for asked in [Listening::Granted, Listening::Asked] {
            let mut side = server_with(|config| config.listening = asked);
            let id = subscribe(&mut side, "1", filter, "");
            for (list, ..) in LISTS {
                assert_eq!(changed(&mut side, list), Delivery::NotWanted);
            }
            assert_eq!(update(&mut side, "x:y"), Delivery::NotWanted);
            assert_eq!(side.sent(), [""; 0]);
            side.server.respond(id, &(), &mut side.out).unwrap();
            assert_eq!(side.sent(), [ended("1")]);
        }
    }
    let mut side = server_with(|config| config.capabilities = Default::default());
    let all = format!(r#"{TOOLS},{PROMPTS},{RESOURCES},"resourceSubscriptions":["x:y"]"#);
    subscribe(&mut side, "1", &all, "");
}

/// Proves M-SUB-06, M-SUB-07, M-META-14, M-AMB-20: every message of a subscription has the id of its request,
/// unchanged.
#[test]
fn everything_of_a_subscription_has_its_id() {
    for id in ["7", r#""a""#, "0", r#""""#, r#""7""#, r#""\u0061""#, "9007199254740993"] {
        let mut side = server();
        let filter = format!(r#"{TOOLS},{PROMPTS},{RESOURCES},"resourceSubscriptions":["x:y"]"#);
        let request = subscribe(&mut side, id, &filter, &filter);
        for (list, _, method) in LISTS {
            assert_eq!(changed(&mut side, list), Delivery::Sent);
            assert_eq!(side.sent(), [tagged(id, method, "")]);
        }
        assert_eq!(update(&mut side, "x:y"), Delivery::Sent);
        assert_eq!(side.sent(), [updated(id, "x:y")]);
        side.server.respond(request, &(), &mut side.out).unwrap();
        assert_eq!(side.sent(), [ended(id)]);
    }
}

/// Proves M-SUB-08: only requested changes are notified.
#[test]
fn only_requested_changes_are_notified() {
    for (wanted, filter, method) in LISTS {
        let mut side = server();
        subscribe(&mut side, "1", filter, filter);
        for (list, ..) in LISTS {
            let expected = if list == wanted { Delivery::Sent } else { Delivery::NotWanted };
            assert_eq!(changed(&mut side, list), expected);
        }
        assert_eq!(update(&mut side, "x:y"), Delivery::NotWanted);
        assert_eq!(side.sent(), [tagged("1", method, "")]);
    }
}

/// Proves M-SUB-09, M-SUB-10: for each kind, the granted filter is the part that is requested and declared.
#[test]
fn a_granted_filter_is_the_requested_and_declared_part() {
    let kinds = [TOOLS, PROMPTS, RESOURCES, r#""resourceSubscriptions":["x:z","x:y"]"#];
    let granted = [TOOLS, PROMPTS, RESOURCES, r#""resourceSubscriptions":["x:y","x:z"]"#];
    let has = |set: u32, bit: usize| set & 1 << bit != 0;
    let chosen = |from: [&str; 4], set: u32| {
        let chosen: Vec<&str> = (0..4).filter(|bit| has(set, *bit)).map(|bit| from[bit]).collect();
        chosen.join(",")
    };
    for declared in 0..16_u32 {
        for asked in 0..16_u32 {
            let mut side = server_with(|config| {
                let flag =
                    |bit| ListChanged::notified().list_changed.filter(|_| has(declared, bit));
                let capabilities = &mut config.capabilities;
                capabilities.tools.as_mut().unwrap().list_changed = flag(0);
                capabilities.prompts.as_mut().unwrap().list_changed = flag(1);
                let resources = capabilities.resources.as_mut().unwrap();
                (resources.list_changed, resources.subscribe) = (flag(2), flag(3));
            });
            let filter = chosen(kinds, asked);
            subscribe(&mut side, "1", &filter, &chosen(granted, asked & declared));
        }
    }
}

/// Proves M-SUB-10, M-SUB-05, M-SUB-30, M-R-05, M-AMB-16: the filter that the application grants, and the changes
/// up to the grant.
#[test]
fn the_application_grants_and_nothing_is_lost_meanwhile() {
    let mut side = asking();
    let filter = format!(r#"{TOOLS},{PROMPTS},"resourceSubscriptions":["x:y","x:z"]"#);
    let request = request(&mut side, &listen("1", &filter));
    assert_eq!(
        request.kind,
        ClientRequest::Listen(mcp_sansio::json::Raw::new(&format!("{{{filter}}}")).unwrap())
    );
    for (list, expected) in [
        (ChangedList::Tools, Delivery::Held),
        (ChangedList::Tools, Delivery::Held),
        (ChangedList::Prompts, Delivery::Held),
        (ChangedList::Resources, Delivery::NotWanted),
    ] {
        assert_eq!(changed(&mut side, list), expected);
    }
    assert_eq!(update(&mut side, "x:z"), Delivery::Held);
    assert_eq!(side.sent(), [""; 0], "nothing precedes the acknowledgement");
    let grant = SubscriptionFilter::new().with_tools().with_resources().with_resource("x:z");
    side.server.grant(request.id, Some(&grant), &mut side.out).unwrap();
    let granted = format!(r#"{TOOLS},"resourceSubscriptions":["x:z"]"#);
    let expected =
        [acknowledged("1", &granted), tagged("1", TOOLS_CHANGED, ""), updated("1", "x:z")];
    assert_eq!(side.sent(), expected);
    // A second grant has no effect.
    side.server.grant(request.id, None, &mut side.out).unwrap();
    assert_eq!(changed(&mut side, ChangedList::Prompts), Delivery::NotWanted);
    assert_eq!(changed(&mut side, ChangedList::Tools), Delivery::Sent);
    assert_eq!(side.sent(), [tagged("1", TOOLS_CHANGED, "")]);
}

/// Proves M-SUB-10, M-SUB-37: the application grants the whole request or nothing.
#[test]
fn the_application_grants_everything_or_nothing() {
    let mut side = asking();
    let id = side.request(&listen("1", TOOLS));
    side.server.grant(id, None, &mut side.out).unwrap();
    assert_eq!(side.sent(), [acknowledged("1", TOOLS)]);
    let refused = side.request(&listen("2", TOOLS));
    side.server.reject(refused, ErrorCode::new(403), "not for you", &mut side.out).unwrap();
    assert_eq!(side.sent(), [error("2", 403, "not for you")]);
    assert_eq!(side.server.grant(refused, None, &mut side.out), Err(RespondError::Answered));
    assert_eq!(changed(&mut side, ChangedList::Tools), Delivery::Sent);
    assert_eq!(side.sent(), [tagged("1", TOOLS_CHANGED, "")]);
}

/// Proves M-SUB-15, M-SUB-27, M-STATE-07: subscriptions are independent.
#[test]
fn subscriptions_do_not_know_of_each_other() {
    let mut side = server();
    let first = subscribe(&mut side, "1", TOOLS, TOOLS);
    let both = format!("{TOOLS},{PROMPTS}");
    subscribe(&mut side, r#""1""#, &both, &both);
    assert_eq!(changed(&mut side, ChangedList::Tools), Delivery::Sent);
    assert_eq!(side.sent(), [tagged("1", TOOLS_CHANGED, ""), tagged(r#""1""#, TOOLS_CHANGED, "")]);
    let Some(ServerEvent::Cancelled(cancelled)) = side.receive(&cancel("1")) else { panic!() };
    assert_eq!((cancelled.id, cancelled.cause), (first, CancelCause::Peer));
    assert_eq!(changed(&mut side, ChangedList::Tools), Delivery::Sent);
    assert_eq!(side.sent(), [tagged(r#""1""#, TOOLS_CHANGED, "")]);
    subscribe(&mut side, "1", PROMPTS, PROMPTS);
    assert_eq!(changed(&mut side, ChangedList::Tools), Delivery::Sent);
    assert_eq!(side.sent(), [tagged(r#""1""#, TOOLS_CHANGED, "")]);
}

/// Proves M-SUB-17, M-SUB-16, M-CANC-06, M-CANC-11, M-R-09: after the cancellation by a client no message of the
/// subscription is sent.
#[test]
fn a_subscription_that_is_cancelled_is_silent() {
    let mut side = server();
    let id = subscribe(&mut side, "1", TOOLS, TOOLS);
    assert!(side.receive(&cancel("1")).is_some());
    assert_eq!(changed(&mut side, ChangedList::Tools), Delivery::NotWanted);
    assert_eq!(side.server.respond(id, &(), &mut side.out), Err(RespondError::Cancelled));
    side.server.shut_down(Duration::ZERO, side.now);
    side.outcomes();
    assert_eq!(side.server.phase(), Phase::Closed);
    assert_eq!(side.sent(), [""; 0]);
}

/// Proves M-SUB-18, M-AMB-01, M-CANC-11, M-CANC-12, M-R-07, M-R-08, M-R-40: a server that ends sends each
/// subscription its end, once, after all changes.
/// Pain 77.
#[test]
fn a_server_that_ends_says_so_once() {
    for by_end_of_input in [false, true] {
        let mut side = server();
        let first = subscribe(&mut side, "1", TOOLS, TOOLS);
        let second = subscribe(&mut side, "2", PROMPTS, PROMPTS);
        assert_eq!(changed(&mut side, ChangedList::Tools), Delivery::Sent);
        if by_end_of_input {
            side.server.disconnected(mcp_sansio::Cause::EndOfInput, side.now);
        } else {
            side.server.shut_down(Duration::from_secs(1), side.now);
        }
        let events = side.outcomes();
        let cancelled: Vec<IncomingId> = events
            .iter()
            .filter_map(|event| match event {
                ServerEvent::Cancelled(ended) => Some((ended.id, ended.cause)),
                _ => None,
            })
            .map(|(id, cause)| {
                assert_eq!(cause, CancelCause::Closed);
                id
            })
            .collect();
        assert_eq!(cancelled, [first, second]);
        assert_eq!(side.sent(), [tagged("1", TOOLS_CHANGED, ""), ended("1"), ended("2")]);
        assert_eq!(side.server.phase(), Phase::Closed);
        assert_eq!(side.outcomes(), []);
        assert_eq!(side.sent(), [""; 0]);
    }
}

/// A host that grants subscriptions itself reports them as the machine does.
#[test]
fn the_event_of_a_subscription_is_made_of_its_request() {
    let mut side = asking();
    let listen = request(&mut side, &listen("1", TOOLS));
    let subscribed = Subscribed::of(&listen).unwrap();
    assert_eq!((subscribed.id, subscribed.context), (listen.id, listen.context));
    assert_eq!(subscribed.requested.as_json(), format!("{{{TOOLS}}}"));
    let list = request(&mut side, &modern_request("2", "tools/list", ""));
    assert_eq!(Subscribed::of(&list), None);
}

/// Proves M-SUB-24, M-PROG-09, M-LOG-03: a subscription has neither progress nor log messages.
#[test]
fn a_subscription_has_neither_progress_nor_logs() {
    let mut side = server();
    let more = r#""progressToken":"p","io.modelcontextprotocol/logLevel":"debug""#;
    let filter = format!(r#""notifications":{{{TOOLS}}}"#);
    let Some(ServerEvent::Subscribed(subscribed)) =
        side.receive(&with_more("1", "subscriptions/listen", more, &filter))
    else {
        panic!();
    };
    assert_eq!(side.sent(), [acknowledged("1", TOOLS)]);
    let id = subscribed.id;
    let reported = side.server.progress(id, Progress::new(1_u32), side.now, &mut side.out);
    assert_eq!(reported, Ok(ProgressReport::NotWanted));
    let log = Log::new(LoggingLevel::Emergency, "fire").about(id);
    assert_eq!(side.server.notifications().log(&log, &mut side.out), Ok(Delivery::NotWanted));
    let log = LogParams::new(LoggingLevel::Emergency, mcp_sansio::json::Raw::new("1").unwrap());
    let logged = side.server.notify_method("notifications/message", &log, Some(id), &mut side.out);
    assert_eq!(logged, Ok(Delivery::NotWanted));
    assert_eq!(side.sent(), [""; 0]);
    lives(&mut side);
}

/// Proves M-SUB-25, M-SUB-26: URIs are compared as strings, unless the application names the parent resource.
#[test]
fn a_uri_names_itself_and_no_other() {
    let mut side = server();
    let filter = r#""resourceSubscriptions":["file:///d"]"#;
    subscribe(&mut side, "1", filter, filter);
    for uri in ["file:///d/", "file:///d/x", "FILE:///d", "file:///D", "file:///%64", ""] {
        assert_eq!(update(&mut side, uri), Delivery::NotWanted, "{uri}");
    }
    assert_eq!(side.sent(), [""; 0]);
    let below = |side: &mut ServerSide, uri: &str| {
        side.server.notifications().resource_updated_below("file:///d", uri, &mut side.out).unwrap()
    };
    assert_eq!(below(&mut side, "file:///d/x"), Delivery::Sent);
    assert_eq!(below(&mut side, "file:///d/y"), Delivery::Sent);
    assert_eq!(side.sent(), [updated("1", "file:///d/x"), updated("1", "file:///d/y")]);
    // A notification about a part does not report a change of the whole.
    assert_eq!(below(&mut side, "file:///d/x"), Delivery::Sent);
    assert_eq!(update(&mut side, "file:///d"), Delivery::Sent);
    assert_eq!(update(&mut side, "file:///d"), Delivery::Repeated);
    assert_eq!(side.sent(), [updated("1", "file:///d/x"), updated("1", "file:///d")]);
    assert_eq!(
        side.server.notifications().resource_updated_below(
            "file:///e",
            "file:///e/x",
            &mut side.out
        ),
        Ok(Delivery::NotWanted)
    );
}

/// Proves M-SUB-27: a change that is notified in any way reaches each subscriber.
#[test]
fn a_list_change_can_be_notified_by_its_method() {
    let mut side = server();
    subscribe(&mut side, "1", TOOLS, TOOLS);
    let delivered = side.server.notify::<ToolsChanged>(
        &mcp_sansio::model::method::Empty::default(),
        None,
        &mut side.out,
    );
    assert_eq!(delivered, Ok(Delivery::Sent));
    assert_eq!(side.sent(), [tagged("1", TOOLS_CHANGED, "")]);
}

/// Proves M-SUB-27: the same for a resource.
#[test]
fn a_resource_update_can_be_notified_by_its_method() {
    use mcp_sansio::model::ResourceUpdatedParams;
    use mcp_sansio::model::method::ResourceUpdated;
    let mut side = server();
    let filter = r#""resourceSubscriptions":["x:y"]"#;
    subscribe(&mut side, "1", filter, filter);
    let params = ResourceUpdatedParams::new("x:y");
    let delivered = side.server.notify::<ResourceUpdated>(&params, None, &mut side.out);
    assert_eq!(delivered, Ok(Delivery::Sent));
    assert_eq!(side.sent(), [updated("1", "x:y")]);
}

/// Proves M-SUB-31: a session has its own subscriptions and none of these.
#[test]
fn a_session_has_no_such_subscriptions() {
    for revision in Revision::LEGACY {
        let mut side = beside_session(revision);
        let frame = of_session("1", "subscriptions/listen", r#""notifications":{}"#);
        refused(&mut side, &frame, ViolationKind::MethodNotAvailable, &unavailable("1"));
        for method in ["resources/subscribe", "resources/unsubscribe"] {
            let frame = modern_request("1", method, r#""uri":"x:y""#);
            refused(&mut side, &frame, ViolationKind::MethodNotAvailable, &unavailable("1"));
        }
    }
}

/// Proves M-SUB-33: a subscription is never answered with a request for input, and its result cannot be cached.
#[test]
fn a_subscription_needs_no_input() {
    let mut side = asking();
    let request = request(
        &mut side,
        &of_client(
            "1",
            "subscriptions/listen",
            ABLE,
            &format!(
                r#""notifications":{{{TOOLS}}},"requestState":"s","inputResponses":{{"a":{{}}}}"#
            ),
        ),
    );
    assert_eq!((&request.inputs, &request.state), (&None, &None));
    let need = mcp_sansio::model::InputRequired::new().roots("r");
    let asked = side.server.require_input(&request, &need, side.now, &mut side.out);
    assert_eq!(asked, Err(RespondError::NotAllowed(mcp_sansio::error::NotAllowed::Method)));
    assert_eq!(side.sent(), [""; 0]);
    side.server.grant(request.id, None, &mut side.out).unwrap();
    assert_eq!(side.sent(), [acknowledged("1", TOOLS)]);
}
