//! Requests that repeat their sender's identity: the server's memory of the identity changes only the amount of work.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_sansio::testing::Choices;
use mcp_sansio_proptests::oracles::repeated::check_repeated;

fuzz_target!(|bytes: &[u8]| check_repeated(&mut Choices::from_bytes(bytes)));
