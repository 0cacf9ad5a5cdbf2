//! Watches one machine keep its promises.

use alloc::collections::BTreeSet;
use alloc::format;
use core::fmt;

use super::machine::{Machine, Meaning};
use super::promise::{Broken, Promise};
use super::wire::Wire;
use crate::handle::{CallId, IncomingId};
use crate::time::Instant;

/// Watches one machine, and what its application does with it, keep the promises of this crate.
///
/// Tell it of everything: the events, the calls that the application makes and cancels, the answers it
/// gives, the messages that come in and those that have left. It holds what ought to be in flight, and
/// [`check`](Self::check) compares that with what the machine says is. So it sees promises 2, 3 and 4 broken, and
/// part of 5; the others are about several runs, about memory, or about payloads.
///
/// Two things to know: subscriptions that a client makes by itself ([`ClientConfig::listen`]) are calls to be
/// told of as well; and after a message that has an id and cannot be read, one answer more is let pass,
/// because the machine may have read the id. It grows with the number of ids there are.
///
/// [`ClientConfig::listen`]: crate::ClientConfig::listen
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Monitor {
    calls: BTreeSet<CallId>,
    requests: BTreeSet<IncomingId>,
    /// Answered with a need for input, and to come again.
    to_come_again: BTreeSet<IncomingId>,
    wire: Wire,
    is_closed: bool,
}

impl Monitor {
    /// At the start of a connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// The machine is configured with [`DuplicateIds::Serve`](crate::config::DuplicateIds::Serve): ids of its peer
    /// do not tell requests apart, so less can be said of its answers.
    #[must_use]
    pub const fn serving_duplicates(mut self, serves: bool) -> Self {
        self.wire.serves_duplicates = serves;
        self
    }

    /// Whether the connection has ended.
    pub const fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// The calls that have no outcome yet.
    pub fn calls(&self) -> impl Iterator<Item = CallId> {
        self.calls.iter().copied()
    }

    /// The requests that have not been answered.
    pub fn requests(&self) -> impl Iterator<Item = IncomingId> {
        self.requests.iter().copied()
    }

    /// Requests that were answered with a need for input, in a session, and come again.
    pub fn to_come_again(&self) -> impl Iterator<Item = IncomingId> {
        self.to_come_again.iter().copied()
    }

    /// The application, or the machine for it, has made a call.
    ///
    /// # Errors
    ///
    /// Two calls have the same handle.
    pub fn called(&mut self, call: CallId) -> Result<(), Broken> {
        if self.calls.insert(call) {
            return Ok(());
        }
        Err(Broken::new(Promise::OneOutcome, format!("{call} was in use")))
    }

    /// The application has cancelled a call, and the machine has agreed.
    ///
    /// # Errors
    ///
    /// It had an outcome already, here and wherever a call ends.
    pub fn cancelled(&mut self, call: CallId) -> Result<(), Broken> {
        self.call_ended(call, &"cancelled")
    }

    /// The application has answered a request, and the machine has agreed.
    ///
    /// # Errors
    ///
    /// It was not there to be answered, here and wherever a request ends.
    pub fn answered(&mut self, request: IncomingId) -> Result<(), Broken> {
        self.request_ended(request, &"answered")
    }

    /// The application has said what it needs before it can answer, and gets the request again.
    ///
    /// # Errors
    ///
    /// See [`answered`](Self::answered).
    pub fn answered_for_now(&mut self, request: IncomingId) -> Result<(), Broken> {
        self.request_ended(request, &"input required")?;
        self.to_come_again.insert(request);
        Ok(())
    }

    /// The machine has handed out an event.
    ///
    /// # Errors
    ///
    /// A request or a call has ended that had not begun, something follows the end, or the end leaves
    /// something.
    pub fn event<M: Machine>(&mut self, event: &M::Event<'_>) -> Result<(), Broken> {
        if self.is_closed {
            return Err(Broken::new(Promise::OneOutcome, format!("after the end: {event:?}")));
        }
        match M::meaning(event) {
            Meaning::Request(id) => {
                self.to_come_again.remove(&id);
                if !self.requests.insert(id) {
                    return Err(Broken::new(Promise::OneAnswer, format!("{id} twice: {event:?}")));
                }
            }
            Meaning::RequestEnded(id) => self.request_ended(id, event)?,
            Meaning::CallGoesOn(call) if !self.calls.contains(&call) => {
                return Err(Broken::new(
                    Promise::OneOutcome,
                    format!("after its outcome: {event:?}"),
                ));
            }
            Meaning::CallEnded(call) => self.call_ended(call, event)?,
            Meaning::Closed => self.closed()?,
            _ => {}
        }
        Ok(())
    }

    /// A message goes to the machine.
    pub fn delivered(&mut self, message: &[u8]) {
        self.wire.delivered(message);
    }

    /// The machine has handed out that the request in this message, a `notifications/cancelled`, is
    /// cancelled.
    pub fn cancelled_by(&mut self, message: &[u8]) {
        self.wire.cancelled(message);
    }

    /// A message of the machine has left.
    ///
    /// # Errors
    ///
    /// It is not one whole message, has an id for the second time, or answers what was cancelled, not asked or answered before, or belongs
    /// to a subscription that is not open.
    pub fn sent(&mut self, message: &[u8]) -> Result<(), Broken> {
        self.wire.sent(message)
    }

    /// Compares what is in flight with what the machine says.
    ///
    /// # Errors
    ///
    /// They differ, or what should be over is not.
    pub fn check<M: Machine>(&self, machine: &M, now: Instant) -> Result<(), Broken> {
        let calls: BTreeSet<CallId> = machine.calls().collect();
        if calls != self.calls {
            let difference = calls.symmetric_difference(&self.calls).next();
            return Err(Broken::new(
                Promise::OneOutcome,
                format!("{difference:?}: pending or not?"),
            ));
        }
        // What a server needs is open before the application is told of all of it.
        let mut strange = machine
            .open_requests()
            .filter(|id| !self.requests.contains(id) && !self.to_come_again.contains(id));
        let is_due = machine.poll_timeout().is_some_and(|due| due <= now);
        if let Some(id) = strange.next().filter(|_| !is_due) {
            return Err(Broken::new(Promise::OneAnswer, format!("{id} is open and nobody knows")));
        }
        let open: BTreeSet<IncomingId> = machine.open_requests().collect();
        if let Some(lost) = self.requests.iter().find(|id| !open.contains(*id) && !is_due) {
            return Err(Broken::new(Promise::OneAnswer, format!("{lost} is open and forgotten")));
        }
        let counts = machine.counts();
        let left = counts.inbound + counts.outbound + counts.held_bytes;
        if self.is_closed && 0 < left {
            return Err(Broken::new(
                Promise::OneOutcome,
                format!("left after the end: {counts:?}"),
            ));
        }
        Ok(())
    }

    /// Checks that a machine has done all that was due: `handle_timeout` has returned `None`.
    ///
    /// # Errors
    ///
    /// It wants to be woken for a time that has passed, or after its end.
    pub fn settled<M: Machine>(&self, machine: &M, now: Instant) -> Result<(), Broken> {
        match machine.poll_timeout() {
            Some(due) if due <= now || self.is_closed => Err(Broken::new(
                Promise::NothingWaits,
                format!("still due at {due:?}, it is {now:?}"),
            )),
            _ => Ok(()),
        }
    }

    fn request_ended(&mut self, id: IncomingId, why: &dyn fmt::Debug) -> Result<(), Broken> {
        if self.requests.remove(&id) | self.to_come_again.remove(&id) {
            return Ok(());
        }
        Err(Broken::new(Promise::OneAnswer, format!("{id} had ended before: {why:?}")))
    }

    fn call_ended(&mut self, call: CallId, why: &dyn fmt::Debug) -> Result<(), Broken> {
        if self.calls.remove(&call) {
            return Ok(());
        }
        Err(Broken::new(Promise::OneOutcome, format!("{call} had ended before: {why:?}")))
    }

    fn closed(&mut self) -> Result<(), Broken> {
        self.is_closed = true;
        let Self { calls, requests, to_come_again, .. } = self;
        if calls.is_empty() && requests.is_empty() && to_come_again.is_empty() {
            return Ok(());
        }
        let left = format!("no end for {calls:?} {requests:?} {to_come_again:?}");
        Err(Broken::new(Promise::OneOutcome, left))
    }
}
