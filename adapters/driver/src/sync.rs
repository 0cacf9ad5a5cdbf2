//! The locks, atomics and threads of this crate: those of the standard library.
//!
//! With `--cfg shuttle` they are those of the crate `shuttle`. It runs the tests in `interleavings` many times, each
//! time with another interleaving of their threads.

use std::time::Duration;

#[cfg(shuttle)]
pub(crate) use shuttle::{
    sync::{Condvar, Mutex, MutexGuard, atomic},
    thread,
};
#[cfg(not(shuttle))]
pub(crate) use std::{
    sync::{Condvar, Mutex, MutexGuard, atomic},
    thread,
};

/// Waits until `condition` is notified, at most for `time`. Returns `true` if the time has passed.
#[cfg(not(shuttle))]
pub(crate) fn wait_timeout<'m, T>(
    condition: &Condvar,
    _mutex: &'m Mutex<T>,
    guard: MutexGuard<'m, T>,
    time: Duration,
) -> (MutexGuard<'m, T>, bool) {
    // No code of the application runs under these locks, so the value is valid after a panic.
    let waited = condition.wait_timeout(guard, time);
    let (guard, result) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
    (guard, result.timed_out())
}

/// As above. Shuttle has no time, so any wait may be too long.
#[cfg(shuttle)]
pub(crate) fn wait_timeout<'m, T>(
    condition: &Condvar,
    mutex: &'m Mutex<T>,
    guard: MutexGuard<'m, T>,
    _time: Duration,
) -> (MutexGuard<'m, T>, bool) {
    use std::sync::PoisonError;

    use shuttle::rand::Rng;

    if shuttle::rand::thread_rng().gen_bool(0.25) {
        drop(guard);
        thread::yield_now();
        return (mutex.lock().unwrap_or_else(PoisonError::into_inner), true);
    }
    (condition.wait(guard).unwrap_or_else(PoisonError::into_inner), false)
}
