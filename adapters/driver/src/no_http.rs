//! The replacement of module `http` without the feature `http`: no connection has HTTP outboxes, and nothing waits
//! for them.

#![allow(unnameable_types, reason = "only this crate has machines")]

use mcp_sansio::request::Requestor;
use mcp_sansio::{ClientEvent, IncomingId, Instant, Outbox, Outboxes, Route, ServerEvent};

use crate::machine::Machine;
use crate::out::Watched;
use crate::wire::State;

/// The outboxes of a connection over HTTP. This type has no values.
#[derive(Debug)]
pub enum HttpOutboxes {}

impl HttpOutboxes {
    pub(crate) const fn len(&self) -> usize {
        match *self {}
    }

    pub(crate) const fn session_requestor(&self) -> Option<Requestor> {
        match *self {}
    }

    pub(crate) const fn is_empty(&self) -> bool {
        match *self {}
    }

    pub(crate) const fn is_done(&self) -> bool {
        match *self {}
    }

    pub(crate) const fn unsent_bytes(&self) -> usize {
        match *self {}
    }

    pub(crate) const fn stored_bytes(&self) -> usize {
        match *self {}
    }

    pub(crate) const fn is_congested(&self) -> bool {
        match *self {}
    }

    pub(crate) const fn set_limit(&self, _: usize) {
        match *self {}
    }

    pub(crate) const fn poll_timeout(&self) -> Option<Instant> {
        match *self {}
    }
}

impl Watched for ServerEvent<'_> {
    fn show(&self, http: &mut HttpOutboxes) {
        match *http {}
    }
}

impl Watched for ClientEvent<'_> {
    fn show(&self, http: &mut HttpOutboxes) {
        match *http {}
    }
}

impl Outboxes for HttpOutboxes {
    fn outbox(&mut self, _: Route) -> &mut Outbox {
        match *self {}
    }
}

/// The HTTP state of a connection beside its outboxes: nothing.
#[derive(Default)]
pub(crate) struct HttpState {}

impl HttpState {
    pub(crate) const fn waits_for_room(&self) -> bool {
        false
    }

    pub(crate) const fn is_inline(&self, _: IncomingId) -> bool {
        false
    }

    pub(crate) const fn deadline(&self) -> Option<Instant> {
        None
    }

    pub(crate) const fn is_last_word_known<M: Machine>(&self, _: &M::Event) -> bool {
        false
    }
}

impl<M: Machine> State<M> {
    pub(crate) const fn settle_responses(&self, _: Instant) {}

    pub(crate) const fn wake_responses(&self) {}

    pub(crate) const fn wake_requests(&self) {}

    pub(crate) const fn count_kept_bytes(&self) {}
}
