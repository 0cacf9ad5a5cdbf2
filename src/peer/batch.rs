//! Batches of ours, which only a session of 2025-03-26 has and which are sent only if asked for
//! ([2025-03-26, batching](https://modelcontextprotocol.io/specification/2025-03-26/basic#batching)).

use alloc::string::String;
use alloc::vec::Vec;

use serde::ser::Serialize;
use smallvec::SmallVec;

use super::batches::write_array;
use super::call::Whereabouts;
use super::call_options::{CallError, CallOptions};
use super::calls::Sink;
use super::exchanges::{Said, observe_sent};
use super::notify::{Delivery, Interest, NotifyError};
use super::outlets::{Lane, Observation, Outlets};
use super::rules::written;
use super::{ConnectionConfig, Peer};
use crate::capability::Capability;
use crate::dialect::features::Feature;
use crate::dialect::methods::NotificationKind;
use crate::frame::{Queue, Room, Tag};
use crate::handle::CallId;
use crate::json::{EncodeError, Member};
use crate::model::method::{Method, Notification as Notifies};
use crate::rpc::{Ending, write_notification};
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
    peer: &'p mut Peer,
    config: &'p ConnectionConfig,
    now: Instant,
    messages: Queue<()>,
    calls: SmallVec<[CallId; 8]>,
    /// What is used without having been declared, and by what, if whoever watches is to be told.
    undeclared: Vec<(String, Capability)>,
}

impl Batch<'_> {
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
    pub fn call_method<T: Serialize + ?Sized>(
        &mut self,
        method: &str,
        params: &T,
        options: CallOptions,
    ) -> Result<CallId, CallError> {
        let mut order = self.peer.prepare_call(self.config, method, options, self.now)?;
        let sink = Sink::Batch(&mut self.messages, &mut self.undeclared);
        let call = self.peer.make(self.config, &mut order, method, params, sink)?;
        self.calls.push(call);
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
    pub fn notify_method<T: Serialize + ?Sized>(
        &mut self,
        method: &str,
        params: &T,
    ) -> Result<Delivery, NotifyError> {
        let kind = NotificationKind::named(method);
        let clearance = self.peer.may_notify(self.config, method, kind)?;
        let mut interest = Ok(Interest::Yes);
        let peer = &*self.peer;
        let written = self.messages.append(usize::MAX, (), b"", |writer| {
            let start = writer.position();
            write_notification(writer, method, params, clearance.form)?;
            interest = peer.interest(kind, written(writer.since(start), Member::Params));
            // Whoever reads this error looks at the interest first.
            if let Ok(Interest::No) | Err(_) = interest {
                Err(EncodeError::Payload)
            } else {
                Ok(())
            }
        });
        match interest? {
            Interest::No => return Ok(Delivery::NotWanted),
            Interest::Yes | Interest::Completes(_) => written?,
        };
        self.undeclared.extend(clearance.to_observe().map(|one| (method.into(), one)));
        Ok(Delivery::Sent)
    }

    /// Puts everything into the outbox as one array.
    fn send(&mut self, out: &mut dyn Outlets) -> Result<(), EncodeError> {
        if self.messages.is_empty() {
            return Ok(());
        }
        let lane = Lane::Connection;
        let messages = &mut self.messages;
        let serial = out.lane(lane).append(Room::Limit, Tag::Nothing, |writer| {
            write_array(writer, messages.drain().map(|(message, ())| message))
        })?;
        for call in self.calls.drain(..) {
            if let Some(entry) = self.peer.outbound.get_mut(call.0) {
                entry.whereabouts = Whereabouts::Batch(serial);
            }
        }
        for (method, capability) in &self.undeclared {
            out.observe(&Observation::NotDeclared { method, capability: *capability });
        }
        observe_sent(out, lane, Said::Result);
        Ok(())
    }
}

/// What was not sent was never asked, whatever happened meanwhile.
impl Drop for Batch<'_> {
    fn drop(&mut self) {
        for call in self.calls.drain(..) {
            self.peer.deadlines.clear(call.0.index);
            self.peer.outbound.remove(call.0, Ending::Closed);
        }
    }
}

impl Peer {
    /// Sends what `fill` adds as one batch, or nothing at all.
    pub(crate) fn batch<R, E: From<BatchError>>(
        &mut self,
        config: &ConnectionConfig,
        now: Instant,
        out: &mut dyn Outlets,
        fill: impl FnOnce(&mut Batch<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        let session = self.session.filter(|_| self.phase.is_ready()).ok_or(BatchError::NotReady)?;
        if !Feature::Batches.is_in(session.revision) {
            return Err(BatchError::NotInRevision.into());
        }
        let messages = Queue::new();
        let mut batch = Batch {
            peer: self,
            config,
            now,
            messages,
            calls: SmallVec::new(),
            undeclared: Vec::new(),
        };
        let filled = fill(&mut batch)?;
        batch.send(out).map_err(BatchError::from)?;
        Ok(filled)
    }
}
