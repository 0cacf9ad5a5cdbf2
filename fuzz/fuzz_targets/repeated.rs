//! Requests that say again and again who sends them: what a server remembers of that changes nothing but its work.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_sansio::testing::Choices;
use mcp_sansio_proptests::oracles::repeated::check_repeated;

fuzz_target!(|bytes: &[u8]| check_repeated(&mut Choices::from_bytes(bytes)));
