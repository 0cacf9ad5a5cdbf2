//! An allocator that counts the allocations of each thread, and can refuse them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    /// The bytes allocated minus the bytes freed, wrapping: a thread may free another thread's memory.
    static LIVE: Cell<usize> = const { Cell::new(0) };
    /// Whether allocations are refused.
    static REFUSED: Cell<bool> = const { Cell::new(false) };
}

/// The system allocator with a counter of the current thread's allocations.
///
/// Use it with `#[global_allocator]`, and [`count`] or [`held`] around the measured code. It is the allocator of every
/// program that is linked with the test kit.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Counting;

impl Counting {
    /// Creates the allocator.
    pub const fn new() -> Self {
        Self
    }
}

/// Whether an allocation must fail. A thread in teardown no longer has its counters, and allocations succeed.
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

// SAFETY: every method forwards to the system allocator with the same arguments, or fails as permitted.
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

/// Runs a closure that must not allocate on this thread. An allocation fails, so the process aborts as if memory were
/// exhausted.
pub fn refuse<R>(run: impl FnOnce() -> R) -> R {
    REFUSED.with(|refused| refused.set(true));
    let result = run();
    REFUSED.with(|refused| refused.set(false));
    result
}

/// Runs a closure and returns its result, with the number of additional bytes that this thread holds afterwards.
pub fn held<R>(run: impl FnOnce() -> R) -> (R, usize) {
    let before = LIVE.with(Cell::get);
    let result = run();
    (result, LIVE.with(Cell::get).wrapping_sub(before))
}

/// Runs a closure and returns its result, with the number of allocations on this thread.
pub fn count<R>(run: impl FnOnce() -> R) -> (R, u64) {
    let before = COUNT.with(Cell::get);
    let result = run();
    (result, COUNT.with(Cell::get) - before)
}
