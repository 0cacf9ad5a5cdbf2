//! The checks of a frame before its text is read: framing faults and batches.

use core::ops::ControlFlow;

use super::common_event::CommonEvent;
use super::cx::Cx;
use super::event::Violation;
use super::invalid_frames::{defective, report_and_answer};
use super::messages::Messages;
use super::reception::Reception;
use crate::codes::ViolationKind;
use crate::dialect::features::Feature;
use crate::frame::{Element, Frame, Origin};
use crate::json::Envelope;
use crate::rpc::{Defective, Intent, Message, Recycle, classify, defect_kind};

/// Checks a frame. `Break` means that the text of the frame must not be read, and contains the event, if any.
#[inline]
pub(super) fn take_in<'a, C: Recycle>(
    messages: &mut Messages<C>,
    cx: &mut Cx<'_, '_>,
    frame: Frame<'a>,
    reception: &mut Reception,
) -> ControlFlow<Option<CommonEvent<'a>>> {
    if let Origin::Element(element) = frame.origin() {
        return take_element(messages, cx, (frame, element), reception);
    }
    // A new frame also ends a batch whose last element was never received.
    end_batch(messages, cx);
    let Some(kind) = framing_fault(cx, frame) else { return ControlFlow::Continue(()) };
    let fault = Defective { kind, id: None, meant: true, intent: Intent::Other };
    let mut event = defective(messages, cx, fault, frame, reception);
    if let (Some(CommonEvent::Violation(violation)), Origin::TooLong { length }) =
        (&mut event, frame.origin())
    {
        violation.length = length;
    }
    ControlFlow::Break(event)
}

/// Ends the batch whose elements are being received.
pub(super) fn end_batch<C: Recycle>(messages: &mut Messages<C>, cx: &mut Cx<'_, '_>) {
    let batches = &mut messages.incoming.batches;
    if batches.has_current() && batches.end_current(cx.out) {
        messages.violations.note(ViolationKind::MixedBatch);
    }
}

/// Returns the framing fault of a frame, independent of its text.
fn framing_fault(cx: &Cx<'_, '_>, frame: Frame<'_>) -> Option<ViolationKind> {
    match frame.origin() {
        // A frame that did not pass through an inbox can also be too long.
        Origin::Message | Origin::LastLine => {
            (cx.config.limits.frame_bytes < frame.bytes().len()).then_some(ViolationKind::TooLong)
        }
        Origin::Element(_) => None,
        Origin::TooLong { .. } => Some(ViolationKind::TooLong),
        Origin::EmptyBatch => Some(ViolationKind::EmptyBatch),
        Origin::LongBatch => Some(ViolationKind::LongBatch),
        Origin::BrokenBatch(error) => Some(defect_kind(error.kind())),
    }
}

/// Handles an element of a batch. The element is a message if the session supports batches.
#[inline(never)]
fn take_element<'a, C: Recycle>(
    messages: &mut Messages<C>,
    cx: &mut Cx<'_, '_>,
    (frame, element): (Frame<'a>, Element),
    reception: &mut Reception,
) -> ControlFlow<Option<CommonEvent<'a>>> {
    let Some(session) = messages.session.negotiated else {
        return ControlFlow::Break(early_element(messages, cx, (frame, element), reception));
    };
    if !Feature::Batches.is_in(session.revision) {
        // One array is one violation, and its elements are not read.
        return ControlFlow::Break(forbidden_batch(messages, cx, (frame, element), reception));
    }
    if element.index == 0 {
        end_batch(messages, cx);
    }
    let route = reception.received.route;
    reception.received.batch = messages.incoming.batches.begin_element(element, route);
    ControlFlow::Continue(())
}

/// Handles an element of a batch before a session is negotiated: each request is refused under its own id.
fn early_element<'a, C: Recycle>(
    messages: &mut Messages<C>,
    cx: &mut Cx<'_, '_>,
    (frame, element): (Frame<'a>, Element),
    reception: &Reception,
) -> Option<CommonEvent<'a>> {
    let config = cx.config;
    let envelope = Envelope::scan(frame.bytes(), config.limits.depth);
    match classify(&envelope, &config.limits, config.versions()) {
        Ok(Message::Request { id, .. }) => {
            let kind = ViolationKind::BatchNotAllowed;
            let violation = Violation::of(kind, Some(id), frame.bytes());
            report_and_answer(messages, cx, violation, None, reception)
        }
        _ => forbidden_batch(messages, cx, (frame, element), reception),
    }
}

fn forbidden_batch<'a, C: Recycle>(
    messages: &mut Messages<C>,
    cx: &mut Cx<'_, '_>,
    (frame, element): (Frame<'a>, Element),
    reception: &Reception,
) -> Option<CommonEvent<'a>> {
    if 0 < element.index {
        messages.violations.pass_over();
        return None;
    }
    let violation = Violation::of(ViolationKind::BatchNotAllowed, None, frame.bytes());
    report_and_answer(messages, cx, violation, None, reception)
}
