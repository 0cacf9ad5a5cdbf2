//! Calls of tools with other header fields than the server expects: its tools are listed again, and then the call is
//! made again, once
//! ([custom headers](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http)).

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::arrived::Arrived;
use super::exchange::{Asked, Exchange, ExchangeNumber, Purpose};
use super::posts::Posts;
use super::request::{HttpRequest, Said};
use super::verdict::error_in;
use crate::error::ErrorCode;
use crate::handle::CallId;
use crate::json::{Elements, Envelope, MemberTexts, Str, member};
use crate::peer::ExchangeEnd;
use crate::rpc::{Message, Versions, classify};

/// How many pages are read at most to find a tool.
const MOST_PAGES: u32 = 100;

/// A call of a tool, as far as it takes to list the tools again because of it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct CalledTool {
    tool: String,
    /// What the call says of the client, as members of an object.
    identity: String,
}

/// The tools are listed again because of a call.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Refresh {
    /// The call, which has been refused.
    pub(super) asked: Asked,
    /// How it was refused: the status, and the whole message.
    status: u16,
    refused: Vec<u8>,
    /// The id of the question, as it stands on the wire. The machine has none like it.
    id: String,
    pages: u32,
}

/// Without what it says.
impl core::fmt::Debug for Refresh {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter.debug_struct("Refresh").field("call", &self.asked).finish_non_exhaustive()
    }
}

impl CalledTool {
    /// Reads a call; `None` if it is none of a tool.
    pub(super) fn read(said: &Said<'_>) -> Option<Self> {
        said.method.as_ref().filter(|method| **method == "tools/call")?;
        let tool = member(said.params?, "name").and_then(Str::from_literal)?;
        let mut identity = String::new();
        for (key, value) in MemberTexts::of(member(said.params?, "_meta")?) {
            // A token, for example, is for the call alone.
            let is_identity = ["protocolVersion", "clientInfo", "clientCapabilities"]
                .into_iter()
                .any(|name| key.to_str().strip_prefix(PREFIX) == Some(name));
            if is_identity {
                let comma = if identity.is_empty() { "" } else { "," };
                identity += &format!("{comma}\"{}\":{value}", key.to_str());
            }
        }
        Some(Self { tool: tool.to_str().into_owned(), identity })
    }
}

impl Posts {
    /// A call of a tool was refused, and the message says why. Says whether the tools are listed again for it.
    pub(super) fn refreshes(
        &mut self,
        exchange: ExchangeNumber,
        status: u16,
        message: &[u8],
    ) -> bool {
        let is_mismatch = error_in(message, &self.limits)
            .is_some_and(|error| error.code == ErrorCode::HEADER_MISMATCH);
        let may = |known: &&mut Exchange| match &known.purpose {
            Purpose::Request(asked) => asked.called.is_some() && !asked.is_mended,
            _ => false,
        };
        if !is_mismatch || self.exchanges.get_mut(&exchange).filter(may).is_none() {
            return false;
        }
        let Some(Purpose::Request(asked)) =
            self.exchanges.remove(&exchange).map(|known| known.purpose)
        else {
            return false;
        };
        let refused = message.to_vec();
        self.list_tools(Refresh { asked, status, refused, id: String::new(), pages: 0 }, None);
        true
    }

    /// Asks for a page of the tools.
    fn list_tools(&mut self, mut refresh: Refresh, cursor: Option<&str>) {
        let Some(called) = &refresh.asked.called else { return };
        refresh.id = format!("\"tools-{}-{}\"", refresh.asked.id, refresh.pages);
        let cursor = cursor.map(|cursor| format!("\"cursor\":{cursor},")).unwrap_or_default();
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"tools/list","params":{{{cursor}"_meta":{{{}}}}}}}"#,
            refresh.id, called.identity
        );
        let said = Said::read(message.as_bytes());
        let version = said.version.as_ref().map(Str::to_str);
        let labels = said.labels(version.as_deref().unwrap_or_default());
        let mut request = HttpRequest::post(&self.config.url, message.clone().into_bytes());
        request.headers.extend(labels);
        self.send(Exchange::new(Purpose::Refresh(refresh), false), request);
    }

    /// A message has come that may be a page of the tools. `None` if it is not, or if there are more pages.
    pub(super) fn refreshed(
        &mut self,
        exchange: ExchangeNumber,
        message: &[u8],
    ) -> Option<Arrived<'static>> {
        let Purpose::Refresh(refresh) = &self.exchanges.get(&exchange)?.purpose else {
            return None;
        };
        let envelope = Envelope::scan(message, self.limits.depth);
        match classify(&envelope, &self.limits, Versions::Any) {
            Ok(Message::Result { id, .. }) if id.as_wire() == refresh.id => {}
            Ok(Message::Error { .. } | Message::IdlessError { .. } | Message::Result { .. }) => {
                return self.gives_up(exchange);
            }
            _ => return None,
        }
        let mut refresh = refresh.clone();
        self.exchanges.remove(&exchange);
        let text = core::str::from_utf8(message).unwrap_or_default();
        self.tools.learn(text, &mut Vec::new());
        let result = member(text, "result").unwrap_or_default();
        let called = refresh.asked.called.as_ref();
        let is_found = called.is_some_and(|called| has_tool(result, &called.tool));
        let next = member(result, "nextCursor").filter(|cursor| cursor.starts_with('"'));
        refresh.pages += 1;
        if let Some(next) = next.filter(|_| !is_found && refresh.pages < MOST_PAGES) {
            self.list_tools(refresh, Some(next));
            return None;
        }
        self.mended.push(refresh.asked.call);
        self.ends(&refresh, true)
    }

    /// The tools cannot be listed, so the call ends as it was refused.
    pub(super) fn gives_up(&mut self, exchange: ExchangeNumber) -> Option<Arrived<'static>> {
        match self.exchanges.remove(&exchange)?.purpose {
            Purpose::Refresh(refresh) => self.ends(&refresh, false),
            _ => None,
        }
    }

    fn ends(&self, refresh: &Refresh, is_mended: bool) -> Option<Arrived<'static>> {
        let error = error_in(&refresh.refused, &self.limits)?.into_owned();
        let end = ExchangeEnd::Error { error, status: refresh.status, is_mended };
        Some(Arrived::Ended { call: refresh.asked.call, end })
    }

    /// Whether the request of this call is one that is made again with other header fields.
    pub(super) fn is_mended(&mut self, call: CallId) -> bool {
        let found = self.mended.iter().position(|mended| *mended == call);
        found.map(|found| self.mended.swap_remove(found)).is_some()
    }
}

fn has_tool(result: &str, tool: &str) -> bool {
    let mut tools = Elements::of(member(result, "tools").unwrap_or_default());
    tools.any(|listed| {
        let name = listed.borrowed().and_then(|listed| member(listed, "name"));
        name.and_then(Str::from_literal).is_some_and(|name| name == *tool)
    })
}

const PREFIX: &str = "io.modelcontextprotocol/";
