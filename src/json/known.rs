//! [`KnownMembers`], members that repeat with the same text in frame after frame.

use alloc::string::String;

use super::member_spans::{MemberSpan, MemberSpans, Object};
use super::scan::Span;

/// Adjacent members of an object of an earlier frame: their text, and their positions in it.
///
/// A client repeats the same members in the `_meta` of every modern request. If their text occurs again as members of
/// a `_meta`, the positions are copied instead of scanned.
///
/// The depth limit must be that of the earlier frame.
#[derive(Clone)]
pub(crate) struct KnownMembers {
    /// The text from the quote of the first key to the end of the last value. That value is a string, an array or an
    /// object, so its end does not depend on the following bytes.
    text: String,
    /// The positions, relative to the beginning of the text.
    places: MemberSpans,
}

impl KnownMembers {
    /// The longest text in bytes that is kept. Current clients repeat less than 400 bytes.
    pub(crate) const LONGEST: usize = 512;

    /// No members yet.
    pub(crate) const NONE: Self = Self { text: String::new(), places: MemberSpans::NONE };

    /// Replaces the members by those of a valid object whose keys `belongs` selects.
    ///
    /// Returns `false` and changes nothing if no member is selected, if other members lie between them, if their text
    /// is too long, or if not all members of the object are recorded.
    pub(crate) fn learn(
        &mut self,
        object: &Object<'_, '_>,
        belongs: impl Fn(&str) -> bool,
    ) -> bool {
        let Some((text, members)) = neighbours(object, belongs) else { return false };
        if Self::LONGEST < text.len() || !text.ends_with(['"', ']', '}']) {
            return false;
        }
        let start = members.first().map_or(0, |first| first.key.start - 1);
        let back = |span: Span| Span { start: span.start - start, end: span.end - start };
        self.places = MemberSpans::NONE;
        for member in members {
            self.places.add(MemberSpan { key: back(member.key), value: back(member.value) });
        }
        self.text.clear();
        // Growth by doubling would exceed the limit.
        self.text.reserve_exact(text.len());
        self.text.push_str(text);
        true
    }

    /// Returns the length of the text in bytes.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns the heap capacity of the text in bytes.
    #[cfg(test)]
    pub(crate) const fn capacity(&self) -> usize {
        self.text.capacity()
    }

    /// Whether the text occurs at this offset.
    #[inline]
    pub(super) fn stand_at(&self, bytes: &[u8], at: usize) -> bool {
        let rest = bytes.get(at..).unwrap_or_default();
        !self.text.is_empty() && rest.starts_with(self.text.as_bytes())
    }

    /// Records the members of the text, which occurs at this offset of an object.
    #[inline]
    pub(super) fn note_in(&self, places: &mut MemberSpans, at: usize) {
        let at = at as u32;
        let on = |span: Span| Span { start: span.start + at, end: span.end + at };
        for place in self.places.noted() {
            places.add(MemberSpan { key: on(place.key), value: on(place.value) });
        }
    }

    /// Whether the object contains these members, and no others whose keys `belongs` selects.
    #[inline]
    pub(crate) fn are_all_in(
        &self,
        object: &Object<'_, '_>,
        belongs: impl Fn(&str) -> bool,
    ) -> bool {
        let Some((text, noted)) = object.noted_members() else { return false };
        let mut others = noted.iter();
        let mut is_found = false;
        while let Some(place) = others.next() {
            let at = (place.key.start as usize).checked_sub(1);
            if !is_found && at.is_some_and(|at| self.stand_at(text.as_bytes(), at)) {
                is_found = true;
                // Every member of the text is recorded; the first one was already consumed.
                let rest = self.places.noted().len() - 1;
                others = others.as_slice().get(rest..).unwrap_or_default().iter();
            } else if text.get(place.key.range()).is_none_or(&belongs) {
                return false;
            }
        }
        is_found
    }
}

/// Returns the members whose keys `belongs` selects, with their text, if they are adjacent.
fn neighbours<'e, 'a>(
    object: &Object<'e, 'a>,
    belongs: impl Fn(&str) -> bool,
) -> Option<(&'a str, &'e [MemberSpan])> {
    let (text, noted) = object.noted_members()?;
    let belongs = |place: &MemberSpan| text.get(place.key.range()).is_some_and(&belongs);
    let (first, last) = (noted.iter().position(belongs)?, noted.iter().rposition(belongs)?);
    let members = noted.get(first..=last).filter(|members| members.iter().all(belongs))?;
    // The quote precedes the key.
    let start = members.first()?.key.start.checked_sub(1)?;
    let end = members.last()?.value.end;
    Some((text.get(start as usize..end as usize)?, members))
}

#[cfg(test)]
#[path = "known_tests.rs"]
mod tests;
