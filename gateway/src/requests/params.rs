//! The params of a request, as they are passed on.

use std::borrow::Cow;

use mcp_sansio::json::Raw;
use mcp_sansio::{ClientRequest, Era, Request, RequestFromServer};

use super::routes::text;

/// The name or the URI in a request.
pub(crate) enum Subject<'a> {
    Name(Cow<'a, str>),
    Uri(Cow<'a, str>),
}

impl<'a> Subject<'a> {
    pub(crate) fn of(request: &'a ClientRequest<'_>) -> Option<Self> {
        Some(match request {
            ClientRequest::CallTool(tool) => Self::Name(tool.name.to_str()),
            ClientRequest::GetPrompt(prompt) => Self::Name(prompt.name.to_str()),
            ClientRequest::ReadResource { uri } => Self::Uri(uri.to_str()),
            ClientRequest::Complete(complete) => match text(&complete.reference, "uri") {
                Some(uri) => Self::Uri(uri.into()),
                None => Self::Name(text(&complete.reference, "name")?.into()),
            },
            _ => return None,
        })
    }
}

/// Returns the params of a request for a server: with the name there, and without what concerns only the connection of the
/// client. `state` is the request state of the server.
pub(crate) fn for_server(
    request: &Request<'_>,
    name: Option<&str>,
    state: Option<&str>,
    in_session: bool,
) -> Raw<'static> {
    // The gateway runs tasks itself.
    let mut changes = vec![("task", None), ("_meta", request.meta_to_pass_on())];
    if let Some(name) = name.and_then(|name| Raw::from_serialize(name).ok()) {
        changes.push(match &request.kind {
            ClientRequest::Complete(complete) => {
                ("ref", Some(complete.reference.edited(&[("name", Some(name))])))
            }
            _ => ("name", Some(name)),
        });
    }
    let state = state.and_then(|state| Raw::from_serialize(state).ok());
    changes.push(("requestState", state.filter(|_| !in_session)));
    if in_session {
        changes.push(("inputResponses", None));
    } else if request.context.era() == Era::Legacy && request.inputs.is_some() {
        // The machine of the client has gathered them.
        changes.push(("inputResponses", request.inputs.clone()));
    }
    request.params.as_ref().unwrap_or(&Raw::EMPTY_OBJECT).edited(&changes)
}

/// Returns the params of a request of a server, without the metadata of its connection.
pub(crate) fn for_client(request: &RequestFromServer<'_>) -> Option<Raw<'static>> {
    let params = request.params.as_ref()?;
    Some(params.edited(&[("_meta", request.meta_to_pass_on())]))
}
