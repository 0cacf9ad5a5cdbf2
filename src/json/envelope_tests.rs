//! Members are recognized and recorded exactly, on every path of the scan.

use alloc::format;
use alloc::vec::Vec;

use super::*;

const MEMBERS: [Member; 9] = [
    Member::Jsonrpc,
    Member::Id,
    Member::Method,
    Member::Params,
    Member::Result,
    Member::Error,
    Member::ParamsMeta,
    Member::ResultMeta,
    Member::ResultType,
];

/// Only the name of the version is too long for the first eight bytes.
#[test]
fn a_member_is_recognized_by_its_first_bytes() {
    for (name, member) in Member::ENVELOPE {
        let text = format!("\"{name}\":null");
        let word = Scanner::new(text.as_bytes(), 1).word(0);
        let expected = (member != Member::Jsonrpc).then_some((member, name.len() + 2));
        assert_eq!(word.and_then(Member::named_by), expected, "{name}");
    }
    assert_eq!(Scanner::new(b"\"error\"", 1).word(0), None);
}

/// The key is looked up without its first bytes if it is close to the end of the frame.
#[test]
fn a_member_is_recognized_by_its_whole_name() {
    for (name, member) in Member::ENVELOPE {
        assert_eq!(Member::of_envelope(name.as_bytes(), false), Some(member));
        let escaped = format!("\\u{:04x}{}", name.as_bytes()[0], &name[1..]);
        assert_eq!(Member::of_envelope(escaped.as_bytes(), true), Some(member));
        assert_eq!(Member::of_envelope(escaped.as_bytes(), false), None);
    }
}

#[test]
fn a_name_that_differs_in_one_byte_is_no_member() {
    for (name, _) in Member::ENVELOPE {
        for at in 0..name.len() {
            let mut other = name.as_bytes().to_vec();
            other[at] ^= 1;
            let other = core::str::from_utf8(&other).unwrap();
            for frame in
                [format!(r#"{{"{other}":1}}"#), format!(r#"{{"x":{{}},"{other}":12345678}}"#)]
            {
                let envelope = Envelope::scan(frame.as_bytes(), 128);
                assert_eq!(envelope.defect(), None, "{frame}");
                let found: Vec<_> =
                    MEMBERS.iter().filter(|member| envelope.has(**member)).collect();
                assert_eq!(found, [&Member::Id; 0], "{frame}");
            }
        }
    }
}

#[test]
fn the_usual_beginning_is_the_version_in_front() {
    for (frame, is_usual) in [
        (r#"{"jsonrpc":"2.0","id":1}"#, true),
        (r#"{"jsonrpc":"2.0", "id":1}"#, true),
        (r#"{"id":1,"jsonrpc":"2.0"}"#, false),
        (r#"{"jsonrpc" :"2.0","id":1}"#, false),
        (r#"{"jsonrpc":"2.1","id":1}"#, false),
    ] {
        let envelope = Envelope::scan(frame.as_bytes(), 128);
        assert_eq!(envelope.begins_as_usual(), is_usual, "{frame}");
        assert!(envelope.has(Member::Jsonrpc));
        assert_eq!((envelope.get(Member::Id), envelope.defect()), (Some("1"), None), "{frame}");
    }
}

/// Where no object is allowed, the usual beginning is skipped like any other text.
#[test]
fn a_frame_without_allowed_levels_has_no_members() {
    let envelope = Envelope::scan(br#"{"jsonrpc":"2.0","id":1}"#, 0);
    let defect = envelope.defect().expect("it is too deep");
    assert_eq!((defect.kind(), defect.offset()), (JsonErrorKind::TooDeep, 0));
    assert!(!envelope.begins_as_usual());
    assert_eq!((envelope.has(Member::Jsonrpc), envelope.get(Member::Id)), (false, None));
}

/// The recorded positions are those of the value that `get` returns.
#[test]
fn recorded_members_belong_to_the_value_that_is_read() {
    for (frame, member, value) in [
        (r#"{"params":{"a":1},"params":{"a":2}}"#, Member::Params, Some("1")),
        (r#"{"result":{"a":1},"result":{"a":2}}"#, Member::Result, Some("1")),
        (r#"{"params":{"a":1},"result":{"a":2}}"#, Member::Params, Some("1")),
        (r#"{"params":{"a":1},"result":{"a":2}}"#, Member::Result, Some("2")),
        (r#"{"result":{"a":1},"params":{"a":2}}"#, Member::Params, Some("2")),
        (r#"{"params":{"a":1},"result":[2]}"#, Member::Result, None),
        (r#"{"params":{"_meta":{"a":1},"_meta":{"a":2}}}"#, Member::ParamsMeta, Some("2")),
        (r#"{"params":{"_meta":{"a":1},"_meta":[2]}}"#, Member::ParamsMeta, None),
    ] {
        let envelope = Envelope::scan(frame.as_bytes(), 128);
        let object = envelope.object(member).expect("it is there");
        assert_eq!(Some(object.text()), envelope.get(member), "{frame}");
        assert_eq!(object.get("a"), value, "{frame}");
        let members = object.members().map(|(_, value)| value);
        assert!(members.eq(value), "{frame}");
    }
}

/// The starts of the members of other objects in the params are not recorded.
#[test]
fn recorded_arguments_are_those_of_the_arguments() {
    let frame = br#"{"params":{"arguments":{"a":1,"b":2},"other":{"c":3}}}"#;
    let envelope = Envelope::scan(frame, 128);
    let params = envelope.object(Member::Params).expect("it is there");
    let arguments = params.raw("arguments").expect("it is there");
    assert!(arguments.is_noted());
    for (name, value) in [("a", Some("1")), ("b", Some("2")), ("c", None)] {
        assert_eq!(arguments.get(name).as_ref().map(|found| found.as_json()), value, "{name}");
    }
    let frame = br#"{"params":{"other":{"c":3}}}"#;
    let envelope = Envelope::scan(frame, 128);
    let params = envelope.object(Member::Params).expect("it is there");
    assert!(!params.arguments("{}").is_noted());
}

#[test]
fn the_params_of_a_call_are_taken_at_once_if_there_are_no_others() {
    for (params, expected) in [
        ("{}", Some([None, None, None])),
        (
            r#"{"arguments":[1], "name":"x","_meta":{}}"#,
            Some([Some("\"x\""), Some("[1]"), Some("{}")]),
        ),
        (r#"{"arguments":null}"#, Some([None, Some("null"), None])),
        (r#"{ "name" : "x" , "arguments" :{} }"#, Some([Some("\"x\""), Some("{}"), None])),
        (r#"{"names":1}"#, None),
        (r#"{"nam":1}"#, None),
        (r#"{"argument":1}"#, None),
        (r#"{"argumentz":1}"#, None),
        (r#"{"_met":1}"#, None),
        (r#"{"name":1,"name":1}"#, None),
        (r#"{"name":1,"c":2}"#, None),
        (r#"{"n\u0061me":1}"#, None),
        (r#"{"_met\u0061":{}}"#, None),
    ] {
        let frame = format!(r#"{{"params":{params}}}"#);
        let envelope = Envelope::scan(frame.as_bytes(), 128);
        let object = envelope.object(Member::Params).expect("it is there");
        assert_eq!(object.call_params(), expected, "{params}");
        // Its members were not recorded.
        assert_eq!(Object::of(params).call_params(), None, "{params}");
    }
}

#[test]
fn objects_are_equal_if_their_texts_are() {
    let envelope = Envelope::scan(br#"{"params":{"a":"secret"}}"#, 128);
    let object = envelope.object(Member::Params).expect("it is there");
    assert!(object == Object::of(r#"{"a":"secret"}"#));
    assert!(object != Object::of(r#"{"a": "secret"}"#) && object != Object::default());
    assert_eq!(format!("{object:?}"), "Object(14 bytes)");
}
