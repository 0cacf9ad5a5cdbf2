//! `Kinds`: the kinds of an object with a tag, and the members of each kind.

use super::shape::{Field, Record, is_same};
use crate::capability::Capability;
use crate::version::{Revision, RevisionSet};

/// The kinds of an object, distinguished by the string in one of its members.
#[derive(Debug)]
pub(crate) struct Kinds {
    pub(crate) tag: &'static str,
    pub(crate) kinds: &'static [Kind],
    /// The kind of an object without the tag.
    pub(crate) default: Option<&'static str>,
    /// Whether a peer may send other values, which later revisions may define.
    pub(crate) open: bool,
}

/// One kind of object.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) revisions: RevisionSet,
    /// The required members of the kind.
    pub(crate) required: &'static [&'static str],
    /// The members of the kind, if other kinds have other members. A member of another kind counts as unknown.
    pub(crate) record: Option<&'static Record>,
    /// The capability that the peer must have declared for the kind to be sent.
    pub(crate) gate: Option<Capability>,
}

impl Kind {
    /// Creates a kind with these required members.
    pub(crate) const fn of(name: &'static str, required: &'static [&'static str]) -> Self {
        Self { name, revisions: RevisionSet::ALL, required, record: None, gate: None }
    }

    /// Returns the definition with its members.
    pub(crate) const fn with(self, record: &'static Record) -> Self {
        Self { record: Some(record), ..self }
    }

    /// Returns the definition restricted to this revision and later ones.
    pub(crate) const fn since(self, revision: Revision) -> Self {
        Self { revisions: RevisionSet::since(revision), ..self }
    }

    /// Returns the definition, sent only if the peer has declared this capability.
    pub(crate) const fn gated(self, capability: Capability) -> Self {
        Self { gate: Some(capability), ..self }
    }
}

/// Returns the required fields of the first kinds, one bit each. A name without a field sets all bits, which no
/// object satisfies.
pub(super) const fn required_by(kinds: &[Kind], fields: &[Field]) -> [u64; 8] {
    let mut each = [0; 8];
    let (mut rest, mut kinds): (&mut [u64], _) = (&mut each, kinds);
    while let ([bits, behind @ ..], [kind, later @ ..]) = (rest, kinds) {
        let mut names = kind.required;
        while let [name, others @ ..] = names {
            *bits |= bit_of(name, fields);
            names = others;
        }
        (rest, kinds) = (behind, later);
    }
    each
}

/// Returns the fields that the first kinds do not have, because they belong to other kinds, one bit each.
pub(super) const fn foreign_to(kinds: &Kinds, fields: &[Field]) -> [u64; 8] {
    let mut each = [0; 8];
    let (mut rest, mut some): (&mut [u64], _) = (&mut each, kinds.kinds);
    while let ([bits, behind @ ..], [kind, later @ ..]) = (rest, some) {
        if let Some(record) = kind.record {
            let (mut bit, mut left) = (1, fields);
            while let [field, others @ ..] = left {
                let is_shared = is_same(field.name, kinds.tag) || has_field(record, field.name);
                if !is_shared && is_of_some_kind(kinds.kinds, field.name) {
                    *bits |= bit;
                }
                (bit, left) = (bit << 1, others);
            }
        }
        (rest, some) = (behind, later);
    }
    each
}

const fn is_of_some_kind(kinds: &[Kind], name: &str) -> bool {
    let mut rest = kinds;
    while let [kind, behind @ ..] = rest {
        if let Some(record) = kind.record
            && has_field(record, name)
        {
            return true;
        }
        rest = behind;
    }
    false
}

const fn has_field(record: &Record, name: &str) -> bool {
    let mut rest = record.fields;
    while let [field, behind @ ..] = rest {
        if is_same(field.name, name) {
            return true;
        }
        rest = behind;
    }
    false
}

/// Returns the bit of the field with this name, or all bits if there is none.
const fn bit_of(name: &str, fields: &[Field]) -> u64 {
    let (mut bit, mut rest) = (1, fields);
    while let [field, behind @ ..] = rest {
        if is_same(field.name, name) {
            return bit;
        }
        (bit, rest) = (bit << 1, behind);
    }
    u64::MAX
}
