//! `Batch`: JSON-RPC batches of this side. Only sessions of 2025-03-26 have them, and only the application starts one
//! ([2025-03-26, batching](https://modelcontextprotocol.io/specification/2025-03-26/basic#batching)).

use alloc::string::String;
use alloc::vec::Vec;

use smallvec::SmallVec;

use super::answer_context::written;
use super::call_capacity::{has_room, make_room};
use super::call_options::{CallError, CallOptions};
use super::calls::Calls;
use super::cx::Cx;
use super::inbound_batches::write_array;
use super::notify::{Delivery, Interest, NotifyError, interest, may_notify};
use super::outboxes::{Observation, Outboxes, Route};
use super::outgoing_request::{Owner, Sent};
use super::send::{SentMessage, observe_sent};
use crate::capability::Capability;
use crate::config::ConnectionConfig;
use crate::dialect::methods::NotificationKind;
use crate::frame::{Framing, Outbox, Room, Tag};
use crate::handle::CallId;
use crate::json::Member;
use crate::model::method::{Method, Notification as Notifies};
use crate::rpc::{Ending, write_notification};
use crate::schema::{EncodeError, Payload};
use crate::time::Instant;

/// Why a batch could not be sent. No message was sent and no call was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The session is not open yet, or not any more.
    #[error("the session is not open")]
    NotReady,
    /// The revision of the session has no batches: only 2025-03-26 has them.
    #[error("the revision of the session has no batches")]
    NotInRevision,
    /// A call could not be made.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A notification could not be sent.
    #[error(transparent)]
    Notify(#[from] NotifyError),
    /// The outbox has no room for the batch.
    #[error("the batch could not be written: {0}")]
    Encode(#[from] EncodeError),
}

/// Calls and notifications that are sent as one JSON-RPC batch.
#[derive(Debug)]
pub struct Batch<'p> {
    calls: &'p mut Calls,
    config: &'p ConnectionConfig,
    now: Instant,
    messages: Collected,
    made: SmallVec<[CallId; 8]>,
}

/// The messages of a batch under construction. It stands in for all outboxes.
#[derive(Debug)]
struct Collected {
    outbox: Outbox,
    /// The undeclared capabilities that messages use, with their methods, for the observer.
    undeclared: Vec<(String, Capability)>,
}

impl Outboxes for Collected {
    fn outbox(&mut self, _: Route) -> &mut Outbox {
        &mut self.outbox
    }

    fn observe(&mut self, observation: &Observation<'_>) {
        if let Observation::NotDeclared { method, capability } = *observation {
            self.undeclared.push((method.into(), capability));
        }
    }
}

impl<'p> Batch<'p> {
    /// Creates an empty batch.
    pub(super) fn new(calls: &'p mut Calls, cx: &Cx<'p, '_>) -> Self {
        let mut outbox = Outbox::new(Framing::Messages, &cx.config.limits);
        // Only the outbox that the batch is sent to limits its size.
        outbox.set_limit(usize::MAX);
        let messages = Collected { outbox, undeclared: Vec::new() };
        Self { calls, config: cx.config, now: cx.now(), messages, made: SmallVec::new() }
    }

    /// Adds a call. Its single outcome arrives like that of any other call: the peer may respond to the batch at once
    /// or in pieces. A batch in the outbox cannot be withdrawn, so cancelling the call always notifies the peer.
    ///
    /// # Errors
    ///
    /// [`CallError`] if the call cannot be made. Messages added before stay in the batch.
    pub fn call<M: Method>(
        &mut self,
        params: &M::Params<'_>,
        options: CallOptions,
    ) -> Result<CallId, CallError> {
        self.call_method(M::NAME, params, options.of_method::<M>())
    }

    /// Adds a call of a method by name.
    ///
    /// # Errors
    ///
    /// The errors of [`call`](Self::call).
    pub fn call_method<T: Payload + ?Sized>(
        &mut self,
        method: &str,
        params: &T,
        options: CallOptions,
    ) -> Result<CallId, CallError> {
        let cx = &mut Cx::at(self.config, self.now, &mut self.messages);
        let Calls { messages, index, .. } = &mut *self.calls;
        let has_room = has_room(messages, index, cx);
        let mut order = messages.order(cx, method, Owner::Application, options, has_room)?;
        let call = messages.ask(cx, &mut order, method, &params)?;
        if let Some(asked) = messages.outgoing.get_mut(call.0) {
            // The request is in no outbox of the transport yet, and uses the route of the batch.
            (asked.route, asked.sent) = (Route::Connection, Sent::Withdrawn);
        }
        self.made.push(call);
        Ok(call)
    }

    /// Adds a notification.
    ///
    /// # Errors
    ///
    /// [`NotifyError`] if the notification cannot be added.
    pub fn notify<N: Notifies>(&mut self, params: &N::Params<'_>) -> Result<Delivery, NotifyError> {
        self.notify_method(N::NAME, params)
    }

    /// Adds a notification by name.
    ///
    /// # Errors
    ///
    /// The errors of [`notify`](Self::notify).
    pub fn notify_method<T: Payload + ?Sized>(
        &mut self,
        method: &str,
        params: &T,
    ) -> Result<Delivery, NotifyError> {
        let kind = NotificationKind::named(method);
        let cx = &mut Cx::at(self.config, self.now, &mut self.messages);
        let messages = &self.calls.messages;
        let mut permit = may_notify(messages, cx, method, kind)?;
        let kind = kind.filter(|_| !cx.config.relay.covers(method));
        let mut is_wanted = Ok(Interest::Yes);
        let written =
            cx.out.outbox(Route::Connection).append(Room::Limit, Tag::Nothing, |writer| {
                let start = writer.position();
                write_notification(writer, method, &params, permit.form)?;
                permit.check_needs(writer)?;
                is_wanted = interest(messages, kind, written(writer.since(start), Member::Params));
                // The error only rolls back the write: `is_wanted` is checked before it.
                if let Ok(Interest::No) | Err(_) = is_wanted {
                    Err(EncodeError::Payload)
                } else {
                    Ok(())
                }
            });
        match is_wanted? {
            Interest::No => return Ok(Delivery::NotWanted),
            Interest::Yes | Interest::Completes(_) => {
                written.map_err(|error| permit.explain::<NotifyError>(error))?;
            }
        };
        permit.observe(method, cx.out);
        Ok(Delivery::Sent)
    }

    /// Puts all messages into the outbox as one array.
    pub(super) fn send(&mut self, out: &mut dyn Outboxes) -> Result<(), EncodeError> {
        let Collected { outbox, undeclared } = &mut self.messages;
        if outbox.is_empty() {
            return Ok(());
        }
        let route = Route::Connection;
        let tag = if self.made.is_empty() { Tag::Nothing } else { Tag::Batch };
        let serial = out
            .outbox(route)
            .append(Room::Limit, tag, |writer| write_array(writer, outbox.messages()))?;
        if tag == Tag::Batch {
            out.note_batch(&self.made);
        }
        for call in self.made.drain(..) {
            if let Some(asked) = self.calls.messages.outgoing.get_mut(call.0) {
                asked.sent = Sent::InBatch(serial);
            }
        }
        let Calls { messages, index, .. } = &mut *self.calls;
        make_room(messages, index, &mut Cx::at(self.config, self.now, out));
        for (method, capability) in undeclared {
            out.observe(&Observation::NotDeclared { method, capability: *capability });
        }
        observe_sent(out, route, SentMessage::Result);
        Ok(())
    }
}

/// Removes the calls of a batch that was not sent; they end without an event.
impl Drop for Batch<'_> {
    fn drop(&mut self) {
        for call in self.made.drain(..) {
            self.calls.messages.outgoing.remove(call.0, Ending::Closed);
        }
    }
}
