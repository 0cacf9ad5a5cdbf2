//! The params of notifications.

use serde::{Deserialize, Serialize};

use super::logging::LoggingLevel;
use super::text::Text;
use crate::json::{Number, Raw};

/// The params of `notifications/cancelled`.
///
/// The machine reads and writes these itself; the type is for tools that look at traffic.
#[doc(alias("notifications/cancelled", "CancelledNotificationParams"))]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct CancelledParams<'a> {
    /// The request, a string or an integer. Optional in the schema of 2025-11-25, needed for
    /// everything but tasks.
    #[doc(alias = "RequestId")]
    #[serde(borrow, rename = "requestId", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::id))]
    pub request_id: Option<Raw<'a>>,
    /// Why, for people.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<'a>>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

/// The params of `notifications/progress`.
///
/// The machine reads and writes these itself; the type is for tools that look at traffic.
#[doc(alias("notifications/progress", "ProgressNotificationParams"))]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ProgressParams<'a> {
    /// The token, a string or an integer.
    #[doc(alias = "ProgressToken")]
    #[serde(borrow, rename = "progressToken")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::id))]
    pub progress_token: Raw<'a>,
    /// How far it is.
    pub progress: Number,
    /// How far it has to go, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<Number>,
    /// What is going on, for people (from 2025-03-26 on).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub message: Option<Text<'a>>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

/// The params of `notifications/message`: a log message.
#[doc(alias("notifications/message", "LoggingMessageNotificationParams"))]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct LogParams<'a> {
    /// How severe it is.
    pub level: LoggingLevel,
    /// Who says so.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub logger: Option<Text<'a>>,
    /// What is said: any JSON, also `null`. No secrets.
    #[serde(borrow)]
    pub data: Raw<'a>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> LogParams<'a> {
    /// A message.
    pub const fn new(level: LoggingLevel, data: Raw<'a>) -> Self {
        Self { level, logger: None, data, meta: None }
    }
}

/// The params of `notifications/resources/updated`.
#[doc(alias("notifications/resources/updated", "ResourceUpdatedNotificationParams"))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ResourceUpdatedParams<'a> {
    /// What changed: the resource subscribed to, or one below it.
    #[serde(borrow)]
    pub uri: Text<'a>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> ResourceUpdatedParams<'a> {
    /// This resource changed.
    pub fn new(uri: impl Into<Text<'a>>) -> Self {
        Self { uri: uri.into(), meta: None }
    }
}

/// The params of `notifications/elicitation/complete` (2025-11-25).
#[doc(alias = "notifications/elicitation/complete")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ElicitationCompleteParams<'a> {
    /// The elicitation, by the id it was asked with.
    #[serde(borrow, rename = "elicitationId")]
    pub elicitation_id: Text<'a>,
    /// Metadata.
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub meta: Option<Raw<'a>>,
}

impl<'a> ElicitationCompleteParams<'a> {
    /// What this elicitation asked for is done.
    pub fn new(elicitation_id: impl Into<Text<'a>>) -> Self {
        Self { elicitation_id: elicitation_id.into(), meta: None }
    }
}
