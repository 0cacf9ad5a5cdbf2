//! Finds JSON text that may be copied as it stands, because writing it member by member would come to
//! the same: nearly all of what applications have as JSON already.
//!
//! It is quick because it gives up on whatever is out of the ordinary, newlines between values included.
//! Then the writer does it the long way, and says what is wrong, if something is.

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

/// What the value at the beginning of a text is if it may be copied: its text, which is one line, and
/// what the peer has to offer for it.
///
/// The recursion in here goes as deep as the tables do, whatever the text is.
pub(super) fn exact(text: &str, shape: Shape, revision: Revision) -> Option<(&str, CapabilitySet)> {
    let mut exact = Exact { revision, needs: CapabilitySet::NONE };
    let behind = exact.value(&shape, text.as_bytes())?;
    Some((text.get(..text.len() - behind.len())?, exact.needs))
}

/// Whether a JSON text may be copied where a value of this shape is to stand, and asks nothing of the peer.
pub(crate) fn can_be_copied(text: &str, shape: Shape, revision: Revision) -> bool {
    let shape = shape.in_revision(revision);
    exact(text, shape, revision)
        .is_some_and(|(copied, needs)| copied.len() == text.len() && needs == CapabilitySet::NONE)
}

/// Goes through text that is known to be valid JSON. Every step takes what is still to come and gives
/// what stands behind it.
struct Exact {
    revision: Revision,
    needs: CapabilitySet,
}

impl Exact {
    /// Steps over a value of this shape, which is none that became another one.
    #[inline(always)]
    fn value<'t>(&mut self, shape: &Shape, text: &'t [u8]) -> Option<&'t [u8]> {
        match (shape, text) {
            // The most frequent ones, of which there is nothing to know.
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
        // The kind has to be known before anything else of an object is judged.
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

    /// Steps over the value of a member that says what kind of object this is, or that not every
    /// object has.
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

    /// Steps over a string whose first quote has been passed.
    #[inline(never)]
    fn text<'t>(&mut self, shape: &Shape, inside: &'t [u8]) -> Option<&'t [u8]> {
        if let Shape::OneOf(choices) = shape {
            // The names have no escapes, so it is one of them if it stands there with its quote.
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

/// The field with the name that comes next, and what stands behind its colon.
#[inline(never)]
fn named_field<'t>(sight: &mut Sight, text: &'t [u8]) -> Option<(Found, &'t [u8])> {
    let [b'"', inside @ ..] = text else { return None };
    let (key, [b':', value @ ..]) = plain_string(inside)? else { return None };
    Some((sight.field(key), value))
}

/// A field, and which of them it is, if there is such a one.
type Found = Option<(usize, &'static Field)>;

fn number<'t>(shape: &Shape, text: &'t [u8]) -> Option<&'t [u8]> {
    let behind = behind_value(text)?;
    let text = core::str::from_utf8(text.get(..text.len() - behind.len())?).ok()?;
    let number = || Number::from_literal(text).unwrap_or_else(|| Number::from(-1_i8));
    number_fits(*shape, !text.contains(['.', 'e', 'E']), number).ok()?;
    Some(behind)
}

/// What comes next in an object or an array.
enum Next<'t> {
    /// A member or an element, at the beginning of this.
    Member(&'t [u8]),
    /// Nothing: this stands behind its last bracket.
    End(&'t [u8]),
}

/// What comes first in an object or an array.
#[inline(always)]
fn next_in(inside: &[u8], close: u8) -> Option<Next<'_>> {
    match inside {
        [first, behind @ ..] if *first == close => Some(Next::End(behind)),
        _ => Some(Next::Member(inside)),
    }
}

/// What comes after a member or an element.
#[inline(always)]
fn next_behind(behind: &[u8], close: u8) -> Option<Next<'_>> {
    match behind {
        [b',', rest @ ..] => Some(Next::Member(rest)),
        [last, behind @ ..] if *last == close => Some(Next::End(behind)),
        _ => None,
    }
}
