//! Tests of panics, which no function of the interface causes.

use std::mem::MaybeUninit;
use std::ptr::null_mut;

use super::*;
use crate::error::mcp_last_error;

fn last_error() -> String {
    let text = mcp_last_error();
    // SAFETY: the text of this thread is valid until the next call.
    let bytes = unsafe { bytes(text.bytes.cast(), text.length, "text") };
    String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
}

/// After a panic every function but `mcp_free` fails, and says why.
#[test]
fn a_panic_ends_the_use_of_a_connection() {
    let config = r#"{"name":"server","version":"1"}"#;
    let mut connection = null_mut();
    // SAFETY: each pointer is that of a value here, and the connection is freed at the end.
    unsafe {
        let status = mcp_server_new(config.as_ptr().cast(), config.len(), &raw mut connection);
        assert_eq!(status, McpStatus::Ok);
        assert_eq!(mcp_finish(connection), McpStatus::Ok);
        assert_eq!(with(connection, |_| panic!("as asked")), McpStatus::Panicked);
        assert_eq!(last_error(), "the library has panicked");
        assert_eq!(mcp_finish(connection), McpStatus::Panicked);
        assert_eq!(last_error(), "the library has panicked before");
        assert!(mcp_is_closed(connection));
        let mut length = 1;
        assert!(mcp_unsent(connection, &raw mut length).is_null());
        assert_eq!(length, 0);
        // The loop that feeds the rest of its input ends.
        assert_eq!(mcp_feed(connection, b"x".as_ptr(), 1), 1);
        mcp_free(connection);
    }
    assert_eq!(guarded(|| panic!("as asked")), McpStatus::Panicked);
}

/// Returns a client.
fn client() -> *mut McpConnection {
    let config = r#"{"name":"client","version":"1"}"#;
    let mut connection = MaybeUninit::uninit();
    // SAFETY: each pointer is that of a value here.
    unsafe {
        let status =
            mcp_client_new(config.as_ptr().cast(), config.len(), 0, connection.as_mut_ptr());
        assert_eq!(status, McpStatus::Ok);
        connection.assume_init()
    }
}

/// C does not initialise the memory for results. Miri checks that nothing reads it.
#[test]
fn results_are_written_to_memory_that_is_not_initialised() {
    let connection = client();
    let (method, end) = ("tools/list", r#"{"jsonrpc":"2.0","method":"x"}"#.to_owned() + "\n");
    let (mut call, mut length) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    let mut event = MaybeUninit::uninit();
    // SAFETY: each pointer is that of a value here, and the connection is freed at the end.
    unsafe {
        let (text, size) = (method.as_ptr().cast(), method.len());
        let none = std::ptr::null();
        let status = mcp_call(connection, text, size, none, 0, 0, 0, call.as_mut_ptr());
        assert_eq!((status, call.assume_init()), (McpStatus::Ok, 1));
        let unsent = mcp_unsent(connection, length.as_mut_ptr());
        assert!(!unsent.is_null() && 0 < length.assume_init());
        assert_eq!(mcp_feed(connection, end.as_ptr(), end.len()), end.len());
        assert!(mcp_next_event(connection, 0, event.as_mut_ptr()));
        event.assume_init();

        assert_eq!(
            mcp_call(connection, text, size, none, 0, 0, 0, null_mut()),
            McpStatus::InvalidArgument
        );
        assert_eq!(last_error(), "call is null");
        // All of it is taken, so that no loop feeds it for ever.
        assert_eq!(mcp_feed(connection, std::ptr::null(), 10), 10);
        assert_eq!(last_error(), "input is null");
        assert_eq!(mcp_feed(connection, std::ptr::null(), 0), 0);
        assert!(mcp_unsent(connection, null_mut()).is_null());
        assert_eq!(last_error(), "length is null");
        assert!(!mcp_next_event(connection, 0, null_mut()));
        assert_eq!(last_error(), "event is null");
        mcp_free(connection);
        let config = r#"{"name":"client","version":"1"}"#;
        let status = mcp_client_new(config.as_ptr().cast(), config.len(), 0, null_mut());
        assert_eq!(status, McpStatus::InvalidArgument);
        assert_eq!(last_error(), "connection is null");
    }
}

/// A length that was negative in C.
#[test]
fn impossible_lengths_are_refused() {
    let connection = client();
    let length = usize::MAX;
    // SAFETY: the lengths are refused, and the connection is freed at the end.
    unsafe {
        assert_eq!(mcp_feed(connection, b"x".as_ptr(), length), length);
        assert_eq!(last_error(), "input has an impossible length");
        let text = b"x".as_ptr().cast();
        let status = mcp_notify(connection, text, length, text, 1);
        assert_eq!(status, McpStatus::InvalidArgument);
        assert_eq!(last_error(), "method has an impossible length");
        assert_eq!(mcp_server_new(text, length, null_mut()), McpStatus::InvalidArgument);
        assert_eq!(last_error(), "config has an impossible length");
        mcp_free(connection);
    }
}
