//! Arbitrary bytes: serde_json and this crate accept the same JSON. Both agree on objects and on the positions of
//! their members, also if the object is the arguments of a call. Values are decoded as by serde_json.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_sansio::json::Envelope;
use mcp_sansio_proptests::oracles::json::{
    check_arguments, check_elements, check_envelope, check_object, check_value, serde_accepts,
    we_accept,
};

fuzz_target!(|bytes: &[u8]| {
    // Beyond this depth, only serde_json accepts JSON, and the difference is permitted.
    if 100 < most_open(bytes) {
        _ = Envelope::scan(bytes, 128);
        return;
    }
    assert_eq!(we_accept(bytes), serde_accepts(bytes));
    check_object(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text).is_ok() {
        check_envelope(text);
        check_arguments(text, text.len() % 12);
    }
    if serde_accepts(bytes) {
        check_value(text);
        check_elements(text.trim_ascii());
    }
});

/// Returns the greatest number of brackets outside strings that are open at once.
fn most_open(bytes: &[u8]) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    let (mut is_string, mut is_escape) = (false, false);
    for byte in bytes {
        match byte {
            _ if is_escape => is_escape = false,
            b'\\' if is_string => is_escape = true,
            b'"' => is_string = !is_string,
            b'[' | b'{' if !is_string => open += 1,
            b']' | b'}' if !is_string => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    most
}
