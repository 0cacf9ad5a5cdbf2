//! How the cost of one piece of work grows with what is in flight, and with the size of messages.
//!
//! A [`Work`] is done at several sizes. What leads up to it is done outside of
//! [`stage_everything`], so a profiler that watches that function alone counts the work and nothing
//! else.

mod bytes;
mod client;
mod piled_client;
mod piled_server;
mod server;
mod table;
mod timers;

pub use table::{Row, Table};

use mcp_sansio::Limits;

use crate::stage::stage_everything;

/// Does the work once, and gives how many messages, timeouts or bytes that were.
type Round = Box<dyn FnMut(&Meter) -> u64>;

/// A piece of work, and how its cost may grow.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    name: &'static str,
    axis: Axis,
    sizes: &'static [usize],
    bound: Bound,
    /// How often it is done at a size to be measured.
    rounds: fn(usize) -> usize,
    /// Gets it ready at a size.
    begin: fn(usize) -> Round,
}

/// What the size of a piece of work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Axis {
    /// How many requests wait meanwhile. The cost is that of one message, or of one timeout.
    InFlight,
    /// How many bytes a message has. The cost is that of one byte.
    Bytes,
}

/// How much more than at the smallest size something may cost at a larger one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bound {
    /// No more, give or take three tenths.
    Flat,
    /// As many instructions more as it takes to pass that many levels of a heap.
    Logarithmic,
    /// As much as it likes: it is measured, and nothing is promised of it.
    Open,
}

/// What twice as many timers may cost: half a level of a heap in which each timer has four below it. That
/// is two comparisons, and half a timer that is moved and told where it is.
const LEVEL: f64 = 35.0;

impl Axis {
    /// As tables have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InFlight => "in flight",
            Self::Bytes => "bytes",
        }
    }
}

impl Bound {
    /// What something may cost at a size that costs `cost` at the smallest one.
    pub fn most(self, cost: f64, size: usize) -> f64 {
        let levels = match self {
            Self::Flat => 0.0,
            Self::Logarithmic => f64::from(size.ilog2()),
            Self::Open => f64::INFINITY,
        };
        1.3 * cost + levels * LEVEL
    }

    /// As tables have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Logarithmic => "logarithmic",
            Self::Open => "open",
        }
    }
}

/// Everything that is measured.
pub const ALL: &[&[Work]] =
    &[server::ALL, piled_server::ALL, client::ALL, piled_client::ALL, timers::ALL, bytes::ALL];

impl Work {
    const fn in_flight(name: &'static str, begin: fn(usize) -> Round) -> Self {
        let sizes = &[1, 100, 10_000, 100_000];
        Self { name, axis: Axis::InFlight, sizes, bound: Bound::Flat, rounds: |_| 128, begin }
    }

    /// What a message costs beside something that a peer can pile up. A larger pile takes long to get ready.
    const fn piled(name: &'static str, begin: fn(usize) -> Round) -> Self {
        let sizes = &[1, 1_000];
        Self { name, axis: Axis::InFlight, sizes, bound: Bound::Flat, rounds: |_| 8, begin }
    }

    /// At other sizes.
    const fn at(self, sizes: &'static [usize]) -> Self {
        Self { sizes, ..self }
    }

    /// The same of something that is looked through, because there are so few of it: as many as limits say.
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

    /// A round is about everything that is in flight.
    const fn all_at_once(self) -> Self {
        Self { rounds: |size| (128 / size).max(1), ..self }
    }

    const fn logarithmic(self) -> Self {
        Self { bound: Bound::Logarithmic, ..self }
    }

    const fn open(self) -> Self {
        Self { bound: Bound::Open, ..self }
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.iter().copied().flatten().copied()
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|work| work.name == name)
    }

    /// As tables and command lines have it.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// What grows.
    pub const fn axis(self) -> Axis {
        self.axis
    }

    /// The sizes at which it is measured.
    pub const fn sizes(self) -> &'static [usize] {
        self.sizes
    }

    /// How much it may grow.
    pub const fn bound(self) -> Bound {
        self.bound
    }

    /// Does it at a size, warm. Gives how many messages, timeouts or bytes were counted.
    pub fn run(self, size: usize) -> u64 {
        let rounds = (self.rounds)(size);
        let mut round = (self.begin)(size);
        for _ in 0..2 * rounds {
            round(&Meter { counts: false });
        }
        (0..rounds).map(|_| round(&Meter { counts: true })).sum()
    }
}

/// Tells the work from what leads up to it.
#[derive(Debug)]
pub struct Meter {
    /// It is not to get warm any more.
    counts: bool,
}

impl Meter {
    /// Does what is to be counted.
    fn count<R>(&self, work: impl FnOnce() -> R) -> R {
        if self.counts { stage_everything(work) } else { work() }
    }
}

/// Room for everything that is in flight at the largest size.
fn limits() -> Limits {
    let mut limits = Limits::default();
    (limits.inbound_requests, limits.outbound_calls) = (1_000_000, 1_000_000);
    (limits.outbox_bytes, limits.reserve_bytes) = (1 << 30, 1 << 30);
    (limits.connection_bytes, limits.batches) = (1 << 30, 1_000_000);
    limits
}

/// Picks among what is in flight, each time the same.
struct Dice(u64);

impl Dice {
    const fn new() -> Self {
        Self(12_345)
    }

    /// A number below `sides`.
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % sides
    }
}

/// The id of the nth request on the wire: far from its neighbours, and as long as every other.
const fn spread(number: u64) -> u64 {
    1_000_000_000_000 + (number.reverse_bits() >> 24)
}
