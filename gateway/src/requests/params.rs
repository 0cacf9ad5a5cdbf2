//! The params of a request, as they are passed on.

use std::borrow::Cow;
use std::collections::BTreeMap;

use mcp_sansio::event::Notification;
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

/// The member of `_meta` that names a task at its server. The id is enough to use the task there.
const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// Returns a result of a server for a client. The machine of the client adds the result type where the revision
/// requires it.
pub(crate) fn result_for_client(result: &Raw<'_>) -> Raw<'static> {
    let mut changes = vec![("resultType", None)];
    changes.extend(with_task(result, None));
    result.edited(&changes)
}

/// Returns the params of a notification of a server for a client, which belongs to this task of the client.
pub(crate) fn of_notification(notification: &Notification<'_>, task: Option<&str>) -> Raw<'static> {
    let empty = Raw::EMPTY_OBJECT;
    let params = notification.params.as_ref().unwrap_or(&empty);
    params.edited(with_task(params, task).as_slice())
}

/// Returns the change that replaces the task at a server by that of the client in the metadata of a message.
fn with_task(
    message: &Raw<'_>,
    task: Option<&str>,
) -> Option<(&'static str, Option<Raw<'static>>)> {
    let meta = message.get("_meta");
    let has_task = meta.as_ref().is_some_and(|meta| meta.get(RELATED_TASK).is_some());
    if task.is_none() && !has_task {
        return None;
    }
    let task = task.and_then(|id| Raw::from_serialize(&BTreeMap::from([("taskId", id)])).ok());
    let meta = meta.unwrap_or(Raw::EMPTY_OBJECT).edited(&[(RELATED_TASK, task)]);
    Some(("_meta", Some(meta).filter(|meta| meta.members().next().is_some())))
}

/// Returns the params of a request of a server, without the metadata of its connection.
pub(crate) fn for_client(request: &RequestFromServer<'_>) -> Option<Raw<'static>> {
    let params = request.params.as_ref()?;
    Some(params.edited(&[("_meta", request.meta_to_pass_on())]))
}
