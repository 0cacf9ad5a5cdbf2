use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use serde::Serialize;

use super::*;
use crate::json::{Number, Raw};

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
fn the_writer_output_equals_serde_json_output() {
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
fn the_writer_refuses_values_that_json_cannot_represent() {
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

/// `serde_json` and this crate must understand each other's raw values.
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
    // A string directly behind another token keeps its white space, too.
    let dense = Raw::new("{\"a b\":\"c d\",\n\"e f\":[\"g h\"]}").expect("valid");
    let written = Raw::from_serialize(&dense).expect("writable");
    assert_eq!(written.as_json(), r#"{"a b":"c d","e f":["g h"]}"#);
    let one_line = Raw::new("{ \"a\" : 1 }").expect("valid");
    assert_eq!(Raw::from_serialize(&one_line).expect("writable").as_json(), "{ \"a\" : 1 }");
}

fn object<T: Serialize>(
    value: &T,
    empty: Empty,
    additions: &Additions<'_>,
) -> Result<String, EncodeError> {
    let mut buffer = Vec::new();
    PayloadWriter::new(&mut Writer::new(&mut buffer, 1000), "p:", empty, additions, None)
        .serialize(value)?;
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

/// Variants are objects too, with the name of the variant as their key.
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

/// The behavior of `serde_json::Number` and `serde_json::from_str` with the feature `arbitrary_precision`. Feature
/// unification enables it for all dependents of serde_json.
#[test]
fn numbers_of_arbitrary_precision_are_numbers() {
    use serde::de::Deserialize;
    use serde::de::value::{Error, MapDeserializer};
    use serde::ser::SerializeStruct;

    struct Disguised(&'static str);

    impl Serialize for Disguised {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut number = serializer.serialize_struct(crate::json::number::NUMBER, 1)?;
            number.serialize_field(crate::json::number::NUMBER, self.0)?;
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
        let entries = [(crate::json::number::NUMBER, literal)].into_iter();
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
