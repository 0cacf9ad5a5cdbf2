//! Sampling: requests of a server to a model, answers of a client, and refusals of a user.

use mcp_sansio::error::ViolationKind;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    Content, CreateMessageParams, CreateMessageResult, Role, SamplingContent, SamplingMessage,
    StopReason, ToolChoice, ToolChoiceMode, ToolResultContent, ToolUseContent, method,
};
use mcp_sansio::schema::{EncodeError, Problem};
use mcp_sansio::{
    CallOptions, ClientEvent, ErrorCode, Outcome, RespondError, Revision, ServerEvent,
    ServerRequest,
};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

const WITH_TOOLS: Revision = Revision::V2025_11_25;
const ALL: [Revision; 4] =
    [Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25];

fn create(params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{params}}}"#)
}

fn history(messages: &[&str]) -> String {
    create(&format!(r#"{{"messages":[{}],"maxTokens":1}}"#, messages.join(",")))
}

/// A client with a minimal sampling request.
fn asked(revision: Revision) -> (ClientSide, mcp_sansio::IncomingId) {
    let mut side = ClientSide::ready(revision);
    let id = side.request(&history(&[]));
    (side, id)
}

/// The misfit in a result that a client could not send.
#[track_caller]
fn misfit(answered: Result<(), RespondError>) -> (&'static str, Problem) {
    match answered {
        Err(RespondError::Encode(EncodeError::Misfit(misfit))) => (misfit.field, misfit.problem),
        other => panic!("not a misfit: {other:?}"),
    }
}

/// The outcome of the server's first request with this result.
#[track_caller]
fn outcome(mut side: ServerSide, result: &str) -> Outcome<'static> {
    side.call("sampling/createMessage");
    match side.receive(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)) {
        Some(ServerEvent::CallEnded(ended)) => ended.outcome,
        other => panic!("no outcome: {other:?}"),
    }
}

/// A server that checks results.
fn checking(revision: Revision) -> ServerSide {
    let mut config = config::server();
    config.connection.check_results = true;
    ServerSide::ready_with(config, revision)
}

/// Proves L-SAMP-04: the required members of a result are present, and `stopReason` is any string.
#[test]
fn a_sampling_result_requires_role_content_and_model() {
    let text = r#"{"type":"text","text":"t"}"#;
    let missing = [
        (format!(r#"{{"role":"assistant","content":{text}}}"#), "model"),
        (format!(r#"{{"content":{text},"model":"m"}}"#), "role"),
        (String::from(r#"{"role":"assistant","model":"m"}"#), "content"),
    ];
    for revision in ALL {
        for (result, field) in &missing {
            let (mut client, id) = asked(revision);
            let raw = Raw::new(result).unwrap();
            let answered = client.client.respond(id, &raw, &mut client.out);
            assert_eq!(misfit(answered), (*field, Problem::Missing), "{revision} {result}");
            assert_eq!(client.sent(), [""; 0]);
            let checked = outcome(checking(revision), result);
            let Outcome::Malformed { kind: ViolationKind::InvalidResult, .. } = checked else {
                panic!("{revision} {result}: {checked:?}");
            };
            // Without the check the error appears when the result is decoded.
            let Outcome::Result(raw) = outcome(ServerSide::ready(revision), result) else {
                panic!("{revision} {result}");
            };
            assert!(raw.parse::<CreateMessageResult<'_>>().is_err(), "{revision} {result}");
        }
        let reasons = [
            ("endTurn", StopReason::EndTurn),
            ("stopSequence", StopReason::StopSequence),
            ("maxTokens", StopReason::MaxTokens),
            ("toolUse", StopReason::ToolUse),
            ("boredom", StopReason::Other("boredom".into())),
        ];
        for (name, reason) in reasons {
            let (mut client, id) = asked(revision);
            let mut result = CreateMessageResult::new("m", Content::text("t"));
            result.stop_reason = Some(reason.clone());
            client.client.respond(id, &result, &mut client.out).unwrap();
            let text = format!(
                r#"{{"role":"assistant","content":{text},"model":"m","stopReason":"{name}"}}"#
            );
            let sent = client.sent();
            assert_eq!(sent, [format!(r#"{{"jsonrpc":"2.0","id":1,"result":{text}}}"#)]);
            let got = outcome(checking(revision), &text);
            let Outcome::Result(raw) = got else { panic!("{revision} {name}: {got:?}") };
            let got = raw.parse::<CreateMessageResult<'_>>().unwrap();
            assert_eq!(got.stop_reason, Some(reason));
        }
        let bare = format!(r#"{{"role":"assistant","content":{text},"model":"m"}}"#);
        let Outcome::Result(raw) = outcome(checking(revision), &bare) else { panic!() };
        assert_eq!(raw.parse::<CreateMessageResult<'_>>().unwrap().stop_reason, None);
    }
}

/// Proves L-SAMP-09, L-ERR-22.
#[test]
fn a_sampling_request_rejected_by_the_user_has_its_own_code() {
    for revision in ALL {
        let (mut client, id) = asked(revision);
        let code = ErrorCode::USER_REJECTED;
        client.client.reject(id, code, "the user said no", &mut client.out).unwrap();
        let sent = client.sent();
        assert_eq!(
            sent,
            [r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"the user said no"}}"#]
        );
        let mut server = ServerSide::ready(revision);
        server.call("sampling/createMessage");
        let Some(ServerEvent::CallEnded(ended)) = server.receive(&sent[0]) else { panic!() };
        let Outcome::PeerError(error) = ended.outcome else { panic!("{:?}", ended.outcome) };
        assert_eq!(error.code, code);
        assert_eq!(error.message, "the user said no");
        assert_eq!(error.data, None);
    }
}

/// Proves L-SAMP-11.
#[test]
fn the_default_tool_choice_mode_is_auto() {
    let cases = [
        (r#"{}"#, ToolChoiceMode::Auto),
        (r#"{"mode":"auto"}"#, ToolChoiceMode::Auto),
        (r#"{"mode":"required"}"#, ToolChoiceMode::Required),
        (r#"{"mode":"none"}"#, ToolChoiceMode::None),
        (r#"{"mode":"perhaps"}"#, ToolChoiceMode::Other("perhaps".into())),
    ];
    for (choice, expected) in cases {
        let mut side = ClientSide::ready(WITH_TOOLS);
        let params = format!(r#"{{"messages":[],"maxTokens":1,"tools":[],"toolChoice":{choice}}}"#);
        let Some(ClientEvent::Request(request)) = side.receive(&create(&params)) else { panic!() };
        let ServerRequest::CreateMessage(raw) = request.kind else { panic!("{:?}", request.kind) };
        let got = raw.parse::<CreateMessageParams<'_>>().unwrap();
        assert_eq!(*got.tool_choice.unwrap().mode(), expected, "{choice}");
    }
    let reported = [
        (ToolChoice::default(), "{}"),
        (ToolChoiceMode::Auto.into(), r#"{"mode":"auto"}"#),
        (ToolChoiceMode::Required.into(), r#"{"mode":"required"}"#),
        (ToolChoiceMode::None.into(), r#"{"mode":"none"}"#),
    ];
    for (choice, text) in reported {
        let mut side = ServerSide::ready(WITH_TOOLS);
        let mut params = CreateMessageParams::new([], 1);
        params.tool_choice = Some(choice);
        let (now, options) = (side.now, CallOptions::new());
        side.server.call::<method::CreateMessage>(&params, options, now, &mut side.out).unwrap();
        let expected = format!(r#"{{"messages":[],"maxTokens":1,"toolChoice":{text}}}"#);
        assert_eq!(side.sent(), [create(&expected)]);
    }
}

const USES: &str = r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}},{"type":"tool_use","id":"b","name":"n","input":{}}]}"#;
const USER: &str = r#"{"role":"user","content":{"type":"text","text":"go"}}"#;

fn results(ids: &[&str], more: &str) -> String {
    let blocks: Vec<_> = ids
        .iter()
        .map(|id| format!(r#"{{"type":"tool_result","toolUseId":"{id}","content":[]}}"#))
        .collect();
    format!(r#"{{"role":"user","content":[{}{more}]}}"#, blocks.join(","))
}

/// Proves L-SAMP-14, L-ERR-23.
#[test]
fn a_client_refuses_a_history_with_loose_ends() {
    let both = results(&["b", "a"], "");
    let one = results(&["a"], "");
    let mixed = results(&["a", "b"], r#",{"type":"text","text":"x"}"#);
    let cases: [(&[&str], _); 6] = [
        (&[USER, USES, &both], None),
        (&[USER, USES], Some(("tool_result", Problem::Missing))),
        (&[USER, USES, &one], Some(("tool_result", Problem::Missing))),
        (&[USES, USER, USER], Some(("tool_result", Problem::Missing))),
        (&[USER, USES, &mixed], Some(("tool_result", Problem::NotAllowed))),
        (&[USER, &one], Some(("tool_result", Problem::NotAllowed))),
    ];
    for (messages, expected) in cases {
        let frame = history(messages);
        let mut side = ClientSide::ready(WITH_TOOLS);
        match (side.receive(&frame), expected) {
            (Some(ClientEvent::Request(_)), None) => assert_eq!(side.sent(), [""; 0]),
            (Some(ClientEvent::Violation(violation)), Some(expected)) => {
                let misfit = violation.misfit.unwrap();
                assert_eq!((misfit.field, misfit.problem), expected, "{frame}");
                assert_eq!(
                    (violation.kind, violation.answered),
                    (ViolationKind::InvalidParams, true)
                );
                let sent = side.sent();
                let code = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"#;
                assert!(sent.len() == 1 && sent[0].starts_with(code), "{sent:?}");
                assert_eq!(side.client.in_flight().counts().inbound, 0);
            }
            (event, _) => panic!("{frame}: {event:?}"),
        }
    }
}

/// Proves L-SAMP-16.
#[test]
fn a_model_may_use_several_tools_at_once() {
    let block = |id: &'static str, text: &'static str| {
        Content::ToolUse(ToolUseContent::new(id, "add", Raw::new(text).unwrap()))
    };
    let answer = |content: SamplingContent<'static>| {
        let mut result = CreateMessageResult::new("m", Content::text(""));
        result.content = content;
        result.stop_reason = Some(StopReason::ToolUse);
        result
    };
    let several =
        |second| SamplingContent::Many([block("a", r#"{"x":1}"#), block(second, "{}")].into());
    let result = answer(several("b"));
    let (mut client, id) = asked(WITH_TOOLS);
    client.client.respond(id, &result, &mut client.out).unwrap();
    let text = r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"add","input":{"x":1}},{"type":"tool_use","id":"b","name":"add","input":{}}],"model":"m","stopReason":"toolUse"}"#;
    assert_eq!(client.sent(), [format!(r#"{{"jsonrpc":"2.0","id":1,"result":{text}}}"#)]);
    let Outcome::Result(raw) = outcome(checking(WITH_TOOLS), text) else { panic!() };
    let got = raw.parse::<CreateMessageResult<'_>>().unwrap();
    assert!(got.content.iter().eq(result.content.iter()), "{got:?}");
    assert_eq!(got.stop_reason, Some(StopReason::ToolUse));

    // Two tool uses with one id cannot be distinguished.
    let (mut client, id) = asked(WITH_TOOLS);
    let twice = answer(several("a"));
    let answered = client.client.respond(id, &twice, &mut client.out);
    assert_eq!(misfit(answered), ("id", Problem::NotAllowed));
    let checked = outcome(checking(WITH_TOOLS), &text.replace(r#""id":"b""#, r#""id":"a""#));
    let strange = matches!(checked, Outcome::Malformed { kind: ViolationKind::InvalidResult, .. });
    assert!(strange, "{checked:?}");
    // The input of a tool use is an object.
    let listed = answer(SamplingContent::One(block("a", "[1]")));
    let answered = client.client.respond(id, &listed, &mut client.out);
    assert_eq!(misfit(answered), ("input", Problem::WrongType));
    let checked = outcome(checking(WITH_TOOLS), &text.replace(r#"{"x":1}"#, "[1]"));
    let strange = matches!(checked, Outcome::Malformed { kind: ViolationKind::InvalidResult, .. });
    assert!(strange, "{checked:?}");
    assert_eq!(client.sent(), [""; 0]);
    // A single block is sent as a single block.
    let single = answer(SamplingContent::One(block("a", "{}")));
    client.client.respond(id, &single, &mut client.out).unwrap();
    assert_eq!(
        client.sent(),
        [
            r#"{"jsonrpc":"2.0","id":1,"result":{"role":"assistant","content":{"type":"tool_use","id":"a","name":"add","input":{}},"model":"m","stopReason":"toolUse"}}"#
        ]
    );
    // Before 2025-11-25 no model uses tools.
    for revision in [Revision::V2024_11_05, Revision::V2025_06_18] {
        let (mut client, id) = asked(revision);
        let answered = client.client.respond(id, &single, &mut client.out);
        assert!(matches!(answered, Err(RespondError::Encode(_))), "{revision} {answered:?}");
        assert_eq!(client.sent(), [""; 0]);
    }
}

/// Proves L-SAMP-17: the metadata of a client beside a tool use returns unchanged in the next request.
#[test]
fn metadata_of_tool_uses_and_results_survives_the_next_request() {
    let meta = r#"{"cache":"k1","x.y/z":[1,null,{"a":1e2}]}"#;
    let mut used = ToolUseContent::new("a", "n", Raw::new("{}").unwrap());
    used.meta = Some(Raw::new(meta).unwrap());
    let mut result = CreateMessageResult::new("m", Content::ToolUse(used));
    result.stop_reason = Some(StopReason::ToolUse);
    let (mut client, id) = asked(WITH_TOOLS);
    client.client.respond(id, &result, &mut client.out).unwrap();
    let use_text =
        format!(r#"{{"type":"tool_use","id":"a","name":"n","input":{{}},"_meta":{meta}}}"#);
    let sent = client.sent();
    let text = format!(
        r#"{{"role":"assistant","content":{use_text},"model":"m","stopReason":"toolUse"}}"#
    );
    assert_eq!(sent, [format!(r#"{{"jsonrpc":"2.0","id":1,"result":{text}}}"#)]);

    // The server copies the result into its next request.
    let mut server = ServerSide::ready(WITH_TOOLS);
    server.call("sampling/createMessage");
    _ = server.sent();
    let Some(ServerEvent::CallEnded(ended)) = server.receive(&sent[0]) else { panic!() };
    let Outcome::Result(raw) = ended.outcome else { panic!("{:?}", ended.outcome) };
    let got = raw.parse::<CreateMessageResult<'_>>().unwrap();
    let mut reported = SamplingMessage::new(Role::Assistant, Content::text(""));
    reported.content = got.content;
    let mut done = ToolResultContent::new("a", [Content::text("3")].into());
    done.meta = Some(Raw::new(r#"{"cache":"k2"}"#).unwrap());
    let answer = SamplingMessage::new(Role::User, Content::ToolResult(Box::new(done)));
    let params = CreateMessageParams::new([reported, answer], 1);
    let (now, options) = (server.now, CallOptions::new());
    server.server.call::<method::CreateMessage>(&params, options, now, &mut server.out).unwrap();
    let result_text = r#"{"type":"tool_result","toolUseId":"a","content":[{"type":"text","text":"3"}],"_meta":{"cache":"k2"}}"#;
    let follow_up = format!(
        r#"{{"messages":[{{"role":"assistant","content":{use_text}}},{{"role":"user","content":{result_text}}}],"maxTokens":1}}"#
    );
    let sent = server.sent();
    assert_eq!(sent, [create(&follow_up).replace(r#""id":1"#, r#""id":2"#)]);

    // Both arrive at the client again.
    let Some(ClientEvent::Request(request)) = client.receive(&sent[0]) else { panic!() };
    let ServerRequest::CreateMessage(raw) = request.kind else { panic!("{:?}", request.kind) };
    assert_eq!(raw.as_json(), follow_up);
    let got = raw.parse::<CreateMessageParams<'_>>().unwrap();
    let metas: Vec<_> = got
        .messages
        .iter()
        .flat_map(|message| message.content.iter())
        .map(|block| match block {
            Content::ToolUse(used) => used.meta.as_ref().unwrap().as_json().to_string(),
            Content::ToolResult(done) => done.meta.as_ref().unwrap().as_json().to_string(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(metas, [meta, r#"{"cache":"k2"}"#]);
}
