//! `Interests`: the changes that a client subscribed to, in one table for both eras.

mod filter;

pub(crate) use filter::{Filter, LISTS, uris_of};

use alloc::string::String;

use crate::json::Str;
use crate::lazy_box::LazyBox;
use crate::model::LoggingLevel;
use crate::ordered::OrderedSet;

/// The log level and the resource subscriptions of one session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Interests {
    /// The least severe level of log messages that the client wants.
    level: LoggingLevel,
    /// The number of requests that were granted, also of those that have changed nothing.
    grants: u32,
    /// The resources that the client is subscribed to, by URI.
    resources: LazyBox<OrderedSet<String>>,
    /// The bytes counted for the subscriptions.
    bytes: usize,
}

/// The bytes counted for a subscription in addition to its URI.
const RESOURCE_BYTES: usize = 64;

impl Interests {
    /// Returns interests with a log level and without resources.
    pub(crate) const fn new(level: LoggingLevel) -> Self {
        Self { level, grants: 0, resources: LazyBox::EMPTY, bytes: 0 }
    }

    /// Counts a request that was granted.
    pub(crate) const fn count_grant(&mut self) {
        self.grants = self.grants.wrapping_add(1);
    }

    pub(crate) const fn grants(&self) -> u32 {
        self.grants
    }

    pub(crate) const fn set_grants(&mut self, grants: u32) {
        self.grants = grants;
    }

    pub(crate) const fn set_level(&mut self, level: LoggingLevel) {
        self.level = level;
    }

    pub(crate) const fn level(&self) -> LoggingLevel {
        self.level
    }

    /// Whether the client wants log messages of this level.
    pub(crate) fn wants_level(&self, level: LoggingLevel) -> bool {
        self.level <= level
    }

    /// The number of resource subscriptions.
    pub(crate) fn resources(&self) -> usize {
        self.resources.len()
    }

    /// The bytes counted for the subscriptions.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Subscribes to a resource. A second subscription changes nothing.
    pub(crate) fn subscribe(&mut self, uri: &str) {
        if !self.resources.contains_key(uri) {
            self.resources.insert(String::from(uri), ());
            self.bytes += uri.len() + RESOURCE_BYTES;
        }
    }

    /// Ends a subscription, if it exists.
    pub(crate) fn unsubscribe(&mut self, uri: &str) {
        if self.resources.remove(uri).is_some() {
            self.resources.release();
            self.bytes -= uri.len() + RESOURCE_BYTES;
        }
    }

    /// Whether the client is subscribed to a resource. URIs are compared as text and never normalised.
    pub(crate) fn wants_resource(&self, uri: &str) -> bool {
        self.resources.contains_key(uri)
    }

    /// Whether the client is subscribed to a resource, by the wire form of its URI.
    pub(crate) fn wants_resource_on_wire(&self, uri: &Str<'_>) -> bool {
        match uri.as_plain() {
            Some(uri) => self.resources.contains_key(uri),
            None => self.resources.contains_key(&*uri.to_str()),
        }
    }

    /// The URIs of all subscriptions, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.resources.keys().map(String::as_str)
    }

    /// Removes all subscriptions at the end of the session.
    pub(crate) fn clear(&mut self) {
        self.resources = LazyBox::EMPTY;
        self.bytes = 0;
    }
}
