//! Calls and notifications that wait for the handshake, encoded and in order.

use alloc::collections::VecDeque;

use super::Peer;
use super::call::{Call, Purpose, Whereabouts};
use super::call_options::CallError;
use super::calls::{Marks, write_call};
use super::cx::Cx;
use super::event::Outcome;
use super::exchanges::{Said, observe_sent};
use super::notify::Interest;
use super::outlets::{Lane, Observation};
use super::peer_event::PeerEvent;
use super::rare::{Empty, Rare};
use super::request_stamp::{RequestStamp, keep_params};
use super::rules::Expectation;
use super::waiting::Waiting;
use crate::dialect::methods::{NotificationKind, RequestKind};
use crate::frame::{Queue, Room, Serial, Tag};
use crate::handle::CallId;
use crate::json::{EncodeError, Envelope, Member, Raw, Str, Writer};
use crate::rpc::write_notification;

/// What waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Held {
    queue: Queue<Waiting>,
    /// Calls that may not be made in the session as it is, and have not been told so.
    refused: VecDeque<(CallId, CallError)>,
}

impl Empty for Held {
    const EMPTY: &'static Self = &Self { queue: Queue::new(), refused: VecDeque::new() };
}

impl Held {
    /// How many bytes wait.
    pub(super) const fn len(&self) -> usize {
        self.queue.len()
    }

    /// Takes in a message, unless more than `limit` bytes would wait.
    pub(super) fn hold(
        &mut self,
        limit: usize,
        waiting: Waiting,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
    ) -> Result<Serial, EncodeError> {
        self.queue.append(limit, waiting, b"", write)
    }

    /// Takes the last message out if it repeats the one in front of it.
    pub(super) fn drop_repeated(&mut self) -> bool {
        self.queue.drop_repeated()
    }

    pub(super) fn withdraw(&mut self, serial: Serial, lane: Lane, call: CallId) -> bool {
        self.queue.withdraw(serial, &Waiting { lane, call: Some(call), is_wanted: true })
    }

    /// Whether calls were refused that have not been told so.
    pub(super) fn has_refused(&self) -> bool {
        !self.refused.is_empty()
    }
}

impl Peer {
    /// Sends what was held, now that the handshake is complete and says what may be sent. It may
    /// exceed the limit of the outbox, because it has a limit of its own: so nothing is left that
    /// could be overtaken.
    pub(crate) fn flush_held(&mut self, cx: &mut Cx<'_, '_>) {
        if self.held.queue.is_empty() {
            return;
        }
        let mut queue = core::mem::take(&mut self.held.queue);
        for (message, waiting) in queue.drain() {
            let envelope = Envelope::scan(message, u8::MAX);
            let method = envelope.get(Member::Method).and_then(Str::from_literal);
            let method = method.as_ref().map(Str::to_str).unwrap_or_default();
            let params = envelope.get(Member::Params);
            match waiting.call {
                Some(call) if self.is_for_session(call) => {
                    self.begin_in_session(cx, call);
                }
                Some(call) => self.release_call(cx, call, &method, params),
                None => self.release_notification(cx, waiting, &method, params),
            }
        }
        if !self.held.has_refused() {
            self.held = Rare::EMPTY;
        }
    }

    /// Whether a call that was held is a subscription, and there is a session to stand for it.
    fn is_for_session(&mut self, call: CallId) -> bool {
        if !self.rules().session_subscribes {
            return false;
        }
        let Some(entry) = self.outbound.get_mut(call.0) else { return false };
        if entry.purpose != Purpose::Subscription {
            return false;
        }
        (entry.whereabouts, entry.idle, entry.idle_deadline) = (Whereabouts::Answered, None, None);
        self.outbound.pause_for_ever(call.0);
        self.set_deadline(call);
        true
    }

    /// Sends a call that was held, or marks it as refused.
    fn release_call(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        method: &str,
        params: Option<&str>,
    ) {
        let sent = self.try_release_call(cx, call, method, params);
        let whereabouts = match sent {
            Ok(serial) => Whereabouts::Lane(serial),
            Err(error) => {
                self.held.refused.push_back((call, error));
                Whereabouts::Withdrawn
            }
        };
        if let Some(entry) = self.outbound.get_mut(call.0) {
            entry.whereabouts = whereabouts;
        }
    }

    fn try_release_call(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        method: &str,
        params: Option<&str>,
    ) -> Result<Serial, CallError> {
        let kind = RequestKind::named(method);
        let mut clearance = self.clear_request(cx, method, kind)?;
        let rules = self.rules();
        let (Some(id), Some(entry)) = (self.outbound.id(call.0), self.outbound.get(call.0)) else {
            return Err(CallError::Closed);
        };
        let (kind, lane, options) = (entry.kind, entry.lane, entry.task_options());
        let task = options.map(|options| self.task_member(kind, options)).transpose()?.flatten();
        // The progress token is among the params already.
        let marks = Marks { task: task.as_deref(), ..Marks::default() };
        let params = params.map(Raw::trusted);
        let mut expectation = Expectation::default();
        let known = &self.elicitations;
        let stamp = RequestStamp::of(self.identity.as_deref(), rules, entry);
        let mut params_again = core::mem::take(&mut self.spare);
        let most = cx.config.limits.kept_bytes;
        let written = cx.out.lane(lane).append(Room::Held, Tag::Call(call), |writer| {
            let start = writer.position();
            write_call(writer, (id, method), &params, marks, &stamp, clearance.form)?;
            clearance.check_needs(writer)?;
            if stamp.is_some() {
                keep_params(&mut params_again, writer.since(start), most);
            }
            if let (Some(kind), Some(form), Some(params)) = (kind, clearance.form, &params) {
                expectation = Expectation::of(kind, params.as_json(), form.revision, known, most)?;
            }
            Ok(())
        });
        self.spare = params_again;
        self.store_params(call);
        if task.is_none() && options.is_some() && rules.asks_for_tasks {
            // The peer cannot.
            if let Some(entry) = self.outbound.get_mut(call.0) {
                entry.task = None;
            }
        }
        let serial = written.map_err(|error| clearance.explain::<CallError>(error))?;
        self.expect(cx, call, expectation);
        clearance.observe(method, cx.out);
        observe_sent(cx.out, lane, Said::Method(method));
        Ok(serial)
    }

    /// Sends a notification that was held, if it may be sent and anybody wants it.
    fn release_notification(
        &mut self,
        cx: &mut Cx<'_, '_>,
        waiting: Waiting,
        method: &str,
        params: Option<&str>,
    ) {
        let kind = NotificationKind::named(method);
        let clearance = self.clear_notification(cx, method, kind).ok();
        let kind = kind.filter(|_| !waiting.is_wanted && !cx.config.relay.covers(method));
        let interest = self.interest(kind, params.unwrap_or_default()).unwrap_or(Interest::No);
        let Some(clearance) = clearance.filter(|_| interest != Interest::No) else {
            return cx.out.observe(&Observation::Dropped { method });
        };
        let (lane, params) = (waiting.lane, params.map(Raw::trusted));
        let written = cx.out.lane(lane).append(Room::Held, Tag::Nothing, |writer| {
            write_notification(writer, method, &params, clearance.form)
        });
        if written.is_err() {
            return cx.out.observe(&Observation::Dropped { method });
        }
        if let Interest::Completes(id) = &interest {
            self.elicitations.complete(id);
        }
        clearance.observe(method, cx.out);
        observe_sent(cx.out, lane, Said::Method(method));
    }

    /// The next call that turned out not to be allowed.
    pub(super) fn next_refused(&mut self, cx: &mut Cx<'_, '_>) -> Option<PeerEvent<'static>> {
        while self.held.has_refused() {
            let (call, error) = self.held.refused.pop_front()?;
            // It may have been cancelled meanwhile.
            if let Some(entry) = self.outbound.get(call.0) {
                if entry.purpose == Purpose::TaskStep {
                    self.step_refused(call, error);
                    continue;
                }
                let parent = entry.parent.filter(|_| entry.purpose == Purpose::Input);
                let event = self.end_event(call, Outcome::NotMade(error));
                self.end_call(call);
                if let Some(parent) = parent {
                    if let Some(event) = self.input_failed(cx, parent) {
                        return Some(event);
                    }
                    continue;
                }
                return Some(event);
            }
        }
        None
    }

    /// The next call that was held for a handshake which will never be complete.
    pub(super) fn next_unsent(&mut self, cx: &mut Cx<'_, '_>) -> Option<PeerEvent<'static>> {
        while let Some(call) = self.held.queue.drain().find_map(|(_, waiting)| waiting.call) {
            if self.outbound.get(call.0).is_some_and(Call::is_nobodys) {
                self.end_call(call);
                continue;
            }
            let parent = self
                .outbound
                .get(call.0)
                .and_then(|entry| entry.parent.filter(|_| entry.purpose == Purpose::Input));
            let event = self.end_event(call, Outcome::Unsent);
            self.end_call(call);
            let event = match parent {
                Some(parent) => self.input_failed(cx, parent),
                None => Some(event),
            };
            if event.is_some() {
                return event;
            }
        }
        self.held = Rare::EMPTY;
        None
    }
}
