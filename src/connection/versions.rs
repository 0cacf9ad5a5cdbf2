//! Reads the revisions that a server offers.

use crate::json::{Elements, Str, member};
use crate::version::{Revision, RevisionSet};

/// The revisions in the `supported` of an error; `None` if there is no list of strings. Those that this
/// crate does not know are left out.
pub(crate) fn versions_in(data: &str) -> Option<RevisionSet> {
    versions(member(data, "supported")?)
}

/// The revisions in a list of their names.
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
