//! Any bytes from a peer, and anything that the application does between them, into a server: nothing panics,
//! every call has one outcome, every request one end, and the end leaves nothing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_sansio::Server;
use mcp_sansio_proptests::alone::survive;

fuzz_target!(|bytes: &[u8]| {
    if let Err(broken) = survive::<Server>(bytes) {
        panic!("{broken}");
    }
});
