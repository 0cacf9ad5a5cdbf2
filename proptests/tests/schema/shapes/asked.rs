//! Requests and results of sampling, elicitation, completion, roots and logs, by revision, with absent, `null` and
//! empty values.

use super::{
    Leaves, called, params_leave, put, raw, request, results_leave, sent_notification, sent_params,
    sent_result,
};
use mcp_sansio::Revision::{
    V2024_11_05 as A, V2025_03_26 as B, V2025_06_18 as C, V2025_11_25 as D,
};
use mcp_sansio::error::NotAllowed as Refusal;
use mcp_sansio::model::{
    CompleteResult, Completion, Content, CreateMessageParams, CreateMessageResult, ElicitParams,
    ListRootsResult, LogParams, LoggingLevel, Map, ObjectSchema, Role, Root, SamplingContent,
    SamplingMessage,
};
use mcp_sansio::schema::Json;
use mcp_sansio::schema::Problem::{Missing, NotAllowed, NotInRevision, WrongType};
use mcp_sansio::subscription::{Delivery, Log};
use mcp_sansio::{CallError, RespondError, Revision};
use mcp_sansio_proptests::{ClientSide, ServerSide};
use serde::Serialize;

const SAMPLING: &str = r#"{"messages":[],"maxTokens":1@}"#;

/// Proves L-SAMP-02, L-META-01: optional members are sent unchanged; tools cannot be omitted.
#[test]
fn the_options_of_sampling_leave_unchanged() {
    let optional = r#","modelPreferences":{"hints":[{"name":"h"},{}],"costPriority":0,"speedPriority":0.5,"intelligencePriority":1},"systemPrompt":"s","includeContext":"none","temperature":0.7,"stopSequences":["a","b"],"metadata":{"p":[null]},"_meta":{"k":1}"#;
    params_leave("sampling/createMessage", SAMPLING, optional, [Ok(optional); 4]);
    for context in [r#","includeContext":"thisServer""#, r#","includeContext":"allServers""#] {
        params_leave("sampling/createMessage", SAMPLING, context, [Ok(context); 4]);
    }
    let tools = r#","tools":[{"name":"t","inputSchema":{"type":"object"}}]"#;
    let lacking = Err(("tools", NotInRevision));
    params_leave("sampling/createMessage", SAMPLING, tools, [lacking, lacking, lacking, Ok(tools)]);
    for choice in [
        r#","toolChoice":{}"#,
        r#","toolChoice":{"mode":"auto"}"#,
        r#","toolChoice":{"mode":"required"}"#,
        r#","toolChoice":{"mode":"none"}"#,
    ] {
        let lacking = Err(("toolChoice", NotInRevision));
        let leaves = [lacking, lacking, lacking, Ok(choice)];
        params_leave("sampling/createMessage", SAMPLING, choice, leaves);
    }
    for (wrong, problem) in [
        (r#","includeContext":"everything""#, ("includeContext", NotAllowed)),
        (r#","systemPrompt":7"#, ("systemPrompt", WrongType)),
        (r#","temperature":"hot""#, ("temperature", WrongType)),
        (r#","stopSequences":"a""#, ("stopSequences", WrongType)),
        (r#","metadata":[]"#, ("metadata", WrongType)),
        (r#","_meta":7"#, ("_meta", WrongType)),
    ] {
        params_leave("sampling/createMessage", SAMPLING, wrong, [Err(problem); 4]);
    }
}

/// Proves L-SAMP-03.
#[test]
fn priorities_are_from_zero_to_one() {
    let template = r#"{"messages":[],"modelPreferences":{@},"maxTokens":1}"#;
    for (name, fine, wrong) in [
        ("costPriority", r#""costPriority":1.0"#, r#""costPriority":1.5"#),
        ("speedPriority", r#""speedPriority":0"#, r#""speedPriority":-0.01"#),
        ("intelligencePriority", r#""intelligencePriority":1"#, r#""intelligencePriority":2"#),
    ] {
        params_leave("sampling/createMessage", template, fine, [Ok(fine); 4]);
        params_leave("sampling/createMessage", template, wrong, [Err((name, NotAllowed)); 4]);
    }
}

/// Proves L-SAMP-05, L-SAMP-06, L-SAMP-07, L-AMB-33: before 2025-11-25 content is one block, and an array of one is
/// sent as that block.
#[test]
fn content_of_sampling_is_one_block_until_it_may_be_several() {
    let text = r#"{"type":"text","text":"t"}"#;
    let one = r#"[{"type":"text","text":"t"}]"#;
    let two = r#"[{"type":"text","text":"t"},{"type":"text","text":"u"}]"#;
    let asked = r#"{"messages":[{"role":"user","content":@}],"maxTokens":1}"#;
    let answered = r#"{"role":"assistant","content":@,"model":"m"}"#;
    let several = Err(("content", NotInRevision));
    let none = Err(("content", Missing));
    let cases: [(&str, Leaves); 4] = [
        (text, [Ok(text); 4]),
        (one, [Ok(text), Ok(text), Ok(text), Ok(one)]),
        (two, [several, several, several, Ok(two)]),
        ("[]", [none, none, none, Ok("[]")]),
    ];
    for (content, leaves) in cases {
        params_leave("sampling/createMessage", asked, content, leaves);
        results_leave("sampling/createMessage", answered, content, leaves);
    }
    for revision in Revision::LEGACY {
        let many = || SamplingContent::Many([Content::text("t")].into());
        let mut message = SamplingMessage::new(Role::User, Content::text(""));
        message.content = many();
        let mut result = CreateMessageResult::new("m", Content::text(""));
        result.content = many();
        let expected = if revision == D { one } else { text };
        let params = CreateMessageParams::new([message], 1);
        let sent = sent_params("sampling/createMessage", revision, &params);
        assert_eq!(sent, Ok(put(asked, expected)), "{revision}");
        let sent = sent_result("sampling/createMessage", revision, &result);
        assert_eq!(sent, Ok(put(answered, expected)), "{revision}");
    }
}

/// Proves L-ELIC-02: a form in 2025-06-18 has no mode, and forms are the only kind.
#[test]
fn the_form_of_the_first_elicitation_has_no_mode() {
    let form = r#"{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}"#;
    let sent = |revision, text: &str| sent_params("elicitation/create", revision, &raw(text));
    assert_eq!(sent(C, form), Ok(form.to_owned()));
    assert_eq!(sent(D, form), Ok(form.to_owned()));
    let moded = form.replacen('{', r#"{"mode":"form","#, 1);
    assert_eq!(sent(C, &moded), Ok(form.to_owned()), "the mode is left out");
    assert_eq!(sent(D, &moded), Ok(moded.clone()));
    // The mode is omitted at any position.
    let last = form.replacen(r#""message":"m","#, r#""message":"m","mode":"form","#, 1);
    assert_eq!(sent(C, &last), Ok(form.to_owned()));
    let url = r#"{"mode":"url","message":"m","url":"https://x.y/","elicitationId":"e"}"#;
    assert_eq!(sent(C, url), Err(("mode", NotInRevision)));
    assert_eq!(sent(D, url), Ok(url.to_owned()));
    let typed = ElicitParams::url("m", "https://x.y/", "e");
    assert_eq!(sent_params("elicitation/create", C, &typed), Err(("mode", NotInRevision)));
    assert_eq!(sent(C, r#"{"message":"m","url":"x:y"}"#), Err(("url", NotInRevision)));
    for (wrong, problem) in [
        (r#"{"message":"m"}"#, ("requestedSchema", Missing)),
        (r#"{"requestedSchema":{"type":"object","properties":{}}}"#, ("message", Missing)),
        (r#"{"message":"m","requestedSchema":{"properties":{}}}"#, ("type", Missing)),
        (r#"{"message":"m","requestedSchema":{"type":"object"}}"#, ("properties", Missing)),
        (
            r#"{"message":"m","requestedSchema":{"type":"array","properties":{}}}"#,
            ("type", NotAllowed),
        ),
    ] {
        assert_eq!(sent(C, wrong), Err(problem), "{wrong}");
        assert_eq!(sent(D, wrong), Err(problem), "{wrong}");
    }
    for revision in [A, B] {
        let params = ElicitParams::form("m", ObjectSchema::new(Map::default()));
        let (result, sent) = called("elicitation/create", revision, &params);
        assert_eq!(result, Err(CallError::NotAllowed(Refusal::Revision)));
        assert_eq!(sent, [""; 0]);
    }
}

/// Proves L-ELIC-08: the fields of a form in 2025-06-18, and later fields.
#[test]
fn fields_of_a_form_are_those_of_their_revision() {
    let template = r#"{"message":"m","requestedSchema":{"type":"object","properties":{"a":{@}}}}"#;
    let same = |text| (text, [Ok(text), Ok(text)]);
    let cases: [(&'static str, [Result<&'static str, _>; 2]); 8] = [
        same(r#""type":"string","enum":["x","y"],"enumNames":["X","Y"]"#),
        same(r#""type":"string","minLength":1,"maxLength":2,"format":"email""#),
        same(r#""type":"integer","minimum":0,"maximum":9"#),
        same(r#""type":"boolean","default":true"#),
        (
            r#""type":"string","default":"d""#,
            [Ok(r#""type":"string""#), Ok(r#""type":"string","default":"d""#)],
        ),
        (
            r#""default":3,"type":"number""#,
            [Ok(r#""type":"number""#), Ok(r#""default":3,"type":"number""#)],
        ),
        (
            r#""type":"string","oneOf":[{"const":"x","title":"X"}]"#,
            [
                Err(("oneOf", NotInRevision)),
                Ok(r#""type":"string","oneOf":[{"const":"x","title":"X"}]"#),
            ],
        ),
        (
            r#""type":"array","items":{"type":"string","enum":["x"]}"#,
            [
                Err(("type", NotInRevision)),
                Ok(r#""type":"array","items":{"type":"string","enum":["x"]}"#),
            ],
        ),
    ];
    for (field, leaves) in cases {
        for (revision, expected) in [C, D].into_iter().zip(leaves) {
            let params = put(template, field);
            let sent = sent_params("elicitation/create", revision, &raw(&params));
            assert_eq!(sent, expected.map(|field| put(template, field)), "{revision} {field}");
        }
    }
}

/// Proves L-ELIC-08 for the values: a list is no value before 2025-11-25.
#[test]
fn values_of_a_form_are_those_of_their_revision() {
    let template = r#"{"action":"accept","content":{"a":@}}"#;
    let sent = |revision, value: &str| {
        let result = put(template, value);
        sent_result("elicitation/create", revision, &raw(&result))
    };
    for value in [r#""s""#, "7", "1.5", "true"] {
        assert_eq!(sent(C, value), Ok(put(template, value)));
        assert_eq!(sent(D, value), Ok(put(template, value)));
    }
    assert_eq!(sent(C, r#"["x"]"#), Err(("content", NotInRevision)));
    assert_eq!(sent(D, r#"["x"]"#), Ok(put(template, r#"["x"]"#)));
    for value in [r#"{"b":1}"#, "null"] {
        assert_eq!(sent(C, value), Err(("content", WrongType)), "{value}");
        assert_eq!(sent(D, value), Err(("content", WrongType)), "{value}");
    }
    assert_eq!(sent(D, "[1]"), Err(("content", WrongType)));
}

/// Proves L-ELIC-08 for a form that is not JSON text, with its members in alphabetical order.
#[test]
fn only_booleans_have_a_default_in_any_order_of_members() {
    let field = |kind: &str, default: serde_json::Value| {
        let field = serde_json::json!({"default": default, "maximum": 9, "type": kind});
        let params = serde_json::json!({
            "message": "m",
            "requestedSchema": {"properties": {"a": field}, "type": "object"},
        });
        sent_params("elicitation/create", C, &params).unwrap()
    };
    let template = r#"{"message":"m","requestedSchema":{"properties":{"a":{@}},"type":"object"}}"#;
    let boolean = field("boolean", true.into());
    assert_eq!(boolean, put(template, r#""default":true,"maximum":9,"type":"boolean""#));
    let number = field("number", 7.into());
    assert_eq!(number, put(template, r#""maximum":9,"type":"number""#));
    // `null` is the default of no field.
    let boolean = field("boolean", serde_json::Value::Null);
    assert_eq!(boolean, put(template, r#""maximum":9,"type":"boolean""#));
}

/// Proves L-COMP-04: the context is not sent before 2025-06-18, and contains only strings.
#[test]
fn completions_have_a_context_later() {
    let template =
        r#"{"ref":{"type":"ref/prompt","name":"n"},"argument":{"name":"a","value":""}@}"#;
    for context in [
        r#","context":{"arguments":{"b":"c"}}"#,
        r#","context":{"arguments":{}}"#,
        r#","context":{}"#,
    ] {
        let leaves = [Ok(""), Ok(""), Ok(context), Ok(context)];
        params_leave("completion/complete", template, context, leaves);
    }
    for (wrong, field) in [
        (r#","context":{"arguments":{"b":1}}"#, "arguments"),
        (r#","context":{"arguments":[]}"#, "arguments"),
        (r#","context":"b""#, "context"),
    ] {
        let refused = Err((field, WrongType));
        params_leave("completion/complete", template, wrong, [Ok(""), Ok(""), refused, refused]);
    }
}

/// Proves L-COMP-05, L-AMB-48: a hundred values are sent at once; longer lists are cut, and their number is sent.
#[test]
fn at_most_a_hundred_completions_leave() {
    let values = |count: usize| (0..count).map(|index| index.to_string());
    let list = |count: usize| {
        values(count).map(|value| format!(r#""{value}""#)).collect::<Vec<_>>().join(",")
    };
    for revision in Revision::LEGACY {
        let sent = |count: usize| {
            let result = CompleteResult::from(Completion::new(values(count)));
            sent_result("completion/complete", revision, &result)
        };
        assert_eq!(sent(0), Ok(r#"{"completion":{"values":[]}}"#.to_owned()));
        let hundred = format!(r#"{{"completion":{{"values":[{}]}}}}"#, list(100));
        assert_eq!(sent(100), Ok(hundred));
        for (count, total) in [(101, "101"), (250, "250")] {
            let cut = format!(
                r#"{{"completion":{{"values":[{}],"total":{total},"hasMore":true}}}}"#,
                list(100)
            );
            assert_eq!(sent(count), Ok(cut));
        }
        // An application that writes the list by hand gets an error.
        let result = format!(r#"{{"completion":{{"values":[{}]}}}}"#, list(101));
        let sent = sent_result("completion/complete", revision, &raw(&result));
        assert_eq!(sent, Err(("values", NotAllowed)));
        // The total may differ from the number of sent values.
        let result = r#"{"completion":{"values":["b","a"],"total":7,"hasMore":false}}"#;
        let sent = sent_result("completion/complete", revision, &raw(result));
        assert_eq!(sent, Ok(result.to_owned()), "the order is the rank");
    }
}

/// Proves L-ROOT-02 for the client.
#[test]
fn only_files_are_roots() {
    let template = r#"{"roots":[@]}"#;
    let fine = r#"{"uri":"file:///a%20b/c","name":"n"}"#;
    results_leave("roots/list", template, fine, [Ok(fine); 4]);
    for uri in ["http://a/", "/home/a", "file:/home/a", "FILE:///a", "", "xfile:///a"] {
        let root = format!(r#"{{"uri":"{uri}"}}"#);
        results_leave("roots/list", template, &root, [Err(("uri", NotAllowed)); 4]);
    }
    results_leave("roots/list", template, r#"{"name":"n"}"#, [Err(("uri", Missing)); 4]);
    // One invalid root prevents sending the valid ones, and the request stays open.
    let mut side = ClientSide::ready(D);
    let id = side.request(&request("roots/list", "{}"));
    let roots: ListRootsResult<'_> =
        [Root::new("file:///a"), Root::new("ftp://b")].into_iter().collect();
    let refused = side.client.respond(id, &roots, &mut side.out);
    assert!(matches!(refused, Err(RespondError::Encode(_))), "{refused:?}");
    assert_eq!(side.sent(), [""; 0]);
    side.respond(id, r#"{"roots":[]}"#);
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#]);
}

/// Proves L-LOG-06, L-JSONRPC-29: the data of a log message is required, and is any JSON, including `null`.
#[test]
fn a_log_message_always_has_data() {
    let method = "notifications/message";
    for data in ["null", "7", r#""s""#, r#"{"a":null}"#, "[null]", "false"] {
        for revision in Revision::LEGACY {
            let params = format!(r#"{{"level":"info","data":{data}}}"#);
            assert_eq!(sent_notification(method, revision, &raw(&params)), Ok(params.clone()));
            let logged = LogParams::new(LoggingLevel::Info, raw(data));
            assert_eq!(sent_notification(method, revision, &logged), Ok(params.clone()));
            let value = raw(data);
            let log = Log::new(LoggingLevel::Info, &value).logger("l");
            let named = format!(r#"{{"level":"info","logger":"l","data":{data}}}"#);
            assert_eq!(sent_notification(method, revision, &Json(&log)), Ok(named));
        }
    }
    for (wrong, problem) in [
        (r#"{"level":"info"}"#, ("data", Missing)),
        (r#"{"data":1}"#, ("level", Missing)),
        (r#"{"level":"loud","data":1}"#, ("level", NotAllowed)),
        (r#"{"level":"info","logger":7,"data":1}"#, ("logger", WrongType)),
    ] {
        for revision in Revision::LEGACY {
            assert_eq!(sent_notification(method, revision, &raw(wrong)), Err(problem), "{wrong}");
        }
    }
}

/// Proves L-RES-13: an update contains only a URI.
#[test]
fn an_update_carries_a_uri_and_nothing_else() {
    for revision in Revision::LEGACY {
        let mut side = ServerSide::ready(revision);
        let id = side.request(&request("resources/subscribe", r#"{"uri":"x:y"}"#));
        side.respond(id, "{}");
        _ = side.sent();
        assert_eq!(
            side.server.notifications().resource_updated("x:y", &mut side.out),
            Ok(Delivery::Sent)
        );
        assert_eq!(
            side.sent(),
            [
                r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:y"}}"#
            ]
        );
        let method = "notifications/resources/updated";
        assert_eq!(sent_notification(method, revision, &raw("{}")), Err(("uri", Missing)));
        let wrong = raw(r#"{"uri":{}}"#);
        assert_eq!(sent_notification(method, revision, &wrong), Err(("uri", WrongType)));
    }
}

/// A value with the serde default of `None` as `null`.
#[derive(Serialize)]
struct Careless {
    uri: &'static str,
    title: Option<&'static str>,
    description: Option<&'static str>,
    name: &'static str,
}

#[derive(Serialize)]
struct CarelessList {
    resources: [Careless; 1],
}

/// Proves L-JSONRPC-29: a `null` in place of another type is not sent; an allowed `null` is kept.
#[test]
fn absent_is_not_null() {
    let nulls = r#"{"description":null,"tools":[{"title":null,"name":"t","annotations":null,"inputSchema":{"properties":null,"type":"object","x":null}}],"nextCursor":null,"_meta":null}"#;
    let without =
        r#"{"description":null,"tools":[{"name":"t","inputSchema":{"type":"object","x":null}}]}"#;
    results_leave("tools/list", "@", nulls, [Ok(without); 4]);
    let free = r#"{"name":"t","arguments":{"a":null},"_meta":{"k":null}}"#;
    params_leave("tools/call", "@", free, [Ok(free); 4]);
    params_leave("tools/call", "@", r#"{"name":"t","arguments":null}"#, [Ok(r#"{"name":"t"}"#); 4]);
    let kept = r#"{"content":[],"structuredContent":{"a":null},"isError":true}"#;
    let early = r#"{"content":[],"isError":true}"#;
    results_leave("tools/call", "@", kept, [Ok(early), Ok(early), Ok(kept), Ok(kept)]);
    let careless = Careless { uri: "x:y", title: None, description: None, name: "n" };
    let sent = sent_result("resources/list", D, &Json(CarelessList { resources: [careless] }));
    assert_eq!(sent, Ok(r#"{"resources":[{"uri":"x:y","name":"n"}]}"#.to_owned()));
}

/// Proves L-JSONRPC-29 for the last member of an object that is itself a member or an element.
#[test]
fn a_null_at_the_end_of_an_object_is_only_absent() {
    let cases = [
        (
            "tools/list",
            r#"{"tools":[{"name":"t","inputSchema":{"type":"object"},"title":null}]}"#,
            r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#,
        ),
        (
            "tools/list",
            r#"{"tools":[{"name":"t","inputSchema":{"type":"object","properties":null}}]}"#,
            r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#,
        ),
        (
            "tools/call",
            r#"{"content":[{"type":"text","text":"t","annotations":{"priority":1,"audience":null}}]}"#,
            r#"{"content":[{"type":"text","text":"t","annotations":{"priority":1}}]}"#,
        ),
        (
            "prompts/list",
            r#"{"prompts":[{"name":"p","description":null,"x":1}]}"#,
            r#"{"prompts":[{"name":"p","x":1}]}"#,
        ),
        (
            "completion/complete",
            r#"{"completion":{"values":[],"total":null}}"#,
            r#"{"completion":{"values":[]}}"#,
        ),
    ];
    for (method, nulls, without) in cases {
        results_leave(method, "@", nulls, [Ok(without); 4]);
    }
}

/// Proves L-AMB-50 for sending: an empty result is `{}`, and a message has only the members of JSON-RPC.
#[test]
fn empty_results_and_requests_get_no_extra_members() {
    for revision in Revision::LEGACY {
        for (method, params) in [
            ("logging/setLevel", r#"{"level":"debug"}"#),
            ("resources/subscribe", r#"{"uri":"x:y"}"#),
            ("resources/unsubscribe", r#"{"uri":"x:y"}"#),
        ] {
            let mut side = ServerSide::ready(revision);
            let id = side.request(&request(method, params));
            side.server.respond(id, &(), &mut side.out).unwrap();
            assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#], "{method}");
        }
        let mut side = ServerSide::ready(revision);
        assert_eq!(side.receive(&request("ping", "{}")), None);
        assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#]);
        _ = side.call("roots/list");
        assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#]);
        let mut side = ClientSide::ready(revision);
        assert_eq!(side.receive(&request("ping", "{}")), None);
        assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#]);
        _ = side.call("tools/list");
        assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#]);
    }
}
