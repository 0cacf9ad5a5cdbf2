use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::method::Empty;
use super::*;
use crate::json::{Number, Raw};

/// Reads a value from a text, drops the text, and compares the kept value with one that is read anew. The compiler
/// checks that the kept value borrows nothing.
macro_rules! kept {
    ($($Type:ident: $text:expr),* $(,)?) => {$({
        let name = stringify!($Type);
        let kept: $Type<'static> = {
            let text = String::from($text);
            let value: $Type<'_> = serde_json::from_str(&text)
                .unwrap_or_else(|error| panic!("{name}: {error} in {text}"));
            value.into_owned()
        };
        let anew: $Type<'_> = serde_json::from_str($text).expect("it was read before");
        assert_eq!(kept, anew, "{name}");
        let written = Raw::from_serialize(&kept).expect("writable");
        assert_eq!(written.as_json(), $text, "{name}");
    })*};
}

#[test]
fn capabilities_and_the_handshake_are_kept() {
    kept! {
        InitializeParams: r#"{"protocolVersion":"x","capabilities":{"roots":{"listChanged":true},"sampling":{"tools":{}},"elicitation":{"url":{}},"tasks":{"list":{},"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}},"experimental":{"a\n":{"b":1}},"extensions":{"e":{}}},"clientInfo":{"name":"n\n","title":"t","version":"1","description":"d","icons":[{"src":"s","mimeType":"m","sizes":["any"],"theme":"sepia"}],"websiteUrl":"u"},"_meta":{"k":1}}"#,
        InitializeResult: r#"{"protocolVersion":"x","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{},"completions":{},"logging":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}},"experimental":{"a":{}},"extensions":{"e":{}}},"serverInfo":{"name":"n","version":"1"},"instructions":"","_meta":{}}"#,
        DiscoverResult: r#"{"supportedVersions":["a","b"],"capabilities":{"tools":{}},"instructions":"i","ttlMs":5,"cacheScope":"public","_meta":{}}"#,
        UnsupportedVersionData: r#"{"supported":["a"],"requested":"b"}"#,
        MissingCapabilitiesData: r#"{"requiredCapabilities":{"roots":{}}}"#,
    }
}

#[test]
fn content_is_kept() {
    kept! {
        Content: r#"{"type":"text","text":"a\nb","annotations":{"audience":["user","system"],"priority":0.5,"lastModified":"2025-01-01"},"_meta":{"k":[1]}}"#,
        Content: r#"{"type":"image","data":"AAAA","mimeType":"image/png","annotations":{},"_meta":{}}"#,
        Content: r#"{"type":"audio","data":"AAAA","mimeType":"audio/wav","annotations":{},"_meta":{}}"#,
        Content: r#"{"type":"resource","resource":{"uri":"a:b","mimeType":"text/plain","text":"x","_meta":{}},"annotations":{},"_meta":{}}"#,
        Content: r#"{"type":"resource","resource":{"uri":"a:b","mimeType":"m","blob":"AA==","_meta":{}}}"#,
        Content: r#"{"type":"resource_link","uri":"a:b","name":"n","title":"T","description":"d","mimeType":"m","size":3,"annotations":{},"icons":[{"src":"data:,"}],"_meta":{}}"#,
        Content: r#"{"type":"tool_use","id":"1","name":"t","input":{"a":1},"_meta":{}}"#,
        Content: r#"{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"x","own":1}],"structuredContent":null,"isError":true,"_meta":{}}"#,
        Content: r#"{"type":"hologram","anything":[{}]}"#,
    }
}

#[test]
fn tools_are_kept() {
    kept! {
        ListToolsResult: r#"{"tools":[{"name":"t","title":"T","description":"d","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"annotations":{"title":"A","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false},"execution":{"taskSupport":"optional"},"icons":[],"_meta":{},"own":1},{"name":"no schema"}],"nextCursor":"","ttlMs":1,"cacheScope":"team","_meta":{}}"#,
        PageParams: r#"{"cursor":"c","_meta":{}}"#,
        CallToolParams: r#"{"name":"t","arguments":{"a":[1,{}]},"inputResponses":{"k":{"action":"decline"}},"requestState":"s","_meta":{"progressToken":1}}"#,
        CallToolResult: r#"{"content":[],"structuredContent":{"a":1.0},"isError":false,"_meta":{}}"#,
    }
}

#[test]
fn resources_and_roots_are_kept() {
    kept! {
        ListResourcesResult: r#"{"resources":[{"uri":"u","name":"n","title":"t","description":"d","mimeType":"m","size":1,"annotations":{"priority":1},"icons":[{"src":"s"}],"_meta":{}}],"nextCursor":"c","ttlMs":1,"cacheScope":"public","_meta":{}}"#,
        ListResourceTemplatesResult: r#"{"resourceTemplates":[{"uriTemplate":"u/{x}","name":"n","title":"t","description":"d","mimeType":"m","annotations":{},"icons":[],"_meta":{}}],"nextCursor":"c","ttlMs":1,"cacheScope":"public","_meta":{}}"#,
        ReadResourceParams: r#"{"uri":"u","inputResponses":{"k":{}},"requestState":"s","_meta":{}}"#,
        ReadResourceResult: r#"{"contents":[{"uri":"u","text":""},{"uri":"u","blob":""}],"ttlMs":1,"cacheScope":"private","_meta":{}}"#,
        UriParams: r#"{"uri":"u","_meta":{}}"#,
        ListRootsResult: r#"{"roots":[{"uri":"file:///a","name":"a","_meta":{}}],"_meta":{}}"#,
    }
}

#[test]
fn prompts_and_completion_are_kept() {
    kept! {
        ListPromptsResult: r#"{"prompts":[{"name":"p","title":"t","description":"d","arguments":[{"name":"a","title":"t","description":"d","required":true}],"icons":[],"_meta":{}}],"nextCursor":"c","ttlMs":1,"cacheScope":"public","_meta":{}}"#,
        GetPromptParams: r#"{"name":"p","arguments":{"b":"1","a":"2"},"inputResponses":{"k":{}},"requestState":"s","_meta":{}}"#,
        GetPromptResult: r#"{"description":"d","messages":[{"role":"assistant","content":{"type":"text","text":"x"}}],"_meta":{}}"#,
        CompleteParams: r#"{"ref":{"type":"ref/prompt","name":"p","title":"t"},"argument":{"name":"a","value":""},"context":{"arguments":{"b":"c"}},"_meta":{}}"#,
        Reference: r#"{"type":"ref/resource","uri":"u"}"#,
        Reference: r#"{"type":"ref/tool","name":"n"}"#,
        CompleteResult: r#"{"completion":{"values":["a"],"total":150,"hasMore":true},"_meta":{}}"#,
    }
}

#[test]
fn sampling_and_elicitation_are_kept() {
    kept! {
        CreateMessageParams: r#"{"messages":[{"role":"user","content":{"type":"text","text":"x"},"_meta":{}},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"t","input":{}}]}],"modelPreferences":{"hints":[{"name":"claude"},{}],"costPriority":0.1,"speedPriority":0,"intelligencePriority":1},"systemPrompt":"s","includeContext":"thisServer","temperature":0.7,"maxTokens":100,"stopSequences":["a"],"metadata":{"x":1},"tools":[{"name":"t","inputSchema":{}}],"toolChoice":{"mode":"required"},"_meta":{}}"#,
        CreateMessageResult: r#"{"role":"assistant","content":{"type":"text","text":"x"},"model":"m","stopReason":"contentFilter","_meta":{}}"#,
        ElicitParams: r#"{"mode":"form","message":"m","requestedSchema":{"type":"object","$schema":"s","properties":{"a":{"type":"string","title":"t","description":"d","minLength":1,"maxLength":2,"format":"email","pattern":"x","default":"y"},"b":{"type":"integer","title":"t","description":"d","minimum":1,"maximum":2,"default":1},"d":{"type":"boolean","title":"t","description":"d","default":true},"e":{"type":"string","enum":["a"],"enumNames":["A"]},"f":{"type":"string","oneOf":[{"const":"a","title":"A"}]},"g":{"type":"array","title":"t","description":"d","minItems":1,"maxItems":2,"items":{"type":"string","enum":["a"]},"default":["a"]},"h":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}},"i":{"type":"null"}},"required":["a"]},"_meta":{}}"#,
        ElicitParams: r#"{"mode":"url","message":"m","url":"https://a","elicitationId":"e"}"#,
        ElicitResult: r#"{"action":"accept","content":{"a":["x"],"b":1.5},"_meta":{}}"#,
        ElicitationRequired: r#"{"elicitations":[{"mode":"url","message":"m","url":"u","elicitationId":"e"}]}"#,
        InputRequired: r#"{"inputRequests":{"a":{"method":"roots/list"},"b":{"method":"elicitation/create","params":{"message":"m"}},"c":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}},"d":{"method":"own"}},"requestState":"s","_meta":{}}"#,
    }
}

#[test]
fn subscriptions_tasks_and_notifications_are_kept() {
    kept! {
        ListenParams: r#"{"notifications":{"toolsListChanged":true,"promptsListChanged":false,"resourcesListChanged":true,"resourceSubscriptions":["u"],"taskIds":["t"]},"_meta":{}}"#,
        AcknowledgedParams: r#"{"notifications":{},"_meta":{}}"#,
        CreateTaskResult: r#"{"task":{"taskId":"t","status":"paused","statusMessage":"m","createdAt":"a","lastUpdatedAt":"b","ttl":60000,"pollInterval":5000,"_meta":{}},"_meta":{}}"#,
        ListTasksResult: r#"{"tasks":[{"taskId":"t","status":"working","createdAt":"a","lastUpdatedAt":"b","ttl":null}],"nextCursor":"c","_meta":{}}"#,
        TaskParams: r#"{"taskId":"t","_meta":{}}"#,
        DetailedTask: r#"{"taskId":"t","status":"working","statusMessage":"m","createdAt":"a","lastUpdatedAt":"b","ttlMs":null,"pollIntervalMs":5,"inputRequests":{"k":{"method":"roots/list"}},"result":{"content":[]},"error":{"code":1,"message":"m"},"_meta":{}}"#,
        UpdateTaskParams: r#"{"taskId":"t","inputResponses":{"k":{"action":"decline"}},"_meta":{}}"#,
        SetLevelParams: r#"{"level":"emergency","_meta":{}}"#,
        CancelledParams: r#"{"requestId":"1","reason":"r","_meta":{}}"#,
        ProgressParams: r#"{"progressToken":0,"progress":0.5,"total":1,"message":"m","_meta":{}}"#,
        LogParams: r#"{"level":"debug","logger":"l","data":null,"_meta":{}}"#,
        ResourceUpdatedParams: r#"{"uri":"u","_meta":{}}"#,
        ElicitationCompleteParams: r#"{"elicitationId":"e","_meta":{}}"#,
        Empty: r#"{"_meta":{}}"#,
    }
}

/// Unknown members and unreadable elements are kept too.
#[test]
fn a_list_is_kept_with_the_text_of_its_elements() {
    let tools: List<'static, Tool<'static>> = {
        let text = String::from(r#"[{"name":"a","inputSchema":{},"x-own":7},{"name":"b"}]"#);
        let tools: List<'_, Tool<'_>> = serde_json::from_str(&text).expect("readable");
        tools.into_owned()
    };
    let own = tools.raw(0).and_then(|raw| raw.get("x-own"));
    assert_eq!(own.as_ref().map(Raw::as_json), Some("7"));
    let skipped = tools.skipped().map(|skipped| skipped.raw.as_json()).collect::<Vec<_>>();
    assert_eq!(skipped, [r#"{"name":"b"}"#]);
    assert!(tools.skipped().all(|skipped| !skipped.reason.is_empty()));
}

#[test]
fn a_map_is_kept_in_its_order() {
    let map: Map<'static, Number> = {
        let text = String::from(r#"{"b":1,"a":2.5}"#);
        let map: Map<'_, Number> = serde_json::from_str(&text).expect("readable");
        map.into_owned()
    };
    let entries = map.iter().map(|(key, value)| (key, value.as_f64())).collect::<Vec<_>>();
    assert_eq!(entries, [("b", 1.0), ("a", 2.5)]);
}

/// Owned text is moved, also in nested values; borrowed text is copied.
#[test]
fn into_owned_does_not_copy_owned_text() {
    let description = String::from("borrowed");
    let schema = Raw::try_from(r#"{"type":"object"}"#.to_string()).expect("JSON");
    let mut tool = Tool::new("owned".to_string(), schema);
    tool.description = Some(Text::from(description.as_str()));
    let mut icon = Icon::new("data:,".to_string());
    icon.sizes = Some(alloc::vec![Text::from("any".to_string())]);
    tool.icons = Some(alloc::vec![icon]);
    let size = |tool: &Tool<'_>| {
        let sizes = tool.icons.as_deref()?.first()?.sizes.as_deref()?;
        Some(sizes.first()?.as_ptr())
    };
    let (name, schema, sizes) =
        (tool.name.as_ptr(), tool.input_schema.as_json().as_ptr(), size(&tool));
    assert!(sizes.is_some());

    let kept = tool.into_owned();
    assert_eq!(kept.name.as_ptr(), name);
    assert_eq!(kept.input_schema.as_json().as_ptr(), schema);
    assert_eq!(size(&kept), sizes);
    assert_ne!(kept.description.as_ref().map(|text| text.as_ptr()), Some(description.as_ptr()));
    assert_eq!(kept.description, Some("borrowed".into()));

    // A second conversion copies nothing.
    let again = kept.clone();
    let name = again.name.as_ptr();
    assert_eq!(again.into_owned().name.as_ptr(), name);
    let list = List::from([Content::text(description.clone())]);
    let pointer = |list: &List<'_, Content<'_>>| {
        list.first().and_then(Content::as_text).map(|text| text.as_ptr())
    };
    let before = pointer(&list);
    assert_eq!(pointer(&list.into_owned()), before);
}
