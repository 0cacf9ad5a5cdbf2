//! `Messages`: the layer of single messages: whether a message may be sent, its encoding and its route.

use alloc::string::String;

use super::Counts;
use super::change::ListVersions;
use super::elicitations::Elicitations;
use super::incoming::Incoming;
use super::lifecycle::Lifecycle;
use super::outgoing_request::OutgoingRequest;
use super::pre_session_queue::PreSessionQueue;
use super::routing::Side;
use super::session::Session;
use super::violations::Violations;
use crate::capability::CapabilitySet;
use crate::config::ConnectionConfig;
use crate::frame::Frame;
use crate::handle::{CallId, ConnectionNumber};
use crate::interests::Interests;
use crate::lazy_box::LazyBox;
use crate::limits::Limits;
use crate::model::LoggingLevel;
use crate::rpc::{Id, Lookup, Outgoing, Recycle};
use crate::time::Instant;
use crate::version::RevisionSet;

/// The layer of single messages.
///
/// The layers above it call `ask`, `ask_again`, `retire`, `drop`, `reply`, and `wait` of [`Outgoing`]. `C` is the
/// state of a call beyond its request; this layer stores it and never inspects it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Messages<C> {
    pub(crate) session: Session,
    pub(crate) lifecycle: Lifecycle,
    /// The pending requests of this side.
    pub(super) outgoing: Outgoing<OutgoingRequest<C>>,
    /// The open requests of the peer.
    pub(super) incoming: Incoming,
    /// The messages that wait for the handshake.
    pub(super) queue: LazyBox<PreSessionQueue>,
    pub(super) violations: Violations,
    /// The log level and the resources that the peer is subscribed to.
    pub(crate) interests: Interests,
    pub(super) elicitations: Elicitations,
    /// The number of changes of each list of the peer.
    pub(super) list_versions: ListVersions,
    /// A spare buffer for the params of the next request.
    pub(super) spare: String,
}

impl<C: Recycle> Messages<C> {
    pub(super) fn new(
        role: Side,
        (spoken, offered): (RevisionSet, CapabilitySet),
        connection: ConnectionNumber,
        config: &ConnectionConfig,
    ) -> Self {
        let limits = &config.limits;
        Self {
            session: Session::new(role, spoken, offered),
            lifecycle: Lifecycle::default(),
            outgoing: Outgoing::new(
                connection,
                config.first_call_id.into(),
                limits.remembered_calls,
            ),
            incoming: Incoming::new(connection),
            queue: LazyBox::EMPTY,
            violations: Violations::default(),
            interests: Interests::new(LoggingLevel::Debug),
            elicitations: Elicitations::default(),
            list_versions: ListVersions::default(),
            spare: String::new(),
        }
    }

    pub(crate) fn connection(&self) -> ConnectionNumber {
        self.outgoing.connection()
    }

    /// Stops or resumes the clock of the calls.
    pub(crate) fn set_paused(&mut self, paused: bool, now: Instant) {
        self.outgoing.clock_mut().set_stopped(paused, now);
    }

    /// Returns the number of bytes kept for the peer, without the tables themselves: its open requests, responses
    /// that wait for the rest of their batch, inputs it has given, and its subscriptions.
    pub(super) fn kept_bytes(&self) -> usize {
        [self.incoming.batches.bytes(), self.interests.bytes()]
            .into_iter()
            .fold(self.incoming.bytes, usize::saturating_add)
    }

    /// Whether `bytes` more may be kept.
    pub(super) fn may_keep(&self, limits: &Limits, bytes: usize) -> bool {
        self.kept_bytes().saturating_add(bytes) <= limits.connection_bytes
    }

    /// Whether a request in this frame would be admitted now.
    pub(super) fn has_room_for(&self, limits: &Limits, frame: &Frame<'_>, unsent: usize) -> bool {
        self.incoming.table.len() < limits.inbound_requests
            && (!frame.begins_batch() || self.incoming.batches.has_room(limits.batches))
            && self
                .may_keep(limits, super::incoming::bytes_of(frame.bytes()).saturating_add(unsent))
    }

    /// Whether the list that a call reads has changed since its request was sent.
    pub(super) fn is_stale(&self, call: CallId) -> bool {
        self.outgoing
            .get(call.0)
            .is_some_and(|asked| asked.list_version != self.list_versions.for_kind(asked.kind))
    }

    /// Whether a message with this method has to wait for the handshake.
    pub(super) fn must_hold(&self, method: &str) -> bool {
        self.session.must_hold(self.lifecycle.phase, method)
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            inbound: self.incoming.table.len() as usize,
            outbound: self.outgoing.len() as usize,
            kept_bytes: self.kept_bytes(),
            held_bytes: self.queue.len(),
            violations: self.violations.total(),
        }
    }

    /// Whether a request of the peer with this id is in flight. In a batch it stays in flight until the batch is
    /// sent.
    pub(super) fn is_in_flight(&self, id: &Id<'_>) -> bool {
        matches!(self.incoming.look_up(id), Lookup::Found(_))
    }

    /// Releases the memory of empty collections.
    pub(super) fn release_memory(&mut self) {
        self.incoming.release();
        self.outgoing.release();
        self.elicitations.release();
        self.violations.release();
        self.spare = String::new();
        if self.queue.is_empty() && !self.queue.has_refused() {
            self.queue = LazyBox::EMPTY;
        }
        // A server needs its identity only for requests, and can rebuild it from its configuration.
        if self.incoming.table.is_empty() {
            self.session.release_identity();
        }
    }

    /// Releases the state of the session.
    pub(super) fn forget_session(&mut self) {
        self.queue = LazyBox::EMPTY;
        self.interests.clear();
        self.elicitations.clear();
        self.incoming.batches = LazyBox::EMPTY;
        self.incoming.bytes = 0;
    }
}
