//! What a client may write, and when.

use mcp_sansio::testing::Broken;
use mcp_sansio::{IncomingId, Revision};
use serde_json::Value;

use super::client::{ClientModel, Interim, Sent};
use super::disagree;
use super::message::{CAPABILITIES, VERSION};
use super::methods::{self, Gate};
use super::server::reply_kind;
use super::shapes::{check_envelope, check_error, check_legacy_result};

impl ClientModel {
    /// Checks a message that is written.
    pub(super) fn check_written(
        &mut self,
        message: &Value,
        is_in_batch: bool,
        open: &[IncomingId],
    ) -> Result<(), Broken> {
        check_envelope(message)?;
        match (message.get("method").and_then(Value::as_str), message.get("id")) {
            (Some(method), Some(id)) => self.check_request(method, id, message),
            (Some(method), None) => self.check_notification(method, message),
            (None, Some(id)) => self.check_response(id, message, is_in_batch, open),
            (None, None) => Err(disagree("DESIGN 8: a client responds without an id", message)),
        }
    }

    /// Checks a response to a request of the server (L-JSONRPC-25, L-CANCEL-06, M-RPC-15).
    fn check_response(
        &mut self,
        id: &Value,
        message: &Value,
        is_in_batch: bool,
        open: &[IncomingId],
    ) -> Result<(), Broken> {
        let Some(revision) = self.session() else {
            return Err(disagree("M-RPC-15, L-LIFE-16: a response outside of a session", message));
        };
        let shape = reply_kind(message);
        let waits = self
            .waiting
            .iter()
            .position(|(waits, replies)| is_in_batch && waits == id && replies.contains(&shape));
        if let Some(at) = waits {
            self.waiting.remove(at);
            return Ok(());
        }
        // If several requests have the id, it is the one that the machine does not have any more.
        let named = self.requests.iter().enumerate().filter(|(_, (_, named, _))| named == id);
        let named = named.map(|(at, (handle, ..))| (open.contains(handle), at));
        let Some((_, at)) = named.min() else {
            let rule = "L-JSONRPC-25, L-CANCEL-06: a response to no open request";
            return Err(disagree(rule, message));
        };
        self.requests.remove(at);
        if message.get("error").is_some() {
            return check_error(Some(revision), &message["error"]);
        }
        check_legacy_result("", true, &message["result"])
    }

    /// Checks a request. Its `_meta` names its era.
    fn check_request(&mut self, method: &str, id: &Value, message: &Value) -> Result<(), Broken> {
        let first = u64::from(self.config.connection.first_call_id);
        let Some(number) = id.as_u64().filter(|number| first <= *number) else {
            return Err(disagree(
                "DESIGN 8, outbound ids: not a number from the first one on",
                message,
            ));
        };
        if !self.used.insert(number) {
            return Err(disagree("L-JSONRPC-05, M-MRTR-16: the id was used before", message));
        }
        let call = Sent { method: method.to_owned(), params: message["params"].clone() };
        let is_modern = call.params["_meta"].get(VERSION).is_some();
        let fault = if is_modern { self.modern_fault(&call) } else { self.legacy_fault(&call) };
        if let Some(fault) = fault {
            return Err(disagree(fault, message));
        }
        self.check_retry(&call, message)?;
        if method == "initialize" {
            // The negotiation begins again (M-ERA-21, Table 4b, row 25).
            (self.agreed, self.may_be_modern) = (None, false);
        }
        self.calls.insert(number, call);
        Ok(())
    }

    /// Returns the rule that a modern request violates.
    fn modern_fault(&self, call: &Sent) -> Option<&'static str> {
        let meta = &call.params["_meta"];
        let info = &meta["io.modelcontextprotocol/clientInfo"];
        let speaks_modern = self.config.revisions.contains(Revision::V2026_07_28);
        let gate = methods::of_client(&call.method, Revision::V2026_07_28);
        let is_assumed = !self.config.probe || self.config.known.is_some_and(methods::is_modern);
        let is_probe = call.method == "server/discover";
        if !speaks_modern || meta[VERSION] != Revision::V2026_07_28.name() {
            return Some("M-META-01, M-AMB-08: a version that the client does not speak");
        }
        if !meta[CAPABILITIES].is_object() {
            return Some("M-META-02: the capabilities are missing");
        }
        if !info["name"].is_string() || !info["version"].is_string() {
            return Some("M-META-03: the client is not named");
        }
        if self.session().is_some() {
            return Some("M-ERA-27: a modern request in a session");
        }
        if !is_probe && !is_assumed && !self.may_be_modern {
            return Some("M-ERA-12: a request before the era is known");
        }
        let is_relayed = methods::is_relayed(&self.config.connection, &call.method);
        if gate == Gate::Absent && methods::is_defined(&call.method) && !is_relayed {
            return Some("M-ERA-26: not in the modern era");
        }
        let part = meta[CAPABILITIES]["roots"]["listChanged"].is_null();
        (!part).then_some("M-CAP-02: roots have no listChanged in the modern era")
    }

    /// Returns the rule that a request without a modern `_meta` violates.
    fn legacy_fault(&self, call: &Sent) -> Option<&'static str> {
        let params = &call.params;
        let has_legacy = Revision::ALL.into_iter().any(|revision| {
            !methods::is_modern(revision) && self.config.revisions.contains(revision)
        });
        if !has_legacy {
            return Some("M-ERA-23, M-META-01: a legacy request of a modern client");
        }
        if call.method == "initialize" {
            return self.initialize_fault(params);
        }
        if call.method == "ping" {
            let is_modern = self.agreed.is_some() && self.session().is_none();
            return is_modern.then_some("M-ERA-26: ping in the modern era");
        }
        let Some((revision, capabilities)) =
            self.agreed.as_ref().filter(|_| self.session().is_some() && self.is_initialized)
        else {
            return Some("L-LIFE-01, L-LIFE-04, L-LIFE-06: a request before initialized");
        };
        let gate = methods::of_client(&call.method, *revision);
        let asks_for_task = !params["task"].is_null();
        match gate {
            _ if methods::is_relayed(&self.config.connection, &call.method) => None,
            Gate::Absent if methods::is_defined(&call.method) => {
                Some("L-LIFE-22, M-ERA-27: not in this revision or direction")
            }
            Gate::Absent => None,
            _ if !methods::opens(gate, capabilities) => {
                Some("L-CAP-03: the server has not declared the capability")
            }
            _ if asks_for_task && !may_ask_for_task(*revision, capabilities) => {
                Some("L-TASK-07, L-TASK-15: the server has not declared tasks")
            }
            _ => None,
        }
    }

    /// Returns the rule that `initialize` violates (L-LIFE-02, L-VER-01, L-VER-02, M-ERA-26).
    fn initialize_fault(&self, params: &Value) -> Option<&'static str> {
        let newest = Revision::ALL.into_iter().rfind(|revision| {
            !methods::is_modern(*revision) && self.config.revisions.contains(*revision)
        });
        let is_offered = newest.is_some_and(|newest| params["protocolVersion"] == newest.name());
        let is_agreed = self.agreed.is_some() && !self.may_be_modern;
        if is_agreed || self.session().is_some() {
            return Some("M-ERA-26, L-LIFE-14: a second initialize");
        }
        if !methods::fits("initialize", params) {
            return Some("L-LIFE-02: initialize lacks a member");
        }
        (!is_offered).then_some("L-VER-01, L-VER-02: not the newest revision of the client")
    }

    /// Checks a call that is sent again with input (M-MRTR-11, M-MRTR-12, M-MRTR-14).
    fn check_retry(&mut self, call: &Sent, message: &Value) -> Result<(), Broken> {
        let params = &call.params;
        if params["inputResponses"].is_null() && params["requestState"].is_null() {
            return Ok(());
        }
        // An update of a task has responses of its own (M-TASKX-52).
        if call.method == "tasks/update" {
            return Ok(());
        }
        let fits = self.interim.iter().position(|interim| is_retry(call, interim));
        match fits {
            Some(at) => {
                self.interim.remove(at);
                Ok(())
            }
            None => {
                let what = format!("{message} after {:?}", self.interim);
                Err(disagree("M-MRTR-11, M-MRTR-12, M-MRTR-14: not the call with its input", what))
            }
        }
    }

    fn check_notification(&mut self, method: &str, message: &Value) -> Result<(), Broken> {
        let fault = |rule: &str| Err(disagree(rule, message));
        let in_session = self.session().is_some();
        match method {
            "notifications/initialized" if self.is_initialized => {
                fault("L-LIFE-04: initialized is sent once")
            }
            "notifications/initialized" => {
                let is_modern = self.agreed.is_some() && !in_session;
                if is_modern {
                    return fault("M-ERA-26: initialized in the modern era");
                }
                self.is_initialized = true;
                Ok(())
            }
            "notifications/cancelled" => self.check_cancellation(message),
            "notifications/progress" if !in_session => {
                fault("M-PROG-10: a client reports no progress in the modern era")
            }
            "notifications/roots/list_changed" if !in_session => {
                fault("M-ERA-26: not in the modern era")
            }
            "notifications/message"
            | "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed"
            | "notifications/resources/updated"
            | "notifications/elicitation/complete" => fault("T1.2: the wrong direction"),
            _ => Ok(()),
        }
    }

    /// Checks a cancellation (L-CANCEL-01, L-CANCEL-02, L-CANCEL-04, L-CANCEL-15, M-AMB-45).
    fn check_cancellation(&mut self, message: &Value) -> Result<(), Broken> {
        let id = message["params"]["requestId"].as_u64();
        let Some(call) = id.and_then(|id| self.calls.remove(&id)) else {
            return Err(disagree("L-CANCEL-02, M-CANC-04: cancels what is not in flight", message));
        };
        let fault = match &*call.method {
            "initialize" | "server/discover" => "L-CANCEL-04, M-DISC-23: never cancelled",
            _ if !call.params["task"].is_null() && !call.is_modern() => {
                "L-CANCEL-15: a task is cancelled with tasks/cancel"
            }
            _ => return Ok(()),
        };
        Err(disagree(fault, message))
    }
}

/// Whether a call that asks for a task may be sent (L-TASK-07).
fn may_ask_for_task(revision: Revision, capabilities: &Value) -> bool {
    let calls = &capabilities["tasks"]["requests"]["tools"]["call"];
    revision == Revision::V2025_11_25 && calls.is_object()
}

/// Whether a call repeats another one with the input that it requires.
fn is_retry(call: &Sent, Interim { call: before, result }: &Interim) -> bool {
    let stripped = |params: &Value| {
        let mut params = params.clone();
        if let Some(members) = params.as_object_mut() {
            for name in ["inputResponses", "requestState", "_meta"] {
                members.remove(name);
            }
        }
        params
    };
    let keys = |object: &Value| -> Vec<String> {
        object.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
    };
    call.method == before.method
        && stripped(&call.params) == stripped(&before.params)
        && call.params["requestState"] == result["requestState"]
        && keys(&call.params["inputResponses"]) == keys(&result["inputRequests"])
}
