//! Selects the upstream for a request of the client, and converts the request for it: without the prefix of the
//! name, and without the metadata of the connection.

use std::borrow::Cow;

use mcp_sansio::capability::Capability;
use mcp_sansio::json::Raw;
use mcp_sansio::{ClientRequest, Era, Request};

use crate::gateway::Gateway;
use crate::names;

/// The upstream for a request.
pub(crate) struct Destination {
    pub(crate) upstream: usize,
    pub(crate) is_search: bool,
}

/// The name or the URI in a request.
pub(crate) enum Subject<'a> {
    Name(Cow<'a, str>),
    Uri(Cow<'a, str>),
}

impl<'a> Subject<'a> {
    pub(crate) fn of(call: &'a ClientRequest<'_>) -> Option<Self> {
        Some(match call {
            ClientRequest::CallTool(tool) => Self::Name(tool.name.to_str()),
            ClientRequest::GetPrompt(prompt) => Self::Name(prompt.name.to_str()),
            ClientRequest::ReadResource { uri } => Self::Uri(uri.to_str()),
            ClientRequest::Complete(complete) => {
                let reference = &complete.reference;
                let text = |name| Some(reference.get(name)?.into_str()?.to_str().into_owned());
                match text("uri") {
                    Some(uri) => Self::Uri(uri.into()),
                    None => Self::Name(text("name")?.into()),
                }
            }
            _ => return None,
        })
    }
}

impl Gateway {
    pub(crate) fn destination(&self, call: &ClientRequest<'_>) -> Option<Destination> {
        match Subject::of(call)? {
            Subject::Name(name) => {
                let (upstream, _) = names::split(&name)?;
                let upstream = self.upstreams.iter().position(|other| other.name == upstream)?;
                Some(Destination { upstream, is_search: false })
            }
            Subject::Uri(uri) => match self.owner(&uri) {
                Some(upstream) => Some(Destination { upstream, is_search: false }),
                None => {
                    let upstream = self.next_with_resources(0)?;
                    Some(Destination { upstream, is_search: true })
                }
            },
        }
    }

    /// Returns the first upstream, from this index on, that may have resources.
    pub(crate) fn next_with_resources(&self, first: usize) -> Option<usize> {
        let may_have = |index: &usize| self.may_offer(*index, Capability::Resources);
        (first..self.upstreams.len()).find(may_have)
    }

    /// Whether an upstream has a capability, or is not connected yet.
    pub(crate) fn may_offer(&self, index: usize, capability: Capability) -> bool {
        let upstream = &self.upstreams[index];
        let client = &upstream.client;
        upstream.is_alive()
            && (client.revision().is_none() || client.peer_capabilities().contains(capability))
    }
}

/// Returns the params of a request for an upstream.
pub(crate) fn params(request: &Request<'_>, in_session: bool) -> Raw<'static> {
    // The gateway does not support tasks.
    let mut changes = vec![("task", None), ("_meta", request.meta_to_pass_on())];
    if let Some(Subject::Name(name)) = Subject::of(&request.kind)
        && let Some((_, name)) = names::split(&name)
    {
        let name = Some(names::text(name));
        changes.push(match &request.kind {
            ClientRequest::Complete(complete) => {
                ("ref", Some(complete.reference.edited(&[("name", name)])))
            }
            _ => ("name", name),
        });
    }
    if in_session {
        changes.extend([("inputResponses", None), ("requestState", None)]);
    } else if request.context.era() == Era::Legacy {
        // The inputs and the state come from the client's machine, which requested them.
        let state = request.state.clone().map(Raw::from);
        let brought = [("inputResponses", request.inputs.clone()), ("requestState", state)];
        changes.extend(brought.into_iter().filter(|(_, value)| value.is_some()));
    }
    request.params.as_ref().unwrap_or(&Raw::EMPTY_OBJECT).edited(&changes)
}
