//! A client and a server connected by HTTP, with arbitrary failures between them: see `http_world`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_sansio::testing::Choices;
use mcp_sansio_proptests::http_world::HttpTrial;

fuzz_target!(|bytes: &[u8]| {
    if let Err(failure) = HttpTrial::run(&mut Choices::from_bytes(bytes), 200) {
        panic!("{failure}");
    }
});
