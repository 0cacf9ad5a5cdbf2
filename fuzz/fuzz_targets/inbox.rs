//! Arbitrary bytes: the chunking makes no difference, and every line comes out once and whole.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_sansio::testing::Choices;
use mcp_sansio_proptests::oracles::frames::check_frames;

fuzz_target!(|bytes: &[u8]| {
    let (head, rest) = bytes.split_at(bytes.len().min(8));
    check_frames(&mut Choices::from_bytes(head), rest);
});
