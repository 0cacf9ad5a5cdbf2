//! Arbitrary values: this crate writes the same text as serde_json, and a raw value as one line.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_sansio::testing::Choices;
use mcp_sansio_proptests::oracles::json::check_text;
use serde_json::{Map, Number, Value};

fuzz_target!(|bytes: &[u8]| check_text(&value(&mut Choices::from_bytes(bytes), 6)));

fn value(choices: &mut Choices, depth: u8) -> Value {
    let kinds = if depth == 0 { 6 } else { 8 };
    match choices.below(kinds) {
        0 => Value::Null,
        1 => Value::Bool(choices.one_in(2)),
        2 => Value::from(choices.any()),
        3 => Value::from(choices.any().cast_signed()),
        4 => Number::from_f64(f64::from_bits(choices.any())).map_or(Value::Null, Value::Number),
        5 => Value::String(text(choices)),
        6 => (0..choices.below(6)).map(|_| value(choices, depth - 1)).collect(),
        _ => {
            let members = (0..choices.below(6)).map(|_| (text(choices), value(choices, depth - 1)));
            Value::Object(members.collect::<Map<_, _>>())
        }
    }
}

fn text(choices: &mut Choices) -> String {
    let length = choices.below(40);
    let bytes: Vec<u8> = (0..length).map(|_| choices.below(256) as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
