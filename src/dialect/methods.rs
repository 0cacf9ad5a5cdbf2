//! The methods and notifications of all revisions: their senders, their revisions, their capabilities, and the shapes
//! of their params and results.

use super::refusal::NotAllowed;
use crate::capability::{Capability, CapabilitySet, Owner};
use crate::json::{Raw, Str, member};
use crate::model::method::Empty;
use crate::model::{
    AcknowledgedParams, CallToolParams, CallToolResult, CancelledParams, CancelledTask,
    CompleteParams, CompleteResult, CreateMessageParams, CreateMessageResult, DiscoverResult,
    ElicitParams, ElicitResult, ElicitationCompleteParams, GetPromptParams, GetPromptResult,
    InitializeParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListRootsResult, ListTasksResult, ListToolsResult, ListenParams,
    LogParams, PageParams, ProgressParams, ReadResourceParams, ReadResourceResult,
    ResourceUpdatedParams, SetLevelParams, Task, TaskParams, UpdateTaskParams, UriParams,
};
use crate::schema::shape::{Form, Record};
use crate::version::{Revision, RevisionSet};

/// The side that sends a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Sender {
    Client,
    Server,
    Either,
    /// Either side in the legacy era, and only the server in the modern era.
    EitherInSession,
}

/// The rules of one method or notification.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) name: &'static str,
    sender: Sender,
    revisions: RevisionSet,
    gate: Option<Gate>,
    params: &'static Record,
    /// The shape of the result. Empty for a notification.
    result: &'static Record,
}

/// The capability that a method or notification requires, and the first revision that requires it.
#[derive(Clone, Copy, Debug)]
struct Gate {
    capability: Capability,
    /// The capability that is required instead if a client receives the message.
    of_client: Option<Capability>,
    since: Revision,
}

impl Gate {
    /// Returns the capability that is required if `sender` sends the message.
    fn for_sender(self, sender: Sender) -> Capability {
        self.of_client.filter(|_| sender == Sender::Server).unwrap_or(self.capability)
    }
}

/// The capabilities that both sides of a session have declared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Declared {
    pub(crate) client: CapabilitySet,
    pub(crate) server: CapabilitySet,
}

impl Declared {
    pub(crate) const fn contains(self, capability: Capability) -> bool {
        match capability.owner() {
            Owner::Client => self.client.contains(capability),
            Owner::Server => self.server.contains(capability),
        }
    }

    /// Returns the first of the needed capabilities that is not declared.
    pub(crate) fn missing(self, needed: CapabilitySet) -> Option<Capability> {
        needed.iter().find(|capability| !self.contains(*capability))
    }
}

impl Rule {
    /// Checks whether one side may send the message in a session of this revision.
    pub(crate) fn check(
        &self,
        sender: Sender,
        revision: Revision,
        declared: Declared,
    ) -> Result<(), NotAllowed> {
        let in_session = self.sender == Sender::EitherInSession && !revision.is_modern();
        if !self.is_sent_by(sender) && !in_session {
            return Err(NotAllowed::Direction);
        }
        if !self.revisions.contains(revision) {
            return Err(NotAllowed::Revision);
        }
        match self.gate {
            Some(gate) if RevisionSet::since(gate.since).contains(revision) => {
                let needed = gate.for_sender(sender);
                if self.is_extension(revision) || declared.contains(needed) {
                    return Ok(());
                }
                Err(NotAllowed::Capability(needed))
            }
            _ => Ok(()),
        }
    }

    /// Whether one side may send the message in every revision that has it.
    fn is_sent_by(&self, sender: Sender) -> bool {
        match self.sender {
            Sender::Either => true,
            Sender::EitherInSession => sender == Sender::Server,
            only => only == sender,
        }
    }

    /// Whether one side may send the message in some revision.
    pub(crate) fn may_be_sent_by(&self, sender: Sender) -> bool {
        self.is_sent_by(sender) || self.sender == Sender::EitherInSession
    }

    /// The revisions that have the message.
    pub(crate) const fn revisions(&self) -> RevisionSet {
        self.revisions
    }

    /// Returns the capability that is required if `sender` sends the message, in the revisions that require one.
    pub(crate) fn gate(&self, sender: Sender) -> Option<Capability> {
        self.gate.map(|gate| gate.for_sender(sender))
    }

    /// Whether the message belongs to an extension in this revision, and to the protocol in others. The extension
    /// then replaces the capability.
    fn is_extension(&self, revision: Revision) -> bool {
        revision.is_modern() && self.gate.is_some_and(|gate| gate.of_client.is_some())
    }

    /// Whether a modern server may send the message as a request for input: a request of the server that requires a
    /// capability of the client.
    pub(crate) fn is_input_request(&self) -> bool {
        self.sender == Sender::Server && self.gate.is_some()
    }

    /// Returns the shape of the params in a revision.
    pub(crate) const fn params(&self, revision: Revision) -> Form {
        Form { record: self.params, revision }
    }

    /// Returns the shape of the result in a revision.
    pub(crate) const fn result(&self, revision: Revision) -> Form {
        Form { record: self.result, revision }
    }
}

macro_rules! rules {
    ($(#[$documentation:meta])* $Kinds:ident {
        $(
            $kind:ident = $name:literal, $sender:ident, $revisions:ident, $gate:expr,
            $params:ident -> $result:ident;
        )*
    }) => {
        $(#[$documentation])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum $Kinds {
            $($kind,)*
        }

        impl $Kinds {
            /// All kinds.
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$kind,)*];

            /// Returns the kind with this name, in any revision and direction.
            pub(crate) fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$kind),)*
                    _ => None,
                }
            }

            /// Returns the kind whose name this is, in its wire form.
            pub(crate) fn of(method: &Str<'_>) -> Option<Self> {
                // No name contains a backslash, so a match of the wire form has no escapes.
                Self::named(method.as_wire()).or_else(|| match method.as_plain() {
                    Some(_) => None,
                    None => Self::named(&method.to_str()),
                })
            }

            /// Returns the rules of the message.
            pub(crate) const fn rule(self) -> &'static Rule {
                match self {
                    $(Self::$kind => {
                        static RULE: Rule = Rule {
                            name: $name,
                            sender: Sender::$sender,
                            revisions: $revisions,
                            gate: $gate,
                            params: $params::RECORD,
                            result: $result::RECORD,
                        };
                        &RULE
                    })*
                }
            }
        }
    };
}

const fn gated(capability: Capability) -> Option<Gate> {
    gated_since(capability, Revision::V2024_11_05)
}

const fn gated_since(capability: Capability, since: Revision) -> Option<Gate> {
    Some(Gate { capability, of_client: None, since })
}

/// Returns the gate of a message that either side may send: the capability of a server, and that of a client.
const fn gated_by(of_server: Capability, of_client: Capability) -> Option<Gate> {
    let since = Revision::V2025_11_25;
    Some(Gate { capability: of_server, of_client: Some(of_client), since })
}

const EVERY: RevisionSet = RevisionSet::ALL;
const LEGACY: RevisionSet = RevisionSet::LEGACY;
const MODERN: RevisionSet = RevisionSet::MODERN;
/// The revisions with elicitation as a request of its own.
const ELICITATION: RevisionSet = LEGACY.and(RevisionSet::since(Revision::V2025_06_18));
const ONLY_2025_11_25: RevisionSet = RevisionSet::only(Revision::V2025_11_25);
/// The revisions with tasks: first in the protocol, then in an extension.
const TASKS: RevisionSet = RevisionSet::since(Revision::V2025_11_25);

rules! {
    /// The requests of MCP.
    RequestKind {
        Initialize = "initialize", Client, LEGACY, None,
            InitializeParams -> InitializeResult;
        Discover = "server/discover", Client, MODERN, None, Empty -> DiscoverResult;
        Listen = "subscriptions/listen", Client, MODERN, None, ListenParams -> Empty;
        Ping = "ping", Either, LEGACY, None,
            Empty -> Empty;
        ListTools = "tools/list", Client, EVERY, gated(Capability::Tools),
            PageParams -> ListToolsResult;
        CallTool = "tools/call", Client, EVERY, gated(Capability::Tools),
            CallToolParams -> CallToolResult;
        ListResources = "resources/list", Client, EVERY, gated(Capability::Resources),
            PageParams -> ListResourcesResult;
        ListResourceTemplates = "resources/templates/list", Client, EVERY,
            gated(Capability::Resources), PageParams -> ListResourceTemplatesResult;
        ReadResource = "resources/read", Client, EVERY, gated(Capability::Resources),
            ReadResourceParams -> ReadResourceResult;
        Subscribe = "resources/subscribe", Client, LEGACY,
            gated(Capability::ResourcesSubscribe), UriParams -> Empty;
        Unsubscribe = "resources/unsubscribe", Client, LEGACY,
            gated(Capability::ResourcesSubscribe), UriParams -> Empty;
        ListPrompts = "prompts/list", Client, EVERY, gated(Capability::Prompts),
            PageParams -> ListPromptsResult;
        GetPrompt = "prompts/get", Client, EVERY, gated(Capability::Prompts),
            GetPromptParams -> GetPromptResult;
        // The capability was added one revision after the method.
        Complete = "completion/complete", Client, EVERY,
            gated_since(Capability::Completions, Revision::V2025_03_26),
            CompleteParams -> CompleteResult;
        SetLevel = "logging/setLevel", Client, LEGACY, gated(Capability::Logging),
            SetLevelParams -> Empty;
        ListRoots = "roots/list", Server, LEGACY, gated(Capability::Roots),
            Empty -> ListRootsResult;
        CreateMessage = "sampling/createMessage", Server, LEGACY,
            gated(Capability::Sampling), CreateMessageParams -> CreateMessageResult;
        Elicit = "elicitation/create", Server, ELICITATION, gated(Capability::Elicitation),
            ElicitParams -> ElicitResult;
        GetTask = "tasks/get", Either, TASKS,
            gated_by(Capability::ServerTasks, Capability::ClientTasks), TaskParams -> Task;
        TaskResult = "tasks/result", Either, ONLY_2025_11_25,
            gated_by(Capability::ServerTasks, Capability::ClientTasks), TaskParams -> Empty;
        ListTasks = "tasks/list", Either, ONLY_2025_11_25,
            gated_by(Capability::ServerTasksList, Capability::ClientTasksList),
            PageParams -> ListTasksResult;
        CancelTask = "tasks/cancel", Either, TASKS,
            gated_by(Capability::ServerTasksCancel, Capability::ClientTasksCancel),
            TaskParams -> CancelledTask;
        UpdateTask = "tasks/update", Client, MODERN, None, UpdateTaskParams -> Empty;
    }
}

rules! {
    /// The notifications of MCP.
    NotificationKind {
        Initialized = "notifications/initialized", Client, LEGACY, None, Empty -> Empty;
        Cancelled = "notifications/cancelled", Either, EVERY, None, CancelledParams -> Empty;
        Acknowledged = "notifications/subscriptions/acknowledged", Server, MODERN, None,
            AcknowledgedParams -> Empty;
        Progress = "notifications/progress", EitherInSession, EVERY, None, ProgressParams -> Empty;
        Message = "notifications/message", Server, EVERY, gated(Capability::Logging),
            LogParams -> Empty;
        ResourceUpdated = "notifications/resources/updated", Server, EVERY,
            gated(Capability::ResourcesSubscribe), ResourceUpdatedParams -> Empty;
        ResourcesChanged = "notifications/resources/list_changed", Server, EVERY,
            gated(Capability::ResourcesListChanged), Empty -> Empty;
        ToolsChanged = "notifications/tools/list_changed", Server, EVERY,
            gated(Capability::ToolsListChanged), Empty -> Empty;
        PromptsChanged = "notifications/prompts/list_changed", Server, EVERY,
            gated(Capability::PromptsListChanged), Empty -> Empty;
        RootsChanged = "notifications/roots/list_changed", Client, LEGACY,
            gated(Capability::RootsListChanged), Empty -> Empty;
        TaskChanged = "notifications/tasks/status", Either, ONLY_2025_11_25, None, Task -> Empty;
        DetailedTaskChanged = "notifications/tasks", Server, MODERN, None, Task -> Empty;
        ElicitationComplete = "notifications/elicitation/complete", Server, ONLY_2025_11_25,
            gated(Capability::ElicitationUrl), ElicitationCompleteParams -> Empty;
    }
}

/// A list that one side has and the other can request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Listed {
    Tools,
    Resources,
    Prompts,
    Roots,
}

impl Listed {
    /// The number of lists.
    pub(crate) const COUNT: usize = 4;
}

impl NotificationKind {
    /// Returns the list that the notification reports as changed.
    pub(crate) const fn changed(self) -> Option<Listed> {
        match self {
            Self::ToolsChanged => Some(Listed::Tools),
            Self::ResourcesChanged => Some(Listed::Resources),
            Self::PromptsChanged => Some(Listed::Prompts),
            Self::RootsChanged => Some(Listed::Roots),
            _ => None,
        }
    }
}

/// Returns an owned copy of the method of a request. A known method is a constant.
pub(crate) fn owned_method(method: Str<'_>) -> Str<'static> {
    match RequestKind::named(method.as_wire()) {
        Some(kind) => Str::trusted(kind.rule().name),
        None => method.into_owned(),
    }
}

impl RequestKind {
    /// Returns the list that the request asks for.
    pub(crate) const fn asks_for(self) -> Option<Listed> {
        match self {
            Self::ListTools => Some(Listed::Tools),
            Self::ListResources | Self::ListResourceTemplates => Some(Listed::Resources),
            Self::ListPrompts => Some(Listed::Prompts),
            Self::ListRoots => Some(Listed::Roots),
            _ => None,
        }
    }

    /// Whether a person is asked before the request is answered.
    pub(crate) const fn asks_a_person(self) -> bool {
        matches!(self, Self::CreateMessage | Self::Elicit)
    }

    /// Whether the response may be a request for input instead of a result.
    pub(crate) const fn may_need_input(self) -> bool {
        matches!(self, Self::CallTool | Self::GetPrompt | Self::ReadResource)
    }

    /// Whether a client may cache the result, for itself or for other clients.
    pub(crate) const fn is_cacheable(self) -> bool {
        matches!(
            self,
            Self::Discover
                | Self::ListTools
                | Self::ListPrompts
                | Self::ListResources
                | Self::ListResourceTemplates
                | Self::ReadResource
        )
    }

    /// The member of the params that names the subject of the request. `Mcp-Name` repeats it over HTTP.
    pub(crate) const fn named_by(self) -> Option<&'static str> {
        match self {
            Self::CallTool | Self::GetPrompt => Some("name"),
            Self::ReadResource => Some("uri"),
            Self::GetTask | Self::UpdateTask | Self::CancelTask => Some("taskId"),
            _ => None,
        }
    }

    /// Whether the request belongs to the tasks extension in the modern era.
    pub(crate) const fn is_of_task_extension(self) -> bool {
        matches!(self, Self::GetTask | Self::UpdateTask | Self::CancelTask)
    }

    /// Whether the request is about tasks.
    pub(crate) const fn is_about_tasks(self) -> bool {
        matches!(
            self,
            Self::GetTask
                | Self::TaskResult
                | Self::ListTasks
                | Self::CancelTask
                | Self::UpdateTask
        )
    }

    /// Returns the capability that the receiver must declare for the request to become a task in a session. `None` if
    /// the request cannot become a task.
    pub(crate) const fn task_capability(self) -> Option<Capability> {
        match self {
            Self::CallTool => Some(Capability::ServerTasksCallTool),
            Self::CreateMessage => Some(Capability::ClientTasksCreateMessage),
            Self::Elicit => Some(Capability::ClientTasksElicit),
            _ => None,
        }
    }
}

/// Returns the name of the tool, prompt, resource or task that the params of a request name. `None` if the method has
/// no such param, or the params lack it.
///
/// Since 2026-07-28 a client that sends the request over HTTP repeats the name in the header `Mcp-Name`
/// ([transports](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports)), so that intermediaries
/// need not read the body.
///
/// ```
/// use mcp_sansio::json::Raw;
/// use mcp_sansio::request::name_in;
///
/// let params = Raw::new(r#"{"taskId":"786512e2"}"#)?;
/// assert_eq!(name_in("tasks/get", &params).unwrap(), "786512e2");
/// assert_eq!(name_in("tools/list", &params), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn name_in<'p>(method: &str, params: &'p Raw<'_>) -> Option<Str<'p>> {
    let member_name = RequestKind::named(method)?.named_by()?;
    member(params.as_json(), member_name).and_then(Str::from_literal)
}
