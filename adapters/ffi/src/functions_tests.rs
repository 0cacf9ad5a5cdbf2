//! Tests of panics, which no function of the interface causes.

use super::*;
use crate::error::mcp_last_error;

fn last_error() -> String {
    let text = mcp_last_error();
    // SAFETY: the text of this thread is valid until the next call.
    let bytes = unsafe { bytes(text.bytes.cast(), text.length) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// After a panic every function but `mcp_free` fails, and says why.
#[test]
fn a_panic_ends_the_use_of_a_connection() {
    let config = r#"{"name":"server","version":"1"}"#;
    let mut connection = std::ptr::null_mut();
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
        mcp_free(connection);
    }
    assert_eq!(guarded(|| panic!("as asked")), McpStatus::Panicked);
}
