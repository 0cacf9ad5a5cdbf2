//! Any requests of HTTP to a server: responses in good order, and nothing left behind.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_sansio::testing::Choices;
use mcp_sansio_proptests::oracles::http::ask_anything;

fuzz_target!(|bytes: &[u8]| ask_anything(&mut Choices::from_bytes(bytes)));
