//! Calls that have been made, and what comes of them.

use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use futures_core::Stream;
use mcp_sansio::json::{ParseError, Raw};
use mcp_sansio::model::method::Method;
use mcp_sansio::pagination::PageStop;
use mcp_sansio::progress::ProgressUpdate;
use mcp_sansio::{CallError, CallId, Cause, Client, Outcome};
use serde::Deserialize;

use crate::block::{block_on, block_until};
use crate::calls::End;
use crate::failure::{CallFailure, result_of};
use crate::handle::Handle;
use crate::machine::Machine;

/// The method of a call is only known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ByName {}

/// A result, with the text it borrows from.
pub struct Reply<C = ByName> {
    raw: Raw<'static>,
    method: PhantomData<fn() -> C>,
}

impl<C> Reply<C> {
    pub(crate) const fn new(raw: Raw<'static>) -> Self {
        Self { raw, method: PhantomData }
    }

    /// The result as it came.
    pub const fn raw(&self) -> &Raw<'static> {
        &self.raw
    }

    /// The result, decoded as a type of yours.
    ///
    /// # Errors
    ///
    /// [`ParseError`] if it does not fit the type.
    pub fn parse_as<'r, T: Deserialize<'r>>(&'r self) -> Result<T, ParseError> {
        self.raw.parse()
    }
}

impl<C> Reply<C> {
    /// The same without its method, to be kept with others.
    pub fn by_name(self) -> Reply {
        Reply::new(self.raw)
    }
}

impl<C: Method> Reply<C> {
    /// The result, decoded.
    ///
    /// # Errors
    ///
    /// [`ParseError`] if it does not fit the method: the peer is at fault.
    pub fn parse(&self) -> Result<C::Result<'_>, ParseError> {
        self.raw.parse()
    }
}

impl<C> Clone for Reply<C> {
    fn clone(&self) -> Self {
        Self::new(self.raw.clone())
    }
}

impl<C> PartialEq for Reply<C> {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl<C> Eq for Reply<C> {}

impl<C> fmt::Debug for Reply<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Reply").field("raw", &self.raw).finish()
    }
}

/// A call that has been made: `await` it, or [`wait`](Self::wait) for it. Dropping it cancels the call.
///
/// It can be polled by reference and given up for a while without losing anything.
#[must_use = "a call that is dropped is cancelled"]
pub struct PendingCall<M: Machine = Client, C = ByName> {
    /// The call, until its end has been told.
    made: Option<Result<CallId, CallError>>,
    handle: Handle<M>,
    method: PhantomData<fn() -> C>,
}

impl<M: Machine, C> PendingCall<M, C> {
    pub(crate) fn new(made: Result<CallId, CallError>, handle: &Handle<M>) -> Self {
        Self { made: Some(made), handle: handle.clone(), method: PhantomData }
    }

    /// The handle that events have which are about this call; an error if it was not made. `None` once it has
    /// ended.
    pub const fn id(&self) -> Option<Result<CallId, CallError>> {
        self.made
    }

    /// Waits for the result on this thread.
    ///
    /// # Errors
    ///
    /// [`CallFailure`] says why there is none.
    pub fn wait(self) -> Result<Reply<C>, CallFailure> {
        block_on(self)
    }

    /// Waits for the result on this thread, and hears of progress meanwhile if the call asked for it.
    ///
    /// # Errors
    ///
    /// As for [`wait`](Self::wait).
    pub fn wait_with(
        mut self,
        mut on_progress: impl FnMut(ProgressUpdate<'static>),
    ) -> Result<Reply<C>, CallFailure> {
        while let Some(update) = block_on(self.progress().next()) {
            on_progress(update);
        }
        self.wait()
    }

    /// Waits for the result on this thread, at most so long. Gives the call back if there is none yet.
    ///
    /// # Errors
    ///
    /// The call itself, still pending.
    pub fn wait_timeout(
        mut self,
        patience: Duration,
    ) -> Result<Result<Reply<C>, CallFailure>, Self> {
        let deadline = Instant::now().checked_add(patience);
        block_until(deadline, &mut self).ok_or(self)
    }

    /// What is told of its progress, if it asked for that: a stream that ends with the call.
    ///
    /// What nobody takes is kept, up to 64 updates with messages of 1 MiB together; then the latest one
    /// replaces those before it.
    ///
    /// ```
    /// # use mcp_sansio_driver::{CallFailure, PendingCall};
    /// # async fn follow(mut call: PendingCall) -> Result<(), CallFailure> {
    /// while let Some(update) = call.progress().next().await {
    ///     println!("{}", update.progress);
    /// }
    /// let reply = call.await?;
    /// # _ = reply; Ok(())
    /// # }
    /// ```
    pub const fn progress(&mut self) -> ProgressUpdates<'_, M, C> {
        ProgressUpdates { call: self }
    }

    /// Asks the other side to cancel the task that the call has become, and goes on waiting: for
    /// [`CallFailure::TaskCancelled`], or for what the task comes to if that is sooner.
    ///
    /// # Errors
    ///
    /// [`CallError`] says why the other side was not asked.
    pub fn cancel_task(&self) -> Result<(), CallError> {
        match self.made {
            None => Ok(()),
            Some(Err(error)) => Err(error),
            Some(Ok(call)) => {
                self.handle.wire().with(|machine, out, now| machine.cancel_task(call, now, out))
            }
        }
    }

    /// Cancels the call: its result is not wanted any more. This does not wait for anything.
    pub fn cancel(mut self, reason: Option<&str>) {
        self.give_up(reason);
    }

    fn give_up(&mut self, reason: Option<&str>) {
        if let Some(Ok(call)) = self.made.take() {
            let left = self.handle.wire().act(|state| {
                // It may have ended meanwhile, which is as good.
                _ = state.machine.cancel(call, reason, &mut state.out);
                state.calls.forget(call)
            });
            drop(left);
        }
    }

    /// The result, the pages in front of it, and what there is to say of them.
    pub(crate) fn poll_end(&mut self, context: &Context<'_>) -> Poll<Result<Ended, CallFailure>> {
        let call = match self.made {
            Some(Ok(call)) => call,
            Some(Err(error)) => {
                self.made = None;
                return Poll::Ready(Err(error.into()));
            }
            // Polled once more than it may be.
            None => return Poll::Ready(Err(CallFailure::Closed(Cause::ShutDown))),
        };
        let mut waker = Some(context.waker().clone());
        let polled = self.handle.wire().lock().calls.poll_end(call, &mut waker);
        drop(waker);
        let end = ready!(polled);
        self.made = None;
        Poll::Ready(match end {
            Some(End::Outcome { outcome: Outcome::Truncated { stop, last }, pages, stale }) => {
                Ok(Ended { result: last, pages, stale, cut: Some(stop) })
            }
            Some(End::Outcome { outcome, pages, stale }) => {
                result_of(outcome).map(|result| Ended { result, pages, stale, cut: None })
            }
            Some(End::Cancelled) => Err(CallFailure::Cancelled),
            // Every call ends once, and its end is kept until here.
            None => Err(CallFailure::Closed(Cause::ShutDown)),
        })
    }

    fn poll_step(&self, context: &Context<'_>) -> Poll<Option<ProgressUpdate<'static>>> {
        match self.made {
            Some(Ok(call)) => {
                let mut waker = Some(context.waker().clone());
                let polled = self.handle.wire().lock().calls.poll_step(call, &mut waker);
                drop(waker);
                polled
            }
            _ => Poll::Ready(None),
        }
    }
}

/// The good end of a call.
pub(crate) struct Ended {
    pub(crate) result: Raw<'static>,
    pub(crate) pages: Vec<Raw<'static>>,
    pub(crate) stale: bool,
    /// Why its next page was not asked for, if it has one.
    pub(crate) cut: Option<PageStop>,
}

impl<M: Machine, C> Future for PendingCall<M, C> {
    type Output = Result<Reply<C>, CallFailure>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_end(context).map_ok(|ended| Reply::new(ended.result))
    }
}

impl<M: Machine, C> Drop for PendingCall<M, C> {
    fn drop(&mut self) {
        self.give_up(None);
    }
}

impl<M: Machine, C> fmt::Debug for PendingCall<M, C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PendingCall").field("made", &self.made).finish_non_exhaustive()
    }
}

/// How far a call is, again and again: a stream, see [`PendingCall::progress`].
#[must_use = "nothing is told unless it is asked for"]
pub struct ProgressUpdates<'c, M: Machine = Client, C = ByName> {
    call: &'c mut PendingCall<M, C>,
}

impl<M: Machine, C> ProgressUpdates<'_, M, C> {
    /// The next update; `None` if the call has ended. Dropping this future loses nothing.
    pub async fn next(&mut self) -> Option<ProgressUpdate<'static>> {
        poll_fn(|context| self.call.poll_step(context)).await
    }
}

impl<M: Machine, C> Stream for ProgressUpdates<'_, M, C> {
    type Item = ProgressUpdate<'static>;

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<ProgressUpdate<'static>>> {
        self.call.poll_step(context)
    }
}

impl<M: Machine, C> fmt::Debug for ProgressUpdates<'_, M, C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ProgressUpdates").field("call", &self.call).finish()
    }
}
