//! The responses: the head first, then the body, a part at a time.

use alloc::vec::Vec;
use core::fmt::Display;

use super::config::ResponseMode;
use super::events::{EventId, EventStore};
use super::reply::Reply;
use super::response_id::ResponseId;
use super::session_id::SessionId;
use super::stream::{Beginning, Form, Stream};
use super::stream_table::STANDALONE;
use super::streams::Streams;
use crate::connection::{Outboxes, Route};
use crate::frame::Room;
use crate::http::sse::{write_comment, write_event};
use crate::time::Instant;

/// The next part of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResponsePart {
    /// There is nothing for now: ask again when the stream is [woken](Streams::woken).
    Nothing,
    /// The head, once, before everything else.
    Head(ResponseHead),
    /// More of the body, which has been appended to the buffer: all of it, or an event.
    Body,
    /// Nothing more comes.
    End,
}

/// The head of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ResponseHead {
    /// The status of HTTP.
    pub status: u16,
    /// What the body is.
    pub content: Content,
    /// The id of the session that this opens, for `Mcp-Session-Id`.
    pub session: Option<SessionId>,
}

/// What the body of a response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Content {
    /// There is none.
    Nothing,
    /// One JSON text.
    Json,
    /// Server-sent events. They have to go out as they come, so nothing on the way should hold them back.
    Events,
}

impl ResponseHead {
    /// The header fields that go with it, but for that of the session.
    pub fn headers(&self) -> &'static [(&'static str, &'static str)] {
        match self.content {
            Content::Nothing => &[],
            Content::Json => &[("Content-Type", "application/json")],
            Content::Events => &[
                ("Content-Type", "text/event-stream"),
                ("Cache-Control", "no-cache"),
                ("X-Accel-Buffering", "no"),
            ],
        }
    }
}

/// # Sending
impl<E: EventStore> Streams<E> {
    /// The next part of a response. What belongs to the body is appended to the buffer.
    ///
    /// Ask until there is [`Nothing`](ResponsePart::Nothing) or the [`End`](ResponsePart::End), and as slowly as
    /// the client reads: what has not been taken waits here, within its limit.
    #[must_use = "the head comes once, and only this says when to end the response"]
    pub fn next(
        &mut self,
        response: ResponseId,
        now: Instant,
        buffer: &mut Vec<u8>,
    ) -> ResponsePart {
        let number = response.stream;
        let Some(carried) = self.table.carried(response) else { return ResponsePart::End };
        match &mut carried.form {
            Form::Undecided => self.begin_response(response, now),
            Form::Whole(body) if body.is_empty() => self.end(number, now),
            Form::Whole(body) => {
                if buffer.is_empty() {
                    *buffer = core::mem::take(body);
                } else {
                    buffer.append(body);
                }
                ResponsePart::Body
            }
            Form::Events => self.next_event(number, now, buffer),
            Form::Over => self.end(number, now),
        }
    }

    /// Decides what the response begins with, if that can be told.
    fn begin_response(&mut self, id: ResponseId, now: Instant) -> ResponsePart {
        let stream = self.table.streams.get_mut(&id.stream);
        if self.config.responses == ResponseMode::Json
            && let Some(asked) = stream.map(|stream| stream.keep_only_answers())
        {
            // What the client is asked goes out on the stream that belongs to no request; the machine has made sure that
            // it is open.
            for (message, tag) in asked {
                let outbox = self.outbox(Route::Connection);
                _ = outbox.append(Room::Held, tag, |writer| writer.push(&message));
                self.table.wake(STANDALONE);
            }
        }
        let opens = self.opening == Some(id.stream) && self.revision.is_some();
        let (mode, stream_after) = (self.config.responses, self.config.stream_after);
        let (session, is_primed) =
            (self.session_id(), self.kind.is_resumable(&self.config, self.revision));
        let Some(stream) = self.table.streams.get_mut(&id.stream) else { return ResponsePart::End };
        let Some(since) = stream.response.as_ref().map(|response| response.since) else {
            return ResponsePart::End;
        };
        let late = stream_after.map(|after| since + after);
        let is_late = late.is_some_and(|late| late <= now);
        let (status, content, form) = match stream.beginning(mode, is_late) {
            Beginning::Later => {
                // What is not begun when it is late is not begun because of the time.
                self.table.set_deadline(id.stream, late.filter(|late| now < *late));
                return ResponsePart::Nothing;
            }
            Beginning::Reply(Reply { status, body, .. }) => {
                let content = if body.is_empty() { Content::Nothing } else { Content::Json };
                (status, content, Form::Whole(body))
            }
            Beginning::Json(status) => {
                let only = stream.outbox.pop_only();
                let message =
                    only.or_else(|| stream.outbox.pop().map(|(message, _)| Vec::from(message)));
                (status, Content::Json, Form::Whole(message.unwrap_or_default()))
            }
            Beginning::Events => (200, Content::Events, Form::Events),
        };
        let session = session.filter(|_| opens && status == 200);
        let has_more = !(stream.is_complete() && stream.outbox.is_empty());
        if let Some(response) = &mut stream.response {
            (response.form, response.since) = (form, now);
            // What was resumed has been primed before, and nobody comes back for nothing.
            if content == Content::Events && is_primed && has_more {
                response.primes |= response.replays_after.is_none();
            }
        }
        self.table.set_deadline(id.stream, None);
        ResponsePart::Head(ResponseHead { status, content, session })
    }

    fn next_event(&mut self, number: u32, now: Instant, buffer: &mut Vec<u8>) -> ResponsePart {
        let is_named = self.is_one_stream();
        let (retry, keep_alive) = (self.config.retry, self.config.keep_alive);
        let Self { table, events, .. } = self;
        let Some(stream) = table.streams.get_mut(&number) else { return ResponsePart::End };
        let is_complete = stream.is_complete();
        let Stream { response: Some(response), latest, outbox, .. } = &mut **stream else {
            return ResponsePart::End;
        };
        let name = is_named.then_some("message");
        if let Some((name, data)) = response.preface.take() {
            write_event(buffer, Some(name), None, None, data.as_bytes());
        } else if let Some(after) = response.behind(*latest) {
            let event = after + 1;
            let next = events.after(number, after);
            let Some((_, message)) = next.filter(|(next, _)| *next == event) else {
                // It is not kept any more. The client finds that out when it comes back for it.
                return self.end(number, now);
            };
            response.replays_after = Some(event);
            let id = EventId { stream: number, event };
            write_event(buffer, name, Some(&id as &dyn Display), None, message);
        } else if core::mem::take(&mut response.primes) {
            // With an id from the start the client can come back whatever happens. It is told when.
            let event = *latest.get_or_insert(0);
            let id = EventId { stream: number, event };
            write_event(buffer, None, Some(&id as &dyn Display), Some(retry), b"");
        } else if response.is_closing {
            response.form = Form::Over;
            return self.end(number, now);
        } else if let Some((message, _)) = outbox.pop() {
            match latest {
                Some(latest) => {
                    *latest += 1;
                    events.keep(number, *latest, message, now);
                    let id = EventId { stream: number, event: *latest };
                    write_event(buffer, name, Some(&id as &dyn Display), None, message);
                }
                None => write_event(buffer, name, None, None, message),
            }
        } else if is_complete {
            return self.end(number, now);
        } else if keep_alive.is_some_and(|silence| response.since + silence <= now) {
            write_comment(buffer, "");
        } else {
            let deadline = keep_alive.map(|silence| response.since + silence);
            self.table.set_deadline(number, deadline);
            return ResponsePart::Nothing;
        }
        response.since = now;
        ResponsePart::Body
    }

    /// The response ends. If it has carried everything, so does the stream.
    fn end(&mut self, number: u32, now: Instant) -> ResponsePart {
        self.used_until = Some(now);
        let Some(stream) = self.table.streams.get_mut(&number) else { return ResponsePart::End };
        let is_over = stream.is_complete()
            && stream.outbox.is_empty()
            && !stream.response.as_ref().is_some_and(|response| response.is_closing);
        stream.response = None;
        if is_over && stream.latest.is_none() {
            self.forget(number);
        } else {
            self.keep_for_later(number, now);
        }
        ResponsePart::End
    }
}
