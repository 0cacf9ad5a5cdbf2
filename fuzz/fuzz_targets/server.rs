//! Arbitrary bytes from a peer, interleaved with arbitrary operations of the application, on a server. Nothing
//! panics, every call has one outcome, every request ends once, and the close leaves nothing open.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_sansio::Server;
use mcp_sansio_proptests::single::survive;

fuzz_target!(|bytes: &[u8]| {
    if let Err(broken) = survive::<Server>(bytes) {
        panic!("{broken}");
    }
});
