//! The output of responses: the head, then the body in parts.

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
    /// Nothing now: poll again when the stream is [woken](Streams::woken).
    Nothing,
    /// The head, once, before all other parts.
    Head(ResponseHead),
    /// A part of the body, which was appended to the buffer: the whole body, or an event.
    Body,
    /// The end of the response.
    End,
}

/// The head of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ResponseHead {
    /// The HTTP status.
    pub status: u16,
    /// The kind of the body.
    pub content: Content,
    /// The id of the session that the response opens, for `Mcp-Session-Id`.
    pub session: Option<SessionId>,
}

/// The kind of the body of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Content {
    /// No body.
    Nothing,
    /// One JSON text.
    Json,
    /// Server-sent events. Events must be sent without delay, so no layer should buffer them.
    Events,
}

impl ResponseHead {
    /// Returns the header fields of the response, except the session id.
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
    /// Returns the next part of a response. Data of the body is appended to the buffer.
    ///
    /// Call the method until it returns [`Nothing`](ResponsePart::Nothing) or [`End`](ResponsePart::End), only as
    /// fast as the client reads: data that was not taken waits here, within its limit.
    #[must_use = "the head is returned once, and the response ends only by this value"]
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

    /// Determines the head of the response, if it can be determined yet.
    fn begin_response(&mut self, id: ResponseId, now: Instant) -> ResponsePart {
        let stream = self.table.streams.get_mut(&id.stream);
        if self.config.responses == ResponseMode::Json
            && let Some(asked) = stream.map(|stream| stream.keep_only_answers())
        {
            // Requests to the client go out on the standalone stream. The machine has checked that it is open.
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
                // After that time, only a new message can determine the head.
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
            // A resumed stream was primed before, and a complete one needs no resumption.
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
                // The event is no longer stored. The client is refused when it resumes from here.
                return self.end(number, now);
            };
            response.replays_after = Some(event);
            let id = EventId { stream: number, event };
            write_event(buffer, name, Some(&id as &dyn Display), None, message);
        } else if core::mem::take(&mut response.primes) {
            // An id from the start lets the client resume in any case. `retry` sets its delay.
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

    /// Ends the response. If it has carried all messages, its stream ends too.
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
