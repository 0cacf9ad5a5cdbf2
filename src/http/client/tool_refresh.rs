//! [`Refresh`], the listing of the tools after a refused call: its requests, and the reading of its pages.
//!
//! The listing ends with the page that contains the called tool, with the last page, or after [`MOST_PAGES`].

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::pending_call::PendingCall;
use super::request::{HeaderSource, HttpRequest};
use super::response::error_in;
use crate::connection::ExchangeEnd;
use crate::handle::CallId;
use crate::json::{Elements, Envelope, Str, member};
use crate::limits::Limits;
use crate::rpc::{Message, Versions, classify};

/// The maximum number of pages that are read to find a tool.
const MOST_PAGES: u32 = 100;

/// A listing of the tools because of a refused call.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Refresh {
    /// The call that was refused.
    asked: PendingCall,
    /// The status of the refusal; `refused` is its whole message.
    status: u16,
    refused: Vec<u8>,
    /// The id of the list request, as on the wire. The machine never uses such an id.
    id: String,
    pages: u32,
}

/// Omits the text of messages.
impl core::fmt::Debug for Refresh {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter.debug_struct("Refresh").field("call", &self.asked).finish_non_exhaustive()
    }
}

/// A message on the exchange of a [`Refresh`].
pub(super) enum Page<'m> {
    /// Another message: a notification, for example.
    Unrelated,
    /// The server refuses the list, or its response is not a list of tools.
    Refused,
    /// A page of the tools: the whole message.
    Listed(&'m str),
}

impl Refresh {
    pub(super) fn new(asked: PendingCall, status: u16, refused: &[u8]) -> Self {
        Self { asked, status, refused: refused.to_vec(), id: String::new(), pages: 0 }
    }

    pub(super) const fn call(&self) -> CallId {
        self.asked.call
    }

    /// Returns the id of the refused request.
    pub(super) fn call_id(&self) -> &str {
        &self.asked.id
    }

    /// Returns the request for a page: the first one, or the one at a cursor, which is a JSON string. Returns `None`
    /// if the refused request does not call a tool.
    pub(super) fn request(&mut self, url: &str, cursor: Option<&str>) -> Option<HttpRequest> {
        let called = self.asked.called.as_ref()?;
        self.id = format!("\"tools-{}-{}\"", self.asked.id, self.pages);
        let cursor = cursor.map(|cursor| format!("\"cursor\":{cursor},")).unwrap_or_default();
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"tools/list","params":{{{cursor}"_meta":{{{}}}}}}}"#,
            self.id, called.identity
        );
        let source = HeaderSource::read(message.as_bytes());
        let version = source.version.as_ref().map(Str::to_str);
        let labels = source.labels(version.as_deref().unwrap_or_default());
        let mut request = HttpRequest::post(url, message.clone().into_bytes());
        request.headers.extend(labels);
        Some(request)
    }

    /// Reads a message on the exchange of the latest request.
    pub(super) fn read<'m>(&self, message: &'m [u8], limits: &Limits) -> Page<'m> {
        let envelope = Envelope::scan(message, limits.depth);
        match classify(&envelope, limits, Versions::Any) {
            Ok(Message::Result { id, .. }) if id.as_wire() == self.id => {
                Page::Listed(core::str::from_utf8(message).unwrap_or_default())
            }
            Ok(Message::Error { .. } | Message::IdlessError { .. } | Message::Result { .. }) => {
                Page::Refused
            }
            _ => Page::Unrelated,
        }
    }

    /// Counts a page. Returns the cursor of the next page, if it is to be read.
    pub(super) fn next_cursor<'m>(&mut self, page: &'m str) -> Option<&'m str> {
        let result = member(page, "result").unwrap_or_default();
        let called = self.asked.called.as_ref();
        let is_found = called.is_some_and(|called| has_tool(result, &called.tool));
        let next = member(result, "nextCursor").filter(|cursor| cursor.starts_with('"'));
        self.pages += 1;
        next.filter(|_| !is_found && self.pages < MOST_PAGES)
    }

    /// Returns the end of the refused call. With `is_mended`, the tools have been listed and the call is repeated.
    pub(super) fn end(&self, is_mended: bool, limits: &Limits) -> Option<ExchangeEnd<'static>> {
        let error = error_in(&self.refused, limits)?.into_owned();
        Some(ExchangeEnd::Error { error, status: self.status, is_mended })
    }
}

fn has_tool(result: &str, tool: &str) -> bool {
    let mut tools = Elements::of(member(result, "tools").unwrap_or_default());
    tools.any(|listed| {
        let name = listed.borrowed().and_then(|listed| member(listed, "name"));
        name.and_then(Str::from_literal).is_some_and(|name| name == *tool)
    })
}

#[cfg(test)]
mod tests {
    use super::super::pending_call::CalledTool;
    use super::*;
    use crate::handle::{ConnectionNumber, SlotKey};

    fn refresh() -> Refresh {
        let call =
            br#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"b","_meta":{}}}"#;
        let called = CalledTool::read(&HeaderSource::read(call));
        let place = SlotKey { connection: ConnectionNumber::default(), index: 0, generation: 0 };
        let asked = PendingCall { called, ..PendingCall::new(CallId(place), "5") };
        let refused = br#"{"jsonrpc":"2.0","id":5,"error":{"code":-32001,"message":"no"}}"#;
        Refresh::new(asked, 400, refused)
    }

    fn page(id: &str, tool: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"{tool}"}}],"nextCursor":"c"}}}}"#
        )
    }

    #[test]
    fn pages_are_read_until_the_tool_is_found() {
        let limits = Limits::default();
        let mut refresh = refresh();
        let request = refresh.request("https://a.example", None).expect("it calls a tool");
        assert!(request.body.starts_with(br#"{"jsonrpc":"2.0","id":"tools-5-0","#));
        let first = page("\"tools-5-0\"", "a");
        assert!(matches!(refresh.read(first.as_bytes(), &limits), Page::Listed(_)));
        assert_eq!(refresh.next_cursor(&first), Some("\"c\""));
        refresh.request("https://a.example", Some("\"c\"")).expect("it calls a tool");
        assert!(matches!(refresh.read(first.as_bytes(), &limits), Page::Refused));
        assert_eq!(refresh.next_cursor(&page("\"tools-5-1\"", "b")), None);
    }

    #[test]
    fn debug_output_of_a_refresh_shows_no_message() {
        let shown = format!("{:?}", refresh());
        assert!(shown.starts_with("Refresh { call: PendingCall { call: "), "{shown}");
        assert!(shown.ends_with(", id: \"5\", .. }, .. }"), "{shown}");
    }

    #[test]
    fn a_list_without_an_end_is_given_up() {
        let mut refresh = refresh();
        let endless = page("1", "a");
        let pages = (0..1000).take_while(|_| refresh.next_cursor(&endless).is_some()).count();
        assert_eq!(pages, 99);
    }
}
