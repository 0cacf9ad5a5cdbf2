//! Visits to URLs: their completion, and requests that wait for a visit.

use mcp_sansio::call::Cancellation;
use mcp_sansio::capability::Capability;
use mcp_sansio::error::ErrorObject;
use mcp_sansio::error::{CancelError, NotAllowed, NotifyError};
use mcp_sansio::event::Expiry;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    ElicitParams, ElicitResult, ElicitationRequired, ObjectSchema, PageParams, method,
};
use mcp_sansio::schema::{EncodeError, Problem};
use mcp_sansio::subscription::Delivery;
use mcp_sansio::{
    CallId, CallOptions, ClientEvent, ErrorCode, IncomingId, Outcome, RespondError, Revision,
    ServerEvent,
};
use mcp_sansio_proptests::{ClientSide, Seen, ServerSide, config, ready};

const REVISION: Revision = Revision::V2025_11_25;

/// The server requests a visit to a URL.
#[track_caller]
fn ask(side: &mut ServerSide, id: &str) -> CallId {
    let params = ElicitParams::url("m", "https://x/", id);
    let (now, options) = (side.now, CallOptions::new());
    side.server.call::<method::Elicit>(&params, options, now, &mut side.out).unwrap()
}

/// The server reports the completion of a visit.
fn complete(side: &mut ServerSide, id: &str) -> Result<Delivery, NotifyError> {
    side.server.notifications().elicitation_complete(id, &mut side.out)
}

/// The server refuses a request that needs a visit first.
fn require<T: serde::Serialize>(
    side: &mut ServerSide,
    request: IncomingId,
    data: &T,
) -> Result<(), RespondError> {
    let code = ErrorCode::URL_ELICITATION_REQUIRED;
    side.server.reject_with(
        request,
        &ErrorObject::with(code, "log in first", data).unwrap(),
        &mut side.out,
    )
}

fn by_url(id: &str) -> ElicitParams<'_> {
    ElicitParams::url("m", "https://x/", id)
}

fn asked(request: u32, id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{request},"method":"elicitation/create","params":{{"mode":"url","message":"m","url":"https://x/","elicitationId":"{id}"}}}}"#
    )
}

fn completed(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{{"elicitationId":"{id}"}}}}"#
    )
}

fn required(call: u32, data: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{call},"error":{{"code":-32042,"message":"log in first","data":{data}}}}}"#
    )
}

/// The data of an error that requests one visit.
fn visit(id: &str) -> String {
    format!(
        r#"{{"elicitations":[{{"mode":"url","message":"m","url":"https://x/","elicitationId":"{id}"}}]}}"#
    )
}

/// The id in the completion that a client received.
#[track_caller]
fn completed_elicitation_id(event: Option<ClientEvent<'static>>) -> String {
    let Some(ClientEvent::Notification(notification)) = event else { panic!("{event:?}") };
    let params = notification.parse::<method::ElicitationComplete>().unwrap().unwrap();
    params.elicitation_id.as_str().to_string()
}

#[track_caller]
fn ended(event: Option<ClientEvent<'static>>) -> (CallId, Outcome<'static>) {
    match event {
        Some(ClientEvent::CallEnded(ended)) => (ended.call, ended.outcome),
        other => panic!("no outcome: {other:?}"),
    }
}

/// The ids that an error requests.
#[track_caller]
fn wanted(outcome: &Outcome<'_>) -> Vec<String> {
    let Outcome::PeerError(error) = outcome else { panic!("{outcome:?}") };
    assert_eq!(error.code, ErrorCode::URL_ELICITATION_REQUIRED);
    let data = error.data.as_ref().unwrap().parse::<ElicitationRequired<'_>>().unwrap();
    let ids = data.elicitations.iter().map(|one| one.elicitation_id.as_ref().unwrap().as_str());
    ids.map(String::from).collect()
}

/// Proves L-ELIC-19: a completion has the id of an elicitation of this session, and is sent once.
#[test]
fn a_server_completes_only_elicitations_it_has_requested() {
    let mut side = ServerSide::ready(REVISION);
    assert_eq!(complete(&mut side, "e"), Err(NotifyError::UnknownElicitation));
    ask(&mut side, "e");
    ask(&mut side, "f");
    assert_eq!(side.sent(), [asked(1, "e"), asked(2, "f")]);
    let mut other = ServerSide::ready(REVISION);
    assert_eq!(complete(&mut other, "e"), Err(NotifyError::UnknownElicitation), "not asked there");
    assert_eq!(complete(&mut side, "E"), Err(NotifyError::UnknownElicitation));
    assert_eq!(complete(&mut side, "f"), Ok(Delivery::Sent));
    assert_eq!(complete(&mut side, "e"), Ok(Delivery::Sent));
    assert_eq!(complete(&mut side, "e"), Err(NotifyError::UnknownElicitation), "that was said");
    assert_eq!(side.sent(), [completed("f"), completed("e")]);
    // The same by the method name.
    ask(&mut side, "g");
    let params = Raw::new(r#"{"elicitationId":"h"}"#).unwrap();
    let name = "notifications/elicitation/complete";
    let notified = side.server.notify_method(name, &params, None, &mut side.out);
    assert_eq!(notified, Err(NotifyError::UnknownElicitation));
    // A form is never completed.
    side.call("elicitation/create");
    assert_eq!(complete(&mut side, ""), Err(NotifyError::UnknownElicitation));
    assert_eq!(side.sent().len(), 2);
    // Completions go only to clients with URLs, and do not exist before 2025-11-25.
    let mut early = ServerSide::ready(Revision::V2025_06_18);
    let refused = complete(&mut early, "e");
    assert_eq!(refused, Err(NotifyError::NotAllowed(NotAllowed::Revision)));
    assert_eq!(early.sent(), [""; 0]);
}

/// As many elicitations are remembered as the limit says, and the oldest is forgotten first.
#[test]
fn the_latest_elicitations_are_remembered() {
    let mut config = config::client();
    config.connection.limits.elicitations = 2;
    for (count, known) in [(2, [true, true, false]), (3, [false, true, true])] {
        let mut side = ClientSide::ready_with(config.clone(), REVISION);
        let ids = ["e", "f", "g"];
        for (request, id) in (1..).zip(ids).take(count) {
            side.request(&asked(request, id));
        }
        let is_known = ids.map(|id| side.receive(&completed(id)).is_some());
        assert_eq!(is_known, known, "{count}");
    }
}

/// Proves L-ELIC-20.
#[test]
fn a_client_ignores_completions_of_unknown_elicitations() {
    let mut side = ClientSide::ready(REVISION);
    assert_eq!(side.receive(&completed("e")), None);
    side.request(&asked(1, "e"));
    assert_eq!(side.receive(&completed("E")), None);
    assert_eq!(completed_elicitation_id(side.receive(&completed("e"))), "e");
    assert_eq!(side.receive(&completed("e")), None);
    // A refused elicitation never reached the application.
    let invalid = asked(2, "f").replace("https://x/", "").replace(r#""url":"","#, "");
    assert!(matches!(side.receive(&invalid), Some(ClientEvent::Violation(_))));
    assert_eq!(side.sent().len(), 1);
    assert_eq!(side.receive(&completed("f")), None);
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(side.client.in_flight().counts().violations, 1, "being ignored is no offence");
}

/// Proves L-ELIC-21.
#[test]
fn a_completion_may_come_before_the_answer_of_the_user() {
    let mut pair = ready(config::client(), config::server());
    let (now, options) = (pair.now, CallOptions::new());
    let call = pair
        .server
        .call::<method::Elicit>(&by_url("e"), options, now, &mut pair.server_out)
        .unwrap();
    pair.server.notifications().elicitation_complete("e", &mut pair.server_out).unwrap();
    let seen = pair.to_client(usize::MAX);
    let [Seen::Client(ClientEvent::Request(request)), Seen::Client(done)] = &seen[..] else {
        panic!("{seen:?}");
    };
    assert_eq!(completed_elicitation_id(Some(done.clone())), "e");
    assert_eq!(pair.client.in_flight().requests().collect::<Vec<_>>(), [request.id]);
    pair.client.respond(request.id, &ElicitResult::accept_url(), &mut pair.client_out).unwrap();
    let seen = pair.settle();
    let [Seen::Server(ServerEvent::CallEnded(ended))] = &seen[..] else { panic!("{seen:?}") };
    let Outcome::Result(result) = &ended.outcome else { panic!("{ended:?}") };
    assert_eq!((ended.call, result.as_json()), (call, r#"{"action":"accept"}"#));
}

/// Proves L-ELIC-22, L-ERR-27: the error is sent with its list, and is refused without the list.
#[test]
fn a_request_may_wait_for_a_visit() {
    let mut side = ServerSide::ready(REVISION);
    let request = side.request(r#"{"jsonrpc":"2.0","id":7,"method":"x/work"}"#);
    let code = ErrorCode::URL_ELICITATION_REQUIRED;
    let bare = side.server.reject(request, code, "m", &mut side.out);
    assert!(matches!(bare, Err(RespondError::Encode(EncodeError::Misfit(_)))), "{bare:?}");
    let other = require(&mut side, request, &serde_json::json!({"reason": "busy"}));
    assert!(matches!(other, Err(RespondError::Encode(EncodeError::Misfit(_)))), "{other:?}");
    assert_eq!(side.sent(), [""; 0]);
    let by_number = ErrorCode::new(-32042);
    let bare = side.server.reject(request, by_number, "m", &mut side.out);
    assert!(bare.is_err(), "a number is no way around it");
    assert_eq!(side.server.in_flight().requests().collect::<Vec<_>>(), [request]);
    let data = ElicitationRequired::new([by_url("e"), by_url("f")]);
    assert_eq!(require(&mut side, request, &data), Ok(()));
    assert_eq!(
        side.sent(),
        [
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32042,"message":"log in first","data":{"elicitations":[{"mode":"url","message":"m","url":"https://x/","elicitationId":"e"},{"mode":"url","message":"m","url":"https://x/","elicitationId":"f"}]}}}"#
        ]
    );
    // The elicitation is an ordinary one and can be completed.
    assert_eq!(complete(&mut side, "f"), Ok(Delivery::Sent));
    assert_eq!(side.sent(), [completed("f")]);
    // A client cannot request a visit.
    let mut client = ClientSide::ready(REVISION);
    let request = client.request(&asked(1, "e"));
    let refused = client.client.reject_with(
        request,
        &ErrorObject::with(code, "m", &data).unwrap(),
        &mut client.out,
    );
    assert_eq!(refused, Err(RespondError::NotAllowed(NotAllowed::Direction)));
}

/// Proves L-ELIC-23: if any member is missing, nothing is sent and the request stays open.
#[test]
fn the_list_of_visits_is_complete() {
    let form = || ElicitParams::form("m", ObjectSchema::default());
    let no = |clear: fn(&mut ElicitParams<'static>)| {
        let mut params = ElicitParams::url("m", "https://x/", "e");
        clear(&mut params);
        ElicitationRequired::new([params])
    };
    let strange_url = ElicitParams::url("m", "here", "e");
    let mut no_message = serde_json::json!({"elicitations": [
        {"mode": "url", "url": "https://x/", "elicitationId": "e"}]});
    let cases = [
        (ElicitationRequired::new([]), "elicitations"),
        (ElicitationRequired::new([form()]), "mode"),
        (ElicitationRequired::new([by_url("e"), form()]), "mode"),
        (no(|params| params.mode = None), "mode"),
        (no(|params| params.elicitation_id = None), "elicitationId"),
        (no(|params| params.url = None), "url"),
        (ElicitationRequired::new([strange_url]), "url"),
    ];
    let mut side = ServerSide::ready(REVISION);
    let request = side.request(r#"{"jsonrpc":"2.0","id":1,"method":"x/work"}"#);
    let mut field = |data: Raw<'_>| match require(&mut side, request, &data) {
        Err(RespondError::Encode(EncodeError::Misfit(misfit))) => misfit.field,
        other => panic!("{data:?}: {other:?}"),
    };
    for (data, expected) in cases {
        assert_eq!(field(Raw::from_serialize(&data).unwrap()), expected, "{data:?}");
    }
    assert_eq!(field(Raw::from_serialize(&no_message).unwrap()), "message");
    assert_eq!(field(Raw::new("{}").unwrap()), "elicitations");
    no_message["elicitations"][0]["message"] = "m".into();
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(complete(&mut side, "e"), Err(NotifyError::UnknownElicitation), "none has begun");
    assert_eq!(require(&mut side, request, &no_message), Ok(()));
    assert_eq!(complete(&mut side, "e"), Ok(Delivery::Sent));
}

/// Proves L-ELIC-24.
#[test]
fn only_a_client_that_visits_urls_is_sent_to_one() {
    let data = ElicitationRequired::new([by_url("e")]);
    for declared in [r#"{}"#, r#"{"elicitation":{}}"#, r#"{"elicitation":{"form":{}}}"#] {
        let mut side = ServerSide::fresh();
        let opened = side.receive(&format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{declared},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
        ));
        assert!(matches!(opened, Some(ServerEvent::Opened(_))));
        _ = side.sent();
        let request = side.request(r#"{"jsonrpc":"2.0","id":1,"method":"x/work"}"#);
        let missing = NotAllowed::Capability(Capability::ElicitationUrl);
        let refused = require(&mut side, request, &data);
        assert_eq!(refused, Err(RespondError::NotAllowed(missing)), "{declared}");
        // The request can be refused with another code.
        side.server.reject(request, ErrorCode::INTERNAL_ERROR, "m", &mut side.out).unwrap();
        assert_eq!(
            side.sent(),
            [r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"m"}}"#]
        );
    }
    for revision in [Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18] {
        let mut side = ServerSide::ready(revision);
        let request = side.request(r#"{"jsonrpc":"2.0","id":1,"method":"x/work"}"#);
        let refused = require(&mut side, request, &data);
        assert_eq!(refused, Err(RespondError::NotAllowed(NotAllowed::Revision)), "{revision}");
        assert_eq!(side.sent(), [""; 0]);
    }
}

/// Proves L-ELIC-25.
#[test]
fn a_client_tracks_elicitations_required_by_an_error() {
    let mut side = ClientSide::ready(REVISION);
    let call = side.call("tools/call");
    let (id, outcome) = ended(side.receive(&required(2, &visit("e"))));
    assert_eq!((id, wanted(&outcome)), (call, vec![String::from("e")]));
    assert_eq!(completed_elicitation_id(side.receive(&completed("e"))), "e");
    assert_eq!(side.receive(&completed("e")), None);
    let malformed = [
        "null".to_string(),
        "{}".to_string(),
        "[]".to_string(),
        r#"{"elicitations":[]}"#.to_string(),
        r#"{"elicitations":{"elicitationId":"f"}}"#.to_string(),
        visit("f").replace(r#""mode":"url","#, ""),
        visit("f").replace(r#""mode":"url""#, r#""mode":"form""#),
        visit("f").replace(r#""url":"https://x/","#, ""),
        visit("f").replace(r#""message":"m","#, ""),
        visit("f").replace(r#""f""#, "1"),
    ];
    for (number, data) in malformed.iter().enumerate() {
        side.call("tools/call");
        let (_, outcome) = ended(side.receive(&required(3 + number as u32, data)));
        let Outcome::PeerError(error) = outcome else { panic!("{data}: {outcome:?}") };
        assert_eq!(error.code, ErrorCode::URL_ELICITATION_REQUIRED, "{data}");
        assert_eq!(error.message, "log in first");
        assert_eq!(side.receive(&completed("f")), None, "{data}");
    }
    // The same data under another code requests no visit.
    side.call("tools/call");
    let other = required(13, &visit("g")).replace("-32042", "-32000");
    assert!(matches!(ended(side.receive(&other)).1, Outcome::PeerError(_)));
    assert_eq!(side.receive(&completed("g")), None);
    assert_eq!(side.client.in_flight().counts().violations, 0);
}

/// Proves L-ELIC-26, L-RACE-56: a retry is an ordinary call, made at any time, and it ends.
#[test]
fn a_call_that_needed_a_visit_is_made_again() {
    let mut side = ClientSide::ready(REVISION);
    let first = side.call("tools/call");
    let (_, outcome) = ended(side.receive(&required(2, &visit("e"))));
    assert_eq!(wanted(&outcome), ["e"]);
    let sent = side.sent();
    // Nothing waits for the completion: no timer runs, and no automatic retry is sent.
    assert_eq!(side.client.poll_timeout(), None);
    assert_eq!(side.elapse(1_000_000_000), []);
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(
        side.client.cancel(first, None, &mut side.out),
        Err(CancelError::NotInFlight),
        "it is over"
    );
    // A manual retry, before the completion.
    let second = side.call("tools/call");
    assert_ne!(first, second);
    assert_eq!(side.sent(), [sent[0].replace(r#""id":2"#, r#""id":3"#)]);
    let (id, _) = ended(side.receive(&required(3, &visit("e"))));
    assert_eq!(id, second);
    // A retry after the completion.
    assert_eq!(completed_elicitation_id(side.receive(&completed("e"))), "e");
    let third = side.call("tools/call");
    assert_eq!(side.sent(), [sent[0].replace(r#""id":2"#, r#""id":4"#)]);
    // A retry has the timeouts of any call and can be cancelled.
    let idle = config::client().connection.timeouts.idle.unwrap();
    assert_eq!(side.client.poll_timeout(), Some(side.now + idle));
    let expired = ended(side.elapse(idle.as_millis() as u64).pop());
    assert_eq!(expired, (third, Outcome::TimedOut(Expiry::Idle)));
    let fourth = side.call("tools/call");
    assert_eq!(side.sent().len(), 2);
    assert_eq!(side.client.cancel(fourth, None, &mut side.out), Ok(Cancellation::Notified));
}

/// Proves L-ELIC-27: no request exists that could be answered.
#[test]
fn declining_an_elicitation_of_an_error_sends_nothing() {
    let mut side = ClientSide::ready(REVISION);
    side.call("tools/call");
    _ = side.sent();
    assert_eq!(wanted(&ended(side.receive(&required(2, &visit("e")))).1), ["e"]);
    assert_eq!(side.client.in_flight().requests().collect::<Vec<_>>(), []);
    let counts = side.client.in_flight().counts();
    assert_eq!((counts.inbound, counts.outbound), (0, 0));
    assert_eq!(side.outcomes(), []);
    assert_eq!(side.sent(), [""; 0]);
}

/// Proves L-RACE-55: at any time, each known elicitation has one completion event.
#[test]
fn a_completion_may_come_at_any_time() {
    let mut side = ClientSide::ready(REVISION);
    // Before the user has answered, and after.
    let before = side.request(&asked(1, "a"));
    assert_eq!(completed_elicitation_id(side.receive(&completed("a"))), "a");
    side.respond(before, r#"{"action":"accept"}"#);
    assert_eq!(side.receive(&completed("a")), None, "twice");
    let after = side.request(&asked(2, "b"));
    side.respond(after, r#"{"action":"accept"}"#);
    assert_eq!(completed_elicitation_id(side.receive(&completed("b"))), "b");
    // After the user has declined, and after the server has cancelled.
    let declined = side.request(&asked(3, "c"));
    side.respond(declined, r#"{"action":"decline"}"#);
    assert_eq!(completed_elicitation_id(side.receive(&completed("c"))), "c");
    side.request(&asked(4, "d"));
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}"#;
    assert!(matches!(side.receive(cancel), Some(ClientEvent::Cancelled(_))));
    assert_eq!(completed_elicitation_id(side.receive(&completed("d"))), "d");
    assert_eq!(side.sent().len(), 3, "the answers of the user, and nothing else");
    // Before the error with the elicitation arrives, and before the application handles the error.
    side.call("tools/call");
    assert_eq!(side.receive(&completed("e")), None, "unknown as yet");
    assert_eq!(wanted(&ended(side.receive(&required(2, &visit("e")))).1), ["e"]);
    assert_eq!(completed_elicitation_id(side.receive(&completed("e"))), "e");
    assert_eq!(side.receive(&completed("e")), None);
    // The server may report a completion after any answer of the user.
    let mut server = ServerSide::ready(REVISION);
    for (number, action) in ["accept", "decline", "cancel"].into_iter().enumerate() {
        ask(&mut server, action);
        let id = number + 1;
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"{action}"}}}}"#);
        assert!(matches!(server.receive(&answer), Some(ServerEvent::CallEnded(_))));
        _ = server.sent();
        assert_eq!(complete(&mut server, action), Ok(Delivery::Sent));
        assert_eq!(server.sent(), [completed(action)]);
    }
}

/// Proves L-RACE-57.
#[test]
fn a_retry_that_comes_too_soon_is_asked_for_a_visit_again() {
    let mut pair = ready(config::client(), config::server());
    let mut known = Vec::new();
    for (attempt, id) in ["e", "e", "f"].into_iter().enumerate() {
        let (now, options) = (pair.now, CallOptions::new());
        let params = PageParams::default();
        let call = pair
            .client
            .call::<method::ListTools>(&params, options, now, &mut pair.client_out)
            .unwrap();
        let seen = pair.to_server(usize::MAX);
        let [Seen::Server(ServerEvent::Request(request))] = &seen[..] else { panic!("{seen:?}") };
        let data = ElicitationRequired::new([by_url(id)]);
        let code = ErrorCode::URL_ELICITATION_REQUIRED;
        let out = &mut pair.server_out;
        assert_eq!(
            pair.server.reject_with(request.id, &ErrorObject::with(code, "m", &data).unwrap(), out),
            Ok(()),
            "{attempt}"
        );
        let seen = pair.settle();
        let [Seen::Client(event)] = &seen[..] else { panic!("{seen:?}") };
        let (ended, outcome) = ended(Some(event.clone()));
        assert_eq!(ended, call);
        known.extend(wanted(&outcome));
        assert_eq!(pair.settle(), [], "nothing is made again by itself");
        assert_eq!(pair.client.poll_timeout(), None);
    }
    assert_eq!(known, ["e", "e", "f"]);
    // Each visit is completed once, however often it was requested.
    for id in ["e", "f"] {
        let out = &mut pair.server_out;
        assert_eq!(pair.server.notifications().elicitation_complete(id, out), Ok(Delivery::Sent));
        let again = pair.server.notifications().elicitation_complete(id, out);
        assert_eq!(again, Err(NotifyError::UnknownElicitation));
        let seen = pair.settle();
        let [Seen::Client(event)] = &seen[..] else { panic!("{seen:?}") };
        assert_eq!(completed_elicitation_id(Some(event.clone())), id);
    }
}

/// Proves L-ELIC-17 for several visits of one error.
#[test]
fn two_visits_of_one_error_do_not_share_an_id() {
    let mut side = ServerSide::ready(REVISION);
    let request = side.request(r#"{"jsonrpc":"2.0","id":1,"method":"x/work"}"#);
    let data = ElicitationRequired::new([by_url("e"), by_url("e")]);
    let Err(RespondError::Encode(EncodeError::Misfit(misfit))) = require(&mut side, request, &data)
    else {
        panic!("it was sent: {:?}", side.sent());
    };
    assert_eq!((misfit.field, misfit.problem), ("elicitationId", Problem::NotAllowed));
}
