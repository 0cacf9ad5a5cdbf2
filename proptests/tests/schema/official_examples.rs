//! Every official example of revision 2026-07-28 is read as its type of the model, and written again unchanged.
//!
//! Lists keep their source text, and content of unknown kinds is kept unchanged. So both are rebuilt first, and the
//! output contains only the values that the model understands. Only metadata is passed on without being read.

use std::collections::BTreeSet;
use std::path::Path;

use mcp_sansio::json::Raw;
use mcp_sansio::model::method::{self, Method, Notification};
use mcp_sansio::model::{
    CallToolResult, CancelledParams, ClientCapabilities, Content, CreateMessageParams,
    CreateMessageResult, ElicitParams, ElicitResult, GetPromptResult, InputRequest, InputRequired,
    List, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListRootsResult,
    ListToolsResult, Map, MissingCapabilitiesData, ModelPreferences, PrimitiveSchema,
    ProgressParams, PromptMessage, ReadResourceResult, Resource, ResourceContents, Root,
    SamplingContent, SamplingMessage, ServerCapabilities, Tool, UnsupportedVersionData,
};
use mcp_sansio::schema::Json;
use mcp_sansio::{ClientEvent, Outcome, Payload, Revision};
use mcp_sansio_proptests::{ClientSide, shared};
use serde::Deserialize;
use serde_json::{Value, json};

/// Reads JSON text as some type and writes it again.
type Through = fn(&str) -> Value;

/// The kind of an example.
enum Example {
    /// A value, or the params of a message.
    Value(Through),
    /// A request, with its method and params.
    Request(&'static str, Through),
    /// A request for input: a method and params without an envelope. Some of them have an id all the same.
    Input,
    /// A notification, with its method and params.
    Notification(&'static str, Through),
    /// A result of a type.
    Result(&'static str, Through),
    /// A response with such a result.
    Response(&'static str, Through),
    /// An error with this code, and its data if it has some.
    Error(i64, Option<Through>),
    /// A response with such an error.
    ErrorResponse(i64, Option<Through>),
}

use Example::{
    Error, ErrorResponse, Input, Notification as Notice, Request, Response, Result as Answer,
    Value as Plain,
};

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> T {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn write<T: Payload>(value: &T) -> Value {
    serde_json::from_str(Raw::from_payload(value).unwrap().as_json()).unwrap()
}

fn params<M: Method>(text: &str) -> Value {
    write(&read::<M::Params<'_>>(text))
}

fn result<M: Method>(text: &str) -> Value {
    write(&read::<M::Result<'_>>(text))
}

fn notice<N: Notification>(text: &str) -> Value {
    write(&read::<N::Params<'_>>(text))
}

fn request<M: Method>() -> Example {
    Request(M::NAME, params::<M>)
}

fn notification<N: Notification>() -> Example {
    Notice(N::NAME, notice::<N>)
}

/// A type of the model without lists or variants.
macro_rules! of {
    ($Type:ident) => {
        |text| write(&Json(&read::<$Type<'_>>(text)))
    };
}

/// A result with a list.
macro_rules! list {
    ($Type:ident, $items:ident) => {
        |text| {
            let mut value: $Type<'_> = read(text);
            value.$items = afresh(value.$items);
            write(&value)
        }
    };
}

/// A block of content of one kind.
macro_rules! block {
    ($Kind:ident) => {
        |text| {
            let block = understood(read(text));
            assert!(matches!(block, Content::$Kind(_)), "{text}");
            write(&Json(&block))
        }
    };
}

/// A field of a form of one kind.
macro_rules! field {
    ($Kind:ident) => {
        |text| {
            let field: PrimitiveSchema<'_> = read(text);
            assert!(matches!(field, PrimitiveSchema::$Kind(_)), "{text}");
            write(&Json(&field))
        }
    };
}

/// Rebuilds a list without its source text. Every element has to be readable.
fn afresh<'a, T>(list: List<'a, T>) -> List<'a, T> {
    assert_eq!(list.skipped().count(), 0);
    list.into_iter().collect()
}

fn blocks<'a>(list: List<'a, Content<'a>>) -> List<'a, Content<'a>> {
    afresh(list).into_iter().map(understood).collect()
}

/// Rebuilds a block of a known kind, and its content.
fn understood(block: Content<'_>) -> Content<'_> {
    match block {
        Content::Unknown(raw) => panic!("{raw}"),
        Content::ToolResult(mut result) => {
            result.content = blocks(result.content);
            Content::ToolResult(result)
        }
        block => block,
    }
}

fn message(mut message: SamplingMessage<'_>) -> SamplingMessage<'_> {
    message.content = sampled(message.content);
    message
}

fn sampled(content: SamplingContent<'_>) -> SamplingContent<'_> {
    match content {
        SamplingContent::One(block) => SamplingContent::One(understood(block)),
        SamplingContent::Many(list) => SamplingContent::Many(blocks(list)),
    }
}

fn create_message(mut params: CreateMessageParams<'_>) -> CreateMessageParams<'_> {
    params.messages = afresh(params.messages).into_iter().map(message).collect();
    params.tools = params.tools.map(afresh);
    params
}

fn answer_of_a_model(text: &str) -> Value {
    let mut result: CreateMessageResult<'_> = read(text);
    result.content = sampled(result.content);
    write(&result)
}

fn prompt(text: &str) -> Value {
    let mut result: GetPromptResult<'_> = read(text);
    let messages = afresh(result.messages).into_iter();
    result.messages = messages
        .map(|message| PromptMessage::new(message.role, understood(message.content)))
        .collect();
    write(&result)
}

fn tool_result(text: &str) -> Value {
    let mut result: CallToolResult<'_> = read(text);
    result.content = blocks(result.content);
    write(&result)
}

fn form(text: &str) -> Value {
    let params: ElicitParams<'_> = read(text);
    fields_are_known(&params);
    write(&params)
}

fn fields_are_known(params: &ElicitParams<'_>) {
    for (name, field) in params.requested_schema.iter().flat_map(|schema| schema.properties.iter())
    {
        assert!(!matches!(field, PrimitiveSchema::Unknown(_)), "{name}");
    }
}

fn input_request(request: InputRequest<'_>) -> InputRequest<'_> {
    match request {
        InputRequest::Elicit(params) => {
            fields_are_known(&params);
            InputRequest::Elicit(params)
        }
        InputRequest::CreateMessage(params) => InputRequest::CreateMessage(create_message(params)),
        InputRequest::ListRoots => InputRequest::ListRoots,
        other => panic!("{other:?}"),
    }
}

fn input_requests<'a>(requests: &Map<'a, InputRequest<'a>>) -> Map<'a, InputRequest<'a>> {
    let entries = requests.iter().map(|(key, it)| (key.to_string(), input_request(it.clone())));
    entries.map(|(key, request)| (key.into(), request)).collect()
}

fn input_required(text: &str) -> Value {
    let mut required: InputRequired<'_> = read(text);
    required.requests = required.requests.as_ref().map(input_requests);
    write(&required)
}

/// Reads input responses. Their types depend on the requests, which the example lacks, so a characteristic member
/// decides.
fn input_responses(text: &str) -> Value {
    let responses: Map<'_, Raw<'_>> = read(text);
    let answers = responses.iter().map(|(key, answer)| {
        let through: Through = match answer {
            answer if answer.get("action").is_some() => of!(ElicitResult),
            answer if answer.get("model").is_some() => answer_of_a_model,
            _ => list!(ListRootsResult, roots),
        };
        (key.to_string(), through(answer.as_json()))
    });
    Value::Object(answers.collect())
}

const COMPLETE: &str = "complete";

/// Returns the examples of a method: its request, its result and a response with the result.
fn exchange<M: Method>(name: &str, through: Through) -> [(String, Example); 3] {
    [
        (format!("{name}Request"), request::<M>()),
        (format!("{name}Result"), Answer(COMPLETE, through)),
        (format!("{name}ResultResponse"), Response(COMPLETE, through)),
    ]
}

/// Returns the kinds of the examples in each directory.
fn table() -> Vec<(String, Example)> {
    let exchanges = [
        exchange::<method::Discover>("Discover", result::<method::Discover>),
        exchange::<method::ListTools>("ListTools", list!(ListToolsResult, tools)),
        exchange::<method::CallTool>("CallTool", tool_result),
        exchange::<method::ListResources>("ListResources", list!(ListResourcesResult, resources)),
        exchange::<method::ListResourceTemplates>(
            "ListResourceTemplates",
            list!(ListResourceTemplatesResult, resource_templates),
        ),
        exchange::<method::ReadResource>("ReadResource", list!(ReadResourceResult, contents)),
        exchange::<method::ListPrompts>("ListPrompts", list!(ListPromptsResult, prompts)),
        exchange::<method::GetPrompt>("GetPrompt", prompt),
        exchange::<method::Complete>("Complete", result::<method::Complete>),
        exchange::<method::Listen>("SubscriptionsListen", result::<method::Listen>),
    ];
    let rest = messages().into_iter().chain(values()).chain(errors());
    let rest = rest.map(|(name, example)| (name.to_string(), example));
    exchanges.into_iter().flatten().chain(rest).collect()
}

fn messages() -> Vec<(&'static str, Example)> {
    vec![
        ("CallToolRequestParams", Plain(params::<method::CallTool>)),
        ("CompleteRequestParams", Plain(params::<method::Complete>)),
        ("GetPromptRequestParams", Plain(params::<method::GetPrompt>)),
        ("PaginatedRequestParams", Plain(params::<method::ListTools>)),
        ("CreateMessageRequest", Input),
        ("ElicitRequest", Input),
        ("ListRootsRequest", Input),
        ("CreateMessageRequestParams", Plain(|text| write(&create_message(read(text))))),
        ("ElicitRequestFormParams", Plain(form)),
        ("ElicitRequestURLParams", Plain(form)),
        ("CreateMessageResult", Plain(answer_of_a_model)),
        ("ElicitResult", Plain(of!(ElicitResult))),
        ("ListRootsResult", Plain(list!(ListRootsResult, roots))),
        ("InputRequests", Plain(|text| write(&Json(&input_requests(&read(text)))))),
        ("InputResponses", Plain(input_responses)),
        ("InputRequiredResult", Answer("input_required", input_required)),
        ("CancelledNotification", Notice("notifications/cancelled", of!(CancelledParams))),
        ("CancelledNotificationParams", Plain(of!(CancelledParams))),
        ("ProgressNotification", Notice("notifications/progress", of!(ProgressParams))),
        ("ProgressNotificationParams", Plain(of!(ProgressParams))),
        ("LoggingMessageNotification", notification::<method::Log>()),
        ("LoggingMessageNotificationParams", Plain(notice::<method::Log>)),
        ("PromptListChangedNotification", notification::<method::PromptsChanged>()),
        ("ResourceListChangedNotification", notification::<method::ResourcesChanged>()),
        ("ToolListChangedNotification", notification::<method::ToolsChanged>()),
        ("ResourceUpdatedNotification", notification::<method::ResourceUpdated>()),
        ("ResourceUpdatedNotificationParams", Plain(notice::<method::ResourceUpdated>)),
        (
            "SubscriptionsAcknowledgedNotification",
            notification::<method::SubscriptionAcknowledged>(),
        ),
    ]
}

fn values() -> Vec<(&'static str, Example)> {
    vec![
        ("TextContent", Plain(block!(Text))),
        ("ImageContent", Plain(block!(Image))),
        ("AudioContent", Plain(block!(Audio))),
        ("EmbeddedResource", Plain(block!(Resource))),
        ("ResourceLink", Plain(block!(ResourceLink))),
        ("ToolUseContent", Plain(block!(ToolUse))),
        ("ToolResultContent", Plain(block!(ToolResult))),
        ("TextResourceContents", Plain(of!(ResourceContents))),
        ("BlobResourceContents", Plain(of!(ResourceContents))),
        ("StringSchema", Plain(field!(String))),
        ("NumberSchema", Plain(field!(Number))),
        ("BooleanSchema", Plain(field!(Boolean))),
        ("TitledMultiSelectEnumSchema", Plain(field!(Array))),
        ("TitledSingleSelectEnumSchema", Plain(field!(String))),
        ("UntitledMultiSelectEnumSchema", Plain(field!(Array))),
        ("UntitledSingleSelectEnumSchema", Plain(field!(String))),
        ("ClientCapabilities", Plain(of!(ClientCapabilities))),
        ("ServerCapabilities", Plain(of!(ServerCapabilities))),
        ("ModelPreferences", Plain(of!(ModelPreferences))),
        ("Resource", Plain(of!(Resource))),
        ("Root", Plain(of!(Root))),
        ("SamplingMessage", Plain(|text| write(&Json(&message(read(text)))))),
        ("Tool", Plain(of!(Tool))),
    ]
}

fn errors() -> Vec<(&'static str, Example)> {
    let as_it_is: Through = |text| read(text);
    vec![
        ("ParseError", Error(-32700, None)),
        ("MethodNotFoundError", Error(-32601, Some(as_it_is))),
        ("InvalidParamsError", Error(-32602, None)),
        ("InternalError", Error(-32603, None)),
        ("HeaderMismatchError", ErrorResponse(-32020, None)),
        (
            "MissingRequiredClientCapabilityError",
            ErrorResponse(-32021, Some(of!(MissingCapabilitiesData))),
        ),
        (
            "UnsupportedProtocolVersionError",
            ErrorResponse(-32022, Some(of!(UnsupportedVersionData))),
        ),
    ]
}

/// Removes members that the model does not contain, and checks their values.
#[track_caller]
fn take<const N: usize>(value: &mut Value, members: [(&str, Value); N]) {
    for (name, expected) in members {
        assert_eq!(value.as_object_mut().unwrap().remove(name), Some(expected), "{name}");
    }
}

/// Returns the text of a required member.
fn member<'r>(raw: &'r Raw<'_>, name: &str) -> Raw<'r> {
    raw.get(name).unwrap_or_else(|| panic!("no {name}: {raw}"))
}

fn check(example: &Example, text: &str) {
    let raw = Raw::new(text).unwrap();
    let mut expected: Value = serde_json::from_str(text).unwrap();
    let version = ("jsonrpc", json!("2.0"));
    match example {
        Plain(through) => assert_eq!(through(raw.as_json()), expected),
        Request(name, through) => {
            assert!(expected["id"].is_string(), "{expected}");
            let id = expected["id"].clone();
            take(&mut expected, [version, ("id", id), ("method", json!(name))]);
            let params = through(member(&raw, "params").as_json());
            assert_eq!(json!({ "params": params }), expected);
        }
        Notice(name, through) => {
            take(&mut expected, [version, ("method", json!(name))]);
            let params = through(member(&raw, "params").as_json());
            assert_eq!(json!({ "params": params }), expected);
        }
        Input => {
            expected.as_object_mut().unwrap().remove("id");
            assert_eq!(write(&Json(&input_request(read(raw.as_json())))), expected);
        }
        Answer(kind, through) => {
            take(&mut expected, [("resultType", json!(kind))]);
            assert_eq!(through(raw.as_json()), expected);
        }
        Response(kind, through) => {
            let id = expected["id"].clone();
            take(&mut expected, [version, ("id", id)]);
            take(&mut expected["result"], [("resultType", json!(kind))]);
            let result = through(member(&raw, "result").as_json());
            assert_eq!(json!({ "result": result }), expected);
        }
        Error(code, data) => check_error(*code, *data, &expected),
        ErrorResponse(code, data) => {
            take(&mut expected, [version, ("id", json!(1))]);
            assert_eq!(expected.as_object().unwrap().len(), 1);
            check_error(*code, *data, &expected["error"]);
        }
    }
}

/// The model has types only for the data of errors; clients read errors with other types.
fn check_error(code: i64, data: Option<Through>, expected: &Value) {
    let mut side = ClientSide::ready(Revision::V2025_11_25);
    side.call("tools/list");
    let sent: Value = serde_json::from_str(&side.sent()[0]).unwrap();
    let response = json!({ "jsonrpc": "2.0", "id": sent["id"], "error": expected });
    let event = side.receive(&response.to_string());
    let Some(ClientEvent::CallEnded(ended)) = event else { panic!("{event:?}") };
    let Outcome::PeerError(error) = ended.outcome else { panic!("{:?}", ended.outcome) };
    let mut found = json!({ "code": code, "message": error.message.to_str() });
    assert_eq!(error.code.get(), code);
    if let Some(raw) = error.data {
        found["data"] = data.expect("it has data")(raw.as_json());
    }
    assert_eq!(&found, expected);
}

fn names(directory: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Proves M-CONT-01, M-TOOL-02, M-JSCH-05, M-CAP-01, M-CAP-02 as far as the examples show them.
#[test]
fn every_official_example_comes_out_as_it_went_in() {
    let revision = Revision::V2026_07_28;
    let Some(root) = shared(&format!("schema/{revision}/examples")) else { return };
    let table = table();
    let mapped: BTreeSet<String> = table.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(mapped.len(), table.len(), "a directory is there twice");
    assert_eq!(names(&root), mapped, "directories on the left, rows on the right");
    for (directory, example) in table {
        let directory = root.join(directory);
        let files = names(&directory);
        assert!(!files.is_empty(), "{}", directory.display());
        for file in files {
            let path = directory.join(file);
            assert_eq!(path.extension().unwrap(), "json", "{}", path.display());
            let text = std::fs::read_to_string(&path).unwrap();
            let checked = std::panic::catch_unwind(|| check(&example, &text));
            assert!(checked.is_ok(), "{}", path.display());
        }
    }
}
