//! A replay of a recording, after a round trip through text, repeats everything that happened to the server.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_sansio::testing::Choices;
use mcp_sansio_proptests::oracles::replay::check_replay;

fuzz_target!(|bytes: &[u8]| {
    let (head, mut lines) = bytes.split_at(bytes.len().min(64));
    check_replay(&mut Choices::from_bytes(head), |choices| {
        let count = lines.len().min(choices.below(120) as usize);
        let (now, later) = lines.split_at(count);
        lines = later;
        now.to_vec()
    });
});
