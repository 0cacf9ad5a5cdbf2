//! Arbitrary `WWW-Authenticate` fields: the parser and the grammar agree on all fields that the grammar allows.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_sansio_proptests::oracles::challenges::check;

fuzz_target!(|bytes: &[u8]| {
    // Each line is a field.
    let fields: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    check(&fields);
});
