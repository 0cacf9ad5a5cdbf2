//! The capabilities that client and server declare
//! ([basic/lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#capability-negotiation)).
//!
//! A side has a capability if the key of the capability holds an object. A flag describes an action of the declaring
//! side, not of its peer: `roots.listChanged` means that the client sends the notification.

use serde::{Deserialize, Serialize};

use super::map::Map;
use super::tasks::TASKS_EXTENSION;
use super::text::Text;
use crate::json::{Kind, Raw};
use crate::schema::shape::{Presence, Shape};
use crate::schema::{ModelWriter, Own, Value, Written, write_member};
use crate::version::RevisionSet;

record! {
    /// The capabilities of a client.
    #[derive(Default)]
    pub struct ClientCapabilities<'a> {
        /// The client lists its roots, the locations in the file system that a server may work in.
        pub roots: Option<ListChanged> = "roots" as Roots;
        /// The client asks a model on behalf of a server.
        pub sampling: Option<SamplingCapability> = "sampling";
        /// The client asks the user on behalf of a server.
        pub elicitation: Option<ElicitationCapability> = "elicitation", since V2025_06_18;
        /// The client runs tasks for a server.
        pub tasks: Option<TasksCapability<ClientTaskRequests>> = "tasks",
            since V2025_11_25, before V2026_07_28;
        /// Capabilities that no revision defines, each an object.
        pub experimental: Option<Map<'a, Raw<'a>>> = "experimental" as Object;
        /// The supported extensions of the protocol, by name. Each value is an object with the settings of the
        /// extension. An extension with any other value [counts as not supported](Self::extension).
        pub extensions: Option<Map<'a, Raw<'a>>> = "extensions" as Settings, since V2026_07_28;
    }
}

setters! {
    ClientCapabilities {
        roots[ListChanged] sampling[SamplingCapability] elicitation[ElicitationCapability]
    }
}

impl<'a> ClientCapabilities<'a> {
    /// Returns the capabilities with the tasks extension of the modern era.
    ///
    /// A modern server then decides by itself which requests become tasks;
    /// [`CallOptions::total`](crate::CallOptions::total) limits how long such a call may take. A client that runs
    /// tasks itself, in the legacy era, declares them with [`TasksCapability::of_questions`].
    #[must_use]
    pub fn with_tasks(mut self) -> Self {
        self.extensions.get_or_insert_default().insert(TASKS_EXTENSION, Raw::EMPTY_OBJECT);
        self
    }

    /// Adds an extension with its settings, an object.
    #[must_use]
    pub fn with_extension(mut self, name: impl Into<Text<'a>>, settings: Raw<'a>) -> Self {
        self.extensions.get_or_insert_default().insert(name, settings);
        self
    }

    /// Returns the settings of an extension. Returns `None` if the client does not support the extension, or declared
    /// it with a value that is not an object.
    pub fn extension(&self, name: &str) -> Option<&Raw<'a>> {
        settings(self.extensions.as_ref(), name)
    }
}

record! {
    /// The capabilities of a server.
    ///
    /// ```
    /// use mcp_sansio::ServerConfig;
    /// use mcp_sansio::model::{ListChanged, ServerCapabilities};
    ///
    /// let mut config = ServerConfig::new("doc", "1.0");
    /// // Tools whose list changes, log messages, and tasks.
    /// config.capabilities = ServerCapabilities::default().with_logging().with_tasks();
    /// config.capabilities.tools = Some(ListChanged::notified());
    /// ```
    #[derive(Default)]
    pub struct ServerCapabilities<'a> {
        /// The server has tools.
        pub tools: Option<ListChanged> = "tools";
        /// The server has resources.
        pub resources: Option<ResourcesCapability> = "resources";
        /// The server has prompts.
        pub prompts: Option<ListChanged> = "prompts";
        /// The server completes arguments (from 2025-03-26 on; before, every server may).
        pub completions: Option<EmptyCapability> = "completions", since V2025_03_26;
        /// The server sends log messages.
        pub logging: Option<EmptyCapability> = "logging";
        /// The server runs tasks for a client (2025-11-25; from 2026-07-28 on tasks are an
        /// [extension](crate::task::EXTENSION)).
        pub tasks: Option<TasksCapability<ServerTaskRequests>> = "tasks",
            since V2025_11_25, before V2026_07_28;
        /// Capabilities that no revision defines, each an object.
        pub experimental: Option<Map<'a, Raw<'a>>> = "experimental" as Object;
        /// The supported extensions of the protocol, by name. Each value is an object with the settings of the
        /// extension. An extension with any other value [counts as not supported](Self::extension).
        pub extensions: Option<Map<'a, Raw<'a>>> = "extensions" as Settings, since V2026_07_28;
    }
}

setters! {
    ServerCapabilities {
        tools[ListChanged] resources[ResourcesCapability] prompts[ListChanged]
        completions[EmptyCapability] logging[EmptyCapability]
    }
}

impl<'a> ServerCapabilities<'a> {
    /// Returns the capabilities with tasks for tool calls, in both eras.
    ///
    /// The application grants subscriptions to tasks itself: see [`task`](crate::task).
    #[must_use]
    pub fn with_tasks(mut self) -> Self {
        self.tasks.get_or_insert(TasksCapability::of_tools());
        self.extensions.get_or_insert_default().insert(TASKS_EXTENSION, Raw::EMPTY_OBJECT);
        self
    }

    /// Returns the capabilities with log messages ([`Notifications::log`](crate::subscription::Notifications::log)).
    #[must_use]
    pub fn with_logging(mut self) -> Self {
        self.logging = Some(EmptyCapability::default());
        self
    }

    /// Adds an extension with its settings, an object.
    #[must_use]
    pub fn with_extension(mut self, name: impl Into<Text<'a>>, settings: Raw<'a>) -> Self {
        self.extensions.get_or_insert_default().insert(name, settings);
        self
    }

    /// Returns the settings of an extension. Returns `None` if the server does not support the extension, or declared
    /// it with a value that is not an object.
    pub fn extension(&self, name: &str) -> Option<&Raw<'a>> {
        settings(self.extensions.as_ref(), name)
    }
}

fn settings<'c, 'a>(extensions: Option<&'c Map<'a, Raw<'a>>>, name: &str) -> Option<&'c Raw<'a>> {
    extensions?.get(name).filter(|settings| settings.kind() == Kind::Object)
}

plain_record! {
    /// A capability with a list and notifications of its changes.
    pub struct ListChanged {
        /// Whether the declaring side notifies of changes. False if absent.
        pub list_changed: Option<bool> = "listChanged";
    }
}

plain_setters! { ListChanged { list_changed[bool] } }

impl ListChanged {
    /// Creates the capability with notifications of changes.
    pub const fn notified() -> Self {
        Self { list_changed: Some(true) }
    }
}

plain_record! {
    /// The resources capability of a server.
    pub struct ResourcesCapability {
        /// Whether clients can subscribe to single resources. False if absent.
        pub subscribe: Option<bool> = "subscribe";
        /// Whether the server notifies of changes of the list. False if absent.
        pub list_changed: Option<bool> = "listChanged";
    }
}

plain_setters! { ResourcesCapability { subscribe[bool] list_changed[bool] } }

impl ResourcesCapability {
    /// Creates the capability with subscriptions and notifications of changes.
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
    /// The sampling capability of a client.
    pub struct SamplingCapability {
        /// The client can add the context of servers.
        pub context: Option<EmptyCapability> = "context", since V2025_11_25;
        /// The client lets the model use tools.
        pub tools: Option<EmptyCapability> = "tools", since V2025_11_25;
    }
}

plain_setters! { SamplingCapability { context[EmptyCapability] tools[EmptyCapability] } }

plain_record! {
    /// The elicitation capability of a client. If no mode is named, the client supports forms.
    pub struct ElicitationCapability {
        /// The client shows forms.
        pub form: Option<EmptyCapability> = "form", since V2025_11_25;
        /// The client sends users to URLs.
        pub url: Option<EmptyCapability> = "url", since V2025_11_25;
    }
}

plain_setters! { ElicitationCapability { form[EmptyCapability] url[EmptyCapability] } }

impl ElicitationCapability {
    /// Creates the capability with both modes.
    pub const fn both() -> Self {
        Self { form: Some(EmptyCapability {}), url: Some(EmptyCapability {}) }
    }
}

/// The tasks capability, and the requests that may become tasks
/// ([tasks](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#capabilities)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub struct TasksCapability<R> {
    /// Support for `tasks/list`. Leave it out if requestors cannot be distinguished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<EmptyCapability>,
    /// Support for `tasks/cancel`.
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
    /// Creates the capability for tasks from tool calls. The tasks can be cancelled and are not listed.
    pub const fn of_tools() -> Self {
        let tools = Some(ToolTaskRequests { call: Some(EmptyCapability {}) });
        let requests = Some(ServerTaskRequests { tools });
        Self { list: None, cancel: Some(EmptyCapability {}), requests }
    }
}

impl TasksCapability<ClientTaskRequests> {
    /// Creates the capability for tasks from sampling and elicitation requests. The tasks can be cancelled and are
    /// not listed.
    pub const fn of_questions() -> Self {
        let sampling = Some(SamplingTaskRequests { create_message: Some(EmptyCapability {}) });
        let elicitation = Some(ElicitationTaskRequests { create: Some(EmptyCapability {}) });
        let requests = Some(ClientTaskRequests { sampling, elicitation });
        Self { list: None, cancel: Some(EmptyCapability {}), requests }
    }
}

impl<R> TasksCapability<R> {
    /// Returns the capability with `tasks/list`. Each requestor gets a list of its own tasks only.
    #[must_use]
    pub fn listed(self) -> Self {
        Self { list: Some(EmptyCapability {}), ..self }
    }
}

plain_record! {
    /// The requests to a server that may become tasks.
    pub struct ServerTaskRequests {
        /// The requests about tools that may become tasks.
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
        /// The requests about models that may become tasks.
        pub sampling: Option<SamplingTaskRequests> = "sampling";
        /// The requests to the user that may become tasks.
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
