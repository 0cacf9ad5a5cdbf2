//! [`McpStatus`]: the result of a function, and the text of the last error.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mcp_sansio::error::{CancelError, NotifyError};
use mcp_sansio::schema::EncodeError;
use mcp_sansio::{CallError, RespondError};

use crate::text::McpText;

/// The result of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum McpStatus {
    /// The function has succeeded.
    Ok = 0,
    /// An argument is null, is not UTF-8, is not JSON, or does not fit. The caller is at fault.
    InvalidArgument = 1,
    /// The request or the call has ended, or never existed. A request that the peer has cancelled has ended: it gets no
    /// response.
    Stale = 2,
    /// No function returns this at present: a request that the peer has cancelled is stale.
    Cancelled = 3,
    /// The outbox has no room: try again when bytes have been sent.
    Full = 4,
    /// The peer may not receive this at the moment, or has not declared the capability for it.
    NotAllowed = 5,
    /// The connection has ended.
    Closed = 6,
    /// The library has failed. Only `mcp_free` may follow.
    Panicked = 7,
}

/// A failed function: its status, and a description.
pub(crate) struct Failure {
    status: McpStatus,
    text: String,
}

impl Failure {
    pub(crate) fn new(status: McpStatus, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    pub(crate) fn stale(kind: &str, number: u64) -> Self {
        Self::new(McpStatus::Stale, format!("there is no {kind} {number}, or it has ended"))
    }
}

fn of_encoding(error: &EncodeError) -> McpStatus {
    match error {
        EncodeError::Full => McpStatus::Full,
        _ => McpStatus::InvalidArgument,
    }
}

impl From<RespondError> for Failure {
    fn from(error: RespondError) -> Self {
        let status = match &error {
            RespondError::Cancelled => McpStatus::Cancelled,
            RespondError::Encode(error) => of_encoding(error),
            RespondError::NotAllowed(_) => McpStatus::NotAllowed,
            RespondError::Closed => McpStatus::Closed,
            _ => McpStatus::Stale,
        };
        Self::new(status, error.to_string())
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        let status = match &error {
            CallError::Closed => McpStatus::Closed,
            CallError::TooManyCalls => McpStatus::Full,
            CallError::Encode(error) => of_encoding(error),
            CallError::NotAllowed(_) => McpStatus::NotAllowed,
            _ => McpStatus::InvalidArgument,
        };
        Self::new(status, error.to_string())
    }
}

impl From<CancelError> for Failure {
    fn from(error: CancelError) -> Self {
        let status = match &error {
            CancelError::Closed => McpStatus::Closed,
            _ => McpStatus::Stale,
        };
        Self::new(status, error.to_string())
    }
}

impl From<NotifyError> for Failure {
    fn from(error: NotifyError) -> Self {
        let status = match &error {
            NotifyError::Closed => McpStatus::Closed,
            NotifyError::Encode(error) => of_encoding(error),
            NotifyError::NotAllowed(_) => McpStatus::NotAllowed,
            _ => McpStatus::InvalidArgument,
        };
        Self::new(status, error.to_string())
    }
}

thread_local! {
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs a function of the interface, and keeps the text of its error.
pub(crate) fn guarded(run: impl FnOnce() -> Result<(), Failure>) -> McpStatus {
    let panicked = || Err(Failure::new(McpStatus::Panicked, "the library has panicked"));
    match catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| panicked()) {
        Ok(()) => McpStatus::Ok,
        Err(Failure { status, text }) => {
            LAST.with_borrow_mut(|last| *last = text);
            status
        }
    }
}

/// Returns a description of the last error of this thread, for people: one sentence. The text is valid until the next call
/// of a function of this library by the thread.
#[unsafe(no_mangle)]
pub extern "C" fn mcp_last_error() -> McpText {
    LAST.with_borrow(|last| McpText::of(last))
}
