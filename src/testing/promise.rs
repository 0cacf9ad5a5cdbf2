//! [`Promise`], the promises of this crate by the numbers of its documentation, and [`Broken`], the report of a
//! violation.

use alloc::string::String;
use core::fmt;

/// A promise of this crate, with its number in the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Promise {
    /// No input causes a panic; work and stack are bounded by the input.
    Total = 1,
    /// Every call has exactly one outcome, and the end of the connection leaves no call open.
    OneOutcome = 2,
    /// Each request gets at most one response; cancelled or nonexistent requests get none.
    OneAnswer = 3,
    /// No operation waits for a write.
    NothingWaits = 4,
    /// Events in wire order, messages in call order, for any chunking.
    Order = 5,
    /// All resources are bounded.
    Bounded = 6,
    /// The same input gives the same output.
    Deterministic = 7,
    /// No allocation once the buffers have grown.
    AllocationFree = 8,
    /// Unknown data is passed on unchanged.
    Lossless = 9,
    /// `Debug` shows no payload.
    Quiet = 10,
}

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Broken {
    /// The promise.
    pub promise: Promise,
    /// The evidence.
    pub what: String,
}

impl Broken {
    /// Creates a report.
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
