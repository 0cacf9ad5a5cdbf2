//! [`PageClient`]: the client, whose events become JSON for the page.

use std::collections::VecDeque;
use std::sync::Arc;

use mcp_sansio::json::Raw;
use mcp_sansio::{
    CallId, CallOptions, Client, ClientConfig, ClientEvent, ErrorCode, Framing, Instant, Outbox,
    Outcome,
};
use serde::{Deserialize, Serialize};

/// A client and the calls that the page waits for.
pub(crate) struct PageClient {
    client: Client,
    outbox: Outbox,
    /// The calls in flight, each with its number for the page.
    calls: Vec<(u32, CallId)>,
    made: u32,
    events: VecDeque<Vec<u8>>,
}

/// An event for the page.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "camelCase")]
enum PageEvent<'a> {
    Connected { revision: &'a str, server: Option<String> },
    Progress { call: u32, progress: f64, total: Option<f64> },
    Result { call: u32, result: Raw<'a> },
    Failed { call: Option<u32>, reason: String },
    Violation { reason: String },
    Closed { reason: String },
}

/// A call that the page makes.
#[derive(Deserialize)]
struct Call<'a> {
    method: String,
    #[serde(borrow)]
    params: Raw<'a>,
}

impl PageClient {
    pub(crate) fn new(now: Instant) -> Self {
        let config = ClientConfig::new("browser", env!("CARGO_PKG_VERSION"));
        let mut outbox = Outbox::new(Framing::Messages, &config.connection.limits);
        let mut client = Client::new(Arc::new(config));
        let mut events = VecDeque::new();
        if let Err(error) = client.connect(now, &mut outbox) {
            push(&mut events, &PageEvent::Closed { reason: error.to_string() });
        }
        Self { client, outbox, calls: Vec::new(), made: 0, events }
    }

    pub(crate) fn receive(&mut self, message: &[u8], now: Instant) {
        if let Some(event) = self.client.receive(message, now, &mut self.outbox) {
            on_event(event, &mut self.client, &mut self.outbox, &mut self.calls, &mut self.events);
        }
        self.handle_timeout(now);
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        while let Some(event) = self.client.handle_timeout(now, &mut self.outbox) {
            on_event(event, &mut self.client, &mut self.outbox, &mut self.calls, &mut self.events);
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.client.poll_timeout()
    }

    /// Makes the call that this text describes. Returns its number; if there is none, an event has the reason.
    pub(crate) fn call(&mut self, text: &[u8], now: Instant) -> Option<u32> {
        let made = str::from_utf8(text).map_err(|error| error.to_string()).and_then(|text| {
            let call = Raw::new(text).map_err(|error| error.to_string())?;
            let Call { method, params } = call.parse().map_err(|error| error.to_string())?;
            let options = CallOptions::new().progress();
            let made = self.client.call_method(&method, &params, options, now, &mut self.outbox);
            made.map_err(|error| error.to_string())
        });
        match made {
            Ok(call) => {
                self.made += 1;
                self.calls.push((self.made, call));
                Some(self.made)
            }
            Err(reason) => {
                push(&mut self.events, &PageEvent::Failed { call: None, reason });
                None
            }
        }
    }

    pub(crate) fn cancel(&mut self, number: u32) {
        let Some(index) = self.calls.iter().position(|(known, _)| *known == number) else { return };
        let (number, call) = self.calls.swap_remove(index);
        // A call that has just ended has its outcome among the events.
        if self.client.cancel(call, None, &mut self.outbox).is_ok() {
            let reason = "cancelled".into();
            push(&mut self.events, &PageEvent::Failed { call: Some(number), reason });
        }
    }

    pub(crate) fn next_message(&mut self) -> Option<Vec<u8>> {
        self.outbox.messages().next().map(<[u8]>::to_vec)
    }

    pub(crate) fn next_event(&mut self) -> Option<Vec<u8>> {
        self.events.pop_front()
    }
}

fn on_event(
    event: ClientEvent<'_>,
    client: &mut Client,
    outbox: &mut Outbox,
    calls: &mut Vec<(u32, CallId)>,
    events: &mut VecDeque<Vec<u8>>,
) {
    match event {
        ClientEvent::Connected(connected) => {
            let server = connected.server_info().map(|info| info.name.to_string());
            let revision = connected.revision.name();
            push(events, &PageEvent::Connected { revision, server });
        }
        ClientEvent::Progress(update) => {
            if let Some((call, _)) = calls.iter().find(|(_, call)| *call == update.call) {
                let total = update.total.map(|total| total.as_f64());
                let progress = update.progress.as_f64();
                push(events, &PageEvent::Progress { call: *call, progress, total });
            }
        }
        ClientEvent::CallEnded(ended) => {
            let Some(index) = calls.iter().position(|(_, call)| *call == ended.call) else {
                return;
            };
            let (call, _) = calls.swap_remove(index);
            push(
                events,
                &match ended.outcome {
                    Outcome::Result(result) => PageEvent::Result { call, result },
                    failure => PageEvent::Failed { call: Some(call), reason: reason(&failure) },
                },
            );
        }
        ClientEvent::Request(request) => {
            // The client declares no capability, so a server that keeps the rules sends no request but `ping`.
            let code = ErrorCode::METHOD_NOT_FOUND;
            _ = client.reject(request.id, code, "method not found", outbox);
        }
        ClientEvent::Violation(violation) => {
            push(events, &PageEvent::Violation { reason: violation.kind.to_string() });
        }
        ClientEvent::ConnectFailed(failure) => {
            push(events, &PageEvent::Failed { call: None, reason: failure.to_string() });
        }
        ClientEvent::Closed { cause } => {
            push(events, &PageEvent::Closed { reason: cause.to_string() });
        }
        _ => {}
    }
}

fn reason(failure: &Outcome<'_>) -> String {
    match failure {
        Outcome::PeerError(error) => error.to_string(),
        Outcome::TimedOut(expiry) => expiry.to_string(),
        Outcome::Closed(cause) => cause.to_string(),
        // The others are shown by the names of their variants.
        other => format!("{other:?}"),
    }
}

fn push(events: &mut VecDeque<Vec<u8>>, event: &PageEvent<'_>) {
    // The types of the events have a form in JSON.
    if let Ok(text) = Raw::from_serialize(event) {
        events.push_back(text.to_string().into_bytes());
    }
}
