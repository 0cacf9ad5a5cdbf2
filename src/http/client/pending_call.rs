//! [`PendingCall`], one request of the client on its way, and [`CalledTool`], the tool that it calls.
//!
//! Both are read from the message that leaves, so they cannot differ from it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::request::Said;
use crate::handle::CallId;
use crate::json::{MemberTexts, Str, member};

const PREFIX: &str = "io.modelcontextprotocol/";

/// A request of ours.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct PendingCall {
    pub(super) call: CallId,
    /// Its id, as it stands on the wire.
    pub(super) id: String,
    /// It asks for the tools, of which the answer is looked at.
    pub(super) lists_tools: bool,
    /// It calls a tool where there are no sessions.
    pub(super) called: Option<CalledTool>,
    /// It does so again, because it was refused for its header fields.
    pub(super) is_mended: bool,
    /// It asks whether there has to be a session.
    pub(super) probes: bool,
    /// It asks for a session, and may have to be asked in another way: the whole message.
    pub(super) opens: Option<Vec<u8>>,
}

/// Without what it says.
impl core::fmt::Debug for PendingCall {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("PendingCall")
            .field("call", &self.call)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// A call of a tool, as far as it takes to list the tools again because of it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct CalledTool {
    pub(super) tool: String,
    /// What the call says of the client, as members of an object.
    pub(super) identity: String,
}

impl PendingCall {
    /// A request of which nothing else has to be known.
    pub(super) fn new(call: CallId, id: &str) -> Self {
        Self {
            call,
            id: id.into(),
            lists_tools: false,
            called: None,
            is_mended: false,
            probes: false,
            opens: None,
        }
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
