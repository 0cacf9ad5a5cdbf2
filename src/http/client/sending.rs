//! Requests of HTTP, as they are made and broken off.

use alloc::vec::Vec;

use super::exchange::{Exchange, ExchangeNumber, Purpose};
use super::posts::{Action, Manner, Posts, Unsayable};
use super::refresh::Refresh;
use super::request::{HttpRequest, Labels, Said, session_version};
use crate::frame::Tag;
use crate::handle::CallId;
use crate::http::name;
use crate::json::{Raw, Str, member};
use crate::version::Revision;

impl Posts {
    /// The header fields of a message that stands alone.
    pub(super) fn labels(&self, said: &Said<'_>) -> Result<Labels, Unsayable> {
        let revision = self.revision.unwrap_or(Revision::LATEST_STATELESS).name();
        let version = said.version.as_ref().map(Str::to_str);
        let mut labels = said.labels(version.as_deref().unwrap_or(revision));
        let is_call = said.method.as_ref().is_some_and(|method| *method == "tools/call");
        let params = said.params.filter(|_| is_call).unwrap_or_default();
        if let Some(tool) = member(params, "name").and_then(Str::from_literal) {
            let arguments = member(params, "arguments").map(Raw::trusted);
            for (name, value) in self.tools.repeated(&tool.to_str(), arguments.as_ref())? {
                labels.push((name.into(), value));
            }
        }
        Ok(labels)
    }

    /// Where messages go.
    pub(super) fn target(&self) -> &str {
        match &self.manner {
            Manner::OneStream { endpoint: Some(endpoint) } => endpoint,
            _ => &self.config.url,
        }
    }

    /// Sends a request of a session, or one that asks for a session.
    pub(super) fn send_in_session(
        &mut self,
        mut exchange: Exchange,
        mut request: HttpRequest,
    ) -> ExchangeNumber {
        if self.manner == Manner::Streamable {
            // A GET goes on with the answer to that, which has named the session.
            let opens = request.method == "POST"
                && matches!(&exchange.purpose, Purpose::Request(asked) if asked.opens.is_some());
            let session = self.session.as_deref().filter(|_| !opens);
            if let Some(session) = session {
                request.add(name::SESSION_ID, session);
                exchange.names_session = true;
            }
            let version = self.revision.filter(|_| !opens).and_then(session_version);
            if let Some(version) = version {
                request.add(name::PROTOCOL_VERSION, version);
            }
        }
        self.send(exchange, request)
    }

    /// The head of a response has come, or never will.
    pub(super) fn has_begun(&mut self, exchange: ExchangeNumber) {
        self.completing = self.completing.filter(|(waiting, _)| *waiting != exchange);
        self.opening = self.opening.filter(|(waiting, _)| *waiting != exchange);
    }

    /// Makes a request of HTTP.
    pub(super) fn send(&mut self, exchange: Exchange, mut request: HttpRequest) -> ExchangeNumber {
        if matches!(exchange.purpose, Purpose::Farewell) {
            if let Some(session) = self.session.take() {
                request.add(name::SESSION_ID, &session);
            }
            if let Some(version) = self.revision.and_then(session_version) {
                request.add(name::PROTOCOL_VERSION, version);
            }
        }
        let fixed = self.config.headers().iter();
        request.headers.extend(fixed.map(|(name, value)| (name.clone().into(), value.clone())));
        let number = ExchangeNumber(self.next_number);
        self.next_number += 1;
        self.exchanges.insert(number, exchange);
        self.actions.push_back(Action::Send { exchange: number, request });
        number
    }

    /// The calls whose requests wait to be sent, and never will be.
    pub(super) fn withdraw(&mut self) -> Vec<CallId> {
        let mut calls = Vec::new();
        while let Some((_, tag)) = self.outbox.pop() {
            if let Tag::Call(call) = tag {
                calls.push(call);
            }
        }
        calls
    }

    /// The exchange that carries the request with this id.
    pub(super) fn carries(&self, id: &str) -> Option<ExchangeNumber> {
        let is_it = |exchange: &Exchange| match &exchange.purpose {
            Purpose::Request(asked) | Purpose::Refresh(Refresh { asked, .. }) => asked.id == id,
            _ => false,
        };
        self.exchanges.iter().find(|(_, exchange)| is_it(exchange)).map(|(number, _)| *number)
    }

    /// Breaks an exchange off.
    pub(super) fn abort(&mut self, exchange: ExchangeNumber) {
        let Some(known) = self.exchanges.remove(&exchange) else { return };
        // One that waits to be made again is not there.
        if known.due().is_none() || known.purpose == Purpose::OneStream {
            self.actions.push_back(Action::Abort { exchange });
        }
    }
}
