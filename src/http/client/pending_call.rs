//! [`PendingCall`], one request of the client that waits for its response, and [`CalledTool`], the tool that it
//! calls.
//! Both types are read from the message that is sent, so they match the message.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::request::HeaderSource;
use crate::handle::CallId;
use crate::json::{MemberTexts, Str, member};

const PREFIX: &str = "io.modelcontextprotocol/";

/// A request of this side.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct PendingCall {
    pub(super) call: CallId,
    /// The id of the request, as on the wire.
    pub(super) id: String,
    /// Whether it lists the tools, so that its result is inspected.
    pub(super) lists_tools: bool,
    /// The tool that it calls, in the modern era.
    pub(super) called: Option<CalledTool>,
    /// Whether it repeats a call that was refused for its header fields.
    pub(super) is_mended: bool,
    /// Whether it probes whether the server needs a session.
    pub(super) probes: bool,
    /// Whether the call has ended, and its late response is awaited.
    pub(super) is_late: bool,
    /// The whole message of an `initialize` request, which may have to be sent again over another transport.
    pub(super) opens: Option<Vec<u8>>,
}

/// Omits the text of the request.
impl core::fmt::Debug for PendingCall {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("PendingCall")
            .field("call", &self.call)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// A tool call, with the data for listing the tools again because of it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct CalledTool {
    pub(super) tool: String,
    /// The members of `_meta` that describe the client, as JSON.
    pub(super) identity: String,
}

impl PendingCall {
    /// Creates a request without special properties.
    pub(super) fn new(call: CallId, id: &str) -> Self {
        Self {
            call,
            id: id.into(),
            lists_tools: false,
            called: None,
            is_mended: false,
            probes: false,
            is_late: false,
            opens: None,
        }
    }
}

impl CalledTool {
    /// Reads a message; `None` if it does not call a tool.
    pub(super) fn read(source: &HeaderSource<'_>) -> Option<Self> {
        source.method.as_ref().filter(|method| **method == "tools/call")?;
        let tool = member(source.params?, "name").and_then(Str::from_literal)?;
        let mut identity = String::new();
        for (key, value) in MemberTexts::of(member(source.params?, "_meta")?) {
            // Other members, such as a progress token, belong to the call alone.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn called(method: &str) -> Option<CalledTool> {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":5,"method":"{method}","params":{{"name":"b","_meta":{{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/logLevel":"info","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        );
        CalledTool::read(&HeaderSource::read(call.as_bytes()))
    }

    #[test]
    fn only_the_identity_of_a_client_is_not_of_its_call_alone() {
        let identity = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;
        let expected = CalledTool { tool: "b".into(), identity: identity.into() };
        assert!(called("tools/call") == Some(expected));
        assert!(called("prompts/get").is_none());
    }
}
