//! Counts the allocations of a whole process. The allocator of the test kit counts by thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

/// The system's allocator, which counts what it is asked for. Use it with `#[global_allocator]`.
#[derive(Debug, Default)]
pub struct ProcessAllocations {
    count: AtomicU64,
}

impl ProcessAllocations {
    /// The allocator.
    pub const fn new() -> Self {
        Self { count: AtomicU64::new(0) }
    }

    /// Allocations and reallocations of all threads so far.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    fn note(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every method does what the system's allocator does, with the same arguments.
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
