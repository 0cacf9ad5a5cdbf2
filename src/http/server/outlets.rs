//! Which stream a message of the machine goes out on, and with which status.

use alloc::boxed::Box;

use super::config::ResponseMode;
use super::events::EventStore;
use super::stream::Purpose;
use super::streams::{Manner, STANDALONE, Streams};
use crate::error::ErrorCode;
use crate::frame::Outbox;
use crate::handle::InboundId;
use crate::peer::{Lane, Observation, Outlets};
use crate::session::Phase;

/// What is said on a stream of which nobody carries on goes nowhere.
impl<E: EventStore> Streams<E> {
    fn number_of(&mut self, lane: Lane) -> Option<u32> {
        if self.is_one_stream() {
            return Some(STANDALONE);
        }
        match lane {
            Lane::Stream(number) => Some(number),
            Lane::Exchange(id) => self.stream_of(id),
            _ if self.manner == Manner::Alone => self.streams.keys().next().copied(),
            // Nothing else reaches the client of a session that there is not.
            _ => Some(STANDALONE),
        }
    }

    /// Whether what is said about a request reaches nobody: its stream has broken off for good.
    fn is_nobody_there(&self, id: InboundId) -> bool {
        let Some(number) = self.stream_of_request(id) else { return false };
        self.streams.get(&number).is_none_or(|stream| stream.is_lost())
    }

    /// Status of an answer: transport faults have one of their own; without sessions so have others.
    fn status(&self, code: ErrorCode, is_own: bool) -> u16 {
        let is_malformed = matches!(code, ErrorCode::PARSE_ERROR | ErrorCode::INVALID_REQUEST);
        match (self.manner, code) {
            _ if is_own && is_malformed => 400,
            (_, ErrorCode::INTERNAL_ERROR) if is_own && self.is_draining => 503,
            (Manner::Assumed | Manner::Session(_) | Manner::OneStream(_), _) => 200,
            (Manner::Alone, ErrorCode::METHOD_NOT_FOUND) => 404,
            (
                Manner::Alone,
                ErrorCode::HEADER_MISMATCH
                | ErrorCode::MISSING_CLIENT_CAPABILITY
                | ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
            ) => 400,
            (Manner::Alone, ErrorCode::INVALID_PARAMS) if is_own => 400,
            (Manner::Alone, _) => 200,
        }
    }
}

impl<E: EventStore> Outlets for Streams<E> {
    fn lane(&mut self, lane: Lane) -> &mut Outbox {
        let number = self.number_of(lane);
        if number == Some(STANDALONE) {
            self.begin_standalone();
        }
        let (unheard, is_one_stream) = (self.outbox(), self.is_one_stream());
        match number.and_then(|number| self.streams.get_mut(&number)) {
            Some(stream) => {
                if stream.purpose != Purpose::Standalone || is_one_stream {
                    stream.outbox.set_limit(self.most_bytes);
                }
                &mut stream.outbox
            }
            None => {
                let nowhere = self.nowhere.get_or_insert_with(|| Box::new(unheard));
                nowhere.messages().for_each(drop);
                nowhere
            }
        }
    }

    fn observe(&mut self, observation: &Observation<'_>) {
        let (method, error, lane) = match *observation {
            Observation::Sent { method, error, lane, .. } => (method, error, lane),
            Observation::Received { method: Some(_), id: Some(_), .. } if !self.is_one_stream() => {
                let current = self.current.and_then(|current| self.streams.get_mut(&current));
                return current.into_iter().for_each(|stream| stream.brought_request = true);
            }
            Observation::Phase { to, .. } => {
                self.is_draining |= to == Phase::Draining;
                return;
            }
            _ => return,
        };
        let Some(number) = self.number_of(lane) else { return };
        let is_own = matches!(lane, Lane::Stream(_));
        let status = error.map_or(200, |code| self.status(code, is_own));
        if let Some(stream) = self.streams.get_mut(&number)
            && method.is_none()
        {
            (stream.was_asked, stream.is_answered) = (true, true);
            stream.status = status;
        }
        self.wake(number);
        match lane {
            Lane::Exchange(id) if method.is_none() => self.ended(id),
            Lane::Stream(number) if method.is_none() => self.ended_together(number),
            _ => {}
        }
        if self.streams.get(&number).is_some_and(|stream| stream.is_lost()) {
            self.lane(lane).messages().for_each(drop);
        }
        if !self.kept.is_empty() {
            self.bound_kept_bytes();
        }
    }

    fn is_heard(&self, lane: Lane) -> bool {
        lane != Lane::Connection
            || !matches!(self.manner, Manner::Session(_))
            || self.streams.get(&STANDALONE).is_some_and(|stream| stream.response.is_some())
    }

    fn can_ask(&self, lane: Lane) -> bool {
        let has_listener = self.streams.get(&STANDALONE).is_some_and(|stream| {
            stream.response.is_some() && stream.outbox.len() < self.config.standalone_bytes
        });
        match (self.manner, lane) {
            (Manner::OneStream(_), _) => true,
            (Manner::Alone | Manner::Assumed, _) => false,
            (Manner::Session(_), Lane::Exchange(id)) if self.is_nobody_there(id) => false,
            (Manner::Session(_), _) if self.config.responses == ResponseMode::Json => has_listener,
            (Manner::Session(_), _) => true,
        }
    }
}
