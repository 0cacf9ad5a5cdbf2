//! The standalone event stream of a session, and the routing of messages.

use mcp_sansio::error::NotAllowed;
use mcp_sansio::http::{ResponseMode, ResponsePart};
use mcp_sansio::model::ElicitParams;
use mcp_sansio::subscription::{ChangedList, Delivery};
use mcp_sansio::{CallError, CallOptions, IncomingId, Server, ServerEvent};

use super::message::{fault, plain, progress, result};
use super::site::{
    Site, Turn, event, get, in_session, json, modern_headers, numbered, priming, status, stream,
};
use super::validator::discover;

const TOOLS: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
const PROMPTS: &str = r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#;
const ASKED: &str = r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{}}}}"#;

/// Sends the notification of a changed list in the only session.
pub(crate) fn changed(site: &mut Site, list: ChangedList) -> Option<Delivery> {
    let connection = site.http.connections().next().unwrap();
    let delivered = site
        .http
        .with(connection, site.now, |server, out| server.notifications().list_changed(list, out));
    delivered.unwrap().ok()
}

/// Sends an elicitation because of a request.
pub(crate) fn elicit(site: &mut Site, request: IncomingId) -> Result<(), String> {
    let schema = mcp_sansio::model::ObjectSchema::new(Default::default());
    let params = ElicitParams::form("who?", schema);
    let now = site.now;
    site.with_machine(request, |server: &mut Server, out| {
        let options = CallOptions::new().parent(request);
        let call = server.call::<mcp_sansio::model::method::Elicit>(&params, options, now, out);
        call.map(|_| ()).map_err(|error| error.to_string())
    })
}

/// Returns a response to the elicitation.
pub(crate) fn accept(id: &str) -> String {
    result(id, r#""action":"accept","content":{}"#)
}

/// Opens the event stream.
pub(crate) fn listen(site: &mut Site, session: &str) -> Turn {
    let turn = site.send("GET", &get(session), "");
    assert_eq!(site.read_response(turn).status, 200);
    turn
}

/// Proves H-HTTP-154, H-HTTP-155, H-HTTP-156, H-HTTP-157, H-HTTP-140, H-HTTP-146, H-HR-11, L-HTTP-02, L-HTTP-03,
/// L-HTTP-04.
#[test]
fn every_message_goes_one_way() {
    let mut site = Site::new();
    let session = site.open("2025-06-18");
    let lines = in_session(&session);
    let standalone = listen(&mut site, &session);
    let second = site.send("GET", &get(&session), "");
    let refused = json(409, fault(-32600, "the session has an event stream already"));
    assert_eq!(site.read_response(second), refused);

    let token = r#""name":"t","_meta":{"progressToken":"p"}"#;
    let (turn, request) = site.ask(&lines, &plain("1", "tools/call", token));
    let (beside, other) = site.ask(&lines, &plain("2", "tools/call", token));
    assert_eq!(changed(&mut site, ChangedList::Tools), Some(Delivery::Sent));
    site.progress(request.id, 1);
    // The id of the elicitation belongs to the session, independent of the client's ids.
    elicit(&mut site, request.id).unwrap();
    assert_eq!(site.read_response(standalone), stream(&[event(TOOLS)], false));
    let mut events = vec![event(progress(r#""p""#, 1)), event(ASKED)];
    assert_eq!(site.read_response(turn), stream(&events, false));
    assert_eq!(site.read_response(beside).status, 0);

    let answered = site.send("POST", &lines, accept("1"));
    assert_eq!(site.read_response(answered), status(202));
    assert!(matches!(site.events()[..], [ServerEvent::CallEnded(_)]));
    site.respond(request.id, r#"{"content":[]}"#);
    site.respond(other.id, r#"{"content":[]}"#);
    assert_eq!(site.read_response(standalone), stream(&[event(TOOLS)], false), "no answers there");
    events.push(event(result("1", r#""content":[]"#)));
    assert_eq!(site.read_response(turn), stream(&events, true));
    assert_eq!(site.read_response(beside), json(200, result("2", r#""content":[]"#)));
    // A repeated response is unmatched.
    let again = site.send("POST", &lines, accept("1"));
    assert_eq!(site.read_response(again), status(202));
    assert!(matches!(site.events()[..], [ServerEvent::UnmatchedResponse(_)]));
}

/// Proves H-HTTP-158.
#[test]
fn notifications_wait_for_the_standalone_stream_within_a_limit() {
    for revision in ["2025-06-18", "2025-11-25"] {
        let mut site = Site::with(|http, _| http.standalone_bytes = 200);
        let session = site.open(revision);
        let lists = [
            ChangedList::Tools,
            ChangedList::Tools,
            ChangedList::Prompts,
            ChangedList::Tools,
            ChangedList::Resources,
        ];
        let delivered = lists.map(|list| changed(&mut site, list));
        // A waiting notification is not repeated, and the caller gets an error if there is no room.
        let (sent, repeated) = (Some(Delivery::Sent), Some(Delivery::Repeated));
        assert_eq!(delivered, [sent, repeated, sent, sent, None]);
        let turn = listen(&mut site, &session);
        let expected = match revision {
            "2025-06-18" => vec![event(TOOLS), event(PROMPTS), event(TOOLS)],
            _ => vec![
                priming("0-0"),
                numbered("0-1", TOOLS),
                numbered("0-2", PROMPTS),
                numbered("0-3", TOOLS),
            ],
        };
        assert_eq!(site.read_response(turn), stream(&expected, false));
        // The same holds after the client has disconnected again.
        site.disconnect(turn);
        changed(&mut site, ChangedList::Prompts);
        let turn = listen(&mut site, &session);
        assert!(site.read_response(turn).chunks.last().unwrap().contains(PROMPTS));
        assert!(!site.read_response(turn).chunks.concat().contains(TOOLS));
    }
}

/// Proves H-HTTP-145.
/// Pain 43.
#[test]
fn json_mode_sends_server_requests_on_the_standalone_stream() {
    let mut site = Site::with(|http, _| http.responses = ResponseMode::Json);
    let session = site.open("2025-06-18");
    let lines = in_session(&session);
    let (turn, request) = site.ask(&lines, &plain("1", "tools/call", r#""name":"t""#));
    assert!(elicit(&mut site, request.id).is_err(), "there is no way");
    let standalone = listen(&mut site, &session);
    _ = site.http.woken().count();
    elicit(&mut site, request.id).unwrap();
    assert_eq!(site.read_response(turn).status, 0);
    site.settle();
    let woken: Vec<u32> = site.http.woken().map(|(_, number)| number).collect();
    assert!(woken.contains(&site.exchange(standalone).response().stream()), "{woken:?}");
    assert_eq!(site.read_response(standalone), stream(&[event(ASKED)], false));
    let answered = site.send("POST", &lines, accept("1"));
    assert_eq!(site.read_response(answered), status(202));
    assert!(matches!(site.events()[..], [ServerEvent::CallEnded(_)]));
    site.respond(request.id, r#"{"content":[]}"#);
    assert_eq!(site.read_response(turn), json(200, result("1", r#""content":[]"#)));

    // A request of the server is withdrawn on the stream on which it was sent.
    let (turn, request) = site.ask(&lines, &plain("2", "tools/call", r#""name":"t""#));
    elicit(&mut site, request.id).unwrap();
    site.read_response(turn);
    assert_eq!(site.news(standalone).len(), 1);
    site.with_machine(request.id, |server, out| {
        assert_eq!(server.cancel_calls_made_for(request.id, None, out), 1);
    });
    site.read_response(turn);
    let cancelled =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
    assert_eq!(site.news(standalone), [event(cancelled)]);
}

/// A host polls the responses that have something to send, by their connection and their stream.
#[test]
fn a_response_is_woken_by_its_connection_and_its_stream() {
    let mut site = Site::new();
    site.open("2025-11-25");
    let session = site.open("2025-11-25");
    let (turn, request) = site.ask(&in_session(&session), &plain("1", "tools/list", ""));
    _ = site.http.woken().count();
    site.respond(request.id, r#"{"tools":[]}"#);
    let exchange = site.exchange(turn);
    assert_eq!(exchange.connection(), request.id.connection());
    let woken: Vec<_> = site.http.woken().collect();
    assert_eq!(woken, [(exchange.connection(), exchange.response().stream())]);
}

/// A host that polls its responses directly need not ask for the list of those to poll.
#[test]
fn the_list_of_responses_to_poll_is_bounded() {
    let mut site = Site::new();
    let session = site.open("2025-11-25");
    let lines = in_session(&session);
    for number in 1..1_000 {
        let id = number.to_string();
        assert_eq!(site.post(&lines, plain(&id, "ping", "")), json(200, result(&id, "")));
        let discovered = site.post(&modern_headers("server/discover"), discover());
        assert_eq!(discovered.status, 200);
        site.settle();
    }
    let woken = site.http.woken().count();
    assert!(woken <= 64, "{woken}");
    // Each response is named once.
    let exchanges = ["1", "2"].map(|id| {
        let call =
            plain(id, "tools/call", &format!(r#""name":"t","_meta":{{"progressToken":{id}}}"#));
        let (turn, request) = site.ask(&lines, &call);
        (site.exchange(turn), request.id)
    });
    for progress in 1..100 {
        exchanges.iter().for_each(|(_, request)| site.progress(*request, progress));
    }
    let expected =
        exchanges.map(|(exchange, _)| (exchange.connection(), exchange.response().stream()));
    assert!(site.http.woken().eq(expected));
}

/// A standalone stream that is full takes no more server requests of JSON responses until its client has read it.
#[test]
fn json_mode_sends_no_server_request_on_a_full_stream() {
    let mut site = Site::with(|http, _| {
        (http.responses, http.standalone_bytes) = (ResponseMode::Json, TOOLS.len());
    });
    let session = site.open("2025-06-18");
    let standalone = listen(&mut site, &session);
    let (_, request) = site.ask(&in_session(&session), &plain("1", "tools/call", r#""name":"t""#));
    assert_eq!(changed(&mut site, ChangedList::Tools), Some(Delivery::Sent));
    let refused = CallError::NotAllowed(NotAllowed::Transport).to_string();
    assert_eq!(elicit(&mut site, request.id), Err(refused));
    assert_eq!(site.news(standalone), [event(TOOLS)]);
    assert_eq!(elicit(&mut site, request.id), Ok(()));
}

/// Proves H-HTTP-116, H-HTTP-07.
#[test]
fn a_silent_stream_says_that_it_lives() {
    let mut site = Site::new();
    let session = site.open("2025-06-18");
    let turn = listen(&mut site, &session);
    for _ in 0..3 {
        site.elapse(14_999);
        assert!(site.news(turn).is_empty());
        site.elapse(1);
        assert_eq!(site.news(turn), [": \n\n"]);
    }
    let mut site = Site::with(|http, _| http.keep_alive = None);
    let session = site.open("2025-06-18");
    let turn = listen(&mut site, &session);
    site.elapse(1_000_000);
    assert!(site.news(turn).is_empty());
    assert_eq!(site.part(turn), (ResponsePart::Nothing, String::new()));
}
