//! Arbitrary worlds of clients that need tokens: the bytes choose servers, users, processes and failures. All
//! promises hold.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_sansio::testing::Choices;
use mcp_sansio_proptests::authorization_world::World;

fuzz_target!(|bytes: &[u8]| {
    World::play(&mut Choices::from_bytes(bytes));
});
