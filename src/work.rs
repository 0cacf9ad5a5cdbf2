//! A counter of the steps of loops whose length the peer controls, for tests that work is linear.
//!
//! `work!(steps)` expands to nothing except in a build with the feature `work`.

/// Counts steps.
#[cfg(not(feature = "work"))]
macro_rules! work {
    ($steps:expr) => {
        ()
    };
}

/// Counts steps.
#[cfg(feature = "work")]
macro_rules! work {
    ($steps:expr) => {
        crate::work::add($steps)
    };
}

#[cfg(feature = "work")]
std::thread_local! {
    static STEPS: core::cell::Cell<u64> = const { core::cell::Cell::new(0) };
}

/// Counts steps of this thread.
#[cfg(feature = "work")]
pub(crate) fn add(steps: usize) {
    STEPS.with(|counted| counted.set(counted.get().wrapping_add(steps as u64)));
}

/// Returns the number of steps of this thread so far.
#[cfg(feature = "work")]
pub(crate) fn steps() -> u64 {
    STEPS.with(core::cell::Cell::get)
}
