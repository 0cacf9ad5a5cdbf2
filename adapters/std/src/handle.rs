//! A connection as those see it who ask something of the other side.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use mcp_sansio::json::{ParseError, Raw};
use mcp_sansio::model::method::{Method, Notification};
use mcp_sansio::{
    CallError, CallId, CallOptions, Cause, Delivery, ErrorObject, Expiry, InboundId, NotifyError,
    Outcome, Phase, ProgressUpdate, ViolationKind,
};
use serde::Serialize;

use crate::machine::Machine;
use crate::wire::{Update, Wire};

/// Calls the other side. Clones share the connection.
pub struct Handle<M: Machine> {
    wire: Arc<Wire<M>>,
}

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallFailure {
    /// It was not made.
    #[error("{0}")]
    NotMade(#[from] CallError),
    /// The other side refused.
    #[error("the peer answered with error {}: {}", .0.code, .0.message)]
    PeerError(ErrorObject<'static>),
    /// The other side answered with something that is no response.
    #[error("the peer answered with something that is no response: {0}")]
    Malformed(ViolationKind),
    /// No answer came in time.
    #[error("no answer came in time")]
    TimedOut(Expiry),
    /// The connection ended first.
    #[error("the connection ended first: {0}")]
    Closed(Cause),
    /// The connection ended before the call was sent.
    #[error("the connection ended before the call was sent")]
    Unsent,
}

/// A result, with the text it borrows from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    raw: Raw<'static>,
}

impl Reply {
    /// The result as it came.
    pub const fn raw(&self) -> &Raw<'static> {
        &self.raw
    }

    /// The result of a method, decoded.
    ///
    /// # Errors
    ///
    /// [`ParseError`] if it does not fit the method: the peer is at fault.
    pub fn parse<M: Method>(&self) -> Result<M::Result<'_>, ParseError> {
        self.raw.parse()
    }
}

/// A call that has been made. Dropping it cancels the call.
#[derive(Debug)]
pub struct PendingCall<M: Machine> {
    call: CallId,
    handle: Handle<M>,
    updates: Receiver<Update>,
    ended: bool,
}

impl<M: Machine> Handle<M> {
    pub(crate) fn new(wire: &Arc<Wire<M>>) -> Self {
        Self { wire: Arc::clone(wire) }
    }

    pub(crate) const fn wire(&self) -> &Arc<Wire<M>> {
        &self.wire
    }

    /// Calls a method and waits for its result.
    ///
    /// # Errors
    ///
    /// [`CallFailure`] says why there is none.
    pub fn call<C: Method>(
        &self,
        params: &C::Params<'_>,
        options: CallOptions,
    ) -> Result<Reply, CallFailure> {
        self.call_method(C::NAME, params, options)
    }

    /// Calls a method by name and waits for its result.
    ///
    /// # Errors
    ///
    /// As for [`call`](Self::call).
    pub fn call_method<T: Serialize + ?Sized>(
        &self,
        method: &str,
        params: &T,
        options: CallOptions,
    ) -> Result<Reply, CallFailure> {
        self.start_method(method, params, options)?.wait()
    }

    /// Calls a method by name without waiting.
    ///
    /// # Errors
    ///
    /// [`CallError`] says why there is no call.
    pub fn start_method<T: Serialize + ?Sized>(
        &self,
        method: &str,
        params: &T,
        options: CallOptions,
    ) -> Result<PendingCall<M>, CallError> {
        let params = Raw::from_serialize(params)?;
        let (sender, updates) = channel();
        let call = self
            .wire
            .call(sender, |machine, out, now| machine.call(method, &params, options, now, out))?;
        Ok(PendingCall { call, handle: self.clone(), updates, ended: false })
    }

    /// Sends a notification.
    ///
    /// # Errors
    ///
    /// [`NotifyError`] says why it was not sent.
    pub fn notify<N: Notification>(&self, params: &N::Params<'_>) -> Result<Delivery, NotifyError> {
        self.notify_method(N::NAME, params)
    }

    /// Sends a notification by name.
    ///
    /// # Errors
    ///
    /// As for [`notify`](Self::notify).
    pub fn notify_method<T: Serialize + ?Sized>(
        &self,
        method: &str,
        params: &T,
    ) -> Result<Delivery, NotifyError> {
        self.notify_about(method, params, None)
    }

    pub(crate) fn notify_about<T: Serialize + ?Sized>(
        &self,
        method: &str,
        params: &T,
        related: Option<InboundId>,
    ) -> Result<Delivery, NotifyError> {
        let params = Raw::from_serialize(params)?;
        self.wire.with(|machine, out, _| machine.notify(method, &params, related, out))
    }

    /// Where the connection is in its life.
    pub fn phase(&self) -> Phase {
        self.wire.phase()
    }

    /// Takes no new work and ends when nothing is in flight, at the latest after `grace`.
    pub fn shut_down(&self, grace: Duration) {
        self.wire.with(|machine, _, now| machine.shut_down(grace, now));
    }
}

impl<M: Machine> PendingCall<M> {
    /// Waits for the result.
    ///
    /// # Errors
    ///
    /// [`CallFailure`] says why there is none.
    pub fn wait(self) -> Result<Reply, CallFailure> {
        self.wait_with(|_| {})
    }

    /// Waits for the result, and hears of progress meanwhile if the call asked for it.
    ///
    /// # Errors
    ///
    /// As for [`wait`](Self::wait).
    pub fn wait_with(
        mut self,
        mut on_progress: impl FnMut(ProgressUpdate<'static>),
    ) -> Result<Reply, CallFailure> {
        let outcome = loop {
            match self.updates.recv() {
                Ok(Update::Progress(update)) => on_progress(update),
                Ok(Update::Ended(outcome)) => break outcome,
                // Every call ends once, so the sender is only gone after it said so.
                Err(_) => break Outcome::Closed(Cause::ShutDown),
            }
        };
        self.ended = true;
        match outcome {
            Outcome::Result(raw) => Ok(Reply { raw }),
            Outcome::PeerError(error) => Err(CallFailure::PeerError(error)),
            Outcome::Malformed { kind, .. } => Err(CallFailure::Malformed(kind)),
            Outcome::TimedOut(expiry) => Err(CallFailure::TimedOut(expiry)),
            Outcome::Closed(cause) => Err(CallFailure::Closed(cause)),
            _ => Err(CallFailure::Unsent),
        }
    }

    /// Cancels the call: its result is not wanted any more.
    pub fn cancel(mut self, reason: &str) {
        self.give_up(Some(reason));
    }

    fn give_up(&mut self, reason: Option<&str>) {
        if !self.ended {
            self.ended = true;
            let wire = &self.handle.wire;
            // It may have ended meanwhile, which is as good.
            _ = wire.with(|machine, out, _| machine.cancel(self.call, reason, out));
            wire.forget(self.call);
        }
    }
}

impl<M: Machine> Drop for PendingCall<M> {
    fn drop(&mut self) {
        self.give_up(None);
    }
}

impl<M: Machine> Clone for Handle<M> {
    fn clone(&self) -> Self {
        Self { wire: Arc::clone(&self.wire) }
    }
}

impl<M: Machine> fmt::Debug for Handle<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Handle").field("phase", &self.phase()).finish_non_exhaustive()
    }
}
