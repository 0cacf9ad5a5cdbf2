//! Recorded members are those that a walk finds.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::json::{Envelope, Member, Raw};

/// Texts of members, some of which contain text that resembles other members.
const MEMBERS: &[&str] = &[
    r#""a":1"#,
    r#""a":{"b":2}"#,
    r#" "b" : [ 3, {"a":4} ] "#,
    r#""":"" "#,
    r#""c":"\",\"a\":5,""#,
    r#""\u0061":6"#,
    r#""a\"":7"#,
    "\"ab\"\t:\ttrue",
];

/// Looked-up names, among them names that no key without escapes can have.
const NAMES: &[&str] =
    &["a", "b", "c", "", "ab", "a\"", r#"a":{"b"#, r#"b" : [ 3, {"a"#, "\\u0061", "z"];

fn objects() -> Vec<String> {
    let mut objects = Vec::from([String::from("{}"), String::from("{ }")]);
    for first in MEMBERS {
        objects.push(format!("{{{first}}}"));
        for second in MEMBERS {
            objects.push(format!("{{ {first},{second}}}"));
            for third in MEMBERS {
                objects.push(format!("{{{first} , {second},{third}\n}}"));
                objects.push(format!("{{{first},{third},{second},{first}}}"));
                objects.push(format!("{{{first},{third},{second},{third},{first}}}"));
            }
        }
    }
    objects
}

/// Returns the `arguments` in the params of a frame.
fn arguments(frame: &str) -> Raw<'_> {
    let envelope = Envelope::scan(frame.as_bytes(), 128);
    assert_eq!(envelope.defect(), None, "{frame}");
    envelope.object(Member::Params).unwrap().raw("arguments").unwrap()
}

#[test]
fn a_noted_member_is_the_one_that_a_walk_finds() {
    let mut noted = 0;
    for object in objects() {
        let frame = format!(r#"{{"params":{{"x":{{}},"arguments":{object},"y":[]}}}}"#);
        let arguments = arguments(&frame);
        assert_eq!(arguments.as_json(), object);
        noted += usize::from(arguments.is_noted());
        for name in NAMES {
            assert_eq!(arguments.get(name), Raw::trusted(&object).get(name), "{name} of {object}");
        }
    }
    assert!(400 < noted, "{noted}");
}

#[test]
fn the_last_arguments_are_those_that_are_noted() {
    for (first, second) in
        [("{\"a\":1,\"b\":2}", "{\"b\":1}"), ("{\"a\":1}", "[1]"), ("2", "{\"a\":3}")]
    {
        // Both keys have the same name.
        for key in ["arguments", "\\u0061rguments"] {
            let frame = format!(r#"{{"params":{{"arguments":{first},"{key}":{second}}}}}"#);
            let arguments = arguments(&frame);
            for name in ["a", "b"] {
                assert_eq!(arguments.get(name), Raw::trusted(second).get(name), "{frame}");
            }
        }
    }
}

/// Offsets of more than two bytes are not recorded; offsets that just fit are.
#[test]
fn members_far_away_are_found_by_a_walk() {
    for length in 65_520..65_545 {
        let long = "x".repeat(length);
        let object = format!(r#"{{"a":"{long}","b":2}}"#);
        let frame = format!(r#"{{"params":{{"arguments":{object}}}}}"#);
        let arguments = arguments(&frame);
        let is_noted = arguments.is_noted();
        assert_eq!(is_noted, object.len() - 6 < 65_535, "{length}");
        assert_eq!(arguments.get("b"), Some(Raw::trusted("2")));
    }
}
