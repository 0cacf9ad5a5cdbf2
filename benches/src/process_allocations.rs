//! Counts the allocations of a whole process. The allocator of the test kit counts per thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

/// The system allocator with a counter of its allocations. Use it with `#[global_allocator]`.
#[derive(Debug, Default)]
pub struct ProcessAllocations {
    count: AtomicU64,
}

impl ProcessAllocations {
    /// Creates the allocator.
    pub const fn new() -> Self {
        Self { count: AtomicU64::new(0) }
    }

    /// Returns the number of allocations and reallocations of all threads so far.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    fn note(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every method forwards to the system allocator with the same arguments.
unsafe impl GlobalAlloc for ProcessAllocations {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.note();
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.note();
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.note();
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}
