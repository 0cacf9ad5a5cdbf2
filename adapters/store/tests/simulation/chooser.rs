//! The generator that decides everything in a simulation.

/// The generator of Lehmer with 64 bits.
#[derive(Clone)]
pub(crate) struct Chooser(u128);

impl Chooser {
    /// Each number of a seed is another sequence.
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        let mut chooser = Self(u128::from(seed) << 64 | u128::from(number) << 1 | 1);
        for _ in 0..4 {
            chooser.below(1);
        }
        chooser
    }

    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x0fc9_4e3b_f4e9_ab32_8664_58cd_56f5_e605);
        ((self.0 >> 64) as u64) % most
    }

    #[allow(dead_code, reason = "not every simulation uses it")]
    pub(crate) fn one_in(&mut self, number: u64) -> bool {
        self.below(number) == 0
    }
}
