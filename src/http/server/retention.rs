//! The assignment of streams to responses, and the retention of streams without a response.

use alloc::vec::Vec;

use super::events::{EventId, EventStore};
use super::reply::Reply;
use super::response_id::ResponseId;
use super::stream::{Purpose, Response};
use super::stream_table::STANDALONE;
use super::streams::{ConnectionKind, Streams};
use crate::codes::ErrorCode;
use crate::handle::IncomingId;
use crate::time::Instant;

/// # Ending and coming back
impl<E: EventStore> Streams<E> {
    /// Reports that the client has disconnected before the end of a response. Returns whether the connection ends:
    /// then report [`Cause::WriteFailed`](crate::Cause::WriteFailed) to the machine, not
    /// [`Cause::EndOfInput`](crate::Cause::EndOfInput), which is for input alone.
    ///
    /// In the modern era a disconnect cancels the request
    /// ([cancellation](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation)). In a
    /// session it does not: later messages wait for the client, if it can resume the stream.
    #[must_use = "the machine must be notified"]
    pub fn disconnected(&mut self, response: ResponseId, now: Instant) -> bool {
        if self.table.carried(response).is_none() {
            return false;
        }
        match self.kind {
            ConnectionKind::OneStream(_) => {
                self.forget(response.stream);
                response.stream == STANDALONE
            }
            ConnectionKind::Modern => {
                let stream = self.table.streams.get(&response.stream);
                let was_over =
                    stream.is_some_and(|stream| stream.is_complete() && stream.outbox.is_empty());
                self.forget(response.stream);
                !was_over
            }
            ConnectionKind::ImplicitSession | ConnectionKind::Session(_) => {
                if let Some(stream) = self.table.streams.get_mut(&response.stream) {
                    stream.response = None;
                }
                self.used_until = Some(now);
                self.keep_for_later(response.stream, now);
                false
            }
        }
    }

    /// Ends the response of a stream early. The client resumes the stream after
    /// [`HttpServerConfig::retry`](super::HttpServerConfig::retry), so that a long call holds no connection
    /// (2025-11-25). Returns false, without effect, if the client could not resume the stream.
    pub fn close_response(&mut self, request: IncomingId) -> bool {
        let Some(number) = self.table.stream_of_request(request) else { return false };
        // A stream beyond the number of kept streams could not be resumed.
        if !self.kind.is_resumable(&self.config, self.revision)
            || self.config.kept_streams <= self.table.waited_for_beside(number)
        {
            return false;
        }
        let Some(stream) = self.table.streams.get_mut(&number) else { return false };
        let Some(response) = &mut stream.response else { return false };
        response.is_closing = true;
        // A response that resumes a stream has not sent its `retry` delay yet.
        response.primes |= 0 < stream.generation;
        stream.must_stream = true;
        self.table.wake(number);
        true
    }

    /// Ends the response that carries the standalone stream, if there is one. The client opens it again, possibly in
    /// another process; until then the messages that belong to no request wait.
    pub fn close_standalone(&mut self) {
        if matches!(self.kind, ConnectionKind::Session(_))
            && let Some(stream) = self.table.streams.get_mut(&STANDALONE)
            && let Some(response) = &mut stream.response
        {
            response.is_closing = true;
            self.table.wake(STANDALONE);
        }
    }

    /// Opens an event stream of a session: the standalone stream, or, with the id of the last received event, the
    /// rest of a stream that broke off.
    ///
    /// If the resumed stream still has a response, that response ends, because its connection may be dead.
    ///
    /// # Errors
    ///
    /// The [`Reply`] that refuses the request: 409 if the standalone stream is already open, 400 if the id names no
    /// event of a stream or the event after it is no longer stored, 405 if this connection is not a session.
    pub fn listen(&mut self, last_event: Option<&str>, now: Instant) -> Result<ResponseId, Reply> {
        if !matches!(self.kind, ConnectionKind::Session(_)) {
            return Err(Reply::not_allowed("POST"));
        }
        let (number, replays_after) = match last_event {
            None => {
                let standalone = self.table.streams.get(&STANDALONE);
                if standalone.is_some_and(|stream| stream.response.is_some()) {
                    let text = "the session has an event stream already";
                    return Err(Reply::refusal(409, ErrorCode::INVALID_REQUEST, text));
                }
                (STANDALONE, None)
            }
            Some(last_event) => {
                let known = EventId::parse(last_event)
                    .filter(|id| self.table.can_resume_after(*id, &self.events));
                let Some(id) = known else {
                    let text = "there is no such event any more";
                    return Err(Reply::refusal(400, ErrorCode::INVALID_REQUEST, text));
                };
                (id.stream, Some(id.event))
            }
        };
        let response = Response { replays_after, ..Response::new(now) };
        self.attach(number, response).ok_or(Reply::empty(404))
    }

    /// Ends every response and drops all unsent messages: the session is over.
    pub fn close(&mut self) {
        let numbers: Vec<u32> = self.table.streams.keys().copied().collect();
        for number in numbers {
            self.forget(number);
            self.table.wake(number);
        }
        self.is_finished = true;
    }

    /// Whether the connection has ended and expects no input: its only response has ended, or its session was never
    /// opened. Then the machine can be [closed](crate::Connection::close).
    pub fn has_ended(&self) -> bool {
        match (self.kind, self.opening) {
            (ConnectionKind::Session(_), Some(opening)) => {
                self.revision.is_none()
                    && opening < self.table.next_number
                    && !self.table.streams.contains_key(&opening)
            }
            (ConnectionKind::Session(_), None) => false,
            (ConnectionKind::OneStream(_), _) => !self.table.streams.contains_key(&STANDALONE),
            (ConnectionKind::Modern | ConnectionKind::ImplicitSession, _) => {
                self.table.streams.is_empty() && STANDALONE + 1 < self.table.next_number
            }
        }
    }

    /// Whether a response is open or a request has no response yet. Otherwise the idle time of the session runs.
    pub fn is_in_use(&self) -> bool {
        self.table.streams.values().any(|stream| stream.response.is_some() || 0 < stream.open)
            || self.table.has_requests()
    }

    /// Returns the time of the last use: now, or the end of the latest response. `None` if there was none.
    pub fn used_until(&self, now: Instant) -> Option<Instant> {
        if self.is_in_use() { Some(now) } else { self.used_until }
    }
}

impl<E: EventStore> Streams<E> {
    /// Attaches a response to a stream, in place of its previous one.
    fn attach(&mut self, number: u32, response: Response) -> Option<ResponseId> {
        if number == STANDALONE {
            self.begin_standalone();
        }
        let stream = self.table.streams.get_mut(&number)?;
        stream.generation = stream.generation.wrapping_add(1);
        stream.response = Some(response);
        // A GET always gets an event stream.
        stream.must_stream = true;
        let id = ResponseId { stream: number, generation: stream.generation };
        self.table.forget_kept(number);
        self.table.set_deadline(number, None);
        self.table.wake(number);
        Some(id)
    }

    /// Keeps a stream without a response for its client, or drops its messages if the client cannot resume it.
    pub(super) fn keep_for_later(&mut self, number: u32, now: Instant) {
        self.table.set_deadline(number, None);
        let Some(stream) = self.table.streams.get_mut(&number) else { return };
        if stream.purpose == Purpose::Standalone {
            return;
        }
        if stream.is_lost() {
            stream.outbox.messages().for_each(drop);
            return self.drop_if_unwanted(number);
        }
        stream.outbox.release();
        self.table.kept.push_back(number);
        if self.config.kept_streams < self.table.kept.len() {
            // Prefers a stream whose client most likely has all messages.
            let streams = &self.table.streams;
            let is_done =
                |number: &u32| streams.get(number).is_none_or(|stream| stream.has_sent_all());
            let at = self.table.kept.iter().position(is_done).unwrap_or_default();
            let oldest = self.table.kept.remove(at);
            oldest.into_iter().for_each(|oldest| self.forget(oldest));
        }
        self.table.set_deadline(number, Some(now + self.config.kept_for));
        self.bound_kept_bytes();
    }

    /// Removes streams that broke off until their unsent bytes are within the limit: first those that exceed the limit
    /// alone, which no removal of others makes room for, then the oldest. A stream without unsent bytes stays, because
    /// its removal frees nothing.
    pub(super) fn bound_kept_bytes(&mut self) {
        let most = self.config.kept_bytes;
        let unsent =
            |number: &u32| self.table.streams.get(number).map_or(0, |stream| stream.outbox.len());
        let mut bytes: usize = self.table.kept.iter().map(unsent).sum();
        if bytes <= most {
            return;
        }
        let waiting = self.table.kept.iter().map(|number| (*number, unsent(number)));
        let (too_long, others): (Vec<_>, Vec<_>) =
            waiting.filter(|(_, own)| 0 < *own).partition(|(_, own)| most < *own);
        for (number, own) in too_long.into_iter().chain(others) {
            if bytes <= most {
                return;
            }
            bytes -= own;
            self.forget(number);
        }
    }

    /// Removes a stream that no client will request. Later messages for it are dropped.
    pub(super) fn forget(&mut self, number: u32) {
        self.table.set_deadline(number, None);
        let Some(stream) = self.table.streams.remove(&number) else { return };
        if stream.latest.is_some() {
            self.table.forget_kept(number);
            self.events.forget(number);
        }
        self.table.spare.keep(stream, self.new_outbox());
        if self.table.streams.is_empty() {
            self.nowhere = None;
        }
    }

    /// Removes a complete stream without a response of which the client knows no event, so that it cannot be resumed.
    pub(super) fn drop_if_unwanted(&mut self, number: u32) {
        let is_unwanted = self.table.streams.get(&number).is_some_and(|stream| {
            stream.response.is_none() && stream.latest.is_none() && stream.is_complete()
        });
        if is_unwanted {
            self.forget(number);
        }
    }
}
