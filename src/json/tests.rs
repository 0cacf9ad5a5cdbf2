use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::*;

fn kind_of(text: &[u8]) -> Option<JsonErrorKind> {
    Envelope::scan(text, 128).defect().map(JsonError::kind)
}

#[test]
fn the_envelope_is_found_wherever_its_members_stand() {
    let text = br#" { "params" : {"_meta":{"a":1},"x":[{}]} ,"id":"\u0031", "method":"a\/b",
        "extra":[1,{"id":2}], "jsonrpc":"2.0" } "#;
    let envelope = Envelope::scan(text, 128);
    assert_eq!(envelope.defect(), None);
    assert_eq!(envelope.get(Member::Jsonrpc), Some("\"2.0\""));
    assert_eq!(envelope.get(Member::Id), Some("\"\\u0031\""));
    assert_eq!(envelope.get(Member::Method), Some("\"a\\/b\""));
    assert_eq!(envelope.get(Member::Params), Some(r#"{"_meta":{"a":1},"x":[{}]}"#));
    assert_eq!(envelope.get(Member::ParamsMeta), Some(r#"{"a":1}"#));
    assert_eq!(envelope.get(Member::Result), None);

    let envelope = Envelope::scan(br#"{"result":{"resultType":"x","_meta":{},"c":[]}}"#, 128);
    assert_eq!(envelope.get(Member::ResultType), Some("\"x\""));
    assert_eq!(envelope.get(Member::ResultMeta), Some("{}"));
}

#[test]
fn a_key_is_the_text_it_stands_for() {
    let envelope = Envelope::scan(br#"{"\u0069d":7,"params":{"\u005fmeta":{}}}"#, 128);
    assert_eq!(envelope.get(Member::Id), Some("7"));
    assert_eq!(envelope.get(Member::ParamsMeta), Some("{}"));
}

#[test]
fn a_key_with_a_wrong_escape_names_nothing() {
    for key in [r"i\d", r"\id", r"id\u", r"id\u00", r"\ud", r"\u+069d"] {
        let text = alloc::format!(r#"{{"{key}":7,"params":{{"{key}":1}}}}"#);
        let envelope = Envelope::scan(text.as_bytes(), 128);
        assert_eq!(envelope.defect().map(JsonError::kind), Some(JsonErrorKind::Escape), "{key}");
        assert_eq!(envelope.get(Member::Id), None, "{key}");
        assert!(envelope.has(Member::Params), "{key}");
    }
}

#[test]
fn duplicates_of_the_envelope_are_noticed() {
    let envelope = Envelope::scan(br#"{"id":1,"\u0069d":2,"method":"m"}"#, 128);
    assert!(envelope.is_duplicated(Member::Id));
    assert!(!envelope.is_duplicated(Member::Method));
    assert!(envelope.has_duplicates());
    assert_eq!(envelope.get(Member::Id), Some("1"));
    let envelope = Envelope::scan(br#"{"id":1,"method":"m","params":{"id":2,"id":3}}"#, 128);
    assert!(!envelope.has_duplicates());
}

#[test]
fn json_errors_report_their_kind_and_offset() {
    let table: &[(&[u8], JsonErrorKind, usize)] = &[
        (b"", JsonErrorKind::Ended, 0),
        (b"  ", JsonErrorKind::Ended, 2),
        (b"{", JsonErrorKind::Ended, 1),
        (b"{\"a", JsonErrorKind::Ended, 3),
        (b"{\"a\\", JsonErrorKind::Ended, 4),
        (b"{\"a\\u12", JsonErrorKind::Ended, 7),
        (b"{\"a\"}", JsonErrorKind::Unexpected, 4),
        (b"{a:1}", JsonErrorKind::Unexpected, 1),
        (b"{\"a\":1,}", JsonErrorKind::Unexpected, 7),
        (b"{\"a\":[1,]}", JsonErrorKind::Unexpected, 8),
        (b"{\"a\":[1}", JsonErrorKind::Unexpected, 7),
        (b"{\"a\":01}", JsonErrorKind::Unexpected, 6),
        (b"{\"a\":-}", JsonErrorKind::Unexpected, 6),
        (b"{\"a\":1.}", JsonErrorKind::Unexpected, 7),
        (b"{\"a\":1e+}", JsonErrorKind::Unexpected, 8),
        (b"{\"a\":tru}", JsonErrorKind::Unexpected, 8),
        (b"{\"a\":+1}", JsonErrorKind::Unexpected, 5),
        (b"{\"a\":\"\x01\"}", JsonErrorKind::ControlCharacter, 6),
        (b"{\"a\":\"\\x\"}", JsonErrorKind::Escape, 6),
        (b"{\"a\":\"\\u12g4\"}", JsonErrorKind::Escape, 6),
        (b"{}{}", JsonErrorKind::Trailing, 2),
        (b"{} x", JsonErrorKind::Trailing, 3),
        (b"[]", JsonErrorKind::NotAnObject, 0),
        (b" 42 ", JsonErrorKind::NotAnObject, 1),
        (b"\"text\"", JsonErrorKind::NotAnObject, 0),
        (b"{\"a\":\"\xff\"}", JsonErrorKind::NotUtf8, 6),
        (b"\xef\xbb\xbf{}", JsonErrorKind::Unexpected, 0),
        // The complements of `"id"` and `"error"`.
        (b"{\xdd\x96\x9b\xdd\0\0\0\0", JsonErrorKind::Unexpected, 1),
        (b"{\xdd\x9a\x8d\x8d\x90\x8d\xdd\0", JsonErrorKind::Unexpected, 1),
    ];
    for (text, kind, offset) in table {
        let defect = Envelope::scan(text, 128).defect().expect("a defect");
        assert_eq!((defect.kind(), defect.offset()), (*kind, *offset), "{text:?}");
    }
}

#[test]
fn depth_is_counted_exactly_and_the_rest_is_still_found() {
    // The envelope is level 1, `params` level 2.
    let nested = |levels: usize| {
        let open = "[".repeat(levels - 1);
        let close = "]".repeat(levels - 1);
        alloc::format!(r#"{{"method":"m","params":{open}{close},"id":4}}"#)
    };
    assert_eq!(kind_of(nested(128).as_bytes()), None);
    assert_eq!(kind_of(nested(129).as_bytes()), Some(JsonErrorKind::TooDeep));
    let deep = nested(100_000);
    let envelope = Envelope::scan(deep.as_bytes(), 128);
    assert_eq!(envelope.defect().map(JsonError::kind), Some(JsonErrorKind::TooDeep));
    assert_eq!(envelope.get(Member::Id), Some("4"));
    let envelope = Envelope::scan(br#"{"params":{"a":1},"id":4}"#, 1);
    assert_eq!(envelope.defect().map(JsonError::kind), Some(JsonErrorKind::TooDeep));
    assert_eq!(envelope.get(Member::Id), Some("4"));
    // Brackets in a string do not end the skipped value.
    for deep in [r#"["]"]"#, r#"["[","\"]}"]"#, r#"{"}":"{"}"#] {
        let text = alloc::format!(r#"{{"params":[{deep}],"id":4}}"#);
        let envelope = Envelope::scan(text.as_bytes(), 2);
        assert_eq!(envelope.defect().map(JsonError::kind), Some(JsonErrorKind::TooDeep), "{text}");
        assert_eq!(envelope.get(Member::Id), Some("4"), "{text}");
    }
    // The members of arguments are level 4.
    let text = br#"{"params":{"arguments":{"a":[]}},"id":4}"#;
    for (depth, defect) in [(4, None), (3, Some(JsonErrorKind::TooDeep))] {
        let envelope = Envelope::scan(text, depth);
        assert_eq!(envelope.defect().map(JsonError::kind), defect, "{depth}");
    }
}

#[test]
fn members_beside_bad_utf8_can_be_read() {
    let envelope = Envelope::scan(b"{\"params\":{\"a\":\"\xff\"},\"id\":4}", 128);
    assert_eq!(envelope.get(Member::Id), Some("4"));
    assert_eq!(envelope.get(Member::Params), None);
    assert!(envelope.has(Member::Params));
}

#[test]
fn strings_decode_escapes_and_surrogates() {
    let table = [
        (r"plain", "plain"),
        (r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r"\u00e9\u20AC", "é€"),
        (r"\ud83d\ude00", "😀"),
        (r"\ud800\udc00", "\u{10000}"),
        (r"\udbff\udfff", "\u{10ffff}"),
        (r"\ud83d", "\u{fffd}"),
        (r"\ude00", "\u{fffd}"),
        (r"\ud83d\ud83d\ude00", "\u{fffd}😀"),
        (r"\ud83dx", "\u{fffd}x"),
        (r"\ud83d\n", "\u{fffd}\n"),
    ];
    for (wire, text) in table {
        let string = Str::trusted(wire);
        assert_eq!(string.to_str(), text, "{wire}");
        let lone = text.contains('\u{fffd}');
        assert_eq!(string.has_lone_surrogate(), lone, "{wire}");
        assert_eq!(string == *text, !lone, "a lone surrogate equals no text: {wire}");
    }
    assert_eq!(Str::trusted("a"), Str::trusted(r"\u0061"));
    assert_ne!(Str::trusted(r"\ud800"), Str::trusted(r"\ud801"));
    let escaped = Str::from("a\"\\\u{1}\n");
    assert_eq!(escaped.to_str(), "a\"\\\u{1}\n");
    assert_eq!(escaped.as_wire(), r#"a\"\\\u0001\u000a"#);
    assert_eq!(Str::from("\u{0}\u{1f} \u{7f}").as_wire(), "\\u0000\\u001f \u{7f}");
    // An escape does not equal its own letters.
    assert!(Str::trusted(r"\n") != *r"\n" && Str::trusted(r"\\n") == *r"\n");
    assert!(Str::trusted(r"\u0061") < Str::trusted("b") && Str::trusted("a") < Str::trusted("b"));
}

/// A frame with raw control characters is rejected, but its readable members are used.
#[test]
fn a_raw_control_character_is_no_escape() {
    for text in ["a\tb", "\u{1}", "a text that is longer than 32 bytes\n"] {
        let string = Str::trusted(text);
        assert_eq!(string.as_plain(), Some(text));
        assert!(string == *text);
    }
    let members: Vec<(Name<'_>, &str)> =
        MemberTexts::of("{\"a\u{1}\":\"\u{1f}b\",\"\u{1}c\":2}").collect();
    assert_eq!(members.len(), 2);
    assert!(members[0].0 == "a\u{1}" && members[0].1 == "\"\u{1f}b\"");
    assert!(members[1].0 == "\u{1}c" && members[1].1 == "2");
    assert_eq!(alloc::format!("{:?}", members[0].0), "Name(2 bytes)");
}

#[test]
fn values_of_different_texts_have_different_hashes() {
    use core::hash::{Hash, Hasher};
    let hash = |raw: &Raw<'_>| {
        let mut hasher = std::hash::DefaultHasher::new();
        raw.hash(&mut hasher);
        hasher.finish()
    };
    let raw = Raw::trusted("[1]");
    assert_eq!(hash(&raw), hash(&raw.clone().into_owned()));
    assert_ne!(hash(&raw), hash(&Raw::trusted("[2]")));
}

#[test]
fn a_vetted_value_stays_vetted_in_a_copy() {
    let raw = Raw::trusted("{}");
    assert!(!raw.is_vetted() && !raw.clone().into_owned().is_vetted());
    assert!(raw.clone().vetted().is_vetted() && raw.vetted().into_owned().is_vetted());
}

/// Sets and maps require that the hash does not depend on the spelling.
#[test]
fn string_hashes_are_independent_of_escapes() {
    use core::hash::{Hash, Hasher};
    let hash = |wire| {
        let mut hasher = std::hash::DefaultHasher::new();
        Str::trusted(wire).hash(&mut hasher);
        hasher.finish()
    };
    assert_eq!(hash("a"), hash(r"\u0061"));
    assert_ne!(hash("a"), hash("b"));
}

#[test]
fn debug_shows_ids_and_methods_and_no_payload() {
    let text = br#"{"id":"x","method":"m","params":{"secret":1}}"#;
    let debug = alloc::format!("{:?}", Envelope::scan(text, 128));
    assert_eq!(debug, r#"Envelope { bytes: 45, id: "x", method: "m", .. }"#);
    let payloads = br#"{"id":{"secret":1},"method":["secret"]}"#;
    let debug = alloc::format!("{:?}", Envelope::scan(payloads, 128));
    assert_eq!(debug, "Envelope { bytes: 39, .. }");
    for (length, is_shown) in [(298, true), (299, false)] {
        let literal = alloc::format!("\"{}\"", "x".repeat(length));
        assert_eq!(shown(&literal).is_some(), is_shown);
    }
    let raw = Raw::trusted("[1]");
    assert_eq!(alloc::format!("{:?}", raw.members()), "Members { .. }");
    assert_eq!(alloc::format!("{:?}", raw.elements()), "Elements { .. }");
}

#[test]
fn json_error_text_includes_the_byte_offset() {
    let error = Raw::new("[1,").expect_err("no JSON");
    assert_eq!(error.to_string(), "the JSON text ends too early at byte 3");
}

#[test]
fn raw_values_give_access_to_members_and_elements() {
    let raw =
        Raw::new(" {\"a\" : [1, \"x,]\\\"\", {}] , \"b\":null,\"a\":true, \"\\u0063\": -0.5e1} ")
            .expect("valid");
    let members: Vec<(String, String)> =
        raw.members().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let expected = [("a", r#"[1, "x,]\"", {}]"#), ("b", "null"), ("a", "true"), ("c", "-0.5e1")];
    assert_eq!(members, expected.map(|(key, value)| (key.to_string(), value.to_string())));
    assert_eq!(raw.get("a"), Some(Raw::trusted("true")), "the last of several");
    assert_eq!(raw.get("c").and_then(|number| number.as_number()), Number::try_from(-5.0).ok());
    assert_eq!(raw.get("z"), None);
    assert_eq!(raw.pointer("/a"), Some(Raw::trusted("true")));
    let array = Raw::new("[0,[1]]").expect("valid");
    assert_eq!(array.pointer("/1/0"), Some(Raw::trusted("1")));
    for strange in ["/01", "/+1", "/-", "/2", "/1/", "1"] {
        assert_eq!(array.pointer(strange), None, "{strange}");
    }
    assert_eq!(
        Raw::trusted("-0").as_number().map(|zero| zero.to_string()).as_deref(),
        Some("-0.0")
    );
    let array = Raw::new(r#"[1,"x",[],{"k":[2]}]"#).expect("valid");
    let elements: Vec<String> = array.elements().map(|element| element.to_string()).collect();
    assert_eq!(elements, ["1", "\"x\"", "[]", r#"{"k":[2]}"#]);
    assert_eq!(Raw::new("[]").expect("valid").elements().count(), 0);
    assert_eq!(Raw::new("{}").expect("valid").members().count(), 0);
    assert_eq!(Raw::new("7").expect("valid").members().count(), 0);
    let nested = Raw::new(r#"{"a/b":[{"~":"x"}],"":1}"#).expect("valid");
    let at = |pointer| nested.pointer(pointer).map(|value| value.to_string());
    assert_eq!(at("/a~1b/0/~0"), Some("\"x\"".to_string()));
    assert_eq!(at("/"), Some("1".to_string()));
    let tilde = Raw::new(r#"{"~1":1,"/":2}"#).expect("valid");
    assert_eq!(tilde.pointer("/~01"), Some(Raw::trusted("1")));
    assert_eq!(tilde.pointer("/~1"), Some(Raw::trusted("2")));
    assert_eq!(at(""), Some(nested.to_string()));
    assert_eq!((at("/a~1b/1"), at("/x"), at("x"), at("/a~1b/x")), (None, None, None, None));
    assert_eq!(raw.get("a").and_then(|truth| truth.as_bool()), Some(true));
    assert_eq!(Raw::trusted("false").as_bool(), Some(false));
    assert_eq!(Raw::trusted("\"true\"").as_bool(), None);
    assert!(Raw::new("{} {}").is_err());
    assert!(Raw::try_from(String::from("[1")).is_err());
    assert_eq!(Raw::try_from(String::from(" [1] ")).expect("valid").as_json(), "[1]");
}

/// A literal is read as the nearest `f64`, so that its text survives a round trip.
#[test]
fn fractions_are_read_exactly() {
    for literal in ["90.33333333333333", "966618069479353.5", "0.1", "2.2250738585072014e-308"] {
        let read: Number = Raw::new(literal).expect("JSON").parse().expect("a number");
        assert_eq!(read.to_string(), literal);
        assert_eq!(Raw::new(literal).expect("JSON").as_number(), Some(read));
    }
}

/// Proves L-JSONRPC-30: integers stay integers, numbers compare exactly, only finite ones exist.
#[test]
fn numbers_keep_their_kind_and_compare_exactly() {
    let number = |literal| Number::from_literal(literal).expect("a number");
    for literal in
        ["0", "-1", "50", "0.5", "18446744073709551615", "-9223372036854775808", "1e+300"]
    {
        assert_eq!(number(literal).to_string(), literal);
    }
    assert_eq!(number("1"), number("1.0"));
    assert_ne!(number("1"), number("2"));
    assert!(number("9007199254740992.0") < number("9007199254740993"));
    assert!(number("18446744073709551615") < number("18446744073709551616"));
    assert!(number("-0.5") < number("0"));
    assert!(number("-1") < number("-0.5"));
    assert!(number("0.5") < number("1"));
    assert_eq!(number("-0.0"), number("0"));
    assert_eq!(Number::from_literal("1e999"), None);
    assert_eq!(Number::from_literal("\"1\""), None);
    assert!(Number::try_from(f64::INFINITY).is_err());
    let fraction = number("12.75");
    assert_eq!(std::format!("{fraction:.1} {fraction:8.3}|{fraction:>7}"), "12.8   12.750|  12.75");
    let hash = |number: Number| {
        use core::hash::{Hash, Hasher};
        let mut hasher = std::hash::DefaultHasher::new();
        number.hash(&mut hasher);
        hasher.finish()
    };
    assert_eq!(hash(number("1")), hash(number("1.0")));
    assert_eq!(hash(number("0")), hash(number("-0.0")));
    assert_ne!(hash(number("0")), hash(number("1")));
    for text in [r#""1""#, r#"{"x":"1"}"#] {
        let error = serde_json::from_str::<Number>(text).expect_err("no number").to_string();
        assert!(error.contains("expected a number"), "{error}");
    }
}

#[test]
fn lone_surrogates_can_be_read_lossily() {
    let raw =
        Raw::new(r#"{"t":"cut \ud83d","u":"\\ud83d \ud83d\ude00 \udc00\ud800"}"#).expect("valid");
    assert!(raw.parse::<serde_json::Value>().is_err());
    let value: serde_json::Value = raw.parse_lossy().expect("readable");
    assert_eq!(value["t"], "cut \u{fffd}");
    assert_eq!(value["u"], "\\ud83d 😀 \u{fffd}\u{fffd}");
}

#[test]
fn defects_and_values_are_named() {
    let named = |text: &[u8]| Envelope::scan(text, 2).defect().map(|error| error.to_string());
    for (text, expected) in [
        (&b"{"[..], "the JSON text ends too early"),
        (b"{?", "unexpected character in JSON"),
        (b"{\"a\":\"\n\"}", "raw control character in a JSON string"),
        (b"{\"a\":\"\\x\"}", "invalid escape in a JSON string"),
        (b"{} 1", "trailing characters after the JSON value"),
        (b"[]", "the JSON value is not an object"),
        (b"{\"a\":[[1]]}", "the JSON value nests too deep"),
        (b"{\"a\":\"\xff\"}", "invalid UTF-8"),
    ] {
        let shown = named(text).unwrap_or_default();
        assert!(shown.starts_with(expected), "{shown:?}, not {expected:?}");
    }
    for (text, shown) in [
        ("null", "Raw(null, 4 bytes)"),
        ("true", "Raw(boolean, 4 bytes)"),
        ("-1", "Raw(number, 2 bytes)"),
        (r#""a""#, "Raw(string, 3 bytes)"),
        ("[]", "Raw(array, 2 bytes)"),
        ("{}", "Raw(object, 2 bytes)"),
    ] {
        assert_eq!(alloc::format!("{:?}", Raw::new(text).unwrap()), shown);
    }
    for (literal, text) in [(r#""a""#, "a"), (r#""\u0061\n""#, "a\n"), (r#""""#, "")] {
        let read = || Str::from_literal(literal).unwrap();
        let decoded = alloc::borrow::Cow::from(read());
        assert_eq!(decoded, text);
        let is_borrowed = matches!(decoded, alloc::borrow::Cow::Borrowed(_));
        assert_eq!(is_borrowed, !literal.contains('\\'), "{literal}");
        assert_eq!(String::from(read()), text);
    }
}
