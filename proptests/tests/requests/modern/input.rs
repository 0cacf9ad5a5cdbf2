//! Required input in the modern era, where the server returns its input requests in the result.

use mcp_sansio::capability::Capability;
use mcp_sansio::config::CapabilityPolicy;
use mcp_sansio::error::NotAllowed;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    CreateMessageParams, ElicitParams, ElicitResult, InputRequest, InputRequired, Map,
};
use mcp_sansio::progress::Progress;
use mcp_sansio::schema::EncodeError;
use mcp_sansio::subscription::{Delivery, Log};
use mcp_sansio::{ErrorCode, Request, RespondError};
use mcp_sansio_proptests::ServerSide;

use crate::modern::kit::*;

/// The methods that may require input, with their params.
const MAY_ASK: [(&str, &str); 3] = [
    ("tools/call", r#""name":"t""#),
    ("prompts/get", r#""name":"p""#),
    ("resources/read", r#""uri":"x:y""#),
];

const FORM: &str = r#"{"method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{}}}}"#;

/// A tool call of a client with every capability, with more members in its params.
fn call(side: &mut ServerSide, id: &str, members: &str) -> Request<'static> {
    let members = format!(r#""name":"t"{members}"#);
    request(side, &of_client(id, "tools/call", ABLE, &members))
}

/// An interim result in wire form.
fn interim(id: &str, members: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required",{members},{SERVER}}}}}"#
    )
}

/// Proves M-MRTR-01, M-MRTR-04, M-MRTR-05, M-MRTR-39, M-RES-08, M-ELIC-02, M-SAMP-01, M-RPC-14: the input requests
/// are in the result, without envelopes, ids or hints.
#[test]
fn input_requests_are_part_of_the_result() {
    let mut side = server();
    for (method, params) in MAY_ASK {
        let request = request(&mut side, &of_client("1", method, ABLE, params));
        let need = InputRequired::new()
            .elicit("who", form())
            .sample("what", sample())
            .roots("where")
            .elicit("visit", ElicitParams::visit("pay", "https://example.com/1"))
            .state("step 2");
        assert_eq!(require(&mut side, &request, &need), Ok(()));
        let model = r#"{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":5}}"#;
        let visit = r#"{"method":"elicitation/create","params":{"mode":"url","message":"pay","url":"https://example.com/1"}}"#;
        let needed = format!(
            r#""inputRequests":{{"who":{FORM},"what":{model},"where":{{"method":"roots/list"}},"visit":{visit}}},"requestState":"step 2""#
        );
        assert_eq!(side.sent(), [interim("1", &needed)], "{method}");
        assert_eq!(side.server.in_flight().counts().outbound, 0);
        lives(&mut side);
    }
}

/// Proves M-MRTR-02, M-MRTR-03: an interim result has input requests, or a state, or both.
#[test]
fn there_is_something_to_ask_for_or_to_bring_back() {
    let mut side = server();
    let only_state = call(&mut side, "1", "");
    assert_eq!(require(&mut side, &only_state, &InputRequired::new().state("")), Ok(()));
    assert_eq!(side.sent(), [interim("1", r#""requestState":"""#)]);
    let only_requests = call(&mut side, "1", "");
    let twice = InputRequired::new().sample("", sample()).roots("");
    assert_eq!(require(&mut side, &only_requests, &twice), Ok(()));
    assert_eq!(side.sent(), [interim("1", r#""inputRequests":{"":{"method":"roots/list"}}"#)]);
    let nothing = call(&mut side, "1", "");
    let mut empty = InputRequired::new();
    for _ in 0..2 {
        let refused = require(&mut side, &nothing, &empty);
        assert!(
            matches!(refused, Err(RespondError::Encode(EncodeError::Misfit(_)))),
            "{refused:?}"
        );
        assert_eq!(side.sent(), [""; 0]);
        empty.requests = Some(Map::default());
    }
    side.respond(nothing.id, r#"{"content":[]}"#);
    assert_eq!(side.sent(), [complete("1", r#""content":[]"#)]);
}

/// An input request is encoded by itself, so the path in an error begins with its key.
#[test]
fn the_path_of_an_input_begins_with_its_key() {
    let mut side = server();
    let request = call(&mut side, "1", "");
    let wrong = r#"{"method":"elicitation/create","params":{"message":"Who?"}}"#;
    let message = r#"{"role":"user","content":{"type":"text"}}"#;
    let asked = format!(
        r#"{{"method":"sampling/createMessage","params":{{"messages":[{message}],"maxTokens":1}}}}"#
    );
    for (asked, path) in [
        (r#"{"method":"elicitation/create"}"#, "params"),
        (wrong, "params.requestedSchema"),
        (&asked, "params.messages[0].content.text"),
    ] {
        let asked = InputRequest::Unknown(Raw::new(asked).unwrap());
        let need = InputRequired::new().roots("where").request("who", asked);
        let refused = require(&mut side, &request, &need).unwrap_err();
        let error = format!("the answer could not be written: inputRequests.who.{path} is missing");
        assert_eq!(refused.to_string(), error);
        assert_eq!(side.sent(), [""; 0]);
    }
}

/// Proves M-RES-11, M-MRTR-01: no other method may require input.
#[test]
fn no_other_method_needs_input() {
    let mut side = server();
    let others = METHODS.into_iter().filter(|row| !MAY_ASK.iter().any(|may| may.0 == row.0));
    for (method, params, result) in others {
        let request = request(&mut side, &of_client("1", method, ABLE, params));
        let refused = require(&mut side, &request, &InputRequired::new().roots("r"));
        assert_eq!(refused, Err(RespondError::NotAllowed(NotAllowed::Method)), "{method}");
        assert_eq!(side.sent(), [""; 0]);
        side.respond(request.id, &format!("{{{result}}}"));
        assert!(side.sent()[0].contains(r#""resultType":"complete""#));
    }
    let own = request(&mut side, &of_client("1", "x/own", ABLE, ""));
    let refused = require(&mut side, &own, &InputRequired::new().roots("r"));
    assert_eq!(refused, Err(RespondError::NotAllowed(NotAllowed::Method)));
}

/// Proves M-MRTR-07, M-MRTR-08, M-CAP-03, M-SAMP-02, M-ERR-12: only input that this request declares is requested,
/// and the client can receive the error for a missing capability.
#[test]
fn nothing_is_asked_for_that_is_not_declared() {
    let visit = || ElicitParams::visit("m", "https://example.com");
    let mut with_tools = sample();
    with_tools.tools = Some(Default::default());
    let mut with_context = sample();
    with_context.include_context = Some(mcp_sansio::model::IncludeContext::AllServers);
    let need = InputRequired::new;
    let cases = [
        ("{}", need().elicit("k", form()), Capability::Elicitation),
        (r#"{"elicitation":{"url":{}}}"#, need().elicit("k", form()), Capability::ElicitationForm),
        (r#"{"elicitation":{}}"#, need().elicit("k", visit()), Capability::ElicitationUrl),
        (r#"{"elicitation":{"form":{}}}"#, need().elicit("k", visit()), Capability::ElicitationUrl),
        (r#"{"roots":{},"elicitation":{}}"#, need().sample("k", sample()), Capability::Sampling),
        (r#"{"sampling":{}}"#, need().sample("k", with_tools), Capability::SamplingTools),
        (r#"{"sampling":{}}"#, need().sample("k", with_context), Capability::SamplingContext),
        (r#"{"sampling":{}}"#, need().roots("k"), Capability::Roots),
        (r#"{"sampling":{}}"#, need().sample("a", sample()).roots("b"), Capability::Roots),
    ];
    for (declared, need, lacking) in cases {
        let mut side = server();
        let request = request(&mut side, &of_client("1", "tools/call", declared, r#""name":"t""#));
        let refused = require(&mut side, &request, &need);
        assert_eq!(refused, Err(RespondError::NotAllowed(NotAllowed::Capability(lacking))));
        assert_eq!(side.sent(), [""; 0], "{declared}");
        let needed = [lacking].into_iter().collect();
        side.server.reject_missing(request.id, needed, &mut side.out).unwrap();
        let delivered = side.sent();
        assert!(delivered[0].contains("-32021"), "{delivered:?}");
        let full = call(&mut side, "2", "");
        assert_eq!(require(&mut side, &full, &need), Ok(()), "{declared}");
    }
    // A client that names no mode supports forms.
    let mut side = server();
    for declared in [r#"{"elicitation":{}}"#, r#"{"elicitation":{"form":{}}}"#] {
        let request = request(&mut side, &of_client("1", "tools/call", declared, r#""name":"t""#));
        assert_eq!(require(&mut side, &request, &need().elicit("k", form())), Ok(()));
    }
    // This check can be switched off.
    let mut side = server_with(|config| {
        config.connection.capability_policy = CapabilityPolicy::Off;
    });
    let request = request(&mut side, &modern_request("1", "tools/call", r#""name":"t""#));
    assert_eq!(require(&mut side, &request, &need().roots("k")), Ok(()));
}

/// Proves M-MRTR-04: no other input request is permitted.
#[test]
fn there_are_three_things_to_ask_for() {
    let mut side = server();
    let request = call(&mut side, "1", "");
    for text in [r#"{"method":"ping"}"#, r#"{"method":"tools/call","params":{"name":"t"}}"#, "{}"] {
        let unknown = InputRequest::Unknown(Raw::new(text).unwrap());
        let need = InputRequired::new().roots("a").request("b", unknown);
        let refused = require(&mut side, &request, &need);
        assert_eq!(refused, Err(RespondError::NotAllowed(NotAllowed::Method)), "{text}");
        assert_eq!(side.sent(), [""; 0]);
    }
    assert_eq!(require(&mut side, &request, &InputRequired::new().roots("a")), Ok(()));
}

/// Proves M-ELIC-02, M-ELIC-03, M-ELIC-04: forms are flat, and a visit has a URL and no id.
#[test]
fn forms_are_flat() {
    let form = |properties: &str| {
        format!(
            r#"{{"message":"m","requestedSchema":{{"type":"object","properties":{properties}}}}}"#
        )
    };
    let good = [
        r#"{"s":{"type":"string","minLength":1,"maxLength":9,"format":"email","default":"a@b"}}"#,
        r#"{"n":{"type":"number","minimum":0.5},"i":{"type":"integer","maximum":7},"b":{"type":"boolean"}}"#,
        r#"{"e":{"type":"string","enum":["a","b"]},"t":{"type":"string","oneOf":[{"const":"a","title":"A"}]}}"#,
        r#"{"m":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["a"]}}}"#,
        r#"{"m":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}}"#,
        r#"{"l":{"type":"string","enum":["a"],"enumNames":["A"]}}"#,
    ];
    let bad = [
        r#"{"o":{"type":"object","properties":{}}}"#,
        r#"{"a":{"type":"array","items":{"type":"object"}}}"#,
        r#"{"x":{"type":"null"}}"#,
        r#"{"x":{}}"#,
    ];
    let mut side = server();
    for (texts, is_good) in [(&good[..], true), (&bad[..], false)] {
        for properties in texts {
            let text = form(properties);
            let request = call(&mut side, "1", "");
            let Ok(params) = serde_json::from_str(&text) else {
                assert!(!is_good, "{text}");
                side.respond(request.id, r#"{"content":[]}"#);
                side.sent();
                continue;
            };
            let asked = require(&mut side, &request, &InputRequired::new().elicit("k", params));
            assert_eq!(asked.is_ok(), is_good, "{text}: {asked:?}");
            let sent = side.sent();
            assert_eq!(sent.len(), usize::from(is_good));
            if is_good {
                assert!(sent[0].contains(properties), "{sent:?}");
            } else {
                side.respond(request.id, r#"{"content":[]}"#);
                side.sent();
            }
        }
    }
    let named = ElicitParams::url("m", "https://example.com", "an id");
    let request = call(&mut side, "1", "");
    assert_eq!(require(&mut side, &request, &InputRequired::new().elicit("k", named)), Ok(()));
    assert!(!side.sent()[0].contains("elicitationId"));
}

/// Proves M-SAMP-04, M-SAMP-05: the next message has a result for every tool use and contains nothing else.
#[test]
fn uses_of_tools_are_answered_at_once() {
    let params = |messages: &str| {
        let text = format!(r#"{{"messages":[{messages}],"maxTokens":5,"tools":[]}}"#);
        serde_json::from_str::<CreateMessageParams<'_>>(&text).unwrap();
        text
    };
    let used =
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"t","input":{}}]}"#;
    let result = |id: &str| format!(r#"{{"type":"tool_result","toolUseId":"{id}","content":[]}}"#);
    let user = |content: &str| format!(r#"{{"role":"user","content":[{content}]}}"#);
    let text = r#"{"type":"text","text":"t"}"#;
    let mut side = server();
    for (messages, is_good) in [
        (format!("{used},{}", user(&result("1"))), true),
        (used.to_owned(), false),
        (format!("{used},{}", user(text)), false),
        (format!("{used},{}", user(&result("2"))), false),
        (format!("{used},{}", user(&format!("{},{}", result("1"), result("1")))), false),
        (format!("{used},{}", user(&format!("{},{text}", result("1")))), false),
        (user(&result("1")), false),
    ] {
        let text = params(&messages);
        let need = InputRequired::new().sample("k", serde_json::from_str(&text).unwrap());
        let request = call(&mut side, "1", "");
        let asked = require(&mut side, &request, &need);
        assert_eq!(asked.is_ok(), is_good, "{messages}: {asked:?}");
        if !is_good {
            assert_eq!(side.sent(), [""; 0]);
            side.respond(request.id, r#"{"content":[]}"#);
        }
        assert_eq!(side.sent().len(), 1);
    }
}

/// Proves M-MRTR-27, M-MRTR-31, M-MRTR-32, M-MRTR-34, M-ELIC-11, M-R-16: returned answers and states reach the
/// application unchanged, and it can require input again.
#[test]
fn input_responses_and_state_reach_the_application() {
    let mut side = server();
    let first = call(&mut side, "1", "");
    assert_eq!((&first.inputs, &first.state), (&None, &None));
    let need = InputRequired::new().elicit("who", form());
    assert_eq!(require(&mut side, &first, &need.clone().state("1")), Ok(()));
    side.sent();
    // The answer is under another key.
    let wrong = call(
        &mut side,
        "2",
        r#","inputResponses":{"what":{"action":"accept"}},"requestState":"1""#,
    );
    assert_eq!(wrong.input("who"), None);
    assert!(wrong.input("what").is_some());
    assert_eq!(require(&mut side, &wrong, &need.state("2")), Ok(()));
    assert_eq!(
        side.sent(),
        [interim("2", &format!(r#""inputRequests":{{"who":{FORM}}},"requestState":"2""#))]
    );
    for (answer, expected) in [
        (r#"{"action":"accept","content":{}}"#, ElicitResult::accept(Raw::new("{}").unwrap())),
        (r#"{"action":"decline"}"#, ElicitResult::decline()),
        (r#"{"action":"cancel"}"#, ElicitResult::cancel()),
    ] {
        let more = format!(r#","inputResponses":{{"x":{{}},"who":{answer}}},"requestState":"2""#);
        let last = call(&mut side, "3", &more);
        assert_eq!(last.input("who").unwrap().parse::<ElicitResult<'_>>().unwrap(), expected);
        assert_eq!(last.state.as_ref().unwrap().to_str(), "2");
        side.respond(last.id, r#"{"content":[]}"#);
        assert_eq!(side.sent(), [complete("3", r#""content":[]"#)]);
    }
    // Answers arrive although no input was requested.
    let early = call(&mut side, "4", r#","inputResponses":{},"requestState":"""#);
    assert_eq!(early.inputs.as_ref().unwrap().as_json(), "{}");
    assert_eq!(early.state.unwrap().to_str(), "");
}

/// Proves M-MRTR-33, M-MRTR-35: an answer that is no object is refused.
#[test]
fn an_answer_is_an_object() {
    let mut side = server();
    for (method, params) in MAY_ASK {
        for brought in [
            r#""inputResponses":{"k":42}"#,
            r#""inputResponses":{"k":null}"#,
            r#""inputResponses":{"k":"accept"}"#,
            r#""inputResponses":[]"#,
            r#""inputResponses":7"#,
            r#""requestState":7"#,
            r#""requestState":{}"#,
        ] {
            let frame = of_client("1", method, ABLE, &format!("{params},{brought}"));
            let event = side.receive(&frame);
            assert!(matches!(event, Some(mcp_sansio::ServerEvent::Violation(_))), "{event:?}");
            let sent = side.sent();
            assert!(sent[0].contains("-32602"), "{sent:?}");
            lives(&mut side);
        }
    }
}

/// Proves M-MRTR-36: other methods, which cannot require input, ignore answers and states.
#[test]
fn other_methods_bring_nothing_back() {
    let mut side = server();
    let others = METHODS.into_iter().filter(|row| !MAY_ASK.iter().any(|may| may.0 == row.0));
    for (method, params, result) in others {
        for brought in [r#""inputResponses":{"k":{}},"requestState":"s""#, r#""requestState":7"#] {
            let comma = if params.is_empty() { "" } else { "," };
            let frame = modern_request("1", method, &format!("{params}{comma}{brought}"));
            let request = request(&mut side, &frame);
            assert_eq!((&request.inputs, &request.state), (&None, &None));
            side.respond(request.id, &format!("{{{result}}}"));
            assert_eq!(side.sent().len(), 1);
        }
    }
}

/// Proves M-MRTR-37: an interim result ends its request.
#[test]
fn nothing_follows_an_interim_result() {
    let mut side = server();
    let more = r#""progressToken":1,"io.modelcontextprotocol/logLevel":"debug""#;
    let request = request(&mut side, &with_more("1", "tools/call", more, r#""name":"t""#));
    assert_eq!(require(&mut side, &request, &InputRequired::new().state("s")), Ok(()));
    assert_eq!(side.sent(), [interim("1", r#""requestState":"s""#)]);
    let (id, now) = (request.id, side.now);
    let progress = side.server.progress(id, Progress::new(1_u32), now, &mut side.out);
    assert_eq!(progress, Err(RespondError::Answered));
    let log = Log::new(mcp_sansio::model::LoggingLevel::Error, "late").about(id);
    assert_eq!(side.server.notifications().log(&log, &mut side.out), Ok(Delivery::NotWanted));
    assert_eq!(side.server.respond(id, &(), &mut side.out), Err(RespondError::Answered));
    let again = require(&mut side, &request, &InputRequired::new().state("s"));
    assert_eq!(again, Err(RespondError::Answered));
    assert_eq!(side.receive(&cancel("1")), None);
    assert_eq!(side.sent(), [""; 0]);
}

/// Proves M-MRTR-37, M-PROG-08: delayed progress precedes the interim result.
#[test]
fn delayed_progress_precedes_an_interim_result() {
    let mut side = server_with(|config| {
        config.connection.progress_interval = Some(std::time::Duration::from_secs(1));
    });
    let more = r#""progressToken":1"#;
    let request = request(&mut side, &with_more("1", "tools/call", more, r#""name":"t""#));
    for so_far in [1_u32, 2] {
        let progress = Progress::new(so_far);
        side.server.progress(request.id, progress, side.now, &mut side.out).unwrap();
    }
    assert_eq!(side.sent().len(), 1);
    assert_eq!(require(&mut side, &request, &InputRequired::new().state("s")), Ok(()));
    let sent = side.sent();
    assert_eq!(sent.len(), 2);
    assert!(sent[0].contains(r#""progress":2"#), "{sent:?}");
    assert_eq!(sent[1], interim("1", r#""requestState":"s""#));
}

/// Proves M-CANC-22, M-R-15, M-MRTR-27: each round is a separate request.
#[test]
fn a_round_can_be_cancelled_and_made_again() {
    let mut side = server();
    let first = call(&mut side, "1", "");
    assert_eq!(require(&mut side, &first, &InputRequired::new().roots("r").state("s")), Ok(()));
    side.sent();
    let brought = r#","inputResponses":{"r":{"roots":[]}},"requestState":"s""#;
    let second = call(&mut side, "2", brought);
    assert!(side.receive(&cancel("2")).is_some());
    let late = require(&mut side, &second, &InputRequired::new().state("t"));
    assert_eq!(late, Err(RespondError::Cancelled));
    assert_eq!(side.sent(), [""; 0]);
    let third = call(&mut side, "3", brought);
    assert_eq!(third.input("r").unwrap().as_json(), r#"{"roots":[]}"#);
    side.respond(third.id, r#"{"content":[]}"#);
    assert_eq!(side.sent(), [complete("3", r#""content":[]"#)]);
}

/// Proves M-STATE-04, M-STATE-03, M-ARCH-15, M-R-18: a round can be served by any server.
#[test]
fn a_round_needs_no_server_that_knows_of_the_first() {
    let mut one = server();
    let first = call(&mut one, "1", "");
    let state = "ü \"quoted\" \n \u{1f600}";
    assert_eq!(require(&mut one, &first, &InputRequired::new().roots("r").state(state)), Ok(()));
    let sent = one.sent();
    let literal = Raw::from_serialize(&state).unwrap();
    assert!(sent[0].contains(&format!(r#""requestState":{}"#, literal.as_json())), "{sent:?}");
    let mut other = without_sessions();
    let brought =
        format!(r#","inputResponses":{{"r":{{"roots":[]}}}},"requestState":{}"#, literal.as_json());
    let second = call(&mut other, "1", &brought);
    assert_eq!(second.state.as_ref().unwrap().to_str(), state);
    // An invalid state is refused like invalid params.
    let (code, text) = (ErrorCode::INVALID_PARAMS, "invalid requestState");
    other.server.reject(second.id, code, text, &mut other.out).unwrap();
    assert_eq!(other.sent(), [error("1", -32602, text)]);
}
