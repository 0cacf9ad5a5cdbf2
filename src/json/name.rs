//! The key of a member.

use alloc::borrow::Cow;
use core::fmt;

use super::string::Str;

/// A key as it stands on the wire, between its quotes.
///
/// It compares by the text it stands for, as a [`Str`] does, and knows beforehand whether that is the
/// text it is written with: nearly always, so that most comparisons are of bytes.
#[derive(Clone, Copy)]
pub(crate) struct Name<'a> {
    text: &'a str,
    has_escapes: bool,
}

impl<'a> Name<'a> {
    /// A key that has been scanned.
    #[inline]
    pub(super) const fn new(text: &'a str, has_escapes: bool) -> Self {
        Self { text, has_escapes }
    }

    /// As it stands on the wire, between the quotes.
    pub(super) const fn as_wire(&self) -> &'a str {
        self.text
    }

    /// The text it stands for.
    #[inline]
    pub(crate) fn to_str(self) -> Cow<'a, str> {
        if self.has_escapes {
            Cow::Owned(Str::trusted(self.text).to_str().into_owned())
        } else {
            Cow::Borrowed(self.text)
        }
    }

    /// The same as a string.
    pub(crate) const fn into_string(self) -> Str<'a> {
        Str::trusted(self.text)
    }
}

impl PartialEq<str> for Name<'_> {
    #[inline]
    fn eq(&self, other: &str) -> bool {
        if self.has_escapes { Str::trusted(self.text) == *other } else { self.text == other }
    }
}

impl PartialEq<&str> for Name<'_> {
    #[inline]
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl fmt::Debug for Name<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Name({} bytes)", self.text.len())
    }
}
