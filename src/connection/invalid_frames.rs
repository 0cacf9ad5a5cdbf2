//! Reports frames that are not valid messages, and responds to them where the protocol requires it.

use core::fmt;

use super::Side;
use super::common_event::CommonEvent;
use super::cx::Cx;
use super::detail::Detail;
use super::event::Violation;
use super::messages::Messages;
use super::outboxes::Received;
use super::reception::Reception;
use crate::codes::ViolationKind;
use crate::dialect::features::Feature;
use crate::frame::Frame;
use crate::rpc::{Defective, ErrorData, Fault, Intent, Recycle, ReplyTo};
use crate::schema::Misfit;

/// The error message for the peer: the defect of a request, in one sentence.
struct Complaint {
    kind: ViolationKind,
    misfit: Option<Misfit>,
}

impl fmt::Display for Complaint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.kind.text();
        match &self.misfit {
            Some(misfit) => write!(formatter, "{text}: {misfit}"),
            None => formatter.write_str(text),
        }
    }
}

/// Handles a frame that is not a well-formed message and ends no call.
pub(super) fn defective<'a, C: Recycle>(
    messages: &mut Messages<C>,
    cx: &mut Cx<'_, '_>,
    defective: Defective<'a>,
    frame: Frame<'a>,
    reception: &Reception,
) -> Option<CommonEvent<'a>> {
    let Defective { kind, id, meant, intent } = defective;
    let (bytes, origin) = (frame.bytes(), frame.origin());
    let id = id.filter(|_| meant);
    let fragment = matches!(
        kind,
        ViolationKind::NotJson | ViolationKind::SplitOverLines | ViolationKind::NotAMessage
    );
    let violations = &mut messages.violations;
    if fragment && id.is_none() && violations.belongs_to_split_text(bytes) {
        return None;
    }
    let kind = violations.refine(kind, bytes, origin);
    let violation = Violation::of(kind, id, bytes);
    let is_answered = !matches!(intent, Intent::Notification | Intent::Response);
    if !is_answered {
        return violations.report(cx, violation);
    }
    report_and_answer(messages, cx, violation, None, reception)
}

/// Reports a violation, and responds to it if that is due, with additional error data if there is any.
pub(super) fn report_and_answer<'a, C: Recycle>(
    messages: &mut Messages<C>,
    cx: &mut Cx<'_, '_>,
    mut violation: Violation<'a>,
    detail: Option<&Detail>,
    reception: &Reception,
) -> Option<CommonEvent<'a>> {
    let received = reception.received;
    if let Some(code) = violation.kind.code().filter(|_| messages.session.sends_responses()) {
        let message = Complaint { kind: violation.kind, misfit: violation.misfit };
        let fault =
            Fault { code, message: &message, data: detail.map(|detail| detail as &dyn ErrorData) };
        violation.answered = match &violation.id {
            // The peer would take the error for the response to its request that already has this id.
            Some(id) if !cx.config.serves_duplicates() && messages.is_in_flight(id) => false,
            Some(id) => {
                let is_long = violation.kind == ViolationKind::LongId;
                messages.send_error(cx, received, ReplyTo::To(id), fault)
                    || is_long && reply_without_id(messages, cx, received, fault)
            }
            None => reply_without_id(messages, cx, received, fault),
        };
    }
    messages.violations.report(cx, violation)
}

/// Responds to a message without a usable id, if the configuration allows it. Returns whether a response was sent.
fn reply_without_id<C: Recycle>(
    messages: &mut Messages<C>,
    cx: &mut Cx<'_, '_>,
    received: Received,
    fault: Fault<'_>,
) -> bool {
    let session = &messages.session;
    let Some(policy) = cx.config.replies_without_id.filter(|_| session.role == Side::Server) else {
        return false;
    };
    // The replacement for the id that could not be read.
    let no_id = match session.negotiated {
        Some(negotiated) if !Feature::AbsentErrorId.is_in(negotiated.revision) => ReplyTo::Null,
        _ => ReplyTo::Absent,
    };
    messages.violations.may_reply(policy, received.now)
        && messages.send_error(cx, received, no_id, fault)
}
