//! Our JSON beside serde_json: what has to be the same.

use std::collections::BTreeMap;

use mcp_sansio::json::{Envelope, Member, Raw};
use mcp_sansio::model::{Content, List, Tool};
use mcp_sansio::{ClientRequest, Framing, Instant, Outbox, Server, ServerEvent};
use serde::Serialize;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::config;

/// Whether serde_json takes it for JSON.
pub fn serde_accepts(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

/// Whether we do.
pub fn we_accept(text: &[u8]) -> bool {
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

/// Both see an object in it, or neither does.
pub fn check_object(text: &[u8]) {
    let object = std::str::from_utf8(text).is_ok_and(|text| {
        serde_json::from_str::<BTreeMap<String, IgnoredAny>>(text).is_ok()
            || serde_json::from_str::<Slow>(text).is_ok()
    });
    let sound = Envelope::scan(text, 128).defect().is_none();
    // serde_json decodes keys and so refuses lone surrogates in them, which are JSON.
    assert!(sound == object || (sound && serde_accepts(text)), "{}", text.escape_ascii());
}

/// The members of an envelope, an object, are where serde_json finds them.
pub fn check_envelope(text: &str) {
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

/// A value has the same text, and as a raw value it fits one line.
pub fn check_text<T: Serialize + ?Sized>(value: &T) {
    let text = serde_json::to_string(value).expect("JSON");
    assert_eq!(Raw::from_serialize(value).expect("JSON").as_json(), text);
    let raw = Raw::try_from(serde_json::to_string_pretty(value).expect("JSON")).expect("JSON");
    let line = Raw::from_serialize(&raw).expect("JSON");
    assert!(!line.as_json().contains('\n'), "{text}");
    if raw.as_json().contains('\n') {
        assert_eq!(line.as_json(), text, "without its white space it is the same");
    }
}

/// The elements of a list, which are decoded out of text that has been scanned, are those that serde_json decodes: as any
/// value, as text, and as a type with members of its own.
pub fn check_elements(text: &str) {
    fn compare<'t, T: serde::Deserialize<'t> + std::fmt::Debug>(list: &'t str, text: &'t str) {
        let elements = serde_json::from_str::<List<'_, T>>(list).expect("it is an array");
        let shown = |value: Option<&T>| value.map(|value| format!("{value:?}"));
        let expected = serde_json::from_str::<T>(text).ok();
        assert_eq!(shown(elements.iter().next()), shown(expected.as_ref()), "{text}");
    }
    let list = format!("[{text}]");
    compare::<Value>(&list, text);
    compare::<&RawValue>(&list, text);
    compare::<BTreeMap<String, Value>>(&list, text);
    compare::<Vec<Option<f64>>>(&list, text);
    compare::<Tool<'_>>(&list, text);
    compare::<Content<'_>>(&list, text);
}

/// A value is read as serde_json reads it.
pub fn check_value(text: &str) {
    let raw = Raw::new(text).expect("JSON");
    // Printed and read again, because serde_json reads some numbers a little off.
    let Ok(value) = serde_json::from_str::<Value>(text) else { return };
    match &value {
        Value::Object(map) => {
            // Of members with the same name the last one counts for both.
            let members: BTreeMap<String, Value> = raw
                .members()
                .map(|(key, value)| (key.to_string(), value.parse().expect("JSON")))
                .collect();
            assert_eq!(members, map.clone().into_iter().collect());
        }
        Value::Array(array) => {
            let elements: Vec<Value> =
                raw.elements().map(|element| element.parse().expect("JSON")).collect();
            assert_eq!(&elements, array);
        }
        Value::String(string) => {
            let text = raw.as_string().expect("one");
            assert_eq!(text.to_str(), &**string);
        }
        Value::Number(_) => {
            let exact: f64 = text.trim().parse().expect("a number");
            assert_eq!(raw.as_number().expect("one").as_f64(), exact);
        }
        Value::Bool(boolean) => assert_eq!(raw.as_bool(), Some(*boolean)),
        Value::Null => assert_eq!(raw.as_json(), "null"),
    }
}

/// The members of the arguments of a call, an object, are found where serde_json finds them, and no others.
pub fn check_arguments(object: &str) {
    if object.contains(['\n', '\r']) {
        return;
    }
    // Of several arguments the last count, and a key with escapes has the same name.
    check_arguments_of(object, &format!(r#""arguments":{object}"#));
    check_arguments_of(object, &format!(r#""arguments":{{"q":0,"r":[1]}},"arguments":{object}"#));
    check_arguments_of(
        object,
        &format!(r#""arguments":{{"q":0,"r":[1]}},"\u0061rguments":{object}"#),
    );
}

fn check_arguments_of(object: &str, member: &str) {
    let frame = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t",{member},"_meta":{META}}}}}"#
    );
    let config = config::server_of_both_eras();
    let mut out = Outbox::new(Framing::Lines, &config.connection.limits);
    let mut server = Server::new(config.into());
    let event = server.receive(frame.as_bytes(), Instant::from_millis(1), &mut out);
    let Some(ServerEvent::Request(request)) = &event else { panic!("{event:?} of {frame}") };
    let ClientRequest::CallTool(call) = &request.kind else { panic!("{event:?} of {frame}") };
    let arguments = call.arguments.as_ref().expect("these");
    let members = Slow::of(object);
    for (key, value) in &members.0 {
        // The second is what a key would have to be that goes on into the value.
        let beyond: String = value.get().chars().take(4).collect();
        for name in [key.clone(), format!("{key}\":{beyond}")] {
            let found = arguments.get(&name);
            let found = found.as_ref().map(Raw::as_json);
            assert_eq!(found, members.all(&name).next_back(), "{name} of {frame}");
        }
    }
}

/// What a request must say of its sender.
const META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
