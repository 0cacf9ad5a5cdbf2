//! The params of notifications.

use super::logging::LoggingLevel;
use super::text::Text;
use crate::json::{Number, Raw};

record! {
    /// The params of `notifications/cancelled`.
    ///
    /// A connection reads and writes this notification itself; the type is for tools that inspect traffic.
    #[doc(alias = "CancelledNotification")]
    #[doc(alias("notifications/cancelled", "CancelledNotificationParams"))]
    pub struct CancelledParams<'a> {
        /// The id of the request, a string or an integer. Optional in the schema of 2025-11-25, but required for
        /// everything except tasks.
        #[doc(alias = "RequestId")]
        pub request_id: Option<Raw<'a>> = "requestId" as Any;
        /// The reason, for people.
        pub reason: Option<Text<'a>> = "reason";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

record! {
    /// The params of `notifications/progress`.
    ///
    /// A connection reads and writes this notification itself; the type is for tools that inspect traffic.
    #[doc(alias = "ProgressNotification")]
    #[doc(alias("notifications/progress", "ProgressNotificationParams"))]
    pub struct ProgressParams<'a> {
        /// The progress token, a string or an integer.
        #[doc(alias = "ProgressToken")]
        pub progress_token: Raw<'a> = "progressToken" as Any;
        /// The progress so far.
        pub progress: Number = "progress";
        /// The total, if known.
        pub total: Option<Number> = "total";
        /// The description of the current step, for people.
        pub message: Option<Text<'a>> = "message", since V2025_03_26;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

record! {
    /// The params of `notifications/message`: a log message.
    #[doc(alias("notifications/message", "LoggingMessageNotificationParams"))]
    pub struct LogParams<'a> {
        /// The severity of the message.
        pub level: LoggingLevel = "level";
        /// The name of the logger.
        pub logger: Option<Text<'a>> = "logger";
        /// The logged data: any JSON, including `null`. It must not contain secrets.
        pub data: Raw<'a> = "data" as Any;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! { LogParams { logger(Text<'a>) meta[Raw<'a>] } }

impl<'a> LogParams<'a> {
    /// Creates a log message.
    pub const fn new(level: LoggingLevel, data: Raw<'a>) -> Self {
        Self { level, logger: None, data, meta: None }
    }
}

record! {
    /// The params of `notifications/resources/updated`.
    #[doc(alias("notifications/resources/updated", "ResourceUpdatedNotificationParams"))]
    #[derive(Default)]
    pub struct ResourceUpdatedParams<'a> {
        /// The URI of the changed resource: the subscribed one, or one below it.
        pub uri: Text<'a> = "uri";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! { ResourceUpdatedParams { meta[Raw<'a>] } }

impl<'a> ResourceUpdatedParams<'a> {
    /// Creates the params for a changed resource.
    pub fn new(uri: impl Into<Text<'a>>) -> Self {
        Self { uri: uri.into(), meta: None }
    }
}

record! {
    /// The params of `notifications/elicitation/complete` (2025-11-25).
    #[doc(alias = "notifications/elicitation/complete")]
    #[derive(Default)]
    pub struct ElicitationCompleteParams<'a> {
        /// The id that the elicitation was requested with.
        pub elicitation_id: Text<'a> = "elicitationId";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! { ElicitationCompleteParams { meta[Raw<'a>] } }

impl<'a> ElicitationCompleteParams<'a> {
    /// Creates the params for a completed elicitation.
    pub fn new(elicitation_id: impl Into<Text<'a>>) -> Self {
        Self { elicitation_id: elicitation_id.into(), meta: None }
    }
}
