//! The tools of a server that run as tasks in the legacy era
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

/// The task support of the tools of one server: which tools may, must or must not run as tasks.
///
/// It is read from `tools/list`, page by page. Only a list that was read to its end replaces the previous one. Call
/// [`forget`](Self::forget) when the list changes. An unknown tool does not run as a task.
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
    /// The tools that support tasks, and whether a tool runs only as a task.
    known: Ordered<String, bool>,
    coming: Ordered<String, bool>,
}

impl ToolTasks {
    /// Adds a page of the list: the result of `tools/list`.
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

    /// Ends the list: its pages replace the previous list.
    pub fn finish(&mut self) {
        self.known = core::mem::take(&mut self.coming);
    }

    /// Discards the pages so far, because the list is read from its beginning again.
    pub fn restart(&mut self) {
        self.coming.clear();
    }

    /// Discards all tools, because the list has changed and has to be read again.
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

    /// Returns the options for calling a tool, given the revision and the capabilities of the server. The call
    /// becomes a task if `wish` is set: see [`Client::tool_options`].
    ///
    /// # Errors
    ///
    /// [`CallError::NotAllowed`] if `wish` is set for a tool that does not run as a task, in a session with tasks.
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
    /// Returns the options for calling a tool. The call becomes a task if `wish` is set, and always if the tool runs
    /// only as a task. In a session whose server has no tasks, calls are plain, even if its tool list requires tasks.
    /// In the modern era, and until the era is known, the server decides.
    ///
    /// # Errors
    ///
    /// [`CallError::NotAllowed`] if `wish` is set for a tool that does not run as a task, in a session with tasks.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_read_again_forgets_its_earlier_pages() {
        let page = |name: &str| {
            let tool = r#"{"tools":[{"name":"NAME","execution":{"taskSupport":"optional"}}]}"#;
            tool.replace("NAME", name)
        };
        let mut tools = ToolTasks::default();
        tools.page(&Raw::trusted(&page("gone")));
        tools.restart();
        tools.page(&Raw::trusted(&page("there")));
        tools.finish();
        assert_eq!(tools.support("gone"), TaskSupport::Forbidden);
        assert_eq!(tools.support("there"), TaskSupport::Optional);
    }
}
