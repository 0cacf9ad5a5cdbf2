//! [`MemberStarts`], the offsets of the members of a small object.

use super::scan::Key;

/// The offsets of the members of an object with at most four members: of those behind the first one, in bytes from
/// the bracket.
///
/// The value takes six bytes, which fit into a borrowed [`Raw`](super::Raw) without making it larger. So a member of
/// the arguments of a call is found without a second walk through them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct MemberStarts([u16; Self::NOTED]);

impl MemberStarts {
    const NOTED: usize = 3;

    /// The mark of a missing member.
    const NO_MEMBER: u16 = u16::MAX;

    /// The value for an object whose offsets are not recorded: too many members, too far from the bracket, a key with
    /// escapes, or no scan.
    pub(super) const UNKNOWN: Self = Self([0; Self::NOTED]);

    /// Whether the offsets of all members are recorded.
    #[inline]
    pub(super) const fn are_known(self) -> bool {
        // No member begins at the offset of the bracket.
        let [second, ..] = self.0;
        second != 0
    }

    /// Returns the value of the last member of this name in `object`, whose offsets these are.
    pub(super) fn member<'t>(self, object: &'t str, name: &str) -> Option<&'t str> {
        let mut end = object.len().checked_sub(1)?;
        for start in self.0.into_iter().rev().filter(|start| *start != Self::NO_MEMBER) {
            let start = usize::from(start);
            if let Some(value) = value_of(object.get(start..end)?, name) {
                return Some(value);
            }
            end = start;
        }
        value_of(object.get(1..end)?.trim_ascii_start(), name)
    }
}

/// Returns the value of a member if its key, which has no escapes, equals `name`. A comma may follow the member.
#[inline]
fn value_of<'t>(member: &'t str, name: &str) -> Option<&'t str> {
    let behind = member.strip_prefix('"')?.strip_prefix(name)?.strip_prefix('"')?;
    // A name with a quote would match beyond the end of the key.
    if name.contains('"') {
        return None;
    }
    let value = behind.trim_ascii_start().strip_prefix(':')?.trim_ascii();
    Some(value.strip_suffix(',').map_or(value, str::trim_ascii_end))
}

/// A recorder of the offsets of the members of an object during the scan.
pub(super) struct Noting {
    starts: [u16; MemberStarts::NOTED],
    members: usize,
    is_complete: bool,
}

impl Noting {
    pub(super) const fn new() -> Self {
        Self {
            starts: [MemberStarts::NO_MEMBER; MemberStarts::NOTED],
            members: 0,
            is_complete: true,
        }
    }

    /// Records the next member of an object that begins at `object`.
    #[inline]
    pub(super) fn note(&mut self, key: Key, object: usize) {
        // The member begins with the quote in front of the key.
        let start = u16::try_from(key.span.start as usize - 1 - object);
        let start = start.ok().filter(|start| *start != MemberStarts::NO_MEMBER);
        let place = self.members.checked_sub(1).map(|index| self.starts.get_mut(index));
        self.members += 1;
        match (place, start) {
            (None, _) => {}
            (Some(Some(place)), Some(start)) => *place = start,
            _ => self.is_complete = false,
        }
        self.is_complete &= !key.has_escapes;
    }

    /// Returns the offsets, if all members could be recorded.
    #[inline]
    pub(super) const fn starts(&self) -> MemberStarts {
        if self.is_complete && self.members != 0 {
            MemberStarts(self.starts)
        } else {
            MemberStarts::UNKNOWN
        }
    }
}

#[cfg(test)]
#[path = "starts_tests.rs"]
mod tests;
