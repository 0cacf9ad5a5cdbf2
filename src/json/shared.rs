//! [`WireText`], text that is borrowed or a part of a shared copy.

use alloc::string::String;
use alloc::sync::Arc;
use core::hash::{Hash, Hasher};
use core::ops::{Deref, Range};

use super::starts::MemberStarts;

/// Text in its wire form: borrowed from the input, or a part of a copy.
///
/// The retained parts of one message share one copy of its text, so retaining them takes one allocation for any
/// number of parts. Texts compare and hash by content.
///
/// A layer above may have checked once that a text meets its requirements. Such a text is vetted, and remains vetted
/// when it is copied.
#[derive(Clone)]
pub(super) enum WireText<'a> {
    Borrowed(&'a str),
    /// Borrowed, and vetted.
    Vetted(&'a str),
    /// Borrowed, with the offsets of its members.
    Noted(Noted<'a>),
    Shared(Part),
}

/// An object with the offsets of its members.
///
/// The struct is packed because padding would occupy the byte in which [`WireText`] keeps its variant.
#[derive(Clone, Copy)]
#[repr(C, packed)]
pub(super) struct Noted<'a> {
    pub(super) text: &'a str,
    pub(super) starts: MemberStarts,
}

impl<'a> Noted<'a> {
    /// Returns the value of the last member of this name.
    pub(super) fn member(self, name: &str) -> Option<&'a str> {
        let Self { text, starts } = self;
        starts.member(text, name)
    }
}

/// A part of a copy, on character boundaries.
///
/// Its position takes eight bytes. [`Extent`] is the last of them and leaves some values unused, which encode the
/// other variants of [`WireText`]. So the extra data of those variants fits in front of it, and an optional text is
/// no larger than a `String`.
#[derive(Clone)]
#[repr(C)]
pub(super) struct Part {
    copy: Arc<str>,
    start: u32,
    /// The length, little-endian. A longer part gets its own copy.
    length: [u8; 3],
    extent: Extent,
}

/// The extent of a part, the whole copy or a range, and whether the part is vetted.
#[derive(Clone, Copy)]
enum Extent {
    All,
    Range,
    VettedAll,
    VettedRange,
}

impl Part {
    const fn all(copy: Arc<str>) -> Self {
        Self { copy, start: 0, length: [0; 3], extent: Extent::All }
    }

    /// Creates a part for a range of the copy, if its position is representable.
    fn range(copy: &Arc<str>, range: Range<usize>) -> Option<Self> {
        let length = u32::try_from(range.len()).ok()?;
        let [first, second, third, 0] = length.to_le_bytes() else { return None };
        let (start, length) = (u32::try_from(range.start).ok()?, [first, second, third]);
        Some(Self { copy: Arc::clone(copy), start, length, extent: Extent::Range })
    }

    #[inline]
    fn as_str(&self) -> &str {
        match self.extent {
            Extent::All | Extent::VettedAll => &self.copy,
            Extent::Range | Extent::VettedRange => {
                let [first, second, third] = self.length;
                let start = self.start as usize;
                let end = start + u32::from_le_bytes([first, second, third, 0]) as usize;
                // The range is valid: `TextCopy::part` has checked it.
                self.copy.get(start..end).unwrap_or_default()
            }
        }
    }
}

impl Part {
    fn vetted(self) -> Self {
        let extent = match self.extent {
            Extent::All | Extent::VettedAll => Extent::VettedAll,
            Extent::Range | Extent::VettedRange => Extent::VettedRange,
        };
        Self { extent, ..self }
    }
}

impl<'a> WireText<'a> {
    /// Marks the text as vetted.
    pub(super) fn vetted(self) -> Self {
        match self {
            Self::Borrowed(text) | Self::Vetted(text) => Self::Vetted(text),
            Self::Noted(noted) => Self::Vetted(noted.text),
            Self::Shared(part) => Self::Shared(part.vetted()),
        }
    }

    /// Whether the text is vetted.
    #[inline]
    pub(super) const fn is_vetted(&self) -> bool {
        match self {
            Self::Borrowed(_) | Self::Noted(..) => false,
            Self::Vetted(_) => true,
            Self::Shared(part) => matches!(part.extent, Extent::VettedAll | Extent::VettedRange),
        }
    }

    /// Returns the text with the lifetime of the input, unless it is a part of a copy.
    pub(super) const fn borrowed(&self) -> Option<&'a str> {
        match self {
            Self::Borrowed(text) | Self::Vetted(text) => Some(text),
            Self::Noted(noted) => Some(noted.text),
            Self::Shared(_) => None,
        }
    }

    /// Detaches the text from the input: as a part of `copy` if the text lies within the copied text, otherwise as
    /// its own copy.
    pub(super) fn into_part(self, copy: Option<&TextCopy<'_>>) -> WireText<'static> {
        match self {
            Self::Borrowed("") => WireText::Borrowed(""),
            Self::Borrowed(text) => {
                let part = copy.and_then(|copy| copy.part(text));
                part.map_or_else(|| WireText::from(Arc::from(text)), WireText::Shared)
            }
            Self::Noted(noted) => Self::Borrowed(noted.text).into_part(copy),
            Self::Vetted(text) => Self::Borrowed(text).into_part(copy).vetted(),
            Self::Shared(part) => WireText::Shared(part),
        }
    }
}

impl From<Arc<str>> for WireText<'static> {
    fn from(copy: Arc<str>) -> Self {
        Self::Shared(Part::all(copy))
    }
}

impl From<String> for WireText<'static> {
    fn from(text: String) -> Self {
        Self::from(Arc::from(text))
    }
}

impl Deref for WireText<'_> {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) | Self::Vetted(text) => text,
            Self::Noted(noted) => noted.text,
            Self::Shared(part) => part.as_str(),
        }
    }
}

impl PartialEq for WireText<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for WireText<'_> {}

impl Hash for WireText<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        str::hash(self, state);
    }
}

/// A shared copy of a text, for the retained parts of that text.
pub(crate) struct TextCopy<'t> {
    original: &'t str,
    copy: Arc<str>,
}

impl<'t> TextCopy<'t> {
    pub(crate) fn of(original: &'t str) -> Self {
        Self { original, copy: Arc::from(original) }
    }

    /// Returns the part of the copy that equals `text`, if `text` lies within the original.
    fn part(&self, text: &str) -> Option<Part> {
        let start = text.as_ptr().addr().checked_sub(self.original.as_ptr().addr())?;
        let end = start.checked_add(text.len())?;
        if self.copy.len() < end {
            return None;
        }
        // Both texts are borrowed at this moment, so the bytes at the same address are the same text, and begin and
        // end on character boundaries.
        debug_assert!(self.copy.get(start..end) == Some(text));
        Part::range(&self.copy, start..end)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn shares(text: &WireText<'_>, copy: &TextCopy<'_>) -> bool {
        matches!(text, WireText::Shared(part) if Arc::ptr_eq(&part.copy, &copy.copy))
    }

    #[test]
    fn parts_share_a_copy_and_other_text_gets_one_of_its_own() {
        let original = String::from(r#"{"name":"é","more":[1,2]}"#);
        let copy = TextCopy::of(&original);
        for range in [0..original.len(), 9..11, 8..12, 0..1, 12..original.len()] {
            let text = original.get(range).unwrap();
            let part = WireText::Borrowed(text).into_part(Some(&copy));
            assert!(*part == *text && shares(&part, &copy) && part.borrowed().is_none());
            let again = part.clone().into_part(None);
            assert!(shares(&again, &copy) && again == WireText::Borrowed(text));
        }
        // The same text at another address is not a part of the copy.
        let elsewhere = original.clone();
        for text in [&*elsewhere, "name", &elsewhere[3..5]] {
            let part = WireText::Borrowed(text).into_part(Some(&copy));
            assert!(*part == *text && !shares(&part, &copy));
            assert!(*WireText::Borrowed(text).into_part(None) == *text);
        }
        assert_eq!(WireText::Borrowed("").into_part(Some(&copy)).borrowed(), Some(""));
    }

    /// A part of 16 MiB is one byte too long to share a larger copy.
    #[test]
    fn very_long_parts_get_copies_of_their_own() {
        let original = "é".repeat(9 << 20);
        let copy = TextCopy::of(&original);
        for (range, is_shared) in [(2..(16 << 20), true), (2..(16 << 20) + 2, false)] {
            let text = original.get(range).unwrap();
            let part = WireText::Borrowed(text).into_part(Some(&copy));
            assert!(*part == *text);
            assert_eq!(shares(&part, &copy), is_shared);
        }
    }

    #[test]
    fn vetted_text_stays_vetted() {
        let original = String::from(r#"{"a":{}}"#);
        let copy = TextCopy::of(&original);
        let part = original.get(5..7).unwrap();
        for text in [&*original, part, ""] {
            for plain in [
                WireText::Borrowed(text),
                WireText::Borrowed(text).into_part(None),
                WireText::Borrowed(text).into_part(Some(&copy)),
            ] {
                let vetted = plain.clone().vetted();
                assert!(vetted.is_vetted() && !plain.is_vetted() && vetted == plain);
                assert!(*vetted == *text && vetted.clone().vetted().is_vetted());
                assert!(vetted.clone().into_part(None).is_vetted());
                assert!(vetted.into_part(Some(&copy)).is_vetted());
            }
        }
    }

    #[test]
    fn it_is_no_larger_than_a_string() {
        // With 32 bits, the kind needs a word of its own.
        let words = if size_of::<usize>() == 8 { 3 } else { 4 };
        assert_eq!(size_of::<WireText<'_>>(), words * size_of::<usize>());
        assert_eq!(size_of::<Option<WireText<'_>>>(), size_of::<WireText<'_>>());
    }
}
