//! The life of a call: a client in every state that a call can be in, and everything that can happen to it.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use serde_json::{Value, json};

use super::Chart;
use crate::call::{Cancellation, TaskOptions, Timeout};
use crate::json::Raw;
use crate::model::ListChanged;
use crate::{
    CallId, CallOptions, Cause, Client, ClientConfig, ClientEvent, ErrorCode, Framing, Instant,
    Limits, Outbox, Outcome, RevisionSet,
};

const IDLE: Duration = Duration::from_secs(10);
const TOTAL: Duration = Duration::from_secs(100);

/// Where a call is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Held,
    NotSent,
    Sent,
    NeedsInput,
    Task,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            Self::Held => "queued until connected",
            Self::NotSent => "in the outbox",
            Self::Sent => "sent",
            Self::NeedsInput => "waits for input",
            Self::Task => "a task",
        }
    }
}

const fn name(outcome: &Outcome<'_>) -> &'static str {
    match outcome {
        Outcome::Result(_) => "`Result`",
        Outcome::PeerError(_) => "`PeerError`",
        Outcome::Malformed { .. } => "`Malformed`",
        Outcome::Truncated { .. } => "`Truncated`",
        Outcome::InputRequired(_) => "`InputRequired`",
        Outcome::Task(_) => "`Task`",
        Outcome::TaskCancelled => "`TaskCancelled`",
        Outcome::TaskNotFound => "`TaskNotFound`",
        Outcome::InputRefused(_) => "`InputRefused`",
        Outcome::TooManyRounds => "`TooManyRounds`",
        Outcome::CallError(_) => "`CallError`",
        Outcome::TransportFailed(_) => "`TransportFailed`",
        Outcome::TimedOut(_) => "`TimedOut`",
        Outcome::Closed(_) => "`Closed`",
        Outcome::NotSent => "`NotSent`",
    }
}

/// A client with one call.
struct Side {
    client: Client,
    out: Outbox,
    now: Instant,
    call: CallId,
    ended: Option<&'static str>,
    has_become_a_task: bool,
    is_asked: bool,
    sent_suffix: &'static str,
    last_id: Value,
}

impl Side {
    fn new(revisions: RevisionSet) -> Self {
        let mut config = ClientConfig::new("c", "1");
        config.revisions = revisions;
        // So that it is the call whose time is up.
        config.connection.timeouts.handshake = None;
        config.connection.timeouts.probe = None;
        config.capabilities.roots = Some(ListChanged::default());
        config.capabilities = config.capabilities.with_tasks();
        let mut out = Outbox::new(Framing::Messages, &Limits::default());
        let (mut client, now) = (Client::new(config.into()), Instant::from_millis(1_000));
        client.connect(now, &mut out).unwrap();
        let mut options = CallOptions::new().idle(Timeout::After(IDLE));
        options = options.total(Timeout::After(TOTAL));
        if revisions == RevisionSet::MODERN {
            // What a session has to be asked for a task makes it another call.
            options = options.task(TaskOptions::new());
        }
        let params = Raw::new(r#"{"name":"t"}"#).unwrap();
        let call = client.call_method("tools/call", &params, options, now, &mut out).unwrap();
        let (sent_suffix, last_id) = ("", Value::Null);
        let mut side = Self {
            client,
            out,
            now,
            call,
            ended: None,
            has_become_a_task: false,
            is_asked: false,
            sent_suffix,
            last_id,
        };
        side.send();
        side
    }

    /// One that has come so far.
    fn at(state: State, revisions: RevisionSet) -> Self {
        let mut side = Self::new(revisions);
        let steps: &[&str] = match state {
            State::Held => &[],
            State::NotSent => &["connected"],
            State::Sent => &["connected", "its first byte is sent"],
            State::NeedsInput => &["connected", "its first byte is sent", "it needs input"],
            State::Task => &["connected", "its first byte is sent", "it becomes a task"],
        };
        steps.iter().for_each(|step| side.step(step));
        assert_eq!(side.state(), Some(state));
        side
    }

    /// Where the call is, if it has not ended.
    fn state(&self) -> Option<State> {
        if !self.client.in_flight().calls().any(|call| call == self.call) {
            return None;
        }
        let unsent = String::from_utf8_lossy(self.out.unsent());
        Some(match () {
            () if self.client.revision().is_none() => State::Held,
            () if self.is_asked => State::NeedsInput,
            () if unsent.contains("tools/call") => State::NotSent,
            () if self.has_become_a_task => State::Task,
            () => State::Sent,
        })
    }

    fn saw(&mut self, event: Option<ClientEvent<'_>>) {
        match event {
            Some(ClientEvent::CallEnded(ended)) => {
                assert_eq!((ended.call, self.ended), (self.call, None));
                self.ended = Some(name(&ended.outcome));
            }
            Some(ClientEvent::Task(_)) => self.has_become_a_task = true,
            Some(ClientEvent::Request(_)) => self.is_asked = true,
            _ => {}
        }
    }

    fn receive(&mut self, message: &Value) {
        let text = message.to_string();
        let event = self.client.receive(text.as_str(), self.now, &mut self.out);
        let event = event.map(ClientEvent::into_owned);
        self.saw(event);
    }

    /// Has time pass.
    fn wait(&mut self, duration: Duration) {
        self.now = self.now + duration;
        while let Some(event) = self.client.handle_timeout(self.now, &mut self.out) {
            self.saw(Some(event));
        }
    }

    /// Has everything be sent, and looks at the ids and at what the server is told.
    fn send(&mut self) {
        let messages: Vec<Value> = core::iter::from_fn(|| {
            let message = self.out.messages().next()?.to_vec();
            Some(serde_json::from_slice(&message).unwrap())
        })
        .collect();
        for message in messages {
            match message["method"].as_str() {
                Some("notifications/cancelled") => {
                    self.sent_suffix = ", and `notifications/cancelled` is sent"
                }
                Some("tasks/cancel") => self.sent_suffix = ", and `tasks/cancel` is sent",
                _ => {}
            }
            if !message["id"].is_null() {
                self.last_id = message["id"].clone();
            }
        }
    }

    fn answer(&mut self, result: &Value) {
        let id = self.last_id.clone();
        self.receive(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    fn fail(&mut self, code: i32) {
        let id = self.last_id.clone();
        let error = json!({"code": code, "message": "m"});
        self.receive(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
    }

    /// The server says how far its task is, when it is asked.
    fn task(&mut self, kind: &str, status: &str, more: &Value) {
        let mut task = json!({
            "resultType": kind, "taskId": "t-1", "status": status, "ttlMs": null,
            "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z",
        });
        let members = more.as_object().unwrap().clone();
        task.as_object_mut().unwrap().extend(members);
        self.answer(&task);
    }

    fn asked_about(&mut self, status: &str, more: &Value) {
        self.wait(Duration::from_secs(5));
        self.send();
        self.task("complete", status, more);
    }

    fn connected(&mut self) {
        let capabilities =
            json!({"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
        let server = json!({"name": "s", "version": "1"});
        let revisions = self.client.config().revisions;
        let revision = revisions.latest().unwrap().name();
        if revisions == RevisionSet::MODERN {
            self.answer(&json!({
                "resultType": "complete", "supportedVersions": [revision],
                "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private",
            }));
        } else {
            self.answer(&json!({
                "protocolVersion": revision, "capabilities": capabilities, "serverInfo": server,
            }));
        }
    }

    fn step(&mut self, step: &str) {
        match step {
            "connected" => self.connected(),
            "the connection fails to open" => self.fail(-32021),
            "its first byte is sent" => self.send(),
            "a result" => self.answer(&json!({"resultType": "complete", "content": []})),
            "an error" => self.fail(-32000),
            "an invalid response" => self.answer(&json!([])),
            "it needs input" => self.answer(&json!({
                "resultType": "input_required", "inputRequests": {"k": {"method": "roots/list"}},
            })),
            "the application gives the input" | "the application refuses the input" => {
                self.give(step)
            }
            "it becomes a task" => self.task("task", "working", &json!({})),
            "the task is working" => self.asked_about("working", &json!({})),
            "the task is completed" => {
                let result = json!({"resultType": "complete", "content": []});
                self.asked_about("completed", &json!({"result": result}));
            }
            "the task has failed" => {
                let error = json!({"code": -32000, "message": "m"});
                self.asked_about("failed", &json!({"error": error}));
            }
            "the task is cancelled" => self.asked_about("cancelled", &json!({})),
            "the server does not know the task" => {
                self.wait(Duration::from_secs(5));
                self.send();
                self.fail(-32602);
            }
            "the idle timeout passes" => self.wait(IDLE),
            "the total timeout passes" => self.wait(TOTAL),
            "the `person` timeout passes" => self.wait(Duration::from_secs(24 * 3_600)),
            "the input ends" => self.client.disconnected(Cause::EndOfInput, self.now),
            "the transport fails" => self.client.disconnected(Cause::WriteFailed, self.now),
            "closed" => self.client.close(),
            "shut down and out of time" => {
                self.client.shut_down(Duration::from_secs(1), self.now);
                self.wait(Duration::from_secs(1));
            }
            _ => panic!("{step}"),
        }
        self.wait(Duration::ZERO);
    }

    fn give(&mut self, step: &str) {
        let request = self.client.in_flight().requests().next().unwrap();
        self.is_asked = false;
        if step == "the application gives the input" {
            let roots = json!({"roots": []});
            self.client.respond(request, &roots, &mut self.out).unwrap();
        } else {
            let code = ErrorCode::INTERNAL_ERROR;
            self.client.reject(request, code, "m", &mut self.out).unwrap();
        }
    }
}

/// Everything that can happen to a call in this state, but to be cancelled.
fn steps(state: State) -> Vec<&'static str> {
    let anywhere = [
        "the idle timeout passes",
        "the total timeout passes",
        "the input ends",
        "the transport fails",
        "closed",
        "shut down and out of time",
    ];
    let own: &[&str] = match state {
        State::Held => &["connected", "the connection fails to open"],
        State::NotSent => &["its first byte is sent"],
        State::Sent => {
            &["a result", "an error", "an invalid response", "it needs input", "it becomes a task"]
        }
        State::NeedsInput => &[
            "the application gives the input",
            "the application refuses the input",
            "the `person` timeout passes",
        ],
        State::Task => &[
            "the task is working",
            "the task is completed",
            "the task has failed",
            "the task is cancelled",
            "the server does not know the task",
        ],
    };
    own.iter().chain(&anywhere).copied().collect()
}

fn rows(state: State, revisions: RevisionSet) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    for step in steps(state) {
        let mut side = Side::at(state, revisions);
        side.step(step);
        let to = match (side.state(), side.ended) {
            (Some(state), None) => state.name(),
            (None, Some(outcome)) => outcome,
            other => panic!("{state:?}, {step}: {other:?}"),
        };
        if side.ended.is_some() {
            side.send();
        }
        rows.push((step, format!("{to}{}", side.sent_suffix)));
    }
    let mut side = Side::at(state, revisions);
    let cancellation = side.client.cancel(side.call, None, &mut side.out).unwrap();
    side.wait(Duration::ZERO);
    assert_eq!((side.state(), side.ended), (None, None), "a call that is cancelled has no event");
    side.send();
    let to = match cancellation {
        Cancellation::Withdrawn => "cancelled (`Withdrawn`)",
        Cancellation::Notified => "cancelled (`Notified`)",
        Cancellation::Deferred => "cancelled (`Deferred`)",
        Cancellation::TaskGoesOn => "cancelled (`TaskGoesOn`)",
    };
    rows.push(("is cancelled", format!("{to}{}", side.sent_suffix)));
    rows
}

/// A session differs only in what it does not have.
fn is_the_same_in_a_session() {
    for state in [State::Held, State::NotSent, State::Sent] {
        let has_no_place = |step: &str| ["it needs input", "it becomes a task"].contains(&step);
        let stateless = rows(state, RevisionSet::MODERN);
        let stateless: Vec<_> =
            stateless.into_iter().filter(|(step, _)| !has_no_place(step)).collect();
        let in_session = rows(state, RevisionSet::LEGACY);
        let in_session: Vec<_> =
            in_session.into_iter().filter(|(step, _)| !has_no_place(step)).collect();
        assert_eq!(in_session, stateless);
    }
}

pub(super) fn section() -> String {
    is_the_same_in_a_session();
    let mut chart = Chart::default();
    for state in [State::Held, State::NotSent, State::Sent, State::NeedsInput, State::Task] {
        for (step, to) in rows(state, RevisionSet::MODERN) {
            chart.row(state.name(), step, &to);
        }
    }
    format!(
        "## Calls\n\n\
         The states of a call of a client in the modern era, with the [`Outcome`](crate::Outcome)s at its end. A call that \
         the application cancels has no event: `cancel` returns its [`Cancellation`](crate::call::Cancellation). The first \
         three states are the same in a session, where a server sends a request for the input that it requires. Not in \
         the table: `Truncated` ends a list in pages, `InputRequired` a call whose input is given by hand, \
         `TooManyRounds` a call that requires input without end, `CallError` a queued call that is not allowed in the \
         session, `TransportFailed` a call whose HTTP exchange fails. Only a total timeout of the \
         [`CallOptions`](crate::CallOptions::total) ends a task: that of the configuration stops when the call becomes \
         one.\n\n\
         {}\n{}",
        chart.table(),
        chart.drawing("The states of a call", "")
    )
}
