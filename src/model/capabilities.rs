//! What each side offers
//! ([basic/lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#capability-negotiation)).
//!
//! A capability is there if its key holds an object. A flag describes what its declarer will do, not
//! what it can take: `roots.listChanged` means that the client will send the notification.

use serde::{Deserialize, Serialize};

use super::map::Map;
use crate::json::{Kind, Raw};

/// What a client offers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientCapabilities<'a> {
    /// It lists the places a server may work in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<ListChanged>,
    /// It asks a model on behalf of a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCapability>,
    /// It asks the user on behalf of a server (from 2025-06-18 on).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapability>,
    /// Anything that no revision knows, each an object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub experimental: Option<Map<'a, Raw<'a>>>,
    /// Extensions of the protocol that it supports, by their names, each with its settings, an object
    /// (2026-07-28). One with any other value [counts as not supported](Self::extension).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Map<'a, Raw<'a>>>,
}

impl<'a> ClientCapabilities<'a> {
    /// The settings of an extension; `None` if the client does not support it, or has said so with
    /// something that is no object.
    pub fn extension(&self, name: &str) -> Option<&Raw<'a>> {
        settings(self.extensions.as_ref(), name)
    }
}

/// What a server offers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServerCapabilities<'a> {
    /// It has tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ListChanged>,
    /// It has resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcesCapability>,
    /// It has prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<ListChanged>,
    /// It completes arguments (from 2025-03-26 on; before, every server may).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<EmptyCapability>,
    /// It sends log messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logging: Option<EmptyCapability>,
    /// Anything that no revision knows, each an object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub experimental: Option<Map<'a, Raw<'a>>>,
    /// Extensions of the protocol that it supports, by their names, each with its settings, an object
    /// (2026-07-28). One with any other value [counts as not supported](Self::extension).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Map<'a, Raw<'a>>>,
}

impl<'a> ServerCapabilities<'a> {
    /// The settings of an extension; `None` if the server does not support it, or has said so with
    /// something that is no object.
    pub fn extension(&self, name: &str) -> Option<&Raw<'a>> {
        settings(self.extensions.as_ref(), name)
    }
}

fn settings<'c, 'a>(extensions: Option<&'c Map<'a, Raw<'a>>>, name: &str) -> Option<&'c Raw<'a>> {
    extensions?.get(name).filter(|settings| settings.kind() == Kind::Object)
}

/// A capability that has a list, and says so when it changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListChanged {
    /// Its declarer notifies of changes. False if absent.
    #[serde(rename = "listChanged", skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
}

impl ListChanged {
    /// With notifications of changes.
    pub const fn notified() -> Self {
        Self { list_changed: Some(true) }
    }
}

/// A server's resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResourcesCapability {
    /// Single resources can be subscribed to. False if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscribe: Option<bool>,
    /// The server notifies when the list changes. False if absent.
    #[serde(rename = "listChanged", skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
}

impl ResourcesCapability {
    /// With subscriptions and notifications of changes.
    pub const fn notified() -> Self {
        Self { subscribe: Some(true), list_changed: Some(true) }
    }
}

/// A capability without details.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmptyCapability {}

/// A client's sampling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SamplingCapability {
    /// It can add context of servers (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<EmptyCapability>,
    /// It lets the model use tools (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<EmptyCapability>,
}

/// A client's elicitation. Neither mode named means form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitationCapability {
    /// It shows forms (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<EmptyCapability>,
    /// It sends users to URLs (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<EmptyCapability>,
}

impl ElicitationCapability {
    /// Both modes.
    pub const fn both() -> Self {
        Self { form: Some(EmptyCapability {}), url: Some(EmptyCapability {}) }
    }
}
