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

/// Returns the bytes at a pointer.
///
/// # Safety
///
/// Unless the length is 0, `bytes` points to that many bytes, which do not change during `'t`.
pub(crate) const unsafe fn bytes<'t>(bytes: *const u8, length: usize) -> &'t [u8] {
    if bytes.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: the caller promises it.
    unsafe { slice::from_raw_parts(bytes, length) }
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
    if start.is_null() && length != 0 {
        return Err(Failure::new(McpStatus::InvalidArgument, format!("{name} is null")));
    }
    // SAFETY: the caller promises it.
    let bytes = unsafe { bytes(start.cast(), length) };
    str::from_utf8(bytes)
        .map_err(|error| Failure::new(McpStatus::InvalidArgument, format!("{name}: {error}")))
}
