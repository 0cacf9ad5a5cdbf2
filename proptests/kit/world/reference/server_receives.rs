//! What a server does with each message that it receives: the rules of both eras.

use mcp_sansio::Phase;
use mcp_sansio::Revision;
use mcp_sansio::config::{DuplicateIds, Listening};
use serde_json::Value;

use super::message::{CAPABILITIES, LOG_LEVEL, Message, Shape, TASKS, VERSION, is_id};
use super::methods::{self, Gate};
use super::server::{ServerModel, Session};
use super::{EventKind, Reply, Verdict};

const PARSE: i64 = -32700;
const INVALID: i64 = -32600;
const NO_METHOD: i64 = -32601;
const PARAMS: i64 = -32602;
const INTERNAL: i64 = -32603;
const CAPABILITY: i64 = -32021;
const VERSION_REFUSED: i64 = -32022;

const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// How a request with a valid envelope is served.
enum Served {
    /// The machine refuses it with one of these codes.
    Refused(&'static str, Vec<i64>),
    /// The machine answers it with a result.
    Answered(&'static str, EventKind),
    /// The application receives it.
    Dispatched(&'static str),
    /// The machine opens a subscription.
    Subscribed(&'static str),
    /// The application receives it, or the machine refuses it with this code.
    Either(&'static str, i64),
}

impl ServerModel {
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
            // The event names the whole array once. Before a session each request may get the error (L-BATCH-04).
            let rule = "L-BATCH-04, L-BATCH-13, M-RPC-18: no element of an array is dispatched";
            let mut verdict = Verdict::quiet(rule, &[EventKind::Violation, EventKind::Nothing]);
            if self.session.is_none() {
                verdict = verdict.or(EventKind::Violation, Reply::Error(INVALID));
            }
            return self.or_without_id(verdict, &[INVALID]);
        }
        match message.shape {
            Shape::Unreadable => self.unreadable(bytes),
            Shape::Malformed => self.malformed(message, phase),
            Shape::Request => self.request(message, is_in_batch, phase),
            Shape::Notification => self.notification(message, phase),
            Shape::Response => self.response(message, phase),
            Shape::ErrorWithoutId => Verdict::only(
                "L-JSONRPC-20: an error without an id settles nothing",
                EventKind::UnsolicitedError,
                Reply::Nothing,
            ),
        }
    }

    /// Allows an error without an id if the configuration does (L-AMB-06; DESIGN 8, replies without an id).
    fn or_without_id(&self, mut verdict: Verdict, codes: &[i64]) -> Verdict {
        if self.config.connection.replies_without_id.is_some() {
            for code in codes {
                verdict = verdict.or(EventKind::Violation, Reply::WithoutId(*code));
            }
        }
        verdict
    }

    /// Noise, a line that is too long, or a JSON value that is no object (L-JSONRPC-18, L-BATCH-05).
    fn unreadable(&self, bytes: &[u8]) -> Verdict {
        let rule = "L-JSONRPC-18: noise is an event, and gets no response without an id";
        let mut verdict = Verdict::quiet(rule, &[EventKind::Violation, EventKind::Nothing]);
        let mentions_id = bytes.windows(4).any(|window| window == b"\"id\"");
        if mentions_id {
            // DESIGN 8: no request with a readable id stays without an answer. Which id is readable in a text that
            // is not JSON depends on the scanner.
            verdict = verdict
                .or(EventKind::Violation, Reply::Error(PARSE))
                .or(EventKind::Violation, Reply::Error(INVALID));
        }
        self.or_without_id(verdict, &[PARSE, INVALID])
    }

    /// A JSON object that is no message.
    fn malformed(&self, message: &Message, phase: Phase) -> Verdict {
        let pending = message.id.as_ref().and_then(|id| self.call(id));
        if !message.has[0] && pending.is_some() {
            // L-JSONRPC-01, L-JSONRPC-09, L-JSONRPC-10: a broken response ends its call. A call for input ends the
            // request that needs it.
            let rule = "L-JSONRPC-09: a broken response settles its call";
            let verdict = Verdict::quiet(
                rule,
                &[EventKind::CallEnded, EventKind::TaskAnswer, EventKind::Cancelled],
            );
            // A ping of the machine itself has no outcome, and the end of the input has ended the calls.
            let is_ping = pending.is_some_and(|id| self.calls[&id] == "ping");
            return if is_ping || phase == Phase::Draining {
                verdict
                    .or(EventKind::Violation, Reply::Nothing)
                    .or(EventKind::Nothing, Reply::Nothing)
            } else {
                verdict
            };
        }
        if message.is_like_a_response() {
            let rule = "L-JSONRPC-31: a malformed response gets no error";
            return Verdict::quiet(rule, &[EventKind::Violation]);
        }
        let Some(id) = &message.id else {
            let rule = "L-JSONRPC-03, L-JSONRPC-04: there is no valid id for a response";
            let verdict = Verdict::quiet(rule, &[EventKind::Violation]);
            let is_notification = message.has[0] && !message.has_id;
            return if is_notification { verdict } else { self.or_without_id(verdict, &[INVALID]) };
        };
        if self.is_in_flight(id) && self.refuses_duplicates() {
            return Verdict::quiet("L-JSONRPC-26: the id is in flight", &[EventKind::Violation]);
        }
        let rule = "L-JSONRPC-01: the id of the broken request is readable";
        let verdict = Verdict::refused(rule, &[INVALID]);
        // Without a method, the message may be a broken response to a call that has ended.
        if message.has[0] { verdict } else { verdict.or(EventKind::Violation, Reply::Nothing) }
    }

    fn is_in_flight(&self, id: &Value) -> bool {
        self.requests.iter().any(|request| request.id == *id)
    }

    const fn refuses_duplicates(&self) -> bool {
        matches!(self.config.connection.duplicate_ids, DuplicateIds::Refuse)
    }

    fn request(&self, message: &Message, is_in_batch: bool, phase: Phase) -> Verdict {
        let same = self.requests.iter().find(|request| Some(&request.id) == message.id.as_ref());
        // A request of a batch may be answered, while its response waits for others.
        let waits = self.waiting.iter().any(|(id, _)| Some(id) == message.id.as_ref());
        let may_be_over = waits || same.is_some_and(|same| same.is_in_batch);
        if same.is_some() && self.refuses_duplicates() && !may_be_over {
            let rule = "L-JSONRPC-26, M-RPC-08: the id is in flight";
            return Verdict::quiet(rule, &[EventKind::Violation]);
        }
        let served = self.served(message, is_in_batch);
        let open = self.requests.len();
        let in_batches = self.requests.iter().filter(|request| request.is_in_batch).count();
        let limit = self.config.connection.limits.inbound_requests as usize;
        let (is_full, may_be_full) =
            (limit <= open - in_batches, limit <= open + self.ghosts.len());
        // Each batch that waits to be answered has an open request.
        let batches = self.config.connection.limits.batches as usize;
        let may_be_one_too_many = is_in_batch && batches <= in_batches;
        let is_draining = phase == Phase::Draining;
        let mut verdict = self.outcome(&served, is_draining || is_full);
        // The order of the checks is open: a request may violate two rules.
        // Requests whose cancellation is still to be reported may count for the limits.
        let is_refused = is_draining || may_be_full || may_be_over || may_be_one_too_many;
        if is_refused || !self.ghosts.is_empty() {
            verdict = verdict.or(EventKind::Violation, Reply::Error(INTERNAL));
        }
        if may_be_over {
            verdict = verdict.or(EventKind::Violation, Reply::Nothing);
        }
        verdict
    }

    /// Returns the outcome of a request. If there is no room for it, it is refused unless the machine answers it.
    fn outcome(&self, served: &Served, has_no_room: bool) -> Verdict {
        match served {
            Served::Refused(rule, codes) => Verdict::refused(rule, codes),
            Served::Answered(rule, kind) => Verdict::only(rule, *kind, Reply::Result),
            _ if has_no_room => {
                Verdict::refused("there is no room for one more request (DESIGN 8)", &[INTERNAL])
            }
            Served::Dispatched(rule) => Verdict::only(rule, EventKind::Request, Reply::Nothing),
            Served::Subscribed(rule) => Verdict::only(rule, EventKind::Subscribed, Reply::Nothing),
            Served::Either(rule, code) => Verdict::only(rule, EventKind::Request, Reply::Nothing)
                .or(EventKind::Violation, Reply::Error(*code)),
        }
    }

    /// Decides the era of a request, and serves it by the rules of that era (Table 4a).
    fn served(&self, message: &Message, is_in_batch: bool) -> Served {
        if !(message.params.is_object() || message.params.is_null()) {
            return Served::Refused("L-JSONRPC-23: params are no object", vec![PARAMS]);
        }
        let is_initialize = message.method == "initialize";
        // M-ERA-05: with an incomplete claim, or one of an unknown version, `initialize` is legacy.
        let is_complete = message.meta(VERSION) == Revision::V2026_07_28.name()
            && message.meta(CAPABILITIES).is_object();
        if self.is_claimed(message) && (!is_initialize || is_complete) {
            return self.modern(message);
        }
        if is_initialize {
            return self.initialize(message, is_in_batch);
        }
        match &self.session {
            Some(session) => self.in_session(message, session),
            None => self.without_session(message),
        }
    }

    fn initialize(&self, message: &Message, is_in_batch: bool) -> Served {
        let has_legacy = self.legacy().next().is_some();
        if self.session.is_some() || is_in_batch {
            return Served::Refused("L-LIFE-14, L-BATCH-03: a second initialize", vec![INVALID]);
        }
        if !has_legacy {
            // Table 4a, row 18.
            return Served::Refused(
                "M-DISC-21, M-ERA-35: there are no sessions",
                vec![VERSION_REFUSED],
            );
        }
        if !methods::fits("initialize", &message.params) {
            return Served::Refused("L-LIFE-20: malformed initialize", vec![PARAMS]);
        }
        Served::Answered("L-LIFE-32: initialize is answered at once", EventKind::Opened)
    }

    /// The legacy revisions that are served.
    pub(super) fn legacy(&self) -> impl Iterator<Item = Revision> {
        let revisions = Revision::ALL.into_iter().filter(|revision| !methods::is_modern(*revision));
        revisions.filter(|revision| self.config.revisions.contains(*revision))
    }

    /// A request without a claim, and without a session (DESIGN 8, no claim, no session).
    fn without_session(&self, message: &Message) -> Served {
        let has_modern = self.config.revisions.contains(Revision::V2026_07_28);
        let legacy: Vec<Revision> = self.legacy().collect();
        let is_ping = message.method == "ping";
        match () {
            () if is_ping && !legacy.is_empty() => {
                Served::Answered("L-LIFE-09: ping is answered in every phase", EventKind::Nothing)
            }
            () if has_modern => Served::Refused("M-ERA-06: there is no _meta", vec![PARAMS]),
            () if methods::is_defined_in(&message.method, &legacy) => {
                Served::Refused("L-LIFE-10: a request before initialize", vec![INVALID])
            }
            // A request of a server comes in the wrong direction, and before initialize.
            () if methods::is_defined(&message.method) => {
                Served::Refused("L-LIFE-11: an unknown method", vec![NO_METHOD, INVALID])
            }
            () => {
                Served::Refused("L-LIFE-11: an unknown method before initialize", vec![NO_METHOD])
            }
        }
    }

    fn in_session(&self, message: &Message, session: &Session) -> Served {
        let method = &*message.method;
        let gate = methods::of_client(method, session.revision);
        match gate {
            _ if methods::is_relayed(&self.config.connection, method) => {
                Served::Dispatched("Relay: a relayed request is not inspected")
            }
            Gate::Absent if methods::is_defined(method) => {
                Served::Refused("L-JSONRPC-15: not in this revision or direction", vec![NO_METHOD])
            }
            Gate::Absent => self.dispatched(message),
            _ if !methods::opens(gate, &self.capabilities) => {
                Served::Refused("L-CAP-05: the capability is not declared", vec![NO_METHOD])
            }
            _ if !methods::fits(method, &message.params) => {
                Served::Refused("L-JSONRPC-16: params that do not fit", vec![PARAMS])
            }
            _ if method == "ping" => {
                Served::Answered("L-PING-01: ping is answered at once", EventKind::Nothing)
            }
            // Whether a resource that is asked for twice, or given up meanwhile, counts depends on the machine.
            _ if method == "resources/subscribe" => {
                Served::Either("Limits::subscriptions may be reached", INTERNAL)
            }
            _ => self.dispatched(message),
        }
    }

    /// A request for the application. Only the shape of its token is left to check (L-PROG-01).
    fn dispatched(&self, message: &Message) -> Served {
        let token = message.meta("progressToken");
        if !token.is_null() && !is_id(token) {
            return Served::Refused("L-PROG-01: a malformed progress token", vec![PARAMS]);
        }
        Served::Dispatched("L-JSONRPC-25: a valid request reaches the application")
    }

    /// A request with a claim (M-ERR-19: the order of the checks).
    fn modern(&self, message: &Message) -> Served {
        let (version, capabilities) = (message.meta(VERSION), message.meta(CAPABILITIES));
        let level = message.meta(LOG_LEVEL);
        if !version.is_string() || !capabilities.is_object() {
            let codes = vec![PARAMS, VERSION_REFUSED];
            let is_unknown = version.is_string() && version != Revision::V2026_07_28.name();
            let codes = if is_unknown { codes } else { vec![PARAMS] };
            return Served::Refused("M-ERR-13, M-ERR-14: malformed _meta", codes);
        }
        if version != Revision::V2026_07_28.name() {
            return Served::Refused("M-DISC-09: an unknown version", vec![VERSION_REFUSED]);
        }
        if !level.is_null() && !level.as_str().is_some_and(|level| LEVELS.contains(&level)) {
            return Served::Refused("M-META-20: an unknown log level", vec![PARAMS]);
        }
        let method = &*message.method;
        let gate = methods::of_client(method, Revision::V2026_07_28);
        match gate {
            _ if methods::is_relayed(&self.config.connection, method) => {
                Served::Dispatched("Relay: a relayed request is not inspected")
            }
            Gate::Absent if methods::is_defined(method) => {
                Served::Refused("Table 1: not in the modern era", vec![NO_METHOD])
            }
            Gate::Absent => self.dispatched(message),
            _ if !methods::opens(gate, &self.capabilities) => {
                Served::Refused("M-ERR-15, M-CAP-11: not advertised", vec![NO_METHOD])
            }
            Gate::Needs("tasks") if !capabilities["extensions"][TASKS].is_object() => {
                Served::Refused("M-TASKX-26: the extension is not declared", vec![CAPABILITY])
            }
            _ if !methods::fits(method, &message.params) => {
                Served::Refused("M-SUB-02, M-TASKX-27: params that do not fit", vec![PARAMS])
            }
            _ => match method {
                "server/discover" => {
                    Served::Answered("M-DISC-01: discover is answered at once", EventKind::Nothing)
                }
                "subscriptions/listen" => self.listen(message),
                _ => self.dispatched(message),
            },
        }
    }

    /// A subscription (M-SUB-29, M-SUB-35).
    fn listen(&self, message: &Message) -> Served {
        let filter = &message.params["notifications"];
        let declares = message.meta(CAPABILITIES)["extensions"][TASKS].is_object();
        if !filter["taskIds"].is_null() && !declares {
            return Served::Refused("M-SUB-35: tasks are not declared", vec![CAPABILITY]);
        }
        let limits = &self.config.connection.limits;
        let listens = self.requests.iter().filter(|open| open.method == "subscriptions/listen");
        let uris = filter["resourceSubscriptions"].as_array().map_or(0, Vec::len);
        let is_full =
            limits.listens as usize <= listens.count() || (limits.subscriptions as usize) < uris;
        match (self.config.listening, is_full) {
            (Listening::Granted, true) => {
                Served::Refused("M-SUB-29: too many subscriptions", vec![INTERNAL])
            }
            (Listening::Granted, false) => Served::Subscribed("M-SUB-01: the server listens"),
            // There is nothing for the application to decide.
            (_, false) if filter.as_object().is_some_and(serde_json::Map::is_empty) => {
                Served::Subscribed("M-SUB-03: the empty filter is legal")
            }
            // The limit on resources may be checked when the application grants them.
            (_, true) => Served::Either("M-SUB-29: too many subscriptions", INTERNAL),
            (_, false) => Served::Dispatched("M-SUB-01: the application is asked"),
        }
    }

    /// Notifications are never answered (L-JSONRPC-14, M-RPC-13).
    fn notification(&self, message: &Message, phase: Phase) -> Verdict {
        let is_ready = self.session.as_ref().map(|session| session.is_ready);
        match (&*message.method, is_ready) {
            ("notifications/cancelled", _) => self.cancellation(message),
            ("notifications/initialized", Some(false)) if phase != Phase::Draining => {
                Verdict::quiet("L-LIFE-08: the session is ready", &[EventKind::Ready])
            }
            ("notifications/initialized", _) => Verdict::quiet(
                "L-LIFE-12, L-LIFE-15: initialized changes nothing now",
                &[EventKind::Nothing, EventKind::Violation],
            ),
            // No call of these servers asks for progress.
            ("notifications/progress", _) => Verdict::quiet(
                "L-PROG-08: an unknown token",
                &[EventKind::Violation, EventKind::Nothing],
            ),
            (_, None) => Verdict::quiet(
                "L-LIFE-12: a notification before initialize is ignored",
                &[EventKind::Nothing, EventKind::Violation],
            ),
            _ => Verdict::quiet(
                "L-CAP-06: a notification is delivered, or dropped with an event",
                &[EventKind::Notification, EventKind::Violation],
            ),
        }
    }

    fn cancellation(&self, message: &Message) -> Verdict {
        let id = &message.params["requestId"];
        if !is_id(id) {
            let rule = "L-CANCEL-08: a malformed cancellation is ignored";
            return Verdict::quiet(rule, &[EventKind::Violation]);
        }
        let named: Vec<_> = self.requests.iter().filter(|request| request.id == *id).collect();
        if named.is_empty() {
            // L-CANCEL-07, L-CANCEL-13, M-CANC-07, M-CANC-21.
            let rule = "L-CANCEL-07: a cancellation of an unknown request is ignored";
            return Verdict::quiet(rule, &[EventKind::Nothing]);
        }
        if named.iter().all(|request| request.asks_for_task(&self.capabilities)) {
            // The event follows.
            let rule = "L-CANCEL-17: a task is not cancelled like a request";
            return Verdict::quiet(rule, &[EventKind::Nothing]);
        }
        // DESIGN 8: it ends all requests with the id. The events of the others follow, and a violation if it names a
        // request for a task, too.
        let verdict =
            Verdict::quiet("L-CANCEL-05: the request is cancelled", &[EventKind::Cancelled]);
        // A request of a batch may be answered, while its response waits for others.
        let may_be_over = named.iter().any(|request| request.is_in_batch);
        if may_be_over { verdict.or(EventKind::Nothing, Reply::Nothing) } else { verdict }
    }

    /// A response (L-JSONRPC-21, M-RPC-17).
    fn response(&self, message: &Message, phase: Phase) -> Verdict {
        let verdict = self.settled_by(message);
        // The end of the input has ended the calls, without a message (DESIGN 8, EOF at a server).
        let is_draining = phase == Phase::Draining;
        if is_draining { verdict.or(EventKind::Unmatched, Reply::Nothing) } else { verdict }
    }

    fn settled_by(&self, message: &Message) -> Verdict {
        let method = message.id.as_ref().and_then(|id| self.calls.get(&self.call(id)?));
        let Some(method) = method else {
            let rule = "L-JSONRPC-21: a response that matches no call is dropped";
            return Verdict::quiet(rule, &[EventKind::Unmatched]);
        };
        if methods::is_defined(method) && method != "ping" {
            // The call may gather the input of a request, or of a task: the request comes again, waits for more, or
            // has failed (M-MRTR-41, M-MRTR-42).
            return Verdict::quiet(
                "L-JSONRPC-06: a response settles its call",
                &[
                    EventKind::CallEnded,
                    EventKind::TaskAnswer,
                    EventKind::Request,
                    EventKind::Cancelled,
                    EventKind::Violation,
                    EventKind::Nothing,
                ],
            );
        }
        // A ping of the machine itself has no event, and may have ended without a message.
        let events: &[EventKind] = if method == "ping" {
            &[EventKind::CallEnded, EventKind::Nothing, EventKind::Unmatched]
        } else {
            &[EventKind::CallEnded]
        };
        Verdict::quiet("L-JSONRPC-06: a response settles its call", events)
    }
}
