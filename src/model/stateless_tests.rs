//! Tests of the additions of revision 2026-07-28.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::method::{
    Discover, Listen, Method, Notification, ReadResource, SubscriptionAcknowledged,
};
use super::*;
use crate::dialect::methods::RequestKind;
use crate::json::Raw;
use crate::schema::shape::{Form, Record};
use crate::schema::{Additions, Empty, EncodeError, PayloadWriter, Writer};
use crate::version::Revision;

fn raw(text: &str) -> Raw<'_> {
    Raw::new(text).expect("it is JSON")
}

fn read<'a, T: serde::Deserialize<'a>>(text: &'a str) -> T {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn written<T: serde::Serialize>(value: &T) -> String {
    Raw::from_serialize(value).expect("writable").as_json().to_string()
}

fn unchanged<'a, T: serde::Deserialize<'a> + serde::Serialize>(text: &'a str) {
    assert_eq!(written(&read::<T>(text)), text);
}

/// Returns the JSON text of a value as sent in a revision.
fn sent<T: serde::Serialize>(
    value: &T,
    record: &'static Record,
    revision: Revision,
) -> Result<String, EncodeError> {
    let mut buffer = Vec::new();
    let mut writer = Writer::new(&mut buffer, usize::MAX);
    let form = Some(Form { record, revision });
    PayloadWriter::new(&mut writer, "", Empty::Braces, &Additions::NONE, form).serialize(value)?;
    Ok(String::from_utf8(buffer).expect("UTF-8"))
}

fn result_record(kind: RequestKind) -> &'static Record {
    kind.rule().result(Revision::V2026_07_28).record
}

/// Proves M-CACHE-05, M-CONT-02: `ttlMs` is an integer from 0 to 2^53 - 1. Any other value is read as absent and has
/// no further effect.
#[test]
fn a_hint_that_cannot_be_read_does_not_cost_the_result() {
    let times = [
        ("0", Some(0)),
        ("300000", Some(300_000)),
        ("3e5", Some(300_000)),
        ("1500.0", Some(1500)),
        ("9007199254740991", Some(9_007_199_254_740_991)),
        ("9007199254740992", None),
        ("9007199254740993.0", None),
        ("18446744073709551616", None),
        ("1e400", None),
        ("-1", None),
        ("-1.0", None),
        ("0.5", None),
        ("null", None),
        ("true", None),
        (r#""300000""#, None),
        ("[1]", None),
        (r#"{"a":1}"#, None),
    ];
    for (literal, expected) in times {
        let hints = alloc::format!(r#","ttlMs":{literal},"cacheScope":"public"}}"#);
        let text = |items: &str| alloc::format!(r#"{{{items}{hints}"#);
        macro_rules! check {
            ($Result:ident, $items:literal) => {
                let text = text($items);
                let result: $Result<'_> = read(&text);
                assert_eq!(result.ttl_ms, expected, "{text}");
                assert_eq!(result.cache_scope, Some(CacheScope::Public), "{text}");
            };
        }
        check!(ListToolsResult, r#""tools":[]"#);
        check!(ListPromptsResult, r#""prompts":[]"#);
        check!(ListResourcesResult, r#""resources":[]"#);
        check!(ListResourceTemplatesResult, r#""resourceTemplates":[]"#);
        check!(ReadResourceResult, r#""contents":[]"#);
        check!(DiscoverResult, r#""supportedVersions":[],"capabilities":{}"#);
    }
    let mut result = ListToolsResult::default();
    let form = (result_record(RequestKind::ListTools), Revision::V2026_07_28);
    result.ttl_ms = Some(9_007_199_254_740_991);
    let text = sent(&result, form.0, form.1).expect("writable");
    assert_eq!(text, r#"{"tools":[],"ttlMs":9007199254740991}"#);
    result.ttl_ms = Some(9_007_199_254_740_992);
    assert!(sent(&result, form.0, form.1).is_err());
    unchanged::<Resource<'_>>(r#"{"uri":"a:b","name":"n","size":9007199254740991}"#);
}

/// `null` is no element of a list of strings or objects.
#[test]
fn an_element_of_a_list_is_not_null() {
    let (tools, prompt) =
        (result_record(RequestKind::ListTools), result_record(RequestKind::Complete));
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
    let write = |text: &str, record| {
        let by_serde = sent(&read(text), record, Revision::V2026_07_28);
        let by_text = sent(&Raw::new(text).expect("JSON"), record, Revision::V2026_07_28);
        assert_eq!(by_serde.is_ok(), by_text.is_ok(), "{text}");
        by_text.is_ok()
    };
    assert!(write(r#"{"completion":{"values":["a"]}}"#, prompt));
    for values in [r#"["a",null]"#, r#"[null,"a"]"#, r#"["a",null,"b"]"#] {
        assert!(!write(&alloc::format!(r#"{{"completion":{{"values":{values}}}}}"#), prompt));
    }
    assert!(write(r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}"#, tools));
    assert!(!write(r#"{"tools":[null]}"#, tools));
}

/// An unknown scope is kept, so that it is not mistaken for a known one.
#[test]
fn a_scope_is_a_string_or_nothing() {
    let scope = |text| {
        let text = alloc::format!(r#"{{"tools":[],"ttlMs":7,"cacheScope":{text}}}"#);
        let result: ListToolsResult<'_> = read(&text);
        assert_eq!(result.ttl_ms, Some(7));
        result.cache_scope.map(|scope| scope.as_str().to_string())
    };
    assert_eq!(scope(r#""public""#).as_deref(), Some("public"));
    assert_eq!(scope(r#""private""#).as_deref(), Some("private"));
    assert_eq!(scope(r#""fleet""#).as_deref(), Some("fleet"));
    for other in ["null", "1", "true", "[]", r#"{"a":"public"}"#] {
        assert_eq!(scope(other), None, "{other}");
    }
    assert_eq!(CacheScope::from(Text::from("fleet")), CacheScope::Other("fleet".into()));
    let mut result = ReadResourceResult::from(ResourceContents::text("a:b", "t"));
    result.ttl_ms = Some(0);
    result.cache_scope = Some(CacheScope::Private);
    let text =
        r#"{"contents":[{"uri":"a:b","text":"t"}],"ttlMs":0,"cacheScope":"private"}"#.to_string();
    assert_eq!(written(&result), text);
}

/// Proves M-TOOL-04.
#[test]
fn structured_content_is_any_json_and_null_is_not_nothing() {
    for literal in ["null", "false", "0", r#""""#, "[]", "{}", "[1,null]", "1.50"] {
        let text = alloc::format!(r#"{{"content":[],"structuredContent":{literal}}}"#);
        let result: CallToolResult<'_> = read(&text);
        assert_eq!(result.structured_content, Some(raw(literal)));
        assert_eq!(written(&result), text);
        let record = result_record(RequestKind::CallTool);
        assert_eq!(sent(&result, record, Revision::V2026_07_28).as_ref(), Ok(&text));
        let legacy = sent(&result, record, Revision::V2025_11_25).expect("writable");
        assert_eq!(legacy.contains("structuredContent"), literal == "{}", "{legacy}");

        let text = alloc::format!(
            r#"{{"type":"tool_result","toolUseId":"1","content":[],"structuredContent":{literal}}}"#
        );
        let Content::ToolResult(block) = read(&text) else { panic!("{text}") };
        assert_eq!(block.structured_content, Some(raw(literal)));
        assert_eq!(written(&block), text);
        let message = SamplingMessage::new(Role::User, Content::ToolResult(block));
        let params = CreateMessageParams::new([message], 1);
        let all =
            sent(&params, CreateMessageParams::RECORD, Revision::V2026_07_28).expect("writable");
        assert!(all.contains(&text), "{all}");
    }
    let result: CallToolResult<'_> = read(r#"{"content":[]}"#);
    assert_eq!(result.structured_content, None);
    assert_eq!(written(&result), r#"{"content":[]}"#);
    let result = CallToolResult::structured(Raw::NULL);
    assert_eq!(
        written(&result),
        r#"{"content":[{"type":"text","text":"null"}],"structuredContent":null}"#
    );
}

/// A result of type `complete` may lack content; any other type of result is not read as a tool result.
/// Proves M-TOOL-15.
/// Pain 72.
#[test]
fn a_complete_result_of_a_tool_may_lack_content() {
    let text = r#"{"resultType":"complete","structuredContent":null}"#;
    let result: CallToolResult<'_> = read(text);
    assert_eq!((result.content.len(), result.structured_content), (0, Some(Raw::NULL)));
    for other in [
        r#"{"resultType":"input_required","_meta":{}}"#,
        r#"{"resultType":"task","isError":false}"#,
        r#"{"resultType":"complete","inputRequests":{}}"#,
        r#"{"inputRequests":{"a":{"method":"roots/list"}}}"#,
        r#"{"task":{"taskId":"t"}}"#,
    ] {
        assert!(serde_json::from_str::<CallToolResult<'_>>(other).is_err(), "{other}");
    }
}

/// Proves M-TOOL-02, M-JSCH-05: keywords, their order and their spelling pass unchanged.
#[test]
fn schemas_pass_as_they_are() {
    let schema = r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"b":{"$anchor":"a","type":"string"}},"type":"object","properties":{"z":{"$ref":"#/$defs/b","x-mcp-header":"Z"},"a":{"const":null,"default":1.50}},"allOf":[true],"anyOf":[{}],"oneOf":[{"required":["z"]}],"not":{"required":["q"]},"if":{},"then":{},"else":false,"additionalProperties":false,"required":["z"]}"##;
    let text = alloc::format!(
        r#"{{"tools":[{{"name":"t","inputSchema":{schema},"outputSchema":{schema}}}]}}"#
    );
    let result: ListToolsResult<'_> = read(&text);
    let tool = result.tools.get(0).expect("readable").clone();
    assert_eq!(tool.input_schema.as_json(), schema);
    assert_eq!(tool.output_schema.as_ref().map(Raw::as_json), Some(schema));
    assert_eq!(written(&result), text);
    let result = ListToolsResult::new([tool]);
    let record = result_record(RequestKind::ListTools);
    assert_eq!(sent(&result, record, Revision::V2026_07_28), Ok(text));
    for kind in ["", r#""type":"string""#, r#""type":["object"]"#] {
        let schema = alloc::format!("{{{kind}}}");
        let result = ListToolsResult::new([Tool::new("t", raw(&schema))]);
        assert!(sent(&result, record, Revision::V2026_07_28).is_err(), "{schema}");
    }
}

/// Proves M-TOOL-13, M-JSCH-06, M-AMB-35: names pass unchanged, and an error in one tool does not affect the others.
#[test]
fn odd_names_and_odd_schemas_cost_no_tool() {
    let text = r#"{"tools":[{"name":"a tool, with spaces/é","inputSchema":{"type":"object"}},{"name":"","inputSchema":{"type":7,"properties":[]}},{"name":"b","inputSchema":true,"outputSchema":"?"},{"name":"c"},{"name":"d","inputSchema":{"type":"object"}}]}"#;
    let result: ListToolsResult<'_> = read(text);
    let names: Vec<_> = result.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["a tool, with spaces/é", "", "b", "d"]);
    assert_eq!(result.tools.skipped().map(|skipped| skipped.index).collect::<Vec<_>>(), [3]);
    assert_eq!(written(&result), text);
}

/// Proves M-CAP-01: every capability of a server.
#[test]
fn a_server_says_all_that_it_offers() {
    unchanged::<ServerCapabilities<'_>>(
        r#"{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{},"experimental":{"e":{"k":1}},"extensions":{"io.modelcontextprotocol/tasks":{},"com.example/x":{"k":[1]}}}"#,
    );
}

/// Proves M-CAP-02: every capability of a client. `roots.listChanged` is read in both eras, but sent in the legacy
/// era only.
#[test]
fn a_client_says_all_that_it_offers() {
    let text = r#"{"roots":{"listChanged":true},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}},"experimental":{"e":{"k":1}},"extensions":{"com.example/x":{"k":[1]}}}"#;
    let capabilities: ClientCapabilities<'_> = read(text);
    assert_eq!(capabilities.roots, Some(ListChanged::notified()));
    let send =
        |revision| sent(&capabilities, ClientCapabilities::RECORD, revision).expect("writable");
    let modern = text.replace(r#""listChanged":true"#, "");
    assert_eq!(send(Revision::V2026_07_28), modern);
    let legacy = text.replace(r#","extensions":{"com.example/x":{"k":[1]}}"#, "");
    assert_eq!(send(Revision::V2025_11_25), legacy);
}

/// Only an object counts as settings. Other values do not affect the other extensions.
#[test]
fn an_extension_with_anything_but_settings_is_not_supported() {
    let text = r#"{"extensions":{"a/b":true,"a/c":null,"a/d":{},"a/e":[]}}"#;
    unchanged::<ClientCapabilities<'_>>(text);
    unchanged::<ServerCapabilities<'_>>(text);
    let (client, server) =
        (read::<ClientCapabilities<'_>>(text), read::<ServerCapabilities<'_>>(text));
    for (name, settings) in
        [("a/b", None), ("a/c", None), ("a/d", Some("{}")), ("a/e", None), ("a/f", None)]
    {
        assert_eq!(client.extension(name).map(Raw::as_json), settings, "{name}");
        assert_eq!(server.extension(name).map(Raw::as_json), settings, "{name}");
    }
    assert_eq!(ClientCapabilities::default().extension("a/d"), None);
}

/// Proves M-SUB-01: every combination of the members of a filter.
#[test]
fn a_filter_serializes_only_its_selected_members() {
    assert_eq!(written(&ListenParams::new(SubscriptionFilter::new())), r#"{"notifications":{}}"#);
    let members = [
        r#""toolsListChanged":true"#,
        r#""promptsListChanged":true"#,
        r#""resourcesListChanged":true"#,
        r#""resourceSubscriptions":["file:///a","x:y"]"#,
        r#""taskIds":["t"]"#,
    ];
    for choice in 0_u8..32 {
        let wants = |index: usize| choice & (1 << index) != 0;
        let mut filter = SubscriptionFilter::new();
        filter = if wants(0) { filter.with_tools() } else { filter };
        filter = if wants(1) { filter.with_prompts() } else { filter };
        filter = if wants(2) { filter.with_resources() } else { filter };
        filter =
            if wants(3) { filter.with_resource("file:///a").with_resource("x:y") } else { filter };
        filter = if wants(4) { filter.with_task("t") } else { filter };
        let chosen: Vec<_> = (0..5).filter(|index| wants(*index)).map(|i| members[i]).collect();
        let text = alloc::format!(r#"{{"notifications":{{{}}}}}"#, chosen.join(","));
        let params = ListenParams::new(filter.clone());
        assert_eq!(written(&params), text);
        assert_eq!(read::<ListenParams<'_>>(&text), params);
        assert_eq!(read::<AcknowledgedParams<'_>>(&text), AcknowledgedParams::new(filter));
        let record = RequestKind::Listen.rule().params(Revision::V2026_07_28).record;
        assert_eq!(sent(&params, record, Revision::V2026_07_28), Ok(text));
    }
    let missing = serde_json::from_str::<ListenParams<'_>>("{}");
    assert!(missing.is_err());
    const TOOLS: SubscriptionFilter<'_> = SubscriptionFilter::new().with_tools();
    assert_eq!(written(&TOOLS), r#"{"toolsListChanged":true}"#);
}

/// Proves M-MRTR-05: all input requests need params except `roots/list`, which is written without.
#[test]
fn requests_for_input_have_params_or_need_none() {
    for text in [
        r#"{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://a"}}"#,
        r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#,
        r#"{"method":"roots/list"}"#,
        r#"{"method":"x/y","params":[1],"more":null}"#,
    ] {
        unchanged::<InputRequest<'_>>(text);
    }
    for text in [
        r#"{"method":"roots/list","params":{}}"#,
        r#"{"method":"roots/list","params":null}"#,
        r#"{"params":{"_meta":{"k":1}},"method":"roots\/list"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#,
    ] {
        let request: InputRequest<'_> = read(text);
        assert_eq!(request, InputRequest::ListRoots, "{text}");
        assert_eq!(written(&request), r#"{"method":"roots/list"}"#);
    }
    for text in [
        r#"{"method":"elicitation/create"}"#,
        r#"{"method":"elicitation/create","params":null}"#,
        r#"{"method":"elicitation/create","params":{}}"#,
        r#"{"method":"sampling/createMessage"}"#,
        r#"{"method":"sampling/createMessage","params":{"messages":[]}}"#,
        r#"{"method":7}"#,
        r#"{"params":{}}"#,
        "[]",
        "null",
    ] {
        assert!(serde_json::from_str::<InputRequest<'_>>(text).is_err(), "{text}");
    }
}

/// Proves M-MRTR-03: keys are unique and keep their order.
#[test]
fn input_request_keys_are_unique_and_ordered() {
    let required = InputRequired::new()
        .elicit("z", ElicitParams::url("m", "https://a", "e"))
        .roots("a")
        .sample("s", CreateMessageParams::new([], 1))
        .elicit("z", ElicitParams::visit("m", "https://b"))
        .state("");
    let text = r#"{"inputRequests":{"z":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://b"}},"a":{"method":"roots/list"},"s":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}},"requestState":""}"#;
    assert_eq!(written(&required), text);
    assert_eq!(read::<InputRequired<'_>>(text), required);
    let keys: Vec<_> = required.requests.iter().flat_map(Map::iter).map(|(key, _)| key).collect();
    assert_eq!(keys, ["z", "a", "s"]);
    let methods: Vec<_> =
        required.requests.iter().flat_map(Map::iter).map(|(_, it)| it.method()).collect();
    assert_eq!(
        methods,
        [Some("elicitation/create"), Some("roots/list"), Some("sampling/createMessage")]
    );
    assert_eq!(InputRequest::Unknown(Raw::NULL).method(), None);
    let text = r#"{"resultType":"input_required","requestState":"s","_meta":{"k":1}}"#;
    let state: InputRequired<'_> = read(text);
    assert_eq!((&state.requests, &state.state), (&None, &Some("s".into())));
    assert_eq!(written(&state), r#"{"requestState":"s","_meta":{"k":1}}"#);
    assert_eq!(read::<InputRequired<'_>>("{}"), InputRequired::new());
}

/// Proves M-MRTR-13 for reading: an empty string is a valid state, and any value but a string is an error.
#[test]
fn a_state_is_a_string() {
    assert_eq!(read::<InputRequired<'_>>(r#"{"requestState":""}"#).state, Some("".into()));
    for state in ["null", "7", "{}", "[\"s\"]"] {
        let text = alloc::format!(r#"{{"requestState":{state}}}"#);
        assert!(serde_json::from_str::<InputRequired<'_>>(&text).is_err(), "{text}");
    }
    let text = r#"{"uri":"a:b","inputResponses":{"k":{"action":"decline"},"l":7},"requestState":"\u0000é","_meta":{}}"#;
    unchanged::<ReadResourceParams<'_>>(text);
    unchanged::<CallToolParams<'_>>(&text.replace("uri", "name"));
    unchanged::<GetPromptParams<'_>>(&text.replace("uri", "name"));
    assert_eq!(written(&ReadResourceParams::new("a:b")), r#"{"uri":"a:b"}"#);
}

/// Proves M-ELIC-04: an elicitation id is sent only in a revision that has it.
#[test]
fn a_visit_has_no_id() {
    let record = RequestKind::Elicit.rule().params(Revision::V2026_07_28).record;
    let with = ElicitParams::url("m", "https://a", "e");
    let without = ElicitParams::visit("m", "https://a");
    let text = r#"{"mode":"url","message":"m","url":"https://a"}"#;
    assert_eq!(sent(&with, record, Revision::V2026_07_28).as_deref(), Ok(text));
    assert_eq!(sent(&without, record, Revision::V2026_07_28).as_deref(), Ok(text));
    let text = r#"{"mode":"url","message":"m","url":"https://a","elicitationId":"e"}"#;
    assert_eq!(sent(&with, record, Revision::V2025_11_25).as_deref(), Ok(text));
    assert!(sent(&without, record, Revision::V2025_11_25).is_err());
}

#[test]
fn discovery_and_its_errors_are_read_and_written() {
    let text = r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"","ttlMs":1,"cacheScope":"public","_meta":{}}"#;
    unchanged::<DiscoverResult<'_>>(text);
    let mut capabilities = ServerCapabilities::default();
    capabilities.tools = Some(ListChanged::default());
    let mut result = DiscoverResult::new(["2026-07-28"], capabilities);
    result.instructions = Some("".into());
    result.ttl_ms = Some(1);
    result.cache_scope = Some(CacheScope::Public);
    result.meta = Some(Raw::EMPTY_OBJECT);
    assert_eq!(read::<DiscoverResult<'_>>(text), result);
    let record = result_record(RequestKind::Discover);
    assert_eq!(sent(&result, record, Revision::V2026_07_28).as_deref(), Ok(text));

    let text = r#"{"supported":["2026-07-28","x"],"requested":"y"}"#;
    assert_eq!(written(&UnsupportedVersionData::new(["2026-07-28", "x"], "y")), text);
    unchanged::<UnsupportedVersionData<'_>>(text);
    for broken in [r#"{"supported":["x"]}"#, r#"{"requested":"y"}"#, r#"{"supported":[1]}"#] {
        assert!(serde_json::from_str::<UnsupportedVersionData<'_>>(broken).is_err(), "{broken}");
    }

    let mut missing = ClientCapabilities::default();
    missing.sampling = Some(SamplingCapability::default());
    let text = r#"{"requiredCapabilities":{"sampling":{}}}"#;
    assert_eq!(written(&MissingCapabilitiesData::new(missing)), text);
    unchanged::<MissingCapabilitiesData<'_>>(
        r#"{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#,
    );

    let names = (Discover::NAME, Listen::NAME, ReadResource::NAME, SubscriptionAcknowledged::NAME);
    let expected = (
        "server/discover",
        "subscriptions/listen",
        "resources/read",
        "notifications/subscriptions/acknowledged",
    );
    assert_eq!(names, expected);
}

/// Proves M-CONT-01: every kind of content, and an unknown one.
#[test]
fn content_of_every_kind_survives() {
    let blocks = [
        r#"{"type":"text","text":"t"}"#,
        r#"{"type":"image","data":"AA==","mimeType":"image/png"}"#,
        r#"{"type":"audio","data":"AA==","mimeType":"audio/wav"}"#,
        r#"{"type":"resource_link","uri":"a:b","name":"n"}"#,
        r#"{"type":"resource","resource":{"uri":"a:b","text":"t"}}"#,
        r#"{"type":"tool_use","id":"i","name":"n","input":{}}"#,
        r#"{"type":"tool_result","toolUseId":"i","content":[],"structuredContent":[]}"#,
        r#"{"type":"hologram","depth":3}"#,
    ];
    let kind = |content: &Content<'_>| match content {
        Content::Text(_) => 0,
        Content::Image(_) => 1,
        Content::Audio(_) => 2,
        Content::ResourceLink(_) => 3,
        Content::Resource(_) => 4,
        Content::ToolUse(_) => 5,
        Content::ToolResult(_) => 6,
        Content::Unknown(_) => 7,
    };
    for (index, block) in blocks.into_iter().enumerate() {
        unchanged::<Content<'_>>(block);
        assert_eq!(kind(&read(block)), index);
    }
    let text = alloc::format!(r#"{{"content":[{}]}}"#, blocks.join(","));
    let result: CallToolResult<'_> = read(&text);
    assert_eq!((result.content.len(), result.content.skipped().count()), (8, 0));
    let message = alloc::format!(r#"{{"role":"user","content":[{}]}}"#, blocks.join(","));
    let message: SamplingMessage<'_> = read(&message);
    assert!(message.content.iter().map(kind).eq(0..8));
}
