//! Growth of the cost of one piece of work with the number of requests in flight and with the size of messages.
//!
//! A [`Work`] is measured at several sizes. Its preparation runs outside of [`stage_everything`], so a profiler that
//! watches only that function counts only the work.

mod bytes;
mod client;
mod piled_client;
mod piled_http;
mod piled_server;
mod server;
mod table;
mod timers;

pub use table::{Row, Table};

use mcp_sansio::Limits;

use crate::stage::stage_everything;

/// Runs the work once and returns the number of messages, timeouts or bytes.
type Round = Box<dyn FnMut(&Meter) -> u64>;

/// A piece of work, and the bound of its growth.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    name: &'static str,
    axis: Axis,
    sizes: &'static [usize],
    bound: Bound,
    /// The number of measured rounds at a size.
    rounds: fn(usize) -> usize,
    /// Prepares the work at a size.
    begin: fn(usize) -> Round,
}

/// The meaning of the size of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Axis {
    /// The number of pending requests. The cost is per message or per timeout.
    InFlight,
    /// The number of bytes of a message. The cost is per byte.
    Bytes,
}

/// The maximum growth of a cost, relative to the smallest size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bound {
    /// Constant, with a tolerance of 30 %.
    Flat,
    /// [`Self::Flat`], plus the instructions for the levels of a timer heap of that size.
    Logarithmic,
    /// Unbounded: measured without a promise.
    Open,
}

/// The additional instructions allowed when the number of timers doubles: half a level of a four-ary heap. That is
/// two comparisons, and half a move of a timer with the update of its stored position.
const LEVEL: f64 = 35.0;

impl Axis {
    /// Returns the name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InFlight => "in flight",
            Self::Bytes => "bytes",
        }
    }
}

impl Bound {
    /// Returns the maximum cost at a size, if the cost at the smallest size is `cost`.
    pub fn most(self, cost: f64, size: usize) -> f64 {
        let levels = match self {
            Self::Flat => 0.0,
            Self::Logarithmic => f64::from(size.ilog2()),
            Self::Open => f64::INFINITY,
        };
        1.3 * cost + levels * LEVEL
    }

    /// Returns the name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Logarithmic => "logarithmic",
            Self::Open => "open",
        }
    }
}

/// All measured work.
pub const ALL: &[&[Work]] = &[
    server::ALL,
    piled_server::ALL,
    client::ALL,
    piled_client::ALL,
    piled_http::ALL,
    timers::ALL,
    bytes::ALL,
];

impl Work {
    const fn in_flight(name: &'static str, begin: fn(usize) -> Round) -> Self {
        let sizes = &[1, 100, 10_000, 100_000];
        Self { name, axis: Axis::InFlight, sizes, bound: Bound::Flat, rounds: |_| 128, begin }
    }

    /// The cost of a message beside state that a peer can pile up. Larger piles take too long to prepare.
    const fn piled(name: &'static str, begin: fn(usize) -> Round) -> Self {
        let sizes = &[1, 1_000];
        Self { name, axis: Axis::InFlight, sizes, bound: Bound::Flat, rounds: |_| 8, begin }
    }

    /// Replaces the sizes.
    const fn at(self, sizes: &'static [usize]) -> Self {
        Self { sizes, ..self }
    }

    /// [`Self::piled`] for state that is searched linearly, because the limits keep it small.
    const fn few(name: &'static str, begin: fn(usize) -> Round) -> Self {
        Self { sizes: &[1, 64], ..Self::piled(name, begin) }
    }

    const fn of_bytes(
        name: &'static str,
        sizes: &'static [usize],
        begin: fn(usize) -> Round,
    ) -> Self {
        let rounds = |size| if size < 1_000_000 { 8 } else { 1 };
        Self { name, axis: Axis::Bytes, sizes, bound: Bound::Flat, rounds, begin }
    }

    /// Each round handles all requests in flight.
    const fn all_at_once(self) -> Self {
        Self { rounds: |size| (128 / size).max(1), ..self }
    }

    const fn logarithmic(self) -> Self {
        Self { bound: Bound::Logarithmic, ..self }
    }

    const fn open(self) -> Self {
        Self { bound: Bound::Open, ..self }
    }

    /// Returns all measured work.
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.iter().copied().flatten().copied()
    }

    /// Returns the work with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|work| work.name == name)
    }

    /// Returns the name used in tables and on command lines.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Returns the axis of the growth.
    pub const fn axis(self) -> Axis {
        self.axis
    }

    /// Returns the sizes of the measurements.
    pub const fn sizes(self) -> &'static [usize] {
        self.sizes
    }

    /// Returns the bound of the growth.
    pub const fn bound(self) -> Bound {
        self.bound
    }

    /// Runs the work at a size, after a warm-up. Returns the number of measured messages, timeouts or bytes.
    pub fn run(self, size: usize) -> u64 {
        let rounds = (self.rounds)(size);
        let mut round = (self.begin)(size);
        for _ in 0..2 * rounds {
            round(&Meter { counts: false });
        }
        (0..rounds).map(|_| round(&Meter { counts: true })).sum()
    }
}

/// Separates the measured work from its preparation.
#[derive(Debug)]
pub struct Meter {
    /// Whether the warm-up is over.
    counts: bool,
}

impl Meter {
    /// Runs the measured part of a round.
    fn count<R>(&self, work: impl FnOnce() -> R) -> R {
        if self.counts { stage_everything(work) } else { work() }
    }
}

/// Limits that admit the largest number of requests in flight.
fn limits() -> Limits {
    let mut limits = Limits::default();
    (limits.inbound_requests, limits.outbound_calls) = (1_000_000, 1_000_000);
    (limits.outbox_bytes, limits.reserve_bytes) = (1 << 30, 1 << 30);
    (limits.connection_bytes, limits.batches) = (1 << 30, 1_000_000);
    limits
}

/// A deterministic generator that picks among the requests in flight.
struct Dice(u64);

impl Dice {
    const fn new() -> Self {
        Self(12_345)
    }

    /// Returns a number below `sides`.
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % sides
    }
}

/// Returns the wire id of the nth request: scattered, and always of the same length.
const fn spread(number: u64) -> u64 {
    1_000_000_000_000 + (number.reverse_bits() >> 24)
}
