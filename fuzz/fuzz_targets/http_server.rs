//! Arbitrary HTTP requests to a server: responses come in order, and no state remains.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_sansio::testing::Choices;
use mcp_sansio_proptests::oracles::http::ask_anything;

fuzz_target!(|bytes: &[u8]| ask_anything(&mut Choices::from_bytes(bytes)));
