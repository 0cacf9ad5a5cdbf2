//! `decode` returns the same values as serde_json.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Debug;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::*;

/// Compares with serde_json. A misfit must be an error here too, for the same reason.
fn compare<'de, T: Deserialize<'de> + Debug>(text: &'de str) {
    let without_place = |error: Error| {
        let (text, line, column) = (error.to_string(), error.line(), error.column());
        let place = alloc::format!(" at line {line} column {column}");
        String::from(text.strip_suffix(&place).unwrap_or(&text))
    };
    let decoded = decode::<T>(text).map_err(without_place);
    let expected = serde_json::from_str::<T>(text).map_err(without_place);
    assert_eq!(alloc::format!("{decoded:?}"), alloc::format!("{expected:?}"), "{text}");
}

/// Compares with serde_json, but ignores the texts of errors.
fn compare_values<'de, T: Deserialize<'de> + Debug>(text: &'de str) {
    let shown = |value: Result<T, Error>| value.ok().map(|value| alloc::format!("{value:?}"));
    assert_eq!(shown(decode(text)), shown(serde_json::from_str(text)), "{text}");
}

#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "it is shown")]
struct Plain<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    raw: Option<&'a RawValue>,
    count: Option<u8>,
}

#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "it is shown")]
#[serde(rename_all = "lowercase")]
enum Kind {
    Unit,
    New(u8),
    Struct { a: u8 },
}

#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "it is shown")]
struct New(Vec<Option<i16>>);

#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "it is shown")]
#[serde(untagged)]
enum Either {
    Number(f64),
    Text(String),
    List(Vec<Self>),
    Map(BTreeMap<String, Self>),
}

#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "it is shown")]
struct Flat {
    a: u8,
    #[serde(flatten)]
    rest: BTreeMap<String, serde_json::Value>,
}

#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "it is shown")]
struct Pair(u8, u8);

/// Keys of other types than strings.
#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
enum Name {
    A,
    New,
}

#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Renamed(String);

/// The first member of an object, by a visitor that leaves the others.
#[derive(Debug)]
#[allow(dead_code, reason = "it is shown")]
struct First(Option<(String, u8)>);

impl<'de> Deserialize<'de> for First {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;

        impl<'de> Visitor<'de> for Visit {
            type Value = First;

            fn expecting(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<First, A::Error> {
                map.next_entry().map(First)
            }
        }
        deserializer.deserialize_map(Visit)
    }
}

/// Texts of values of every kind.
const TEXTS: &[&str] = &[
    "null",
    "true",
    "0",
    "-7",
    "-0",
    "0.5",
    "300",
    "1.0",
    "1e400",
    "18446744073709551616",
    r#""""#,
    r#""unit""#,
    r#""a\u0041\n""#,
    r#""\ud800""#,
    r#""ä""#,
    "[]",
    "[1,2,3]",
    "[ 1 , null , -5 ]",
    r#"[["a","b"],[]]"#,
    "{}",
    r#"{"name":"n","raw":{"x":[1, 2]},"count":3}"#,
    r#"{ "count" : 300 , "name" : "n" }"#,
    r#"{"name":"n","name":"m"}"#,
    r#"{"na\u006de":"n","other":[{}]}"#,
    r#"{"name":"a\tb","raw":null}"#,
    r#"{"raw":1}"#,
    r#"{"n\u0065w":1,"\u0061":2}"#,
    r#"{"new":3}"#,
    r#"{"struct":{"a":1}}"#,
    r#"{"a":1,"b":2}"#,
    r#"{"a":1,"new":2}"#,
    r#"{"1":"x","2":"y"}"#,
    r#"{"true":"x"}"#,
    r#"{"\ud800":1}"#,
    r#"["n",1,2]"#,
];

/// Decodes each text as each type.
#[test]
fn decoding_agrees_with_serde_json() {
    for text in TEXTS {
        compare::<bool>(text);
        compare::<u8>(text);
        compare::<i64>(text);
        compare::<u64>(text);
        compare::<f64>(text);
        compare::<char>(text);
        compare::<()>(text);
        compare::<String>(text);
        compare::<Option<String>>(text);
        compare::<Cow<'_, str>>(text);
        compare::<&RawValue>(text);
        compare::<Box<RawValue>>(text);
        compare::<serde_json::Value>(text);
        compare::<Vec<u8>>(text);
        compare::<(u8, u8)>(text);
        compare::<New>(text);
        compare::<Pair>(text);
        compare_values::<First>(text);
        // The name of a variant is compared with the key as it is written.
        if !text.contains('\\') {
            compare::<BTreeMap<Name, u8>>(text);
        }
        compare::<BTreeMap<Renamed, u8>>(text);
        compare::<BTreeMap<Option<String>, u8>>(text);
        compare::<BTreeMap<&str, u8>>(text);
        compare::<Plain<'_>>(text);
        compare::<Kind>(text);
        compare::<Vec<Kind>>(text);
        compare::<Either>(text);
        compare::<Flat>(text);
        compare::<BTreeMap<String, serde_json::Value>>(text);
        compare_values::<BTreeMap<u8, String>>(text);
        compare_values::<BTreeMap<bool, String>>(text);
        compare::<BTreeMap<char, u8>>(text);
        compare::<serde::de::IgnoredAny>(text);
    }
}

/// No text takes more stack than in serde_json.
#[test]
fn it_goes_as_deep_as_serde_json() {
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is shown")]
    struct Nested(Vec<Self>);
    for depth in [1, 126, 127, 128, 129, 10_000] {
        let text = "[".repeat(depth) + &"]".repeat(depth);
        compare::<Nested>(&text);
        compare::<&RawValue>(&text);
    }
}
