//! The params of notifications.

use super::logging::LoggingLevel;
use super::text::Text;
use crate::json::{Number, Raw};

record! {
    /// The params of `notifications/cancelled`.
    ///
    /// The machine reads and writes these itself; the type is for tools that look at traffic.
    #[doc(alias("notifications/cancelled", "CancelledNotificationParams"))]
    pub struct CancelledParams<'a> {
        /// The request, a string or an integer. Optional in the schema of 2025-11-25, needed for
        /// everything but tasks.
        #[doc(alias = "RequestId")]
        pub request_id: Option<Raw<'a>> = "requestId" as Any;
        /// Why, for people.
        pub reason: Option<Text<'a>> = "reason";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

record! {
    /// The params of `notifications/progress`.
    ///
    /// The machine reads and writes these itself; the type is for tools that look at traffic.
    #[doc(alias("notifications/progress", "ProgressNotificationParams"))]
    pub struct ProgressParams<'a> {
        /// The token, a string or an integer.
        #[doc(alias = "ProgressToken")]
        pub progress_token: Raw<'a> = "progressToken" as Any;
        /// How far it is.
        pub progress: Number = "progress";
        /// How far it has to go, if known.
        pub total: Option<Number> = "total";
        /// What is going on, for people.
        pub message: Option<Text<'a>> = "message", since V2025_03_26;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

record! {
    /// The params of `notifications/message`: a log message.
    #[doc(alias("notifications/message", "LoggingMessageNotificationParams"))]
    pub struct LogParams<'a> {
        /// How severe it is.
        pub level: LoggingLevel = "level";
        /// Who says so.
        pub logger: Option<Text<'a>> = "logger";
        /// What is said: any JSON, also `null`. No secrets.
        pub data: Raw<'a> = "data" as Any;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

impl<'a> LogParams<'a> {
    /// A message.
    pub const fn new(level: LoggingLevel, data: Raw<'a>) -> Self {
        Self { level, logger: None, data, meta: None }
    }
}

record! {
    /// The params of `notifications/resources/updated`.
    #[doc(alias("notifications/resources/updated", "ResourceUpdatedNotificationParams"))]
    #[derive(Default)]
    pub struct ResourceUpdatedParams<'a> {
        /// What changed: the resource subscribed to, or one below it.
        pub uri: Text<'a> = "uri";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

impl<'a> ResourceUpdatedParams<'a> {
    /// This resource changed.
    pub fn new(uri: impl Into<Text<'a>>) -> Self {
        Self { uri: uri.into(), meta: None }
    }
}

record! {
    /// The params of `notifications/elicitation/complete` (2025-11-25).
    #[doc(alias = "notifications/elicitation/complete")]
    #[derive(Default)]
    pub struct ElicitationCompleteParams<'a> {
        /// The elicitation, by the id it was asked with.
        pub elicitation_id: Text<'a> = "elicitationId";
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

impl<'a> ElicitationCompleteParams<'a> {
    /// What this elicitation asked for is done.
    pub fn new(elicitation_id: impl Into<Text<'a>>) -> Self {
        Self { elicitation_id: elicitation_id.into(), meta: None }
    }
}
