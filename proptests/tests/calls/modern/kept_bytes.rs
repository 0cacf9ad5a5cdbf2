//! The bytes that a client counts for its server: required inputs, and notifications that wait for their subscription.

use mcp_sansio::event::{CancelCause, SubscriptionEnd, SubscriptionNews};
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::{CallId, ClientEvent, ErrorCode, Outcome};
use mcp_sansio_proptests::ClientSide;

use super::kit::{
    asked, complete, connected, connected_with, ended, modern, needed, news, only, result, tagged,
    violation,
};
use super::subscriptions::{granting, listen};

const FORM: &str = r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#;
const DONE: &str = r#"{"resultType":"complete","content":[]}"#;

/// A result that requires these inputs, with more members.
fn required(id: u64, inputs: &str, more: &str) -> String {
    let inputs = format!(r#""inputRequests":{{{inputs}}}"#);
    result(id, &format!(r#"{{"resultType":"input_required",{inputs}{more}}}"#))
}

/// An input that asks for the roots.
fn roots(key: &str) -> String {
    format!(r#""{key}":{{"method":"roots/list"}}"#)
}

fn kept(side: &ClientSide) -> usize {
    side.client.in_flight().counts().kept_bytes
}

/// A client that has called a tool; the id of the request is 2.
fn calling() -> (ClientSide, CallId) {
    let mut side = connected();
    let call = side.call("tools/call");
    assert_eq!(side.sent(), [asked(2, "tools/call", r#""name":"n""#)]);
    (side, call)
}

/// The keys and the state of a round are kept until the next one, because they are sent back. The params of an input
/// count twice until it is answered.
#[test]
fn required_inputs_are_kept_bytes() {
    let (mut side, call) = calling();
    assert_eq!(kept(&side), 0);
    let form = format!(r#""who":{{"method":"elicitation/create","params":{FORM}}}"#);
    let inputs = format!("{form},{}", roots("where"));
    let who = needed(side.receive(&required(2, &inputs, r#","requestState":"s1""#))).id;
    let place = needed(only(side.outcomes())).id;
    let (keys, state) = ("who".len() + "where".len(), r#""s1""#.len());
    let of_form = "who".len() + 2 * FORM.len();
    assert_eq!(kept(&side), keys + state + of_form + "where".len());
    side.respond(who, r#"{"action":"decline"}"#);
    assert_eq!(kept(&side), keys + state + "where".len());
    side.respond(place, r#"{"roots":[]}"#);
    assert_eq!(kept(&side), keys + state);
    assert_eq!(side.sent().len(), 1, "the request again");
    // The next round replaces the previous one.
    let again = needed(side.receive(&required(3, &roots("again"), ""))).id;
    assert_eq!(kept(&side), "again".len() + "again".len());
    side.respond(again, r#"{"roots":[]}"#);
    assert_eq!(kept(&side), "again".len());
    assert_eq!(side.sent().len(), 1);
    assert_eq!(complete(side.receive(&result(4, DONE))), (call, DONE.to_owned()));
    assert_eq!(kept(&side), 0);
}

/// A refused input frees the bytes of its call at once.
#[test]
fn a_refused_input_is_not_kept() {
    let (mut side, call) = calling();
    let input = needed(side.receive(&required(2, &roots("where"), r#","requestState":"s""#))).id;
    assert_eq!(kept(&side), "where".len() + r#""s""#.len() + "where".len());
    side.client.reject(input, ErrorCode::USER_REJECTED, "no", &mut side.out).unwrap();
    assert_eq!(kept(&side), 0);
    let refused = Outcome::InputRefused(ErrorCode::USER_REJECTED);
    assert_eq!(ended(only(side.outcomes())), (call, refused));
    assert_eq!(kept(&side), 0);
}

/// Calls that were cancelled after their input was refused do not delay the outcome of another one.
#[test]
fn the_outcome_of_a_refused_input_does_not_wait_for_cancelled_calls() {
    let mut side = connected();
    let calls = [(); 3].map(|()| side.call("tools/call"));
    _ = side.sent();
    for id in 2..5 {
        let input = needed(side.receive(&required(id, &roots("where"), ""))).id;
        side.client.reject(input, ErrorCode::USER_REJECTED, "no", &mut side.out).unwrap();
    }
    let [first, second, third] = calls;
    for call in [first, second] {
        assert!(side.client.cancel(call, None, &mut side.out).is_ok());
    }
    let refused = Outcome::InputRefused(ErrorCode::USER_REJECTED);
    assert_eq!(ended(only(side.outcomes())), (third, refused));
}

/// An input that ends before the application has received it leaves nothing to do.
#[test]
fn an_input_that_was_never_handed_out_ends_without_an_event() {
    let (mut side, call) = calling();
    let inputs = format!("{},{}", roots("a"), roots("b"));
    let first = needed(side.receive(&required(2, &inputs, ""))).id;
    assert!(side.client.cancel(call, None, &mut side.out).is_ok());
    let event = side.client.handle_timeout(side.now, &mut side.out);
    let Some(ClientEvent::Cancelled(cancelled)) = event else { panic!("{event:?}") };
    assert_eq!((cancelled.id, cancelled.cause), (first, CancelCause::CallEnded));
    // Any message passes the time to the clock, which stood still while a person was asked.
    assert!(side.receive(r#"{"jsonrpc":"2.0","method":"x/note"}"#).is_some());
    assert_eq!((side.client.poll_timeout(), kept(&side)), (None, 0));
}

/// The size of a notification that waits, with the params of `changed`.
const WAITING: usize = 64 + r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":2}}"#.len();

/// A client with these limits that has received two changes before its subscription was granted.
fn crowded(uri_bytes: usize, connection_bytes: usize) -> (ClientSide, CallId) {
    let mut config = modern();
    let limits = &mut config.connection.limits;
    limits.early_notifications = 2;
    (limits.uri_bytes, limits.connection_bytes) = (uri_bytes, connection_bytes);
    let mut side = connected_with(config);
    let filter = SubscriptionFilter::new().with_tools();
    let call = side.client.subscribe(&filter, side.now, &mut side.out).unwrap();
    assert_eq!(side.sent(), [listen(2, r#"{"toolsListChanged":true}"#)]);
    for _ in 0..2 {
        assert_eq!(side.receive(&tagged("tools/list_changed", "2", "")), None);
        violation(only(side.outcomes()));
    }
    (side, call)
}

/// The notifications that wait for their subscription are bounded by their number and their bytes, and the bytes of the
/// connection. The bounds themselves are allowed.
#[test]
fn notifications_that_wait_for_their_subscription_are_kept_bytes() {
    const LONG: usize = WAITING - 64;
    let table = [
        (LONG, usize::MAX, 2),
        (LONG - 1, usize::MAX, 1),
        (8_192, 2 * WAITING, 2),
        (8_192, 2 * WAITING - 1, 1),
    ];
    for (uri_bytes, connection_bytes, count) in table {
        let (mut side, call) = crowded(uri_bytes, connection_bytes);
        assert_eq!(kept(&side), count * WAITING, "{uri_bytes} {connection_bytes}");
        let granted = side.receive(&granting("2", r#"{"toolsListChanged":true}"#));
        assert!(matches!(news(granted), (id, SubscriptionNews::Granted { .. }) if id == call));
        let mut events = side.outcomes().into_iter().map(|event| news(Some(event)).1);
        for _ in 0..count {
            assert!(matches!(events.next(), Some(SubscriptionNews::Changed(_))));
        }
        let lagged = (count == 1).then_some(SubscriptionNews::Lagged { lost: 1 });
        assert_eq!((events.next(), events.next()), (lagged, None));
        assert_eq!(kept(&side), 0);
    }
}

/// The end of a subscription frees the bytes of the notifications that waited for it.
#[test]
fn notifications_end_with_their_subscription() {
    let (mut side, call) = crowded(8_192, usize::MAX);
    assert_eq!(kept(&side), 2 * WAITING);
    let (id, end) = news(side.receive(&result(2, r#"{"resultType":"complete"}"#)));
    assert_eq!((id, end), (call, SubscriptionNews::Ended(SubscriptionEnd::Finished)));
    assert_eq!(kept(&side), 0);
}

/// A subscription that is open, and has nothing to report, needs no call of `handle_timeout`.
#[test]
fn an_open_subscription_has_no_timer() {
    let (side, _) = super::subscriptions::open();
    assert_eq!(side.client.poll_timeout(), None);
}
