//! Any bytes as server-sent events, cut anywhere: the decoder and the rules of the standard agree.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_sansio_proptests::sse_oracle::check;

fuzz_target!(|input: (Vec<u8>, Vec<u8>)| {
    let (cuts, text) = input;
    check(&text, &cuts);
});
