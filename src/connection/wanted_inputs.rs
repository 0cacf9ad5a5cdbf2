//! Inputs that the peer requires, as requests to the application: their checks, their admission and their withdrawal.

use alloc::string::String;
use alloc::vec::Vec;

use super::context::RequestContext;
use super::cx::Cx;
use super::event::CancelCause;
use super::exchange::Exchange;
use super::inputs::{Need, Wanted};
use super::messages::Messages;
use super::session::Session;
use crate::capability::CapabilitySet;
use crate::dialect::check_params;
use crate::dialect::methods::Sender;
use crate::handle::{IncomingId, SlotKey};
use crate::json::Object;
use crate::rpc::{Ending, Recycle};
use crate::schema::{Additions, Empty, EncodeError, Misfit, Payload, PayloadWriter, Writer, fits};

/// Whether a server may require this input, for a call that declares no more than `narrowed`.
pub(super) fn may_be_required(
    session: &Session,
    wanted: &Wanted,
    narrowed: Option<CapabilitySet>,
) -> bool {
    let Some(negotiated) = session.negotiated else { return false };
    let ours = narrowed.map_or(negotiated.ours, |narrowed| narrowed.narrow(negotiated.ours));
    let rule = wanted.kind.rule();
    let is_input = rule.is_input_request();
    let offered = rule.gate(Sender::Server).is_none_or(|gate| ours.contains(gate));
    let shaped = || {
        let params = wanted.params.as_deref();
        let needs = fits(rule.params(negotiated.revision), params.map(Object::of).as_ref())?;
        check_params(wanted.kind, params.unwrap_or_default())?;
        Ok::<_, Misfit>(needs.known_to(negotiated.revision))
    };
    is_input && offered && shaped().is_ok_and(|needs| needs.minus(ours).is_empty())
}

/// Puts a request to the application into the table. The request has no id on the wire.
pub(super) fn admit_for<C: Recycle>(
    messages: &mut Messages<C>,
    cx: &Cx<'_, '_>,
    wanted: &Wanted,
    need: Need,
) -> SlotKey {
    let context = messages.session.negotiated.map(RequestContext::from).unwrap_or_default();
    let incoming = &mut messages.incoming;
    let place = incoming.table.insert_unnamed(|exchange| {
        exchange.context = context;
        exchange.kind = Some(wanted.kind);
        exchange.need = Some(need);
        exchange.bytes = wanted.bytes();
        let params = wanted.params.as_deref().unwrap_or_default();
        let most = cx.config.limits.kept_bytes;
        exchange.kept.keep(wanted.kind, params, context.revision, most);
    });
    incoming.bytes += wanted.bytes();
    incoming.push_unannounced(place);
    messages.outgoing.clock_mut().begin_asking(cx.now());
    place
}

/// Withdraws requests to the application. The application is notified of those that it has received.
pub(super) fn withdraw<C: Recycle>(
    messages: &mut Messages<C>,
    places: impl Iterator<Item = SlotKey>,
    cause: CancelCause,
) {
    let mut unannounced = 0;
    for place in places {
        let Some(exchange) = messages.incoming.table.get(place) else { continue };
        if exchange.need.is_some_and(|need| need.is_announced) {
            messages.incoming.mark(place, cause);
        } else {
            // A request for input has started no other work.
            _ = messages.take(IncomingId(place), Ending::Cancelled);
            unannounced += 1;
        }
    }
    if 0 < unannounced {
        messages.incoming.note_unannounced_ended(unannounced);
    }
}

/// Returns the result of a request to the application, in the form that the peer receives.
pub(super) fn answer_text(
    exchange: &Exchange,
    result: &dyn Payload,
) -> Result<String, EncodeError> {
    let Some(kind) = exchange.kind else { return Err(EncodeError::Payload) };
    let form = Some(kind.rule().result(exchange.context.revision));
    let mut buffer = Vec::new();
    let mut writer = Writer::new(&mut buffer, usize::MAX);
    let payload = PayloadWriter::new(&mut writer, "", Empty::Braces, &Additions::NONE, form);
    result.write(payload)?;
    let text = String::from_utf8(buffer).map_err(|_| EncodeError::Payload)?;
    exchange.kept.check_result(kind, &text)?;
    Ok(text)
}
