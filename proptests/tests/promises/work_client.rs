//! The cost of a message for a client, beside all state that its server can pile up, in steps of `WorkMeter`.

use mcp_sansio::call::{Paging, TaskOptions};
use mcp_sansio::json::Raw;
use mcp_sansio::model::{SubscriptionFilter, method};
use mcp_sansio::testing::WorkMeter;
use mcp_sansio::{CallOptions, ClientEvent, Limits, Phase, Revision, RevisionSet};
use mcp_sansio_proptests::{ClientSide, config};

use super::work::{colliding_ids, is_flat, request};

/// A name, and functions that create a client and its pile.
type Pile = (&'static str, fn() -> ClientSide, fn(&mut ClientSide));

/// The state that servers can pile up, given the requests of the application.
const PILES: [Pile; 13] = [
    ("calls that wait", in_session, calls),
    ("calls that are remembered", in_session, remembered),
    ("requests of the server in flight", in_session, requests),
    ("requests whose ids collide", in_session, colliding),
    ("elicitations", in_session, elicitations),
    ("subscriptions of a session", in_session, subscriptions),
    ("what has changed for subscriptions of a session", in_session, changes),
    ("messages that wait for the session", ClientSide::fresh, messages_held),
    ("answers that have not been sent", in_session, unsent),
    ("pages of a list", in_session, pages),
    ("tasks of the server", without_session, tasks),
    ("subscriptions that are not open, and what came too early", without_session, early),
    ("what calls need", without_session, needs),
];

fn in_session() -> ClientSide {
    ClientSide::ready(Revision::V2025_11_25)
}

fn result(id: u64, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{members}}}}}"#)
}

fn notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{{params}}}}}"#)
}

/// Creates a client of a modern server. Its next request has id 2.
fn without_session() -> ClientSide {
    let mut config = config::client_of_both_eras();
    config.capabilities = config.capabilities.with_tasks();
    config.revisions = RevisionSet::MODERN;
    let mut side = ClientSide::with(config);
    side.client.connect(side.now, &mut side.out).unwrap();
    let discovery = r#""resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"extensions":{"io.modelcontextprotocol/tasks":{}}},"ttlMs":0,"cacheScope":"private""#;
    assert!(side.receive(&result(1, discovery)).is_some());
    _ = side.sent();
    side
}

fn calls(side: &mut ClientSide) {
    for _ in 10..Limits::default().outbound_calls {
        side.call("x/call");
        _ = side.sent();
    }
}

fn remembered(side: &mut ClientSide) {
    for _ in 0..2 * Limits::default().remembered_calls {
        let call = side.call("x/call");
        _ = side.sent();
        side.client.cancel(call, None, &mut side.out).unwrap();
        _ = side.sent();
    }
}

fn requests(side: &mut ClientSide) {
    for id in 10..Limits::default().inbound_requests {
        side.request(&request(&id.to_string(), "roots/list", "{}"));
    }
}

fn colliding(side: &mut ClientSide) {
    for id in colliding_ids().take(1_000) {
        _ = side.receive(&request(&id.to_string(), "roots/list", "{}"));
        _ = side.sent();
    }
    let open = side.client.in_flight().requests().count();
    assert!(open < 1_000 || cfg!(mutants), "they do not collide");
}

fn elicitations(side: &mut ClientSide) {
    for number in 0..2 * Limits::default().elicitations {
        let params = format!(
            r#"{{"mode":"url","message":"m","url":"https://x/","elicitationId":"{number:0200}"}}"#
        );
        let id = side.request(&request("1", "elicitation/create", &params));
        side.respond(id, r#"{"action":"accept"}"#);
        _ = side.sent();
    }
}

/// Opens subscriptions, each with a resource of its own, and one with many.
fn subscriptions(side: &mut ClientSide) {
    let mut id = 2;
    for number in 0..64 {
        let filter = SubscriptionFilter::new().with_resource(format!("file:///{number}/"));
        subscribe(side, &filter, &mut id);
    }
    let filter = (0..256).fold(SubscriptionFilter::new(), |filter, number| {
        filter.with_resource(format!("file:///many/{number}/"))
    });
    subscribe(side, &filter, &mut id);
}

/// Lets the server grant a subscription. The requests for its resources come after its own id.
fn subscribe(side: &mut ClientSide, filter: &SubscriptionFilter<'_>, id: &mut u64) {
    side.client.subscribe(filter, side.now, &mut side.out).unwrap();
    let asked = side.sent().len() as u64;
    for asked in 1..=asked {
        _ = side.receive(&result(*id + asked, ""));
    }
    *id += 1 + asked;
    _ = side.outcomes();
    _ = side.sent();
}

/// Two subscriptions have the same filter, and the application does not poll the events.
fn changes(side: &mut ClientSide) {
    for _ in 0..2 {
        let filter = SubscriptionFilter::new().with_tools();
        side.client.subscribe(&filter, side.now, &mut side.out).unwrap();
    }
    assert_eq!(side.outcomes().len(), 2);
    for _ in 0..10_000 {
        drop(side.receive(&notification("tools/list_changed", "")));
    }
}

fn messages_held(side: &mut ClientSide) {
    while side.client.notify_method("x", &(), None, &mut side.out).is_ok()
        && side.client.notify_method("y", &(), None, &mut side.out).is_ok()
    {}
}

fn unsent(side: &mut ClientSide) {
    while side.out.len() < Limits::default().outbox_bytes / 16 {
        _ = side.receive(&request("1", "ping", "{}"));
    }
}

/// A list in which every page names another one.
fn pages(side: &mut ClientSide) {
    let paging = Paging::default();
    let (options, now) = (CallOptions::new(), side.now);
    side.client.list::<method::ListTools>(paging, options, now, &mut side.out).unwrap();
    for id in 2..500 {
        let page = format!(r#""tools":[],"nextCursor":"{id}""#);
        if !matches!(side.receive(&result(id, &page)), Some(ClientEvent::Page(_))) {
            return;
        }
        _ = side.sent();
    }
}

fn tasks(side: &mut ClientSide) {
    for id in 2..514 {
        call_tool(side);
        let task = format!(
            r#""resultType":"task","taskId":"t-{id}","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":null"#
        );
        assert!(matches!(side.receive(&result(id, &task)), Some(ClientEvent::Task(_))));
    }
}

fn call_tool(side: &mut ClientSide) {
    let params = Raw::new(r#"{"name":"t"}"#).unwrap();
    let options = CallOptions::new().task(TaskOptions::new());
    side.client.call_method("tools/call", &params, options, side.now, &mut side.out).unwrap();
    _ = side.sent();
}

fn early(side: &mut ClientSide) {
    for number in 2..258 {
        let filter = SubscriptionFilter::new().with_tools();
        side.client.subscribe(&filter, side.now, &mut side.out).unwrap();
        let tag = format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{number}}}"#);
        for _ in 0..=Limits::default().early_notifications {
            _ = side.receive(&notification("tools/list_changed", &tag));
        }
    }
    _ = side.sent();
}

/// The application does not poll the requests for input.
fn needs(side: &mut ClientSide) {
    let asks = |key: u32| format!(r#""{key}":{{"method":"roots/list"}}"#);
    let keys: Vec<String> = (0..60).map(asks).collect();
    let needs = format!(r#""resultType":"input_required","inputRequests":{{{}}}"#, keys.join(","));
    for id in 0..16 {
        call_tool(side);
        // Each of the requests gets another id when it is repeated.
        assert!(side.receive(&result(2 + 2 * id, &needs)).is_some());
    }
}

/// Returns the steps of common messages, and of the response to a call.
fn cost(side: &mut ClientSide) -> Vec<u64> {
    let unsent = side.out.len();
    let mut costs = Vec::new();
    let mut answer = String::new();
    if side.client.phase() != Phase::Opening {
        side.call("x/call");
        let sent = String::from_utf8_lossy(side.out.unsent());
        let id = sent.rsplit(r#""id":"#).next().and_then(|rest| rest.split(',').next());
        answer = result(id.unwrap().parse().unwrap(), "");
        if unsent == 0 {
            _ = side.sent();
        }
    }
    let colliding = colliding_ids().nth(1_000).unwrap();
    let tag = r#""_meta":{"io.modelcontextprotocol/subscriptionId":2}"#;
    for text in [
        answer,
        request("\"p\"", "ping", "{}"),
        request("\"c\"", "roots/list", "{}"),
        notification("cancelled", r#""requestId":"c""#),
        result(987_654_321, ""),
        result(1, ""),
        String::from("noise"),
        request(&colliding.to_string(), "ping", "{}"),
        notification("tools/list_changed", tag),
        notification("resources/updated", r#""uri":"file:///none/""#),
        notification("progress", r#""progressToken":987654321,"progress":1"#),
        notification("elicitation/complete", r#""elicitationId":"none""#),
        notification("tasks/status", r#""taskId":"none","status":"working""#),
    ] {
        let meter = WorkMeter::start();
        _ = side.client.receive(text.as_str(), side.now, &mut side.out);
        _ = side.client.poll_timeout();
        costs.push(meter.steps());
        // Keeps the pile that existed before.
        if unsent == 0 {
            _ = side.sent();
        }
    }
    if side.client.revision().is_some_and(|revision| revision == Revision::LATEST_MODERN) {
        costs.push(cost_of_giving_up(side));
    }
    costs
}

/// Returns the steps of cancelling a call that requires two inputs, one of which was not delivered to the
/// application.
fn cost_of_giving_up(side: &mut ClientSide) -> u64 {
    let call = side.call("tools/call");
    let sent = side.sent();
    let sent: serde_json::Value = serde_json::from_str(sent.last().unwrap()).unwrap();
    let needs = r#""resultType":"input_required","inputRequests":{"a":{"method":"roots/list"},"b":{"method":"roots/list"}}"#;
    assert!(side.receive(&result(sent["id"].as_u64().unwrap(), needs)).is_some());
    let meter = WorkMeter::start();
    side.client.cancel(call, None, &mut side.out).unwrap();
    meter.steps()
}

/// Checks that no pile of a server makes a message cost more than four times as much.
pub(super) fn check() {
    for (name, begin, pile) in PILES {
        let usual = cost(&mut begin());
        let mut side = begin();
        pile(&mut side);
        let piled = cost(&mut side);
        println!("{name}: {piled:?} steps, and {usual:?} without");
        is_flat(name, &piled, &usual);
    }
}
