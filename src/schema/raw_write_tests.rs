//! Tests that JSON text is written like the same value with types, for any text and any shape.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Serialize, Serializer};

use super::shape::{Form, Presence, Record, Shape};
use super::*;
use crate::dialect::methods::{NotificationKind, RequestKind};
use crate::json::Raw;
use crate::version::Revision;

/// A JSON value whose members keep their order.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    Null,
    Boolean(bool),
    Integer(i64),
    Float(f64),
    Text(&'static str),
    Array(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Boolean(boolean) => serializer.serialize_bool(*boolean),
            Self::Integer(integer) => serializer.serialize_i64(*integer),
            Self::Float(float) => serializer.serialize_f64(*float),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Array(elements) => serializer.collect_seq(elements),
            Self::Object(members) => {
                serializer.collect_map(members.iter().map(|(key, value)| (key, value)))
            }
        }
    }
}

/// A generator of values that mostly fit their shapes.
pub(super) struct Maker {
    state: u64,
    pub(super) revision: Revision,
}

impl Maker {
    pub(super) const fn new(revision: Revision) -> Self {
        Self { state: 0x9e37_79b9_7f4a_7c15, revision }
    }

    /// Returns a pseudorandom number below `bound` (xorshift).
    fn below(&mut self, bound: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state >> 33).expect("31 bits") % bound
    }

    fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        let index = self.below(items.len());
        *items.get(index).expect("it is in bounds")
    }

    fn anything(&mut self) -> Tree {
        match self.below(9) {
            0 => Tree::Null,
            1 => Tree::Boolean(true),
            2 => Tree::Integer(-7),
            3 => Tree::Float(0.25),
            4 => Tree::Text("a b"),
            5 => Tree::Array(Vec::from([Tree::Null, Tree::Text("\u{e9}\n\"")])),
            6 => Tree::Array(Vec::new()),
            7 => Tree::Object(Vec::new()),
            _ => Tree::Object(Vec::from([("a \"b\"".to_string(), Tree::Array(Vec::new()))])),
        }
    }

    fn value(&mut self, shape: Shape) -> Tree {
        if self.below(40) == 0 {
            return self.anything();
        }
        match shape.in_revision(self.revision) {
            Shape::Any | Shape::Widened(_) | Shape::Advice(_) => self.anything(),
            Shape::Text => Tree::Text(self.one_of(&["", "a", "caf\u{e9} \"au\" lait"])),
            Shape::OneOf(choices) => {
                let choice = self.below(choices.choices.len() + 1);
                Tree::Text(choices.choices.get(choice).map_or("other", |choice| choice.name))
            }
            Shape::FileUri => Tree::Text("file:///a"),
            Shape::Uri => Tree::Text("https://example.com/a"),
            Shape::Base64 => Tree::Text(self.one_of(&["YQ==", "YWFh", ""])),
            Shape::Integer | Shape::Natural => Tree::Integer(self.one_of(&[0, 1, 1 << 53])),
            Shape::Number | Shape::Share => Tree::Float(self.one_of(&[0.0, 0.5, 1.5])),
            Shape::Boolean => Tree::Boolean(false),
            Shape::Object => Tree::Object(Vec::from([("x".to_string(), self.anything())])),
            Shape::Answer { .. } => {
                self.one_of(&[Shape::Text, Shape::List(&Shape::Text)]).pick(self)
            }
            Shape::List(each) | Shape::ListUpTo(_, each) | Shape::NonEmpty(each) => {
                let count = self.below(4);
                Tree::Array((0..count).map(|_| self.value(*each)).collect())
            }
            Shape::Map(each) => Tree::Object(Vec::from([
                ("k".to_string(), self.value(*each)),
                ("\\".to_string(), self.value(*each)),
            ])),
            Shape::Record(record) => self.record(record),
            Shape::OneOrMany { one, .. } => {
                let count = self.below(3);
                if count == 0 { self.record(one) } else { self.value(Shape::List(&Shape::Any)) }
            }
        }
    }

    /// Returns an object with its tag, if any, as the first member: only for text is the kind known in advance.
    pub(super) fn record(&mut self, record: &'static Record) -> Tree {
        let mut members = Vec::new();
        for (index, field) in record.fields.iter().enumerate() {
            let share = if field.presence == Presence::Required { 19 } else { 12 };
            if share < self.below(20) {
                continue;
            }
            let value = match (self.below(20), &record.kinds) {
                (0, _) => Tree::Null,
                (1.., Some(kinds)) if record.is_tag(index) && kinds.tag == field.name => {
                    let kind = self.below(kinds.kinds.len());
                    Tree::Text(kinds.kinds.get(kind).map_or("other", |kind| kind.name))
                }
                _ => self.value(field.shape),
            };
            let place = if record.is_tag(index) { 0 } else { self.below(members.len() + 1) };
            let is_behind_tag = record.kinds.as_ref().is_some_and(|kinds| {
                members.first().is_some_and(|(key, _): &(String, Tree)| key == kinds.tag)
            });
            members.insert(place.max(usize::from(is_behind_tag)), (field.name.to_string(), value));
        }
        if self.below(4) == 0 {
            members.push(("x-unknown".to_string(), self.anything()));
        }
        Tree::Object(members)
    }
}

impl Shape {
    fn pick(self, maker: &mut Maker) -> Tree {
        maker.value(self)
    }
}

pub(super) fn write<T: Serialize>(
    value: &T,
    form: Form,
    additions: &Additions<'_>,
) -> Result<(String, crate::capability::CapabilitySet), EncodeError> {
    written(form, additions, |payload| payload.serialize(&value))
}

pub(super) fn written(
    form: Form,
    additions: &Additions<'_>,
    write: impl FnOnce(PayloadWriter<'_, '_, '_>) -> Result<(), EncodeError>,
) -> Result<(String, crate::capability::CapabilitySet), EncodeError> {
    let mut buffer = Vec::new();
    let mut writer = Writer::new(&mut buffer, 1 << 20);
    write(PayloadWriter::new(&mut writer, "", Empty::Braces, additions, Some(form)))?;
    let needs = writer.needs();
    Ok((String::from_utf8(buffer).expect("UTF-8"), needs))
}

/// Returns every table of params and results.
fn records(revision: Revision) -> Vec<&'static Record> {
    let requests = RequestKind::ALL.iter().flat_map(|kind| {
        let rule = kind.rule();
        [rule.params(revision).record, rule.result(revision).record]
    });
    let notifications =
        NotificationKind::ALL.iter().map(|kind| kind.rule().params(revision).record);
    requests.chain(notifications).collect()
}

pub(super) const ADDITIONS: [Additions<'_>; 2] = [
    Additions::NONE,
    Additions {
        members: &[("resultType", "\"complete\"")],
        defaults: &[("ttlMs", "5"), ("cacheScope", "\"public\"")],
        meta: MetaAdditions {
            members: &[("own", "1")],
            text: "\"more\":2",
            reserved: &["x-unknown"],
        },
    },
];

#[test]
fn text_is_written_like_the_value_that_it_stands_for() {
    let mut maker = Maker::new(Revision::V2024_11_05);
    let mut written = 0;
    for revision in Revision::ALL {
        maker.revision = revision;
        for record in records(revision) {
            for round in 0..60 {
                let value = maker.record(record);
                let additions = ADDITIONS.get(round % 2).expect("there are two");
                let form = Form { record, revision };
                let typed = write(&value, form, additions);
                let line = serde_json::to_string(&value).expect("writable");
                let lines = serde_json::to_string_pretty(&value).expect("writable");
                for text in [&line, &lines] {
                    let raw = write(&Raw::new(text).expect("JSON"), form, additions);
                    assert_eq!(raw, typed, "{revision:?} {record:?} {text}");
                }
                written += usize::from(typed.is_ok());
            }
        }
    }
    assert!(1000 < written, "only {written} of the values could be written");
}
