//! Payloads as JSON, before any lock is taken.

use std::cell::Cell;

use mcp_sansio::json::{EncodeError, Raw};
use serde::Serialize;

thread_local! {
    /// The buffer of the last payload of this thread, for the next one.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A buffer that has grown beyond this is given back.
const MOST_KEPT: usize = 64 << 10;

/// Serialises a value, and does something with it.
///
/// # Errors
///
/// As for [`Raw::from_serialize`].
pub(crate) fn with_serialized<T: Serialize + ?Sized, R>(
    value: &T,
    act: impl FnOnce(Raw<'_>) -> R,
) -> Result<R, EncodeError> {
    // Whoever serialises while serialising gets a new one, and so does a thread that ends.
    let mut buffer = BUFFER.try_with(Cell::take).unwrap_or_default();
    let result = Raw::serialize_into(value, &mut buffer).map(act);
    if buffer.capacity() <= MOST_KEPT {
        _ = BUFFER.try_with(|kept| kept.set(buffer));
    }
    result
}
