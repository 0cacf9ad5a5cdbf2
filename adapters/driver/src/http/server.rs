//! A server connection over HTTP: messages arrive in request bodies and leave on responses.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcp_sansio::http::{
    Content, Reply, RequestSource, ResponseHead, ResponseId, ResponsePart, Streams,
};
use mcp_sansio::json::ScannedFrame;
use mcp_sansio::{Cause, Frames, Instant, Limits, Phase, Received, Server};

use super::HttpOutboxes;
use super::kept_bytes::{KeptBytes, KeptTotal};
use super::{PostEntry, PostRefused};
use crate::after_unlock::AfterUnlock;
use crate::clock::Clock;
use crate::exchange::Exchange;
use crate::lazy_box::LazyBox;
use crate::machine::Machine;
use crate::machine::sealed::Role as _;
use crate::options::ConnectionOptions;
use crate::out::Out;
use crate::output::Writing;
use crate::requests::Admission;
use crate::run::Run;
use crate::wire::{State, Wire};

/// How long a session keeps its memory after a response, as another request may follow.
const KEPT: Duration = Duration::from_secs(5);

/// An accepted POST.
#[derive(Debug)]
#[non_exhaustive]
pub struct AcceptedPost {
    /// The response to the POST.
    pub response: ResponseId,
    /// The request of the POST, if the executor is [inline](Run::is_inline). Pass it to [`Run::serve`], and call
    /// [`poll_head`](Wire::poll_head) or [`response_dropped`](Wire::response_dropped) next.
    pub request: Option<Exchange<Server>>,
}

/// The wakers of the tasks that send responses.
#[derive(Default)]
pub(super) struct Responses {
    /// The first waker. It is stored inline, because it is usually the only one.
    first: Option<(ResponseId, Waker)>,
    others: LazyBox<BTreeMap<u32, Vec<(ResponseId, Waker)>>>,
    /// Whether the connection serves one modern request, so that its end is not reported.
    serves_one_request: bool,
}

impl Responses {
    pub(super) const fn serves_one_request(&self) -> bool {
        self.serves_one_request
    }

    pub(super) fn is_last_word_known<M: Machine>(&self, event: &M::Event) -> bool {
        self.serves_one_request && M::is_last_word(event)
    }
}

/// # Behind HTTP
///
/// For adapters that serve HTTP: see [`mcp_sansio::http`].
impl Wire<Server> {
    /// Creates a server whose output goes to `streams` and whose handlers run on `runner`. If connections share
    /// tasks, the number of the server is [one of theirs](ConnectionOptions::next_connection).
    ///
    /// `kept` is a total over several connections. It includes the [`kept_bytes`](Self::kept_bytes) of this
    /// connection from now on; for a modern request only the unsent bytes. `limits` are those of the server's
    /// configuration, shared by all connections.
    pub fn behind_http(
        (server, streams): (Server, Streams),
        limits: Arc<Limits>,
        options: &ConnectionOptions,
        clock: Clock,
        runner: Arc<dyn Run<Server>>,
        kept: Arc<KeptTotal>,
    ) -> Arc<Self> {
        let serves_one_request = streams.serves_one_request();
        let out = Out::Http(HttpOutboxes::Responses(streams));
        let wire = Self::server_on(server, out, limits, options, clock, runner);
        let mut state = wire.lock();
        // The output goes to responses, not to a single stream.
        state.output.writing = Writing::Over;
        state.http.responses.serves_one_request = serves_one_request;
        state.http.kept = KeptBytes::in_total(kept);
        drop(state);
        wire
    }

    /// Accepts a POST from `source`, a principal or a [`RequestSource`], and returns the response to it. If the caller gets
    /// the [request](AcceptedPost::request), the connection is settled only when the caller asks for the head. `scanned`
    /// is the value that [`RequestValidator::post_scanned`](mcp_sansio::http::RequestValidator::post_scanned) left
    /// for the same body; any other value is also valid.
    ///
    /// `admission` is called for a permit for each request that needs a handler. A request without a permit gets
    /// the error `-32603`. Everything else needs no permit: notifications, responses, and requests that the machine
    /// answers itself.
    ///
    /// # Errors
    ///
    /// [`PostRefused`] if the POST was not accepted; the connection is unchanged.
    pub fn post<'b>(
        self: &Arc<Self>,
        body: &'b [u8],
        scanned: &mut ScannedFrame<'b>,
        source: impl Into<RequestSource>,
        entry: PostEntry,
        admission: &mut Admission<'_>,
    ) -> Result<AcceptedPost, PostRefused> {
        let source = source.into();
        let mut state = self.lock();
        if state.machine.phase() == Phase::Closed {
            return Err(PostRefused::Closed);
        }
        let place = if let PostEntry::Waited(place) = entry { Some(place) } else { None };
        if place.is_some_and(|place| state.is_cancelled(place)) {
            return Err(PostRefused::Cancelled);
        }
        if entry != PostEntry::Always && !state.may_enter(body, &self.limits, place) {
            return Err(PostRefused::NoRoom);
        }
        let now = self.clock.now();
        let streams = state.streams().ok_or(PostRefused::Closed)?;
        let response = streams.begin(now);
        let received = streams.message_context(response, source, now);
        let request = self.receive_body(&mut state, (body, scanned), received, admission);
        if let Some(streams) = state.streams() {
            streams.received(response);
        }
        if let Some(request) = &request {
            // The caller runs the handler and asks for the head of the response, which settles the connection.
            state.http.inline = Some(request.request().id);
            // Nothing waits for the new response yet, and the next step of its task must not wake that task.
            state.wake_responses();
            let entries = state.after.take_entries();
            drop(state);
            entries.emit();
        } else {
            self.settle(&mut state, now);
            self.release(state);
        }
        Ok(AcceptedPost { response, request })
    }

    /// Passes the messages of a body to the machine. Returns its request if the caller runs the handler.
    fn receive_body<'b>(
        self: &Arc<Self>,
        state: &mut State<Server>,
        (body, scanned): (&'b [u8], &mut ScannedFrame<'b>),
        received: Received,
        admission: &mut Admission<'_>,
    ) -> Option<Exchange<Server>> {
        // The handlers of a batch run one beside the other.
        let mut may_inline = state.http.inline.is_none() && state.jobs.is_inline();
        let mut inline = None;
        for frame in Frames::of(body, &self.limits) {
            state.cancel_waiting(&frame);
            let bytes = frame.bytes().len();
            may_inline &= frame.is_last();
            let event = state.machine.receive_scanned(frame, scanned, received, &mut state.out);
            state.out.watch(event.as_ref());
            let begin = |wire: &Arc<Self>, state: &mut State<Server>, admitted| {
                if may_inline {
                    inline = Some(wire.exchange(state, admitted));
                } else {
                    wire.begin(state, admitted);
                }
            };
            Server::pass_on(
                event,
                &mut *state,
                |state, request| self.ask(state, request, Some(admission), begin),
                |state, event| self.deliver(state, event, bytes),
            );
        }
        inline
    }

    /// Opens an event stream for the client: see [`Streams::listen`].
    ///
    /// # Errors
    ///
    /// The [`Reply`] that refuses the event stream.
    pub fn listen(self: &Arc<Self>, last_event: Option<&str>) -> Result<ResponseId, Reply> {
        self.act_at(|state, now| match state.streams() {
            Some(streams) => streams.listen(last_event, now),
            None => Err(Reply::empty(405)),
        })
    }

    /// Returns the next part of a response: see [`Streams::next`]. Pending while there is none.
    pub fn poll_response(
        self: &Arc<Self>,
        response: ResponseId,
        context: &Context<'_>,
        buffer: &mut Vec<u8>,
    ) -> Poll<ResponsePart> {
        self.act_at(|state, now| {
            state.http.inline = None;
            let Some(streams) = state.streams() else { return Poll::Ready(ResponsePart::End) };
            let part = streams.next(response, now, buffer);
            if part != ResponsePart::Nothing {
                return Poll::Ready(part);
            }
            state.wait(response, context);
            Poll::Pending
        })
    }

    /// Returns the head of a response. If the body is no event stream, the whole body is appended to the buffer,
    /// and the response has ended. `None` if the response ends without a head.
    pub fn poll_head(
        self: &Arc<Self>,
        response: ResponseId,
        context: &Context<'_>,
        buffer: &mut Vec<u8>,
    ) -> Poll<Option<ResponseHead>> {
        let mut state = self.lock();
        let now = self.clock.now();
        state.http.inline = None;
        let head = state.next_head((response, now), context, buffer);
        self.settle_room(&mut state, now);
        // A new response may have set a deadline, or produced output on another stream.
        self.release(state);
        head
    }

    /// Handles a client that disconnects before the end of a response: see [`Streams::disconnected`].
    pub fn response_dropped(self: &Arc<Self>, response: ResponseId) {
        self.act_at(|state, now| {
            state.http.inline = None;
            let unneeded = state.http.responses.forget(response);
            state.after.drop_waker(unneeded);
            let Some(streams) = state.streams() else { return };
            if streams.disconnected(response, now) {
                state.machine.disconnected(Cause::WriteFailed, now);
            }
        });
    }

    /// Ends the connection and all its responses at once, because the client has terminated the session or the
    /// session has expired.
    pub fn end_now(self: &Arc<Self>) {
        self.act(|state| {
            if let Some(streams) = state.streams() {
                streams.close();
            }
            state.machine.close();
        });
    }

    /// Returns the time of the last use of the connection: see [`Streams::used_until`].
    pub fn used_until(&self, now: Instant) -> Option<Instant> {
        match &self.lock().out {
            Out::Http(HttpOutboxes::Responses(streams)) => streams.used_until(now),
            _ => Some(now),
        }
    }
}

impl Exchange<Server> {
    /// Ends the response that carries this request, so that long work occupies no HTTP connection. The client
    /// resumes the stream for the rest. Returns whether that is possible: only in a session of 2025-11-25 over
    /// HTTP.
    pub fn close_response(&self) -> bool {
        let id = self.request().id;
        let close = |state: &mut State<Server>| {
            state.streams().is_some_and(|streams| streams.close_response(id))
        };
        self.handle().wire().act(close)
    }
}

impl State<Server> {
    fn next_head(
        &mut self,
        (response, now): (ResponseId, Instant),
        context: &Context<'_>,
        buffer: &mut Vec<u8>,
    ) -> Poll<Option<ResponseHead>> {
        let Some(streams) = self.streams() else { return Poll::Ready(None) };
        let head = match streams.next(response, now, buffer) {
            ResponsePart::Head(head) => head,
            ResponsePart::Nothing => {
                self.wait(response, context);
                return Poll::Pending;
            }
            _ => return Poll::Ready(None),
        };
        if head.content != Content::Events {
            while streams.next(response, now, buffer) == ResponsePart::Body {}
            if !self.http.responses.serves_one_request {
                self.http.release_at = Some(now + KEPT);
            }
        }
        Poll::Ready(Some(head))
    }

    fn wait(&mut self, response: ResponseId, context: &Context<'_>) {
        let unneeded = self.http.responses.wait(response, context.waker());
        self.after.drop_waker(unneeded);
    }

    fn streams(&mut self) -> Option<&mut Streams> {
        match &mut self.out {
            Out::Http(HttpOutboxes::Responses(streams)) => Some(streams),
            _ => None,
        }
    }
}

impl Responses {
    /// Stores the waker of the task that sends this response. Returns the waker that it replaces.
    #[must_use = "drop it after the lock is released"]
    fn wait(&mut self, response: ResponseId, waker: &Waker) -> Option<Waker> {
        let first = self.first.get_or_insert_with(|| (response, waker.clone()));
        let known = if first.0 == response {
            Some(&mut first.1)
        } else {
            let others = self.others.needed();
            let others = others.entry(response.stream()).or_default();
            match others.iter().position(|(one, _)| *one == response) {
                Some(at) => others.get_mut(at).map(|(_, waker)| waker),
                None => {
                    others.push((response, waker.clone()));
                    None
                }
            }
        };
        let replaced = known.filter(|known| !known.will_wake(waker))?;
        Some(std::mem::replace(replaced, waker.clone()))
    }

    /// Removes the waker of a response, and returns it.
    #[must_use = "drop it after the lock is released"]
    fn forget(&mut self, response: ResponseId) -> Option<Waker> {
        if let Some((_, waker)) = self.first.take_if(|(one, _)| *one == response) {
            return Some(waker);
        }
        let streams = self.others.get_mut()?;
        let others = streams.get_mut(&response.stream())?;
        let at = others.iter().position(|(one, _)| *one == response);
        let waker = at.map(|at| others.remove(at).1);
        if others.is_empty() {
            streams.remove(&response.stream());
        }
        waker
    }

    /// Wakes the tasks that wait for a stream, once the lock is free.
    fn wake(&mut self, stream: u32, after: &mut AfterUnlock) {
        if let Some((_, waker)) = self.first.take_if(|(one, _)| one.stream() == stream) {
            after.wake([waker]);
        }
        if let Some(others) = self.others.get_mut().and_then(|others| others.remove(&stream)) {
            after.wake(others.into_iter().map(|(_, waker)| waker));
        }
    }
}

impl<M: Machine> State<M> {
    /// Handles the timeouts of responses and the end of the connection.
    pub(crate) fn settle_responses(&mut self, now: Instant) {
        let is_closed = self.machine.phase() == Phase::Closed;
        if let Out::Http(HttpOutboxes::Responses(streams)) = &mut self.out {
            streams.handle_timeout(now);
            if is_closed {
                streams.finish();
            }
        }
        if self.http.release_at.is_some_and(|at| at <= now) {
            self.http.release_at = None;
            self.release_if_idle();
        }
    }

    /// Releases memory while a session is idle, as most sessions are most of the time.
    fn release_if_idle(&mut self) {
        if self.machine.in_flight().counts().inbound == 0
            // A running handler may still receive the end of its request, and releasing memory would lose it.
            && self.requests.release_if_idle()
        {
            self.machine.release();
            // The calls of this side may belong to requests that have ended, which the streams know.
            if self.machine.in_flight().counts().outbound == 0
                && let Out::Http(HttpOutboxes::Responses(streams)) = &mut self.out
            {
                streams.release();
            }
        }
    }

    /// Wakes the tasks of the responses that have output.
    pub(crate) fn wake_responses(&mut self) {
        if let Out::Http(HttpOutboxes::Responses(streams)) = &mut self.out {
            for stream in streams.woken() {
                self.http.responses.wake(stream, &mut self.after);
            }
            self.wake_posts();
        }
    }
}
