//! How the response to a call becomes the outcome of the call.

use mcp_sansio::Outcome;
use mcp_sansio::testing::Broken;
use serde_json::Value;

use super::message::{Message, Shape};
use super::{disagree, methods};

/// What a response says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    Broken,
    Error,
    /// A result, or anything that a method which MCP does not define may answer.
    Result,
    InputRequired,
    Task,
    /// A result of a kind that the call cannot have.
    WrongKind,
}

/// Checks the outcome of a call that a response has ended (L-JSONRPC-09, M-RES-03 to M-RES-12, M-TASKX-08).
pub(super) fn check_outcome(
    (method, is_modern): (&str, bool),
    message: &Message,
    outcome: &Outcome<'_>,
) -> Result<(), Broken> {
    // The calls of the machine itself have outcomes of their own.
    let is_own = matches!(method, "initialize" | "server/discover" | "subscriptions/listen")
        || method.starts_with("tasks/")
        || method.starts_with("resources/");
    if is_own || message.shape == Shape::Unreadable {
        return Ok(());
    }
    let says = says(method, is_modern, message);
    let fits = match outcome {
        // A method that MCP does not define has results of any kind.
        Outcome::Result(_) => {
            says == Says::Result || says == Says::InputRequired && !methods::is_defined(method)
        }
        Outcome::PeerError(_) => says == Says::Error,
        // A request for input may be one that the client cannot serve, or too long (M-MRTR-20, M-MRTR-21).
        Outcome::Malformed { .. } => !matches!(says, Says::Error | Says::Result),
        Outcome::InputRequired(_) | Outcome::TooManyRounds => says == Says::InputRequired,
        Outcome::Truncated { .. } => says == Says::Result && method == "tools/list",
        Outcome::Task(_) | Outcome::TaskCancelled | Outcome::TaskNotFound => says == Says::Task,
        // The call cannot be sent again, in another revision or with its input.
        Outcome::CallError(_) => matches!(says, Says::Error | Says::InputRequired),
        _ => false,
    };
    if fits {
        return Ok(());
    }
    let rule = "L-JSONRPC-09, M-RES-03, M-RES-12: the outcome does not fit the response";
    Err(disagree(rule, format!("{outcome:?} of {method} is {says:?}: {message:?}")))
}

fn says(method: &str, is_modern: bool, message: &Message) -> Says {
    if message.shape != Shape::Response {
        return Says::Broken;
    }
    if message.has[2] {
        return Says::Error;
    }
    let is_defined = methods::is_defined(method);
    match &message.result["resultType"] {
        // M-RES-10: a session has no kinds of results.
        _ if !is_modern && message.result["task"].is_object() && method == "tools/call" => {
            Says::Task
        }
        _ if !is_modern => Says::Result,
        // M-RES-05, M-RES-06.
        Value::Null => Says::Result,
        Value::String(kind) if kind == "complete" => Says::Result,
        Value::String(kind) if kind == "input_required" => match () {
            () if methods::may_need_input(method) || !is_defined => Says::InputRequired,
            () => Says::WrongKind,
        },
        Value::String(kind) if kind == "task" && method == "tools/call" => Says::Task,
        Value::String(_) if !is_defined => Says::Result,
        _ => Says::WrongKind,
    }
}
