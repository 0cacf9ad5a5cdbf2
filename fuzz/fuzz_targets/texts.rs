//! Arbitrary texts for the functions that read a text of the peer outside a message: cursors, sealed states, URLs,
//! tokens, header fields. The first byte chooses the function.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_sansio_proptests::oracles::texts::check_text;

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, text)) = bytes.split_first() else { return };
    if let Ok(text) = std::str::from_utf8(text) {
        check_text(*kind, text);
    }
});
