//! Compares received values with their shapes. The comparison allocates nothing, and the tables bound the depth of
//! its recursion.

use super::misfit::{Misfit, Problem};
use super::shape::{Form, Record, Shape};
use super::sight::{Sight, Strictness};
use crate::capability::CapabilitySet;
use crate::json::member_spans::Object;
use crate::json::number::Number;
use crate::json::raw::{Elements, MemberTexts};
use crate::json::string::Str;
use crate::version::Revision;

/// Compares a scanned object with a form, as far as readers depend on it.
///
/// Required members must be present and of the right type. Values that a later revision may allow are accepted,
/// `null` counts as absent, and members that the revision does not have are ignored.
///
/// Returns the capabilities that this side must have declared for the object. An absent object counts as one without
/// members.
///
/// # Errors
///
/// The first [`Misfit`]. The peer is at fault.
pub(crate) fn fits(form: Form, object: Option<&Object<'_, '_>>) -> Result<CapabilitySet, Misfit> {
    let mut comparison = Comparison { revision: form.revision, needs: CapabilitySet::NONE };
    let absent = Object::of("{}");
    comparison.record(form.record, object.unwrap_or(&absent))?;
    Ok(comparison.needs)
}

struct Comparison {
    revision: Revision,
    needs: CapabilitySet,
}

impl Comparison {
    fn record(&mut self, record: &'static Record, object: &Object<'_, '_>) -> Result<(), Misfit> {
        if !object.text().starts_with('{') {
            return Err(Misfit::new(Problem::WrongType));
        }
        let mut sight = Sight::of(record);
        // The members that the kind of the object has, once a member does not fit: the tag may follow it. Members may be
        // repeated, so the tag is looked for once only.
        let mut of_kind = None;
        for (key, value) in object.members() {
            let Some((index, field)) = sight.named(key) else { continue };
            let is_absent = value == "null" && !matches!(field.shape, Shape::Any);
            let is_plain = record.is_plain(index, self.revision);
            if is_absent || !(is_plain || field.is_in(self.revision, sight.kind())) {
                continue;
            }
            let needs = self.needs;
            if let Err(misfit) = self.value(field.shape, value) {
                let of_kind = of_kind.get_or_insert_with(|| self.sight_of_kind(record, object));
                if of_kind.as_ref().is_some_and(|sight| sight.is_foreign(index)) {
                    self.needs = needs;
                    continue;
                }
                return Err(misfit.inside(field.name));
            }
            sight.see(index);
            if is_plain {
                continue;
            }
            if record.is_tag(index) {
                let value = Str::from_literal(value);
                let is_it = |name: &str| value.as_ref().is_some_and(|value| *value == *name);
                sight.tag(self.revision, Strictness::Tolerant, is_it)?;
            }
            self.needs = field.gate.into_iter().fold(self.needs, CapabilitySet::with);
        }
        let needs = sight.end(self.revision, Strictness::Tolerant)?;
        self.needs = self.needs.or(needs);
        Ok(())
    }

    /// Returns what is known of the object from its kind alone; `None` if it has no known kind.
    #[cold]
    fn sight_of_kind(&self, record: &'static Record, object: &Object<'_, '_>) -> Option<Sight> {
        let kinds = record.kinds.as_ref()?;
        let mut sight = Sight::of(record);
        let tag = object.members().find(|(key, _)| *key == *kinds.tag).map(|(_, value)| value);
        let tag = tag.filter(|tag| *tag != "null").map(Str::from_literal);
        let is_it = |name: &str| match &tag {
            Some(tag) => tag.as_ref().is_some_and(|tag| *tag == *name),
            None => kinds.default == Some(name),
        };
        sight.tag(self.revision, Strictness::Tolerant, is_it).ok()?;
        Some(sight)
    }

    #[inline(always)]
    fn value(&mut self, shape: Shape, value: &str) -> Result<(), Misfit> {
        match (shape, value.as_bytes()) {
            // Fast path: the most frequent shapes need no further check.
            (Shape::Object, [b'{', ..]) | (Shape::Text, [b'"', ..]) => Ok(()),
            _ => self.other_value(shape, value),
        }
    }

    #[inline(never)]
    fn other_value(&mut self, shape: Shape, value: &str) -> Result<(), Misfit> {
        let first = value.as_bytes().first();
        let is_string = first == Some(&b'"');
        let is_number = matches!(first, Some(b'-' | b'0'..=b'9'));
        let is_boolean = matches!(first, Some(b't' | b'f'));
        let fits = match shape {
            Shape::Any | Shape::Natural | Shape::Advice(_) => true,
            Shape::Widened(_) => return self.value(shape.in_revision(self.revision), value),
            Shape::Text | Shape::FileUri | Shape::Uri | Shape::Base64 => is_string,
            Shape::OneOf(choices) => {
                if is_string && !choices.open {
                    let value = Str::from_literal(value);
                    let is_it = |name: &str| value.as_ref().is_some_and(|value| *value == *name);
                    choices.find(is_it).ok_or(Misfit::new(Problem::NotAllowed))?;
                }
                is_string
            }
            Shape::Integer => is_number && is_integral(value),
            Shape::Number | Shape::Share => is_number,
            Shape::Boolean => is_boolean,
            Shape::Object => first == Some(&b'{'),
            Shape::Answer { lists } => {
                if first == Some(&b'[') && lists.contains(self.revision) {
                    return self.list(&Shape::Text, value);
                }
                is_string || is_number || is_boolean
            }
            Shape::List(each) | Shape::ListUpTo(_, each) => return self.list(each, value),
            Shape::NonEmpty(each) => {
                if Elements::of(value).next().is_none() {
                    return Err(Misfit::new(Problem::WrongType));
                }
                return self.list(each, value);
            }
            Shape::Map(each) => return self.map(each, value),
            Shape::Record(record) => return self.record(record, &Object::of(value)),
            Shape::OneOrMany { one, many } => {
                if first == Some(&b'[') && many.contains(self.revision) {
                    return self.list(&Shape::Record(one), value);
                }
                return self.record(one, &Object::of(value));
            }
        };
        if fits { Ok(()) } else { Err(Misfit::new(Problem::WrongType)) }
    }

    fn list(&mut self, each: &Shape, value: &str) -> Result<(), Misfit> {
        if !value.starts_with('[') {
            return Err(Misfit::new(Problem::WrongType));
        }
        Elements::of(value).enumerate().try_for_each(|(index, element)| {
            self.value(*each, element.as_json()).map_err(|misfit| misfit.in_element(index))
        })
    }

    fn map(&mut self, each: &Shape, value: &str) -> Result<(), Misfit> {
        if !value.starts_with('{') {
            return Err(Misfit::new(Problem::WrongType));
        }
        // A field of a form that was left empty is `null` for some clients.
        let is_absent = |value: &str| value == "null" && matches!(each, Shape::Answer { .. });
        let mut values = MemberTexts::of(value).filter(|(_, value)| !is_absent(value));
        // Keys are chosen by the peer, so errors do not repeat them.
        values.try_for_each(|(_, value)| {
            self.value(*each, value).map_err(|misfit| misfit.in_entry("*"))
        })
    }
}

/// Whether a number literal denotes an integer: `3`, and also `3.0`.
pub(crate) fn is_integral(literal: &str) -> bool {
    !literal.contains(['.', 'e', 'E'])
        || Number::from_literal(literal).is_some_and(|number| number.as_f64() % 1.0 == 0.0)
}
