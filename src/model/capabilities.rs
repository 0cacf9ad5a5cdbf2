//! What each side offers
//! ([basic/lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#capability-negotiation)).
//!
//! A capability is there if its key holds an object. A flag describes what its declarer will do, not
//! what it can take: `roots.listChanged` means that the client will send the notification.

use serde::{Deserialize, Serialize};

use super::map::Map;
use super::tasks::TASKS_EXTENSION;
use crate::json::{Kind, Raw};

/// What a client offers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
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
    /// It works on tasks for a server (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<TasksCapability<ClientTaskRequests>>,
    /// Anything that no revision knows, each an object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub experimental: Option<Map<'a, Raw<'a>>>,
    /// Extensions of the protocol that it supports, by their names, each with its settings, an object
    /// (2026-07-28). One with any other value [counts as not supported](Self::extension).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub extensions: Option<Map<'a, Raw<'a>>>,
}

impl<'a> ClientCapabilities<'a> {
    /// The same, and it knows tasks of servers without sessions, which decide by themselves what becomes one:
    /// [`CallOptions::total`](crate::CallOptions::total) says for how long at most. What it does itself as a
    /// task, in sessions, is declared with [`TasksCapability::of_questions`].
    #[must_use]
    pub fn with_tasks(mut self) -> Self {
        self.extensions.get_or_insert_default().insert(TASKS_EXTENSION, Raw::EMPTY_OBJECT);
        self
    }

    /// The settings of an extension; `None` if the client does not support it, or has said so with
    /// something that is no object.
    pub fn extension(&self, name: &str) -> Option<&Raw<'a>> {
        settings(self.extensions.as_ref(), name)
    }
}

/// What a server offers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
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
    /// It works on tasks for a client (2025-11-25; from 2026-07-28 on that is an
    /// [extension](crate::task::EXTENSION)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<TasksCapability<ServerTaskRequests>>,
    /// Anything that no revision knows, each an object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub experimental: Option<Map<'a, Raw<'a>>>,
    /// Extensions of the protocol that it supports, by their names, each with its settings, an object
    /// (2026-07-28). One with any other value [counts as not supported](Self::extension).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "arbitrary", arbitrary(with = crate::arbitrary::object))]
    pub extensions: Option<Map<'a, Raw<'a>>>,
}

impl<'a> ServerCapabilities<'a> {
    /// The same, and calls of its tools may become tasks, in sessions and without them. Subscriptions to
    /// tasks are for the program to grant: see [`task`](crate::task).
    #[must_use]
    pub fn with_tasks(mut self) -> Self {
        self.tasks.get_or_insert(TasksCapability::of_tools());
        self.extensions.get_or_insert_default().insert(TASKS_EXTENSION, Raw::EMPTY_OBJECT);
        self
    }

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
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
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
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
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
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct EmptyCapability {}

/// A client's sampling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
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
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
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

/// Tasks, and which requests may become one
/// ([tasks](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#capabilities)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct TasksCapability<R> {
    /// It lists its tasks. Leave it out if requestors cannot be told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<EmptyCapability>,
    /// Its tasks can be cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel: Option<EmptyCapability>,
    /// The requests that may become tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<R>,
}

impl TasksCapability<ServerTaskRequests> {
    /// Calls of tools may become tasks, which can be cancelled and are not listed.
    pub const fn of_tools() -> Self {
        let tools = Some(ToolTaskRequests { call: Some(EmptyCapability {}) });
        let requests = Some(ServerTaskRequests { tools });
        Self { list: None, cancel: Some(EmptyCapability {}), requests }
    }
}

impl TasksCapability<ClientTaskRequests> {
    /// What is asked of a model or of the user may become a task, which can be cancelled and is not
    /// listed.
    pub const fn of_questions() -> Self {
        let sampling = Some(SamplingTaskRequests { create_message: Some(EmptyCapability {}) });
        let elicitation = Some(ElicitationTaskRequests { create: Some(EmptyCapability {}) });
        let requests = Some(ClientTaskRequests { sampling, elicitation });
        Self { list: None, cancel: Some(EmptyCapability {}), requests }
    }
}

impl<R> TasksCapability<R> {
    /// The same, and the tasks are listed, to each requestor its own.
    #[must_use]
    pub fn listed(self) -> Self {
        Self { list: Some(EmptyCapability {}), ..self }
    }
}

/// The requests to a server that may become tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ServerTaskRequests {
    /// Those about tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolTaskRequests>,
}

/// The requests about tools that may become tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ToolTaskRequests {
    /// `tools/call`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<EmptyCapability>,
}

/// The requests to a client that may become tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ClientTaskRequests {
    /// Those about models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingTaskRequests>,
    /// Those to the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationTaskRequests>,
}

/// The requests about models that may become tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct SamplingTaskRequests {
    /// `sampling/createMessage`.
    #[serde(rename = "createMessage", skip_serializing_if = "Option::is_none")]
    pub create_message: Option<EmptyCapability>,
}

/// The requests to the user that may become tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct ElicitationTaskRequests {
    /// `elicitation/create`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create: Option<EmptyCapability>,
}
