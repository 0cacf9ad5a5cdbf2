//! [`Digest`] and [`Canonical`], hashers whose results are comparable between runs.

use alloc::collections::BTreeMap;
use core::hash::Hasher;

use crate::handle::GENERATION_TAG;
use crate::time::Instant;

/// A digest that is the same on every platform: 64-bit FNV-1a, with integers in little-endian order.
///
/// Hash bytes and single numbers: a slice of numbers is hashed in its memory representation, which depends on the
/// platform. Two runs that hash the same input have behaved the same. The digest does not resist a deliberate search
/// for collisions.
///
/// ```
/// use std::hash::Hasher;
/// use mcp_sansio::testing::Digest;
///
/// let mut digest = Digest::new();
/// digest.write(b"a");
/// assert_eq!(format!("{digest}"), "af63dc4c8601ec8c");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    /// Creates a digest of no input.
    pub const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Display for Digest {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

/// The methods for integers, which `Hasher` would hash in native byte order. Signed integers forward to these.
macro_rules! lowest_byte_first {
    ($($write:ident($number:ty),)*) => {
        $(fn $write(&mut self, number: $number) {
            self.write(&number.to_le_bytes());
        })*

        fn write_usize(&mut self, number: usize) {
            self.write_u64(number as u64);
        }

        fn write_isize(&mut self, number: isize) {
            self.write_u64(number as u64);
        }
    };
}

impl Hasher for Digest {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, mut bytes: &[u8]) {
        // A loop instead of an iterator: in an unoptimized build, the explorer would spend half of its time in the
        // iterator.
        while let [byte, rest @ ..] = bytes {
            self.0 = (self.0 ^ *byte as u64).wrapping_mul(0x0100_0000_01b3);
            bytes = rest;
        }
    }

    lowest_byte_first! { write_u16(u16), write_u32(u32), write_u64(u64), write_u128(u128), }
}

/// A hasher that identifies two states if no future input can distinguish them.
///
/// A [`Client`](crate::Client), a [`Server`](crate::Server), an [`Outbox`](crate::Outbox) and
/// [`Tasks`](crate::task::Tasks) can be hashed with it, together with the state of the application, including
/// handles:
///
/// - times are relative to now, so that the time of past events makes no difference;
/// - generations of handles are relative to the first generation that occurs for their index, so that earlier uses of
///   a table slot make no difference;
/// - configurations do not count (those of machines are never hashed).
///
/// The result has 128 bits: among a thousand million states, a collision has a probability below 10⁻²⁰.
#[derive(Clone, Debug)]
pub struct Canonical {
    now: Instant,
    first_generations: BTreeMap<u32, u32>,
    digest: Digest,
    second: u64,
}

impl Canonical {
    /// Creates a hasher of no input, at this time.
    pub const fn new(now: Instant) -> Self {
        Self { now, first_generations: BTreeMap::new(), digest: Digest::new(), second: 0 }
    }

    /// Writes a time relative to now. The epoch and the end of time stay absolute: they mean "always" and "never".
    fn write_time(&mut self, nanoseconds: u64) {
        let is_relative = nanoseconds != 0 && nanoseconds != u64::MAX;
        let now = if is_relative { self.now.since_epoch().as_nanos() as u64 } else { 0 };
        self.write_u8(u8::from(is_relative));
        self.write_u64(nanoseconds.wrapping_sub(now));
    }

    fn write_generation(&mut self, index: u32, generation: u32) {
        let first = *self.first_generations.entry(index).or_insert(generation);
        self.write_u32(index);
        self.write_u32(generation.wrapping_sub(first));
    }

    /// Returns the hash of the state.
    pub fn finish_wide(&self) -> u128 {
        u128::from(self.digest.0) << 64 | u128::from(self.second)
    }
}

impl Hasher for Canonical {
    fn finish(&self) -> u64 {
        self.digest.finish() ^ self.second
    }

    fn write(&mut self, mut bytes: &[u8]) {
        self.digest.write(bytes);
        while let [byte, rest @ ..] = bytes {
            let mixed = (self.second ^ *byte as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            self.second = mixed ^ mixed >> 29;
            bytes = rest;
        }
    }

    /// Writes a number, which is a time or a generation if it has that tag.
    fn write_u128(&mut self, number: u128) {
        match (number >> 64) as u64 {
            Instant::HASH_TAG => self.write_time(number as u64),
            GENERATION_TAG => self.write_generation((number >> 32) as u32, number as u32),
            _ => self.write(&number.to_le_bytes()),
        }
    }

    lowest_byte_first! { write_u16(u16), write_u32(u32), write_u64(u64), }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::hash::Hash;

    use crate::handle::{CallId, ConnectionNumber, SlotKey};

    fn of(now: u64, state: impl Hash) -> u128 {
        let mut canonical = Canonical::new(Instant::from_millis(now));
        state.hash(&mut canonical);
        canonical.finish_wide()
    }

    fn handle(index: u32, generation: u32) -> CallId {
        CallId(SlotKey { connection: ConnectionNumber::default(), index, generation })
    }

    #[test]
    fn times_count_from_now() {
        let at = Instant::from_millis;
        assert_eq!(of(10, (at(15), at(10))), of(20, (at(25), at(20))));
        assert_ne!(of(10, at(15)), of(10, at(16)));
        assert_eq!(of(10, Instant::EPOCH), of(20, Instant::EPOCH));
        assert_ne!(of(10, Instant::EPOCH), of(10, at(10)));
        assert_ne!(of(10, 110_u128), of(20, 120_u128), "it is no time");
        assert_ne!(of(10, 1_i128), of(10, 2_i128));
    }

    #[test]
    fn generations_count_from_the_first_of_their_index() {
        assert_eq!(
            of(1, [handle(0, 4), handle(1, 0), handle(0, 5)]),
            of(1, [handle(0, 1), handle(1, 9), handle(0, 2)])
        );
        assert_ne!(of(1, [handle(0, 4), handle(0, 5)]), of(1, [handle(0, 4), handle(0, 6)]));
        assert_ne!(of(1, handle(0, 4)), of(1, handle(1, 4)));
    }

    #[test]
    fn numbers_have_the_same_bytes_everywhere() {
        let mut digest = Digest::new();
        (1_u32, 2_usize, -1_isize).hash(&mut digest);
        let mut bytes = Digest::new();
        bytes.write(&[1, 0, 0, 0]);
        bytes.write(&[2, 0, 0, 0, 0, 0, 0, 0]);
        bytes.write(&[255; 8]);
        assert_eq!(digest, bytes);
    }
}
