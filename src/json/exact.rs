//! Finds JSON text that may be copied as it stands, because writing it member by member would come to
//! the same: nearly all of what applications have as JSON already.
//!
//! It is quick because it gives up on whatever is out of the ordinary, white space and escapes
//! included. Then the writer does it the long way, and says what is wrong, if something is.

use super::number::Number;
use super::run::plain_run;
use super::shape::{Record, Shape};
use super::sight::{Sight, Strictness};
use super::walk::value_length;
use super::write::{number_fits, text_fits};
use crate::capability::CapabilitySet;
use crate::version::Revision;

/// What the value at the beginning of a text is if it may be copied: how long it is, and what the peer
/// has to offer for it.
///
/// The text holds no newline. The recursion in here goes as deep as the tables do, whatever it is.
pub(super) fn exact(
    text: &str,
    shape: Shape,
    revision: Revision,
) -> Option<(usize, CapabilitySet)> {
    let mut exact = Exact { rest: text.as_bytes(), revision, needs: CapabilitySet::NONE };
    exact.value(shape)?;
    Some((text.len() - exact.rest.len(), exact.needs))
}

/// A position in text that is known to be valid JSON.
struct Exact<'t> {
    rest: &'t [u8],
    revision: Revision,
    needs: CapabilitySet,
}

impl<'t> Exact<'t> {
    /// Steps over a value of this shape, which is none that became another one.
    fn value(&mut self, shape: Shape) -> Option<()> {
        match (shape, self.rest.first()?) {
            (Shape::Any, _) | (Shape::Object, b'{') => self.skip().map(drop),
            (Shape::Record(record), b'{') => self.record(record),
            (Shape::Map(each), b'{') => self.map(each),
            (Shape::List(each), b'[') => self.list(each, 0, usize::MAX),
            (Shape::ListUpTo(most, each), b'[') => self.list(each, 0, most),
            (Shape::NonEmpty(each), b'[') => self.list(each, 1, usize::MAX),
            (_, b'"') => self.text(shape),
            (Shape::Boolean | Shape::Answer { .. }, b't' | b'f') => self.skip().map(drop),
            (_, b'-' | b'0'..=b'9') => self.number(shape),
            _ => None,
        }
    }

    fn record(&mut self, record: &'static Record) -> Option<()> {
        let mut sight = Sight::of(record);
        // The kind has to be known before anything else of an object is judged.
        let mut wants_tag = record.kinds.is_some();
        let mut more = self.enter(b'}')?;
        while more {
            let key = self.key()?;
            if let Some((index, field)) = record.field(key) {
                let is_tag = record.is_tag(index);
                if is_tag != wants_tag || !field.is_in(self.revision, sight.kind()) {
                    return None;
                }
                let value = self.rest;
                self.value(field.shape.in_revision(self.revision))?;
                sight.see(index);
                if is_tag {
                    let kind = Self { rest: value, ..*self }.string()?;
                    let is_it = |name: &str| name.as_bytes() == kind;
                    sight.tag(self.revision, Strictness::Exact, is_it).ok()?;
                }
                self.needs = field.gate.into_iter().fold(self.needs, CapabilitySet::with);
            } else {
                self.skip()?;
            }
            wants_tag = false;
            more = self.goes_on(b'}')?;
        }
        let needs = sight.end(self.revision, Strictness::Exact).ok()?;
        self.needs = self.needs.or(needs);
        Some(())
    }

    fn map(&mut self, each: &'static Shape) -> Option<()> {
        let each = each.in_revision(self.revision);
        let mut more = self.enter(b'}')?;
        while more {
            self.key()?;
            self.value(each)?;
            more = self.goes_on(b'}')?;
        }
        Some(())
    }

    fn list(&mut self, each: &'static Shape, least: usize, most: usize) -> Option<()> {
        let each = each.in_revision(self.revision);
        let mut count = 0;
        let mut more = self.enter(b']')?;
        while more {
            self.value(each)?;
            count += 1;
            more = self.goes_on(b']')?;
        }
        (least..=most).contains(&count).then_some(())
    }

    fn text(&mut self, shape: Shape) -> Option<()> {
        let text = self.string()?;
        match shape {
            Shape::Text | Shape::Answer { .. } => Some(()),
            Shape::OneOf(choices) => {
                let choice = choices.find(|name| name.as_bytes() == text)?;
                self.needs = choice.gate.into_iter().fold(self.needs, CapabilitySet::with);
                Some(())
            }
            _ => text_fits(shape, core::str::from_utf8(text).ok()?).ok(),
        }
    }

    fn number(&mut self, shape: Shape) -> Option<()> {
        let text = core::str::from_utf8(self.skip()?).ok()?;
        let number = || Number::from_literal(text).unwrap_or_else(|| Number::from(-1_i8));
        number_fits(shape, !text.contains(['.', 'e', 'E']), number).ok()
    }

    /// Steps over a value of any shape and lends it.
    #[inline]
    fn skip(&mut self) -> Option<&'t [u8]> {
        let length = value_length(self.rest)?;
        let (value, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(value)
    }

    /// Steps over a string without escapes and lends what is between its quotes.
    #[inline]
    fn string(&mut self) -> Option<&'t [u8]> {
        let [b'"', behind @ ..] = self.rest else { return None };
        let (text, [b'"', rest @ ..]) = behind.split_at_checked(plain_run(behind))? else {
            return None;
        };
        self.rest = rest;
        Some(text)
    }

    #[inline]
    fn key(&mut self) -> Option<&'t [u8]> {
        let key = self.string()?;
        let [b':', rest @ ..] = self.rest else { return None };
        self.rest = rest;
        Some(key)
    }

    /// Steps into an object or an array. Says whether there is something in it.
    #[inline]
    fn enter(&mut self, close: u8) -> Option<bool> {
        let [_, inside @ ..] = self.rest else { return None };
        match inside {
            [first, rest @ ..] if *first == close => {
                self.rest = rest;
                Some(false)
            }
            _ => {
                self.rest = inside;
                Some(true)
            }
        }
    }

    /// Steps over what stands behind a member or an element. Says whether another one follows.
    #[inline]
    fn goes_on(&mut self, close: u8) -> Option<bool> {
        let [byte, rest @ ..] = self.rest else { return None };
        self.rest = rest;
        (*byte == b',' || *byte == close).then_some(*byte == b',')
    }
}
