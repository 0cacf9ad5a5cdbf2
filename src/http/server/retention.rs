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
    /// The client has gone before the end of a response. Says whether that ends the connection: tell the
    /// machine ([`Cause::EndOfInput`](crate::Cause::EndOfInput) is for input alone; this is
    /// [`Cause::WriteFailed`](crate::Cause::WriteFailed)).
    ///
    /// Without a session it is how a client cancels
    /// ([cancellation](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation)).
    /// In one it is no cancellation: what is said from now on waits for the client, if it can come back.
    #[must_use = "the machine has to be told"]
    pub fn disconnected(&mut self, response: ResponseId, now: Instant) -> bool {
        if self.table.carried(response).is_none() {
            return false;
        }
        match self.kind {
            ConnectionKind::OneStream(_) => {
                self.forget(response.stream);
                response.stream == STANDALONE
            }
            ConnectionKind::Sessionless => {
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

    /// Ends the response of a stream before the stream ends, and has its client come back for the rest after
    /// [`HttpServerConfig::retry`](super::HttpServerConfig::retry): so a long call holds no connection
    /// (2025-11-25). Says whether that can be; if the client could not come back nothing happens.
    pub fn close_response(&mut self, request: IncomingId) -> bool {
        let Some(number) = self.table.stream_of_request(request) else { return false };
        // What is waited for and not kept could not be come back for.
        if !self.kind.is_resumable(&self.config, self.revision)
            || self.config.kept_streams <= self.table.waited_for_beside(number)
        {
            return false;
        }
        let Some(stream) = self.table.streams.get_mut(&number) else { return false };
        let Some(response) = &mut stream.response else { return false };
        response.is_closing = true;
        // Whoever has come back before has not been told by this response when to do so.
        response.primes |= 0 < stream.generation;
        stream.must_stream = true;
        self.table.wake(number);
        true
    }

    /// The client of a session asks for an event stream: for what belongs to no request, or, with the id of the
    /// last event that it has, for the rest of a stream that has broken off.
    ///
    /// A response that carries the same stream already ends, if the client comes back for it: it may well be
    /// half dead.
    ///
    /// # Errors
    ///
    /// The [`Reply`] refuses it: 409 if there is such a stream already, 400 if there is no such event any more,
    /// 405 if this connection is no session.
    pub fn listen(&mut self, last_event: Option<&str>, now: Instant) -> Result<ResponseId, Reply> {
        if !matches!(self.kind, ConnectionKind::Session(_)) {
            return Err(Reply::not_allowed("POST"));
        }
        let number = match last_event {
            None => {
                let standalone = self.table.streams.get(&STANDALONE);
                if standalone.is_some_and(|stream| stream.response.is_some()) {
                    let text = "the session has an event stream already";
                    return Err(Reply::refusal(409, ErrorCode::INVALID_REQUEST, text));
                }
                STANDALONE
            }
            Some(last_event) => return self.resume(last_event, now),
        };
        self.attach(number, Response::new(now)).ok_or(Reply::empty(404))
    }

    fn resume(&mut self, last_event: &str, now: Instant) -> Result<ResponseId, Reply> {
        let known = EventId::parse(last_event).filter(|id| {
            let latest = self.table.streams.get(&id.stream).and_then(|stream| stream.latest);
            latest.is_some_and(|latest| {
                let next = self.events.after(id.stream, id.event).map(|(event, _)| event);
                id.event == latest || (id.event < latest && next == Some(id.event + 1))
            })
        });
        let Some(id) = known else {
            let text = "there is no such event any more";
            return Err(Reply::refusal(400, ErrorCode::INVALID_REQUEST, text));
        };
        let response = Response { replays_after: Some(id.event), ..Response::new(now) };
        self.attach(id.stream, response).ok_or(Reply::empty(404))
    }

    /// Every response ends, and with it everything on it that has not been said: the session is over.
    pub fn close(&mut self) {
        let numbers: Vec<u32> = self.table.streams.keys().copied().collect();
        for number in numbers {
            self.forget(number);
            self.table.wake(number);
        }
        self.is_finished = true;
    }

    /// Whether nothing is left of it, and nothing can come: the only response has ended, or the session has
    /// not come about. Then the machine can be [closed](crate::Connection::close).
    pub fn has_ended(&self) -> bool {
        match (self.kind, self.opening) {
            (ConnectionKind::Session(_), Some(opening)) => {
                self.revision.is_none()
                    && opening < self.table.next_number
                    && !self.table.streams.contains_key(&opening)
            }
            (ConnectionKind::Session(_), None) => false,
            (ConnectionKind::OneStream(_), _) => !self.table.streams.contains_key(&STANDALONE),
            (ConnectionKind::Sessionless | ConnectionKind::ImplicitSession, _) => {
                self.table.streams.is_empty() && STANDALONE + 1 < self.table.next_number
            }
        }
    }

    /// Whether anything is going on: a response is open, or a request has not been answered. If not, the time
    /// of the session runs out.
    pub fn is_in_use(&self) -> bool {
        self.table.streams.values().any(|stream| stream.response.is_some() || 0 < stream.open)
            || self.table.has_requests()
    }

    /// When the session was in use last: now, or when its latest response ended. `None` if there was none.
    pub fn used_until(&self, now: Instant) -> Option<Instant> {
        if self.is_in_use() { Some(now) } else { self.used_until }
    }
}

impl<E: EventStore> Streams<E> {
    /// Gives a stream to a response, in place of the one that it had.
    fn attach(&mut self, number: u32, response: Response) -> Option<ResponseId> {
        if number == STANDALONE {
            self.begin_standalone();
        }
        let stream = self.table.streams.get_mut(&number)?;
        stream.generation = stream.generation.wrapping_add(1);
        stream.response = Some(response);
        // Whoever asks for events gets events.
        stream.must_stream = true;
        let id = ResponseId { stream: number, generation: stream.generation };
        self.forget_kept(number);
        self.table.set_deadline(number, None);
        self.table.wake(number);
        Some(id)
    }

    /// A stream has lost its response. It waits for its client, if that can come back; if not, what is on it is
    /// forgotten.
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
        self.kept.push_back(number);
        if self.config.kept_streams < self.kept.len() {
            // First one of which the client most likely has everything.
            let streams = &self.table.streams;
            let is_told =
                |number: &u32| streams.get(number).is_none_or(|stream| stream.has_said_all());
            let at = self.kept.iter().position(is_told).unwrap_or_default();
            let oldest = self.kept.remove(at);
            oldest.into_iter().for_each(|oldest| self.forget(oldest));
        }
        self.table.set_deadline(number, Some(now + self.config.kept_for));
        self.bound_kept_bytes();
    }

    /// Forgets streams that have broken off, the oldest first, until what waits on all of them is within its bound.
    pub(super) fn bound_kept_bytes(&mut self) {
        let waiting =
            |number: &u32| self.table.streams.get(number).map_or(0, |stream| stream.outbox.len());
        let mut bytes: usize = self.kept.iter().map(waiting).sum();
        while self.config.kept_bytes < bytes {
            let Some(oldest) = self.kept.pop_front() else { return };
            bytes -= self.table.streams.get(&oldest).map_or(0, |stream| stream.outbox.len());
            self.forget(oldest);
        }
    }

    /// A stream is not among those that have broken off.
    fn forget_kept(&mut self, number: u32) {
        if !self.kept.is_empty() {
            self.kept.retain(|kept| *kept != number);
            self.kept.release();
        }
    }

    /// Nobody will ask for a stream any more. What is said on it from now on is said to nobody.
    pub(super) fn forget(&mut self, number: u32) {
        self.table.set_deadline(number, None);
        let Some(stream) = self.table.streams.remove(&number) else { return };
        if stream.latest.is_some() {
            self.forget_kept(number);
            self.events.forget(number);
        }
        self.table.spare.keep(stream, self.new_outbox());
        if self.table.streams.is_empty() {
            self.nowhere = None;
        }
    }

    /// Forgets what nobody will ever ask for: a stream without a response, of which the client knows no event.
    pub(super) fn drop_if_unwanted(&mut self, number: u32) {
        let is_unwanted = self.table.streams.get(&number).is_some_and(|stream| {
            stream.response.is_none() && stream.latest.is_none() && stream.is_complete()
        });
        if is_unwanted {
            self.forget(number);
        }
    }
}
