//! Where the output of a machine goes: all on one stream, or each message on one of its own.

#![allow(unnameable_types, reason = "nobody but this crate has machines")]

use mcp_sansio::http::{Posts, Streams};
use mcp_sansio::{ClientEvent, Lane, Observation, Outbox, Outlets, Requestor, ServerEvent};

/// The outlets of a connection.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one to a connection")]
pub enum Out {
    /// A stream of messages: stdio, a socket, a pipe.
    Stream(Outbox),
    /// A server behind HTTP.
    Responses(Streams),
    /// A client of a server behind HTTP.
    Requests(Posts),
}

impl Out {
    /// What waits for a single stream.
    pub(crate) fn unsent(&self) -> &[u8] {
        match self {
            Self::Stream(outbox) => outbox.unsent(),
            Self::Responses(_) | Self::Requests(_) => &[],
        }
    }

    /// Says that so much of it has been sent.
    pub(crate) fn sent(&mut self, bytes: usize) {
        match self {
            Self::Stream(outbox) => outbox.sent(bytes),
            Self::Responses(_) | Self::Requests(_) => {}
        }
    }

    /// How many bytes wait for a single stream.
    pub(crate) const fn len(&self) -> usize {
        match self {
            Self::Stream(outbox) => outbox.len(),
            Self::Responses(_) => 0,
            Self::Requests(posts) => posts.outbox().len(),
        }
    }

    /// Whose tasks end with the connection.
    pub(crate) fn session_requestor(&self) -> Option<Requestor> {
        match self {
            Self::Responses(streams) => streams.session_requestor(),
            Self::Stream(_) | Self::Requests(_) => None,
        }
    }

    /// Whether nothing waits to be sent.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Stream(outbox) => outbox.is_empty(),
            Self::Responses(streams) => streams.is_empty(),
            Self::Requests(posts) => posts.is_empty(),
        }
    }

    /// Whether everything that concerns the peer has been done, now that the connection has ended. A response can be
    /// sent to its end without it.
    pub(crate) fn is_done(&self) -> bool {
        match self {
            Self::Stream(outbox) => outbox.is_empty(),
            Self::Responses(_) => true,
            Self::Requests(posts) => posts.is_over(),
        }
    }

    /// Whether so much waits that no new work should be begun. A response that is not read holds up its own
    /// request only.
    /// How many bytes have not been sent, on all streams together.
    pub(crate) fn unsent_bytes(&self) -> usize {
        match self {
            Self::Stream(outbox) => outbox.len(),
            Self::Responses(streams) => streams.unsent_bytes(),
            Self::Requests(posts) => posts.outbox().len(),
        }
    }

    pub(crate) fn is_congested(&self) -> bool {
        match self {
            Self::Stream(outbox) => outbox.is_congested(),
            Self::Responses(streams) => streams.is_congested(),
            Self::Requests(posts) => posts.outbox().is_congested(),
        }
    }

    pub(crate) fn set_limit(&mut self, bytes: usize) {
        match self {
            Self::Stream(outbox) => outbox.set_limit(bytes),
            Self::Responses(streams) => streams.set_limit(bytes),
            Self::Requests(posts) => posts.outbox_mut().set_limit(bytes),
        }
    }

    /// Sees an event of the machine before anybody else does.
    pub(crate) fn watch(&mut self, event: &impl Watched) {
        event.show(self);
    }
}

/// An event that outlets may want to see.
pub(crate) trait Watched {
    /// Shows it.
    fn show(&self, out: &mut Out);
}

impl Watched for ServerEvent<'_> {
    fn show(&self, out: &mut Out) {
        if let Out::Responses(streams) = out {
            streams.watch(self);
        }
    }
}

impl Watched for ClientEvent<'_> {
    fn show(&self, out: &mut Out) {
        if let Out::Requests(posts) = out {
            posts.watch(self);
        }
    }
}

impl Outlets for Out {
    fn lane(&mut self, lane: Lane) -> &mut Outbox {
        match self {
            Self::Stream(outbox) => outbox,
            Self::Responses(streams) => streams.lane(lane),
            Self::Requests(posts) => posts.lane(lane),
        }
    }

    fn observe(&mut self, observation: &Observation<'_>) {
        match self {
            Self::Stream(_) | Self::Requests(_) => _ = observation,
            Self::Responses(streams) => streams.observe(observation),
        }
    }

    fn can_ask(&self, lane: Lane) -> bool {
        match self {
            Self::Stream(outbox) => outbox.can_ask(lane),
            Self::Responses(streams) => streams.can_ask(lane),
            Self::Requests(posts) => posts.can_ask(lane),
        }
    }

    fn is_heard(&self, lane: Lane) -> bool {
        match self {
            Self::Stream(outbox) => outbox.is_heard(lane),
            Self::Responses(streams) => streams.is_heard(lane),
            Self::Requests(posts) => posts.is_heard(lane),
        }
    }
}
