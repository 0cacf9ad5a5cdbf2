//! Compares the JSON of this crate with serde_json, where both must agree.

use std::collections::BTreeMap;

use mcp_sansio::error::ViolationKind;
use mcp_sansio::json::{Envelope, JsonErrorKind, Member, Raw};
use mcp_sansio::model::{Content, List, Tool};
use mcp_sansio::{
    ClientRequest, Frames, Framing, Instant, Limits, Outbox, Revision, Server, ServerEvent,
};
use serde::Serialize;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{ServerSide, config};

/// Whether serde_json accepts the text as JSON.
pub fn serde_accepts(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

/// Whether this crate accepts the text as JSON.
pub fn we_accept(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| Raw::new(text).is_ok())
}

/// The members of an object, from a slow and simple parser.
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

/// Checks that both parsers accept the text as an object, or neither does.
pub fn check_object(text: &[u8]) {
    let object = std::str::from_utf8(text).is_ok_and(|text| {
        serde_json::from_str::<BTreeMap<String, IgnoredAny>>(text).is_ok()
            || serde_json::from_str::<Slow>(text).is_ok()
    });
    let sound = Envelope::scan(text, 128).defect().is_none();
    // serde_json decodes keys and so rejects lone surrogates in them, which are valid JSON.
    assert!(sound == object || (sound && serde_accepts(text)), "{}", text.escape_ascii());
}

/// Checks that both parsers find the same members in an envelope, which must be an object.
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

/// Checks that both serializers write the same text, and that a raw value is written as one line.
pub fn check_text<T: Serialize + ?Sized>(value: &T) {
    let text = serde_json::to_string(value).expect("JSON");
    assert_eq!(Raw::from_serialize(value).expect("JSON").as_json(), text);
    let raw = Raw::try_from(serde_json::to_string_pretty(value).expect("JSON")).expect("JSON");
    let line = Raw::from_serialize(&raw).expect("JSON");
    assert!(!line.as_json().contains('\n'), "{text}");
    if raw.as_json().contains('\n') {
        assert_eq!(line.as_json(), text, "without its white space it is the same");
    }
    // Here, no white space precedes a string.
    let raw = Raw::try_from(format!("[{text}\n]")).expect("JSON");
    let line = Raw::from_serialize(&raw).expect("JSON");
    assert_eq!(line.as_json(), format!("[{text}]"), "{text}");
}

/// Returns the number of levels of a valid text.
fn levels(text: &str) -> usize {
    let (mut open, mut most, mut is_string, mut bytes) = (0_usize, 0, false, text.bytes());
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if is_string => _ = bytes.next(),
            b'"' => is_string = !is_string,
            b'[' | b'{' if !is_string => open += 1,
            b']' | b'}' if !is_string => open -= 1,
            _ => {}
        }
        most = most.max(open);
    }
    most
}

/// Checks that exactly the messages that nest deeper than the limit are refused, and that their ids are found, which
/// are the last member.
pub fn check_depth(value: &str, depth: u8) {
    for params in [value.to_owned(), format!(r#"{{"name":"t","arguments":{value}}}"#)] {
        let text = format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{params},"id":7}}"#);
        let envelope = Envelope::scan(text.as_bytes(), depth);
        let kind = envelope.defect().map(|defect| defect.kind());
        let is_too_deep = usize::from(depth) < levels(&text);
        assert_eq!(kind, is_too_deep.then_some(JsonErrorKind::TooDeep), "{depth} of {text}");
        assert_eq!(envelope.get(Member::Id), Some("7"), "{depth} of {text}");
    }
}

/// Checks that a batch comes apart into its elements, unless it has none or too many.
pub fn check_batch(elements: &[String], most: u32) {
    let text = format!("[{}]", elements.join(" , "));
    let mut limits = Limits::default();
    limits.batch_elements = most;
    let frames: Vec<_> = Frames::of(text.as_bytes(), &limits).collect();
    if (1..=most as usize).contains(&elements.len()) {
        let parts: Vec<&[u8]> = frames.iter().map(|frame| frame.bytes()).collect();
        let expected: Vec<&[u8]> = elements.iter().map(String::as_bytes).collect();
        assert_eq!(parts, expected, "{most} of {text}");
    } else {
        assert_eq!(frames.len(), 1, "{most} of {text}");
        let mut side = ServerSide::ready(Revision::V2025_03_26);
        let event = side.server.receive(frames[0], side.now, &mut side.out);
        let Some(ServerEvent::Violation(violation)) = event else { panic!("{event:?}: {text}") };
        let kinds = [ViolationKind::EmptyBatch, ViolationKind::LongBatch];
        assert!(kinds.contains(&violation.kind), "{violation:?}: {text}");
    }
}

/// Checks that the elements of a list, decoded from scanned text, equal those of serde_json: as any value, as text,
/// and as typed members.
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

/// Checks that a value is decoded as by serde_json.
pub fn check_value(text: &str) {
    let raw = Raw::new(text).expect("JSON");
    // serde_json cannot decode every valid JSON text as a `Value`. It also parses some numbers inexactly, so numbers
    // are compared with the parser of `f64` below.
    let Ok(value) = serde_json::from_str::<Value>(text) else { return };
    match &value {
        Value::Object(map) => {
            // For both parsers, the last of several members with the same name counts.
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

/// Checks that lookups in the arguments of a call, an object, find exactly the members that serde_json finds.
///
/// `others` members that MCP does not know precede them.
pub fn check_arguments(object: &str, others: usize) {
    if object.contains(['\n', '\r']) {
        return;
    }
    // The last of several `arguments` counts, and an escaped key has the same name.
    let others: String = (0..others).map(|number| format!(r#""o{number}":0,"#)).collect();
    check_arguments_of(object, &format!(r#"{others}"arguments":{object}"#));
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
        // The second name simulates a lookup that runs past the key into the value.
        let beyond: String = value.get().chars().take(4).collect();
        for name in [key.clone(), format!("{key}\":{beyond}")] {
            let found = arguments.get(&name);
            let found = found.as_ref().map(Raw::as_json);
            assert_eq!(found, members.all(&name).next_back(), "{name} of {frame}");
        }
    }
}

/// The required `_meta` of a modern request.
const META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
