//! Batches of ours, which only a session of 2025-03-26 has and which are sent only if asked for
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
use super::send::{Said, observe_sent};
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

/// Why a batch could not be sent. Nothing was, and no call was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The session is not open, or not any more.
    #[error("the session is not open")]
    NotReady,
    /// The revision of the session has no batches: only 2025-03-26 does.
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

/// Calls and notifications that go out as one JSON-RPC batch.
#[derive(Debug)]
pub struct Batch<'p> {
    calls: &'p mut Calls,
    config: &'p ConnectionConfig,
    now: Instant,
    messages: Collected,
    made: SmallVec<[CallId; 8]>,
}

/// The messages of a batch that is being put together, in the place of all outboxes.
#[derive(Debug)]
struct Collected {
    outbox: Outbox,
    /// What is used without having been declared, and by what, if whoever watches is to be told.
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
    /// A batch of these calls, with nothing in it.
    pub(super) fn new(calls: &'p mut Calls, cx: &Cx<'p, '_>) -> Self {
        let mut outbox = Outbox::new(Framing::Messages, &cx.config.limits);
        // Only the outbox that the batch goes to bounds it.
        outbox.set_limit(usize::MAX);
        let messages = Collected { outbox, undeclared: Vec::new() };
        Self { calls, config: cx.config, now: cx.now(), messages, made: SmallVec::new() }
    }

    /// Adds a call. Its one outcome comes as that of any other: the peer may answer the batch at once
    /// or in pieces. Once the batch has been put into the outbox it cannot be taken back, so
    /// cancelling the call always tells the peer.
    ///
    /// # Errors
    ///
    /// [`CallError`] says why there is no call; what was added before is still there.
    pub fn call<M: Method>(
        &mut self,
        params: &M::Params<'_>,
        options: CallOptions,
    ) -> Result<CallId, CallError> {
        self.call_method(M::NAME, params, options)
    }

    /// Adds a call of a method by name.
    ///
    /// # Errors
    ///
    /// As for [`call`](Self::call).
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
        make_room(messages, index, cx);
        if let Some(asked) = messages.outgoing.get_mut(call.0) {
            // It is in no outbox of the transport yet, and leaves on the route of the batch.
            (asked.route, asked.sent) = (Route::Connection, Sent::Withdrawn);
        }
        self.made.push(call);
        Ok(call)
    }

    /// Adds a notification.
    ///
    /// # Errors
    ///
    /// [`NotifyError`] says why it was not added.
    pub fn notify<N: Notifies>(&mut self, params: &N::Params<'_>) -> Result<Delivery, NotifyError> {
        self.notify_method(N::NAME, params)
    }

    /// Adds a notification by name.
    ///
    /// # Errors
    ///
    /// As for [`notify`](Self::notify).
    pub fn notify_method<T: Payload + ?Sized>(
        &mut self,
        method: &str,
        params: &T,
    ) -> Result<Delivery, NotifyError> {
        let kind = NotificationKind::named(method);
        let cx = &mut Cx::at(self.config, self.now, &mut self.messages);
        let messages = &self.calls.messages;
        let permit = may_notify(messages, cx, method, kind)?;
        let mut is_wanted = Ok(Interest::Yes);
        let written =
            cx.out.outbox(Route::Connection).append(Room::Limit, Tag::Nothing, |writer| {
                let start = writer.position();
                write_notification(writer, method, &params, permit.form)?;
                is_wanted = interest(messages, kind, written(writer.since(start), Member::Params));
                // Whoever reads this error looks at the interest first.
                if let Ok(Interest::No) | Err(_) = is_wanted {
                    Err(EncodeError::Payload)
                } else {
                    Ok(())
                }
            });
        match is_wanted? {
            Interest::No => return Ok(Delivery::NotWanted),
            Interest::Yes | Interest::Completes(_) => written?,
        };
        permit.observe(method, cx.out);
        Ok(Delivery::Sent)
    }

    /// Puts everything into the outbox as one array.
    pub(super) fn send(&mut self, out: &mut dyn Outboxes) -> Result<(), EncodeError> {
        let Collected { outbox, undeclared } = &mut self.messages;
        if outbox.is_empty() {
            return Ok(());
        }
        let route = Route::Connection;
        let serial = out
            .outbox(route)
            .append(Room::Limit, Tag::Nothing, |writer| write_array(writer, outbox.messages()))?;
        for call in self.made.drain(..) {
            if let Some(asked) = self.calls.messages.outgoing.get_mut(call.0) {
                asked.sent = Sent::InBatch(serial);
            }
        }
        for (method, capability) in undeclared {
            out.observe(&Observation::NotDeclared { method, capability: *capability });
        }
        observe_sent(out, route, Said::Result);
        Ok(())
    }
}

/// What was not sent was never asked, whatever happened meanwhile.
impl Drop for Batch<'_> {
    fn drop(&mut self) {
        for call in self.made.drain(..) {
            self.calls.messages.outgoing.remove(call.0, Ending::Closed);
        }
    }
}
