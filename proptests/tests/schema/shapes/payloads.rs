//! Payloads of every form: serialised values, pages, values that fail, and outboxes without room.

use std::fmt;

use mcp_sansio::json::Raw;
use mcp_sansio::model::method::{ListTools, Method};
use mcp_sansio::model::{CallToolResult, Tool};
use mcp_sansio::pagination::Pager;
use mcp_sansio::schema::{EncodeError, Json, Payload, Prepared};
use mcp_sansio::{Framing, Outbox, RespondError, Revision};
use mcp_sansio_proptests::{ServerSide, config};
use serde::ser::{SerializeStruct, SerializeTupleStruct};
use serde::{Serialize, Serializer};
use serde_json::json;

use super::raw;

/// Two fields without names.
struct Pair;

impl Serialize for Pair {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut pair = serializer.serialize_tuple_struct("Pair", 2)?;
        pair.serialize_field(&1)?;
        pair.serialize_field("two")?;
        pair.end()
    }
}

/// A value whose text is written by `Display`, which fails behind this text.
struct Shown(&'static str, bool);

impl fmt::Display for Shown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)?;
        if self.1 { Ok(()) } else { Err(fmt::Error) }
    }
}

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// JSON text in the form that serde_json uses for it, with this number of fields.
struct Text(usize);

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const NAME: &str = "$serde_json::private::RawValue";
        let mut text = serializer.serialize_struct(NAME, self.0)?;
        for _ in 0..self.0 {
            text.serialize_field(NAME, r#"{"content":[]}"#)?;
        }
        text.end()
    }
}

#[test]
fn values_are_serialised() {
    let written = |value: &dyn Fn(&mut Vec<u8>) -> Result<String, EncodeError>| {
        let mut buffer = b"old".to_vec();
        value(&mut buffer)
    };
    let into = |buffer: &mut Vec<u8>| -> Result<String, EncodeError> {
        Raw::serialize_into(&(Pair, Shown("a\"b", true)), buffer).map(|raw| raw.to_string())
    };
    assert_eq!(written(&into).as_deref(), Ok(r#"[[1,"two"],"a\"b"]"#));
    let fails = |buffer: &mut Vec<u8>| -> Result<String, EncodeError> {
        Raw::serialize_into(&Shown("a", false), buffer).map(|raw| raw.to_string())
    };
    assert_eq!(written(&fails), Err(EncodeError::Payload));
    let json = Json(json!({"a": [1, -2, 0.5, null]}));
    assert_eq!(Raw::from_serialize(&json).unwrap().as_json(), r#"{"a":[1,-2,0.5,null]}"#);
    let read: Json<Vec<i8>> = raw("[1,-2]").parse().unwrap();
    assert_eq!(read.0, [1, -2]);
    let pager = Pager::new(1);
    let page = pager.page(&["a", "b"], None).unwrap();
    let cursor = page.next_cursor.clone().unwrap();
    let text = Raw::from_serialize(&page.result::<ListTools>()).unwrap();
    assert_eq!(text.as_json(), format!(r#"{{"tools":["a"],"nextCursor":"{cursor}"}}"#));
}

/// A server that has received a request, in a session or in the modern era.
fn asked(method: &str, params: &str, revision: Revision) -> (ServerSide, mcp_sansio::IncomingId) {
    let is_legacy = Revision::LEGACY.contains(&revision);
    let mut side = match is_legacy {
        true => ServerSide::ready(revision),
        false => ServerSide::with(config::server_of_both_eras()),
    };
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let meta = if is_legacy { r#""_meta":{}"# } else { meta };
    let frame =
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{{params}{meta}}}}}"#);
    let id = side.request(&frame);
    (side, id)
}

/// Responds in an outbox of every size. Returns the response, after asserting that smaller outboxes stay empty.
#[track_caller]
fn sent_with_room<M: Method>(params: &str, revision: Revision, result: &dyn Payload) -> String {
    let (begun, id) = asked(M::NAME, params, revision);
    for room in 1_usize.. {
        let mut side = begun.clone();
        let mut limits = side.server.config().connection.limits.clone();
        (limits.outbox_bytes, limits.reserve_bytes) = (room, 0);
        side.out = Outbox::new(Framing::Messages, &limits);
        match side.server.respond(id, result, &mut side.out) {
            Ok(()) => {
                let sent = side.sent().remove(0);
                assert_eq!(sent.len(), room, "the first room that suffices is the length");
                return sent;
            }
            Err(error) => assert_eq!(error, RespondError::Encode(EncodeError::Full), "{room}"),
        }
        assert_eq!(side.sent(), [""; 0], "{room}");
        assert!(side.server.in_flight().context(id).is_some(), "the request stays open");
    }
    unreachable!("there is an end")
}

/// A response needs exactly its length, whatever form its payload has, and nothing of it is sent without the room.
#[test]
fn a_response_without_room_leaves_nothing_behind() {
    let tool = Tool::new("t", raw(r#"{"type":"object"}"#)).title("\u{7}T");
    let tools = [tool.clone(), tool];
    let pager = Pager::new(1);
    let page = pager.page(&tools, None).unwrap();
    let page = page.result::<ListTools>();
    let text = Raw::from_serialize(&page).unwrap();
    let own = Json(serde_json::from_str::<serde_json::Value>(text.as_json()).unwrap());
    for revision in [Revision::V2024_11_05, Revision::V2025_11_25, Revision::V2026_07_28] {
        let prepared = Prepared::result::<ListTools>(revision, &text).unwrap();
        let payloads: [&dyn Payload; 4] = [&page, &text, &prepared, &Box::new(page.clone())];
        let sent = payloads.map(|payload| sent_with_room::<ListTools>("", revision, payload));
        assert!(sent.iter().all(|other| *other == sent[0]), "{sent:?}");
        // The order of the members of a map is its own.
        assert_eq!(sent_with_room::<ListTools>("", revision, &own).len(), sent[0].len());
        let call = r#""name":"t","#;
        let result = CallToolResult::text("\u{7}done");
        sent_with_room::<mcp_sansio::model::method::CallTool>(call, revision, &result);
    }
}

/// JSON text is written once: a serialiser that gives it twice is at fault.
#[test]
fn json_text_is_written_once() {
    let (mut side, id) = asked("tools/call", r#""name":"t","#, Revision::V2025_11_25);
    let refused = side.server.respond(id, &Json(Text(2)), &mut side.out);
    assert_eq!(refused, Err(RespondError::Encode(EncodeError::Payload)));
    assert_eq!(side.sent(), [""; 0]);
    side.server.respond(id, &Json(Text(1)), &mut side.out).unwrap();
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#]);
}

/// Peers may write an integer with a fraction, and the literal is passed on. A number that is none is refused.
#[test]
fn an_integer_with_a_fraction_is_passed_on() {
    let resource =
        |size: &str| format!(r#"{{"resources":[{{"uri":"a:b","name":"n","size":{size}}}]}}"#);
    for (size, is_integer) in [("1024.0", true), ("1.024e3", true), ("1024.5", false)] {
        let (mut side, id) = asked("resources/list", "", Revision::V2025_11_25);
        let list = resource(size);
        let sent = side.server.respond(id, &Raw::new(&list).unwrap(), &mut side.out);
        assert_eq!(sent.is_ok(), is_integer, "{size}: {sent:?}");
        let expected = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{list}}}"#);
        assert_eq!(side.sent(), if is_integer { vec![expected] } else { vec![] });
    }
}

/// A text whose beginning finds no room, and whose end would.
struct Careless(usize);

impl fmt::Display for Careless {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        _ = formatter.write_str(&"x".repeat(self.0));
        formatter.write_str("end")
    }
}

impl Serialize for Careless {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A `Display` that goes on after a write without room leaves no text with a hole.
#[test]
fn a_careless_display_leaves_no_hole() {
    let (mut side, id) = asked("x/own", "", Revision::V2025_11_25);
    side.out.set_limit(1_000);
    let shown = |length| Json(std::collections::BTreeMap::from([("a", Careless(length))]));
    let refused = side.server.respond(id, &shown(2_000), &mut side.out);
    assert_eq!(refused, Err(RespondError::Encode(EncodeError::Full)));
    side.server.respond(id, &shown(1), &mut side.out).unwrap();
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":7,"result":{"a":"xend"}}"#]);
}

/// A `Display` that fails behind some text sends none of it.
#[test]
fn a_value_that_cannot_be_shown_is_not_sent() {
    let (mut side, id) = asked("x/own", "", Revision::V2025_11_25);
    let shown = |is_whole| Json(std::collections::BTreeMap::from([("a", Shown("text", is_whole))]));
    let refused = side.server.respond(id, &shown(false), &mut side.out);
    assert_eq!(refused, Err(RespondError::Encode(EncodeError::Payload)));
    assert_eq!(side.sent(), [""; 0]);
    side.server.respond(id, &shown(true), &mut side.out).unwrap();
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":7,"result":{"a":"text"}}"#]);
}
