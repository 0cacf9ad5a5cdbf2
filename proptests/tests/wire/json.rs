//! The JSON parser of this crate against serde_json: the same acceptance, the same values, the same text.

use mcp_sansio::json::{Envelope, JsonErrorKind, Member, Raw};
use mcp_sansio_proptests::oracles::json::{
    check_arguments, check_batch, check_depth, check_elements, check_envelope, check_object,
    check_text, check_value, serde_accepts, we_accept,
};
use proptest::prelude::*;
use serde_json::Value;

/// Generates any JSON value, with strings that need escapes and numbers at the limits.
fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[ -~]{0,12}",
        "\\PC{0,8}",
        any::<String>(),
        Just("a\"\\\n\u{1}\u{7f}\u{2028}😀".repeat(5)),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(text.clone(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Generates JSON text, possibly damaged.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let text = (value(), any::<bool>()).prop_map(|(value, pretty)| {
        let text =
            if pretty { serde_json::to_vec_pretty(&value) } else { serde_json::to_vec(&value) };
        text.expect("a value is JSON")
    });
    let interesting = prop::sample::select(
        b"\"\\{}[]:,.-+eE0129tfnu \t\n\r\x00\x1f\x7f\x80\xc3\xed\xff/".to_vec(),
    );
    let damage = prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8, interesting), 0..4);
    (text, damage).prop_map(|(mut text, damage)| {
        for (index, kind, byte) in damage {
            let at = index.index(text.len() + 1);
            match kind {
                0 => text.insert(at, byte),
                1 if at < text.len() => text[at] = byte,
                _ if at < text.len() => _ = text.remove(at),
                _ => {}
            }
        }
        text
    })
}

/// Generates the text of an object with envelope members, in any order, repeated and oddly written.
fn envelope() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "\"jsonrpc\"",
        "\"id\"",
        "\"method\"",
        "\"params\"",
        "\"result\"",
        "\"error\"",
        "\"_meta\"",
        "\"resultType\"",
        "\"other\"",
        "\"\\u0069d\"",
        "\"par\\u0061ms\"",
        "\"\\u005fmeta\"",
        "\"Id\"",
    ]);
    let leaf = prop_oneof![
        value().prop_map(|value| value.to_string()),
        Just("\"2.0\"".to_string()),
        Just(" { } ".to_string()),
        Just("\"\\ud800\"".to_string()),
    ];
    let object = move |inner: BoxedStrategy<String>| {
        prop::collection::vec((key.clone(), inner), 0..6).prop_map(|members| {
            let members: Vec<String> =
                members.iter().map(|(key, value)| format!("{key} :{value}")).collect();
            format!("{{{}}}", members.join(" ,\t"))
        })
    };
    let nested = prop_oneof![leaf.clone(), object.clone()(leaf.boxed())].boxed();
    object(nested)
}

/// Returns the number of cases: `PROPTEST_CASES`, or enough for a short run.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(1_000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn json_acceptance_matches_serde_json(text in damaged()) {
        prop_assert_eq!(we_accept(&text), serde_accepts(&text), "{}", String::from_utf8_lossy(&text));
    }

    #[test]
    fn a_frame_is_sound_if_serde_json_reads_an_object(text in damaged()) {
        check_object(&text);
    }

    #[test]
    fn json_writing_matches_serde_json(value in value()) {
        check_text(&value);
    }

    #[test]
    fn json_reading_matches_serde_json(value in value()) {
        check_value(&value.to_string());
        check_elements(&value.to_string());
    }

    #[test]
    fn the_fast_scanner_agrees_with_a_slow_parser(text in envelope()) {
        check_envelope(&text);
    }

    #[test]
    fn arguments_are_found_where_a_slow_parser_finds_them(
        text in envelope(),
        value in value(),
        others in 0..12_usize,
    ) {
        check_arguments(&text, others);
        if value.is_object() {
            check_arguments(&value.to_string(), others);
        }
    }

    #[test]
    fn json_numbers_match_serde_json(text in "-?0?[-+0-9.eE]{1,4}") {
        prop_assert_eq!(we_accept(text.as_bytes()), serde_accepts(text.as_bytes()), "{}", text);
    }

    #[test]
    fn json_depth_is_counted_exactly(value in value(), depth in 1..9_u8) {
        check_depth(&value.to_string(), depth);
    }

    #[test]
    fn json_batches_have_the_elements_of_their_text(
        elements in prop::collection::vec(value().prop_map(|value| value.to_string()), 0..6),
        most in 1..5_u32,
    ) {
        check_batch(&elements, most);
    }

    #[test]
    fn any_bytes_are_scanned_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), depth: u8) {
        let envelope = Envelope::scan(&bytes, depth);
        _ = (envelope.get(Member::Id), envelope.get(Member::ResultMeta));
    }
}

#[test]
fn depth_is_the_only_difference() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    let decodable = nested(127);
    assert!(Raw::new(&decodable).unwrap().parse::<Value>().is_ok());
    let deep = nested(128);
    assert_eq!(Raw::new(&deep).unwrap_err().kind(), JsonErrorKind::TooDeep);
    assert!(serde_accepts(deep.as_bytes()), "it is JSON all the same");
    assert!(serde_json::from_str::<Value>(&deep).is_err(), "and cannot be decoded");
}

/// A number begins with a zero only if that is its whole integral part, also behind a sign.
#[test]
fn numbers_have_no_leading_zeros() {
    for (text, is_valid) in [
        ("0", true),
        ("-0", true),
        ("-0.5e1", true),
        ("-10", true),
        ("00", false),
        ("01", false),
        ("-00", false),
        ("-01", false),
        ("-01.5", false),
    ] {
        assert_eq!(Raw::new(text).is_ok(), is_valid, "{text}");
    }
}
