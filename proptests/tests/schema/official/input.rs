//! Requests for input: in the modern era as a response, in a session as requests of the server.

use mcp_sansio::capability::Capability;
use mcp_sansio::error::NotAllowed;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{ElicitParams, InputRequest, InputRequired};
use mcp_sansio::schema::{EncodeError, Problem};
use mcp_sansio::subscription::Delivery;
use mcp_sansio::{Request, RespondError, Revision, ServerEvent};
use mcp_sansio_proptests::{ServerSide, payload};
use serde_json::Value;

use crate::official::closed::Schemas;
use crate::official::messages::{REQUESTS, Sender};
use crate::official::parse;
use crate::official::stateless::{ALL, REVISION, SERVER, asked, asked_by};

/// The methods that may require input.
const NEEDY: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

fn input<'t>(text: &'t str) -> InputRequired<'t> {
    let request: InputRequest<'t> = serde_json::from_str(text).unwrap();
    InputRequired::new().request("k", request)
}

fn of_method(method: &str, params: &str) -> String {
    match params {
        "null" => format!(r#"{{"method":"{method}"}}"#),
        params => format!(r#"{{"method":"{method}","params":{params}}}"#),
    }
}

fn require(
    side: &mut ServerSide,
    request: &Request<'_>,
    required: &InputRequired<'_>,
) -> Result<(), RespondError> {
    side.server.require_input(request, required, side.now, &mut side.out)
}

/// Expects that nothing was sent and that the request is still open.
#[track_caller]
fn is_still_open(side: &mut ServerSide, request: &Request<'_>) {
    assert_eq!(side.sent(), [""; 0]);
    let result = payload::result(&request.method.to_str());
    side.server.respond(request.id, &result, &mut side.out).unwrap();
    assert_eq!(side.sent().len(), 1);
}

/// Proves M-MRTR-01, M-MRTR-04, M-MRTR-05, M-MRTR-39, M-META-18, M-RES-01, M-RPC-14, M-ELIC-02, M-SAMP-01: every kind
/// of request for input, with all members of the schema, as the response to each method that may require it.
#[test]
fn every_request_for_input_fits_the_schema() {
    let Some(schemas) = Schemas::of(REVISION) else { return };
    let inputs = schemas.union("InputRequest");
    let of_servers = REQUESTS.iter().filter(|exchange| {
        exchange.sender == Sender::Server && inputs.iter().any(|name| name == exchange.request)
    });
    let mut seen = 0;
    for exchange in of_servers {
        for params in exchange.params {
            let text = of_method(exchange.method, params);
            for method in NEEDY {
                let (mut side, request) = asked_by(ALL, method);
                require(&mut side, &request, &input(&text).state("s")).unwrap();
                let sent = side.sent();
                let answer = parse(&sent);
                let result = &answer["result"];
                assert_eq!(result["resultType"], "input_required");
                assert_eq!((answer.get("method"), &answer["id"]), (None, &Value::from(7)));
                schemas.closed("InputRequiredResult", result).unwrap();
                let asked = &result["inputRequests"]["k"];
                schemas.closed(exchange.request, asked).unwrap();
                let members: Vec<_> = asked.as_object().unwrap().keys().collect();
                assert!(members == ["method", "params"] || members == ["method"], "{members:?}");
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 3 * (2 + 7 + 8), "none of them is refused");
}

/// The required input, and the sent text in each revision: the params of a request, or the value under its key.
type Asked = (&'static str, &'static str, [Result<&'static str, (&'static str, Problem)>; 5]);

const ASKED: &[Asked] = {
    use Problem::NotInRevision;
    const NO_MODE: Result<&str, (&str, Problem)> = Err(("mode", NotInRevision));
    const SEVERAL: &str = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"t"},{"type":"text","text":"u"}]}],"maxTokens":1}"#;
    const ARRAY: &str =
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":"t"}]}],"maxTokens":1}"#;
    const ONE: &str =
        r#"{"messages":[{"role":"user","content":{"type":"text","text":"t"}}],"maxTokens":1}"#;
    const ANY: &str = r#"{"messages":[{"role":"assistant","content":{"type":"tool_use","id":"1","name":"n","input":{}}},{"role":"user","content":{"type":"tool_result","toolUseId":"1","content":[],"structuredContent":null}}],"maxTokens":1}"#;
    const OBJECTS: &str = r#"{"messages":[{"role":"assistant","content":{"type":"tool_use","id":"1","name":"n","input":{}}},{"role":"user","content":{"type":"tool_result","toolUseId":"1","content":[]}}],"maxTokens":1}"#;
    &[
        ("sampling/createMessage", ONE, [Ok(ONE), Ok(ONE), Ok(ONE), Ok(ONE), Ok(ONE)]),
        ("sampling/createMessage", ARRAY, [Ok(ONE), Ok(ONE), Ok(ONE), Ok(ARRAY), Ok(ARRAY)]),
        (
            "sampling/createMessage",
            SEVERAL,
            [
                Err(("content", NotInRevision)),
                Err(("content", NotInRevision)),
                Err(("content", NotInRevision)),
                Ok(SEVERAL),
                Ok(SEVERAL),
            ],
        ),
        (
            "sampling/createMessage",
            ANY,
            [
                Err(("type", NotInRevision)),
                Err(("type", NotInRevision)),
                Err(("type", NotInRevision)),
                Ok(OBJECTS),
                Ok(ANY),
            ],
        ),
        (
            "elicitation/create",
            r#"{"mode":"url","message":"m","url":"x:y"}"#,
            [
                NO_MODE,
                NO_MODE,
                NO_MODE,
                Ok(r#"{"mode":"url","message":"m","url":"x:y","elicitationId":"0-1"}"#),
                Ok(r#"{"mode":"url","message":"m","url":"x:y"}"#),
            ],
        ),
        (
            "elicitation/create",
            r#"{"mode":"url","message":"m","url":"x:y","elicitationId":"e"}"#,
            [
                NO_MODE,
                NO_MODE,
                NO_MODE,
                Ok(r#"{"mode":"url","message":"m","url":"x:y","elicitationId":"e"}"#),
                Ok(r#"{"mode":"url","message":"m","url":"x:y"}"#),
            ],
        ),
        (
            "elicitation/create",
            r#"{"mode":"form","message":"m","requestedSchema":{"$schema":"x","type":"object","properties":{"f":{"type":"string","default":"d"}}}}"#,
            [
                NO_MODE,
                NO_MODE,
                Ok(
                    r#"{"message":"m","requestedSchema":{"type":"object","properties":{"f":{"type":"string"}}}}"#,
                ),
                Ok(
                    r#"{"mode":"form","message":"m","requestedSchema":{"type":"object","$schema":"x","properties":{"f":{"type":"string","default":"d"}}}}"#,
                ),
                Ok(
                    r#"{"mode":"form","message":"m","requestedSchema":{"type":"object","$schema":"x","properties":{"f":{"type":"string","default":"d"}}}}"#,
                ),
            ],
        ),
        ("roots/list", "null", [Ok("null"), Ok("null"), Ok("null"), Ok("null"), Ok("null")]),
    ]
};

/// Proves M-ELIC-04, M-SAMP-08, M-TOOL-04 for tool results in messages, M-MRTR-43, M-ERA-29 for requests of servers:
/// the exact bytes in every revision.
#[test]
fn an_input_request_is_encoded_for_each_revision() {
    let Some(schemas) = Schemas::of(REVISION) else { return };
    for (method, params, leaves) in ASKED {
        let text = of_method(method, params);
        for (revision, expected) in Revision::ALL.into_iter().zip(leaves) {
            let (mut side, request) = if revision == REVISION {
                asked_by(ALL, "tools/call")
            } else {
                let mut side = ServerSide::ready(revision);
                let text =
                    r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"n"}}"#;
                let Some(ServerEvent::Request(request)) = side.receive(text) else { panic!() };
                (side, request)
            };
            let required = require(&mut side, &request, &input(&text));
            let expected = match (required, expected) {
                (Ok(()), Ok(params)) => params,
                (Err(RespondError::Encode(EncodeError::Misfit(misfit))), Err(expected)) => {
                    assert_eq!((misfit.field, misfit.problem), *expected, "{revision} {text}");
                    is_still_open(&mut side, &request);
                    continue;
                }
                (other, _) => panic!("{revision} {text}: {other:?}"),
            };
            let asked = of_method(method, expected);
            let inner = asked.strip_prefix('{').unwrap().strip_suffix('}').unwrap();
            let sent = side.sent();
            if revision == REVISION {
                let result = format!(
                    r#"{{"resultType":"input_required","inputRequests":{{"k":{asked}}},"_meta":{{{SERVER}}}}}"#
                );
                assert_eq!(sent, [format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#)]);
                schemas.closed("InputRequiredResult", &parse(&sent)["result"]).unwrap();
            } else {
                assert_eq!(sent, [format!(r#"{{"jsonrpc":"2.0","id":1,{inner}}}"#)], "{revision}");
            }
        }
    }
}

/// Proves M-MRTR-02, M-MRTR-03: the exact bytes of possible requests for input, in the order in which they were
/// added, and that an empty one is refused.
#[test]
fn a_need_has_a_key_each_or_a_state() {
    let Some(schemas) = Schemas::of(REVISION) else { return };
    let roots = r#"{"method":"roots/list"}"#;
    let cases = [
        (InputRequired::new().state(""), r#""requestState":"""#.to_owned()),
        (InputRequired::new().state("a\n\"é"), r#""requestState":"a\n\"é""#.to_owned()),
        (
            InputRequired::new().roots("b").roots("").roots("a").roots("b").state("s"),
            format!(r#""inputRequests":{{"b":{roots},"":{roots},"a":{roots}}},"requestState":"s""#),
        ),
    ];
    for (required, members) in cases {
        let (mut side, request) = asked_by(ALL, "resources/read");
        require(&mut side, &request, &required).unwrap();
        let sent = side.sent();
        let result = format!(r#"{{"resultType":"input_required",{members},"_meta":{{{SERVER}}}}}"#);
        assert_eq!(sent, [format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#)]);
        schemas.closed("InputRequiredResult", &parse(&sent)["result"]).unwrap();
    }
    let (mut side, request) = asked_by(ALL, "tools/call");
    let nothing = require(&mut side, &request, &InputRequired::new());
    assert!(matches!(nothing, Err(RespondError::Encode(_))), "{nothing:?}");
    is_still_open(&mut side, &request);
    let (mut side, request) = asked_by(ALL, "tools/call");
    let unknown = require(&mut side, &request, &input(r#"{"method":"x/y","params":{}}"#));
    assert_eq!(unknown, Err(RespondError::NotAllowed(NotAllowed::Method)));
    is_still_open(&mut side, &request);
}

/// Proves M-RES-11, M-SUB-33: every other method gets a result or an error, and never a request for input.
#[test]
fn only_three_methods_need_input() {
    for exchange in REQUESTS.iter().filter(|exchange| exchange.sender == Sender::Client) {
        let is_gone = ["resources/subscribe", "resources/unsubscribe", "logging/setLevel", "ping"];
        let by_machine = ["server/discover", "subscriptions/listen"];
        let method = exchange.method;
        if NEEDY.contains(&method) || is_gone.contains(&method) || by_machine.contains(&method) {
            continue;
        }
        let (mut side, request) = asked_by(ALL, method);
        let refused = require(&mut side, &request, &InputRequired::new().state("s"));
        assert_eq!(refused, Err(RespondError::NotAllowed(NotAllowed::Method)), "{method}");
        is_still_open(&mut side, &request);
    }
    // The request of a subscription is not even passed to the application.
    let (mut listening, _) = asked("subscriptions/listen");
    listening.sent();
    let (_, mut request) = asked_by(ALL, "tools/call");
    request.id = listening.server.in_flight().requests().next().unwrap();
    let refused = require(&mut listening, &request, &InputRequired::new().state("s"));
    assert_eq!(refused, Err(RespondError::NotAllowed(NotAllowed::Method)));
    assert_eq!(listening.sent(), [""; 0]);
}

/// The declared capabilities, the request for input, and the missing capability.
const GATED: &[(&str, &str, &str, Option<Capability>)] = {
    use Capability::*;
    const SAMPLE: &str = "sampling/createMessage";
    const ELICIT: &str = "elicitation/create";
    const TOOLS: &str = r#"{"messages":[],"maxTokens":1,"tools":[]}"#;
    const CHOICE: &str = r#"{"messages":[],"maxTokens":1,"toolChoice":{"mode":"none"}}"#;
    const CONTEXT: &str = r#"{"messages":[],"maxTokens":1,"includeContext":"allServers"}"#;
    const PLAIN: &str = r#"{"messages":[],"maxTokens":1,"includeContext":"none"}"#;
    const FORM: &str = r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#;
    const URL: &str = r#"{"mode":"url","message":"m","url":"x:y"}"#;
    &[
        ("{}", "roots/list", "null", Some(Roots)),
        (r#"{"roots":{}}"#, "roots/list", "null", None),
        (r#"{"roots":{"listChanged":false}}"#, "roots/list", "null", None),
        ("{}", SAMPLE, PLAIN, Some(Sampling)),
        (r#"{"sampling":{}}"#, SAMPLE, PLAIN, None),
        (r#"{"sampling":{}}"#, SAMPLE, TOOLS, Some(SamplingTools)),
        (r#"{"sampling":{"context":{}}}"#, SAMPLE, CHOICE, Some(SamplingTools)),
        (r#"{"sampling":{"tools":{}}}"#, SAMPLE, TOOLS, None),
        (r#"{"sampling":{"tools":{}}}"#, SAMPLE, CHOICE, None),
        (r#"{"sampling":{"tools":{}}}"#, SAMPLE, CONTEXT, Some(SamplingContext)),
        (r#"{"sampling":{"context":{}}}"#, SAMPLE, CONTEXT, None),
        ("{}", ELICIT, FORM, Some(Elicitation)),
        (r#"{"elicitation":{}}"#, ELICIT, FORM, None),
        (r#"{"elicitation":{"form":{}}}"#, ELICIT, FORM, None),
        (r#"{"elicitation":{"url":{}}}"#, ELICIT, FORM, Some(ElicitationForm)),
        (r#"{"elicitation":{}}"#, ELICIT, URL, Some(ElicitationUrl)),
        (r#"{"elicitation":{"url":{}}}"#, ELICIT, URL, None),
    ]
};

/// Proves M-SAMP-02, M-MRTR-07, M-MRTR-08, M-CAP-03, M-CAP-06.
#[test]
fn nothing_is_asked_that_the_request_does_not_declare() {
    for (declared, method, params, missing) in GATED {
        let (mut side, request) = asked_by(declared, "tools/call");
        let text = of_method(method, params);
        // One missing capability is enough to refuse both.
        let required = require(&mut side, &request, &input(&text).state("s"));
        match missing {
            None => {
                assert_eq!(required, Ok(()), "{declared} {text}");
                assert_eq!(side.sent().len(), 1);
            }
            Some(missing) => {
                let refused = NotAllowed::Capability(*missing);
                assert_eq!(required, Err(RespondError::NotAllowed(refused)), "{declared} {text}");
                is_still_open(&mut side, &request);
            }
        }
    }
}

/// Invalid forms and conversations: the defect and its path.
const REFUSED: &[(&str, &str, (&str, Problem))] = {
    use Problem::{Missing, NotAllowed, WrongType};
    const ELICIT: &str = "elicitation/create";
    const SAMPLE: &str = "sampling/createMessage";
    &[
        (ELICIT, r#"{"message":"m"}"#, ("requestedSchema", Missing)),
        (ELICIT, r#"{"mode":"url","message":"m"}"#, ("url", Missing)),
        (ELICIT, r#"{"mode":"url","message":"m","url":"no uri"}"#, ("url", NotAllowed)),
        (ELICIT, r#"{"mode":"page","message":"m"}"#, ("mode", NotAllowed)),
        (
            ELICIT,
            r#"{"message":"m","requestedSchema":{"type":"object","properties":{"f":{"type":"object"}}}}"#,
            ("type", NotAllowed),
        ),
        (
            ELICIT,
            r#"{"message":"m","requestedSchema":{"type":"object","properties":{"f":{"type":"string","format":"ipv4"}}}}"#,
            ("format", NotAllowed),
        ),
        (
            SAMPLE,
            r#"{"messages":[{"role":"assistant","content":{"type":"tool_use","id":"1","name":"n","input":{}}}],"maxTokens":1}"#,
            ("tool_result", Missing),
        ),
        (
            SAMPLE,
            r#"{"messages":[{"role":"assistant","content":{"type":"tool_use","id":"1","name":"n","input":{}}},{"role":"user","content":{"type":"tool_result","toolUseId":"2","content":[]}}],"maxTokens":1}"#,
            ("toolUseId", NotAllowed),
        ),
        (
            SAMPLE,
            r#"{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"n","input":{}},{"type":"tool_use","id":"2","name":"n","input":{}}]},{"role":"user","content":{"type":"tool_result","toolUseId":"1","content":[]}}],"maxTokens":1}"#,
            ("tool_result", Missing),
        ),
        (
            SAMPLE,
            r#"{"messages":[{"role":"assistant","content":{"type":"tool_use","id":"1","name":"n","input":{}}},{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[]},{"type":"tool_result","toolUseId":"1","content":[]}]}],"maxTokens":1}"#,
            ("toolUseId", NotAllowed),
        ),
        (
            SAMPLE,
            r#"{"messages":[{"role":"assistant","content":{"type":"tool_use","id":"1","name":"n","input":{}}},{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[]},{"type":"text","text":"t"}]}],"maxTokens":1}"#,
            ("tool_result", NotAllowed),
        ),
        (
            SAMPLE,
            r#"{"messages":[{"role":"user","content":{"type":"tool_result","toolUseId":"1","content":[]}}],"maxTokens":1}"#,
            ("tool_result", NotAllowed),
        ),
        (
            SAMPLE,
            r#"{"messages":[{"role":"assistant","content":{"type":"tool_use","id":"1","name":"n","input":{}}},{"role":"user","content":{"type":"text","text":"t"}},{"role":"user","content":{"type":"tool_result","toolUseId":"1","content":[]}}],"maxTokens":1}"#,
            ("tool_result", Missing),
        ),
        (
            SAMPLE,
            r#"{"messages":[{"role":"user","content":{"type":"video"}}],"maxTokens":1}"#,
            ("type", NotAllowed),
        ),
        (
            SAMPLE,
            r#"{"messages":[],"maxTokens":1,"modelPreferences":{"costPriority":2}}"#,
            ("costPriority", NotAllowed),
        ),
        (SAMPLE, r#"{"messages":[],"maxTokens":1,"metadata":[]}"#, ("metadata", WrongType)),
    ]
};

/// Proves M-ELIC-03, M-SAMP-04, M-SAMP-05, and M-ELIC-02, M-SAMP-01 for invalid requests.
#[test]
fn an_invalid_input_request_is_not_sent() {
    for (method, params, expected) in REFUSED {
        let (mut side, request) = asked_by(ALL, "tools/call");
        let text = of_method(method, params);
        match require(&mut side, &request, &input(&text)) {
            Err(RespondError::Encode(EncodeError::Misfit(misfit))) => {
                assert_eq!((misfit.field, misfit.problem), *expected, "{params}");
            }
            other => panic!("{params}: {other:?}"),
        }
        is_still_open(&mut side, &request);
    }
}

/// Every kind of form field, and its sent text.
const FIELDS: [&str; 14] = [
    r#"{"type":"string"}"#,
    r#"{"type":"string","minLength":1,"maxLength":2,"format":"email","default":"d"}"#,
    r#"{"type":"string","format":"uri"}"#,
    r#"{"type":"string","format":"date"}"#,
    r#"{"type":"string","format":"date-time"}"#,
    r#"{"type":"number","minimum":0.5,"maximum":1.5,"default":1.25}"#,
    r#"{"type":"integer","minimum":-1,"maximum":2,"default":1}"#,
    r#"{"type":"boolean","default":false}"#,
    r#"{"type":"string","enum":["a","b"],"default":"a"}"#,
    r#"{"type":"string","enum":["a"],"enumNames":["A"]}"#,
    r#"{"type":"string","oneOf":[{"const":"a","title":"A"}],"default":"a"}"#,
    r#"{"type":"array","items":{"type":"string","enum":["a"]},"default":["a"]}"#,
    r#"{"type":"array","minItems":1,"maxItems":2,"items":{"anyOf":[{"const":"a","title":"A"}]}}"#,
    r#"{"type":"string","title":"T","description":"d"}"#,
];

/// Proves M-ELIC-02, M-ELIC-03 for valid fields: each kind, alone and with all others.
#[test]
fn every_kind_of_field_can_be_asked_for() {
    let Some(schemas) = Schemas::of(REVISION) else { return };
    for field in FIELDS {
        let text = of_method(
            "elicitation/create",
            &format!(
                r#"{{"message":"m","requestedSchema":{{"type":"object","properties":{{"f":{field}}},"required":["f"]}}}}"#
            ),
        );
        let (mut side, request) = asked_by(ALL, "prompts/get");
        require(&mut side, &request, &input(&text)).unwrap();
        let sent = parse(&side.sent());
        let asked = &sent["result"]["inputRequests"]["k"];
        assert_eq!(*asked, serde_json::from_str::<Value>(&text).unwrap());
        schemas.closed("ElicitRequest", asked).unwrap();
    }
}

/// Proves M-ELIC-09: in the modern era, no notification about a finished URL elicitation is sent.
#[test]
fn no_visit_is_reported_as_complete() {
    let (mut side, request) = asked_by(ALL, "tools/call");
    let visit = ElicitParams::url("m", "x:y", "e");
    require(&mut side, &request, &InputRequired::new().elicit("k", visit)).unwrap();
    side.sent();
    let delivered = side.server.notifications().elicitation_complete("e", &mut side.out);
    assert_eq!(delivered, Ok(Delivery::NotWanted));
    let params = Raw::new(r#"{"elicitationId":"e"}"#).unwrap();
    let method = "notifications/elicitation/complete";
    let delivered = side.server.notify_method(method, &params, None, &mut side.out);
    assert_eq!(delivered, Ok(Delivery::NotWanted));
    assert_eq!(side.sent(), [""; 0]);
}
