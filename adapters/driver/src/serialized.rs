//! Payloads as JSON, before any lock is taken.

use std::cell::Cell;

thread_local! {
    /// The buffer of the last payload of this thread, for the next one.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A buffer that has grown beyond this is given back.
const MOST_KEPT: usize = 64 << 10;

/// Lends a buffer to serialise into.
pub(crate) fn with_buffer<R>(act: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    // Whoever serialises while serialising gets a new one, and so does a thread that ends.
    let mut buffer = BUFFER.try_with(Cell::take).unwrap_or_default();
    let result = act(&mut buffer);
    if buffer.capacity() <= MOST_KEPT {
        _ = BUFFER.try_with(|kept| kept.set(buffer));
    }
    result
}
