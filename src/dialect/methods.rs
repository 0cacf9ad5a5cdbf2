//! The methods and notifications of all revisions: who may send them, since when, and what opens
//! them.

use super::capabilities::{Capability, CapabilitySet};
use crate::json::Str;
use crate::version::{Revision, RevisionSet};

/// Which side sends a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Sender {
    Client,
    Server,
    Either,
}

/// One method or notification.
#[derive(Debug)]
pub(crate) struct Rule<K> {
    pub(crate) kind: K,
    pub(crate) name: &'static str,
    sender: Sender,
    revisions: RevisionSet,
    /// The capability of the receiver that opens it, and since when it has to.
    gate: Option<(Capability, Revision)>,
}

/// The requests of MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RequestKind {
    Initialize,
    Ping,
    ListTools,
    CallTool,
    ListResources,
    ListResourceTemplates,
    ReadResource,
    Subscribe,
    Unsubscribe,
    ListPrompts,
    GetPrompt,
    Complete,
    SetLevel,
    ListRoots,
    CreateMessage,
    Elicit,
    GetTask,
    TaskResult,
    ListTasks,
    CancelTask,
}

/// The notifications of MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NotificationKind {
    Initialized,
    Cancelled,
    Progress,
    Message,
    ResourceUpdated,
    ResourcesChanged,
    ToolsChanged,
    PromptsChanged,
    RootsChanged,
    TaskStatus,
    ElicitationComplete,
}

const FIRST: Revision = Revision::V2024_11_05;

const fn rule<K>(
    kind: K,
    name: &'static str,
    sender: Sender,
    since: Revision,
    gate: Option<(Capability, Revision)>,
) -> Rule<K> {
    Rule { kind, name, sender, revisions: RevisionSet::since(since), gate }
}

const fn gated(capability: Capability) -> Option<(Capability, Revision)> {
    Some((capability, FIRST))
}

use Sender::{Client, Either, Server};

#[rustfmt::skip]
const REQUESTS: &[Rule<RequestKind>] = &[
    rule(RequestKind::CallTool, "tools/call", Client, FIRST, gated(Capability::Tools)),
    rule(RequestKind::Ping, "ping", Either, FIRST, None),
    rule(RequestKind::ListTools, "tools/list", Client, FIRST, gated(Capability::Tools)),
    rule(RequestKind::ReadResource, "resources/read", Client, FIRST, gated(Capability::Resources)),
    rule(RequestKind::ListResources, "resources/list", Client, FIRST, gated(Capability::Resources)),
    rule(RequestKind::ListResourceTemplates, "resources/templates/list", Client, FIRST,
        gated(Capability::Resources)),
    rule(RequestKind::Subscribe, "resources/subscribe", Client, FIRST,
        gated(Capability::ResourcesSubscribe)),
    rule(RequestKind::Unsubscribe, "resources/unsubscribe", Client, FIRST,
        gated(Capability::ResourcesSubscribe)),
    rule(RequestKind::GetPrompt, "prompts/get", Client, FIRST, gated(Capability::Prompts)),
    rule(RequestKind::ListPrompts, "prompts/list", Client, FIRST, gated(Capability::Prompts)),
    // The capability came a revision after the method.
    rule(RequestKind::Complete, "completion/complete", Client, FIRST,
        Some((Capability::Completions, Revision::V2025_03_26))),
    rule(RequestKind::SetLevel, "logging/setLevel", Client, FIRST, gated(Capability::Logging)),
    rule(RequestKind::Initialize, "initialize", Client, FIRST, None),
    rule(RequestKind::CreateMessage, "sampling/createMessage", Server, FIRST,
        gated(Capability::Sampling)),
    rule(RequestKind::Elicit, "elicitation/create", Server, Revision::V2025_06_18,
        gated(Capability::Elicitation)),
    rule(RequestKind::ListRoots, "roots/list", Server, FIRST, gated(Capability::Roots)),
    rule(RequestKind::GetTask, "tasks/get", Either, Revision::V2025_11_25, None),
    rule(RequestKind::TaskResult, "tasks/result", Either, Revision::V2025_11_25, None),
    rule(RequestKind::ListTasks, "tasks/list", Either, Revision::V2025_11_25, None),
    rule(RequestKind::CancelTask, "tasks/cancel", Either, Revision::V2025_11_25, None),
];

#[rustfmt::skip]
const NOTIFICATIONS: &[Rule<NotificationKind>] = &[
    rule(NotificationKind::Progress, "notifications/progress", Either, FIRST, None),
    rule(NotificationKind::Cancelled, "notifications/cancelled", Either, FIRST, None),
    rule(NotificationKind::Initialized, "notifications/initialized", Client, FIRST, None),
    rule(NotificationKind::Message, "notifications/message", Server, FIRST, None),
    rule(NotificationKind::ResourceUpdated, "notifications/resources/updated", Server, FIRST, None),
    rule(NotificationKind::ResourcesChanged, "notifications/resources/list_changed", Server, FIRST,
        None),
    rule(NotificationKind::ToolsChanged, "notifications/tools/list_changed", Server, FIRST, None),
    rule(NotificationKind::PromptsChanged, "notifications/prompts/list_changed", Server, FIRST,
        None),
    rule(NotificationKind::RootsChanged, "notifications/roots/list_changed", Client, FIRST, None),
    rule(NotificationKind::TaskStatus, "notifications/tasks/status", Either, Revision::V2025_11_25,
        None),
    rule(NotificationKind::ElicitationComplete, "notifications/elicitation/complete", Server,
        Revision::V2025_11_25, None),
];

impl RequestKind {
    /// The request of this name, in whatever revision and direction.
    pub(crate) fn of(method: &Str<'_>) -> Option<Self> {
        find(REQUESTS, method).map(|rule| rule.kind)
    }

    /// Whether this side may be asked for it in a session of this revision.
    pub(crate) fn is_served(
        self,
        sender: Sender,
        revision: Revision,
        offered: CapabilitySet,
    ) -> bool {
        let Some(rule) = REQUESTS.iter().find(|rule| rule.kind == self) else { return false };
        let open = match rule.gate {
            Some((capability, since)) => {
                offered.contains(capability) || !RevisionSet::since(since).contains(revision)
            }
            None => !self.is_about_tasks(),
        };
        open && rule.allows(sender, revision)
    }

    /// Tasks are not offered yet, so nobody may ask for them.
    const fn is_about_tasks(self) -> bool {
        matches!(self, Self::GetTask | Self::TaskResult | Self::ListTasks | Self::CancelTask)
    }
}

impl NotificationKind {
    /// The notification of this name, in whatever revision and direction.
    pub(crate) fn of(method: &Str<'_>) -> Option<Self> {
        find(NOTIFICATIONS, method).map(|rule| rule.kind)
    }
}

impl<K> Rule<K> {
    fn allows(&self, sender: Sender, revision: Revision) -> bool {
        let direction = self.sender == sender || self.sender == Either;
        direction && self.revisions.contains(revision)
    }
}

fn find<K>(rules: &'static [Rule<K>], method: &Str<'_>) -> Option<&'static Rule<K>> {
    match method.as_plain() {
        Some(name) => rules.iter().find(|rule| rule.name == name),
        None => rules.iter().find(|rule| *method == rule.name),
    }
}
