//! One stream of messages to a client, which a response carries: mostly that to the request it is about.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::config::ResponseMode;
use super::reply::Reply;
use crate::codes::ErrorCode;
use crate::frame::{Outbox, Room, Tag};
use crate::time::Instant;

/// A stream, whether or not a response carries it at the moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Stream {
    /// What is to be said on it, as far as no response has taken it.
    pub(super) outbox: Outbox,
    /// Everything that the client sent with it has been handed to the machine.
    pub(super) has_arrived: bool,
    /// Requests that came with it and have not ended.
    pub(super) open: u32,
    /// Something has the form of a request.
    pub(super) brought_request: bool,
    /// There was a request, and it was taken or answered.
    pub(super) was_asked: bool,
    /// An answer has been put on it.
    pub(super) is_answered: bool,
    /// What it is for.
    pub(super) purpose: Purpose,
    /// With which status the answer goes out, if it is the first thing that is said.
    pub(super) status: u16,
    /// Its response ends early, so it has to be an event stream.
    pub(super) must_stream: bool,
    /// Something to answer with if nothing else does.
    pub(super) fault: Option<Reply>,
    /// The number of the latest event that was given out, once its first id was.
    pub(super) latest: Option<u64>,
    /// The response that carries it.
    pub(super) response: Option<Response>,
    /// How many responses have carried it.
    pub(super) generation: u32,
    /// When something is to be done about it if nothing happens.
    pub(super) deadline: Option<Instant>,
}

/// What a stream is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    /// What belongs to the requests that came with it.
    Requests,
    /// A subscription, which is a request as well, but nothing that JSON could answer.
    Subscription,
    /// What belongs to no request. It has no end.
    Standalone,
}

/// A response that carries a stream.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Response {
    pub(super) form: Form,
    /// When it began, or something was last sent on it.
    pub(super) since: Instant,
    /// It begins with an id, so that its client can come back whatever happens.
    pub(super) primes: bool,
    /// The events after this one are sent again, as far as they were sent before.
    pub(super) replays_after: Option<u64>,
    /// An event that comes before everything else: its type and its data.
    pub(super) preface: Option<(&'static str, String)>,
    /// It ends without the end of the stream: the client is to come back.
    pub(super) is_closing: bool,
}

/// How far a response has come.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// Its head has not been given out.
    Undecided,
    /// What is left is this body.
    Whole(Vec<u8>),
    /// It is an event stream.
    Events,
    /// There is nothing left of it.
    Over,
}

/// Without what is said.
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

/// What a response begins with.
pub(super) enum Beginning {
    /// It cannot be told yet.
    Later,
    /// A body that is there, or none.
    Reply(Reply),
    /// The one message there is.
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

    /// The event behind which the client still is, if it is behind the latest one of the stream.
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

    /// A new stream begins now.
    pub(super) fn begin(&mut self, now: Instant) {
        self.response = Some(Response::new(now));
    }

    /// Nothing more will be put on it.
    pub(super) const fn finish(&mut self) {
        (self.has_arrived, self.open, self.purpose) = (true, 0, Purpose::Requests);
    }

    /// Whether nothing more will be put on it.
    pub(super) fn is_complete(&self) -> bool {
        self.has_arrived && self.open == 0 && self.purpose != Purpose::Standalone
    }

    /// Whether nothing will be said on it that has not been said.
    pub(super) fn has_said_all(&self) -> bool {
        self.is_complete() && self.outbox.is_empty()
    }

    /// Whether the client has gone and cannot come back for it.
    pub(super) const fn is_lost(&self) -> bool {
        self.response.is_none()
            && self.latest.is_none()
            && !matches!(self.purpose, Purpose::Standalone)
    }

    /// Takes out what a single JSON answer has no place for: notifications are dropped, and what the client is asked, or is
    /// not asked any more, is given.
    pub(super) fn keep_only_answers(&mut self) -> Vec<(Vec<u8>, Tag)> {
        let (mut asked, mut answers) = (Vec::new(), Vec::new());
        if self.purpose != Purpose::Requests {
            return asked;
        }
        while let Some((message, tag)) = self.outbox.pop() {
            // What was asked is taken back where it was asked.
            if matches!(tag, Tag::Call(_)) || message.starts_with(CANCELLED) {
                asked.push((Vec::from(message), tag));
            } else if !message.starts_with(NOTIFICATION) {
                answers.push((Vec::from(message), tag));
            }
        }
        for (message, tag) in answers {
            // It was in there before.
            _ = self.outbox.append(Room::Held, tag, |writer| writer.push(&message));
        }
        asked
    }

    /// What the response begins with, now that it is asked. `is_late` says that the client should see
    /// something by now.
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
                // The machine has had enough of telling what is wrong.
                None if !self.was_asked => {
                    let text = "the request was refused";
                    Beginning::Reply(Reply::refusal(400, ErrorCode::INVALID_REQUEST, text))
                }
                // Its request was cancelled, and there is nothing to say.
                None => Beginning::Events,
            };
        }
        // A request that was cancelled may leave other things behind, and no answer.
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

/// How this side writes notifications.
const NOTIFICATION: &[u8] = br#"{"jsonrpc":"2.0","method":"#;
/// How it says that it does not wait for an answer any more.
const CANCELLED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/cancelled""#;
