//! Serialises payloads to JSON before any lock is taken.

use std::cell::Cell;

thread_local! {
    /// The buffer of the last payload of this thread, for reuse.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The largest capacity of a buffer that is kept for reuse.
const MOST_KEPT: usize = 64 << 10;

/// Calls `act` with a buffer to serialise into.
pub(crate) fn with_buffer<R>(act: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    // A nested call gets a new buffer, and so does a thread that is ending.
    let mut buffer = BUFFER.try_with(Cell::take).unwrap_or_default();
    let result = act(&mut buffer);
    if buffer.capacity() <= MOST_KEPT {
        _ = BUFFER.try_with(|kept| kept.set(buffer));
    }
    result
}
