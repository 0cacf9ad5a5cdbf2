//! Values that are built by hand: their JSON, and that they are sent like that JSON.

use mcp_sansio::Revision;
use mcp_sansio::model::{
    ArraySchema, AudioContent, CallToolParams, CallToolResult, CompleteParams, CompleteResult,
    Completion, CompletionContext, Content, CreateMessageParams, CreateMessageResult, ElicitAction,
    ElicitParams, ElicitResult, EmbeddedResource, EnumOption, GetPromptParams, GetPromptResult,
    ImageContent, List, ListPromptsResult, ListResourceTemplatesResult, ListToolsResult,
    LoggingLevel, Map, ObjectSchema, PageParams, PrimitiveSchema, Prompt, PromptArgument,
    PromptMessage, ReadResourceResult, Reference, Resource, ResourceContents, ResourceLink,
    ResourceTemplate, Role, SamplingMessage, SelectItems, ServerCapabilities, Task, TaskParams,
    TaskSupport, Tool, ToolResultContent, ToolUseContent, TraceContext, UpdateTaskParams,
    UriParams,
};
use mcp_sansio::schema::Payload;
use serde::Serialize;

use super::{Sent, raw, sent_params, sent_result};

/// Returns the JSON of a value.
#[track_caller]
fn json(value: &(impl Serialize + ?Sized)) -> String {
    mcp_sansio::json::Raw::from_serialize(value).unwrap().as_json().to_owned()
}

/// Sends a value and its JSON in every revision, in this way, and expects the same: the same text, or the same misfit.
#[track_caller]
fn is_sent_as_its_json<T: Payload + Serialize>(
    value: &T,
    send: impl Fn(Revision, &dyn Payload) -> Sent,
) {
    let text = json(value);
    let same = raw(&text);
    for revision in Revision::LEGACY {
        assert_eq!(send(revision, value), send(revision, &same), "{revision}: {text}");
    }
}

#[track_caller]
fn result_is<T: Payload + Serialize>(method: &str, value: &T, expected: &str) {
    assert_eq!(json(value), expected);
    is_sent_as_its_json(value, |revision, payload| sent_result(method, revision, payload));
}

#[track_caller]
fn params_are<T: Payload + Serialize>(method: &str, value: &T, expected: &str) {
    assert_eq!(json(value), expected);
    is_sent_as_its_json(value, |revision, payload| sent_params(method, revision, payload));
}

#[test]
fn params_of_a_client() {
    params_are("prompts/get", &GetPromptParams::new("p"), r#"{"name":"p"}"#);
    params_are("tools/list", &PageParams::at("c"), r#"{"cursor":"c"}"#);
    params_are("resources/read", &UriParams::new("x:y"), r#"{"uri":"x:y"}"#);
    let call = CallToolParams::with("t", raw(r#"{"a":1}"#));
    params_are("tools/call", &call, r#"{"name":"t","arguments":{"a":1}}"#);
    let prompt = CompleteParams::new(Reference::prompt("p"), "a", "v");
    params_are(
        "completion/complete",
        &prompt,
        r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"v"}}"#,
    );
    let mut resource = CompleteParams::new(Reference::resource("x:{y}"), "a", "v");
    let mut arguments = Map::default();
    arguments.insert("b", "c".into());
    assert_eq!(arguments.len(), 1);
    resource.context = Some(CompletionContext::from(arguments));
    params_are(
        "completion/complete",
        &resource,
        r#"{"ref":{"type":"ref/resource","uri":"x:{y}"},"argument":{"name":"a","value":"v"},"context":{"arguments":{"b":"c"}}}"#,
    );
    let unknown = CompleteParams::new(Reference::Unknown(raw(r#"{"type":"ref/x"}"#)), "a", "v");
    params_are(
        "completion/complete",
        &unknown,
        r#"{"ref":{"type":"ref/x"},"argument":{"name":"a","value":"v"}}"#,
    );
    assert_eq!(json(&TaskParams::new("t")), r#"{"taskId":"t"}"#);
    let mut inputs = Map::default();
    inputs.insert("k", raw(r#"{"action":"cancel"}"#));
    let update = r#"{"taskId":"t","inputResponses":{"k":{"action":"cancel"}}}"#;
    assert_eq!(json(&UpdateTaskParams::new("t", inputs)), update);
}

#[test]
fn lists_of_a_server() {
    let schema = raw(r#"{"type":"object"}"#);
    let tool =
        Tool::new("t", schema.clone()).output_schema(schema).task_support(TaskSupport::Optional);
    let mut tools = List::default();
    tools.push(tool);
    result_is(
        "tools/list",
        &ListToolsResult::new(tools),
        r#"{"tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}"#,
    );
    let mut prompt = Prompt::new("p");
    prompt.arguments = Some([PromptArgument::new("a"), PromptArgument::required("b")].into());
    result_is(
        "prompts/list",
        &ListPromptsResult::new([prompt]),
        r#"{"prompts":[{"name":"p","arguments":[{"name":"a"},{"name":"b","required":true}]}]}"#,
    );
    result_is(
        "resources/templates/list",
        &ListResourceTemplatesResult::new([ResourceTemplate::new("x:{y}", "n")]),
        r#"{"resourceTemplates":[{"uriTemplate":"x:{y}","name":"n"}]}"#,
    );
    let contents = [
        ResourceContents::text("x:y", "t").mime_type("text/plain"),
        ResourceContents::blob("x:z", "AAA=").mime_type("a/b"),
    ];
    assert_eq!(contents.each_ref().map(ResourceContents::as_text), [Some("t"), None]);
    result_is(
        "resources/read",
        &ReadResourceResult::new(contents),
        r#"{"contents":[{"uri":"x:y","mimeType":"text/plain","text":"t"},{"uri":"x:z","mimeType":"a/b","blob":"AAA="}]}"#,
    );
    let completion = Completion::new(["a", "b"]);
    result_is(
        "completion/complete",
        &CompleteResult::new(completion),
        r#"{"completion":{"values":["a","b"]}}"#,
    );
    let many = CompleteResult::new(Completion::new((0..101).map(|number| number.to_string())));
    is_sent_as_its_json(&many, |revision, payload| {
        sent_result("completion/complete", revision, payload)
    });
}

/// One block of each kind, with its JSON.
fn blocks() -> Vec<(Content<'static>, &'static str)> {
    let link = ResourceLink::from(Resource::new("x:y", "n").title("T"));
    let text = ResourceContents::text("x:y", "t");
    let answer = ToolResultContent::new("u", List::from([Content::text("r")]));
    vec![
        (Content::text("t"), r#"{"type":"text","text":"t"}"#),
        (
            Content::Image(ImageContent::new("AAA=", "image/png")),
            r#"{"type":"image","data":"AAA=","mimeType":"image/png"}"#,
        ),
        (
            Content::Audio(AudioContent::new("AAA=", "audio/wav")),
            r#"{"type":"audio","data":"AAA=","mimeType":"audio/wav"}"#,
        ),
        (
            Content::Resource(EmbeddedResource::new(text)),
            r#"{"type":"resource","resource":{"uri":"x:y","text":"t"}}"#,
        ),
        (
            Content::ResourceLink(link),
            r#"{"type":"resource_link","uri":"x:y","name":"n","title":"T"}"#,
        ),
        (
            Content::ToolUse(ToolUseContent::new("u", "t", raw("{}"))),
            r#"{"type":"tool_use","id":"u","name":"t","input":{}}"#,
        ),
        (
            Content::ToolResult(Box::new(answer)),
            r#"{"type":"tool_result","toolUseId":"u","content":[{"type":"text","text":"r"}]}"#,
        ),
        (Content::Unknown(raw(r#"{"type":"x","y":1}"#)), r#"{"type":"x","y":1}"#),
    ]
}

/// Each kind of block in each place, also where it is not allowed.
#[test]
fn blocks_of_content() {
    for (block, text) in blocks() {
        let result = CallToolResult::new([block.clone()]);
        result_is("tools/call", &result, &format!(r#"{{"content":[{text}]}}"#));
        let is_text = matches!(block, Content::Text(_));
        assert_eq!(result.texts().count(), usize::from(is_text));
        result_is(
            "prompts/get",
            &GetPromptResult::new([PromptMessage::new(Role::User, block.clone())]),
            &format!(r#"{{"messages":[{{"role":"user","content":{text}}}]}}"#),
        );
        params_are(
            "sampling/createMessage",
            &CreateMessageParams::new([SamplingMessage::new(Role::User, block.clone())], 7),
            &format!(r#"{{"messages":[{{"role":"user","content":{text}}}],"maxTokens":7}}"#),
        );
        let answer = CreateMessageResult::new("m", block);
        assert_eq!(
            json(&answer),
            format!(r#"{{"role":"assistant","content":{text},"model":"m"}}"#)
        );
        is_sent_as_its_json(&answer, |revision, payload| {
            sent_result("sampling/createMessage", revision, payload)
        });
    }
}

#[test]
fn forms_and_their_defaults() {
    let select = |items, default: &[&'static str]| {
        let mut field = ArraySchema::default();
        field.items = items;
        field.default = Some(default.iter().map(|value| (*value).into()).collect());
        PrimitiveSchema::Array(field)
    };
    let mut fields = Map::default();
    fields.insert("p", select(SelectItems::plain(["a", "b"]), &["a"]));
    fields.insert("t", select(SelectItems::titled([EnumOption::new("c", "C")]), &["c"]));
    let mut agreed = mcp_sansio::model::BooleanSchema::default();
    agreed.default = Some(true);
    fields.insert("b", PrimitiveSchema::Boolean(agreed));
    fields.insert("u", PrimitiveSchema::Unknown(raw(r#"{"type":"x"}"#)));
    let schema = ObjectSchema::new(fields);
    let filled = schema.filled(&Map::default());
    assert_eq!(filled.get("p").unwrap().as_json(), r#"["a"]"#);
    assert_eq!(filled.get("t").unwrap().as_json(), r#"["c"]"#);
    assert_eq!(filled.get("b").unwrap().as_json(), "true");
    assert_eq!(filled.get("u"), None);
    let form = ElicitParams::form("m", schema);
    let text = json(&form);
    for field in [
        r#""p":{"type":"array","items":{"type":"string","enum":["a","b"]},"default":["a"]}"#,
        r#""t":{"type":"array","items":{"anyOf":[{"const":"c","title":"C"}]},"default":["c"]}"#,
        r#""b":{"type":"boolean","default":true}"#,
        r#""u":{"type":"x"}"#,
    ] {
        assert!(text.contains(field), "{text}");
    }
    is_sent_as_its_json(&form, |revision, payload| {
        // Older revisions have no elicitation.
        sent_params("elicitation/create", revision.max(Revision::V2025_06_18), payload)
    });
    // Only the content of an acceptance counts.
    let mut result = ElicitResult::decline();
    result.content = Some(raw(r#"{"a":1}"#));
    assert_eq!(result.filled_in(), None);
    result.action = ElicitAction::Accept;
    assert_eq!(result.filled_in().unwrap().as_json(), r#"{"a":1}"#);
}

#[test]
fn capabilities_tasks_and_traces() {
    let capabilities =
        ServerCapabilities::default().with_logging().with_extension("x/y", raw(r#"{"z":1}"#));
    assert_eq!(json(&capabilities), r#"{"logging":{},"extensions":{"x/y":{"z":1}}}"#);
    let mut task = Task::new("t", "2026-01-01T00:00:00Z");
    let members = r#"{"taskId":"t","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z""#;
    assert_eq!(json(&task), format!(r#"{members},"ttl":null}}"#));
    (task.ttl, task.poll_interval) = (Some(60), Some(7));
    assert_eq!(json(&task), format!(r#"{members},"ttl":60,"pollInterval":7}}"#));
    let parent = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    let trace = TraceContext::new(parent).unwrap().tracestate("a=b");
    let members: Vec<_> = trace.iter().collect();
    assert_eq!(members, [("traceparent", parent), ("tracestate", "a=b")]);
    assert_eq!(trace.trace_id(), Some("0af7651916cd43dd8448eb211c80319c"));
}

/// Names that are read from texts, and the text of what is none.
#[test]
fn names_from_texts() {
    assert_eq!("debug".parse(), Ok(LoggingLevel::Debug));
    let unknown = "loud".parse::<LoggingLevel>().unwrap_err();
    assert_eq!(unknown.to_string(), "there is no log level of this name");
    assert_eq!("2025-06-18".parse(), Ok(Revision::V2025_06_18));
    let unknown = "2025-06-19".parse::<Revision>().unwrap_err();
    assert_eq!(unknown.to_string(), "there is no revision of this name, or it is not known here");
    let level: Result<LoggingLevel, _> = raw(r#""loud""#).parse();
    let text = "payload does not fit its type: unknown logging level";
    assert_eq!(level.unwrap_err().to_string(), text);
    assert_eq!(raw(r#""error""#).parse::<LoggingLevel>().unwrap(), LoggingLevel::Error);
}
