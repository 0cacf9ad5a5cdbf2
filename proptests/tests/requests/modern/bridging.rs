//! Required input in a session: the machine sends the requests, collects the answers and hands the request out
//! again.

use std::time::Duration;

use mcp_sansio::capability::{Capability, CapabilitySet};
use mcp_sansio::error::NotAllowed;
use mcp_sansio::event::CancelCause;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, ElicitParams, InputRequest, InputRequired};
use mcp_sansio::{Cause, Request, RespondError, Revision, ServerEvent};
use mcp_sansio_proptests::{ServerSide, config};

use crate::modern::kit::*;

const LATEST: Revision = Revision::V2025_11_25;
const FAILED: &str = r#""content":[{"type":"text","text":"the client did not give what was needed for this"}],"isError":true"#;

fn visit() -> ElicitParams<'static> {
    ElicitParams::visit("pay", "https://example.com/1")
}

fn call(side: &mut ServerSide) -> Request<'static> {
    let params = r#""name":"t","arguments":{"a":1},"_meta":{"mine":1}"#;
    let request = request(side, &of_session("1", "tools/call", params));
    assert_eq!(request.meta.as_ref().map(Raw::as_json), Some(r#"{"mine":1}"#));
    request
}

/// A request of the server with these params.
fn asks(id: u32, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"{params}}}"#)
}

/// The `roots/list` request of a session with this id.
fn roots(id: u32) -> String {
    asks(id, "roots/list", "")
}

/// The request that is handed out again.
#[track_caller]
fn resumed(event: Option<ServerEvent<'static>>) -> Request<'static> {
    match event {
        Some(ServerEvent::Request(request)) => request,
        other => panic!("not handed out again: {other:?}"),
    }
}

/// An input request that the application has not decoded is sent unchanged in both eras, as a gateway needs it.
#[test]
fn an_undecoded_input_request_is_sent_unchanged() {
    const FORM: &str = r#""params":{"message":"who?","requestedSchema":{"type":"object","properties":{},"x":1.0},"y":[1e2]}"#;
    const VISIT: &str = r#""params":{"mode":"url","message":"pay","url":"https://example.com/1"}"#;
    let elicit = |params: &str| format!(r#"{{"method":"elicitation/create",{params}}}"#);
    let as_it_stands = |text: String| InputRequest::Unknown(Raw::try_from(text).unwrap());
    let need = InputRequired::new()
        .request("form", as_it_stands(elicit(FORM)))
        .request("visit", as_it_stands(elicit(VISIT)))
        .request("where", as_it_stands(r#"{"method":"roots/list"}"#.into()));
    let mut side = beside_session(LATEST);
    let in_session = call(&mut side);
    assert_eq!(require(&mut side, &in_session, &need), Ok(()));
    let visit = VISIT.replace("/1\"}", "/1\",\"elicitationId\":\"0-2\"}");
    let asked = |id, params: &str| asks(id, "elicitation/create", &format!(",{params}"));
    assert_eq!(side.sent(), [asked(1, FORM), asked(2, &visit), roots(3)]);
    let modern = request(&mut side, &of_client("2", "tools/call", ABLE, r#""name":"t""#));
    assert_eq!(require(&mut side, &modern, &need), Ok(()));
    let (form, visit) = (elicit(FORM), elicit(VISIT));
    let requests = format!(r#""form":{form},"visit":{visit},"where":{{"method":"roots/list"}}"#);
    assert!(side.sent()[0].contains(&format!(r#""inputRequests":{{{requests}}}"#)));
    let refused = [
        (r#"{"method":"tools/list"}"#, RespondError::NotAllowed(NotAllowed::Method)),
        (r#"{"method":"x"}"#, RespondError::NotAllowed(NotAllowed::Method)),
        ("null", RespondError::NotAllowed(NotAllowed::Method)),
    ];
    for (text, error) in refused {
        let modern = request(&mut side, &of_client("3", "tools/call", ABLE, r#""name":"t""#));
        let need = InputRequired::new().request("key", as_it_stands(text.into()));
        assert_eq!(require(&mut side, &modern, &need), Err(error), "{text}");
        let need = as_it_stands(r#"{"method":"elicitation/create"}"#.into());
        let refused = require(&mut side, &modern, &InputRequired::new().request("key", need));
        assert!(matches!(refused, Err(RespondError::Encode(_))), "{refused:?}");
        side.respond(modern.id, r#"{"content":[]}"#);
        _ = side.sent();
    }
}

/// Proves M-MRTR-41, M-ARCH-06: all inputs are requested at once. After the last answer the same request is handed
/// out again, with the answers and its state.
#[test]
fn a_session_is_asked_and_the_request_comes_again() {
    let mut side = beside_session(LATEST);
    let first = call(&mut side);
    let need = InputRequired::new().elicit("who", form()).sample("what", sample()).roots("where");
    assert_eq!(require(&mut side, &first, &need.state("step 2")), Ok(()));
    let form =
        r#","params":{"message":"who?","requestedSchema":{"type":"object","properties":{}}}"#;
    let model = r#","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":5}"#;
    let expected =
        [asks(1, "elicitation/create", form), asks(2, "sampling/createMessage", model), roots(3)];
    assert_eq!(side.sent(), expected);
    let answers = [
        (2, r#""role":"assistant","content":{"type":"text","text":"a"},"model":"m""#),
        (3, r#""roots":[]"#),
        (1, r#""action":"accept","content":{}"#),
    ];
    let mut last = None;
    for (id, members) in answers {
        assert_eq!(last, None, "not before everything is there");
        last = side.receive(&plain(&id.to_string(), members));
        assert_eq!(side.sent(), [""; 0]);
    }
    let again = resumed(last);
    assert_eq!((again.id, again.context), (first.id, first.context));
    assert_eq!((&again.kind, &again.params), (&first.kind, &first.params));
    assert_eq!(again.meta, first.meta);
    assert_eq!(again.method, "tools/call");
    assert_eq!(again.state.as_ref().unwrap().to_str(), "step 2");
    let inputs = r#"{"who":{"action":"accept","content":{}},"what":{"role":"assistant","content":{"type":"text","text":"a"},"model":"m"},"where":{"roots":[]}}"#;
    assert_eq!(again.inputs.as_ref().unwrap().as_json(), inputs);
    side.respond(again.id, r#"{"content":[]}"#);
    assert_eq!(side.sent(), [plain("1", r#""content":[]"#)]);
    assert_eq!(
        (side.server.in_flight().counts().inbound, side.server.in_flight().counts().outbound),
        (0, 0)
    );
    assert_eq!(side.server.poll_timeout(), None);
}

/// A handler for both eras: it requires a name, then the roots.
fn handle(side: &mut ServerSide, request: &Request<'_>) {
    let state = request.state.as_ref().map(|state| state.to_str().into_owned());
    match (state.as_deref(), request.input("who"), request.input("where")) {
        (None, None, None) => {
            let need = InputRequired::new().elicit("who", form()).state("1");
            require(side, request, &need).unwrap();
        }
        (Some("1"), Some(_), None) => {
            let need = InputRequired::new().roots("where").state("2");
            require(side, request, &need).unwrap();
        }
        (Some("2"), None, Some(_)) => {
            let result = CallToolResult::text("done");
            side.server.respond(request.id, &result, &mut side.out).unwrap();
        }
        other => panic!("{other:?}"),
    }
}

const WHO: &str = r#"{"action":"accept","content":{}}"#;
const WHERE: &str = r#"{"roots":[]}"#;

/// Proves M-MRTR-41, M-ARCH-06, M-MRTR-27: the same handler in both eras, in several rounds.
#[test]
fn one_handler_serves_both_eras() {
    let mut side = beside_session(LATEST);
    let first = call(&mut side);
    handle(&mut side, &first);
    let second = resumed(side.receive(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{WHO}}}"#)));
    handle(&mut side, &second);
    let third = resumed(side.receive(&format!(r#"{{"jsonrpc":"2.0","id":2,"result":{WHERE}}}"#)));
    assert_eq!(third.params, first.params);
    handle(&mut side, &third);
    let sent = side.sent();
    assert_eq!(sent.len(), 3);
    assert_eq!(sent[1], roots(2));
    let text = r#""content":[{"type":"text","text":"done"}]"#;
    assert_eq!(sent[2], plain("1", text));

    let params = r#""name":"t","arguments":{"a":1}"#;
    for (id, brought) in [
        ("1", String::new()),
        ("2", format!(r#","inputResponses":{{"who":{WHO}}},"requestState":"1""#)),
        ("3", format!(r#","inputResponses":{{"where":{WHERE}}},"requestState":"2""#)),
    ] {
        let frame = of_client(id, "tools/call", ABLE, &format!("{params}{brought}"));
        let round = request(&mut side, &frame);
        handle(&mut side, &round);
        let sent = side.sent();
        assert_eq!(sent.len(), 1);
        if id == "3" {
            assert_eq!(sent, [complete("3", text)]);
        } else {
            assert!(sent[0].contains(r#""resultType":"input_required""#), "{sent:?}");
        }
    }
}

/// Proves M-MRTR-41: with a state only, the request is handed out again at once.
#[test]
fn requiring_only_a_state_redelivers_the_request_at_once() {
    let mut side = beside_session(LATEST);
    let first = call(&mut side);
    assert_eq!(require(&mut side, &first, &InputRequired::new().state("s")), Ok(()));
    assert_eq!(side.sent(), [""; 0]);
    assert!(side.server.poll_timeout().is_some());
    let events = side.outcomes();
    let [ServerEvent::Request(again)] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(again.state.as_ref().unwrap().to_str(), "s");
    assert_eq!(again.inputs.as_ref().unwrap().as_json(), "{}");
    assert_eq!(again.id, first.id);
    side.respond(again.id, r#"{"content":[]}"#);
    assert_eq!(side.sent(), [plain("1", r#""content":[]"#)]);
}

/// Proves M-MRTR-41, M-SECL-01: the number of rounds in a session is limited.
#[test]
fn the_rounds_have_an_end() {
    let mut config = config::server_of_both_eras();
    config.connection.limits.input_rounds = 2;
    let mut side = ServerSide::ready_with(config, LATEST);
    let mut request = call(&mut side);
    for id in ["1", "2"] {
        assert_eq!(require(&mut side, &request, &InputRequired::new().roots("r")), Ok(()));
        assert_eq!(side.sent().len(), 1);
        request = resumed(side.receive(&plain(id, r#""roots":[]"#)));
    }
    let refused = require(&mut side, &request, &InputRequired::new().roots("r"));
    assert_eq!(refused, Err(RespondError::TooManyRounds));
    assert_eq!(side.sent(), [""; 0]);
    side.respond(request.id, r#"{"content":[]}"#);
    assert_eq!(side.sent(), [plain("1", r#""content":[]"#)]);
}

/// Proves M-MRTR-41, M-SECL-01: all inputs are requested, or none.
#[test]
fn all_of_it_is_asked_for_or_nothing() {
    let mut config = config::server_of_both_eras();
    config.connection.limits.outbound_calls = 2;
    let mut side = ServerSide::ready_with(config, LATEST);
    let request = call(&mut side);
    let need = InputRequired::new().roots("a").roots("b").roots("c");
    assert_eq!(require(&mut side, &request, &need), Err(RespondError::TooManyRounds));
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(side.server.in_flight().counts().outbound, 0);
    assert_eq!(require(&mut side, &request, &InputRequired::new().roots("a").roots("b")), Ok(()));
    assert_eq!(side.sent().len(), 2);
}

/// The client answers a request of the server with an error.
const NO: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"User rejected"}}"#;

/// Proves M-MRTR-41: if an input is not given, the request fails and the application is notified.
#[test]
fn a_refused_input_request_fails_the_waiting_request() {
    let error = error("1", -32603, "the client did not give what was needed for this");
    for (method, params, delivered) in [
        ("tools/call", r#""name":"t""#, plain("1", FAILED)),
        ("prompts/get", r#""name":"p""#, error.clone()),
        ("resources/read", r#""uri":"x:y""#, error),
    ] {
        let mut side = beside_session(LATEST);
        let request = request(&mut side, &of_session("1", method, params));
        let need = InputRequired::new().roots("a").sample("b", sample());
        assert_eq!(require(&mut side, &request, &need), Ok(()));
        assert_eq!(side.sent().len(), 2);
        let Some(ServerEvent::Cancelled(cancelled)) = side.receive(NO) else { panic!("{method}") };
        assert_eq!((cancelled.id, cancelled.cause), (request.id, CancelCause::InputFailed));
        let withdrawn =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
        // Over HTTP, nothing can follow the response on its stream.
        assert_eq!(side.sent(), [withdrawn.to_owned(), delivered]);
        let late = side.server.respond(request.id, &(), &mut side.out);
        assert_eq!(late, Err(RespondError::Answered));
        let counts = side.server.in_flight().counts();
        assert_eq!((counts.inbound, counts.outbound), (0, 0));
        lives(&mut side);
    }
}

/// Proves M-R-36, M-MRTR-41: the wait is limited, and a late answer has no effect.
#[test]
fn an_answer_that_does_not_come_in_time_fails_the_request() {
    let mut side = beside_session(LATEST);
    let request = call(&mut side);
    assert_eq!(require(&mut side, &request, &InputRequired::new().elicit("k", form())), Ok(()));
    side.sent();
    assert_eq!(side.elapse(899_999), []);
    let events = side.elapse(1);
    assert!(
        matches!(
            events.as_slice(),
            [ServerEvent::Cancelled(ended)] if ended.cause == CancelCause::InputFailed
        ),
        "{events:?}"
    );
    let sent = side.sent();
    assert!(sent.contains(&plain("1", FAILED)), "{sent:?}");
    let late = side.receive(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{WHO}}}"#));
    assert!(matches!(late, Some(ServerEvent::UnmatchedResponse(_))), "{late:?}");
    assert_eq!(side.sent(), [""; 0]);
    lives(&mut side);
}

/// Proves M-R-35, M-CANC-05: a cancelled request requires no more input.
#[test]
fn a_cancelled_request_asks_no_longer() {
    let mut side = beside_session(LATEST);
    let request = call(&mut side);
    let need = InputRequired::new().roots("a");
    assert_eq!(require(&mut side, &request, &need), Ok(()));
    assert_eq!(side.sent(), [roots(1)]);
    let event = side.receive(&cancel("1"));
    assert!(matches!(event, Some(ServerEvent::Cancelled(_))), "{event:?}");
    let delivered =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(side.sent(), [delivered]);
    // A request that has not left is withdrawn.
    let request = call(&mut side);
    assert_eq!(require(&mut side, &request, &need), Ok(()));
    assert!(side.receive(&cancel("1")).is_some());
    assert_eq!(side.sent(), [""; 0]);
    assert_eq!(side.server.in_flight().counts().outbound, 0);
}

/// Proves M-R-35: the end of the connection ends the waiting request.
#[test]
fn the_end_of_the_connection_ends_waiting_requests() {
    for cause in [Cause::EndOfInput, Cause::ReadFailed] {
        let mut side = beside_session(LATEST);
        let request = call(&mut side);
        assert_eq!(require(&mut side, &request, &InputRequired::new().roots("a")), Ok(()));
        side.sent();
        side.server.disconnected(cause, side.now);
        let events = side.outcomes();
        let ended = events.iter().filter(|event| {
            matches!(event, ServerEvent::Cancelled(cancelled) if cancelled.id == request.id)
        });
        assert_eq!(ended.count(), 1, "{events:?}");
        assert_eq!(events.last(), Some(&ServerEvent::Closed { cause }));
        let expected = if cause == Cause::EndOfInput { vec![plain("1", FAILED)] } else { vec![] };
        assert_eq!(side.sent(), expected);
    }
}

/// A session with a client that declares these capabilities.
fn session_of(revision: Revision, capabilities: &str) -> ServerSide {
    let mut side = server();
    let frame = initialize("0", revision.name());
    let frame = frame.replace(r#""capabilities":{}"#, &format!(r#""capabilities":{capabilities}"#));
    assert!(matches!(side.receive(&frame), Some(ServerEvent::Opened(_))));
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(side.receive(initialized), Some(ServerEvent::Ready));
    side.sent();
    side
}

/// Proves M-MRTR-42, M-AMB-39: a client is not asked for undeclared input, and the error has no code that its
/// revision lacks.
#[test]
fn a_session_without_the_capability_gets_no_input_request() {
    for revision in Revision::LEGACY {
        for (method, params) in [("tools/call", r#""name":"t""#), ("prompts/get", r#""name":"p""#)]
        {
            let mut side = session_of(revision, "{}");
            let request = request(&mut side, &of_session("1", method, params));
            let refused = require(&mut side, &request, &InputRequired::new().sample("k", sample()));
            let lacking = Capability::Sampling;
            assert_eq!(refused, Err(RespondError::NotAllowed(NotAllowed::Capability(lacking))));
            assert_eq!(side.sent(), [""; 0]);
            let needed = CapabilitySet::NONE.with(lacking);
            side.server.reject_missing(request.id, needed, &mut side.out).unwrap();
            let text = "Missing required client capability: sampling";
            let delivered = match method {
                "tools/call" => plain(
                    "1",
                    &format!(r#""content":[{{"type":"text","text":"{text}"}}],"isError":true"#),
                ),
                _ => error("1", -32602, text),
            };
            assert_eq!(side.sent(), [delivered]);
        }
    }
}

/// Proves M-MRTR-43, M-ELIC-04: a visit to a URL has an id in 2025-11-25 and cannot be requested in earlier
/// revisions.
#[test]
fn a_visit_has_an_id_where_it_has_to() {
    let mut side = beside_session(LATEST);
    let first = call(&mut side);
    let need = InputRequired::new().elicit("a", visit()).elicit("b", visit());
    assert_eq!(require(&mut side, &first, &need), Ok(()));
    let sent = side.sent();
    let id = |message: &str| {
        let message = Raw::new(message).unwrap().into_owned();
        let params = message.get("params").unwrap().into_owned();
        params.get("elicitationId").unwrap().as_json().to_owned()
    };
    assert_eq!(sent.len(), 2);
    assert_ne!(id(&sent[0]), id(&sent[1]));
    assert!(sent[0].contains(r#""mode":"url""#), "{sent:?}");
    for answer in ["1", "2"] {
        let _ = side.receive(&plain(answer, r#""action":"accept""#));
    }
    let delivered = side
        .server
        .notifications()
        .elicitation_complete(id(&sent[0]).trim_matches('"'), &mut side.out);
    assert_eq!(delivered, Ok(mcp_sansio::subscription::Delivery::Sent));

    for revision in [Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18] {
        let capabilities = r#"{"elicitation":{"form":{},"url":{}},"roots":{}}"#;
        let mut side = session_of(revision, capabilities);
        let request = call(&mut side);
        let need = InputRequired::new().roots("r").elicit("a", visit());
        let refused = require(&mut side, &request, &need);
        assert!(refused.is_err(), "{revision}");
        assert_eq!(side.sent(), [""; 0], "{revision}: all of it or nothing");
        assert_eq!(side.server.in_flight().counts().outbound, 0);
        side.respond(request.id, r#"{"content":[]}"#);
        assert_eq!(side.sent(), [plain("1", r#""content":[]"#)]);
    }
}

/// Proves M-ELIC-12: forms exist since 2025-06-18; earlier revisions cannot elicit.
#[test]
fn forms_are_asked_where_there_are_forms() {
    for revision in Revision::LEGACY {
        let mut side = session_of(revision, r#"{"elicitation":{}}"#);
        let request = call(&mut side);
        let asked = require(&mut side, &request, &InputRequired::new().elicit("a", form()));
        let has_forms = Revision::V2025_06_18 <= revision;
        assert_eq!(asked.is_ok(), has_forms, "{revision}: {asked:?}");
        assert_eq!(side.sent().len(), usize::from(has_forms));
    }
}

/// Proves M-ERA-10, M-MRTR-36: the members of the modern era are ignored in a session.
#[test]
fn a_session_brings_nothing_by_the_names_of_the_other_era() {
    let mut side = beside_session(LATEST);
    let params = r#""name":"t","inputResponses":{"who":{}},"requestState":"1""#;
    let request = request(&mut side, &of_session("1", "tools/call", params));
    assert_eq!((&request.inputs, &request.state), (&None, &None));
    let need = InputRequired::new().roots("r").state("own");
    assert_eq!(require(&mut side, &request, &need), Ok(()));
    let again = resumed(side.receive(&plain("1", r#""roots":[]"#)));
    assert_eq!(again.inputs.as_ref().unwrap().as_json(), r#"{"r":{"roots":[]}}"#);
    assert_eq!(again.state.as_ref().unwrap().to_str(), "own");
}

/// Proves M-SAMP-08, M-MRTR-41: several content blocks are sent in the revisions that permit them.
#[test]
fn several_blocks_are_asked_for_where_there_can_be_several() {
    let text = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}],"maxTokens":5}"#;
    let need = || InputRequired::new().sample("k", serde_json::from_str(text).unwrap());
    for revision in Revision::LEGACY {
        let mut side = session_of(revision, r#"{"sampling":{}}"#);
        let request = call(&mut side);
        let asked = require(&mut side, &request, &need());
        let has_several = Revision::V2025_11_25 <= revision;
        assert_eq!(asked.is_ok(), has_several, "{revision}: {asked:?}");
        assert_eq!(side.sent().len(), usize::from(has_several));
    }
    let mut side = server();
    let request = request(&mut side, &of_client("1", "tools/call", ABLE, r#""name":"t""#));
    assert_eq!(require(&mut side, &request, &need()), Ok(()));
    assert!(side.sent()[0].contains(text));
}

/// Proves M-ELIC-07: the content of a form is compared with the form.
#[test]
fn a_form_that_is_filled_in_wrongly_does_not_count() {
    let schema = r#"{"message":"m","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}"#;
    for (answer, counts) in [
        (r#""action":"accept","content":{"n":1}"#, true),
        (r#""action":"decline""#, true),
        (r#""action":"accept","content":{"n":"one"}"#, false),
        (r#""action":"accept","content":{}"#, false),
    ] {
        let mut side = beside_session(LATEST);
        let request = call(&mut side);
        let need = InputRequired::new().elicit("k", serde_json::from_str(schema).unwrap());
        assert_eq!(require(&mut side, &request, &need), Ok(()));
        side.sent();
        match side.receive(&plain("1", answer)) {
            Some(ServerEvent::Request(again)) if counts => assert_eq!(again.id, request.id),
            Some(ServerEvent::Cancelled(cancelled)) if !counts => {
                assert_eq!(cancelled.cause, CancelCause::InputFailed);
                assert_eq!(side.sent(), [plain("1", FAILED)]);
            }
            other => panic!("{answer}: {other:?}"),
        }
    }
}

/// Proves M-R-39: an answer that is fed at the deadline counts.
#[test]
fn an_answer_at_the_last_moment_counts() {
    let mut side = beside_session(LATEST);
    let request = call(&mut side);
    assert_eq!(require(&mut side, &request, &InputRequired::new().elicit("k", form())), Ok(()));
    side.now = side.now + Duration::from_secs(900);
    let again = resumed(side.receive(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{WHO}}}"#)));
    assert_eq!(side.outcomes(), []);
    assert_eq!(again.id, request.id);
}
