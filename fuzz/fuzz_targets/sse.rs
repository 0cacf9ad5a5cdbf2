//! Arbitrary bytes as server-sent events, split anywhere: the decoder and the rules of the standard agree.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_sansio_proptests::oracles::sse::check;

fuzz_target!(|bytes: &[u8]| {
    if let Some((cuts, text)) = bytes.split_first_chunk::<4>() {
        check(text, cuts);
    }
});
