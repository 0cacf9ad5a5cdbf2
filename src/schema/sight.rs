//! `Sight`: the members of an object that were seen, and the members that are still required.

use super::misfit::{Misfit, Problem};
use super::shape::{Field, Kind, Record};
use crate::capability::CapabilitySet;
use crate::json::label::Mark;
use crate::json::name::Name;
use crate::version::Revision;

/// The state of a pass over an object: the members seen so far, and the kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    record: &'static Record,
    /// The fields that were present, one bit each.
    seen: u64,
    /// The index of the field to try first for the next key.
    next: usize,
    kind: Option<&'static Kind>,
    /// The required fields of the kind, one bit each.
    kind_required: u64,
    /// The fields that the kind does not have, one bit each. They count as unknown.
    foreign: u64,
}

/// The strictness of the comparison, which depends on the origin of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strictness {
    /// The value is to be sent.
    Exact,
    /// The value was received.
    Tolerant,
}

impl Sight {
    pub(super) const fn of(record: &'static Record) -> Self {
        Self { record, seen: 0, next: 0, kind: None, kind_required: 0, foreign: 0 }
    }

    pub(super) const fn record(&self) -> &'static Record {
        self.record
    }

    /// Returns the field of this name and its index. Members nearly always come in the order of the tables, so the
    /// field after the last one is tried first.
    #[inline(always)]
    pub(super) fn field(&mut self, key: &[u8]) -> Option<(usize, &'static Field)> {
        let index = self.next;
        match self.record.fields.get(index) {
            Some(field) if field.label.is(key, Mark::of(key)) => {
                self.next = index + 1;
                self.own(index, field)
            }
            _ => self.other_field(key),
        }
    }

    /// Returns a field, unless the kind does not have it.
    #[inline(always)]
    const fn own(&self, index: usize, field: &'static Field) -> Option<(usize, &'static Field)> {
        if self.foreign >> index & 1 == 0 { Some((index, field)) } else { None }
    }

    /// The same as `field`, for a field other than the expected one.
    #[inline(never)]
    fn other_field(&mut self, key: &[u8]) -> Option<(usize, &'static Field)> {
        let mark = Mark::of(key);
        let is_it = |field: &Field| field.label.is(key, mark);
        let (before, behind) = self.record.fields.split_at_checked(self.next)?;
        let later = || Some(self.next + behind.iter().position(is_it)?);
        let index = later().or_else(|| before.iter().position(is_it))?;
        self.next = index + 1;
        self.own(index, self.record.fields.get(index)?)
    }

    /// The same as `field`, for a key that was read.
    #[inline]
    pub(super) fn named(&mut self, key: Name<'_>) -> Option<(usize, &'static Field)> {
        match key.as_plain() {
            Some(key) => self.field(key.as_bytes()),
            None => self.escaped(key),
        }
    }

    #[cold]
    fn escaped(&self, key: Name<'_>) -> Option<(usize, &'static Field)> {
        let mut fields = self.record.fields.iter().enumerate();
        fields.find(|(index, field)| self.own(*index, field).is_some() && key == field.name)
    }

    /// Returns the next field, its index and the text behind its colon, if the JSON text begins with the name of this
    /// field.
    #[inline(always)]
    pub(super) fn next_field<'t>(
        &mut self,
        text: &'t [u8],
    ) -> Option<(usize, &'static Field, &'t [u8])> {
        let index = self.next;
        let field = self.record.fields.get(index)?;
        let value = field.label.behind(text)?;
        self.own(index, field)?;
        self.next = index + 1;
        Some((index, field, value))
    }

    /// Whether the field with this index counts as unknown.
    pub(super) const fn is_foreign(&self, index: usize) -> bool {
        self.foreign >> index & 1 != 0
    }

    pub(super) const fn kind(&self) -> Option<&'static Kind> {
        self.kind
    }

    /// Marks a field as present with a value.
    pub(super) const fn see(&mut self, index: usize) {
        self.seen |= 1 << index;
    }

    /// Sets the kind from the tag. A kind from a peer may be unknown if the kinds are open.
    pub(super) fn tag(
        &mut self,
        revision: Revision,
        strictness: Strictness,
        is_it: impl Fn(&str) -> bool,
    ) -> Result<(), Misfit> {
        let Some(kinds) = &self.record.kinds else { return Ok(()) };
        let index = kinds.kinds.iter().position(|kind| is_it(kind.name));
        self.kind = index.and_then(|index| kinds.kinds.get(index));
        self.kind_required = index.map_or(0, |index| self.record.required_by_kind(index));
        self.foreign = index.map_or(0, |index| self.record.foreign_to(index));
        let problem = match self.kind {
            Some(kind) if kind.revisions.contains(revision) => return Ok(()),
            Some(_) => Problem::NotInRevision,
            None => Problem::NotAllowed,
        };
        if strictness == Strictness::Tolerant && kinds.open {
            (self.kind, self.kind_required) = (None, 0);
            self.foreign = self.record.of_kinds();
            return Ok(());
        }
        Err(Misfit::at(kinds.tag, problem))
    }

    /// Fails if a required member is missing. Returns the capabilities that the kind requires of the peer.
    #[inline]
    pub(super) fn end(
        &self,
        revision: Revision,
        strictness: Strictness,
    ) -> Result<CapabilitySet, Misfit> {
        if self.record.is_whole(self.seen) {
            return Ok(CapabilitySet::NONE);
        }
        self.end_of_kind(revision, strictness)
    }

    fn end_of_kind(
        &self,
        revision: Revision,
        strictness: Strictness,
    ) -> Result<CapabilitySet, Misfit> {
        if let (Some(kinds), None) = (&self.record.kinds, self.kind)
            && let Some(default) = kinds.default
        {
            let mut of_default_kind = *self;
            of_default_kind.tag(revision, strictness, |name| name == default)?;
            return of_default_kind.end(revision, strictness);
        }
        if self.record.required & !self.seen != 0 {
            self.check_required(revision)?;
        }
        if self.kind_required & !self.seen != 0 {
            self.check_required_by_kind(revision)?;
        }
        if let [first, ..] = self.record.either {
            match self.record.either.iter().filter(|name| self.has(name)).count() {
                0 => return Err(Misfit::at(first, Problem::Missing)),
                1 => {}
                _ => return Err(Misfit::at(first, Problem::NotAllowed)),
            }
        }
        let gate = self.kind.and_then(|kind| kind.gate);
        Ok(gate.map_or(CapabilitySet::NONE, |gate| CapabilitySet::NONE.with(gate)))
    }

    fn check_required(&self, revision: Revision) -> Result<(), Misfit> {
        let mut missing = self.record.fields.iter().enumerate().filter(|(index, field)| {
            let bit = 1 << index;
            self.record.required & !self.seen & bit != 0 && field.is_in(revision, self.kind)
        });
        missing.next().map_or(Ok(()), |(_, field)| Err(Misfit::at(field.name, Problem::Missing)))
    }

    fn check_required_by_kind(&self, revision: Revision) -> Result<(), Misfit> {
        for name in self.kind.map_or(&[][..], |kind| kind.required) {
            let is_there = |(_, field): (_, &Field)| field.is_in(revision, self.kind);
            if self.record.field(name.as_bytes()).is_none_or(is_there) && !self.has(name) {
                return Err(Misfit::at(name, Problem::Missing));
            }
        }
        Ok(())
    }

    fn has(&self, name: &str) -> bool {
        self.record.field(name.as_bytes()).is_some_and(|(index, _)| self.seen & (1 << index) != 0)
    }
}
