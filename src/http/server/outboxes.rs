//! The stream and the HTTP status of each message that the machine writes.

use alloc::boxed::Box;

use super::config::ResponseMode;
use super::events::EventStore;
use super::stream::Purpose;
use super::stream_table::STANDALONE;
use super::streams::{ConnectionKind, Streams};
use crate::connection::{Observation, Outboxes, Route};
use crate::frame::Outbox;
use crate::session::Phase;

/// The largest buffer that is kept for messages that are dropped.
const KEPT_NOWHERE: usize = 4 << 10;

/// Messages for a stream that no longer exists are dropped.
impl<E: EventStore> Streams<E> {
    fn number_of(&mut self, route: Route) -> Option<u32> {
        if self.is_one_stream() {
            return Some(STANDALONE);
        }
        match route {
            Route::Stream(number) => Some(number),
            Route::Exchange(id) => {
                // After the end of a request, only cancellations of requests to the client are about it. They are like
                // other messages that are about no open request.
                let is_session = matches!(self.kind, ConnectionKind::Session(_));
                if is_session && self.table.has_ended(id) {
                    return Some(STANDALONE);
                }
                self.table.stream_of(id)
            }
            _ if self.kind == ConnectionKind::Modern => self.table.streams.keys().next().copied(),
            // An implicit session has no standalone stream, so its other messages are dropped.
            _ => Some(STANDALONE),
        }
    }
}

impl<E: EventStore> Outboxes for Streams<E> {
    fn outbox(&mut self, route: Route) -> &mut Outbox {
        let number = self.number_of(route);
        if number == Some(STANDALONE) {
            self.begin_standalone();
        }
        let (discarded, is_one_stream) = (self.new_outbox(), self.is_one_stream());
        match number.and_then(|number| self.table.streams.get_mut(&number)) {
            Some(stream) => {
                if stream.purpose != Purpose::Standalone || is_one_stream {
                    stream.outbox.set_limit(self.most_bytes);
                }
                &mut stream.outbox
            }
            None => {
                let nowhere = self.nowhere.get_or_insert_with(|| Box::new(discarded));
                nowhere.messages().for_each(drop);
                nowhere
            }
        }
    }

    fn observe(&mut self, observation: &Observation<'_>) {
        let (method, error, route) = match *observation {
            Observation::Sent { method, error, route, .. } => (method, error, route),
            Observation::Received { method: Some(_), id: Some(_), .. } if !self.is_one_stream() => {
                let current =
                    self.table.current.and_then(|current| self.table.streams.get_mut(&current));
                return current.into_iter().for_each(|stream| stream.brought_request = true);
            }
            Observation::Phase { to, .. } => {
                self.is_draining |= to == Phase::Draining;
                return;
            }
            _ => return,
        };
        let number = self.number_of(route);
        if let Some(nowhere) = &mut self.nowhere {
            nowhere.messages().for_each(drop);
            nowhere.release_above(KEPT_NOWHERE);
        }
        let Some(number) = number else { return };
        let is_own = matches!(route, Route::Stream(_));
        let status = error.map_or(200, |code| self.kind.status(code, is_own, self.is_draining));
        if let Some(stream) = self.table.streams.get_mut(&number)
            && method.is_none()
        {
            (stream.was_asked, stream.is_answered) = (true, true);
            stream.status = status;
        }
        self.table.wake(number);
        match route {
            Route::Exchange(id) if method.is_none() => self.ended(id),
            Route::Stream(number) if method.is_none() => self.table.ended_together(number),
            _ => {}
        }
        let lost = self.table.streams.get_mut(&number).filter(|stream| stream.is_lost());
        if let Some(stream) = lost {
            stream.outbox.messages().for_each(drop);
            // The response to a batch ends its requests together, and nothing else would remove their stream.
            self.drop_if_unwanted(number);
        }
        if !self.table.kept.is_empty() {
            self.bound_kept_bytes();
        }
    }

    fn has_reader(&self, route: Route) -> bool {
        let is_of_connection = match route {
            Route::Connection => true,
            Route::Exchange(id) => self.table.has_ended(id),
            _ => false,
        };
        match self.kind {
            ConnectionKind::OneStream(_) => true,
            _ if !is_of_connection => true,
            ConnectionKind::Session(_) => {
                let standalone = self.table.streams.get(&STANDALONE);
                standalone.is_some_and(|stream| stream.response.is_some())
            }
            // They have no stream for messages outside of an exchange.
            ConnectionKind::Modern | ConnectionKind::ImplicitSession => false,
        }
    }

    fn can_ask(&self, route: Route) -> bool {
        let has_listener = self.table.streams.get(&STANDALONE).is_some_and(|stream| {
            stream.response.is_some() && stream.outbox.len() < self.config.standalone_bytes
        });
        match (self.kind, route) {
            (ConnectionKind::OneStream(_), _) => true,
            (ConnectionKind::Modern | ConnectionKind::ImplicitSession, _) => false,
            (ConnectionKind::Session(_), Route::Exchange(id)) if self.table.is_unreachable(id) => {
                false
            }
            (ConnectionKind::Session(_), _) if self.config.responses == ResponseMode::Json => {
                has_listener
            }
            (ConnectionKind::Session(_), _) => true,
        }
    }
}
