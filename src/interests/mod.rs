//! `Interests`: the changes that a client subscribed to, in one table for both eras.

mod filter;

pub(crate) use filter::{Filter, LISTS, uris_of};

use alloc::string::String;

use crate::json::Str;
use crate::lazy_box::LazyBox;
use crate::model::LoggingLevel;
use crate::ordered::OrderedSet;

/// What one session has asked to be told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Interests {
    /// The least severe log messages that are wanted.
    level: LoggingLevel,
    /// The resources whose changes are wanted, by URI.
    resources: LazyBox<OrderedSet<String>>,
    /// What they take.
    bytes: usize,
}

/// What a subscription to a resource takes beside its URI.
const RESOURCE_BYTES: usize = 64;

impl Interests {
    /// Log messages of this level and above, and no resource.
    pub(crate) const fn new(level: LoggingLevel) -> Self {
        Self { level, resources: LazyBox::EMPTY, bytes: 0 }
    }

    pub(crate) const fn set_level(&mut self, level: LoggingLevel) {
        self.level = level;
    }

    pub(crate) const fn level(&self) -> LoggingLevel {
        self.level
    }

    /// Whether log messages of this level are wanted.
    pub(crate) fn wants_level(&self, level: LoggingLevel) -> bool {
        self.level <= level
    }

    /// How many resources are subscribed to.
    pub(crate) fn resources(&self) -> usize {
        self.resources.len()
    }

    /// How many bytes they take.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Subscribes to a resource; doing so twice changes nothing.
    pub(crate) fn subscribe(&mut self, uri: &str) {
        if !self.resources.contains_key(uri) {
            self.resources.insert(String::from(uri), ());
            self.bytes += uri.len() + RESOURCE_BYTES;
        }
    }

    /// Ends a subscription, if there is one.
    pub(crate) fn unsubscribe(&mut self, uri: &str) {
        if self.resources.remove(uri).is_some() {
            self.resources.release();
            self.bytes -= uri.len() + RESOURCE_BYTES;
        }
    }

    /// Whether changes of this resource are wanted. URIs are compared as text and never normalised.
    pub(crate) fn wants_resource(&self, uri: &str) -> bool {
        self.resources.contains_key(uri)
    }

    /// The same for a URI as it stands on the wire.
    pub(crate) fn wants_resource_on_wire(&self, uri: &Str<'_>) -> bool {
        match uri.as_plain() {
            Some(uri) => self.resources.contains_key(uri),
            None => self.resources.contains_key(&*uri.to_str()),
        }
    }

    /// The URIs that are subscribed to, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.resources.keys().map(String::as_str)
    }

    /// The session is over.
    pub(crate) fn clear(&mut self) {
        self.resources = LazyBox::EMPTY;
        self.bytes = 0;
    }
}
