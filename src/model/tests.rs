use alloc::string::ToString;
use alloc::vec::Vec;

use super::*;
use crate::json::Raw;

/// Decodes a text and returns the encoded value.
fn round<'a, T: serde::Deserialize<'a> + serde::Serialize>(text: &'a str) -> alloc::string::String {
    let value: T = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    Raw::from_serialize(&value).expect("writable").as_json().to_string()
}

fn unchanged<'a, T: serde::Deserialize<'a> + serde::Serialize>(text: &'a str) {
    assert_eq!(round::<T>(text), text);
}

/// Pain 70.
#[test]
fn every_kind_of_content_is_read_and_written() {
    for text in [
        r#"{"type":"text","text":"a\nb","annotations":{"audience":["user","system"],"priority":0.5,"lastModified":"2025-01-01"},"_meta":{"k":[1]}}"#,
        r#"{"type":"image","data":"AAAA","mimeType":"image/png"}"#,
        r#"{"type":"audio","data":"AAAA","mimeType":"audio/wav"}"#,
        r#"{"type":"resource","resource":{"uri":"a:b","mimeType":"text/plain","text":"x"}}"#,
        r#"{"type":"resource","resource":{"uri":"a:b","blob":"AA=="}}"#,
        r#"{"type":"resource_link","uri":"a:b","name":"n","title":"T","description":"d","mimeType":"m","size":3,"icons":[{"src":"data:,","sizes":["any"],"theme":"dark"}]}"#,
        r#"{"type":"tool_use","id":"1","name":"t","input":{"a":1}}"#,
        r#"{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"x"}],"structuredContent":{},"isError":true}"#,
        r#"{"type":"hologram","anything":[{}]}"#,
    ] {
        unchanged::<Content<'_>>(text);
    }
    assert!(serde_json::from_str::<Content<'_>>(r#"{"text":"x"}"#).is_err());
    assert!(serde_json::from_str::<Content<'_>>(r#"{"type":"text"}"#).is_err());
}

/// Some programs escape every slash, and any character may be written as an escape.
#[test]
fn kinds_may_be_written_with_escapes() {
    let reference = round::<Reference<'_>>(r#"{"type":"ref\/prompt","name":"a","title":null}"#);
    assert_eq!(reference, r#"{"type":"ref/prompt","name":"a"}"#);
    let reference = round::<Reference<'_>>(r#"{"type":"ref\/resource","uri":"a:b"}"#);
    assert_eq!(reference, r#"{"type":"ref/resource","uri":"a:b"}"#);
    let content = round::<Content<'_>>(r#"{"type":"te\u0078t","text":"a"}"#);
    assert_eq!(content, r#"{"type":"text","text":"a"}"#);
    let field = round::<PrimitiveSchema<'_>>(r#"{"type":"b\u006folean","title":null}"#);
    assert_eq!(field, r#"{"type":"boolean"}"#);
    for text in [r#"{"type":"ref\/tool","name":"a"}"#, r#"{"type":3}"#, r#"{"type":""}"#] {
        unchanged::<Reference<'_>>(text);
    }

    let schema = Raw::new(r#"{"$schema":"http:\/\/json-schema.org\/draft-07\/schema#"}"#);
    assert_eq!(SchemaDialect::of(&schema.expect("JSON")), SchemaDialect::Draft7);
}

/// The standard alphabet and its padding, read and written.
#[test]
fn bytes_are_there_as_base64() {
    let bytes = [0xfb, 0xff, 0xbf, 0];
    let image = ImageContent::from_bytes(&bytes, "image/png");
    assert_eq!(image, ImageContent::new("+/+/AA==", "image/png"));
    assert_eq!(image.to_bytes().as_deref(), Ok(&bytes[..]));
    let audio = AudioContent::from_bytes(&bytes, "audio/wav");
    assert_eq!(audio, AudioContent::new("+/+/AA==", "audio/wav"));
    assert_eq!(audio.to_bytes().as_deref(), Ok(&bytes[..]));
    let contents = ResourceContents::from_bytes("a:b", &bytes);
    assert_eq!(contents, ResourceContents::blob("a:b", "+/+/AA=="));
    let ResourceContents::Blob(blob) = contents else { panic!("it is made of bytes") };
    assert_eq!(blob, BlobResourceContents::from_bytes("a:b", &bytes));
    assert_eq!(blob.to_bytes().as_deref(), Ok(&bytes[..]));

    for (text, offset) in [("-_-_AA==", 0), ("+/+/AA", 6), ("+/+/\nAA==", 4), ("+/+/AB==", 6)] {
        let found = [
            ImageContent::new(text, "").to_bytes(),
            AudioContent::new(text, "").to_bytes(),
            BlobResourceContents { blob: text.into(), ..blob.clone() }.to_bytes(),
        ];
        assert!(
            found.iter().all(|bytes| bytes.as_ref().is_err_and(|error| error.offset() == offset))
        );
        let expected = alloc::format!("no base64 at byte {offset}");
        assert_eq!(found[0].clone().map_err(|error| error.to_string()), Err(expected));
    }
}

/// Contents are either text or bytes, never both or neither.
#[test]
fn resource_contents_are_either_text_or_bytes() {
    for text in [r#"{"uri":"a","text":"","blob":""}"#, r#"{"uri":"a"}"#] {
        assert!(serde_json::from_str::<ResourceContents<'_>>(text).is_err(), "{text}");
    }
}

/// Proves L-ROOT-01 for the shape of its messages.
#[test]
fn params_and_results_are_read_and_written() {
    unchanged::<InitializeParams<'_>>(
        r#"{"protocolVersion":"x","capabilities":{"roots":{"listChanged":true},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}},"experimental":{"a":{"b":1}}},"clientInfo":{"name":"n","title":"t","version":"1","description":"d","icons":[{"src":"s"}],"websiteUrl":"u"}}"#,
    );
    unchanged::<InitializeResult<'_>>(
        r#"{"protocolVersion":"x","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":false},"prompts":{},"completions":{},"logging":{}},"serverInfo":{"name":"n","version":"1"},"instructions":""}"#,
    );
    unchanged::<ListToolsResult<'_>>(
        r#"{"tools":[{"name":"t","title":"T","description":"d","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"annotations":{"title":"A","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false},"execution":{"taskSupport":"optional"},"icons":[],"_meta":{}}],"nextCursor":""}"#,
    );
    unchanged::<CallToolParams<'_>>(
        r#"{"name":"t","arguments":{"a":[1,{}]},"_meta":{"progressToken":1}}"#,
    );
    unchanged::<CallToolResult<'_>>(
        r#"{"content":[],"structuredContent":{"a":1.0},"isError":false}"#,
    );
    unchanged::<ListResourcesResult<'_>>(r#"{"resources":[{"uri":"u","name":"n"}]}"#);
    unchanged::<ListResourceTemplatesResult<'_>>(
        r#"{"resourceTemplates":[{"uriTemplate":"u/{x}","name":"n","mimeType":"m"}],"nextCursor":"c"}"#,
    );
    unchanged::<ReadResourceResult<'_>>(r#"{"contents":[{"uri":"u","text":""}],"_meta":{}}"#);
    unchanged::<UriParams<'_>>(r#"{"uri":"u"}"#);
    unchanged::<ListPromptsResult<'_>>(
        r#"{"prompts":[{"name":"p","arguments":[{"name":"a","title":"t","description":"d","required":true}]}]}"#,
    );
    unchanged::<GetPromptParams<'_>>(r#"{"name":"p","arguments":{"b":"1","a":"2"}}"#);
    unchanged::<GetPromptResult<'_>>(
        r#"{"description":"d","messages":[{"role":"assistant","content":{"type":"text","text":"x"}}]}"#,
    );
    unchanged::<CompleteParams<'_>>(
        r#"{"ref":{"type":"ref/prompt","name":"p","title":"t"},"argument":{"name":"a","value":""},"context":{"arguments":{"b":"c"}}}"#,
    );
    unchanged::<CompleteParams<'_>>(
        r#"{"ref":{"type":"ref/resource","uri":"u"},"argument":{"name":"a","value":"v"}}"#,
    );
    unchanged::<CompleteResult<'_>>(
        r#"{"completion":{"values":["a"],"total":150,"hasMore":true}}"#,
    );
    unchanged::<SetLevelParams<'_>>(r#"{"level":"emergency"}"#);
    unchanged::<LogParams<'_>>(r#"{"level":"debug","logger":"l","data":null}"#);
    unchanged::<ListRootsResult<'_>>(r#"{"roots":[{"uri":"file:///a","name":"a"}]}"#);
    unchanged::<CancelledParams<'_>>(r#"{"requestId":"1","reason":"r"}"#);
    unchanged::<ProgressParams<'_>>(
        r#"{"progressToken":0,"progress":0.5,"total":1,"message":"m"}"#,
    );
    unchanged::<ResourceUpdatedParams<'_>>(r#"{"uri":"u"}"#);
    unchanged::<ElicitationCompleteParams<'_>>(r#"{"elicitationId":"e"}"#);
}

#[test]
fn sampling_is_read_and_written() {
    unchanged::<CreateMessageParams<'_>>(
        r#"{"messages":[{"role":"user","content":{"type":"text","text":"x"}},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"t","input":{}}]}],"modelPreferences":{"hints":[{"name":"claude"},{}],"costPriority":0.1,"speedPriority":0,"intelligencePriority":1},"systemPrompt":"s","includeContext":"thisServer","temperature":0.7,"maxTokens":100,"stopSequences":["a"],"metadata":{"x":1},"tools":[{"name":"t","inputSchema":{}}],"toolChoice":{"mode":"required"}}"#,
    );
    unchanged::<CreateMessageResult<'_>>(
        r#"{"role":"assistant","content":{"type":"text","text":"x"},"model":"m","stopReason":"contentFilter"}"#,
    );
    let many =
        r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#;
    let message: SamplingMessage<'_> = serde_json::from_str(many).expect("readable");
    let texts: Vec<_> = message.content.iter().filter_map(Content::as_text).collect();
    assert_eq!(texts, ["a", "b"]);
    assert_eq!(*ToolChoice::default().mode(), ToolChoiceMode::Auto);
}

/// Proves L-ELIC-09 for reading and writing: every kind of schema.
#[test]
fn elicitation_is_read_and_written() {
    unchanged::<ElicitParams<'_>>(
        r#"{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","title":"t","description":"d","minLength":1,"maxLength":2,"format":"email","pattern":"x","default":"y"},"b":{"type":"integer","minimum":1,"maximum":2,"default":1},"c":{"type":"number","default":95.5},"d":{"type":"boolean","default":true},"e":{"type":"string","enum":["a"],"enumNames":["A"]},"f":{"type":"string","oneOf":[{"const":"a","title":"A"}]},"g":{"type":"array","minItems":1,"items":{"type":"string","enum":["a"]},"default":["a"]},"h":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}},"i":{"type":"null"}},"required":["a"]}}"#,
    );
    unchanged::<ElicitParams<'_>>(
        r#"{"mode":"url","message":"m","url":"https://a","elicitationId":"e"}"#,
    );
    unchanged::<ElicitResult<'_>>(r#"{"action":"accept","content":{"a":["x"],"b":1.5}}"#);
    unchanged::<ElicitResult<'_>>(r#"{"action":"decline"}"#);
    unchanged::<ElicitationRequired<'_>>(
        r#"{"elicitations":[{"mode":"url","message":"m","url":"u","elicitationId":"e"}]}"#,
    );
    let params: ElicitParams<'_> = serde_json::from_str(r#"{"message":"m"}"#).expect("readable");
    assert_eq!(*params.mode(), ElicitationMode::Form);
}

/// Proves L-PAGE-06: an empty cursor is a cursor, and `null` is not.
/// Pain 71.
#[test]
fn null_is_read_as_absent_and_never_written() {
    let text = r#"{"content":[],"isError":null,"_meta":null}"#;
    assert_eq!(round::<CallToolResult<'_>>(text), r#"{"content":[]}"#);
    let text = r#"{"type":"text","text":"x","annotations":{"audience":null,"priority":null}}"#;
    assert_eq!(round::<Content<'_>>(text), r#"{"type":"text","text":"x","annotations":{}}"#);
    assert_eq!(round::<PageParams<'_>>(r#"{"cursor":null}"#), "{}");
    let next = |text| serde_json::from_str::<ListToolsResult<'_>>(text).unwrap().next_cursor;
    assert_eq!(next(r#"{"tools":[],"nextCursor":""}"#), Some("".into()));
    assert_eq!(next(r#"{"tools":[],"nextCursor":null}"#), None);
}

/// Pain 69.
#[test]
fn one_bad_element_does_not_lose_the_list() {
    let text =
        r#"[{"name":"a","inputSchema":{},"x-own":7},{"name":"b"},7,{"name":"c","inputSchema":{}}]"#;
    let tools: List<'_, Tool<'_>> = serde_json::from_str(text).expect("readable");
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["a", "c"]);
    let skipped: Vec<_> =
        tools.skipped().map(|skipped| (skipped.index, skipped.raw.as_json())).collect();
    assert_eq!(skipped, [(1, r#"{"name":"b"}"#), (2, "7")]);
    assert!(tools.skipped().all(|skipped| !skipped.reason.is_empty()));
    let own = tools.raw(0).and_then(|raw| raw.get("x-own"));
    assert_eq!(own.as_ref().map(Raw::as_json), Some("7"));
    assert_eq!(Raw::from_serialize(&tools).expect("writable").as_json(), text);
    assert_eq!((tools.len(), tools.is_empty()), (2, false));
    assert_eq!(tools.into_iter().count(), 2);
}

#[test]
fn text_is_borrowed_unless_it_was_escaped() {
    let result: CallToolResult<'_> = serde_json::from_str(
        r#"{"content":[{"type":"text","text":"plain"},{"type":"text","text":"es\ncaped"}]}"#,
    )
    .expect("readable");
    let borrowed: Vec<bool> = result
        .content
        .into_iter()
        .map(|content| match content {
            Content::Text(content) => {
                matches!(content.text.into_cow(), alloc::borrow::Cow::Borrowed(_))
            }
            _ => unreachable!("both are text"),
        })
        .collect();
    assert_eq!(borrowed, [true, false]);
    let prompt: Prompt<'_> =
        serde_json::from_str(r#"{"name":"n","description":"d"}"#).expect("readable");
    let description = prompt.description.expect("is there").into_cow();
    assert!(matches!(description, alloc::borrow::Cow::Borrowed("d")));
}

/// Proves L-TOOL-08, L-TOOL-16, L-TOOL-17.
#[test]
fn absent_tool_members_have_the_specified_defaults() {
    let hints = ToolAnnotations::default();
    assert_eq!(
        (
            hints.is_read_only(),
            hints.is_destructive(),
            hints.is_idempotent(),
            hints.is_open_world()
        ),
        (false, true, false, true)
    );
    let mut hints = ToolAnnotations::default();
    hints.read_only_hint = Some(true);
    hints.destructive_hint = Some(true);
    assert!(!hints.is_destructive() && hints.is_idempotent());
    assert!(!CallToolResult::text("x").failed());
    assert!(CallToolResult::error("x").failed());

    let mut tool = Tool::new("name", Raw::EMPTY_OBJECT);
    assert_eq!(tool.display_name(), "name");
    let mut annotations = ToolAnnotations::default();
    annotations.title = Some("annotated".into());
    tool.annotations = Some(annotations);
    assert_eq!(tool.display_name(), "annotated");
    tool.title = Some("title".into());
    assert_eq!(tool.display_name(), "title");
}

/// Proves L-LOG-02.
#[test]
fn logging_levels_ascend() {
    let names = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
    let levels: Vec<_> = names.iter().filter_map(|name| LoggingLevel::from_name(name)).collect();
    assert_eq!(levels.len(), 8);
    assert!(levels.is_sorted());
    assert_eq!(LoggingLevel::from_name("trace"), None);
}

/// Proves L-TOOL-11.
#[test]
fn structured_results_are_there_as_text_too() {
    let result = CallToolResult::structured(Raw::new(r#"{"a":"b\n"}"#).expect("it is JSON"));
    assert_eq!(
        Raw::from_serialize(&result).expect("writable").as_json(),
        r#"{"content":[{"type":"text","text":"{\"a\":\"b\\n\"}"}],"structuredContent":{"a":"b\n"}}"#,
    );
}

#[test]
fn tasks_are_read_and_written() {
    // The lifetime of a task is never omitted: `null` means that the task is kept.
    let task = r#"{"taskId":"t","status":"working","createdAt":"2025-11-25T10:30:00Z","lastUpdatedAt":"2025-11-25T10:30:00Z","ttl":null}"#;
    unchanged::<Task<'_>>(task);
    let new = Raw::from_serialize(&Task::new("t", "2025-11-25T10:30:00Z")).expect("writable");
    assert_eq!(new.as_json(), task);
    unchanged::<ListTasksResult<'_>>(&alloc::format!(
        r#"{{"tasks":[{task},{}],"nextCursor":"c"}}"#,
        r#"{"taskId":"u","status":"paused","statusMessage":"m","createdAt":"a","lastUpdatedAt":"b","ttl":60000,"pollInterval":5000,"_meta":{}}"#,
    ));
    unchanged::<CreateTaskResult<'_>>(&alloc::format!(r#"{{"task":{task}}}"#));
    unchanged::<TaskParams<'_>>(r#"{"taskId":"t","_meta":{"k":1}}"#);
    unchanged::<TaskMetadata>(r#"{"ttl":60000}"#);
    let begun =
        r#""taskId":"t","status":"working","createdAt":"a","lastUpdatedAt":"b","ttlMs":null"#;
    unchanged::<DetailedTask<'_>>(&alloc::format!("{{{begun}}}"));
    let more = concat!(
        r#""pollIntervalMs":5,"inputRequests":{"k":{"method":"roots/list"}},"#,
        r#""result":{"content":[]},"error":{"code":1,"message":"m"},"_meta":{}"#
    );
    unchanged::<DetailedTask<'_>>(&alloc::format!("{{{begun},{more}}}"));
    unchanged::<UpdateTaskParams<'_>>(
        r#"{"taskId":"t","inputResponses":{"k":{"action":"decline"}}}"#,
    );
    let finals = ["working", "input_required", "completed", "failed", "cancelled", "paused"];
    let finals = finals.map(|status| TaskStatus::from(Text::from(status)).is_final());
    assert_eq!(finals, [false, false, true, true, true, false]);
}

#[test]
fn optional_members_have_setters() {
    let tool = Tool::new("delete", Raw::new(r#"{"type":"object"}"#).unwrap())
        .title("Delete")
        .annotations(ToolAnnotations::default().destructive_hint(true).idempotent_hint(true))
        .icons([Icon::new("https://example.com/i.png")
            .mime_type("image/png")
            .sizes(["48x48".into()])]);
    let json = r#"{"name":"delete","title":"Delete","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true,"idempotentHint":true},"icons":[{"src":"https://example.com/i.png","mimeType":"image/png","sizes":["48x48"]}]}"#;
    assert_eq!(serde_json::to_string(&tool).unwrap(), json);
    let result = CallToolResult::text("3").structured_content(Raw::new(r#"{"sum":3}"#).unwrap());
    let json = r#"{"content":[{"type":"text","text":"3"}],"structuredContent":{"sum":3}}"#;
    assert_eq!(serde_json::to_string(&result).unwrap(), json);
    let resource =
        Resource::new("file:///a", "a").size(5).annotations(Annotations::default().priority(1));
    let json = r#"{"uri":"file:///a","name":"a","size":5,"annotations":{"priority":1}}"#;
    assert_eq!(serde_json::to_string(&resource).unwrap(), json);
}

#[test]
fn texts_are_compared_and_converted() {
    let text = Text::from("a");
    assert!(text == *"a" && text == "a" && text != *"b" && text != "b");
    assert_eq!((text.as_ref(), alloc::format!("{text:?}").as_str()), ("a", r#""a""#));
    assert_eq!(Text::from(alloc::borrow::Cow::Borrowed("a")), text);
    assert_eq!(Text::from(crate::json::Str::from("a")), text);
    assert_eq!(alloc::string::String::from(text), "a");
}

#[test]
fn maps_have_their_entries_in_order() {
    let map: Map<'_, u32> = serde_json::from_str(r#"{"b":1,"a":2,"c":3}"#).unwrap();
    let mut entries = map.iter();
    assert_eq!((map.len(), entries.size_hint()), (3, (3, Some(3))));
    assert_eq!((entries.next(), entries.size_hint()), (Some(("b", &1)), (2, Some(2))));
    let entries: Vec<(Text<'_>, u32)> = map.into_iter().collect();
    assert_eq!(entries, [("b".into(), 1), ("a".into(), 2), ("c".into(), 3)]);
    let problem = serde_json::from_str::<Map<'_, u32>>("7").unwrap_err().to_string();
    assert!(problem.contains("expected an object"), "{problem}");
}

#[test]
fn lists_have_a_first_element() {
    let list: List<'_, Tool<'_>> =
        serde_json::from_str(r#"[{"name":"a","inputSchema":{"type":"object"}}]"#).unwrap();
    assert_eq!(list.first().map(|tool| tool.name.as_str()), Some("a"));
    let problem = serde_json::from_str::<List<'_, Tool<'_>>>("7").unwrap_err().to_string();
    assert!(problem.contains("expected an array"), "{problem}");
}

/// The defaults of the specification, and that hints about effects mean nothing for a tool that has none.
#[test]
fn hints_of_a_tool_have_defaults() {
    let hints = |text| serde_json::from_str::<ToolAnnotations<'_>>(text).unwrap();
    let table = [
        ("{}", false, true, false, true),
        (r#"{"readOnlyHint":true,"destructiveHint":true}"#, true, false, true, true),
        (r#"{"destructiveHint":false,"idempotentHint":true}"#, false, false, true, true),
        (r#"{"openWorldHint":false}"#, false, true, false, false),
    ];
    for (text, read_only, destructive, idempotent, open_world) in table {
        let tool = hints(text);
        assert_eq!(tool.is_read_only(), read_only, "{text}");
        assert_eq!(tool.is_destructive(), destructive, "{text}");
        assert_eq!(tool.is_idempotent(), idempotent, "{text}");
        assert_eq!(tool.is_open_world(), open_world, "{text}");
    }
}
