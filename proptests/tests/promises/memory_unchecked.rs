//! Lists and objects of a peer that have any number of entries allocate only for the entries that are needed.

use mcp_sansio::error::ViolationKind;
use mcp_sansio::event::SubscriptionNews;
use mcp_sansio::model::{
    ElicitParams, Map, ObjectSchema, PrimitiveSchema, StringSchema, SubscriptionFilter, method,
};
use mcp_sansio::{CallOptions, ClientEvent, Outcome, Revision, RevisionSet, ServerEvent};
use mcp_sansio_proptests::allocations::count;
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

use super::memory_tables::{ALONE, request, result};

/// The number of entries.
const MANY: usize = 50_000;

/// The maximum number of allocations for a message.
const FEW: u64 = 200;

fn many_uris() -> String {
    let uris: Vec<String> = (0..MANY).map(|uri| format!("\"a:{uri}\"")).collect();
    uris.join(",")
}

/// A subscription to more resources than a server accepts is refused before it is read.
#[test]
fn a_subscription_beyond_the_limit_allocates_little() {
    let mut side = ServerSide::with(config::server_of_both_eras());
    let uris = many_uris();
    for filter in [
        format!(r#""resourceSubscriptions":[{uris}]"#),
        format!(r#""taskIds":[{uris}],"resourceSubscriptions":[{uris}]"#),
    ] {
        let params = format!(r#"{ALONE},"notifications":{{{filter}}}"#);
        let listen = request("1", "subscriptions/listen", &params);
        let (event, allocations) = count(|| side.server.receive(&*listen, side.now, &mut side.out));
        let Some(ServerEvent::Violation(violation)) = event else { panic!("{event:?}") };
        assert_eq!(violation.kind, ViolationKind::TooManySubscriptions);
        assert!(allocations < FEW, "{allocations} allocations");
    }
}

/// A server that grants more than was requested makes the client keep only the requested part.
#[test]
fn an_acknowledgement_beyond_the_request_allocates_little() {
    let mut config = config::client_of_both_eras();
    config.revisions = RevisionSet::MODERN;
    let mut side = ClientSide::with(config);
    side.client.connect(side.now, &mut side.out).unwrap();
    let discovery = r#""resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"resources":{"subscribe":true}},"ttlMs":0,"cacheScope":"private""#;
    assert!(side.receive(&result(1, discovery)).is_some());
    let filter = SubscriptionFilter::new().with_resource("a:7").with_resource("b:7");
    side.client.subscribe(&filter, side.now, &mut side.out).unwrap();
    let uris = many_uris();
    let acknowledged = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"notifications":{{"resourceSubscriptions":[{uris}],"taskIds":[{uris}]}},"_meta":{{"io.modelcontextprotocol/subscriptionId":2}}}}}}"#
    );
    let (event, allocations) =
        count(|| side.client.receive(&*acknowledged, side.now, &mut side.out));
    let Some(ClientEvent::Subscription(update)) = event else { panic!("{event:?}") };
    let SubscriptionNews::Granted { refused, .. } = update.news else { panic!("{update:?}") };
    assert_eq!(refused.as_json(), r#"{"resourceSubscriptions":["b:7"]}"#);
    assert!(allocations < FEW, "{allocations} allocations");
}

/// An accepted form with many members that the form does not have.
#[test]
fn a_form_with_unknown_members_allocates_little() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let mut fields = Map::default();
    fields.insert("name", PrimitiveSchema::String(StringSchema::default()));
    let params = ElicitParams::form("who?", ObjectSchema::new(fields));
    let (now, options) = (side.now, CallOptions::new());
    side.server.call::<method::Elicit>(&params, options, now, &mut side.out).unwrap();
    let members: Vec<String> = (0..MANY).map(|member| format!(r#""m{member}":1"#)).collect();
    let same = r#""name":"a""#;
    let content = format!("{},{same},{}", members.join(","), vec![same; MANY].join(","));
    let answer = result(1, &format!(r#""action":"accept","content":{{{content}}}"#));
    let (event, allocations) = count(|| side.server.receive(&*answer, side.now, &mut side.out));
    let Some(ServerEvent::CallEnded(ended)) = event else { panic!("{event:?}") };
    assert!(matches!(ended.outcome, Outcome::Result(_)), "{:?}", ended.outcome);
    assert!(allocations < FEW, "{allocations} allocations");
}
