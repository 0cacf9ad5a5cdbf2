//! Calls that have been made, and what comes of them.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use mcp_sansio::json::{ParseError, Raw};
use mcp_sansio::model::method::Method;
use mcp_sansio::pagination::PageStop;
use mcp_sansio::{
    BegunTask, CallError, CallId, Cause, ErrorCode, ErrorObject, Expiry, Outcome, ProgressUpdate,
    ViolationKind,
};

use crate::handle::Handle;
use crate::machine::Machine;
use crate::wire::Update;

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
    /// The other side answered with something that is no response, or not what was asked for.
    #[error("the peer answered with nonsense: {0}")]
    Malformed(ViolationKind),
    /// The server needs something before it answers, and that is for the caller to see to: an
    /// [`InputRequired`](mcp_sansio::model::InputRequired).
    #[error("the server needs something before it answers")]
    InputRequired(Raw<'static>),
    /// What the server needed before it answered was refused with this code.
    #[error("what the server needed was refused with error {0}")]
    InputRefused(ErrorCode),
    /// The server needed something again and again.
    #[error("the server needs something again and again")]
    TooManyRounds,
    /// It has become a task, and nobody asks about it here any more: it was to be looked after by hand, or
    /// the connection has ended. The task goes on.
    #[error("the call has become a task, which goes on")]
    Task(Box<BegunTask<'static>>),
    /// It had become a task, which was cancelled.
    #[error("the task was cancelled")]
    TaskCancelled,
    /// It had become a task, which the other side does not know any more.
    #[error("the task is lost")]
    TaskLost,
    /// No answer came in time.
    #[error("{}", expiry_text(*.0))]
    TimedOut(Expiry),
    /// The list is longer than it may be.
    #[error("{0}")]
    Cut(PageStop),
    /// It was made because of a request that has been cancelled.
    #[error("the request that the call was made for was cancelled")]
    Cancelled,
    /// The connection ended first.
    #[error("the connection ended first: {0}")]
    Closed(Cause),
    /// The connection ended before the call was sent.
    #[error("the connection ended before the call was sent")]
    Unsent,
}

const fn expiry_text(expiry: Expiry) -> &'static str {
    match expiry {
        Expiry::Total => "no answer came in the time that a call may take at most",
        Expiry::Paused => "a person took too long",
        _ => "no answer and no progress came in time",
    }
}

/// A result, with the text it borrows from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub(crate) raw: Raw<'static>,
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

/// All pages of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pages {
    /// The results, one per page, at least one.
    pub pages: Vec<Reply>,
    /// Whether the list has changed since its first page was asked for.
    pub stale: bool,
}

/// A call that has been made. Dropping it cancels the call.
#[derive(Debug)]
pub struct PendingCall<M: Machine> {
    call: CallId,
    handle: Handle<M>,
    updates: Receiver<Update>,
    ended: bool,
}

/// The result of a call, and whether the list that it asked for has changed meanwhile.
pub(crate) type Finished = Result<(Reply, bool), CallFailure>;

impl<M: Machine> PendingCall<M> {
    pub(crate) const fn new(call: CallId, handle: Handle<M>, updates: Receiver<Update>) -> Self {
        Self { call, handle, updates, ended: false }
    }

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
        self,
        mut on_progress: impl FnMut(ProgressUpdate<'static>),
    ) -> Result<Reply, CallFailure> {
        let finished = self.finish(|update| {
            if let Update::Progress(update) = update {
                on_progress(update);
            }
        });
        finished.map(|(reply, _)| reply)
    }

    /// Waits for the result, at most so long. Gives the call back if there is none yet.
    ///
    /// # Errors
    ///
    /// The call itself, still pending.
    pub fn wait_timeout(mut self, patience: Duration) -> Result<Result<Reply, CallFailure>, Self> {
        let deadline = Instant::now().checked_add(patience);
        match self.next_end(deadline, &mut |_| {}) {
            Some(finished) => Ok(finished.map(|(reply, _)| reply)),
            None => Err(self),
        }
    }

    /// Waits for the end, and hands on what comes before it.
    pub(crate) fn finish(mut self, mut on_update: impl FnMut(Update)) -> Finished {
        match self.next_end(None, &mut on_update) {
            Some(finished) => finished,
            // Without a deadline it waits for the end, which every call has.
            None => Err(CallFailure::Closed(Cause::ShutDown)),
        }
    }

    fn next_end(
        &mut self,
        deadline: Option<Instant>,
        on_update: &mut dyn FnMut(Update),
    ) -> Option<Finished> {
        loop {
            let update = match deadline {
                None => self.updates.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(deadline) => {
                    self.updates.recv_timeout(deadline.saturating_duration_since(Instant::now()))
                }
            };
            let finished = match update {
                Ok(Update::Ended(outcome, stale)) => result_of(outcome).map(|reply| (reply, stale)),
                Ok(Update::Cancelled) => Err(CallFailure::Cancelled),
                Ok(update) => {
                    on_update(update);
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => return None,
                // Every call ends once, so the sender is only gone after it said so.
                Err(RecvTimeoutError::Disconnected) => Err(CallFailure::Closed(Cause::ShutDown)),
            };
            self.ended = true;
            return Some(finished);
        }
    }

    /// Asks the other side to cancel the task that the call has become, and goes on waiting: for
    /// [`CallFailure::TaskCancelled`], or for what the task comes to if that is sooner.
    ///
    /// # Errors
    ///
    /// [`CallError`] says why the other side was not asked.
    pub fn cancel_task(&self) -> Result<(), CallError> {
        let call = self.call;
        self.handle.wire().with(|machine, out, now| machine.cancel_task(call, now, out))
    }

    /// Cancels the call: its result is not wanted any more.
    pub fn cancel(mut self, reason: &str) {
        self.give_up(Some(reason));
    }

    fn give_up(&mut self, reason: Option<&str>) {
        if !self.ended {
            self.ended = true;
            let wire = self.handle.wire();
            // It may have ended meanwhile, which is as good.
            _ = wire.with(|machine, out, _| machine.cancel(self.call, reason, out));
            wire.forget(self.call);
        }
    }
}

fn result_of(outcome: Outcome<'static>) -> Result<Reply, CallFailure> {
    Err(match outcome {
        Outcome::Result(raw) => return Ok(Reply { raw }),
        Outcome::PeerError(error) => CallFailure::PeerError(error),
        Outcome::Malformed { kind, .. } => CallFailure::Malformed(kind),
        Outcome::InputRequired(result) => CallFailure::InputRequired(result),
        Outcome::InputRefused(code) => CallFailure::InputRefused(code),
        Outcome::TooManyRounds => CallFailure::TooManyRounds,
        Outcome::Task(task) => CallFailure::Task(Box::new(task)),
        Outcome::TaskCancelled => CallFailure::TaskCancelled,
        Outcome::TaskLost => CallFailure::TaskLost,
        Outcome::TimedOut(expiry) => CallFailure::TimedOut(expiry),
        Outcome::Cut { stop, .. } => CallFailure::Cut(stop),
        Outcome::NotMade(error) => CallFailure::NotMade(error),
        Outcome::Closed(cause) => CallFailure::Closed(cause),
        _ => CallFailure::Unsent,
    })
}

impl<M: Machine> Drop for PendingCall<M> {
    fn drop(&mut self) {
        self.give_up(None);
    }
}
