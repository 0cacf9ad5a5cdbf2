//! The shapes of responses and of input requests, which both roles share.

use mcp_sansio::Revision;
use mcp_sansio::testing::Broken;
use serde_json::Value;

use super::message::{SUBSCRIPTION, TASKS, is_error};
use super::server::OpenRequest;
use super::{disagree, methods};

/// Checks the envelope of a written message (L-JSONRPC-01, L-JSONRPC-09, L-JSONRPC-13, L-JSONRPC-29).
pub(super) fn check_envelope(message: &Value) -> Result<(), Broken> {
    let has = |name: &str| message.get(name).is_some();
    let fault = if message["jsonrpc"] != "2.0" {
        "jsonrpc is not 2.0"
    } else if has("method") && (has("result") || has("error"))
        || !has("method") && !has("id") && !has("error")
    {
        "neither a request nor a notification nor a response"
    } else if !has("method") && has("result") == has("error") {
        "not exactly one of result and error"
    } else if has("params") && !message["params"].is_object() {
        "params are no object"
    } else if has("result") && !message["result"].is_object() {
        "the result is no object"
    } else if has("error") && !is_error(&message["error"]) {
        "the error has no code or no message"
    } else {
        return Ok(());
    };
    Err(disagree("L-JSONRPC-01", format!("{fault}: {message}")))
}

/// Checks a result of a request that was received under the rules of the modern era.
pub(super) fn check_modern_result(request: &OpenRequest, result: &Value) -> Result<(), Broken> {
    let method = &*request.method;
    let is_complete = result["resultType"] == "complete";
    let has_hints = result["ttlMs"].is_u64() && result["cacheScope"].is_string();
    let server = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    let fault = if !result["resultType"].is_string() {
        "M-RES-01: there is no resultType"
    } else if !server["name"].is_string() || !server["version"].is_string() {
        "M-RES-08: the server is not named"
    } else if is_complete && methods::is_cacheable(method) && !has_hints {
        "M-CACHE-01: there are no cache hints"
    } else if result["resultType"] == "input_required" && !result["ttlMs"].is_null() {
        "M-MRTR-39: an interim result has cache hints"
    } else if result["resultType"] == "input_required" {
        return check_input_required(request, result);
    } else if result["resultType"] == "task" {
        return check_task(request, result);
    } else if !is_complete {
        "M-RES-02: an unknown resultType"
    } else if method == "subscriptions/listen" && result["_meta"][SUBSCRIPTION] != request.id {
        "M-SUB-06: the end of a subscription is not tagged"
    } else if method == "server/discover" && !is_discovery(result) {
        "M-DISC-02: not a result of discover"
    } else {
        return Ok(());
    };
    Err(disagree(fault, result))
}

fn is_discovery(result: &Value) -> bool {
    let versions = result["supportedVersions"].as_array();
    let is_usable = |versions: &Vec<Value>| {
        versions.iter().all(|version| version == Revision::V2026_07_28.name())
            && !versions.is_empty()
    };
    // M-DISC-03, M-DISC-07, M-TASKX-02.
    versions.is_some_and(is_usable)
        && result["capabilities"].is_object()
        && result["capabilities"]["tasks"].is_null()
        && result["serverInfo"].is_null()
}

/// Checks a result that requires input (M-RES-11, M-MRTR-02, M-MRTR-04, M-MRTR-07).
fn check_input_required(request: &OpenRequest, result: &Value) -> Result<(), Broken> {
    let inputs = result["inputRequests"].as_object();
    let wrong = inputs
        .into_iter()
        .flatten()
        .find(|(_, input)| !may_ask(input, &request.capabilities) || !input["id"].is_null());
    let fault = if !methods::may_need_input(&request.method) {
        "M-RES-11: the method needs no input"
    } else if inputs.is_none() && !result["requestState"].is_string() {
        "M-MRTR-02: neither inputs nor a state"
    } else if wrong.is_some() {
        "M-MRTR-07: an input that the client has not declared"
    } else {
        return Ok(());
    };
    Err(disagree(fault, result))
}

/// Whether a client with these capabilities may be asked for an input (M-CAP-06, L-CAP-16).
pub(super) fn may_ask(input: &Value, capabilities: &Value) -> bool {
    let elicitation = &capabilities["elicitation"];
    let is_url = input["params"]["mode"] == "url";
    match input["method"].as_str() {
        Some("roots/list") => capabilities["roots"].is_object(),
        Some("sampling/createMessage") => capabilities["sampling"].is_object(),
        Some("elicitation/create") if is_url => elicitation["url"].is_object(),
        Some("elicitation/create") => {
            elicitation["form"].is_object()
                || elicitation.as_object().is_some_and(serde_json::Map::is_empty)
        }
        _ => false,
    }
}

/// Checks a task of the extension (M-TASKX-04, M-TASKX-09, M-TASKX-12, M-TASKX-14).
fn check_task(request: &OpenRequest, result: &Value) -> Result<(), Broken> {
    let is_declared = request.capabilities["extensions"][TASKS].is_object();
    let is_null = |names: &[&str]| names.iter().all(|name| result.get(name).is_none());
    let fault = if request.method != "tools/call" || !is_declared {
        "M-TASKX-04: a task that the request did not declare"
    } else if !["taskId", "status", "createdAt", "lastUpdatedAt"]
        .iter()
        .all(|name| result[*name].is_string())
        || result.get("ttlMs").is_none()
    {
        "M-TASKX-09: a member of the task is missing"
    } else if !is_null(&["task", "result", "error", "inputRequests", "requestState", "ttl"]) {
        "M-TASKX-14: a member that is not of a new task"
    } else {
        return Ok(());
    };
    Err(disagree(fault, result))
}

/// Checks a result of a request of a session.
pub(super) fn check_legacy_result(
    method: &str,
    asks_for_task: bool,
    result: &Value,
) -> Result<(), Broken> {
    let modern = ["resultType", "ttlMs", "cacheScope", "inputRequests", "requestState"];
    let named = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    let fault = if modern.iter().any(|name| result.get(name).is_some()) || !named.is_null() {
        "M-RES-09: a member of the modern era"
    } else if method == "ping" && result.as_object().is_some_and(|result| !result.is_empty()) {
        "L-PING-01, L-AMB-50: the result of ping is not empty"
    } else if result["task"].is_object() && !asks_for_task {
        "L-TASK-03, L-TASK-15: a task that was not asked for"
    } else if result["task"].is_object() && !is_legacy_task(&result["task"]) {
        "L-TASK-19, L-TASK-22, L-TASK-23: a malformed task"
    } else {
        return Ok(());
    };
    Err(disagree(fault, result))
}

fn is_legacy_task(task: &Value) -> bool {
    let is_text = |name: &str| task[name].is_string();
    ["taskId", "status", "createdAt", "lastUpdatedAt"].iter().all(|name| is_text(name))
        && task.get("ttl").is_some_and(|ttl| ttl.is_null() || ttl.is_u64())
}

/// Checks the code of an error and its data (M-ERR-02, M-ERR-05, M-ERR-09, M-ERR-11, M-AMB-39).
pub(super) fn check_error(revision: Option<Revision>, error: &Value) -> Result<(), Broken> {
    let code = error["code"].as_i64().unwrap_or_default();
    let is_modern = revision.is_some_and(methods::is_modern);
    let data = &error["data"];
    let required = data["requiredCapabilities"].as_object();
    let fault = match code {
        -32_022 if data["supported"].as_array().is_none_or(Vec::is_empty) => {
            "M-ERR-09: no supported versions"
        }
        -32_022 if is_modern && !data["requested"].is_string() => "M-ERR-09: no requested version",
        -32_021 if !is_modern && revision.is_some() => "M-AMB-39: a modern code in a session",
        -32_021 if required.is_none_or(|required| !required.values().all(Value::is_object)) => {
            "M-ERR-11: no required capabilities"
        }
        -32_042 | -32_002 if is_modern => "M-ERR-05: a code of the legacy era",
        -32_042 | -32_022..=-32_021 => return Ok(()),
        -32_099..=-32_020 => "M-ERR-02: a reserved code",
        _ => return Ok(()),
    };
    Err(disagree(fault, error))
}
