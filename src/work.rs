//! Counts the steps of the loops whose length a peer can choose, for tests that work is linear.
//!
//! `work!(steps)` is nothing in every build but one with the feature `work`.

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

/// How many steps this thread has taken so far.
#[cfg(feature = "work")]
pub(crate) fn steps() -> u64 {
    STEPS.with(core::cell::Cell::get)
}
