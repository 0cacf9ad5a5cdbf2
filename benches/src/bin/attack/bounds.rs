//! The measurements of an attack, and their bounds.

use std::time::Duration;

const MIB: u64 = 1 << 20;

/// The largest permitted costs of an attack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// The peak memory of the victim in bytes.
    pub(crate) memory: u64,
    /// The time that a good client waits for a response, if the victim has the processors to itself.
    pub(crate) wait: Duration,
    /// The work for one message, as a multiple of the work without the attack.
    pub(crate) work: f64,
}

impl Bounds {
    /// The bounds of a server over HTTP with many clients: a budget of 512 MiB, and half of that for memory outside
    /// the budget.
    pub(crate) const HTTP: Self =
        Self { memory: 768 * MIB, wait: Duration::from_secs(1), work: 4.0 };

    /// The bounds of a program with one connection: a budget of 64 MiB, buffers that double, and the program
    /// itself.
    pub(crate) const ONE_CONNECTION: Self = Self { memory: 256 * MIB, ..Self::HTTP };

    /// Returns the names of the bounds that these measurements violate.
    pub(crate) fn broken_by(&self, measured: &Measured) -> Vec<&'static str> {
        let mut broken = Vec::new();
        if measured.failure.is_some() {
            broken.push("failed");
        }
        if measured.memory.is_some_and(|memory| self.memory <= memory) {
            broken.push("memory");
        }
        // Other load on the processors, above all the attackers, makes the client wait longer.
        let slowdown = measured.slowdown.unwrap_or(1.0).max(1.0);
        if measured.wait.is_some_and(|wait| self.wait <= wait.div_f64(slowdown)) {
            broken.push("wait");
        }
        if measured.work.is_some_and(|work| self.work < work) {
            broken.push("work");
        }
        broken
    }
}

/// The measurements of one attack. `None` if a value was not measured or does not apply.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    /// The name of the attack.
    pub(crate) name: &'static str,
    /// The peak memory of the victim in bytes.
    pub(crate) memory: Option<u64>,
    /// The memory of the victim in bytes a moment after the end of the attack.
    pub(crate) memory_after: Option<u64>,
    /// The processor time of the victim.
    pub(crate) processor: Option<Duration>,
    /// The longest wait of a good client for a response.
    pub(crate) wait: Option<Duration>,
    /// The slowdown of the victim by other load on the processors.
    pub(crate) slowdown: Option<f64>,
    /// The work for one message, as a multiple of the work without the attack.
    pub(crate) work: Option<f64>,
    /// The numbers of served and of refused requests or connections of the attack.
    pub(crate) served: u64,
    pub(crate) refused: u64,
    /// Why the victim has not survived, or the attack could not be made.
    pub(crate) failure: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_measured_breaks_nothing() {
        assert!(Bounds::HTTP.broken_by(&Measured::default()).is_empty());
    }

    #[test]
    fn each_bound_is_broken_by_itself() {
        let mut fine = Measured::default();
        fine.memory = Some(Bounds::HTTP.memory - 1);
        fine.wait = Some(Duration::from_millis(999));
        fine.work = Some(4.0);
        assert!(Bounds::HTTP.broken_by(&fine).is_empty());
        assert_eq!(Bounds::ONE_CONNECTION.broken_by(&fine), ["memory"]);
        let change = |change: fn(&mut Measured)| {
            let mut changed = fine.clone();
            change(&mut changed);
            Bounds::HTTP.broken_by(&changed)
        };
        assert_eq!(change(|measured| measured.memory = Some(768 << 20)), ["memory"]);
        assert_eq!(change(|measured| measured.wait = Some(Duration::from_secs(1))), ["wait"]);
        assert_eq!(change(|measured| measured.work = Some(4.1)), ["work"]);
        let slowly = |wait| {
            let mut changed = fine.clone();
            (changed.wait, changed.slowdown) = (Some(Duration::from_millis(wait)), Some(2.0));
            Bounds::HTTP.broken_by(&changed)
        };
        assert_eq!((slowly(1_999), slowly(2_000)), (vec![], vec!["wait"]));
        assert_eq!(change(|measured| measured.failure = Some("died".into())), ["failed"]);
    }
}
