//! The capabilities that client and server declare
//! ([basic/lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#capability-negotiation)).
//!
//! A capability is there if its key holds an object. A flag describes what its declarer will do, not
//! what it can take: `roots.listChanged` means that the client will send the notification.

use serde::{Deserialize, Serialize};

use super::map::Map;
use super::tasks::TASKS_EXTENSION;
use crate::json::{Kind, Raw};
use crate::schema::shape::{Presence, Shape};
use crate::schema::{ModelWriter, Own, Value, Written, write_member};
use crate::version::RevisionSet;

record! {
    /// What a client offers.
    #[derive(Default)]
    pub struct ClientCapabilities<'a> {
        /// It lists the places a server may work in.
        pub roots: Option<ListChanged> = "roots" as Roots;
        /// It asks a model on behalf of a server.
        pub sampling: Option<SamplingCapability> = "sampling";
        /// It asks the user on behalf of a server.
        pub elicitation: Option<ElicitationCapability> = "elicitation", since V2025_06_18;
        /// It works on tasks for a server.
        pub tasks: Option<TasksCapability<ClientTaskRequests>> = "tasks",
            since V2025_11_25, before V2026_07_28;
        /// Anything that no revision knows, each an object.
        pub experimental: Option<Map<'a, Raw<'a>>> = "experimental" as Object;
        /// Extensions of the protocol that it supports, by their names, each with its settings, an object
        ///. One with any other value [counts as not supported](Self::extension).
        pub extensions: Option<Map<'a, Raw<'a>>> = "extensions" as Settings, since V2026_07_28;
    }
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

record! {
    /// What a server offers.
    #[derive(Default)]
    pub struct ServerCapabilities<'a> {
        /// It has tools.
        pub tools: Option<ListChanged> = "tools";
        /// It has resources.
        pub resources: Option<ResourcesCapability> = "resources";
        /// It has prompts.
        pub prompts: Option<ListChanged> = "prompts";
        /// It completes arguments (from 2025-03-26 on; before, every server may).
        pub completions: Option<EmptyCapability> = "completions", since V2025_03_26;
        /// It sends log messages.
        pub logging: Option<EmptyCapability> = "logging";
        /// It works on tasks for a client (2025-11-25; from 2026-07-28 on that is an
        /// [extension](crate::task::EXTENSION)).
        pub tasks: Option<TasksCapability<ServerTaskRequests>> = "tasks",
            since V2025_11_25, before V2026_07_28;
        /// Anything that no revision knows, each an object.
        pub experimental: Option<Map<'a, Raw<'a>>> = "experimental" as Object;
        /// Extensions of the protocol that it supports, by their names, each with its settings, an object
        ///. One with any other value [counts as not supported](Self::extension).
        pub extensions: Option<Map<'a, Raw<'a>>> = "extensions" as Settings, since V2026_07_28;
    }
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

plain_record! {
    /// A capability that has a list, and says so when it changes.
    pub struct ListChanged {
        /// Its declarer notifies of changes. False if absent.
        pub list_changed: Option<bool> = "listChanged";
    }
}

impl ListChanged {
    /// With notifications of changes.
    pub const fn notified() -> Self {
        Self { list_changed: Some(true) }
    }
}

plain_record! {
    /// A server's resources.
    pub struct ResourcesCapability {
        /// Single resources can be subscribed to. False if absent.
        pub subscribe: Option<bool> = "subscribe";
        /// The server notifies when the list changes. False if absent.
        pub list_changed: Option<bool> = "listChanged";
    }
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

impl Value for EmptyCapability {
    const SHAPE: Shape = Shape::Object;

    fn write(&self, out: &mut ModelWriter<'_, '_>) -> Written {
        out.piece("{}")
    }
}

plain_record! {
    /// A client's sampling.
    pub struct SamplingCapability {
        /// It can add context of servers.
        pub context: Option<EmptyCapability> = "context", since V2025_11_25;
        /// It lets the model use tools.
        pub tools: Option<EmptyCapability> = "tools", since V2025_11_25;
    }
}

plain_record! {
    /// A client's elicitation. Neither mode named means form.
    pub struct ElicitationCapability {
        /// It shows forms.
        pub form: Option<EmptyCapability> = "form", since V2025_11_25;
        /// It sends users to URLs.
        pub url: Option<EmptyCapability> = "url", since V2025_11_25;
    }
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

impl<R: Value> Value for TasksCapability<R> {
    const SHAPE: Shape = Shape::Object;

    fn write(&self, out: &mut ModelWriter<'_, '_>) -> Written {
        let start = out.position();
        let rule = (Presence::Optional, RevisionSet::ALL, None);
        write_member::<_, Own>(out, ",\"list\":", rule, &self.list)?;
        write_member::<_, Own>(out, ",\"cancel\":", rule, &self.cancel)?;
        write_member::<_, Own>(out, ",\"requests\":", rule, &self.requests)?;
        out.enclose(start, b'{', "}")
    }
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

plain_record! {
    /// The requests to a server that may become tasks.
    pub struct ServerTaskRequests {
        /// Those about tools.
        pub tools: Option<ToolTaskRequests> = "tools";
    }
}

plain_record! {
    /// The requests about tools that may become tasks.
    pub struct ToolTaskRequests {
        /// `tools/call`.
        pub call: Option<EmptyCapability> = "call";
    }
}

plain_record! {
    /// The requests to a client that may become tasks.
    pub struct ClientTaskRequests {
        /// Those about models.
        pub sampling: Option<SamplingTaskRequests> = "sampling";
        /// Those to the user.
        pub elicitation: Option<ElicitationTaskRequests> = "elicitation";
    }
}

plain_record! {
    /// The requests about models that may become tasks.
    pub struct SamplingTaskRequests {
        /// `sampling/createMessage`.
        pub create_message: Option<EmptyCapability> = "createMessage";
    }
}

plain_record! {
    /// The requests to the user that may become tasks.
    pub struct ElicitationTaskRequests {
        /// `elicitation/create`.
        pub create: Option<EmptyCapability> = "create";
    }
}
