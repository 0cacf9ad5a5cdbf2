//! An error of a payload contains the path of the invalid value.

use mcp_sansio::model::{
    AudioContent, CallToolResult, Content, EmbeddedResource, GetPromptResult, ListToolsResult,
    PromptMessage, ResourceContents, Tool,
};
use mcp_sansio::{Payload, RespondError, Revision};
use mcp_sansio_proptests::{ServerSide, payload};

use super::{called, put, raw, request};

/// Returns the error of a result that is refused and not sent.
#[track_caller]
fn refused<T: Payload + ?Sized>(method: &str, revision: Revision, result: &T) -> String {
    let mut side = ServerSide::ready(revision);
    let params = payload::params(method);
    let params = if params.as_json() == "null" { "{}" } else { params.as_json() };
    let id = side.request(&request(method, params));
    let answered = side.server.respond(id, result, &mut side.out);
    assert_eq!(side.sent(), [""; 0]);
    let Err(RespondError::Encode(error)) = answered else { panic!("{answered:?}") };
    error.to_string()
}

/// The same result as JSON text on one line, as JSON text on several, and as a value.
#[track_caller]
fn all_are_refused(method: &str, revision: Revision, result: &str, error: &str) {
    assert_eq!(refused(method, revision, &raw(result)), error);
    assert_eq!(refused(method, revision, &raw(&result.replace(',', ",\n"))), error);
    let value: serde_json::Value = serde_json::from_str(result).unwrap();
    assert_eq!(refused(method, revision, &value), error);
}

#[test]
fn the_path_has_the_members_and_the_indices() {
    let tool = r#"{"name":"a","inputSchema":{"type":"object"}}"#;
    let table = [
        (r#"{"name":"b","inputSchema":{}}"#, "inputSchema.type is missing"),
        (r#"{"name":"b"}"#, "inputSchema is missing"),
        (r#"{"name":7,"inputSchema":{"type":"object"}}"#, "name has the wrong type"),
        (
            r#"{"name":"b","inputSchema":{"type":"array"}}"#,
            "inputSchema.type has a value that is not allowed",
        ),
        (
            r#"{"name":"b","inputSchema":{"type":"object","required":["a",null]}}"#,
            "inputSchema.required[1] has the wrong type",
        ),
        (
            r#"{"name":"b","inputSchema":{"type":"object","properties":{"a":{},"city":true}}}"#,
            "inputSchema.properties.city has the wrong type",
        ),
        (
            r#"{"name":"b","inputSchema":{"type":"object","properties":{"a":{},"city":null}}}"#,
            "inputSchema.properties.city has the wrong type",
        ),
        (
            r#"{"name":"b","inputSchema":{"type":"object","properties":{"the city":1}}}"#,
            "inputSchema.properties.* has the wrong type",
        ),
    ];
    for (wrong, error) in table {
        let tools = put(r#"{"tools":[@]}"#, &format!("{tool},{wrong}"));
        all_are_refused("tools/list", Revision::V2025_06_18, &tools, &format!("tools[1].{error}"));
    }
    let untyped = r#"{"tools":[{"name":"b","inputSchema":{}}]}"#;
    let error = "tools[0].inputSchema.type is missing";
    all_are_refused("tools/list", Revision::V2026_07_28, untyped, error);
    all_are_refused(
        "tools/list",
        Revision::V2025_06_18,
        r#"{"tools":7}"#,
        "tools has the wrong type",
    );
    all_are_refused("tools/list", Revision::V2025_06_18, "{}", "tools is missing");
}

#[test]
fn the_path_is_that_of_the_types_as_well() {
    let tools = ListToolsResult::new([Tool::new("untyped", raw("{}"))]);
    let error = "tools[0].inputSchema.type is missing";
    assert_eq!(refused("tools/list", Revision::V2025_11_25, &tools), error);
    let audio = Content::Audio(AudioContent::new("!", "audio/ogg"));
    let result = CallToolResult::new([Content::text("said"), audio.clone()]);
    let error = "content[1].data has a value that is not allowed";
    assert_eq!(refused("tools/call", Revision::V2025_11_25, &result), error);
    // The first revision has no audio, and the content of a prompt message cannot be omitted.
    let prompt = GetPromptResult::new([PromptMessage::user(audio)]);
    let error = "messages[0].content.type does not exist in this revision";
    assert_eq!(refused("prompts/get", Revision::V2024_11_05, &prompt), error);
    let resource = EmbeddedResource::new(ResourceContents::blob("x:y", "!"));
    let result = CallToolResult::new([Content::Resource(resource)]);
    let error = "content[0].resource.blob has a value that is not allowed";
    assert_eq!(refused("tools/call", Revision::V2025_11_25, &result), error);
}

/// The same for params.
#[test]
fn the_error_of_a_call_has_a_path() {
    let message = r#"{"role":"user","content":{"type":"text"}}"#;
    let params = put(r#"{"messages":[@],"maxTokens":1}"#, message);
    let (called, sent) = called("sampling/createMessage", Revision::V2025_11_25, &raw(&params));
    assert_eq!(sent, [""; 0]);
    let error = "the request could not be written: messages[0].content.text is missing";
    assert_eq!(called.unwrap_err().to_string(), error);
}
