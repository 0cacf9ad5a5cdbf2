//! The tools of a server that run as tasks in a session
//! ([tool-level negotiation](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#tool-level-negotiation)).

use alloc::string::String;

use super::Client;
use crate::capability::{Capability, CapabilitySet};
use crate::connection::{CallError, CallOptions, TaskOptions};
use crate::dialect::NotAllowed;
use crate::json::{Elements, Raw, Str, member};
use crate::model::TaskSupport;
use crate::ordered::Ordered;
use crate::version::Revision;

/// What a server has said of its tools: which of them may, must or must not run as tasks.
///
/// It is learned from `tools/list`, page by page; only a list that has been read to its end replaces what
/// is known. Forget it when the list changes. A tool that is not known runs as no task.
///
/// ```
/// use mcp_sansio::call::ToolTasks;
/// use mcp_sansio::json::Raw;
/// use mcp_sansio::model::TaskSupport;
///
/// let mut tools = ToolTasks::default();
/// let page = r#"{"tools":[{"name":"slow","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}"#;
/// tools.page(&Raw::new(page)?);
/// tools.finish();
/// assert_eq!(tools.support("slow"), TaskSupport::Required);
/// assert_eq!(tools.support("quick"), TaskSupport::Forbidden);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ToolTasks {
    /// Whether a tool runs only as a task. Those that run as none are not here.
    known: Ordered<String, bool>,
    coming: Ordered<String, bool>,
}

impl ToolTasks {
    /// A page of the list has come: the result of `tools/list`.
    pub fn page(&mut self, result: &Raw<'_>) {
        for tool in Elements::of(member(result.as_json(), "tools").unwrap_or_default()) {
            let text = tool.as_json();
            let string = |object, name| member(object, name).and_then(Str::from_literal);
            let execution = member(text, "execution").unwrap_or_default();
            let support = string(execution, "taskSupport");
            let only = match support.as_ref().map(|support| support.to_str()).as_deref() {
                Some("required") => true,
                Some("optional") => false,
                _ => continue,
            };
            if let Some(name) = string(text, "name") {
                self.coming.insert(name.to_str().into_owned(), only);
            }
        }
    }

    /// The list has come to its end.
    pub fn finish(&mut self) {
        self.known = core::mem::take(&mut self.coming);
    }

    /// The list is read from its beginning again: the pages so far do not count.
    pub fn restart(&mut self) {
        self.coming.clear();
    }

    /// The list has changed: nothing is known until it has been read again.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Whether a tool may, must or must not run as a task.
    pub fn support(&self, tool: &str) -> TaskSupport<'static> {
        match self.known.get(tool) {
            None => TaskSupport::Forbidden,
            Some(false) => TaskSupport::Optional,
            Some(true) => TaskSupport::Required,
        }
    }

    /// How to call a tool of a server that speaks this revision and has declared these capabilities, as a task
    /// if `wish` says so: see [`Client::tool_options`].
    ///
    /// # Errors
    ///
    /// [`CallError::NotAllowed`] if the tool runs as no task and a task is wished for.
    pub fn options(
        &self,
        tool: &str,
        revision: Revision,
        capabilities: CapabilitySet,
        wish: Option<TaskOptions>,
    ) -> Result<CallOptions, CallError> {
        let plain = CallOptions::new();
        let wished = wish.map_or(plain, |options| plain.task(options));
        let has_tasks = capabilities.contains(Capability::ServerTasksCallTool);
        if !revision.rules().tasks.asked_for || !has_tasks {
            return Ok(wished);
        }
        match self.support(tool) {
            TaskSupport::Optional => Ok(wished),
            TaskSupport::Required => Ok(plain.task(wish.unwrap_or_default())),
            _ if wish.is_some() => Err(NotAllowed::TaskSupport.into()),
            _ => Ok(plain),
        }
    }
}

impl Client {
    /// How to call a tool, as a task if `wish` says so: always as one if the tool runs in no other way. The
    /// calls of a session whose server has no tasks are plain whatever it says of its tools. Where there are
    /// no sessions, or it is not known yet whether there are, that is for the server to decide.
    ///
    /// # Errors
    ///
    /// [`CallError::NotAllowed`] if the tool runs as no task and a task is wished for.
    pub fn tool_options(
        &self,
        tools: &ToolTasks,
        tool: &str,
        wish: Option<TaskOptions>,
    ) -> Result<CallOptions, CallError> {
        let revision = self.revision().unwrap_or(Revision::LATEST_MODERN);
        tools.options(tool, revision, self.peer_capabilities(), wish)
    }
}
