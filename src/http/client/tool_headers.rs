//! [`ToolHeaders`], the arguments of the tools of a server that are repeated in header fields
//! ([custom headers](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http)).

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::request::{HeaderSource, Labels};
use crate::http::{InvalidAnnotation, ParamHeaders};
use crate::json::{Elements, MemberTexts, Raw, Str, member};

/// The header fields of a tool call cannot be written: an argument is out of range, or the tool is invalid.
pub(super) struct UnencodableHeader;

/// The latest listed tools of a server whose annotations matter: those with header fields, and invalid ones.
///
/// The tools that were listed first are dropped first, beyond a number of tools and of bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ToolHeaders {
    known: BTreeMap<Arc<str>, KnownTool>,
    /// The names of the tools, in the order of their first listing.
    order: BTreeMap<u64, Arc<str>>,
    /// The place in `order` of the next new tool.
    next_place: u64,
    /// The bytes of all tools.
    bytes: usize,
    most: usize,
    most_bytes: usize,
}

/// A tool with annotations.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct KnownTool {
    headers: Result<ParamHeaders, InvalidAnnotation>,
    place: u64,
    bytes: usize,
}

impl ToolHeaders {
    pub(super) const fn new(most: usize, most_bytes: usize) -> Self {
        Self {
            known: BTreeMap::new(),
            order: BTreeMap::new(),
            next_place: 0,
            bytes: 0,
            most,
            most_bytes,
        }
    }

    pub(super) fn invalid(&self) -> impl Iterator<Item = (&str, &InvalidAnnotation)> {
        self.known.iter().filter_map(|(name, tool)| Some((&**name, tool.headers.as_ref().err()?)))
    }

    /// Returns the header fields that repeat arguments, if this message calls a tool.
    pub(super) fn labels(&self, source: &HeaderSource<'_>) -> Result<Labels, UnencodableHeader> {
        let is_call = source.method.as_ref().is_some_and(|method| *method == "tools/call");
        let params = source.params.filter(|_| is_call).unwrap_or_default();
        let Some(tool) = member(params, "name").and_then(Str::from_literal) else {
            return Ok(Labels::new());
        };
        let arguments = member(params, "arguments").map(Raw::trusted);
        let repeated = self.repeated(&tool.to_str(), arguments.as_ref())?;
        Ok(repeated.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    /// Returns the header fields of a tool call: none for a tool that was not listed.
    fn repeated(
        &self,
        tool: &str,
        arguments: Option<&Raw<'_>>,
    ) -> Result<Vec<(String, String)>, UnencodableHeader> {
        match self.known.get(tool).map(|tool| &tool.headers) {
            None => Ok(Vec::new()),
            Some(Ok(headers)) => headers.of_call(arguments).map_err(|_| UnencodableHeader),
            Some(Err(_)) => Err(UnencodableHeader),
        }
    }

    /// Records the tools of a page. If some cannot be called, writes the message without them to the buffer,
    /// otherwise byte for byte unchanged, and returns true.
    pub(super) fn learn(&mut self, message: &str, buffer: &mut Vec<u8>) -> bool {
        let result = member(message, "result").unwrap_or_default();
        let tools = member(result, "tools").unwrap_or_default();
        let mut kept = Vec::new();
        let mut is_complete = true;
        for tool in Elements::of(tools) {
            let Some(tool) = tool.borrowed() else { continue };
            if self.learn_tool(tool) {
                kept.push(tool);
            } else {
                is_complete = false;
            }
        }
        if is_complete {
            return false;
        }
        buffer.clear();
        splice(message, tools, &kept, buffer)
    }

    /// Records one tool. Returns whether it can be called.
    fn learn_tool(&mut self, tool: &str) -> bool {
        let (mut name, mut schema) = (None, None);
        for (key, value) in MemberTexts::of(tool) {
            if key == "name" {
                name = Str::from_literal(value);
            } else if key == "inputSchema" {
                schema = Some(value);
            }
        }
        // Values that are not tools are left to other checks.
        let (Some(name), Some(schema)) = (name, schema) else { return true };
        let headers = ParamHeaders::of(&Raw::trusted(schema));
        let is_valid = headers.is_ok();
        self.replace(&name.to_str(), headers);
        is_valid
    }

    /// Replaces the annotations of a tool. A tool that is listed again keeps its place; one without annotations takes
    /// no memory.
    fn replace(&mut self, name: &str, headers: Result<ParamHeaders, InvalidAnnotation>) {
        let before = self.remove(name);
        let texts = match &headers {
            Ok(headers) if headers.is_empty() => return,
            Ok(headers) => headers.bytes(),
            Err(invalid) => invalid.place.len(),
        };
        let place = before.unwrap_or_else(|| {
            self.next_place += 1;
            self.next_place
        });
        let bytes = texts + name.len() + size_of::<(Arc<str>, KnownTool, u64)>();
        let name: Arc<str> = Arc::from(name);
        self.order.insert(place, Arc::clone(&name));
        self.known.insert(name, KnownTool { headers, place, bytes });
        self.bytes += bytes;
        while (self.most < self.known.len() || self.most_bytes < self.bytes)
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.remove(&oldest);
        }
    }

    /// Removes a tool. Returns its place.
    fn remove(&mut self, name: &str) -> Option<u64> {
        let KnownTool { place, bytes, .. } = self.known.remove(name)?;
        self.order.remove(&place);
        self.bytes -= bytes;
        Some(place)
    }
}

/// Writes a message with other elements in one of its arrays. `array` is a part of `message`.
fn splice(message: &str, array: &str, elements: &[&str], buffer: &mut Vec<u8>) -> bool {
    let start = (array.as_ptr() as usize).checked_sub(message.as_ptr() as usize);
    let Some((before, rest)) = start.and_then(|start| message.split_at_checked(start)) else {
        return false;
    };
    let Some(after) = rest.get(array.len()..) else { return false };
    buffer.extend_from_slice(before.as_bytes());
    buffer.push(b'[');
    for (index, element) in elements.iter().enumerate() {
        if 0 < index {
            buffer.push(b',');
        }
        buffer.extend_from_slice(element.as_bytes());
    }
    buffer.push(b']');
    buffer.extend_from_slice(after.as_bytes());
    true
}
