//! [`Monitor`], a checker of the promises of one machine.

use alloc::collections::BTreeSet;
use alloc::format;
use core::fmt;

use super::machine::{Machine, Meaning};
use super::promise::{Broken, Promise};
use super::wire::Wire;
use crate::handle::{CallId, IncomingId};
use crate::time::Instant;

/// The reasons why the monitor does not have a call that the machine has or had.
const NOT_OPEN: &str = "the monitor does not have it: it had its outcome before, or `Monitor::called` was not called for it";

/// A checker that one machine, together with its application, keeps the promises of this crate.
///
/// Report everything to the monitor: the events, the calls that the application makes and cancels, its responses, the
/// messages that arrive and those that leave. The monitor keeps the set of requests and calls that should be open,
/// and [`check`](Self::check) compares it with the state of the machine. So it detects violations of promises 2, 3
/// and 4, and of part of 5; the others concern several runs, memory, or payloads.
///
/// Subscriptions that a client makes automatically ([`ClientConfig::listen`]) must be reported as calls too. After an
/// unreadable message with an id, the monitor tolerates one extra response, because the machine may have read the id.
/// The memory of the monitor grows with the number of ids.
///
/// [`ClientConfig::listen`]: crate::ClientConfig::listen
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Monitor {
    calls: BTreeSet<CallId>,
    requests: BTreeSet<IncomingId>,
    /// The requests whose response required input, and which will be delivered again.
    to_come_again: BTreeSet<IncomingId>,
    wire: Wire,
    is_closed: bool,
}

impl Monitor {
    /// Creates a monitor at the start of a connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Configures the monitor for a machine with [`DuplicateIds::Serve`](crate::config::DuplicateIds::Serve): ids of
    /// its peer do not identify requests, so its responses are checked less strictly.
    #[must_use]
    pub const fn serving_duplicates(mut self, serves: bool) -> Self {
        self.wire.serves_duplicates = serves;
        self
    }

    /// Whether the connection has ended.
    pub const fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Returns the calls that have no outcome yet.
    pub fn calls(&self) -> impl Iterator<Item = CallId> {
        self.calls.iter().copied()
    }

    /// Returns the open requests.
    pub fn requests(&self) -> impl Iterator<Item = IncomingId> {
        self.requests.iter().copied()
    }

    /// Returns the requests of a session whose response required input, and which will be delivered again.
    pub fn to_come_again(&self) -> impl Iterator<Item = IncomingId> {
        self.to_come_again.iter().copied()
    }

    /// Records a call that the application, or the machine on its behalf, has made.
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

    /// Records that the application has cancelled a call, and that the machine has accepted it.
    ///
    /// # Errors
    ///
    /// The call already had an outcome. The same holds for the other methods that end a call.
    pub fn cancelled(&mut self, call: CallId) -> Result<(), Broken> {
        self.call_ended(call, &"cancelled")
    }

    /// Records that the application has responded to a request, and that the machine has accepted it.
    ///
    /// # Errors
    ///
    /// The request was not open. The same holds for the other methods that end a request.
    pub fn answered(&mut self, request: IncomingId) -> Result<(), Broken> {
        self.request_ended(request, &"answered")
    }

    /// Records that the application requires input for a request, which will be delivered again.
    ///
    /// # Errors
    ///
    /// See [`answered`](Self::answered).
    pub fn answered_for_now(&mut self, request: IncomingId) -> Result<(), Broken> {
        self.request_ended(request, &"input required")?;
        self.to_come_again.insert(request);
        Ok(())
    }

    /// Records an event of the machine.
    ///
    /// # Errors
    ///
    /// A request or a call ended that had not begun, an event follows the end of the connection, or the end leaves a
    /// request or call open.
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
                let text = format!("{call} goes on, and {NOT_OPEN}: {event:?}");
                return Err(Broken::new(Promise::OneOutcome, text));
            }
            Meaning::CallEnded(call) => self.call_ended(call, event)?,
            Meaning::Closed => self.closed()?,
            _ => {}
        }
        Ok(())
    }

    /// Records a message that is passed to the machine.
    pub fn delivered(&mut self, message: &[u8]) {
        self.wire.delivered(message);
    }

    /// Records that the machine reported the cancellation of the request in this message, a
    /// `notifications/cancelled`.
    pub fn cancelled_by(&mut self, message: &[u8]) {
        self.wire.cancelled(message);
    }

    /// Records a message that the machine has sent.
    ///
    /// # Errors
    ///
    /// The message is not one whole message, reuses an id, responds to a request that was cancelled, nonexistent or
    /// already has its response, or belongs to a subscription that is not open.
    pub fn sent(&mut self, message: &[u8]) -> Result<(), Broken> {
        self.wire.sent(message)
    }

    /// Compares the open requests and calls with the state of the machine.
    ///
    /// # Errors
    ///
    /// The states differ, or a request or call that should have ended is open.
    pub fn check<M: Machine>(&self, machine: &M, now: Instant) -> Result<(), Broken> {
        let calls: BTreeSet<CallId> = machine.calls().collect();
        if let Some(lost) = self.calls.difference(&calls).next() {
            let text = format!("{lost} has no outcome, and the machine no longer has it");
            return Err(Broken::new(Promise::OneOutcome, text));
        }
        if let Some(more) = calls.difference(&self.calls).next() {
            let text = format!("the machine has {more}, and {NOT_OPEN}");
            return Err(Broken::new(Promise::OneOutcome, text));
        }
        // A request for input of a server is open before all of it is reported to the application.
        let mut strange = machine
            .in_flight()
            .requests()
            .filter(|id| !self.requests.contains(id) && !self.to_come_again.contains(id));
        let is_due = machine.poll_timeout().is_some_and(|due| due <= now);
        if let Some(id) = strange.next().filter(|_| !is_due) {
            return Err(Broken::new(Promise::OneAnswer, format!("{id} is open but unreported")));
        }
        let open: BTreeSet<IncomingId> = machine.in_flight().requests().collect();
        if let Some(lost) = self.requests.iter().find(|id| !open.contains(*id) && !is_due) {
            return Err(Broken::new(Promise::OneAnswer, format!("{lost} is open and forgotten")));
        }
        let counts = machine.in_flight().counts();
        let left = counts.inbound + counts.outbound + counts.held_bytes;
        if self.is_closed && 0 < left {
            return Err(Broken::new(
                Promise::OneOutcome,
                format!("left after the end: {counts:?}"),
            ));
        }
        Ok(())
    }

    /// Checks that a machine has no due work: `handle_timeout` has returned `None`.
    ///
    /// # Errors
    ///
    /// The machine has a deadline that has passed, or a deadline after its end.
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
        Err(Broken::new(Promise::OneOutcome, format!("{call} has ended, and {NOT_OPEN}: {why:?}")))
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

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::{CallOptions, Client, ClientConfig, Framing, Outbox};

    #[test]
    fn a_call_that_was_not_reported_is_named_with_the_remedy() {
        let mut client = Client::new(ClientConfig::new("c", "1").into());
        let mut out = Outbox::new(Framing::Lines, &client.config().connection.limits);
        let now = Instant::from_nanos(0);
        client.connect(now, &mut out).unwrap();
        let mut monitor = Monitor::new();
        let made = client.call_method("ping", &(), CallOptions::new(), now, &mut out);
        let call = made.unwrap();
        let text = monitor.check(&client, now).unwrap_err().to_string();
        let remedy = "`Monitor::called` was not called for it";
        assert!(text.contains(&call.to_string()) && text.contains(remedy), "{text}");
        monitor.called(call).unwrap();
        monitor.check(&client, now).unwrap();
    }
}
