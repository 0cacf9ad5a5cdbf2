//! The heap: a static block of memory.

use core::alloc::{GlobalAlloc, Layout};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicUsize, Ordering};

use embedded_alloc::TlsfHeap;

/// The size of the heap in bytes.
pub(crate) const SIZE: usize = 40 << 10;

#[global_allocator]
static HEAP: Heap =
    Heap { blocks: TlsfHeap::empty(), used: AtomicUsize::new(0), most: AtomicUsize::new(0) };

/// An allocator of constant time that counts the bytes in use, without its own few bytes for each block.
struct Heap {
    blocks: TlsfHeap,
    used: AtomicUsize,
    most: AtomicUsize,
}

// SAFETY: every block comes from `blocks` and goes back to it. The counters do not affect the blocks.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of this method, which is the same.
        let block = unsafe { self.blocks.alloc(layout) };
        if !block.is_null() {
            let used = self.used.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
            self.most.fetch_max(used, Ordering::Relaxed);
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        self.used.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { self.blocks.dealloc(block, layout) }
    }
}

/// Gives the allocator its memory.
///
/// # Safety
///
/// Called once, before anything is allocated.
pub(crate) unsafe fn init() {
    static mut MEMORY: [MaybeUninit<u8>; SIZE] = [MaybeUninit::uninit(); SIZE];
    // SAFETY: the caller calls this once, so nothing else refers to the memory.
    unsafe { HEAP.blocks.init(&raw mut MEMORY as usize, SIZE) }
}

/// Returns the largest number of bytes that were in use.
pub(crate) fn most_used() -> usize {
    HEAP.most.load(Ordering::Relaxed)
}
