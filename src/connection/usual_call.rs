//! The short path of the usual `tools/call`, which is most of what a server receives.

use super::context::{Negotiated, RequestContext, TaskRequest};
use super::cx::Cx;
use super::incoming_request::{IncomingRequest, UsualCall};
use super::messages::Messages;
use super::request_meta::RequestMeta;
use super::routing::Side;
use crate::capability::Capability;
use crate::config::Relay;
use crate::dialect::methods::RequestKind;
use crate::json::{Object, Str};
use crate::rpc::Recycle;
use crate::session::Phase;
use crate::task::EXTENSION;

/// Admits a `tools/call` if all its members are usual and no setting needs a closer look: its params and its context
/// are put into the request. Returns whether it did.
///
/// The path refuses nothing: a request that it does not admit takes the general one, which gives the same result for
/// every request that this one admits. Debug builds compare the two.
#[inline]
pub(super) fn admit_usual_call<C: Recycle>(
    messages: &Messages<C>,
    cx: &Cx<'_, '_>,
    request: &mut IncomingRequest<'_, '_>,
    request_meta: &RequestMeta<'_>,
) -> bool {
    let session = &messages.session;
    let is_usual = request.method.as_wire() == RequestKind::CallTool.rule().name
        && session.role == Side::Server
        && matches!(cx.config.relay, Relay::Nothing)
        && request.received.batch.is_none()
        && messages.lifecycle.phase != Phase::Draining;
    if !is_usual {
        return false;
    }
    let Some(call) = request.params.as_ref().and_then(usual_params) else { return false };
    match request_meta {
        RequestMeta::Absent => {
            let Some(negotiated) = session.negotiated.filter(offers_tools) else { return false };
            request.context = negotiated.into();
        }
        RequestMeta::Modern(meta) => {
            let own = session.identity().filter(|own| !own.one_era);
            if !own.is_some_and(|own| own.offered.contains(Capability::Tools)) {
                return false;
            }
            let knows_tasks = session.has_extension(EXTENSION, meta.extensions);
            let task = knows_tasks.then(TaskRequest::default);
            request.context = RequestContext { task, ..(*meta).into() };
        }
        RequestMeta::Unsupported(_) | RequestMeta::Malformed(_) => return false,
    }
    request.usual_call = Some(call);
    true
}

const fn offers_tools(negotiated: &Negotiated) -> bool {
    negotiated.ours.contains(Capability::Tools)
}

/// Returns the params if they have the name of a tool and no other members but arguments and `_meta`, each once and of
/// its type.
#[inline]
fn usual_params<'a>(params: &Object<'_, 'a>) -> Option<UsualCall<'a>> {
    let [name, arguments, meta] = params.call_params()?;
    let is_object = |text: Option<&str>| text.is_none_or(|text| text.starts_with('{'));
    let name = Str::from_literal(name?)?;
    if !is_object(arguments) || !is_object(meta) {
        return None;
    }
    Some(UsualCall { name, arguments: arguments.map(|text| params.arguments(text)) })
}
