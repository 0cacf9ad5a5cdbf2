//! The methods of each revision, with their direction and the capability that they need (T1, Table 1).

use mcp_sansio::config::Relay;
use mcp_sansio::{ConnectionConfig, Revision};
use serde_json::{Map, Value};

use super::message::TASKS;

use Revision::{V2024_11_05 as A, V2025_03_26 as B, V2025_06_18 as C, V2025_11_25 as D};

/// Whether a method needs a capability, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// The method is not in the revision, or not in this direction.
    Absent,
    /// The method needs no capability.
    Open,
    /// The method needs this member of the capabilities of the receiver.
    Needs(&'static str),
    /// The method needs a member of a member.
    NeedsPart(&'static str, &'static str),
}

/// Returns the gate of a request of a client (T1.1, Table 1).
pub(super) fn of_client(method: &str, revision: Revision) -> Gate {
    let is_modern = is_modern(revision);
    match method {
        "tools/list" | "tools/call" => Gate::Needs("tools"),
        "resources/list" | "resources/templates/list" | "resources/read" => {
            Gate::Needs("resources")
        }
        "prompts/list" | "prompts/get" => Gate::Needs("prompts"),
        // L-CAP-11, L-CAP-12.
        "completion/complete" if revision == A => Gate::Open,
        "completion/complete" => Gate::Needs("completions"),
        // M-ERA-26, Table 1: what the modern era has not.
        "ping" | "initialize" if !is_modern => Gate::Open,
        "logging/setLevel" if !is_modern => Gate::Needs("logging"),
        "resources/subscribe" | "resources/unsubscribe" if !is_modern => {
            Gate::NeedsPart("resources", "subscribe")
        }
        // M-ERA-27: what the legacy era has not.
        "server/discover" | "subscriptions/listen" if is_modern => Gate::Open,
        "tasks/get" | "tasks/update" | "tasks/cancel" if is_modern => Gate::Needs("tasks"),
        _ if revision == D => of_tasks(method),
        _ => Gate::Absent,
    }
}

/// Returns the gate of a request of a server (T1.1). A modern server sends no requests (M-RPC-14).
pub(super) fn of_server(method: &str, revision: Revision) -> Gate {
    match method {
        _ if is_modern(revision) => Gate::Absent,
        "ping" => Gate::Open,
        "roots/list" => Gate::Needs("roots"),
        "sampling/createMessage" => Gate::Needs("sampling"),
        "elicitation/create" if [C, D].contains(&revision) => Gate::Needs("elicitation"),
        _ if revision == D => of_tasks(method),
        _ => Gate::Absent,
    }
}

/// Whether requests of a method are relayed without inspection.
pub(super) fn is_relayed(config: &ConnectionConfig, method: &str) -> bool {
    matches!(&config.relay, Relay::Methods(methods) if methods.iter().any(|own| own == method))
}

/// Returns the gate of the tasks methods of 2025-11-25 (L-CAP-17).
fn of_tasks(method: &str) -> Gate {
    match method {
        "tasks/get" | "tasks/result" => Gate::Needs("tasks"),
        "tasks/list" => Gate::NeedsPart("tasks", "list"),
        "tasks/cancel" => Gate::NeedsPart("tasks", "cancel"),
        _ => Gate::Absent,
    }
}

/// Whether any revision defines a request of this name, in either direction.
pub(super) fn is_defined(method: &str) -> bool {
    let is_there = |gate| gate != Gate::Absent;
    Revision::ALL.into_iter().any(|revision| {
        is_there(of_client(method, revision)) || is_there(of_server(method, revision))
    })
}

/// Whether any of these revisions defines a request of a client of this name.
pub(super) fn is_defined_in(method: &str, revisions: &[Revision]) -> bool {
    revisions.iter().any(|revision| of_client(method, *revision) != Gate::Absent)
}

/// Whether capabilities open a gate (L-CAP-07: a capability is an object, a part of it `true` or an object).
pub(super) fn opens(gate: Gate, capabilities: &Value) -> bool {
    match gate {
        Gate::Absent => false,
        Gate::Open => true,
        Gate::Needs("tasks") => has_tasks(capabilities),
        Gate::Needs(name) => capabilities[name].is_object(),
        Gate::NeedsPart(name, part) => {
            let part = &capabilities[name][part];
            part == true || part.is_object()
        }
    }
}

/// Whether capabilities contain tasks, in the form of either era.
pub(super) fn has_tasks(capabilities: &Value) -> bool {
    capabilities["tasks"].is_object() || capabilities["extensions"][TASKS].is_object()
}

/// Whether a request may be answered with a request for input (M-RES-11).
pub(super) fn may_need_input(method: &str) -> bool {
    matches!(method, "tools/call" | "prompts/get" | "resources/read")
}

/// Whether the complete result of a method carries cache hints (M-RES-13).
pub(super) fn is_cacheable(method: &str) -> bool {
    matches!(
        method,
        "server/discover"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
    )
}

/// Whether params have the members that a method requires (L-JSONRPC-16, L-ERR-09).
pub(super) fn fits(method: &str, params: &Value) -> bool {
    let is_text = |name: &str| params[name].is_string();
    match method {
        "tools/call" => {
            is_text("name") && (params["arguments"].is_null() || params["arguments"].is_object())
        }
        "prompts/get" => {
            let arguments = &params["arguments"];
            let are_texts =
                |arguments: &Map<String, Value>| arguments.values().all(Value::is_string);
            is_text("name") && (arguments.is_null() || arguments.as_object().is_some_and(are_texts))
        }
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => is_text("uri"),
        "tasks/get" | "tasks/cancel" | "tasks/result" | "tasks/update" => is_text("taskId"),
        // M-SUB-02.
        "subscriptions/listen" => params["notifications"].is_object(),
        // L-LIFE-20.
        "initialize" => {
            let info = &params["clientInfo"];
            is_text("protocolVersion")
                && params["capabilities"].is_object()
                && info["name"].is_string()
                && info["version"].is_string()
        }
        _ => true,
    }
}

/// Whether a revision belongs to the modern era.
pub(super) fn is_modern(revision: Revision) -> bool {
    ![A, B, C, D].contains(&revision)
}
