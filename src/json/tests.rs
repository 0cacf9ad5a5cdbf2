use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use serde::Serialize;

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
    assert_eq!(envelope.get(Member::Id), Some("1"));
}

#[test]
fn what_is_not_json_is_told_with_its_place() {
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
    assert!(Str::trusted(r"\u0061") < Str::trusted("b") && Str::trusted("a") < Str::trusted("b"));
}

/// As sets and maps need it: the same whatever it was written with.
#[test]
fn strings_have_the_hash_of_what_they_stand_for() {
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
fn what_is_wrong_is_said_with_its_place() {
    let error = Raw::new("[1,").expect_err("no JSON");
    assert_eq!(error.to_string(), "the JSON text ends too early at byte 3");
}

#[test]
fn raw_values_lend_what_is_in_them() {
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
    assert_eq!(at(""), Some(nested.to_string()));
    assert_eq!((at("/a~1b/1"), at("/x"), at("x"), at("/a~1b/x")), (None, None, None, None));
    assert_eq!(raw.get("a").and_then(|truth| truth.as_bool()), Some(true));
    assert_eq!(Raw::trusted("false").as_bool(), Some(false));
    assert_eq!(Raw::trusted("\"true\"").as_bool(), None);
    assert!(Raw::new("{} {}").is_err());
    assert!(Raw::try_from(String::from("[1")).is_err());
    assert_eq!(Raw::try_from(String::from(" [1] ")).expect("valid").as_json(), "[1]");
}

/// The nearest `f64`, not one beside it, so that what was read is written as it came.
#[test]
fn fractions_are_read_exactly() {
    for literal in ["90.33333333333333", "966618069479353.5", "0.1", "2.2250738585072014e-308"] {
        let read: Number = Raw::new(literal).expect("JSON").parse().expect("a number");
        assert_eq!(read.to_string(), literal);
        assert_eq!(Raw::new(literal).expect("JSON").as_number(), Some(read));
    }
}

/// Proves L-JSONRPC-30: integers stay integral, numbers compare exactly, only finite ones exist.
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

#[derive(Serialize)]
enum Shape {
    Unit,
    Newtype(u8),
    Tuple(u8, bool),
    Struct { a: Option<u8> },
}

#[derive(Serialize)]
struct Everything<'a> {
    text: &'a str,
    character: char,
    integers: (i8, i16, i32, i64, u8, u16, u32, u64, i128, u128),
    floats: (f32, f64, f64, f64),
    shapes: Vec<Shape>,
    unit: (),
    none: Option<()>,
    map: BTreeMap<u32, &'a str>,
    flags: BTreeMap<bool, u8>,
    empty: (Vec<u8>, BTreeMap<String, u8>),
    bytes: &'a [u8],
}

#[test]
fn the_writer_prints_what_serde_json_prints() {
    let all: String = (0..0x80).map(char::from).chain("é€😀\u{2028}\u{85}".chars()).collect();
    let value = Everything {
        text: &all,
        character: '"',
        integers: (-1, i16::MIN, 7, i64::MIN, 0, 1, u32::MAX, u64::MAX, i128::MIN, u128::MAX),
        floats: (0.1, 1.0, -0.0, 1e21),
        shapes: vec![
            Shape::Unit,
            Shape::Newtype(1),
            Shape::Tuple(2, true),
            Shape::Struct { a: None },
        ],
        unit: (),
        none: None,
        map: BTreeMap::from([(1, "a"), (2, "b\n")]),
        flags: BTreeMap::from([(true, 1), (false, 0)]),
        empty: (Vec::new(), BTreeMap::new()),
        bytes: b"ab",
    };
    let ours = Raw::from_serialize(&value).expect("writable");
    assert_eq!(ours.as_json(), serde_json::to_string(&value).expect("writable"));
}

#[test]
fn the_writer_refuses_what_json_has_no_words_for() {
    assert_eq!(Raw::from_serialize(&f64::NAN).err(), Some(EncodeError::NotFinite));
    assert_eq!(Raw::from_serialize(&f32::INFINITY).err(), Some(EncodeError::NotFinite));
    let keyed = BTreeMap::from([(vec![1_u8], 1)]);
    assert_eq!(Raw::from_serialize(&keyed).err(), Some(EncodeError::KeyNotAString));
    struct Gives;
    impl Serialize for Gives {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("up"))
        }
    }
    assert_eq!(Raw::from_serialize(&Gives).err(), Some(EncodeError::Payload));
}

/// Serde_json and this crate must understand each other's raw values.
#[test]
fn raw_values_pass_through_both_serializers() {
    let raw = Raw::new(r#"{"a" : [1]}"#).expect("valid");
    assert_eq!(serde_json::to_string(&raw).expect("writable"), r#"{"a" : [1]}"#);
    let theirs = serde_json::value::RawValue::from_string(r#"{"a" : [1]}"#.to_string());
    let theirs = [theirs.expect("valid")];
    assert_eq!(Raw::from_serialize(&theirs).expect("writable").as_json(), r#"[{"a" : [1]}]"#);
    let back: Vec<Raw<'_>> = serde_json::from_str(r#"[ {"a" : [1]} ,null]"#).expect("valid");
    assert_eq!(back, [raw, Raw::NULL]);
}

/// Proves L-STDIO-01 for JSON that is passed on.
#[test]
fn raw_json_with_newlines_becomes_one_line() {
    let pretty = "{\r\n  \"a b\": [ 1 ,\n \"x \\\" , y\" ],\n\"c\" : \"\\n\"}";
    let raw = Raw::new(pretty).expect("valid");
    let written = Raw::from_serialize(&[&raw]).expect("writable");
    assert_eq!(written.as_json(), r#"[{"a b":[1,"x \" , y"],"c":"\n"}]"#);
    let one_line = Raw::new("{ \"a\" : 1 }").expect("valid");
    assert_eq!(Raw::from_serialize(&one_line).expect("writable").as_json(), "{ \"a\" : 1 }");
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

fn object<T: Serialize>(
    value: &T,
    empty: Empty,
    additions: &Additions<'_>,
) -> Result<String, EncodeError> {
    let mut buffer = Vec::new();
    value.serialize(Payload::new(
        &mut Writer::new(&mut buffer, 1000),
        "p:",
        empty,
        additions,
        None,
    ))?;
    Ok(String::from_utf8(buffer).expect("UTF-8"))
}

#[test]
fn additions_go_into_every_kind_of_object() {
    #[derive(Serialize)]
    struct With {
        a: u8,
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<BTreeMap<&'static str, u8>>,
        z: u8,
    }
    let meta = MetaAdditions { members: &[("token", "7")], ..MetaAdditions::NONE };
    let additions = Additions { members: &[("kind", "\"x\"")], meta, ..Additions::NONE };
    let with = |meta| With { a: 1, meta, z: 2 };
    let raw = |text| Raw::new(text).expect("valid");
    let table = [
        (
            object(&with(None), Empty::Omitted, &additions),
            r#"p:{"kind":"x","a":1,"z":2,"_meta":{"token":7}}"#,
        ),
        (
            object(
                &with(Some(BTreeMap::from([("b", 3), ("token", 9)]))),
                Empty::Omitted,
                &additions,
            ),
            r#"p:{"kind":"x","a":1,"_meta":{"token":7,"b":3},"z":2}"#,
        ),
        (
            object(&BTreeMap::from([("kind", 1), ("l", 2)]), Empty::Omitted, &additions),
            r#"p:{"kind":"x","l":2,"_meta":{"token":7}}"#,
        ),
        (object(&(), Empty::Omitted, &additions), r#"p:{"kind":"x","_meta":{"token":7}}"#),
        (object(&None::<With>, Empty::Braces, &additions), r#"p:{"kind":"x","_meta":{"token":7}}"#),
        (
            object(
                &raw(r#"{"a":[1, 2],"_meta":{"token":8,"c":{}},"k\"":1,"kind":2,"_meta":{}}"#),
                Empty::Omitted,
                &additions,
            ),
            r#"p:{"kind":"x","a":[1, 2],"_meta":{"token":7,"c":{}},"k\"":1}"#,
        ),
        (
            object(&raw("{\"_meta\":null}"), Empty::Omitted, &additions),
            r#"p:{"kind":"x","_meta":{"token":7}}"#,
        ),
        (object(&raw("null"), Empty::Omitted, &additions), r#"p:{"kind":"x","_meta":{"token":7}}"#),
        (object(&(), Empty::Omitted, &Additions::NONE), ""),
        (object(&(), Empty::Braces, &Additions::NONE), "p:{}"),
        (object(&raw("null"), Empty::Omitted, &Additions::NONE), ""),
        (object(&raw("{\n}"), Empty::Omitted, &Additions::NONE), "p:{}"),
        (object(&with(None), Empty::Omitted, &Additions::NONE), r#"p:{"a":1,"z":2}"#),
    ];
    for (index, (written, expected)) in table.into_iter().enumerate() {
        assert_eq!(written.as_deref(), Ok(expected), "row {index}");
    }
}

#[test]
fn only_objects_are_params_and_results() {
    let refused = Err(EncodeError::NotAnObject);
    assert_eq!(object(&1, Empty::Omitted, &Additions::NONE), refused);
    assert_eq!(object(&"x", Empty::Omitted, &Additions::NONE), refused);
    assert_eq!(object(&[1], Empty::Omitted, &Additions::NONE), refused);
    assert_eq!(object(&true, Empty::Omitted, &Additions::NONE), refused);
    assert_eq!(object(&Raw::new("[]").expect("valid"), Empty::Omitted, &Additions::NONE), refused);
}

/// Variants are objects, too, with the name of the variant as their key.
#[test]
fn variants_are_objects_of_one_member() {
    let meta = [("token", "7")];
    let meta = MetaAdditions { members: &meta, ..MetaAdditions::NONE };
    let additions = Additions { meta, ..Additions::NONE };
    let write = |shape: &Shape, additions| object(shape, Empty::Omitted, additions);
    let plain = |shape: &Shape| write(shape, &Additions::NONE);
    assert_eq!(plain(&Shape::Struct { a: None }).as_deref(), Ok(r#"p:{"Struct":{"a":null}}"#));
    assert_eq!(plain(&Shape::Tuple(1, true)).as_deref(), Ok(r#"p:{"Tuple":[1,true]}"#));
    assert_eq!(plain(&Shape::Newtype(1)).as_deref(), Ok(r#"p:{"Newtype":1}"#));
    assert_eq!(plain(&Shape::Unit), Err(EncodeError::NotAnObject), "a unit variant is a string");
    assert_eq!(
        write(&Shape::Tuple(1, true), &additions).as_deref(),
        Ok(r#"p:{"Tuple":[1,true],"_meta":{"token":7}}"#)
    );
    let member = [("Tuple", "0")];
    let owned = Additions { members: &member, ..Additions::NONE };
    assert!(write(&Shape::Tuple(1, true), &owned).is_err(), "the machine owns this member");
}

/// What `serde_json::Number` and `serde_json::from_str` do where somebody has switched on
/// `arbitrary_precision`, which features make of everybody's serde_json.
#[test]
fn numbers_of_arbitrary_precision_are_numbers() {
    use serde::de::Deserialize;
    use serde::de::value::{Error, MapDeserializer};
    use serde::ser::SerializeStruct;

    struct Disguised(&'static str);

    impl Serialize for Disguised {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut number = serializer.serialize_struct(number::NUMBER, 1)?;
            number.serialize_field(number::NUMBER, self.0)?;
            number.end()
        }
    }

    let written = Raw::from_serialize(&[Disguised("1.5"), Disguised("-7")]).expect("JSON");
    assert_eq!(written.as_json(), "[1.5,-7]");
    assert_eq!(
        object(&Disguised("1"), Empty::Omitted, &Additions::NONE),
        Err(EncodeError::NotAnObject)
    );
    let read = |literal: &'static str| {
        let entries = [(number::NUMBER, literal)].into_iter();
        Number::deserialize(MapDeserializer::<_, Error>::new(entries)).ok()
    };
    assert_eq!(read("1.5"), Number::try_from(1.5).ok());
    assert_eq!(read("7").map(|number| number.to_string()).as_deref(), Some("7"));
    assert_eq!(read("x"), None);
}

#[test]
fn the_writer_stops_at_its_limit() {
    let mut buffer = vec![b'x'; 10];
    let mut writer = Writer::new(&mut buffer, 15);
    assert_eq!(writer.push(b"12345"), Ok(()));
    assert_eq!(writer.push(b"6"), Err(EncodeError::Full));
    assert_eq!(writer.push(b""), Ok(()));
}
