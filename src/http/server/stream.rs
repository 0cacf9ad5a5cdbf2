//! [`Stream`], one stream of messages to a client, usually carried by the response to its POST.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::config::ResponseMode;
use super::reply::Reply;
use crate::codes::ErrorCode;
use crate::frame::{Outbox, Room, Tag};
use crate::time::Instant;

/// A stream, with or without a response that currently carries it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Stream {
    /// The messages that no response has taken.
    pub(super) outbox: Outbox,
    /// Whether all messages of the POST have been passed to the machine.
    pub(super) has_arrived: bool,
    /// The number of requests of the POST that have not ended.
    pub(super) open: u32,
    /// Whether a message of the POST has the form of a request.
    pub(super) brought_request: bool,
    /// Whether a request was accepted or answered.
    pub(super) was_asked: bool,
    /// Whether a response message was written to the stream.
    pub(super) is_answered: bool,
    /// The purpose of the stream.
    pub(super) purpose: Purpose,
    /// The HTTP status of the response message, if it is the first message.
    pub(super) status: u16,
    /// Whether the response must be an event stream: it ends early, or is for a GET.
    pub(super) must_stream: bool,
    /// The reply, if the machine writes no response message.
    pub(super) fault: Option<Reply>,
    /// The number of the latest event that was sent; `None` until an event id was sent.
    pub(super) latest: Option<u64>,
    /// The response that carries the stream.
    pub(super) response: Option<Response>,
    /// The number of responses attached after the creation of the stream.
    pub(super) generation: u32,
    /// The time at which the stream needs processing without other input.
    pub(super) deadline: Option<Instant>,
}

/// The purpose of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    /// Carries the messages about the requests of its POST.
    Requests,
    /// Carries a subscription: a request that JSON cannot answer.
    Subscription,
    /// Carries the messages that belong to no request. The stream has no end.
    Standalone,
    /// None: the machine has ended, and with it the stream.
    Over,
}

/// A response that carries a stream.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Response {
    pub(super) form: Form,
    /// The time at which the response started or last sent data.
    pub(super) since: Instant,
    /// Whether the response starts with an event id, so that the client can resume in any case.
    pub(super) primes: bool,
    /// The events after this one that were already sent are sent again.
    pub(super) replays_after: Option<u64>,
    /// An event that precedes all others: its type and its data.
    pub(super) preface: Option<(&'static str, String)>,
    /// Whether the response ends before its stream, which the client is asked to resume.
    pub(super) is_closing: bool,
}

/// The progress of a response.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// The head is not determined yet.
    Undecided,
    /// The rest of the body is left.
    Whole(Vec<u8>),
    /// The response is an event stream.
    Events,
    /// Only the end is left.
    Over,
}

/// Omits the content.
impl fmt::Debug for Response {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = match &self.form {
            Form::Undecided => "Undecided",
            Form::Whole(_) => "Whole",
            Form::Events => "Events",
            Form::Over => "Over",
        };
        formatter.debug_struct("Response").field("form", &form).finish_non_exhaustive()
    }
}

/// The start of a response.
pub(super) enum Beginning {
    /// The start cannot be determined yet.
    Later,
    /// A complete reply, possibly empty.
    Reply(Reply),
    /// The only message, with this status.
    Json(u16),
    Events,
}

impl Response {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            form: Form::Undecided,
            since: now,
            primes: false,
            replays_after: None,
            preface: None,
            is_closing: false,
        }
    }

    /// Returns the last event that the client has, if the stream has later events.
    pub(super) fn behind(&mut self, latest: Option<u64>) -> Option<u64> {
        self.replays_after = self.replays_after.filter(|after| Some(*after) < latest);
        self.replays_after
    }
}

impl Stream {
    pub(super) const fn new(outbox: Outbox, now: Instant) -> Self {
        Self {
            outbox,
            has_arrived: false,
            open: 0,
            brought_request: false,
            was_asked: false,
            is_answered: false,
            purpose: Purpose::Requests,
            status: 200,
            must_stream: false,
            fault: None,
            latest: None,
            response: Some(Response::new(now)),
            generation: 0,
            deadline: None,
        }
    }

    /// Starts a reused stream now.
    pub(super) fn begin(&mut self, now: Instant) {
        self.response = Some(Response::new(now));
    }

    /// Marks the stream as complete.
    pub(super) const fn finish(&mut self) {
        (self.has_arrived, self.purpose) = (true, Purpose::Over);
    }

    /// Whether no more messages will be written to the stream.
    pub(super) fn is_complete(&self) -> bool {
        match self.purpose {
            Purpose::Requests | Purpose::Subscription => self.has_arrived && self.open == 0,
            Purpose::Standalone => false,
            Purpose::Over => true,
        }
    }

    /// Whether all messages have been taken and no more follow.
    pub(super) fn has_sent_all(&self) -> bool {
        self.is_complete() && self.outbox.is_empty()
    }

    /// Whether the client has disconnected and cannot resume the stream.
    pub(super) const fn is_lost(&self) -> bool {
        self.response.is_none()
            && self.latest.is_none()
            && !matches!(self.purpose, Purpose::Standalone)
    }

    /// Removes all messages that a single JSON response cannot carry. Drops notifications, and returns requests to
    /// the client and their cancellations.
    pub(super) fn keep_only_answers(&mut self) -> Vec<(Vec<u8>, Tag)> {
        let (mut asked, mut answers) = (Vec::new(), Vec::new());
        if matches!(self.purpose, Purpose::Subscription | Purpose::Standalone) {
            return asked;
        }
        while let Some((message, tag)) = self.outbox.pop() {
            // A cancellation goes out on the same stream as its request.
            if matches!(tag, Tag::Call(_)) || message.starts_with(CANCELLED) {
                asked.push((Vec::from(message), tag));
            } else if !message.starts_with(NOTIFICATION) {
                answers.push((Vec::from(message), tag));
            }
        }
        for (message, tag) in answers {
            // The outbox had room for the message before.
            _ = self.outbox.append(Room::Held, tag, |writer| writer.push(&message));
        }
        asked
    }

    /// Determines the start of the response. `is_late` means that the client should receive data by now.
    pub(super) fn beginning(&mut self, mode: ResponseMode, is_late: bool) -> Beginning {
        let mode = match (self.purpose, mode) {
            (Purpose::Standalone, _) => return Beginning::Events,
            _ if self.must_stream => return Beginning::Events,
            (Purpose::Subscription, ResponseMode::Json) => ResponseMode::Automatic,
            (_, mode) => mode,
        };
        if !self.has_arrived {
            return Beginning::Later;
        }
        if self.is_complete() && self.outbox.is_empty() {
            return match self.fault.take() {
                Some(fault) => Beginning::Reply(fault),
                None if !self.was_asked && !self.brought_request => {
                    Beginning::Reply(Reply::empty(202))
                }
                // The machine has reached its limit of reported violations.
                None if !self.was_asked => {
                    let text = "the request was refused";
                    Beginning::Reply(Reply::refusal(400, ErrorCode::INVALID_REQUEST, text))
                }
                // The request was cancelled and has no response.
                None => Beginning::Events,
            };
        }
        // A cancelled request may leave other messages, but no response.
        let is_answer = self.is_complete() && self.is_answered && self.outbox.messages_left() == 1;
        match mode {
            _ if is_answer && self.status != 200 => Beginning::Json(self.status),
            ResponseMode::EventStream => Beginning::Events,
            _ if is_answer => Beginning::Json(200),
            ResponseMode::Automatic if !self.outbox.is_empty() || is_late => Beginning::Events,
            ResponseMode::Automatic | ResponseMode::Json => Beginning::Later,
        }
    }
}

/// The start of a notification, as this side writes it.
const NOTIFICATION: &[u8] = br#"{"jsonrpc":"2.0","method":"#;
/// The start of a cancellation, as this side writes it.
const CANCELLED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/cancelled""#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_of_a_response_shows_its_form_alone() {
        for (form, shown) in [
            (Form::Undecided, "Undecided"),
            (Form::Whole(b"secret".to_vec()), "Whole"),
            (Form::Events, "Events"),
            (Form::Over, "Over"),
        ] {
            let response = Response { form, ..Response::new(Instant::EPOCH) };
            let expected = alloc::format!("Response {{ form: {shown:?}, .. }}");
            assert_eq!(alloc::format!("{response:?}"), expected);
        }
    }
}
