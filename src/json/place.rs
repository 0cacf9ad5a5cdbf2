//! Where the members of an object are, noted while it is scanned.

use core::fmt;

use super::label::is_same_text;
use super::name::Name;
use super::raw::MemberTexts;
use super::scan::{Key, Span};

/// How many members are noted. The params, results and `_meta` of MCP have fewer.
const NOTED: usize = 8;

/// Where the first members of an object are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Places {
    places: [Place; NOTED],
    count: u8,
    /// Every member is noted, under the text that its key stands for.
    is_exact: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place {
    key: Span,
    value: Span,
}

impl Places {
    /// The members of an object that has none.
    pub(super) const NONE: Self = Self {
        places: [Place { key: Span::EMPTY, value: Span::EMPTY }; NOTED],
        count: 0,
        is_exact: true,
    };

    /// The members of an object that nobody has noted.
    const UNKNOWN: Self = Self { is_exact: false, ..Self::NONE };

    /// Notes the next member.
    #[inline]
    pub(super) fn note(&mut self, key: Key, value: Span) {
        match self.places.get_mut(usize::from(self.count)) {
            Some(place) if !key.has_escapes => {
                *place = Place { key: key.span, value };
                self.count += 1;
            }
            _ => self.is_exact = false,
        }
    }
}

/// An object that has been scanned, whose members are found without walking through it if they have
/// been noted.
#[derive(Clone, Copy)]
pub(crate) struct Object<'e, 'a> {
    text: &'a str,
    /// What the places count from, and the object is a part of.
    frame: &'a str,
    places: &'e Places,
}

impl<'e, 'a> Object<'e, 'a> {
    /// An object of a frame, with where its members are in the frame.
    #[inline]
    pub(super) const fn noted(text: &'a str, frame: &'a str, places: &'e Places) -> Self {
        Self { text, frame, places }
    }

    /// An object of which nothing has been noted. Whatever else the text is, it is an object without
    /// members.
    pub(crate) const fn of(text: &'a str) -> Self {
        Self { text, frame: text, places: &Places::UNKNOWN }
    }

    /// The JSON text.
    pub(crate) const fn text(&self) -> &'a str {
        self.text
    }

    /// The last member of this name.
    #[inline]
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        if !self.places.is_exact {
            return super::raw::member(self.text, name);
        }
        let noted = self.places.places.get(..usize::from(self.places.count))?;
        let (bytes, name) = (self.frame.as_bytes(), name.as_bytes());
        let of_this_name = |place: &&Place| {
            bytes.get(place.key.range()).is_some_and(|key| is_same_text(key, name))
        };
        let place = noted.iter().rev().find(of_this_name)?;
        self.frame.get(place.value.range())
    }

    /// The members in their order.
    pub(crate) fn members(&self) -> ObjectMembers<'e, 'a> {
        if self.places.is_exact {
            ObjectMembers::Noted { object: *self, next: 0 }
        } else {
            ObjectMembers::Walked(MemberTexts::of(self.text))
        }
    }
}

impl Default for Object<'_, '_> {
    /// Nothing at all, which counts as an object without members.
    fn default() -> Self {
        Self::of("")
    }
}

impl PartialEq for Object<'_, '_> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Object<'_, '_> {}

impl fmt::Debug for Object<'_, '_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Object({} bytes)", self.text.len())
    }
}

/// The members of an object, each with the text of its value.
pub(crate) enum ObjectMembers<'e, 'a> {
    Noted { object: Object<'e, 'a>, next: usize },
    Walked(MemberTexts<'a>),
}

impl<'a> Iterator for ObjectMembers<'_, 'a> {
    type Item = (Name<'a>, &'a str);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Walked(members) => members.next(),
            Self::Noted { object, next } => {
                let noted = object.places.places.get(..usize::from(object.places.count))?;
                let place = noted.get(*next)?;
                *next += 1;
                let key = Name::new(object.frame.get(place.key.range())?, false);
                Some((key, object.frame.get(place.value.range())?))
            }
        }
    }
}
