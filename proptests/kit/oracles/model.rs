//! Round trips of the MCP types: a decoded and encoded value decodes to the same value.

use mcp_sansio::model::{self, method::Method};
use mcp_sansio::schema::{Json, Prepared};
use mcp_sansio::{Payload, Revision};
use serde::Serialize;

macro_rules! check_types {
    ($text:ident: $($Type:ident $(<$life:lifetime>)?,)*) => {$(
        if let Ok(value) = serde_json::from_str::<model::$Type $(<$life>)?>($text) {
            let first = serde_json::to_string(&value).expect("what was decoded is encoded");
            let again = serde_json::from_str::<model::$Type $(<$life>)?>(&first);
            let second = again.and_then(|again| serde_json::to_string(&again));
            let what = concat!(stringify!($Type), " of");
            assert_eq!(second.ok().as_ref(), Some(&first), "{what} {}", $text);
        }
    )*};
}

/// Checks that the result of a method is written identically in every revision, directly and inside [`Json`]. For
/// [`Json`], the serializer compares the result with the tables member by member.
pub fn check_written<M: Method>(result: &(impl Payload + Serialize)) {
    for revision in Revision::ALL {
        let straight = Prepared::result::<M>(revision, result);
        let compared = Prepared::result::<M>(revision, &Json(result));
        match (&straight, &compared) {
            (Ok(straight), Ok(compared)) => {
                assert_eq!(straight.as_json(), compared.as_json(), "{} in {revision}", M::NAME);
            }
            _ => assert_eq!(straight.err(), compared.err(), "{} in {revision}", M::NAME),
        }
    }
}

/// Checks a text as every type that accepts it.
pub fn check_model(text: &str) {
    check_types! {
        text:
        ClientCapabilities<'_>, ServerCapabilities<'_>, CompleteParams<'_>, CompleteResult<'_>,
        Annotations<'_>, AudioContent<'_>, Content<'_>, EmbeddedResource<'_>, ImageContent<'_>,
        TextContent<'_>, ToolResultContent<'_>, ToolUseContent<'_>, DiscoverResult<'_>,
        ElicitParams<'_>, ElicitResult<'_>, ObjectSchema<'_>, PrimitiveSchema<'_>,
        InputRequired<'_>, InputRequest<'_>, Icon<'_>, Implementation<'_>, InitializeParams<'_>,
        InitializeResult<'_>, SetLevelParams<'_>,
        CancelledParams<'_>, LogParams<'_>, ProgressParams<'_>,
        ResourceUpdatedParams<'_>, GetPromptParams<'_>, GetPromptResult<'_>, ListPromptsResult<'_>,
        Prompt<'_>, PromptMessage<'_>, ListResourceTemplatesResult<'_>, ListResourcesResult<'_>,
        ReadResourceParams<'_>, ReadResourceResult<'_>, Resource<'_>, ResourceContents<'_>,
        ResourceLink<'_>, ResourceTemplate<'_>, UriParams<'_>, ListRootsResult<'_>, Root<'_>,
        CreateMessageParams<'_>, CreateMessageResult<'_>, ModelPreferences<'_>, SamplingMessage<'_>,
        ToolChoice<'_>, AcknowledgedParams<'_>, ListenParams<'_>, SubscriptionFilter<'_>,
        CreateTaskResult<'_>, DetailedTask<'_>, ListTasksResult<'_>, Task<'_>, TaskParams<'_>,
        UpdateTaskParams<'_>, CallToolParams<'_>, CallToolResult<'_>, ListToolsResult<'_>,
        PageParams<'_>, Tool<'_>, ToolAnnotations<'_>,
    }
}
