//! [`SavedHttpSession`]: an HTTP session that outlives its process.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::events::EventStore;
use super::session_id::SessionId;
use super::source::RequestSource;
use super::stream::{Purpose, Stream};
use super::stream_table::STANDALONE;
use super::streams::Streams;
use crate::connection::{RestoreSessionError, SavedSession};
use crate::frame::{Room, Tag};
use crate::handle::Principal;
use crate::server::Server;
use crate::time::Instant;

/// An HTTP session that outlives its process: its id, its owner, the state of its machine, and its streams with their
/// unsent messages and the events that its client can resume from.
///
/// [`SavedSession`] says how the machine is saved, and describes the format. Of the streams, those are saved whose
/// requests all have responses; a client that resumes another stream gets 400. A restored stream is
/// [kept](super::HttpServerConfig::kept_for) from the time of the restore on, and so is the session
/// ([`HttpServerConfig::session_idle`](super::HttpServerConfig::session_idle)). A session of HTTP+SSE (2024-11-05)
/// ends with its event stream, so it is never saved.
///
/// The value holds the id of the session, which grants access to it: keep it secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedHttpSession {
    // First, because it begins with the version of the format.
    session: SavedSession,
    id: String,
    /// The owner, or 0. Always written: without it, a session would belong to every unknown client.
    principal: u64,
    /// The address that counts for limits per client.
    #[serde(default)]
    address: Option<IpAddr>,
    /// The number of the next stream.
    next_stream: u32,
    /// The streams, oldest first.
    #[serde(default)]
    streams: Vec<SavedStream>,
}

/// A stream that its client can resume or open.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SavedStream {
    number: u32,
    /// The number of the latest event that was sent.
    latest: Option<u64>,
    /// The events that were sent and are still kept, with their messages.
    #[serde(default)]
    events: Vec<(u64, String)>,
    /// The messages that were not sent.
    #[serde(default)]
    unsent: Vec<String>,
}

impl SavedHttpSession {
    /// Returns the state of a session that this client has opened; `None` if there is nothing to save: the connection
    /// is no session, the session is not open, or it is about to end.
    pub fn of<E: EventStore>(
        server: &Server,
        streams: &Streams<E>,
        source: impl Into<RequestSource>,
    ) -> Option<Self> {
        let RequestSource { principal, address } = source.into();
        let (session, id) = (SavedSession::of(server)?, streams.session_id()?);
        let saved = streams.table.streams.iter();
        let saved = saved.filter(|(_, stream)| stream.outlives_process());
        Some(Self {
            session,
            id: id.to_string(),
            principal: principal.get(),
            address,
            next_stream: streams.table.next_number,
            streams: saved
                .map(|(number, stream)| SavedStream::of(*number, stream, &streams.events))
                .collect(),
        })
    }

    /// Returns the id of the session; `None` if the saved value was altered.
    pub fn id(&self) -> Option<SessionId> {
        SessionId::parse(&self.id)
    }

    /// Reserves the numbers of this many further streams: a session that is restored from this state begins after them.
    ///
    /// The stream of a request without a response is not saved, but its client knows its number. If the process is killed and
    /// the next one used that number again, the client could resume the stream of another request. A host that saves
    /// sessions while they are in use therefore reserves numbers, and saves again when they are used up:
    /// [`covers`](Self::covers) is false then.
    pub fn reserve_streams(&mut self, count: u32) {
        self.next_stream = self.next_stream.saturating_add(count).min(STREAMS_END - 1);
    }

    /// Whether a session that is restored from this state serves its client as well as one from `latest`, the state of
    /// the same session now: they are equal, except that this one may have [reserved](Self::reserve_streams) more numbers
    /// of streams.
    ///
    /// A host that saves a session after each of its requests saves it only if this is false.
    pub fn covers(&self, latest: &Self) -> bool {
        let Self { session, id, principal, address, next_stream, streams } = self;
        (session, id, principal, address, streams)
            == (&latest.session, &latest.id, &latest.principal, &latest.address, &latest.streams)
            && latest.next_stream <= *next_stream
    }

    /// Returns the client that opened the session.
    pub fn source(&self) -> RequestSource {
        RequestSource { principal: Principal::new(self.principal), address: self.address }
    }

    pub(super) const fn session(&self) -> &SavedSession {
        &self.session
    }

    /// Restores the streams on those of a new session.
    ///
    /// # Errors
    ///
    /// [`RestoreSessionError::Malformed`]. The streams may be changed then: drop them.
    pub(super) fn restore_streams<E: EventStore>(
        &self,
        streams: &mut Streams<E>,
        now: Instant,
    ) -> Result<(), RestoreSessionError> {
        _ = streams.revision.insert(self.session.revision().ok_or(RestoreSessionError::Revision)?);
        streams.table.next_number = self.next_stream.max(STANDALONE + 1);
        if STREAMS_END <= self.next_stream {
            return Err(RestoreSessionError::Malformed);
        }
        let mut least = STANDALONE;
        for saved in &self.streams {
            let is_in_order = (least..streams.table.next_number).contains(&saved.number);
            if !is_in_order || saved.has_wrong_number() {
                return Err(RestoreSessionError::Malformed);
            }
            least = saved.number + 1;
            saved.restore_on(streams, now);
        }
        Ok(())
    }
}

impl Stream {
    /// Whether the stream can be continued by another process.
    fn outlives_process(&self) -> bool {
        self.purpose == Purpose::Standalone || (self.latest.is_some() && self.is_complete())
    }
}

/// The first number that an event cannot have. Events are counted one by one, so no session reaches it.
const EVENTS_END: u64 = 1 << 53;

/// The first number that the next stream of a saved session cannot have. Streams are counted one by one as well, and their
/// numbers must not wrap around to those of restored streams.
const STREAMS_END: u32 = 1 << 31;

impl SavedStream {
    /// Whether the number of an event is impossible, or missing: a stream of requests is kept for its events.
    fn has_wrong_number(&self) -> bool {
        if self.latest.is_none() && self.number != STANDALONE {
            return true;
        }
        let events = self.events.iter().map(|(event, _)| *event);
        self.latest.into_iter().chain(events).any(|event| EVENTS_END <= event)
    }

    fn of(number: u32, stream: &Stream, store: &impl EventStore) -> Self {
        let (mut events, mut unsent) = (Vec::new(), Vec::new());
        let mut after = 0;
        while let Some((event, message)) = store.after(number, after) {
            events.extend(text(message).map(|message| (event, message)));
            after = event;
        }
        let mut outbox = stream.outbox.clone();
        while let Some((message, tag)) = outbox.pop() {
            // A request of this side ends with its process.
            if !matches!(tag, Tag::Call(_)) {
                unsent.extend(text(message));
            }
        }
        Self { number, latest: stream.latest, events, unsent }
    }

    /// Restores the stream on those of a new session. A stream that the client cannot resume by this configuration is
    /// left out.
    fn restore_on<E: EventStore>(&self, streams: &mut Streams<E>, now: Instant) {
        if self.number == STANDALONE {
            streams.begin_standalone();
        } else if streams.kind.is_resumable(&streams.config, streams.revision) {
            let mut stream = Stream::new(streams.new_outbox(), now);
            (stream.has_arrived, stream.was_asked) = (true, true);
            stream.response = None;
            streams.table.streams.insert(self.number, Box::new(stream));
        }
        let Some(stream) = streams.table.streams.get_mut(&self.number) else { return };
        stream.latest = self.latest;
        for message in &self.unsent {
            // The outbox of the earlier process had room for the message.
            _ = stream
                .outbox
                .append(Room::Held, Tag::Nothing, |writer| writer.push(message.as_bytes()));
        }
        for (event, message) in &self.events {
            // A store of the application may still have the event.
            let next = streams.events.after(self.number, event.saturating_sub(1));
            if next.is_none_or(|(known, _)| known != *event) {
                streams.events.keep(self.number, *event, message.as_bytes(), now);
            }
        }
        streams.keep_for_later(self.number, now);
    }
}

/// Returns a message as text. Messages of this side are JSON and therefore always text.
fn text(message: &[u8]) -> Option<String> {
    core::str::from_utf8(message).ok().map(String::from)
}

/// Shows neither the id nor any text of the client.
impl fmt::Debug for SavedHttpSession {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SavedHttpSession")
            .field("session", &self.session)
            .field("streams", &self.streams.len())
            .finish_non_exhaustive()
    }
}
