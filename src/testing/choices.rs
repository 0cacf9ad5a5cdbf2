//! [`Choices`], decisions from a seed or from fuzzer input.

use alloc::vec::Vec;

/// A deterministic source of decisions, identical on every platform.
///
/// A simulation creates one from a seed, a fuzz target from its input bytes; both share the code that consumes the
/// decisions.
///
/// ```
/// use mcp_sansio::testing::Choices;
///
/// let mut choices = Choices::seeded(7);
/// let roll = choices.below(6) + 1;
/// assert_eq!(Choices::seeded(7).below(6) + 1, roll);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices(Source);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    Seed(u64),
    /// The remaining bytes, the next one last.
    Bytes(Vec<u8>),
}

impl Choices {
    /// Creates an infinite source of decisions from a seed (SplitMix64).
    pub const fn seeded(seed: u64) -> Self {
        Self(Source::Seed(seed))
    }

    /// Creates a source of decisions from bytes. Once they are used up, every decision is 0.
    ///
    /// Each decision takes as many bytes as it needs, so that a fuzzer can change one without the others.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(Source::Bytes(bytes.iter().rev().copied().collect()))
    }

    /// Whether no bytes are left. Always false with a seed.
    pub const fn is_exhausted(&self) -> bool {
        match &self.0 {
            Source::Seed(_) => false,
            Source::Bytes(bytes) => bytes.is_empty(),
        }
    }

    /// Returns any number.
    pub fn any(&mut self) -> u64 {
        self.of_width(8)
    }

    /// Returns a number below `bound`, or 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // Bounds that are not a power of two have a small bias, which is irrelevant here.
        let width = (u64::BITS - bound.saturating_sub(1).leading_zeros()).div_ceil(8) as usize;
        self.of_width(width).checked_rem(bound).unwrap_or(0)
    }

    /// Returns true once in `times` cases on average; never for 0.
    pub fn one_in(&mut self, times: u64) -> bool {
        // The result 0 must not mean true: a fuzzer that has run out of bytes takes the usual branch.
        1 < times && self.below(times) == times - 1 || times == 1
    }

    /// Returns one of `things`, or `None` if there are none.
    pub fn pick<T: Copy>(&mut self, things: &[T]) -> Option<T> {
        let index = self.below(things.len() as u64);
        things.get(usize::try_from(index).ok()?).copied()
    }

    fn of_width(&mut self, bytes: usize) -> u64 {
        match &mut self.0 {
            Source::Seed(state) => split_mix(state),
            Source::Bytes(left) => {
                let at = left.len().saturating_sub(bytes);
                let taken = left.split_off(at);
                taken.into_iter().fold(0, |number, byte| number << 8 | u64::from(byte))
            }
        }
    }
}

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
const fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        let mut choices = Choices::seeded(1_234_567);
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
        ];
        assert_eq!(published.map(|_| choices.any()), published);
    }

    #[test]
    fn bytes_are_used_from_the_front_and_end_in_zeros() {
        let mut choices = Choices::from_bytes(&[7, 1, 2, 255]);
        assert_eq!(choices.below(10), 7);
        assert_eq!(choices.below(1000), 1 + 2 * 256);
        assert!(!choices.is_exhausted());
        assert_eq!(choices.pick(&['a', 'b', 'c']), Some('a'));
        assert!(choices.is_exhausted());
        assert_eq!((choices.any(), choices.below(0)), (0, 0));
        assert!(!choices.one_in(2) && choices.one_in(1) && !choices.one_in(0));
        assert_eq!(choices.pick::<u8>(&[]), None);
    }
}
