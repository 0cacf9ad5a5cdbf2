//! A connecting client, and a server that responds in every way, at any time, or not at all.

use std::hash::Hash;
use std::sync::Arc;

use mcp_sansio::json::Raw;
use mcp_sansio::testing::{Canonical, Monitor, World};
use mcp_sansio::{
    CallOptions, Cause, Client, ClientEvent, Framing, Instant, Outbox, Revision, RevisionSet,
};

use crate::config;

/// The responses to `server/discover`, without their id.
const DISCOVERIES: [&str; 8] = [
    r#""result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#,
    r#""result":{"resultType":"complete","supportedVersions":["2999-01-01"],"capabilities":{}}"#,
    r#""result":{"resultType":"complete","supportedVersions":["2025-11-25"],"capabilities":{}}"#,
    r#""result":{}"#,
    r#""error":{"code":-32601,"message":"m"}"#,
    r#""error":{"code":-32602,"message":"m"}"#,
    r#""error":{"code":-32022,"message":"m","data":{"supported":["2026-07-28"],"requested":"x"}}"#,
    r#""error":{"code":-32022,"message":"m","data":{"supported":["2025-11-25"],"requested":"x"}}"#,
];

/// The responses to `initialize`, without their id.
const OPENINGS: [&str; 5] = [
    r#""result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#,
    r#""result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#,
    r#""result":{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#,
    r#""result":{"protocolVersion":7}"#,
    r#""error":{"code":-32600,"message":"m"}"#,
];

/// A possible event.
#[derive(Clone, Debug)]
pub(super) enum Action {
    Send,
    Answer { request: usize, with: &'static str },
    Settle,
    Wait,
    Call,
    Break,
}

/// A client and its observed history.
#[derive(Clone, Debug)]
pub(super) struct Negotiating {
    client: Client,
    out: Outbox,
    now: Instant,
    monitor: Monitor,
    /// The requests to the server: the id, and whether the request is the probe.
    asked: Vec<(String, bool)>,
    answers: u8,
    waits: u8,
    calls: u8,
    breaks: u8,
    connected: u8,
    failed: u8,
}

impl Negotiating {
    /// Creates a client that has begun to connect.
    pub(super) fn new(revisions: RevisionSet, known: Option<Revision>, probe: bool) -> Self {
        let mut config = config::client_of_both_eras();
        (config.revisions, config.known, config.probe) = (revisions, known, probe);
        let mut out = Outbox::new(Framing::Messages, &config.connection.limits);
        let mut client = Client::new(Arc::new(config));
        let now = Instant::from_millis(1_000);
        client.connect(now, &mut out).unwrap();
        let (asked, monitor) = (Vec::new(), Monitor::new());
        let (answers, waits, calls, breaks) = (4, 3, 1, 1);
        let (connected, failed) = (0, 0);
        Self { client, out, now, monitor, asked, answers, waits, calls, breaks, connected, failed }
    }

    fn event(&mut self, event: &ClientEvent<'_>) -> Result<(), String> {
        match event {
            ClientEvent::Connected(_) => self.connected += 1,
            ClientEvent::ConnectFailed(_) => self.failed += 1,
            _ => {}
        }
        if 1 < self.failed || (0 < self.failed && matches!(event, ClientEvent::Connected(_))) {
            return Err(format!("after it has failed: {event:?}"));
        }
        let most = if self.client.config().known.is_some() { 2 } else { 1 };
        if most < self.connected {
            return Err(format!("connected {} times", self.connected));
        }
        self.monitor.event::<Client>(event).map_err(|broken| broken.to_string())
    }

    fn send(&mut self) -> Result<(), String> {
        let messages: Vec<Vec<u8>> = self.out.messages().map(<[u8]>::to_vec).collect();
        for message in messages {
            self.monitor.sent(&message).map_err(|broken| broken.to_string())?;
            let message = Raw::new(std::str::from_utf8(&message).unwrap()).unwrap().into_owned();
            let method = message.get("method").map(|method| method.as_json().to_owned());
            let id = message.get("id").map(|id| id.as_json().to_owned());
            if let (Some(id), Some(method)) = (id, method)
                && ["\"server/discover\"", "\"initialize\""].contains(&&*method)
            {
                self.asked.push((id, method == "\"server/discover\""));
            }
        }
        Ok(())
    }
}

impl World for Negotiating {
    type Action = Action;

    fn actions(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        if !self.out.is_empty() {
            actions.push(Action::Send);
        }
        let due = self.client.poll_timeout();
        if due.is_some_and(|due| due <= self.now) {
            actions.push(Action::Settle);
        }
        if 0 < self.waits && due.is_some_and(|due| self.now < due) {
            actions.push(Action::Wait);
        }
        if 0 < self.answers {
            for (request, (_, is_probe)) in self.asked.iter().enumerate() {
                let answers = if *is_probe { &DISCOVERIES[..] } else { &OPENINGS };
                actions.extend(answers.iter().map(|with| Action::Answer { request, with }));
            }
        }
        if 0 < self.calls {
            actions.push(Action::Call);
        }
        if 0 < self.breaks {
            actions.push(Action::Break);
        }
        actions
    }

    fn act(&mut self, action: &Action) -> Result<(), String> {
        let Self { client, out, now, .. } = self;
        match action {
            Action::Send => self.send()?,
            Action::Settle => {
                if let Some(event) = client.handle_timeout(*now, out) {
                    self.event(&event)?;
                }
            }
            Action::Wait => {
                self.waits -= 1;
                *now = client.poll_timeout().unwrap();
            }
            Action::Answer { request, with } => {
                self.answers -= 1;
                let text = format!(r#"{{"jsonrpc":"2.0","id":{},{with}}}"#, self.asked[*request].0);
                if let Some(event) = client.receive(text.as_bytes(), *now, out) {
                    self.event(&event)?;
                }
            }
            Action::Call => {
                self.calls -= 1;
                let made = client.call_method("tools/list", &(), CallOptions::new(), *now, out);
                if let Ok(call) = made {
                    self.monitor.called(call).map_err(|broken| broken.to_string())?;
                }
            }
            Action::Break => {
                self.breaks -= 1;
                client.disconnected(Cause::ReadFailed, *now);
            }
        }
        self.monitor.check(&self.client, self.now).map_err(|broken| broken.to_string())
    }

    /// Checks that the broken connection is closed, and that the client has reported success or failure.
    fn end(&self) -> Result<(), String> {
        self.monitor.settled(&self.client, self.now).map_err(|broken| broken.to_string())?;
        if !self.monitor.is_closed() {
            return Err("not closed".into());
        }
        if self.connected == 0 && self.failed == 0 {
            return Err("nothing was said about the connection".into());
        }
        Ok(())
    }

    fn view(&self) -> Canonical {
        let mut view = Canonical::new(self.now);
        (&self.client, &self.out, &self.monitor, &self.asked).hash(&mut view);
        let Self { answers, waits, calls, breaks, connected, failed, .. } = self;
        (answers, waits, calls, breaks, connected, failed).hash(&mut view);
        view
    }
}
