//! The permitted input requests of a server, and the permitted answers of the application.

use mcp_sansio::capability::{Capability, CapabilitySet};
use mcp_sansio::error::ViolationKind;
use mcp_sansio::model::{ElicitationCapability, EmptyCapability, SamplingCapability};
use mcp_sansio::task::{TaskCall, Tasks, TasksConfig};
use mcp_sansio::{CallOptions, ClientConfig, RespondError, ServerRequest};
use mcp_sansio_proptests::{config, payload};

use super::input::{FORM, NAME, ROOTS, SAMPLE, again, asking, calling, interim};
use super::kit::{asked, asked_again, connected_with, error, is_alive, malformed, modern, needed};
use super::known::Noting;

/// Proves M-MRTR-20, M-MRTR-21, M-MRTR-13, M-SAMP-04, M-SAMP-05: a malformed input request is not handed out, and
/// the call ends.
#[test]
fn a_malformed_request_for_input_ends_the_call() {
    let good = format!(r#""a":{ROOTS}"#);
    let members = [
        String::new(),
        r#""inputRequests":{}"#.to_owned(),
        r#""requestState":null"#.to_owned(),
        r#""requestState":7"#.to_owned(),
        r#""requestState":{}"#.to_owned(),
        r#""inputRequests":[]"#.to_owned(),
        r#""inputRequests":null"#.to_owned(),
        r#""inputRequests":"x","requestState":"s""#.to_owned(),
        format!(r#""inputRequests":{{{good}}},"requestState":null"#),
    ];
    let bad = [
        r#"{}"#,
        r#"7"#,
        r#"null"#,
        r#"[]"#,
        r#"{"method":7}"#,
        r#"{"method":"x/y"}"#,
        r#"{"method":"tools/call","params":{"name":"n"}}"#,
        r#"{"method":"ping"}"#,
        r#"{"method":"initialize"}"#,
        r#"{"method":"roots/list","params":7}"#,
        r#"{"method":"roots/list","params":[]}"#,
        r#"{"method":"elicitation/create"}"#,
        r#"{"method":"elicitation/create","params":{}}"#,
        r#"{"method":"elicitation/create","params":{"message":"m"}}"#,
        r#"{"method":"elicitation/create","params":{"message":7,"requestedSchema":{"type":"object","properties":{}}}}"#,
        r#"{"method":"elicitation/create","params":{"mode":"url","message":"m"}}"#,
        r#"{"method":"sampling/createMessage"}"#,
        r#"{"method":"sampling/createMessage","params":{"messages":[]}}"#,
        r#"{"method":"sampling/createMessage","params":{"messages":7,"maxTokens":1}}"#,
        // A tool result beside other content, and a tool use without its result.
        r#"{"method":"sampling/createMessage","params":{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","toolUseId":"t","content":[]},{"type":"text","text":"x"}]}],"maxTokens":1}}"#,
        r#"{"method":"sampling/createMessage","params":{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]},{"role":"user","content":{"type":"text","text":"x"}}],"maxTokens":1}}"#,
    ];
    let with_bad = bad.iter().flat_map(|bad| {
        [
            format!(r#""inputRequests":{{{good},"b":{bad}}}"#),
            format!(r#""inputRequests":{{"b":{bad},{good}}}"#),
        ]
    });
    for members in members.into_iter().chain(with_bad) {
        let (mut side, call) = calling();
        let event = side.receive(&interim(2, &members));
        assert_eq!(malformed(event), (call, ViolationKind::InvalidResult), "{members}");
        assert_eq!(side.client.in_flight().counts().inbound, 0, "{members}");
        is_alive(&mut side);
    }
}

/// Two input requests under one key cannot be answered, because it is undefined which of the two the server uses.
/// Proves M-RPC-25, M-MRTR-03.
#[test]
fn a_key_names_one_thing() {
    let (mut side, call) = calling();
    let twice = format!(r#""inputRequests":{{"a":{ROOTS},"\u0061":{FORM}}}"#);
    let event = side.receive(&interim(2, &twice));
    assert_eq!(malformed(event), (call, ViolationKind::InvalidResult));
    is_alive(&mut side);
}

/// A modern client with this configuration.
fn offering(offer: impl FnOnce(&mut ClientConfig)) -> ClientConfig {
    let mut config = config::bare_client();
    config.revisions = modern().revisions;
    offer(&mut config);
    config
}

fn elicitation(form: bool, url: bool) -> ElicitationCapability {
    let mut capability = ElicitationCapability::default();
    capability.form = form.then(EmptyCapability::default);
    capability.url = url.then(EmptyCapability::default);
    capability
}

const URL: &str = r#"{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://x.test/"}}"#;
const TOOLS: &str =
    r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"tools":[]}}"#;
const CHOICE: &str = r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"toolChoice":{"mode":"auto"}}}"#;

/// Proves M-MRTR-20, M-SAMP-03, M-ELIC-01, M-CAP-06: only declared input may be required, down to the mode.
#[test]
fn only_input_of_declared_capabilities_may_be_required() {
    let everything = [FORM, URL, SAMPLE, TOOLS, CHOICE, ROOTS];
    let sampling = |tools: bool| {
        let mut capability = SamplingCapability::default();
        capability.tools = tools.then(EmptyCapability::default);
        capability
    };
    let table: [(ClientConfig, &[&str]); 8] = [
        (offering(|_| {}), &[]),
        (
            offering(|config| config.capabilities.elicitation = Some(elicitation(false, false))),
            &[FORM],
        ),
        (
            offering(|config| config.capabilities.elicitation = Some(elicitation(true, false))),
            &[FORM],
        ),
        (
            offering(|config| config.capabilities.elicitation = Some(elicitation(false, true))),
            &[URL],
        ),
        (
            offering(|config| config.capabilities.elicitation = Some(elicitation(true, true))),
            &[FORM, URL],
        ),
        (offering(|config| config.capabilities.sampling = Some(sampling(false))), &[SAMPLE]),
        (
            offering(|config| config.capabilities.sampling = Some(sampling(true))),
            &[SAMPLE, TOOLS, CHOICE],
        ),
        (
            offering(|config| {
                config.capabilities.roots = Some(mcp_sansio::model::ListChanged::default())
            }),
            &[ROOTS],
        ),
    ];
    for (config, allowed) in table {
        for request in everything {
            let mut side = connected_with(config.clone());
            let call = side.call("tools/call");
            side.sent();
            let event = side.receive(&asking(2, &[("k", request)], None));
            if allowed.contains(&request) {
                assert_eq!(needed(event).needed_for, Some(call));
            } else {
                assert_eq!(malformed(event), (call, ViolationKind::InvalidResult), "{request}");
                is_alive(&mut side);
            }
        }
    }
}

/// Input that a single call did not declare may not be required for it, whichever capabilities the client has.
/// Proves M-MRTR-20, M-META-21.
#[test]
fn only_input_that_the_call_declared_may_be_required() {
    for (set, request, is_allowed) in [
        (CapabilitySet::NONE, ROOTS, false),
        (CapabilitySet::NONE.with(Capability::Sampling), TOOLS, false),
        (CapabilitySet::NONE.with(Capability::Sampling), SAMPLE, true),
        (CapabilitySet::NONE.with(Capability::Roots), ROOTS, true),
        (CapabilitySet::NONE.with(Capability::SamplingTools), TOOLS, true),
        (CapabilitySet::NONE.with(Capability::SamplingTools), SAMPLE, true),
        (CapabilitySet::NONE.with(Capability::Elicitation), FORM, true),
        (CapabilitySet::NONE.with(Capability::Elicitation), URL, false),
        (CapabilitySet::NONE.with(Capability::ElicitationForm), FORM, true),
        (CapabilitySet::NONE.with(Capability::ElicitationUrl), FORM, false),
        (CapabilitySet::NONE.with(Capability::ElicitationUrl), URL, true),
    ] {
        let mut side = super::kit::connected();
        let options = CallOptions::new().capabilities(set);
        let params = payload::params("tools/call");
        let call = side
            .client
            .call_method("tools/call", &params, options, side.now, &mut side.out)
            .unwrap();
        side.sent();
        let event = side.receive(&asking(2, &[("k", request)], None));
        if is_allowed {
            assert_eq!(needed(event).needed_for, Some(call));
        } else {
            assert_eq!(malformed(event), (call, ViolationKind::InvalidResult), "{request}");
            is_alive(&mut side);
        }
    }
}

/// Proves M-ELIC-01, M-ELIC-10, M-SAMP-07, M-META-18, M-RPC-19: the application receives an input request
/// unchanged.
#[test]
fn an_input_request_is_delivered_unchanged() {
    let table = [
        (FORM, "elicitation/create"),
        (URL, "elicitation/create"),
        (
            r#"{"method":"elicitation/create","params":{"mode":"form","message":"","requestedSchema":{"type":"object","properties":{}},"_meta":{"a/b":1},"x":2},"y":3}"#,
            "elicitation/create",
        ),
        (
            r#"{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"t"}}],"maxTokens":12345,"temperature":0.1,"x":[]}}"#,
            "sampling/createMessage",
        ),
        (
            r#"{"method":"sampling/createMessage","params":{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","toolUseId":"t","content":[]}]}],"maxTokens":1}}"#,
            "sampling/createMessage",
        ),
        (r#"{"method":"roots/list","params":{}}"#, "roots/list"),
        (r#"{"method":"roots/list","params":{"_meta":{"a/b":1}}}"#, "roots/list"),
        (r#"{"method":"roots/list","params":null}"#, "roots/list"),
        (ROOTS, "roots/list"),
    ];
    for (request, method) in table {
        let (mut side, _) = calling();
        let asked = needed(side.receive(&asking(2, &[("k", request)], None)));
        let value: serde_json::Value = serde_json::from_str(request).unwrap();
        assert!(asked.method == method);
        let params =
            asked.params.as_ref().map(|params| serde_json::from_str(params.as_json()).unwrap());
        let expected = value.get("params").filter(|params| !params.is_null()).cloned();
        assert_eq!(params, expected, "{request}");
        let meta = asked.meta.map(|meta| serde_json::from_str(meta.as_json()).unwrap());
        assert_eq!(meta, value["params"].get("_meta").cloned());
        match asked.kind {
            ServerRequest::Elicit(text) | ServerRequest::CreateMessage(text) => {
                assert_eq!(Some(text), asked.params);
            }
            ServerRequest::ListRoots => assert_eq!(method, "roots/list"),
            _ => panic!("{request}"),
        }
    }
}

/// Proves M-ELIC-05, M-ELIC-07, M-ROOT-01, M-SAMP-06: an answer that does not match is refused, and the application
/// may give another one.
#[test]
fn an_answer_has_to_fit() {
    let form = r#"{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"age":{"type":"integer","minimum":0},"name":{"type":"string"}},"required":["age"]}}}"#;
    let table = [
        (form, r#"{"action":"accept","content":{"age":-1}}"#, false),
        (form, r#"{"action":"accept","content":{"name":"x"}}"#, false),
        (form, r#"{"action":"accept","content":{"age":"1"}}"#, false),
        (form, r#"{"action":"accept"}"#, false),
        (form, r#"{"content":{"age":1}}"#, false),
        (form, r#"{"action":"accept","content":{"age":1,"name":"x"}}"#, true),
        (form, r#"{"action":"accept","content":{"age":1.0}}"#, true),
        (form, r#"{"action":"decline"}"#, true),
        (URL, r#"{"action":"accept"}"#, true),
        (ROOTS, r#"{"roots":[{"uri":"https://x.test"}]}"#, false),
        (ROOTS, r#"{"roots":7}"#, false),
        (ROOTS, r#"{}"#, false),
        (ROOTS, r#"{"roots":[{"uri":"file:///a","name":"n","_meta":{"a/b":1}}]}"#, true),
        (SAMPLE, r#"{"role":"assistant","model":"m"}"#, false),
        (
            SAMPLE,
            r#"{"role":"assistant","content":[{"type":"text","text":"t"}],"model":"m"}"#,
            true,
        ),
    ];
    for (request, answer, fits) in table {
        let (mut side, _) = calling();
        let asked = needed(side.receive(&asking(2, &[("k", request)], None)));
        let raw = mcp_sansio::json::Raw::new(answer).unwrap();
        let given = side.client.respond(asked.id, &raw, &mut side.out);
        if fits {
            assert_eq!(given, Ok(()), "{answer}");
            // The `resultType` is left out, because it is no part of an answer.
            assert_eq!(side.sent(), [again(3, &format!(r#""inputResponses":{{"k":{answer}}}"#))]);
        } else {
            assert!(matches!(given, Err(RespondError::Encode(_))), "{answer}: {given:?}");
            assert_eq!(side.sent(), [""; 0]);
            assert!(
                side.client.in_flight().context(asked.id).is_some(),
                "it can still be answered"
            );
        }
    }
}

/// Only a form has content.
/// Proves M-ELIC-05.
#[test]
fn a_visit_has_no_content() {
    let (mut side, _) = calling();
    let asked = needed(side.receive(&asking(2, &[("k", URL)], None)));
    let raw = mcp_sansio::json::Raw::new(r#"{"action":"accept","content":{"a":1}}"#).unwrap();
    let given = side.client.respond(asked.id, &raw, &mut side.out);
    assert!(matches!(given, Err(RespondError::Encode(_))), "{given:?}");
    assert_eq!(side.sent(), [""; 0]);
}

/// A key is returned unchanged, with any content.
#[test]
fn a_key_is_brought_back() {
    for (key, back) in [
        ("\"\"", "\"\""),
        (r#""a\u0041\n""#, r#""aA\n""#),
        (r#""\"""#, r#""\"""#),
        ("\"é\"", "\"é\""),
    ] {
        let (mut side, _) = calling();
        let request =
            needed(side.receive(&interim(2, &format!(r#""inputRequests":{{{key}:{ROOTS}}}"#))));
        side.respond(request.id, r#"{"roots":[]}"#);
        assert_eq!(
            side.sent(),
            [again(3, &format!(r#""inputResponses":{{{back}:{{"roots":[]}}}}"#))]
        );
    }
}

/// A request with input answers that is refused for its version is repeated with the same answers.
/// Proves M-DISC-12, M-MRTR-11.
#[test]
fn a_refused_version_does_not_cost_the_input() {
    let supported = super::kit::SUPPORTED;
    let (mut side, _) = calling();
    let request = needed(side.receive(&asking(2, &[("k", ROOTS)], Some(r#""s""#))));
    side.respond(request.id, r#"{"roots":[]}"#);
    let more = r#""inputResponses":{"k":{"roots":[]}},"requestState":"s""#;
    assert_eq!(side.sent(), [again(3, more)]);
    assert_eq!(side.receive(&error(3, -32022, supported)), None);
    assert_eq!(side.sent(), [again(4, more)]);
    // This also holds if the application collected the answers.
    let mut side = super::kit::connected();
    let params = mcp_sansio::json::Raw::try_from(format!("{{{NAME},{more}}}")).unwrap();
    side.client
        .call_method("tools/call", &params, CallOptions::new(), side.now, &mut side.out)
        .unwrap();
    side.sent();
    assert_eq!(side.receive(&error(2, -32022, supported)), None);
    let sent: serde_json::Value = serde_json::from_str(&side.sent()[0]).unwrap();
    assert_eq!(sent["params"]["requestState"], "s");
    assert_eq!(sent["params"]["inputResponses"], serde_json::json!({"k": {"roots": []}}));
}

/// A request whose first answers came from the application, and which needs more input, is repeated with the new
/// answers only.
#[test]
fn a_retry_contains_only_the_new_input_responses() {
    let mut side = super::kit::connected();
    let params = r#""name":"n","inputResponses":{"old":{}},"requestState":"old""#;
    let raw = mcp_sansio::json::Raw::try_from(format!("{{{params}}}")).unwrap();
    side.client
        .call_method("tools/call", &raw, CallOptions::new(), side.now, &mut side.out)
        .unwrap();
    assert_eq!(side.sent(), [asked_again(2, "tools/call", "", params, "")]);
    let request = needed(side.receive(&asking(2, &[("new", ROOTS)], None)));
    side.respond(request.id, r#"{"roots":[]}"#);
    assert_eq!(side.sent(), [again(3, r#""inputResponses":{"new":{"roots":[]}}"#)]);
}

/// A request for input has no id on the wire, so nothing can be sent under its id.
#[test]
fn a_request_for_input_is_no_request_about_tasks() {
    let (mut side, _) = calling();
    let need = needed(side.receive(&asking(2, &[("r", ROOTS)], None)));
    assert_eq!(side.client.in_flight().peer_id(need.id), None);
    let mut tasks = Tasks::new(TasksConfig::default());
    let call = TaskCall::List { cursor: None };
    let served =
        side.client.tasks(&mut tasks).serve(need.id, &call, side.now, &mut side.out).unwrap_err();
    assert_eq!((served, side.sent()), (RespondError::Stale, vec![]));
    side.respond(need.id, r#"{"roots":[]}"#);
    let more = r#""inputResponses":{"r":{"roots":[]}}"#;
    assert_eq!(side.sent(), [again(3, more)]);
}

/// A handler of an input may make calls because of it, as it may in a session. Proves M-MRTR-44.
#[test]
fn a_request_for_input_may_be_the_parent_of_a_call() {
    let (mut side, _) = calling();
    let need = needed(side.receive(&asking(2, &[("r", ROOTS)], None)));
    let options = CallOptions::new().parent(need.id);
    let params = payload::params("tools/list");
    let mut out = Noting { out: &mut side.out, latest: None };
    let child =
        side.client.call_method("tools/list", &params, options, side.now, &mut out).unwrap();
    assert_eq!(out.latest, Some(child), "the call has a route of its own");
    let made_for: Vec<_> = side.client.in_flight().calls_made_for(need.id).collect();
    assert_eq!((made_for, side.sent()), (vec![child], vec![asked(4, "tools/list", "")]));
    side.respond(need.id, r#"{"roots":[]}"#);
    let more = r#""inputResponses":{"r":{"roots":[]}}"#;
    assert_eq!(side.sent(), [again(3, more)]);
}
