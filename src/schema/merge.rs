//! Merges the members of several types into one table, for a place that allows an object of any of these types.

#![allow(
    clippy::indexing_slicing,
    reason = "tables are made by the compiler, which refuses what is out of bounds"
)]

use super::shape::{Field, Presence, Record, is_same};

/// Returns the number of different members of `first` and all the records.
pub(crate) const fn count_members(first: &[Field], records: &[&Record]) -> usize {
    let (mut count, mut rest) = (first.len(), records);
    let mut before: &[&Record] = &[];
    while let [record, behind @ ..] = rest {
        let mut fields = record.fields;
        while let [field, others @ ..] = fields {
            if !has(first, field.name) && !any_has(before, field.name) {
                count += 1;
            }
            fields = others;
        }
        before = records.split_at(before.len() + 1).0;
        rest = behind;
    }
    count
}

/// Returns the members of `first` and of all the records, each name once. With `optional`, the required members of
/// the records become optional.
pub(crate) const fn merge_members<const N: usize>(
    first: &[Field],
    records: &[&'static Record],
    optional: bool,
) -> [Field; N] {
    let [template, ..] = first else { panic!("there is a first member") };
    let (mut merged, mut count) = ([*template; N], 0);
    while count < first.len() {
        merged[count] = first[count];
        count += 1;
    }
    let mut rest = records;
    while let [record, behind @ ..] = rest {
        let mut fields = record.fields;
        while let [field, others @ ..] = fields {
            if !has(merged.split_at(count).0, field.name) {
                merged[count] = *field;
                if optional && matches!(field.presence, Presence::Required) {
                    merged[count].presence = Presence::Optional;
                }
                count += 1;
            }
            fields = others;
        }
        rest = behind;
    }
    assert!(count == N);
    merged
}

/// Returns the names of the required members of an object.
pub(crate) const fn required_names<const N: usize>(record: &Record) -> [&'static str; N] {
    let (mut names, mut count, mut rest) = ([""; N], 0, record.fields);
    while let [field, behind @ ..] = rest {
        if matches!(field.presence, Presence::Required) {
            names[count] = field.name;
            count += 1;
        }
        rest = behind;
    }
    names
}

const fn any_has(records: &[&Record], name: &str) -> bool {
    let mut rest = records;
    while let [record, behind @ ..] = rest {
        if has(record.fields, name) {
            return true;
        }
        rest = behind;
    }
    false
}

const fn has(fields: &[Field], name: &str) -> bool {
    let mut rest = fields;
    while let [field, behind @ ..] = rest {
        if is_same(field.name, name) {
            return true;
        }
        rest = behind;
    }
    false
}
