//! Our JSON against serde_json: the same acceptance, the same values, the same text.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use mcp_sansio::json::{Envelope, JsonErrorKind, Member, Raw};
use proptest::prelude::*;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// Any JSON value, with strings that need escapes and numbers at the edges.
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

/// JSON text that something may have happened to.
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

fn serde_accepts(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

fn we_accept(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| Raw::new(text).is_ok())
}

/// The members of an object, by a parser that is slow and obviously right.
struct Slow(Vec<(String, Box<RawValue>)>);

impl<'de> serde::Deserialize<'de> for Slow {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Slow;
            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Slow, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Slow(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

impl Slow {
    fn of(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or(Self(Vec::new()))
    }

    fn all<'s>(&'s self, name: &'s str) -> impl DoubleEndedIterator<Item = &'s str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.get())
    }
}

/// Text of an object with members of an envelope, in any order, repeated and oddly written.
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

fn check_envelope(text: &str) {
    let fast = Envelope::scan(text.as_bytes(), 128);
    assert_eq!(fast.defect(), None, "{text}");
    let slow = Slow::of(text);
    for (member, name) in [
        (Member::Jsonrpc, "jsonrpc"),
        (Member::Id, "id"),
        (Member::Method, "method"),
        (Member::Params, "params"),
        (Member::Result, "result"),
        (Member::Error, "error"),
    ] {
        assert_eq!(fast.get(member), slow.all(name).next(), "{name} of {text}");
        assert_eq!(fast.has(member), slow.all(name).count() != 0);
        assert_eq!(fast.is_duplicated(member), 1 < slow.all(name).count());
    }
    for (outer, inner, member) in [
        ("params", "_meta", Member::ParamsMeta),
        ("result", "_meta", Member::ResultMeta),
        ("result", "resultType", Member::ResultType),
    ] {
        if slow.all(outer).count() == 1 {
            let object = Slow::of(slow.all(outer).next().expect("one"));
            let last = object.all(inner).next_back();
            assert_eq!(fast.get(member), last, "{outer}.{inner} of {text}");
        }
    }
}

/// How many cases to try: `PROPTEST_CASES`, or enough for a quick answer.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(1_000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn we_accept_what_serde_json_accepts(text in damaged()) {
        prop_assert_eq!(we_accept(&text), serde_accepts(&text), "{}", String::from_utf8_lossy(&text));
    }

    #[test]
    fn a_frame_is_sound_if_serde_json_reads_an_object(text in damaged()) {
        let object = std::str::from_utf8(&text).is_ok_and(|text| {
            serde_json::from_str::<BTreeMap<String, IgnoredAny>>(text).is_ok()
                || serde_json::from_str::<Slow>(text).is_ok()
        });
        let sound = Envelope::scan(&text, 128).defect().is_none();
        // serde_json decodes keys and so refuses lone surrogates in them, which are JSON.
        prop_assert!(sound == object || (sound && serde_accepts(&text)));
    }

    #[test]
    fn we_write_what_serde_json_writes(value in value()) {
        let text = serde_json::to_string(&value).expect("JSON");
        let written = Raw::from_serialize(&value).expect("JSON");
        prop_assert_eq!(written.as_str(), &text);
        let raw = Raw::try_from(serde_json::to_string_pretty(&value).expect("JSON")).expect("JSON");
        let line = Raw::from_serialize(&raw).expect("JSON");
        prop_assert!(!line.as_str().contains('\n'));
        if raw.as_str().contains('\n') {
            prop_assert_eq!(line.as_str(), &text, "without its white space it is the same");
        }
    }

    #[test]
    fn we_read_what_serde_json_reads(value in value()) {
        let text = value.to_string();
        let raw = Raw::new(&text).expect("JSON");
        // Printed and read again, because serde_json reads some numbers a little off.
        let value: Value = serde_json::from_str(&text).expect("JSON");
        match &value {
            Value::Object(map) => {
                let members: Vec<_> = raw
                    .members()
                    .map(|(key, value)| (key.to_string(), value.parse::<Value>().expect("JSON")))
                    .collect();
                let expected: Vec<_> =
                    map.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
                prop_assert_eq!(members, expected);
            }
            Value::Array(array) => {
                let elements: Vec<Value> =
                    raw.elements().map(|element| element.parse().expect("JSON")).collect();
                prop_assert_eq!(&elements, array);
            }
            Value::String(string) => {
                let text = raw.string().expect("one");
                prop_assert_eq!(text.to_str(), &**string);
            }
            Value::Number(_) => {
                let exact: f64 = text.parse().expect("a number");
                prop_assert_eq!(raw.number().expect("one").as_f64(), exact);
            }
            Value::Bool(boolean) => prop_assert_eq!(raw.boolean(), Some(*boolean)),
            Value::Null => prop_assert_eq!(raw.as_str(), "null"),
        }
    }

    #[test]
    fn the_fast_scanner_agrees_with_a_slow_parser(text in envelope()) {
        check_envelope(&text);
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
