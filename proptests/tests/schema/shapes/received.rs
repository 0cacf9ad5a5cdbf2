//! Values that are accepted from peers: more than may be sent, but nothing unreadable.

use super::{is_of_server, put, raw, request};
use mcp_sansio::Revision::{
    V2024_11_05 as A, V2025_03_26 as B, V2025_06_18 as C, V2025_11_25 as D,
};
use mcp_sansio::error::ViolationKind;
use mcp_sansio::event::Violation;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    CallToolResult, CompleteResult, Content, CreateMessageParams, CreateMessageResult,
    GetPromptResult, ListToolsResult, ReadResourceResult, ResourceContents, SamplingContent,
};
use mcp_sansio::schema::Problem::{self, Missing, WrongType};
use mcp_sansio::{ClientEvent, Outcome, Revision, ServerEvent};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

/// Returns the outcome of a call with this result, with `check_results` on or off.
fn outcome(method: &str, revision: Revision, looks: bool, result: &str) -> Outcome<'static> {
    if is_of_server(method) {
        let mut config = config::server();
        config.connection.check_results = looks;
        let mut side = ServerSide::ready_with(config, revision);
        _ = side.call(method);
        let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        match side.receive(&answer) {
            Some(ServerEvent::CallEnded(ended)) => ended.outcome,
            other => panic!("no outcome: {other:?}"),
        }
    } else {
        let mut config = config::client();
        config.connection.check_results = looks;
        let mut side = ClientSide::ready_with(config, revision);
        _ = side.call(method);
        let answer = format!(r#"{{"jsonrpc":"2.0","id":2,"result":{result}}}"#);
        match side.receive(&answer) {
            Some(ClientEvent::CallEnded(ended)) => ended.outcome,
            other => panic!("no outcome: {other:?}"),
        }
    }
}

/// Expects that such a result arrives unchanged, with and without the check.
#[track_caller]
fn accepted(method: &str, revision: Revision, result: &str) {
    for looks in [false, true] {
        let expected = Outcome::Result(raw(result).into_owned());
        assert_eq!(outcome(method, revision, looks, result), expected, "{revision} {looks}");
    }
}

/// Expects that such a result is malformed with the check.
#[track_caller]
fn malformed(method: &str, revision: Revision, result: &str) {
    let kind = match outcome(method, revision, true, result) {
        Outcome::Malformed { kind, .. } => kind,
        other => panic!("{method} {revision} {result}: {other:?}"),
    };
    assert_eq!(kind, ViolationKind::InvalidResult);
}

/// Returns the reason why a request is refused with -32602; `None` if it reaches the application.
#[track_caller]
fn refused(method: &str, revision: Revision, params: &str) -> Option<(&'static str, Problem)> {
    let frame = request(method, params);
    let (violation, sent): (Violation<'static>, _) = if is_of_server(method) {
        let mut side = ClientSide::ready(revision);
        match side.receive(&frame) {
            Some(ClientEvent::Violation(violation)) => (violation, side.sent()),
            Some(ClientEvent::Request(_)) => return None,
            other => panic!("{other:?}"),
        }
    } else {
        let mut side = ServerSide::ready(revision);
        match side.receive(&frame) {
            Some(ServerEvent::Violation(violation)) => (violation, side.sent()),
            Some(ServerEvent::Request(_)) => return None,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(violation.kind, ViolationKind::InvalidParams);
    let misfit = violation.misfit.unwrap();
    let error = format!(
        r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32602,"message":"invalid params: {misfit}"}}}}"#
    );
    assert_eq!(sent, [error]);
    Some((misfit.field, misfit.problem))
}

/// Proves L-TOOL-01: one tool without a schema does not invalidate the others, unless configured so.
#[test]
fn a_tool_without_a_schema_is_skipped() {
    let list = r#"{"tools":[{"name":"a"},{"name":"b","inputSchema":{"type":"object"}}]}"#;
    for revision in Revision::LEGACY {
        let Outcome::Result(result) = outcome("tools/list", revision, false, list) else {
            panic!()
        };
        let result: ListToolsResult<'_> = result.parse().unwrap();
        let names: Vec<_> = result.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["b"]);
        assert_eq!(result.tools.skipped().map(|skipped| skipped.index).collect::<Vec<_>>(), [0]);
        malformed("tools/list", revision, list);
        malformed("tools/list", revision, "{}");
        malformed("tools/list", revision, r#"{"tools":[{"inputSchema":{"type":"object"}}]}"#);
        malformed("tools/list", revision, r#"{"tools":[{"name":"a","inputSchema":{}}]}"#);
        malformed("tools/list", revision, r#"{"tools":[{"name":"a","inputSchema":null}]}"#);
    }
}

/// Proves L-TOOL-09, L-TOOL-10: a result without content is read as an empty one, and is malformed with the check.
/// Pain 72.
#[test]
fn the_result_of_a_tool_is_read_kindly() {
    for revision in Revision::LEGACY {
        accepted("tools/call", revision, r#"{"content":[]}"#);
        accepted("tools/call", revision, r#"{"content":[{"type":"hologram","x":[1]}]}"#);
        // Members of other kinds mean nothing, before and after the `type`.
        for block in [
            r#"{"type":"text","text":"t","data":5,"resource":[]}"#,
            r#"{"data":5,"resource":[],"text":"t","type":"text"}"#,
            r#"{"type":"text","text":"t","d\u0061ta":5}"#,
            r#"{"type":"hologram","data":5,"text":[],"annotations":true}"#,
            r#"{"annotations":true,"text":[],"data":5,"type":"hologram"}"#,
        ] {
            accepted("tools/call", revision, &format!(r#"{{"content":[{block}]}}"#));
        }
        malformed("tools/call", revision, r#"{"content":[{"type":"text","text":5}]}"#);
        malformed("tools/call", revision, "{}");
        malformed("tools/call", revision, r#"{"structuredContent":{"a":1}}"#);
        malformed("tools/call", revision, r#"{"content":{"type":"text","text":"t"}}"#);
        malformed("tools/call", revision, r#"{"content":[{"text":"t"}]}"#);
        let structured = r#"{"content":[],"structuredContent":[1]}"#;
        if revision < C {
            // The member has no meaning in this revision, so it is ignored.
            accepted("tools/call", revision, structured);
        } else {
            malformed("tools/call", revision, structured);
        }
        for text in ["{}", r#"{"isError":false}"#, r#"{"structuredContent":{"a":1}}"#] {
            let Outcome::Result(result) = outcome("tools/call", revision, false, text) else {
                panic!()
            };
            assert!(result.parse::<CallToolResult<'_>>().unwrap().content.is_empty());
        }
    }
}

/// Proves L-TOOL-20: a link to an unlisted resource arrives like any other content.
#[test]
fn a_resource_link_may_name_an_unlisted_resource() {
    let result = r#"{"content":[{"type":"resource_link","uri":"x:unlisted","name":"n"}]}"#;
    for revision in [C, D] {
        accepted("tools/call", revision, result);
    }
    let result = raw(result);
    let read: CallToolResult<'_> = result.parse().unwrap();
    let Some(Content::ResourceLink(link)) = read.content.get(0) else { panic!("{read:?}") };
    assert_eq!(link.uri, "x:unlisted");
}

/// Proves L-SAMP-05, L-SAMP-06, L-AMB-33: several blocks are read from 2025-11-25 on.
#[test]
fn several_blocks_are_taken_where_there_can_be_several() {
    let asked = r#"{"messages":[{"role":"user","content":@}],"maxTokens":1}"#;
    let answered = r#"{"role":"assistant","content":@,"model":"m"}"#;
    let one = r#"{"type":"text","text":"t"}"#;
    let many = r#"[{"type":"text","text":"t"},{"type":"text","text":"u"}]"#;
    let single = r#"[{"type":"text","text":"t"}]"#;
    for revision in Revision::LEGACY {
        assert_eq!(refused("sampling/createMessage", revision, &put(asked, one)), None);
        accepted("sampling/createMessage", revision, &put(answered, one));
        for array in [many, single, "[]"] {
            let refusal = refused("sampling/createMessage", revision, &put(asked, array));
            if revision == D {
                assert_eq!(refusal, None);
                accepted("sampling/createMessage", revision, &put(answered, array));
            } else {
                assert_eq!(refusal, Some(("content", WrongType)));
                malformed("sampling/createMessage", revision, &put(answered, array));
            }
        }
    }
    let (params, result) = (put(asked, many), put(answered, many));
    let (params, result) = (raw(&params), raw(&result));
    let params: CreateMessageParams<'_> = params.parse().unwrap();
    assert_eq!(params.messages.get(0).unwrap().content.iter().count(), 2);
    let result: CreateMessageResult<'_> = result.parse().unwrap();
    assert!(matches!(&result.content, SamplingContent::Many(many) if many.len() == 2));
    let result = put(answered, one);
    let result = raw(&result);
    let result: CreateMessageResult<'_> = result.parse().unwrap();
    assert!(matches!(result.content, SamplingContent::One(Content::Text(_))));
}

/// Proves L-SAMP-02, L-SAMP-03: optional members arrive, and so does a priority out of bounds.
#[test]
fn the_options_of_sampling_arrive() {
    let options = r#"{"messages":[],"modelPreferences":{"hints":[{"name":"h"}],"costPriority":1.5},"systemPrompt":"s","includeContext":"none","temperature":0.7,"maxTokens":9,"stopSequences":["a"],"metadata":{"p":1},"_meta":{"k":1}}"#;
    for revision in Revision::LEGACY {
        let mut side = ClientSide::ready(revision);
        let event = side.receive(&request("sampling/createMessage", options));
        let Some(ClientEvent::Request(request)) = event else { panic!("{event:?}") };
        assert_eq!(request.params, Some(raw(options)));
        assert_eq!(request.meta, Some(raw(r#"{"k":1}"#)));
        for (wrong, problem) in [
            (r#"{"maxTokens":1}"#, ("messages", Missing)),
            (r#"{"messages":[]}"#, ("maxTokens", Missing)),
            (r#"{"messages":[],"maxTokens":1,"systemPrompt":7}"#, ("systemPrompt", WrongType)),
            (r#"{"messages":[],"maxTokens":1,"stopSequences":"a"}"#, ("stopSequences", WrongType)),
            (r#"{"messages":[],"maxTokens":1,"metadata":[]}"#, ("metadata", WrongType)),
        ] {
            assert_eq!(refused("sampling/createMessage", revision, wrong), Some(problem));
        }
    }
}

/// Proves L-ELIC-02: the mode has no meaning in a revision with forms only.
#[test]
fn a_form_is_taken_without_a_mode() {
    let form = r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#;
    let moded =
        r#"{"mode":"url","message":"m","requestedSchema":{"type":"object","properties":{}}}"#;
    assert_eq!(refused("elicitation/create", C, form), None);
    assert_eq!(refused("elicitation/create", C, moded), None);
    let url = r#"{"mode":"url","message":"m","url":"https://x/","elicitationId":"e"}"#;
    assert_eq!(refused("elicitation/create", C, url), Some(("requestedSchema", Missing)));
    assert_eq!(refused("elicitation/create", D, url), None);
    for (wrong, problem) in [
        (r#"{"message":"m"}"#, ("requestedSchema", Missing)),
        (r#"{"requestedSchema":{"type":"object","properties":{}}}"#, ("message", Missing)),
        (r#"{"message":"m","requestedSchema":{"type":"object"}}"#, ("properties", Missing)),
    ] {
        assert_eq!(refused("elicitation/create", C, wrong), Some(problem));
    }
}

/// Proves L-COMP-04, L-COMP-05, L-AMB-48: the context arrives in the revisions that have it, and is ignored in older
/// ones. More values than may be sent are received.
#[test]
fn completions_are_taken_with_their_context() {
    let params = r#"{"ref":{"type":"ref/prompt","name":"n"},"argument":{"name":"a","value":"v"},"context":{"arguments":{"b":"c"}}}"#;
    for revision in [C, D] {
        let mut side = ServerSide::ready(revision);
        let event = side.receive(&request("completion/complete", params));
        let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
        let mcp_sansio::ClientRequest::Complete(complete) = request.kind else { panic!() };
        assert_eq!(complete.context, Some(raw(r#"{"arguments":{"b":"c"}}"#)));
        let wrong = params.replace(r#""c""#, "1");
        let refusal = refused("completion/complete", revision, &wrong);
        assert_eq!(refusal, Some(("arguments", WrongType)));
    }
    for revision in [A, B] {
        for context in [r#"{"arguments":{"b":"c"}}"#, r#"{"arguments":{"b":1}}"#, "7"] {
            let params = params.replace(r#"{"arguments":{"b":"c"}}"#, context);
            let mut side = ServerSide::ready(revision);
            let event = side.receive(&request("completion/complete", &params));
            let Some(ServerEvent::Request(request)) = event else { panic!("{context} {event:?}") };
            let mcp_sansio::ClientRequest::Complete(complete) = request.kind else { panic!() };
            assert_eq!(complete.context, None, "{context}");
        }
    }
    let values = vec![r#""v""#; 101].join(",");
    let result = format!(r#"{{"completion":{{"values":[{values}],"hasMore":true}}}}"#);
    for revision in Revision::LEGACY {
        accepted("completion/complete", revision, &result);
    }
    let result = raw(&result);
    let result: CompleteResult<'_> = result.parse().unwrap();
    assert_eq!(result.completion.values.len(), 101);
}

/// Proves L-RES-03, L-RES-04: either text or a blob, of any URI.
#[test]
fn contents_of_several_resources_are_taken() {
    let several = r#"{"contents":[{"uri":"x:y/a","text":"a"},{"uri":"z:b","blob":"aGk="}]}"#;
    for revision in Revision::LEGACY {
        accepted("resources/read", revision, several);
        accepted("resources/read", revision, r#"{"contents":[]}"#);
        for wrong in [
            "{}",
            r#"{"contents":[{"uri":"x:y"}]}"#,
            r#"{"contents":[{"uri":"x:y","text":"a","blob":"aGk="}]}"#,
            r#"{"contents":[{"text":"a"}]}"#,
        ] {
            malformed("resources/read", revision, wrong);
        }
        assert_eq!(refused("resources/read", revision, "{}"), Some(("uri", Missing)));
        assert_eq!(refused("resources/read", revision, r#"{"uri":[]}"#), Some(("uri", WrongType)));
    }
    let several = raw(several);
    let read: ReadResourceResult<'_> = several.parse().unwrap();
    let uris: Vec<_> = read.contents.iter().map(|contents| contents.uri().to_owned()).collect();
    assert_eq!(uris, ["x:y/a", "z:b"]);
    // `null` counts as absent.
    let nulls = raw(
        r#"{"contents":[{"uri":"x:b","text":null,"blob":"aGk="},{"uri":"x:t","text":"t","blob":null}]}"#,
    );
    let read: ReadResourceResult<'_> = nulls.parse().unwrap();
    let kinds: Vec<_> = read
        .contents
        .iter()
        .map(|contents| matches!(contents, ResourceContents::Text(_)))
        .collect();
    assert_eq!(kinds, [false, true]);
    // Without the check, contents with both or neither are detected when they are decoded.
    let both = raw(r#"{"contents":[{"uri":"x:y","text":"a","blob":"aGk="},{"uri":"x:y"}]}"#);
    let read: ReadResourceResult<'_> = both.parse().unwrap();
    assert_eq!((read.contents.len(), read.contents.skipped().count()), (0, 2));
}

/// Proves L-RES-16: a priority out of bounds and an unknown audience do not invalidate the message. Pain 70.
#[test]
fn odd_annotations_are_tolerated() {
    let result = r#"{"content":[{"type":"text","text":"t","annotations":{"audience":["robot"],"priority":1.5,"lastModified":"yesterday"}}]}"#;
    for revision in Revision::LEGACY {
        accepted("tools/call", revision, result);
    }
    let result = raw(result);
    let read: CallToolResult<'_> = result.parse().unwrap();
    let Some(Content::Text(text)) = read.content.get(0) else { panic!() };
    let annotations = text.annotations.as_ref().unwrap();
    assert_eq!(annotations.priority.unwrap().as_f64(), 1.5);
    assert_eq!(annotations.audience.as_ref().unwrap()[0].as_str(), "robot");
}

/// Pain 68: the type of a result follows from its request, even if it has members of other results.
#[test]
fn members_of_other_results_do_not_matter() {
    let text = r#"{"tools":[],"contents":[],"content":[{"type":"text","text":"t"}],"prompts":[],"messages":[],"roots":[],"completion":{"values":[]}}"#;
    for revision in Revision::LEGACY {
        accepted("tools/call", revision, text);
    }
    let text = raw(text);
    let read: CallToolResult<'_> = text.parse().unwrap();
    assert!(matches!(read.content.get(0), Some(Content::Text(text)) if text.text == "t"));
}

/// Pain 70: a block with annotations of a wrong type is skipped, and the other blocks are read.
#[test]
fn one_odd_priority_does_not_lose_the_result() {
    let odd = r#"{"type":"text","text":"t","annotations":{"priority":"high"}}"#;
    let text = format!(r#"{{"content":[{odd},{{"type":"text","text":"u"}}]}}"#);
    let result = raw(&text);
    let read: CallToolResult<'_> = result.parse().unwrap();
    let skipped: Vec<_> =
        read.content.skipped().map(|skipped| (skipped.index, skipped.raw.as_json())).collect();
    assert_eq!(skipped, [(0, odd)]);
    assert!(matches!(read.content.get(0), Some(Content::Text(text)) if text.text == "u"));
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
}

/// Proves L-PROMPT-03: an array is not one block.
#[test]
fn an_array_is_no_message_of_a_prompt() {
    let array = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"t"}]}]}"#;
    let fine = r#"{"messages":[{"role":"user","content":{"type":"text","text":"t"}}]}"#;
    for revision in Revision::LEGACY {
        accepted("prompts/get", revision, fine);
        malformed("prompts/get", revision, array);
        malformed("prompts/get", revision, r#"{"description":"d"}"#);
    }
    let array = raw(array);
    let read: GetPromptResult<'_> = array.parse().unwrap();
    assert_eq!((read.messages.len(), read.messages.skipped().count()), (0, 1));
}

/// Proves L-ROOT-02: a root that is no file is reported, and the list arrives.
#[test]
fn a_root_that_is_not_a_file_uri_is_reported() {
    for (uri, strange) in [("file:///a", false), ("http://a/", true), ("/a", true)] {
        for revision in [A, B, C, D] {
            let mut side = ServerSide::ready(revision);
            _ = side.call("roots/list");
            let result = format!(r#"{{"roots":[{{"uri":"{uri}"}}]}}"#);
            let event = side.receive(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
            let Some(ServerEvent::CallEnded(ended)) = event else { panic!("{event:?}") };
            assert_eq!(ended.outcome, Outcome::Result(Raw::new(&result).unwrap()));
            let kinds: Vec<_> = side
                .outcomes()
                .into_iter()
                .map(|event| match event {
                    ServerEvent::Violation(violation) => violation.kind,
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(kinds, vec![ViolationKind::RootNotAFile; usize::from(strange)], "{uri}");
        }
    }
}
