//! [`PendingCall`]: a call in progress, and its result.

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
use crate::spans::CallSpan;

/// The method marker of a call that was made by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ByName {}

/// The result of a call, with the text that it borrows from. `mcp_sansio::http::Reply` is another type: an HTTP
/// response.
pub struct Reply<C = ByName> {
    raw: Raw<'static>,
    method: PhantomData<fn() -> C>,
}

impl<C> Reply<C> {
    pub(crate) const fn new(raw: Raw<'static>) -> Self {
        Self { raw, method: PhantomData }
    }

    /// Returns the result as received.
    pub const fn raw(&self) -> &Raw<'static> {
        &self.raw
    }

    /// Decodes the result as another type.
    ///
    /// # Errors
    ///
    /// [`ParseError`] if the result does not match the type.
    pub fn parse_as<'r, T: Deserialize<'r>>(&'r self) -> Result<T, ParseError> {
        self.raw.parse()
    }
}

impl<C> Reply<C> {
    /// Drops the method type, so that replies of different methods can be stored together.
    pub fn by_name(self) -> Reply {
        Reply::new(self.raw)
    }
}

impl<C: Method> Reply<C> {
    /// Decodes the result, which borrows the reply: keep the reply in a variable.
    ///
    /// # Errors
    ///
    /// [`ParseError`] if the result does not match the method, which is a fault of the peer.
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

/// A call in progress: `await` it, or block with [`wait`](Self::wait). Dropping it cancels the call.
///
/// It can be polled by reference, and pausing the polling loses nothing.
///
/// ```
/// use std::time::Duration;
///
/// use mcp_sansio::model::CallToolParams;
/// use mcp_sansio::{CallOptions, Client};
/// use mcp_sansio_driver::{CallFailure, Handle, Reply};
///
/// /// Calls a tool, and cancels the call if it takes more than a second.
/// fn call_briefly(handle: &Handle<Client>) -> Option<Result<Reply, CallFailure>> {
///     let params = CallToolParams::new("search");
///     let call = handle.call_method("tools/call", &params, CallOptions::new());
///     match call.wait_timeout(Duration::from_secs(1)) {
///         Ok(ended) => Some(ended),
///         Err(call) => {
///             call.cancel(Some("too slow"));
///             None
///         }
///     }
/// }
/// # _ = call_briefly;
/// ```
#[must_use = "a call that is dropped is cancelled"]
pub struct PendingCall<M: Machine = Client, C = ByName> {
    /// The call, until its end has been returned.
    made: Option<Result<CallId, CallError>>,
    /// The HTTP status of the refusal, once the call has ended with one.
    status: Option<u16>,
    handle: Handle<M>,
    span: CallSpan,
    method: PhantomData<fn() -> C>,
}

impl<M: Machine, C> PendingCall<M, C> {
    pub(crate) fn new(made: Result<CallId, CallError>, handle: &Handle<M>) -> Self {
        Self::in_span(CallSpan::none(), made, handle)
    }

    /// Creates a call with its span.
    pub(crate) fn in_span(
        span: CallSpan,
        made: Result<CallId, CallError>,
        handle: &Handle<M>,
    ) -> Self {
        Self { made: Some(made), status: None, handle: handle.clone(), span, method: PhantomData }
    }

    /// Returns the id of this call in events, or an error if the call was not made. `None` once the call has ended.
    pub const fn id(&self) -> Option<Result<CallId, CallError>> {
        self.made
    }

    /// Returns the HTTP status with which the server has refused the call, after the call was polled by reference to
    /// its end. `None` before, without a refusal, and without HTTP.
    ///
    /// A server can refuse a call with any status and an error of JSON-RPC, which is [`CallFailure::PeerError`]. The
    /// status tells whether another attempt may succeed.
    pub const fn http_status(&self) -> Option<u16> {
        self.status
    }

    /// Blocks the current thread until the call has ended.
    ///
    /// # Errors
    ///
    /// [`CallFailure`] if the call has no result.
    pub fn wait(self) -> Result<Reply<C>, CallFailure> {
        block_on(self)
    }

    /// Blocks the current thread until the call has ended, and passes progress updates to `on_progress` if the call
    /// requested them.
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

    /// Blocks the current thread until the call has ended, at most for `patience`. After that it returns the call.
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

    /// Returns the progress updates as a stream that ends with the call, if the call requested progress.
    ///
    /// Unread updates are kept, up to 64 updates with messages of 1 MiB together; then a new update replaces the latest
    /// of them, or as many of the latest as its message needs room.
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

    /// Asks the peer to cancel the task that the call has become, and keeps waiting: for
    /// [`CallFailure::TaskCancelled`], or for the end of the task if that is earlier.
    ///
    /// # Errors
    ///
    /// [`CallError`] if the peer was not asked.
    pub fn cancel_task(&self) -> Result<(), CallError> {
        match self.made {
            None => Ok(()),
            Some(Err(error)) => Err(error),
            Some(Ok(call)) => {
                self.handle.wire().with(|machine, out, now| machine.cancel_task(call, now, out))
            }
        }
    }

    /// Cancels the call, whose result is no longer wanted. Returns at once.
    pub fn cancel(mut self, reason: Option<&str>) {
        self.give_up(reason);
    }

    fn give_up(&mut self, reason: Option<&str>) {
        let made = self.made.take();
        if let Some(Err(error)) = made {
            self.span.end(Err(&error.into()));
        }
        if let Some(Ok(call)) = made {
            let left = self.handle.wire().act(|state| {
                // The call may have ended in the meantime, which has the same effect.
                _ = state.machine.cancel(call, reason, &mut state.out);
                state.calls.forget(call)
            });
            drop(left);
            self.span.end(Err(&CallFailure::Cancelled));
        }
    }

    /// Returns the result with the pages before it and the state of the list.
    pub(crate) fn poll_end(&mut self, context: &Context<'_>) -> Poll<Result<Ended, CallFailure>> {
        let ended = ready!(self.poll_outcome(context));
        self.span.end(ended.as_ref().map(|ended| &ended.result));
        Poll::Ready(ended)
    }

    fn poll_outcome(&mut self, context: &Context<'_>) -> Poll<Result<Ended, CallFailure>> {
        let call = match self.made {
            Some(Ok(call)) => call,
            Some(Err(error)) => {
                self.made = None;
                return Poll::Ready(Err(error.into()));
            }
            // The future was polled after it was ready.
            None => return Poll::Ready(Err(CallFailure::Closed(Cause::ShutDown))),
        };
        let mut waker = Some(context.waker().clone());
        let polled = self.handle.wire().lock().calls.poll_end(call, &mut waker);
        drop(waker);
        let end = ready!(polled);
        self.made = None;
        Poll::Ready(match end {
            Some(End::Outcome {
                outcome: Outcome::Truncated { stop, last }, pages, stale, ..
            }) => Ok(Ended { result: last, pages, stale, cut: Some(stop) }),
            Some(End::Outcome { outcome, pages, stale, status }) => {
                self.status = status;
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

/// The successful end of a call.
pub(crate) struct Ended {
    pub(crate) result: Raw<'static>,
    pub(crate) pages: Vec<Raw<'static>>,
    pub(crate) stale: bool,
    /// Why the next page was not requested, if there is one.
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

/// The progress updates of a call, as a stream: see [`PendingCall::progress`].
#[must_use = "events are delivered only if they are taken"]
pub struct ProgressUpdates<'c, M: Machine = Client, C = ByName> {
    call: &'c mut PendingCall<M, C>,
}

impl<M: Machine, C> ProgressUpdates<'_, M, C> {
    /// Waits for the next update; `None` if the call has ended. Dropping this future loses nothing.
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
