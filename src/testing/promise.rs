//! The promises of this crate, as its documentation numbers them, and how one shows to be broken.

use alloc::string::String;
use core::fmt;

/// What this crate promises, as its documentation numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Promise {
    /// No input panics, and work and stack are bounded by it.
    Total = 1,
    /// Every call has exactly one outcome, and the end leaves nothing.
    OneOutcome = 2,
    /// At most one answer to each request, none to what is cancelled or unasked.
    OneAnswer = 3,
    /// Nothing waits on a write.
    NothingWaits = 4,
    /// Events in wire order, messages in call order, whatever the chunks.
    Order = 5,
    /// Everything is bounded.
    Bounded = 6,
    /// The same again gives the same.
    Deterministic = 7,
    /// Allocation-free when warm.
    AllocationFree = 8,
    /// What is not known is passed on as it came.
    Lossless = 9,
    /// No payload in `Debug`.
    Quiet = 10,
}

/// A promise that has been broken.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Broken {
    /// Which one.
    pub promise: Promise,
    /// How it shows.
    pub what: String,
}

impl Broken {
    /// It shows like this.
    pub fn new(promise: Promise, what: impl Into<String>) -> Self {
        Self { promise, what: what.into() }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { promise, what } = self;
        write!(formatter, "promise {} ({promise:?}) is broken: {what}", *promise as u8)
    }
}

impl core::error::Error for Broken {}
