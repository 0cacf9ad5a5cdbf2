//! What a server may write, and when.

use mcp_sansio::testing::Broken;
use mcp_sansio::{IncomingId, Revision};
use serde_json::Value;

use super::disagree;
use super::message::{LOG_LEVEL, Message, SUBSCRIPTION, VERSION};
use super::methods::{self, Gate};
use super::server::{OpenRequest, ServerModel, reply_kind};
use super::shapes::{
    check_envelope, check_error, check_legacy_result, check_modern_result, may_ask,
};

impl ServerModel {
    /// Checks a response that the machine gives by itself while it receives a request.
    pub(super) fn check_own_reply(&self, message: &Message, reply: &Value) -> Result<(), Broken> {
        check_envelope(reply)?;
        if reply.get("id").is_none_or(Value::is_null) {
            return self.check_without_id(reply);
        }
        let is_modern = self.is_claimed(message) && message.method != "initialize";
        let session = self.session.as_ref().map(|session| session.revision);
        let revision = if is_modern { Some(Revision::V2026_07_28) } else { session };
        if reply.get("error").is_some() {
            return check_error(revision, &reply["error"]);
        }
        let result = &reply["result"];
        if is_modern {
            let request = OpenRequest {
                handle: None,
                id: reply["id"].clone(),
                method: message.method.clone(),
                params: message.params.clone(),
                revision: Revision::V2026_07_28,
                capabilities: Value::Null,
                is_in_batch: false,
                granted: None,
                progress: None,
            };
            return check_modern_result(&request, result);
        }
        if message.method == "initialize" {
            self.check_initialized(message, result)?;
        }
        check_legacy_result(&message.method, false, result)
    }

    /// Checks the result of `initialize` (L-LIFE-03, L-VER-03, L-VER-04, L-VER-05, L-VER-10).
    fn check_initialized(&self, message: &Message, result: &Value) -> Result<(), Broken> {
        let asked = message.params["protocolVersion"].as_str().and_then(Revision::from_name);
        let newest = self.legacy().last();
        let chosen = asked.filter(|asked| self.legacy().any(|own| own == *asked)).or(newest);
        let is_chosen = chosen.is_some_and(|chosen| result["protocolVersion"] == chosen.name());
        let is_complete = result["capabilities"].is_object()
            && result["serverInfo"]["name"].is_string()
            && result["serverInfo"]["version"].is_string();
        if is_chosen && is_complete {
            return Ok(());
        }
        Err(disagree("L-LIFE-03, L-VER-03", format!("{chosen:?} should be in {result}")))
    }

    /// Checks an error without an id: it is absent since 2025-11-25, and `null` before (L-AMB-06).
    fn check_without_id(&self, reply: &Value) -> Result<(), Broken> {
        let is_null = reply.get("id").is_some();
        let wants_null =
            self.session.as_ref().is_some_and(|session| session.revision < Revision::V2025_11_25);
        if is_null == wants_null && self.config.connection.replies_without_id.is_some() {
            return check_error(None, &reply["error"]);
        }
        Err(disagree("L-AMB-06, L-JSONRPC-19", reply))
    }

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
            (None, None | Some(Value::Null)) => self.check_without_id(message),
            (None, Some(id)) => self.check_response(id, message, is_in_batch, open),
        }
    }

    /// Checks a response to a request of the application (L-JSONRPC-25, L-CANCEL-06, M-CANC-06).
    fn check_response(
        &mut self,
        id: &Value,
        message: &Value,
        is_in_batch: bool,
        open: &[IncomingId],
    ) -> Result<(), Broken> {
        let shape = reply_kind(message);
        let waits = self
            .waiting
            .iter()
            .position(|(waits, replies)| is_in_batch && waits == id && replies.contains(&shape));
        if let Some(at) = waits {
            self.waiting.remove(at);
            return check_error(
                self.session.as_ref().map(|session| session.revision),
                &message["error"],
            );
        }
        // If several requests have the id, it is one that the machine does not have any more, and that fits.
        let named = self.requests.iter().enumerate().filter(|(_, request)| request.id == *id);
        let named = named.map(|(at, request)| {
            let is_open = request.handle.is_some_and(|handle| open.contains(&handle));
            (is_open, self.check_answer(request, message).is_err(), at)
        });
        let Some((.., at)) = named.min() else {
            let rule = "L-JSONRPC-25, L-CANCEL-06: a response to no open request";
            return Err(disagree(rule, message));
        };
        let request = self.requests.remove(at);
        self.subscribes(&request, message.get("error").is_some());
        self.check_answer(&request, message)
    }

    /// Checks a response by the rules of its request (M-ERA-10).
    fn check_answer(&self, request: &OpenRequest, message: &Value) -> Result<(), Broken> {
        if message.get("error").is_some() {
            return check_error(Some(request.revision), &message["error"]);
        }
        if methods::is_relayed(&self.config.connection, &request.method) {
            return Ok(());
        }
        if methods::is_modern(request.revision) {
            return check_modern_result(request, &message["result"]);
        }
        let asks_for_task = request.asks_for_task(&self.capabilities);
        check_legacy_result(&request.method, asks_for_task, &message["result"])
    }

    /// Checks a request (L-LIFE-07, L-LIFE-33, M-RPC-14, L-CAP-03).
    fn check_request(&mut self, method: &str, id: &Value, message: &Value) -> Result<(), Broken> {
        let fault = |rule: &str| Err(disagree(rule, message));
        let first = u64::from(self.config.connection.first_call_id);
        let Some(number) = id.as_u64().filter(|number| first <= *number) else {
            return fault("DESIGN 8, outbound ids: not a number from the first one on");
        };
        if !self.used.insert(number) {
            return fault("L-JSONRPC-05: the id was used before");
        }
        self.calls.insert(number, method.to_owned());
        let params = &message["params"];
        if !params["_meta"][VERSION].is_null() {
            return fault("M-ERA-27: a request with the _meta of the modern era");
        }
        if method == "ping" {
            let has_legacy = self.legacy().next().is_some();
            return if has_legacy {
                Ok(())
            } else {
                fault("M-RPC-14: a modern server sends a request")
            };
        }
        let Some(session) = self.session.as_ref().filter(|session| session.is_ready) else {
            return fault("L-LIFE-07, M-RPC-14: a request outside of a session that is ready");
        };
        let gate = methods::of_server(method, session.revision);
        match gate {
            Gate::Absent if methods::is_defined(method) => {
                fault("L-LIFE-22: not a method of this revision and direction")
            }
            Gate::Absent => Ok(()),
            _ if !methods::opens(gate, &session.capabilities) => {
                fault("L-CAP-03: the client has not declared the capability")
            }
            _ => self.check_asked(method, message),
        }
    }

    /// Checks the mode of an elicitation: URLs are new in 2025-11-25 (L-CAP-16, M-MRTR-43).
    fn check_asked(&self, method: &str, message: &Value) -> Result<(), Broken> {
        let Some(session) = &self.session else { return Ok(()) };
        let mode = &message["params"]["mode"];
        let is_before_modes = session.revision < Revision::V2025_11_25;
        let is_wrong = method == "elicitation/create"
            && if is_before_modes {
                !mode.is_null()
            } else {
                !may_ask(message, &session.capabilities)
            };
        let is_complete = mode != "url" || message["params"]["elicitationId"].is_string();
        if is_wrong || !is_complete {
            return Err(disagree("L-CAP-16, M-MRTR-43: a mode that is not declared", message));
        }
        Ok(())
    }

    fn check_notification(&mut self, method: &str, message: &Value) -> Result<(), Broken> {
        let fault = |rule: &str| Err(disagree(rule, message));
        let params = &message["params"];
        let is_ready = self.session.as_ref().is_some_and(|session| session.is_ready);
        if let Some(tag) = params["_meta"].get(SUBSCRIPTION) {
            return self.check_tagged(method, tag, message);
        }
        let notifies = |name: &'static str| {
            methods::opens(Gate::NeedsPart(name, "listChanged"), &self.capabilities)
        };
        match method {
            "notifications/cancelled" => return self.check_cancellation(message),
            "notifications/progress" => return self.check_progress(message),
            "notifications/message" => return self.check_log(message),
            "notifications/subscriptions/acknowledged" => fault("M-SUB-06: no tag"),
            // L-AMB-04, L-LIFE-33: held until the session is ready.
            _ if !is_ready && !self.has_modern_requests() => {
                fault("L-LIFE-33, M-ERA-11: no peer has asked for the notification")
            }
            "notifications/tools/list_changed" if notifies("tools") => Ok(()),
            "notifications/prompts/list_changed" if notifies("prompts") => Ok(()),
            "notifications/resources/list_changed" if notifies("resources") => Ok(()),
            "notifications/resources/updated" if self.is_subscribed(&params["uri"]) => Ok(()),
            "notifications/resources/updated" => {
                fault("L-RES-10, M-ERA-11: no peer has subscribed to the resource")
            }
            "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed" => fault("L-CAP-04: not declared"),
            "notifications/tasks/status" | "notifications/elicitation/complete" => {
                let is_known = self
                    .session
                    .as_ref()
                    .is_some_and(|session| session.revision == Revision::V2025_11_25);
                if is_known { Ok(()) } else { fault("L-TASK-55, L-CAP-21: not in this revision") }
            }
            "notifications/initialized" | "notifications/roots/list_changed" => {
                fault("T1.2: the wrong direction")
            }
            _ => Ok(()),
        }?;
        let is_list = method.ends_with("list_changed");
        if is_list && !is_ready {
            return fault("M-ERA-11, M-SUB-08: a modern client gets changes in subscriptions only");
        }
        Ok(())
    }

    /// Takes over the response to a subscription of a session, or to its end (L-RACE-27).
    fn subscribes(&mut self, request: &OpenRequest, is_refused: bool) {
        let Some(session) = &mut self.session else { return };
        let uri = &request.params["uri"];
        match &*request.method {
            // The application may have responded to the end of the subscription before.
            "resources/subscribe" if !is_refused && !session.resources.contains(uri) => {
                session.resources.push(uri.clone());
            }
            "resources/subscribe" if !is_refused => {}
            "resources/unsubscribe" if is_refused => {}
            "resources/subscribe" | "resources/unsubscribe" => {
                // The client may have asked for the resource again meanwhile, so one of its subscriptions ends.
                if let Some(at) = session.resources.iter().position(|known| known == uri) {
                    session.resources.remove(at);
                }
            }
            _ => {}
        }
    }

    /// Whether the session is subscribed to a resource, or asks to be (L-RACE-27).
    fn is_subscribed(&self, uri: &Value) -> bool {
        self.session.as_ref().is_some_and(|session| session.resources.contains(uri))
    }

    fn has_modern_requests(&self) -> bool {
        self.requests.iter().any(|request| methods::is_modern(request.revision))
    }

    /// Checks a cancellation: of an own call, or of a subscription that ends (L-CANCEL-01, L-CANCEL-02, M-CANC-11).
    fn check_cancellation(&mut self, message: &Value) -> Result<(), Broken> {
        let id = &message["params"]["requestId"];
        let call = id.as_u64().filter(|id| self.calls.contains_key(id));
        if let Some(call) = call {
            self.calls.remove(&call);
            return Ok(());
        }
        let is_listen =
            |request: &OpenRequest| request.id == *id && request.method == "subscriptions/listen";
        let before = self.requests.len();
        self.requests.retain(|request| !is_listen(request));
        if self.requests.len() < before {
            return Ok(());
        }
        Err(disagree("L-CANCEL-02, M-CANC-11: cancels what is not in flight", message))
    }

    /// Checks progress: of an open request that asks for it, and growing (L-PROG-03, L-PROG-04, M-PROG-09).
    fn check_progress(&mut self, message: &Value) -> Result<(), Broken> {
        let params = &message["params"];
        let value = params["progress"].as_f64();
        let mut named = self.requests.iter_mut().filter(|request| {
            request.params["_meta"]["progressToken"] == params["progressToken"]
                && !params["progressToken"].is_null()
        });
        let Some(request) = named.next() else {
            return Err(disagree("L-PROG-03, M-PROG-04: progress of no open request", message));
        };
        // Several requests may have the same token if a peer forges them.
        let is_unique = named.next().is_none();
        let has_grown = request.progress.is_none_or(|last| value.is_some_and(|value| last < value));
        if request.method == "subscriptions/listen" || is_unique && !has_grown {
            return Err(disagree("L-PROG-04, M-PROG-09", message));
        }
        request.progress = value;
        Ok(())
    }

    /// Checks a log message: of a session, or of a modern request that asks for it (L-CAP-13, M-LOG-01).
    fn check_log(&self, message: &Value) -> Result<(), Broken> {
        let is_declared = self.capabilities["logging"].is_object();
        let mut asking = self.requests.iter();
        let is_asked = asking.any(|request| request.params["_meta"][LOG_LEVEL].is_string());
        if is_declared && (self.session.is_some() || is_asked) {
            return Ok(());
        }
        Err(disagree("L-CAP-13, M-LOG-01: no peer has asked for log messages", message))
    }

    /// Checks a notification of a subscription (M-SUB-05, M-SUB-06, M-SUB-08, M-SUB-09, M-SUB-10).
    fn check_tagged(&mut self, method: &str, tag: &Value, message: &Value) -> Result<(), Broken> {
        let fault = |rule: &str| Err(disagree(rule, message));
        let params = &message["params"];
        let capabilities = &self.capabilities;
        let is_acknowledgement = method == "notifications/subscriptions/acknowledged";
        let mut named = self.requests.iter_mut().filter(|request| {
            request.method == "subscriptions/listen"
                && request.id == *tag
                && request.granted.is_none() == is_acknowledgement
        });
        let Some(request) = named.next() else {
            return fault("M-SUB-05, M-SUB-17: not of an open subscription, or before it is open");
        };
        if is_acknowledgement {
            let granted = &params["notifications"];
            if !granted.is_object()
                || !is_offered(granted, &request.params["notifications"], capabilities)
            {
                return fault(
                    "M-SUB-09, M-SUB-10: grants what was not requested or is not offered",
                );
            }
            // M-SUB-10: the application decides, too.
            if self.grant.as_ref().is_some_and(|most| !is_offered(granted, most, capabilities)) {
                return fault("M-SUB-10: grants more than the application");
            }
            request.granted = Some(granted.clone());
            return Ok(());
        }
        let of_all: Vec<Value> = std::iter::once(request.granted.clone())
            .chain(named.map(|other| other.granted.clone()))
            .flatten()
            .collect();
        if of_all.iter().any(|granted| covers(granted, method, params)) {
            return Ok(());
        }
        fault("M-SUB-08: the subscription does not cover it")
    }
}

/// Whether a granted filter is part of what was requested, and of what the server offers.
fn is_offered(granted: &Value, requested: &Value, capabilities: &Value) -> bool {
    let lists = [
        ("toolsListChanged", "tools"),
        ("promptsListChanged", "prompts"),
        ("resourcesListChanged", "resources"),
    ];
    let is_list_offered = lists.iter().all(|(name, owner)| {
        granted[*name] != true
            || requested[*name] == true
                && methods::opens(Gate::NeedsPart(owner, "listChanged"), capabilities)
    });
    let requested = requested["resourceSubscriptions"].as_array();
    let uris = granted["resourceSubscriptions"].as_array();
    let subscribes = methods::opens(Gate::NeedsPart("resources", "subscribe"), capabilities);
    let are_uris_offered = uris.is_none_or(|uris| {
        uris.iter().all(|uri| requested.is_some_and(|requested| requested.contains(uri)))
            && (subscribes || uris.is_empty())
    });
    is_list_offered && are_uris_offered
}

/// Whether a filter covers a notification.
fn covers(granted: &Value, method: &str, params: &Value) -> bool {
    let has = |name: &str, value: &Value| {
        granted[name].as_array().is_some_and(|values| values.contains(value))
    };
    match method {
        "notifications/tools/list_changed" => granted["toolsListChanged"] == true,
        "notifications/prompts/list_changed" => granted["promptsListChanged"] == true,
        "notifications/resources/list_changed" => granted["resourcesListChanged"] == true,
        "notifications/resources/updated" => has("resourceSubscriptions", &params["uri"]),
        "notifications/tasks" => has("taskIds", &params["taskId"]),
        _ => false,
    }
}
