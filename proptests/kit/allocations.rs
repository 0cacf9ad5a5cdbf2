//! Counts allocations, one thread at a time, and refuses them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    /// Bytes allocated less bytes freed, wrapping: a thread may free what another one allocated.
    static LIVE: Cell<usize> = const { Cell::new(0) };
    /// Nothing is to be allocated.
    static REFUSED: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator, which counts what the current thread asks it for.
///
/// Use it with `#[global_allocator]` in a test, and [`count`] around what is to be counted.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Counting;

impl Counting {
    /// The allocator.
    pub const fn new() -> Self {
        Self
    }
}

/// Whether an allocation is to fail. A thread that is being torn down has no counters any more, and nobody
/// who reads them.
fn is_refused() -> bool {
    REFUSED.try_with(Cell::get).unwrap_or(false)
}

fn note(bytes: usize) {
    _ = COUNT.try_with(|count| count.set(count.get() + 1));
    _ = LIVE.try_with(|live| live.set(live.get().wrapping_add(bytes)));
}

fn note_freed(bytes: usize) {
    _ = LIVE.try_with(|live| live.set(live.get().wrapping_sub(bytes)));
}

// SAFETY: every method does what the system's allocator does, with the same arguments, or fails as it may.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_refused() {
            return std::ptr::null_mut();
        }
        note(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_refused() {
            return std::ptr::null_mut();
        }
        note(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if is_refused() {
            return std::ptr::null_mut();
        }
        note(size);
        note_freed(layout.size());
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note_freed(layout.size());
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Runs something that may not allocate on this thread. If it does, the process aborts, as it does when there
/// is no memory: what the system would say of a machine that has to do without.
pub fn refuse<R>(run: impl FnOnce() -> R) -> R {
    REFUSED.with(|refused| refused.set(true));
    let result = run();
    REFUSED.with(|refused| refused.set(false));
    result
}

/// Runs something and gives its result, with how many bytes more this thread holds afterwards.
pub fn held<R>(run: impl FnOnce() -> R) -> (R, usize) {
    let before = LIVE.with(Cell::get);
    let result = run();
    (result, LIVE.with(Cell::get).wrapping_sub(before))
}

/// Runs something and gives its result, with the number of allocations it made on this thread.
pub fn count<R>(run: impl FnOnce() -> R) -> (R, u64) {
    let before = COUNT.with(Cell::get);
    let result = run();
    (result, COUNT.with(Cell::get) - before)
}
