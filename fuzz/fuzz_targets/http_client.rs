//! Arbitrary HTTP responses to a client: every call ends once.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_sansio::testing::Choices;
use mcp_sansio_proptests::oracles::http::answer_anything;

fuzz_target!(|bytes: &[u8]| answer_anything(&mut Choices::from_bytes(bytes)));
