use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Serialize, Serializer};

use super::shape::{Field, Form, Kind, Kinds, Record, Shape};
use super::*;
use crate::json::Raw;
use crate::json::member_spans::Object;
use crate::version::Revision;

const EARLY: Revision = Revision::V2025_06_18;
const LATE: Revision = Revision::V2025_11_25;

static NUMBERS: Record = Record::of(&[
    Field::optional("integer", Shape::Integer),
    Field::optional("natural", Shape::Natural),
    Field::optional("share", Shape::Share),
]);

static NEEDY: Record = Record::of(&[Field::required("needed", Shape::Text)]);

/// A table with two kinds, one of which has a member since an earlier revision.
static OF_KINDS: Record = Record::with(
    &[
        Field::optional("kind", Shape::Text),
        Field::optional("late", Shape::Any).since(LATE).in_kind_since("quick", EARLY),
    ],
    Some(Kinds {
        tag: "kind",
        kinds: &[Kind::of("quick", &[]), Kind::of("slow", &[])],
        default: Some("slow"),
        open: false,
    }),
    &[],
);

static WITH_DEFAULTS: Record = Record::of(&[
    Field::optional("first", Shape::Natural),
    Field::optional("second", Shape::Natural),
    Field::optional("third", Shape::Natural),
]);

/// An object with its members in this order.
struct Ordered<'a, T>(&'a [(&'a str, T)]);

impl<T: Serialize> Serialize for Ordered<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

fn write<T: Serialize>(
    value: &T,
    record: &'static Record,
    defaults: &[(&'static str, &str)],
) -> Result<String, EncodeError> {
    let mut buffer = Vec::new();
    let mut writer = Writer::new(&mut buffer, 1000);
    let additions = Additions { defaults, ..Additions::NONE };
    let form = Some(Form { record, revision: EARLY });
    PayloadWriter::new(&mut writer, "", Empty::Omitted, &additions, form).serialize(value)?;
    Ok(String::from_utf8(buffer).expect("UTF-8"))
}

fn refused(field: &'static str, problem: Problem) -> Result<String, EncodeError> {
    Err(Misfit::at(field, problem).into())
}

#[test]
fn a_natural_number_is_one_that_every_parser_reads_exactly() {
    let natural = |number: i64| write(&Ordered(&[("natural", number)]), &NUMBERS, &[]);
    assert_eq!(natural(0).as_deref(), Ok(r#"{"natural":0}"#));
    assert_eq!(natural(9_007_199_254_740_991).as_deref(), Ok(r#"{"natural":9007199254740991}"#));
    assert_eq!(natural(9_007_199_254_740_992), refused("natural", Problem::NotAllowed));
    assert_eq!(natural(-1), refused("natural", Problem::NotAllowed));
}

/// The text of such a number may be valid JSON, but no type can hold the number.
#[test]
fn a_number_that_nothing_can_hold_is_in_no_range() {
    let digits = "1".repeat(400);
    let natural = Raw::try_from(alloc::format!(r#"{{"natural":{digits}}}"#)).expect("valid");
    assert_eq!(write(&natural, &NUMBERS, &[]), refused("natural", Problem::NotAllowed));
    let share = Raw::new(r#"{"share":1e999}"#).expect("valid");
    assert_eq!(write(&share, &NUMBERS, &[]), refused("share", Problem::NotAllowed));
}

#[test]
fn an_integer_is_neither_a_fraction_nor_a_string() {
    let fraction = write(&Ordered(&[("integer", 1.5)]), &NUMBERS, &[]);
    assert_eq!(fraction, refused("integer", Problem::WrongType));
    let form = Form { record: &NUMBERS, revision: EARLY };
    let wrong = Some(Misfit::at("integer", Problem::WrongType));
    for (value, misfit) in [("7", None), ("7.0", None), ("7.5", wrong), ("\"7\"", wrong)] {
        let object = alloc::format!(r#"{{"integer":{value}}}"#);
        assert_eq!(fits(form, Some(&Object::of(&object))).err(), misfit, "{object}");
    }
}

#[test]
fn a_member_that_came_is_found_wherever_it_is_and_however_it_is_written() {
    let wrong = |field| Some(Misfit::at(field, Problem::WrongType));
    let cases = [
        (r#"{"integer":1,"natural":2,"share":1}"#, None),
        (r#"{"share":1,"natural":2,"integer":"1"}"#, wrong("integer")),
        (r#"{"share":1,"x":2,"integer":"1","natural":2}"#, wrong("integer")),
        (r#"{"integer":1,"natural":2,"integer":"1"}"#, wrong("integer")),
        (r#"{"\u0069nteger":"1"}"#, wrong("integer")),
        (r#"{"share":1,"int\u0065ger":"1"}"#, wrong("integer")),
        (r#"{"integer ":"1","Integer":"1","\\u0069nteger":"1"}"#, None),
        (r#"{"integer":null,"\u0069nteger":null}"#, None),
    ];
    let form = Form { record: &NUMBERS, revision: LATE };
    for (object, misfit) in cases {
        assert_eq!(fits(form, Some(&Object::of(object))).err(), misfit, "{object}");
    }
}

#[test]
fn nothing_is_left_out_that_has_to_be_there() {
    assert_eq!(write(&(), &NEEDY, &[]), refused("needed", Problem::Missing));
    assert_eq!(write(&(), &NUMBERS, &[]).as_deref(), Ok(""));
}

/// A removed member is removed with its comma, in any position.
#[test]
fn a_member_that_its_kind_does_not_have_leaves_no_trace() {
    let table: [(&[(&str, &str)], &str); 6] = [
        (&[("late", "x")], "{}"),
        (&[("late", "x"), ("kind", "slow")], r#"{"kind":"slow"}"#),
        (&[("a", "x"), ("late", "x"), ("kind", "slow")], r#"{"a":"x","kind":"slow"}"#),
        (&[("a", "x"), ("late", "x")], r#"{"a":"x"}"#),
        (&[("late", "x"), ("kind", "quick")], r#"{"late":"x","kind":"quick"}"#),
        (&[("kind", "quick"), ("late", "x")], r#"{"kind":"quick","late":"x"}"#),
    ];
    for (members, expected) in table {
        assert_eq!(write(&Ordered(members), &OF_KINDS, &[]).as_deref(), Ok(expected));
        let more = match expected {
            "{}" => String::from(r#"{"more":1}"#),
            _ => expected.replace('}', r#","more":1}"#),
        };
        let with_more = write(&Ordered(members), &OF_KINDS, &[("more", "1")]);
        assert_eq!(with_more, Ok(more), "with a default behind it");
    }
}

/// JSON text may contain a member twice.
#[test]
fn a_member_that_stands_there_twice_is_left_out_twice() {
    for text in [r#"{"late":1,"late":2,"kind":"slow"}"#, r#"{"kind":"slow","late":1,"late":2}"#] {
        let raw = Raw::new(text).expect("valid");
        assert_eq!(write(&raw, &OF_KINDS, &[]).as_deref(), Ok(r#"{"kind":"slow"}"#), "{text}");
    }
}

/// Absent and `null` mean the same, so a default replaces both.
#[test]
fn a_default_replaces_an_absent_or_null_member() {
    type Row<'a> = (&'a [(&'a str, Option<u8>)], &'a str);
    let defaults = [("first", "1"), ("second", "2")];
    let table: [Row<'_>; 4] = [
        (&[("first", None), ("second", Some(7))], r#"{"second":7,"first":1}"#),
        (&[("first", Some(7)), ("second", None)], r#"{"first":7,"second":2}"#),
        (&[("second", Some(7)), ("third", None)], r#"{"second":7,"first":1}"#),
        (&[("first", Some(7)), ("second", Some(8)), ("third", None)], r#"{"first":7,"second":8}"#),
    ];
    for (members, expected) in table {
        let written = write(&Ordered(members), &WITH_DEFAULTS, &defaults);
        assert_eq!(written, Ok(expected.to_string()));
    }
}
