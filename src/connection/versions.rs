//! Reads the revisions that a server offers.

use crate::json::{Elements, Str, member};
use crate::version::{Revision, RevisionSet};

/// Returns the revisions in the `supported` member of an error; `None` if it is no list of strings. Revisions that
/// this crate does not know are left out.
pub(crate) fn versions_in(data: &str) -> Option<RevisionSet> {
    versions(member(data, "supported")?)
}

/// Returns the revisions in a JSON array of their names.
pub(crate) fn versions(list: &str) -> Option<RevisionSet> {
    if !list.starts_with('[') {
        return None;
    }
    let names = Elements::of(list).map(|name| name.borrowed().and_then(Str::from_literal));
    let mut known = RevisionSet::NONE;
    for name in names {
        if let Some(revision) = Revision::from_name(&name?.to_str()) {
            known = known.with(revision);
        }
    }
    Some(known)
}
