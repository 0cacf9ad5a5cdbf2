//! The constructors of [`Record`], which note facts about its fields as bits. All of them run in constant evaluation.

use super::shape::{Field, Kind, Kinds, Presence, Record, is_same};
use crate::version::{Revision, RevisionSet};

impl Record {
    /// Creates a table with these members, without kinds.
    pub(crate) const fn of(fields: &'static [Field]) -> Self {
        Self::with(fields, None, &[])
    }

    /// Creates a table with these members and kinds. Exactly one of the members in `either` must be present.
    pub(crate) const fn with(
        fields: &'static [Field],
        kinds: Option<Kinds>,
        either: &'static [&'static str],
    ) -> Self {
        let (mut required, mut tag, mut index, mut rest) = (0, None, 0, fields);
        let mut plain = [0; Revision::ALL.len()];
        while let [field, behind @ ..] = rest {
            if matches!(field.presence, Presence::Required) {
                required |= 1 << index;
            }
            if let Some(kinds) = &kinds
                && is_same(kinds.tag, field.name)
            {
                tag = Some(index);
            } else if field.in_kind.is_none() && field.gate.is_none() {
                note_revisions(&mut plain, field.revisions, 1 << index);
            }
            (index, rest) = (index + 1, behind);
        }
        let (kinds_required, foreign) = match &kinds {
            Some(kinds) => (required_by(kinds.kinds, fields), foreign_to(kinds, fields)),
            None => ([0; 8], [0; 8]),
        };
        Self { fields, required, plain, tag, kinds, kinds_required, foreign, either }
    }
}

/// Returns the required fields of the first kinds, one bit each. A name without a field sets all bits, which no
/// object satisfies.
const fn required_by(kinds: &[Kind], fields: &[Field]) -> [u64; 8] {
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
const fn foreign_to(kinds: &Kinds, fields: &[Field]) -> [u64; 8] {
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

/// Sets a bit for each revision of a set.
const fn note_revisions(each: &mut [u64; Revision::ALL.len()], revisions: RevisionSet, bit: u64) {
    let (mut each, mut names): (&mut [u64], &[Revision]) = (each, &Revision::ALL);
    while let ([bits, behind @ ..], [revision, later @ ..]) = (each, names) {
        if revisions.contains(*revision) {
            *bits |= bit;
        }
        (each, names) = (behind, later);
    }
}
