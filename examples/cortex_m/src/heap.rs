//! The heap: a static block of memory.
//!
//! The connection has a share of its own: [`Limits`](mcp_sansio::Limits) bound it, so an allocation of the machine does
//! not fail. The tools have the rest. They allocate by [`try_buffer`], which fails with an error before it takes from
//! the share of the connection.

use core::alloc::{GlobalAlloc, Layout};
use core::fmt;
use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicUsize, Ordering};

use alloc::vec::Vec;

use embedded_alloc::TlsfHeap;

/// The size of the heap in bytes.
pub(crate) const SIZE: usize = 40 << 10;

/// The share of the buffers of all tools, in bytes.
pub(crate) const TOOLS: usize = 4 << 10;

/// The bytes of the buffers of tools that exist.
static BUFFERS: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static HEAP: Heap =
    Heap { blocks: TlsfHeap::empty(), used: AtomicUsize::new(0), most: AtomicUsize::new(0) };

/// A constant-time allocator, which counts the bytes in use without its own few bytes for each block.
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

/// A buffer of a tool, which counts against [`TOOLS`] until it is dropped.
pub(crate) struct Buffer<T>(Vec<T>);

/// There is not enough memory for a buffer. Nothing was allocated.
pub(crate) struct OutOfMemory {
    wanted: usize,
    free: usize,
}

/// Allocates a buffer of this length, or fails if the tools would then have more than [`TOOLS`].
pub(crate) fn try_buffer<T: Clone + Default>(length: usize) -> Result<Buffer<T>, OutOfMemory> {
    let wanted = length.saturating_mul(size_of::<T>());
    let free = TOOLS - BUFFERS.load(Ordering::Relaxed);
    if free < wanted {
        return Err(OutOfMemory { wanted, free });
    }
    let mut elements = Vec::new();
    // The heap can be too fragmented for a block of this size.
    elements.try_reserve_exact(length).map_err(|_| OutOfMemory { wanted, free })?;
    elements.resize(length, T::default());
    BUFFERS.fetch_add(wanted, Ordering::Relaxed);
    Ok(Buffer(elements))
}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        BUFFERS.fetch_sub(size_of_val(&self.0[..]), Ordering::Relaxed);
    }
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "out of memory: {} bytes wanted, {} free", self.wanted, self.free)
    }
}
