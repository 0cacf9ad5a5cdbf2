//! What a client does with each message that it receives: the rules of both eras.

use mcp_sansio::Phase;
use mcp_sansio::config::{ConnectionConfig, DuplicateIds};

use super::client::{ClientModel, Sent};
use super::message::{Message, SUBSCRIPTION, Shape, is_id};
use super::methods::{self, Gate};
use super::shapes::may_ask;
use super::{EventKind, Reply, Verdict};

const INVALID: i64 = -32600;
const NO_METHOD: i64 = -32601;
const PARAMS: i64 = -32602;
const INTERNAL: i64 = -32603;

impl ClientModel {
    /// Returns the allowed outcomes of a message.
    pub(super) fn verdict(
        &self,
        message: &Message,
        bytes: &[u8],
        is_in_batch: bool,
        phase: Phase,
    ) -> Verdict {
        if phase == Phase::Closed {
            return Verdict::quiet(
                "L-LIFE-29: a closed connection ignores input",
                &[EventKind::Nothing],
            );
        }
        if is_in_batch && !self.has_batches() {
            let rule = "L-BATCH-13, M-RPC-18: no element of an array is dispatched";
            let verdict = Verdict::quiet(rule, &[EventKind::Violation, EventKind::Nothing]);
            // L-BATCH-04, L-LIFE-16: before the session each request gets the error.
            let is_early = self.session().is_none() && self.may_respond();
            let error = if is_early { Reply::Error(INVALID) } else { Reply::Nothing };
            return verdict.or(EventKind::Violation, error);
        }
        match message.shape {
            Shape::Unreadable => self.unreadable(bytes),
            Shape::Malformed => self.malformed(message),
            Shape::Request => self.request(message, is_in_batch, phase),
            Shape::Notification => self.notification(message),
            Shape::Response => self.response(message),
            Shape::ErrorWithoutId => self.error_without_id(),
        }
    }

    /// An error without an id settles nothing (L-JSONRPC-19, L-JSONRPC-20, M-RPC-22), except during the negotiation:
    /// then it fails the only open request, `server/discover` or `initialize` (pain 29).
    fn error_without_id(&self) -> Verdict {
        let is_opening = |call: &Sent| matches!(&*call.method, "server/discover" | "initialize");
        let rule = "L-JSONRPC-20, M-RPC-22: an error without an id settles nothing";
        if self.calls.values().any(is_opening) {
            return Verdict::quiet(
                rule,
                &[
                    EventKind::UnsolicitedError,
                    EventKind::ConnectFailed,
                    EventKind::Connected,
                    EventKind::Nothing,
                ],
            );
        }
        Verdict::only(rule, EventKind::UnsolicitedError, Reply::Nothing)
    }

    /// Noise, a line that is too long, or a JSON value that is no object (L-STDIO-08, M-STDIO-06). Clients never
    /// respond without an id (DESIGN 8).
    fn unreadable(&self, bytes: &[u8]) -> Verdict {
        let rule = "L-STDIO-08, M-STDIO-06: noise is an event";
        let mut verdict = Verdict::quiet(rule, &[EventKind::Violation, EventKind::Nothing]);
        if bytes.windows(4).any(|window| window == b"\"id\"") {
            // Which id is readable in a text that is not JSON depends on the scanner: the text may be a broken
            // request, or a broken response to a call.
            verdict = verdict
                .or(EventKind::CallEnded, Reply::Nothing)
                .or(EventKind::Subscription, Reply::Nothing)
                .or(EventKind::ConnectFailed, Reply::Nothing)
                .or(EventKind::Connected, Reply::Nothing);
            for code in [-32700, INVALID].into_iter().filter(|_| self.may_respond()) {
                verdict = verdict.or(EventKind::Violation, Reply::Error(code));
            }
        }
        verdict
    }

    /// A JSON object that is no message.
    fn malformed(&self, message: &Message) -> Verdict {
        let call = message.id.as_ref().and_then(|id| self.calls.get(&self.call(id)?));
        if let Some(call) = call.filter(|_| !message.has[0]) {
            let rule = "L-JSONRPC-09, M-RPC-12: a broken response settles its call";
            let verdict = Verdict::quiet(rule, &ends(call));
            // The probe may have timed out, of which the server is not informed (M-DISC-23).
            if matches!(&*call.method, "server/discover" | "initialize") {
                return if self.may_respond() {
                    verdict.or(EventKind::Violation, Reply::Error(INVALID))
                } else {
                    verdict.or(EventKind::Violation, Reply::Nothing)
                };
            }
            return if self.may_be_given_up(call) {
                verdict
                    .or(EventKind::Violation, Reply::Nothing)
                    .or(EventKind::Nothing, Reply::Nothing)
            } else {
                verdict
            };
        }
        let is_silent = message.is_like_a_response();
        let is_open = self.requests.iter().any(|(_, id, _)| Some(id) == message.id.as_ref())
            && self.config.connection.duplicate_ids == DuplicateIds::Refuse;
        if is_silent || message.id.is_none() || is_open {
            let rule = "L-JSONRPC-31, L-JSONRPC-03: there is no response";
            return Verdict::quiet(rule, &[EventKind::Violation]);
        }
        if !self.may_respond() {
            let rule = "M-RPC-15: a client of the modern era sends no responses";
            return Verdict::quiet(rule, &[EventKind::Violation]);
        }
        let rule = "L-JSONRPC-01: the id of the broken request is readable";
        let verdict = Verdict::refused(rule, &[INVALID]);
        // Without a method, the message may be a broken response to a call that has ended.
        if message.has[0] { verdict } else { verdict.or(EventKind::Violation, Reply::Nothing) }
    }

    fn request(&self, message: &Message, is_in_batch: bool, phase: Phase) -> Verdict {
        if !self.may_respond() {
            let rule = "M-RPC-16: a modern server sends no requests";
            return Verdict::quiet(rule, &[EventKind::Violation]);
        }
        let same = self.requests.iter().find(|(_, id, _)| Some(id) == message.id.as_ref());
        // The response to an element of a batch may wait for others.
        let waits = self.waiting.iter().any(|(id, _)| Some(id) == message.id.as_ref());
        let may_be_over = waits || same.is_some_and(|(_, _, is_in_batch)| *is_in_batch);
        let ConnectionConfig { limits, duplicate_ids, .. } = &self.config.connection;
        if same.is_some() && *duplicate_ids == DuplicateIds::Refuse && !may_be_over {
            return Verdict::quiet("L-JSONRPC-26: the id is in flight", &[EventKind::Violation]);
        }
        let is_full = limits.inbound_requests as usize <= self.requests.len();
        // Each batch that waits to be answered has an open request.
        let in_batches = self.requests.iter().filter(|(_, _, is_in_batch)| *is_in_batch).count();
        let is_one_too_many = is_in_batch && limits.batches as usize <= in_batches;
        let mut verdict = self.served(message, is_in_batch, is_full || phase == Phase::Draining);
        if is_full || phase == Phase::Draining || may_be_over || is_one_too_many {
            verdict = verdict.or(EventKind::Violation, Reply::Error(INTERNAL));
        }
        if may_be_over {
            verdict = verdict.or(EventKind::Violation, Reply::Nothing);
        }
        verdict
    }

    /// Serves a request by the rules of the legacy era.
    fn served(&self, message: &Message, is_in_batch: bool, has_no_room: bool) -> Verdict {
        let method = &*message.method;
        if !(message.params.is_object() || message.params.is_null()) {
            return Verdict::refused("L-JSONRPC-23: params are no object", &[PARAMS]);
        }
        let Some(revision) = self.session() else {
            return if method == "ping" {
                // A client that speaks only the modern era has no ping (M-RPC-16, M-ERA-20).
                let rule = "L-LIFE-09, M-ERA-20: ping before the era is known";
                Verdict::only(rule, EventKind::Nothing, Reply::Result)
                    .or(EventKind::Violation, Reply::Nothing)
            } else {
                let rule = "L-LIFE-16, M-ERA-20: a request before the session";
                Verdict::refused(rule, &[INVALID, NO_METHOD])
                    .or(EventKind::Violation, Reply::Nothing)
            };
        };
        let gate = methods::of_server(method, revision);
        let is_asking = matches!(method, "elicitation/create" | "sampling/createMessage");
        match gate {
            _ if method == "initialize" && is_in_batch => {
                Verdict::refused("L-LIFE-18, L-BATCH-03", &[INVALID, NO_METHOD])
            }
            Gate::Absent if methods::is_defined(method) => Verdict::refused(
                "L-JSONRPC-15, L-LIFE-18: not in this revision or direction",
                &[NO_METHOD],
            ),
            Gate::Absent if !has_no_room => {
                let rule = "L-JSONRPC-25: an unknown request reaches the application";
                Verdict::only(rule, EventKind::Request, Reply::Nothing)
            }
            _ if method == "ping" => Verdict::only(
                "L-PING-01: ping is answered at once",
                EventKind::Nothing,
                Reply::Result,
            ),
            _ if gate != Gate::Absent && !methods::opens(gate, &self.capabilities) => {
                Verdict::refused("L-CAP-05, L-ERR-26: not declared", &[NO_METHOD])
            }
            _ if is_asking
                && !may_ask(
                    &serde_json::json!({"method": method, "params": message.params}),
                    &self.capabilities,
                ) =>
            {
                Verdict::refused("L-ERR-25: a mode that is not declared", &[PARAMS])
            }
            _ if has_no_room => {
                Verdict::refused("there is no room for one more request (DESIGN 8)", &[INTERNAL])
            }
            _ => {
                let rule = "L-JSONRPC-25: a valid request reaches the application";
                Verdict::only(rule, EventKind::Request, Reply::Nothing)
            }
        }
    }

    /// Notifications are never answered (L-JSONRPC-14, M-RPC-13).
    fn notification(&self, message: &Message) -> Verdict {
        let params = &message.params;
        if !(params.is_object() || params.is_null()) {
            let rule = "L-JSONRPC-23: params are no object";
            return Verdict::quiet(rule, &[EventKind::Violation]);
        }
        match (&*message.method, &self.agreed) {
            ("notifications/cancelled", _) => self.cancellation(message),
            ("notifications/progress", _) => self.progress(message),
            // A log message is delivered in every phase, or held (L-LIFE-17, M-LOG-08).
            ("notifications/message", _) => Verdict::quiet(
                "L-LIFE-17, M-LOG-08: a log message",
                &[EventKind::Notification, EventKind::Violation],
            ),
            (_, Some((revision, _))) if methods::is_modern(*revision) => {
                self.in_subscription(message)
            }
            (_, Some(_)) => Verdict::quiet(
                "L-CAP-06: a notification is delivered",
                &[
                    EventKind::Notification,
                    EventKind::Violation,
                    EventKind::Task,
                    EventKind::Subscription,
                    // The status of a task may end its call.
                    EventKind::CallEnded,
                    // A notification of the modern era has no place in a session.
                    EventKind::Nothing,
                ],
            ),
            (_, None) => {
                let mut verdict = self.in_subscription(message);
                verdict.allowed.push((EventKind::Notification, Reply::Nothing));
                verdict
            }
        }
    }

    /// A notification outside of a session belongs to a subscription (M-SUB-12, M-SUB-13, M-SUB-14).
    fn in_subscription(&self, message: &Message) -> Verdict {
        let tag = message.meta(SUBSCRIPTION);
        // M-AMB-20: the tag is compared exactly, then as a text.
        let id = tag.as_u64().or_else(|| tag.as_str()?.parse().ok());
        let call = id.and_then(|id| self.calls.get(&id));
        if call.is_some_and(|call| call.method == "subscriptions/listen") {
            return Verdict::quiet(
                "M-SUB-13: the notification belongs to a subscription",
                &[
                    EventKind::Subscription,
                    // Held until the acknowledgement, or not covered.
                    EventKind::Nothing,
                    EventKind::Violation,
                    EventKind::Task,
                ],
            );
        }
        Verdict::quiet(
            "M-SUB-14: the notification belongs to no subscription",
            &[
                EventKind::Violation,
                EventKind::Nothing,
                // Methods that MCP does not define reach the application.
                EventKind::Notification,
            ],
        )
    }

    fn cancellation(&self, message: &Message) -> Verdict {
        let id = &message.params["requestId"];
        if !is_id(id) {
            let rule = "L-CANCEL-08: a malformed cancellation is ignored";
            return Verdict::quiet(rule, &[EventKind::Violation]);
        }
        let named = self.requests.iter().find(|(_, open, _)| open == id);
        if let Some((_, _, is_in_batch)) = named {
            let rule = "L-CANCEL-05: the request is cancelled";
            let verdict = Verdict::quiet(rule, &[EventKind::Cancelled]);
            return if *is_in_batch {
                verdict.or(EventKind::Nothing, Reply::Nothing)
            } else {
                verdict
            };
        }
        let call = id.as_u64().and_then(|id| self.calls.get(&id));
        if call.is_some_and(|call| call.method == "subscriptions/listen") {
            let rule = "M-CANC-13: the server ends a subscription";
            let verdict = Verdict::quiet(rule, &[EventKind::Subscription]);
            let is_given_up = call.is_some_and(|call| self.may_be_given_up(call));
            return if is_given_up {
                verdict.or(EventKind::Nothing, Reply::Nothing)
            } else {
                verdict
            };
        }
        // M-CANC-13 asks for a diagnostic, L-CANCEL-07 for nothing.
        let rule = "L-CANCEL-07, M-CANC-13: a cancellation of an unknown request is ignored";
        Verdict::quiet(rule, &[EventKind::Nothing, EventKind::Violation])
    }

    /// Progress of a call that asked for it (L-PROG-08, L-PROG-10, M-PROG-06, M-PROG-07).
    fn progress(&self, message: &Message) -> Verdict {
        let token = &message.params["progressToken"];
        let is_known = |call: &Sent| {
            let own = &call.params["_meta"]["progressToken"];
            !own.is_null() && own == token
        };
        if self.calls.values().any(is_known) {
            let rule = "L-PROG-10: progress of a pending call grows";
            let verdict = Verdict::quiet(rule, &[EventKind::Progress, EventKind::Violation]);
            // A call that asks for a task may be given up without a message (L-CANCEL-16).
            let is_given_up =
                self.calls.values().any(|call| is_known(call) && self.may_be_given_up(call));
            return if is_given_up {
                verdict.or(EventKind::Nothing, Reply::Nothing)
            } else {
                verdict
            };
        }
        // The token of a task lives longer than its call (L-PROG-16).
        let rule = "L-PROG-08, L-PROG-09: a token of no pending call";
        Verdict::quiet(rule, &[EventKind::Violation, EventKind::Nothing, EventKind::Progress])
    }

    /// A response (L-JSONRPC-21, M-RPC-20, M-RPC-21).
    fn response(&self, message: &Message) -> Verdict {
        let call = message.id.as_ref().and_then(|id| self.calls.get(&self.call(id)?));
        let Some(call) = call else {
            return Verdict::quiet(
                "L-JSONRPC-21, L-CANCEL-09: the response matches no call",
                &[
                    EventKind::Unmatched,
                    // L-CANCEL-16: a call that was given up has become a task. M-ERA-17: a late answer to a probe.
                    EventKind::AbandonedTask,
                    EventKind::Connected,
                ],
            );
        };
        match &*call.method {
            "server/discover" | "initialize" => Verdict::quiet(
                "Table 4b",
                &[
                    EventKind::Connected,
                    EventKind::ConnectFailed,
                    EventKind::Nothing,
                    EventKind::CallEnded,
                    EventKind::Violation,
                    // The probe has timed out, of which the server is not informed (M-ERA-17, M-DISC-23).
                    EventKind::Unmatched,
                ],
            ),
            // The subscription of a session.
            "resources/subscribe" | "resources/unsubscribe" => {
                let rule = "L-RES-08: a response about a subscription";
                Verdict::quiet(
                    rule,
                    &[EventKind::Subscription, EventKind::Nothing, EventKind::CallEnded],
                )
            }
            "subscriptions/listen" => {
                let rule = "M-SUB-19: a response ends a subscription";
                Verdict::quiet(rule, &[EventKind::Subscription, EventKind::Nothing])
            }
            // A ping of the machine itself may have timed out without a message.
            "ping" => Verdict::quiet(
                "L-PING-01: a response",
                &[EventKind::CallEnded, EventKind::Nothing, EventKind::Unmatched],
            ),
            method if method.starts_with("tasks/") => Verdict::quiet(
                "L-TASK-35, M-TASKX-48: a poll of a task",
                &[
                    EventKind::CallEnded,
                    EventKind::Task,
                    EventKind::Nothing,
                    EventKind::Request,
                    EventKind::Violation,
                    EventKind::TaskAnswer,
                ],
            ),
            _ => self.outcome(call, message),
        }
    }

    /// The outcome of a call of the application.
    fn outcome(&self, call: &Sent, message: &Message) -> Verdict {
        let verdict = self.plain_outcome(call, message);
        if self.may_be_given_up(call) {
            return verdict
                .or(EventKind::AbandonedTask, Reply::Nothing)
                .or(EventKind::Unmatched, Reply::Nothing)
                .or(EventKind::Nothing, Reply::Nothing);
        }
        verdict
    }

    /// Whether a call may have been given up without a message (L-CANCEL-16, L-TIME-07): it asks for a task. So may a
    /// modern call after the negotiation has begun again: the machine treats it by the rules of a session then.
    fn may_be_given_up(&self, call: &Sent) -> bool {
        let agreed = self.agreed.as_ref().map(|(revision, _)| *revision);
        let is_of_other_era = call.is_modern() && !agreed.is_some_and(methods::is_modern);
        call.asks_for_task() || is_of_other_era
    }

    fn plain_outcome(&self, call: &Sent, message: &Message) -> Verdict {
        if let Some(code) = message.code() {
            // M-DISC-12, M-DISC-15: the call is sent again in another revision. L-RACE-22: a list starts again.
            let may_go_on = code == -32022 || self.config.known.is_some();
            let is_list = call.method == "tools/list" && code == PARAMS;
            return Verdict::quiet(
                "L-JSONRPC-11: the error ends the call",
                match () {
                    () if may_go_on => &[
                        EventKind::CallEnded,
                        EventKind::Nothing,
                        EventKind::Connected,
                        EventKind::ConnectFailed,
                    ][..],
                    () if is_list => &[EventKind::CallEnded, EventKind::ListRestarted],
                    () => &[EventKind::CallEnded],
                },
            );
        }
        let kind = &message.result["resultType"];
        if call.is_modern() && kind == "input_required" {
            return Verdict::quiet(
                "M-RES-12, M-MRTR-09: the call requires input",
                match () {
                    () if !methods::may_need_input(&call.method)
                        && methods::is_defined(&call.method) =>
                    {
                        &[EventKind::CallEnded][..]
                    }
                    () => &[EventKind::CallEnded, EventKind::Request, EventKind::Nothing],
                },
            );
        }
        let is_task = kind == "task" || message.result["task"].is_object();
        match &*call.method {
            "tools/list" => Verdict::quiet(
                "L-PAGE-01: the list, or a page of it",
                &[EventKind::CallEnded, EventKind::Page, EventKind::ListRestarted],
            ),
            "tools/call" if is_task => Verdict::quiet(
                "L-TASK-27, M-TASKX-07: the call becomes a task",
                &[EventKind::Task, EventKind::CallEnded],
            ),
            _ => {
                Verdict::quiet("L-JSONRPC-06: a response settles its call", &[EventKind::CallEnded])
            }
        }
    }
}

/// The events that can end a call whose response is malformed.
fn ends(call: &Sent) -> Vec<EventKind> {
    match &*call.method {
        "server/discover" | "initialize" => {
            vec![
                EventKind::ConnectFailed,
                EventKind::Nothing,
                EventKind::Connected,
                EventKind::CallEnded,
                EventKind::Violation,
            ]
        }
        "subscriptions/listen" => vec![EventKind::Subscription],
        method if method.starts_with("tasks/") => {
            vec![
                EventKind::CallEnded,
                EventKind::Nothing,
                EventKind::Task,
                EventKind::Violation,
                EventKind::TaskAnswer,
            ]
        }
        "resources/subscribe" | "resources/unsubscribe" => {
            vec![
                EventKind::CallEnded,
                EventKind::Subscription,
                EventKind::Nothing,
                EventKind::Violation,
            ]
        }
        "ping" => vec![EventKind::CallEnded, EventKind::Violation, EventKind::Nothing],
        _ => vec![EventKind::CallEnded],
    }
}
