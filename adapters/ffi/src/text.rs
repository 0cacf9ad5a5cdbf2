//! [`McpText`]: a text with its length.

use std::ffi::c_char;
use std::slice;

use crate::error::{Failure, McpStatus};

/// A text in UTF-8 with its length in bytes, without a terminating zero. An absent text has length 0.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct McpText {
    /// The first byte. It may be null if the length is 0.
    pub bytes: *const c_char,
    /// The number of bytes.
    pub length: usize,
}

impl McpText {
    pub(crate) const fn of(text: &str) -> Self {
        Self { bytes: text.as_ptr().cast(), length: text.len() }
    }
}

/// Checks a pointer to memory for a result. C does not initialise that memory, so no reference may point to it.
pub(crate) fn not_null<T>(place: *mut T, name: &str) -> Result<(), Failure> {
    if place.is_null() {
        return Err(Failure::new(McpStatus::InvalidArgument, format!("{name} is null")));
    }
    Ok(())
}

/// Returns the bytes at a pointer, which may be null if there are none. `name` is that of the argument. No object is larger than
/// `isize::MAX` bytes, so a greater length is an error of the caller: a negative number, for example.
///
/// # Safety
///
/// Unless the length is 0 or refused, `bytes` points to that many bytes, which do not change during `'t`.
pub(crate) unsafe fn bytes<'t>(
    bytes: *const u8,
    length: usize,
    name: &str,
) -> Result<&'t [u8], Failure> {
    if isize::try_from(length).is_err() {
        let text = format!("{name} has an impossible length");
        return Err(Failure::new(McpStatus::InvalidArgument, text));
    }
    if length == 0 {
        return Ok(&[]);
    }
    if bytes.is_null() {
        return Err(Failure::new(McpStatus::InvalidArgument, format!("{name} is null")));
    }
    // SAFETY: the caller promises it.
    Ok(unsafe { slice::from_raw_parts(bytes, length) })
}

/// Returns a text of the caller. `name` is that of the argument.
///
/// # Safety
///
/// As for [`bytes`].
pub(crate) unsafe fn text<'t>(
    start: *const c_char,
    length: usize,
    name: &str,
) -> Result<&'t str, Failure> {
    // SAFETY: the caller promises it.
    let bytes = unsafe { bytes(start.cast(), length, name) }?;
    str::from_utf8(bytes)
        .map_err(|error| Failure::new(McpStatus::InvalidArgument, format!("{name}: {error}")))
}
