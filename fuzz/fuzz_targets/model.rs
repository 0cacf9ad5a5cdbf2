//! Arbitrary text: if it decodes as a type of MCP, it round-trips through encoding and decoding unchanged. So does
//! any value that the bytes generate. A result that writes itself matches its `Serialize` implementation in every
//! revision, as compared through the tables.

#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use mcp_sansio::Payload;
use mcp_sansio::model::method::Method;
use mcp_sansio::model::{self, method};
use mcp_sansio_proptests::oracles::model::{check_model, check_written};
use serde::Serialize;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        check_model(text);
    }
    let Some((kind, rest)) = bytes.split_first() else { return };
    match kind % 11 {
        0 => built::<model::CallToolParams<'_>>(rest),
        1 => written::<method::CallTool, model::CallToolResult<'_>>(rest),
        2 => written::<method::ListTools, model::ListToolsResult<'_>>(rest),
        3 => built::<model::CreateMessageParams<'_>>(rest),
        4 => built::<model::ElicitParams<'_>>(rest),
        5 => written::<method::ReadResource, model::ReadResourceResult<'_>>(rest),
        6 => built::<model::InitializeParams<'_>>(rest),
        7 => written::<method::GetPrompt, model::GetPromptResult<'_>>(rest),
        8 => written::<method::CreateMessage, model::CreateMessageResult<'_>>(rest),
        9 => written::<method::ListResources, model::ListResourcesResult<'_>>(rest),
        _ => built::<model::InputRequired<'_>>(rest),
    }
});

/// Checks that a generated value of this type passes the same round trip as any text.
fn built<'b, T: Arbitrary<'b> + Serialize>(bytes: &'b [u8]) {
    if let Ok(value) = T::arbitrary(&mut Unstructured::new(bytes)) {
        check_model(&serde_json::to_string(&value).expect("a generated value can be encoded"));
    }
}

/// Also checks that the result of this method, as it writes itself, equals its serialization.
fn written<'b, M: Method, T: Arbitrary<'b> + Payload + Serialize>(bytes: &'b [u8]) {
    built::<T>(bytes);
    if let Ok(value) = T::arbitrary(&mut Unstructured::new(bytes)) {
        check_written::<M>(&value);
    }
}
