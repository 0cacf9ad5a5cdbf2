//! Types for methods and notifications: a name with the types of params and result.
//!
//! These types are optional: a connection accepts any method as a string. To use a custom method with types,
//! implement [`Method`] for a type of your own.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use mcp_sansio::model::method::{CallTool, Method};
//! use mcp_sansio::schema::Json;
//!
//! assert_eq!(CallTool::NAME, "tools/call");
//!
//! /// A method of an extension.
//! enum Weather {}
//!
//! impl Method for Weather {
//!     const NAME: &'static str = "com.example/weather";
//!     const EXTENSION: Option<&'static str> = Some("com.example/weather");
//!     type Params<'a> = Json<BTreeMap<&'a str, &'a str>>;
//!     type Result<'a> = Json<BTreeMap<&'a str, f64>>;
//! }
//! ```

use serde::Deserialize;

use super::{
    AcknowledgedParams, CallToolParams, CallToolResult, CompleteParams, CompleteResult,
    CreateMessageParams, CreateMessageResult, DetailedTask, DiscoverResult, ElicitParams,
    ElicitResult, ElicitationCompleteParams, GetPromptParams, GetPromptResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListRootsResult, ListTasksResult,
    ListToolsResult, ListenParams, LogParams, PageParams, ReadResourceParams, ReadResourceResult,
    ResourceUpdatedParams, SetLevelParams, Task, TaskParams, UpdateTaskParams, UriParams,
};
use crate::json::Raw;
use crate::schema::Payload;

/// A request method, with its params and its result.
pub trait Method {
    /// The name of the method on the wire.
    const NAME: &'static str;
    /// The extension of the method, by its name in the capabilities
    /// ([extensions](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#extension-negotiation)).
    /// A typed call is made only if both sides have declared the extension
    /// ([`CallOptions::extension`](crate::CallOptions::extension)). `None` for a method of the protocol itself, and for a
    /// custom method without an extension.
    const EXTENSION: Option<&'static str> = None;
    /// The params of the request.
    type Params<'a>: Payload + Deserialize<'a>;
    /// The result of the request.
    type Result<'a>: Payload + Deserialize<'a>;
}

/// A method with a paginated list as its result: the params may have a `cursor`, the result a `nextCursor`.
pub trait PagedMethod: Method {
    /// The member of the result that holds the items.
    const ITEMS: &'static str;
}

impl PagedMethod for ListTools {
    const ITEMS: &'static str = "tools";
}

impl PagedMethod for ListResources {
    const ITEMS: &'static str = "resources";
}

impl PagedMethod for ListResourceTemplates {
    const ITEMS: &'static str = "resourceTemplates";
}

impl PagedMethod for ListPrompts {
    const ITEMS: &'static str = "prompts";
}

impl PagedMethod for ListTasks {
    const ITEMS: &'static str = "tasks";
}

/// A method whose results can be cached: they may have `ttlMs` and `cacheScope`. For methods of applications;
/// [`CacheKey::of_method`](crate::cache::CacheKey::of_method) makes the keys.
pub trait CacheableMethod: Method {
    /// The name of the param that selects the result, for example `cursor` or `uri`; `None` for a method without params.
    /// No other param but `_meta` may affect the result.
    const PARAM: Option<&'static str>;
}

/// A notification.
pub trait Notification {
    /// The name of the notification on the wire.
    const NAME: &'static str;
    /// The params of the notification.
    type Params<'a>: Payload + Deserialize<'a>;
}

record! {
    /// Params or a result without members other than `_meta`.
    #[doc(alias("Result", "RequestParams", "NotificationParams"))]
    #[doc(alias = "EmptyResult")]
    #[derive(Default)]
    pub struct Empty<'a> {
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

macro_rules! methods {
    ($(
        $(#[$documentation:meta])* $marker:ident = $name:literal, $params:ident -> $result:ident;
    )*) => {$(
        $(#[$documentation])*
        #[doc(alias = $name)]
        #[derive(Clone, Copy, Debug)]
        #[non_exhaustive]
        pub struct $marker;

        impl Method for $marker {
            const NAME: &'static str = $name;
            type Params<'a> = $params<'a>;
            type Result<'a> = $result<'a>;
        }
    )*};
}

macro_rules! notifications {
    ($($(#[$documentation:meta])* $marker:ident = $name:literal, $params:ident;)*) => {$(
        $(#[$documentation])*
        #[doc(alias = $name)]
        #[derive(Clone, Copy, Debug)]
        #[non_exhaustive]
        pub struct $marker;

        impl Notification for $marker {
            const NAME: &'static str = $name;
            type Params<'a> = $params<'a>;
        }
    )*};
}

methods! {
    /// `server/discover`, to a server (2026-07-28)
    #[doc(alias("DiscoverRequest", "DiscoverResultResponse"))]
    Discover = "server/discover", Empty -> DiscoverResult;
    /// `subscriptions/listen`, to a server (2026-07-28)
    #[doc(alias(
        "SubscriptionsListenRequest",
        "SubscriptionsListenResult",
        "SubscriptionsListenResultResponse",
        "SubscriptionsListenResultMetaObject",
    ))]
    Listen = "subscriptions/listen", ListenParams -> Empty;
    /// `ping`, in either direction
    #[doc(alias = "PingRequest")]
    Ping = "ping", Empty -> Empty;
    /// `tools/list`, to a server
    #[doc(alias("ListToolsRequest", "ListToolsResultResponse"))]
    ListTools = "tools/list", PageParams -> ListToolsResult;
    /// `tools/call`, to a server
    #[doc(alias("CallToolRequest", "CallToolResultResponse"))]
    CallTool = "tools/call", CallToolParams -> CallToolResult;
    /// `resources/list`, to a server
    #[doc(alias("ListResourcesRequest", "ListResourcesResultResponse"))]
    ListResources = "resources/list", PageParams -> ListResourcesResult;
    /// `resources/templates/list`, to a server
    #[doc(alias("ListResourceTemplatesRequest", "ListResourceTemplatesResultResponse"))]
    ListResourceTemplates = "resources/templates/list",
        PageParams -> ListResourceTemplatesResult;
    /// `resources/read`, to a server
    #[doc(alias("ReadResourceRequest", "ReadResourceResultResponse"))]
    ReadResource = "resources/read", ReadResourceParams -> ReadResourceResult;
    /// `resources/subscribe`, to a server
    #[doc(alias = "SubscribeRequest")]
    Subscribe = "resources/subscribe", UriParams -> Empty;
    /// `resources/unsubscribe`, to a server
    #[doc(alias = "UnsubscribeRequest")]
    Unsubscribe = "resources/unsubscribe", UriParams -> Empty;
    /// `prompts/list`, to a server
    #[doc(alias("ListPromptsRequest", "ListPromptsResultResponse"))]
    ListPrompts = "prompts/list", PageParams -> ListPromptsResult;
    /// `prompts/get`, to a server
    #[doc(alias("GetPromptRequest", "GetPromptResultResponse"))]
    GetPrompt = "prompts/get", GetPromptParams -> GetPromptResult;
    /// `completion/complete`, to a server
    #[doc(alias("CompleteRequest", "CompleteResultResponse"))]
    Complete = "completion/complete", CompleteParams -> CompleteResult;
    /// `logging/setLevel`, to a server
    #[doc(alias = "SetLevelRequest")]
    SetLevel = "logging/setLevel", SetLevelParams -> Empty;
    /// `roots/list`, to a client
    #[doc(alias = "ListRootsRequest")]
    ListRoots = "roots/list", Empty -> ListRootsResult;
    /// `sampling/createMessage`, to a client
    #[doc(alias = "CreateMessageRequest")]
    CreateMessage = "sampling/createMessage", CreateMessageParams -> CreateMessageResult;
    /// `elicitation/create`, to a client (from 2025-06-18 on)
    #[doc(alias = "ElicitRequest")]
    Elicit = "elicitation/create", ElicitParams -> ElicitResult;
    /// `tasks/get`, in either direction (2025-11-25)
    #[doc(alias("GetTaskRequest", "GetTaskResult"))]
    GetTask = "tasks/get", TaskParams -> Task;
    /// `tasks/get`, to a server (from 2026-07-28 on, an extension)
    GetDetailedTask = "tasks/get", TaskParams -> DetailedTask;
    /// `tasks/update`, to a server (from 2026-07-28 on, an extension)
    UpdateTask = "tasks/update", UpdateTaskParams -> Empty;
    /// `tasks/result`, in either direction: the result of the request that became the task, in the form that its
    /// method defines
    #[doc(alias("GetTaskPayloadRequest", "GetTaskPayloadResult"))]
    TaskResult = "tasks/result", TaskParams -> Raw;
    /// `tasks/list`, in either direction
    #[doc(alias = "ListTasksRequest")]
    ListTasks = "tasks/list", PageParams -> ListTasksResult;
    /// `tasks/cancel`, in either direction (2025-11-25)
    #[doc(alias("CancelTaskRequest", "CancelTaskResult"))]
    CancelTask = "tasks/cancel", TaskParams -> Task;
    /// `tasks/cancel`, to a server (from 2026-07-28 on, an extension)
    CancelDetailedTask = "tasks/cancel", TaskParams -> Empty;
}

notifications! {
    /// `notifications/subscriptions/acknowledged`, from a server (2026-07-28)
    #[doc(alias = "SubscriptionsAcknowledgedNotification")]
    SubscriptionAcknowledged = "notifications/subscriptions/acknowledged", AcknowledgedParams;
    /// `notifications/message`, from a server: a log message
    #[doc(alias = "LoggingMessageNotification")]
    Log = "notifications/message", LogParams;
    /// `notifications/resources/updated`, from a server
    #[doc(alias = "ResourceUpdatedNotification")]
    ResourceUpdated = "notifications/resources/updated", ResourceUpdatedParams;
    /// `notifications/resources/list_changed`, from a server
    #[doc(alias = "ResourceListChangedNotification")]
    ResourcesChanged = "notifications/resources/list_changed", Empty;
    /// `notifications/tools/list_changed`, from a server
    #[doc(alias = "ToolListChangedNotification")]
    ToolsChanged = "notifications/tools/list_changed", Empty;
    /// `notifications/prompts/list_changed`, from a server
    #[doc(alias = "PromptListChangedNotification")]
    PromptsChanged = "notifications/prompts/list_changed", Empty;
    /// `notifications/elicitation/complete`, from a server (2025-11-25)
    #[doc(alias = "ElicitationCompleteNotification")]
    ElicitationComplete = "notifications/elicitation/complete", ElicitationCompleteParams;
    /// `notifications/tasks/status`, in either direction (2025-11-25)
    #[doc(alias = "TaskStatusNotification")]
    TaskChanged = "notifications/tasks/status", Task;
    /// `notifications/tasks`, from a server to a subscription (from 2026-07-28 on, an extension)
    DetailedTaskChanged = "notifications/tasks", DetailedTask;
    /// `notifications/roots/list_changed`, from a client
    #[doc(alias = "RootsListChangedNotification")]
    RootsChanged = "notifications/roots/list_changed", Empty;
}
