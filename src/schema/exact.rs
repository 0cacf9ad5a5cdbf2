//! Recognizes JSON text that can be copied unchanged, because writing it member by member would give the same text.
//! This holds for nearly all JSON text of applications.
//!
//! The check is fast because it rejects any unusual text, including newlines between values. The writer then writes
//! the value member by member and reports the error, if any.

use super::fits::is_integral;
use super::shape::{Field, Record, Shape};
use super::sight::{Sight, Strictness};
use super::writer::{number_fits, text_fits};
use crate::capability::CapabilitySet;
use crate::json::label::is_same_text;
use crate::json::number::Number;
use crate::json::skip::{
    behind_brackets, behind_objects, behind_string, behind_value, plain_string,
};
use crate::version::Revision;

/// Returns the value at the beginning of a text if it can be copied: its text, which is one line, and the
/// capabilities that the peer must have declared.
///
/// The tables bound the depth of the recursion, whatever the text contains.
pub(super) fn exact(text: &str, shape: Shape, revision: Revision) -> Option<(&str, CapabilitySet)> {
    let mut exact = Exact { revision, needs: CapabilitySet::NONE };
    let behind = exact.value(&shape, text.as_bytes())?;
    Some((text.get(..text.len() - behind.len())?, exact.needs))
}

/// Whether a JSON text can be copied in place of a value of this shape, without requiring a capability of the peer.
pub(crate) fn can_be_copied(text: &str, shape: Shape, revision: Revision) -> bool {
    let shape = shape.in_revision(revision);
    exact(text, shape, revision)
        .is_some_and(|(copied, needs)| copied.len() == text.len() && needs == CapabilitySet::NONE)
}

/// A pass over text that is known to be valid JSON. Each step takes the remaining text and returns the text behind
/// the value.
struct Exact {
    revision: Revision,
    needs: CapabilitySet,
}

impl Exact {
    /// Steps over a value of this shape, which must not be [`Shape::Widened`].
    #[inline(always)]
    fn value<'t>(&mut self, shape: &Shape, text: &'t [u8]) -> Option<&'t [u8]> {
        match (shape, text) {
            // Fast path: the most frequent shapes need no further check.
            (Shape::Object, [b'{', inside @ ..]) => behind_brackets(inside),
            (Shape::Text, [b'"', inside @ ..]) => behind_string(inside),
            _ => self.other_value(shape, text),
        }
    }

    #[inline(never)]
    fn other_value<'t>(&mut self, shape: &Shape, text: &'t [u8]) -> Option<&'t [u8]> {
        match (shape, text) {
            (Shape::Any, _) => behind_value(text),
            (Shape::Record(record), [b'{', inside @ ..]) => self.record(record, inside),
            (Shape::Map(each), [b'{', inside @ ..]) => self.map(each, inside),
            (Shape::List(each), [b'[', inside @ ..]) => self.list(each, 0, usize::MAX, inside),
            (Shape::ListUpTo(most, each), [b'[', inside @ ..]) => self.list(each, 0, *most, inside),
            (Shape::NonEmpty(each), [b'[', inside @ ..]) => self.list(each, 1, usize::MAX, inside),
            (_, [b'"', inside @ ..]) => self.text(shape, inside),
            (Shape::Boolean | Shape::Answer { .. }, [b't' | b'f', ..]) => behind_value(text),
            (_, [b'-' | b'0'..=b'9', ..]) => number(shape, text),
            _ => None,
        }
    }

    #[inline(never)]
    fn record<'t>(&mut self, record: &'static Record, inside: &'t [u8]) -> Option<&'t [u8]> {
        let mut sight = Sight::of(record);
        // The kind must be known before any other member is checked.
        let mut wants_tag = record.kinds.is_some();
        let mut more = next_in(inside, b'}');
        let behind = loop {
            let rest = match more? {
                Next::Member(rest) => rest,
                Next::End(behind) => break behind,
            };
            let (field, value) = match sight.next_field(rest) {
                Some((index, field, value)) => (Some((index, field)), value),
                None => named_field(&mut sight, rest)?,
            };
            let behind = match field {
                Some((index, field)) if !wants_tag && record.is_plain(index, self.revision) => {
                    sight.see(index);
                    self.value(field.shape.now(self.revision), value)?
                }
                Some((index, field)) => {
                    self.special_member(&mut sight, index, field, wants_tag, value)?
                }
                None => behind_value(value)?,
            };
            wants_tag = false;
            more = next_behind(behind, b'}');
        };
        let needs = sight.end(self.revision, Strictness::Exact).ok()?;
        self.needs = self.needs.or(needs);
        Some(behind)
    }

    /// Steps over the value of the tag, or of a member that not every object has.
    #[inline(never)]
    fn special_member<'t>(
        &mut self,
        sight: &mut Sight,
        index: usize,
        field: &'static Field,
        wants_tag: bool,
        value: &'t [u8],
    ) -> Option<&'t [u8]> {
        let is_tag = sight.record().is_tag(index);
        if is_tag != wants_tag || !field.is_in(self.revision, sight.kind()) {
            return None;
        }
        let behind = self.value(field.shape.now(self.revision), value)?;
        sight.see(index);
        if is_tag {
            let (kind, _) = plain_string(value.get(1..)?)?;
            let is_it = |name: &str| is_same_text(name.as_bytes(), kind);
            sight.tag(self.revision, Strictness::Exact, is_it).ok()?;
        }
        self.needs = field.gate.into_iter().fold(self.needs, CapabilitySet::with);
        Some(behind)
    }

    #[inline(never)]
    fn map<'t>(&mut self, each: &Shape, inside: &'t [u8]) -> Option<&'t [u8]> {
        let each = each.now(self.revision);
        if let Shape::Object = each {
            return behind_objects(inside);
        }
        let mut more = next_in(inside, b'}');
        loop {
            match more? {
                Next::Member(rest) => {
                    let [b'"', key @ ..] = rest else { return None };
                    let [b':', value @ ..] = behind_string(key)? else { return None };
                    more = next_behind(self.value(each, value)?, b'}');
                }
                Next::End(behind) => return Some(behind),
            }
        }
    }

    #[inline(never)]
    fn list<'t>(
        &mut self,
        each: &Shape,
        least: usize,
        most: usize,
        inside: &'t [u8],
    ) -> Option<&'t [u8]> {
        let each = each.now(self.revision);
        let mut count = 0;
        let mut more = next_in(inside, b']');
        loop {
            match more? {
                Next::Member(value) => {
                    count += 1;
                    more = next_behind(self.value(each, value)?, b']');
                }
                Next::End(behind) => return (least..=most).contains(&count).then_some(behind),
            }
        }
    }

    /// Steps over a string whose opening quote has been passed.
    #[inline(never)]
    fn text<'t>(&mut self, shape: &Shape, inside: &'t [u8]) -> Option<&'t [u8]> {
        if let Shape::OneOf(choices) = shape {
            // The names have no escapes, so comparing the bytes up to the closing quote is enough.
            let behind = |name: &str| match inside.split_at_checked(name.len()) {
                Some((text, [b'"', behind @ ..])) => {
                    is_same_text(name.as_bytes(), text).then_some(behind)
                }
                _ => None,
            };
            let choice = choices.find(|name| behind(name).is_some())?;
            self.needs = choice.gate.into_iter().fold(self.needs, CapabilitySet::with);
            return behind(choice.name);
        }
        let (text, behind) = plain_string(inside)?;
        match shape {
            Shape::Text | Shape::Answer { .. } => {}
            _ => text_fits(*shape, core::str::from_utf8(text).ok()?).ok()?,
        }
        Some(behind)
    }
}

/// Returns the field of the next key, and the text behind the colon.
#[inline(never)]
fn named_field<'t>(sight: &mut Sight, text: &'t [u8]) -> Option<(Found, &'t [u8])> {
    let [b'"', inside @ ..] = text else { return None };
    let (key, [b':', value @ ..]) = plain_string(inside)? else { return None };
    Some((sight.field(key), value))
}

/// A field with its index, if the table has one of this name.
type Found = Option<(usize, &'static Field)>;

fn number<'t>(shape: &Shape, text: &'t [u8]) -> Option<&'t [u8]> {
    let behind = behind_value(text)?;
    let text = core::str::from_utf8(text.get(..text.len() - behind.len())?).ok()?;
    let number = || Number::from_literal(text).unwrap_or_else(|| Number::from(-1_i8));
    number_fits(*shape, is_integral(text), number).ok()?;
    Some(behind)
}

/// The next step inside an object or an array.
enum Next<'t> {
    /// A member or an element follows, at the beginning of this text.
    Member(&'t [u8]),
    /// The object or array has ended; this text follows its closing bracket.
    End(&'t [u8]),
}

/// Returns the first step inside an object or an array.
#[inline(always)]
fn next_in(inside: &[u8], close: u8) -> Option<Next<'_>> {
    match inside {
        [first, behind @ ..] if *first == close => Some(Next::End(behind)),
        _ => Some(Next::Member(inside)),
    }
}

/// Returns the step after a member or an element.
#[inline(always)]
fn next_behind(behind: &[u8], close: u8) -> Option<Next<'_>> {
    match behind {
        [b',', rest @ ..] => Some(Next::Member(rest)),
        [last, behind @ ..] if *last == close => Some(Next::End(behind)),
        _ => None,
    }
}
