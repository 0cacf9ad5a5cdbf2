//! Subscriptions by stream
//! ([basic/patterns/subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)).

use alloc::vec::Vec;

use super::text::Text;
use crate::json::Raw;

record! {
    /// The notifications that a client subscribes to, or that a server agrees to send (2026-07-28).
    ///
    /// ```
    /// use mcp_sansio::json::Raw;
    /// use mcp_sansio::model::SubscriptionFilter;
    ///
    /// let filter = SubscriptionFilter::new().with_tools().with_resource("file:///a");
    /// assert_eq!(
    ///     Raw::from_serialize(&filter)?.as_json(),
    ///     r#"{"toolsListChanged":true,"resourceSubscriptions":["file:///a"]}"#,
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Default)]
    pub struct SubscriptionFilter<'a> {
        /// Changes of the list of tools. False if absent.
        pub tools_list_changed: Option<bool> = "toolsListChanged";
        /// Changes of the list of prompts. False if absent.
        pub prompts_list_changed: Option<bool> = "promptsListChanged";
        /// Changes of the list of resources. False if absent.
        pub resources_list_changed: Option<bool> = "resourcesListChanged";
        /// Changes of the resources with these URIs.
        pub resource_subscriptions: Option<Vec<Text<'a>>> = "resourceSubscriptions";
        /// Changes of the tasks with these ids (with the tasks extension).
        pub task_ids: Option<Vec<Text<'a>>> = "taskIds";
    }
}

impl<'a> SubscriptionFilter<'a> {
    /// Creates an empty filter, which is allowed.
    pub const fn new() -> Self {
        Self {
            tools_list_changed: None,
            prompts_list_changed: None,
            resources_list_changed: None,
            resource_subscriptions: None,
            task_ids: None,
        }
    }

    /// Returns the filter with changes of the list of tools.
    #[must_use]
    pub const fn with_tools(mut self) -> Self {
        self.tools_list_changed = Some(true);
        self
    }

    /// Returns the filter with changes of the list of prompts.
    #[must_use]
    pub const fn with_prompts(mut self) -> Self {
        self.prompts_list_changed = Some(true);
        self
    }

    /// Returns the filter with changes of the list of resources.
    #[must_use]
    pub const fn with_resources(mut self) -> Self {
        self.resources_list_changed = Some(true);
        self
    }

    /// Returns the filter with changes of one resource.
    #[must_use]
    pub fn with_resource(mut self, uri: impl Into<Text<'a>>) -> Self {
        self.resource_subscriptions.get_or_insert_default().push(uri.into());
        self
    }

    /// Returns the filter with changes of one task.
    #[must_use]
    pub fn with_task(mut self, task_id: impl Into<Text<'a>>) -> Self {
        self.task_ids.get_or_insert_default().push(task_id.into());
        self
    }
}

record! {
    /// The params of `subscriptions/listen` (2026-07-28).
    #[doc(alias("subscriptions/listen", "SubscriptionsListenRequestParams"))]
    #[derive(Default)]
    pub struct ListenParams<'a> {
        /// The notifications that the client subscribes to.
        pub notifications: SubscriptionFilter<'a> = "notifications";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! { ListenParams { meta[Raw<'a>] } }

impl<'a> ListenParams<'a> {
    /// Creates a request for these notifications.
    pub const fn new(notifications: SubscriptionFilter<'a>) -> Self {
        Self { notifications, meta: None }
    }
}

record! {
    /// The params of `notifications/subscriptions/acknowledged` (2026-07-28). The metadata identifies the
    /// subscription.
    #[doc(alias = "SubscriptionsAcknowledgedNotificationParams")]
    #[doc(alias = "notifications/subscriptions/acknowledged")]
    #[derive(Default)]
    pub struct AcknowledgedParams<'a> {
        /// The notifications that the server agrees to send: never more than requested.
        pub notifications: SubscriptionFilter<'a> = "notifications";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

impl<'a> AcknowledgedParams<'a> {
    /// Creates an acknowledgment of these notifications.
    pub const fn new(notifications: SubscriptionFilter<'a>) -> Self {
        Self { notifications, meta: None }
    }
}
