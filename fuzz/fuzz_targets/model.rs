//! Any text: as whatever type of MCP it is decoded, it is encoded, decoded again, and is the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_sansio_proptests::model_oracle::check_model;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        check_model(text);
    }
});
