//! Any text: as whatever type of MCP it is decoded, it is encoded, decoded again, and is the same. So is any
//! value that the bytes are taken for.

#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use mcp_sansio::model;
use mcp_sansio_proptests::oracles::model::check_model;
use serde::Serialize;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        check_model(text);
    }
    let Some((kind, rest)) = bytes.split_first() else { return };
    match kind % 8 {
        0 => built::<model::CallToolParams<'_>>(rest),
        1 => built::<model::CallToolResult<'_>>(rest),
        2 => built::<model::ListToolsResult<'_>>(rest),
        3 => built::<model::CreateMessageParams<'_>>(rest),
        4 => built::<model::ElicitParams<'_>>(rest),
        5 => built::<model::ReadResourceResult<'_>>(rest),
        6 => built::<model::InitializeParams<'_>>(rest),
        _ => built::<model::InputRequired<'_>>(rest),
    }
});

/// A value of this type survives what any text does.
fn built<'b, T: Arbitrary<'b> + Serialize>(bytes: &'b [u8]) {
    if let Ok(value) = T::arbitrary(&mut Unstructured::new(bytes)) {
        check_model(&serde_json::to_string(&value).expect("a value that was built is encoded"));
    }
}
