//! Counts allocations, one thread at a time.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
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

fn note() {
    // A thread that is being torn down has no counter any more, and nobody who reads it.
    _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every method does what the system's allocator does, with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note();
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Runs something and gives its result, with the number of allocations it made on this thread.
pub fn count<R>(run: impl FnOnce() -> R) -> (R, u64) {
    let before = COUNT.with(Cell::get);
    let result = run();
    (result, COUNT.with(Cell::get) - before)
}
