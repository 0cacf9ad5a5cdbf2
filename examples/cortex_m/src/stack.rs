//! The stack, below the static variables: see `memory.x`.

use core::ptr;

use cortex_m_rt::STACK_PAINT_VALUE;

unsafe extern "C" {
    /// Where the stack begins, above its memory.
    static _stack_start: u32;
    /// The lowest word of its memory.
    static _stack_end: u32;
}

/// Returns the size of the stack in bytes.
pub(crate) fn size() -> usize {
    (&raw const _stack_start) as usize - (&raw const _stack_end) as usize
}

/// Returns the largest number of bytes that were in use.
pub(crate) fn most_used() -> usize {
    let lowest = &raw const _stack_end;
    let words = size() / size_of::<u32>();
    // SAFETY: the addresses lie within the memory of the stack. An interrupt meanwhile only changes the count.
    let is_unused =
        |word: &usize| unsafe { ptr::read_volatile(lowest.add(*word)) } == STACK_PAINT_VALUE;
    size() - (0..words).take_while(is_unused).count() * size_of::<u32>()
}
