//! `Shape` and `Record`: the permitted form of a value, as data in the tables of each revision.
//!
//! A [`Shape`] has two uses. The writer compares the application's values with it and omits members that the revision
//! does not have, so that the output fits the schema of the revision. [`fits`](super::fits) compares received values
//! with it, more tolerantly.

use crate::capability::Capability;
use crate::json::label::{Label, Mark};
use crate::version::{Revision, RevisionSet};

/// The permitted form of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// Any JSON.
    Any,
    /// A string.
    Text,
    /// One of a set of strings.
    OneOf(&'static Choices),
    /// A string that is a `file://` URI.
    FileUri,
    /// A string that is a URI.
    Uri,
    /// A string that is base64.
    Base64,
    /// An integer.
    Integer,
    /// An integer from 0 to 2^53 - 1, the greatest that every JSON parser reads exactly. Received values may be
    /// anything; their reader handles them.
    Natural,
    /// A number.
    Number,
    /// A number from 0 to 1.
    Share,
    /// `true` or `false`.
    Boolean,
    /// Any object.
    Object,
    /// A string, a number, `true` or `false`, or a list of strings in the revisions `lists`.
    Answer { lists: RevisionSet },
    /// An array.
    List(&'static Self),
    /// An array with at most this many elements.
    ListUpTo(usize, &'static Self),
    /// An array that is not empty.
    NonEmpty(&'static Self),
    /// An object whose members all have this shape.
    Map(&'static Self),
    /// An object with known members.
    Record(&'static Record),
    /// An object of this record or, in the revisions `many`, an array of such objects.
    OneOrMany { one: &'static Record, many: RevisionSet },
    /// A shape that changed with a revision.
    Widened(&'static Widened),
    /// A shape that is enforced only when writing. Received values may be anything; their reader handles them.
    Advice(&'static Self),
}

/// A shape that changed with a revision.
#[derive(Debug)]
pub(crate) struct Widened {
    /// The revisions with the second shape.
    pub(crate) widened: RevisionSet,
    pub(crate) before: Shape,
    pub(crate) after: Shape,
}

impl Shape {
    /// Returns the shape in a revision.
    #[inline]
    pub(super) fn in_revision(self, revision: Revision) -> Self {
        *self.now(revision)
    }

    /// Returns the shape in a revision, by reference.
    #[inline]
    pub(super) fn now(&self, revision: Revision) -> &Self {
        match self {
            Self::Widened(shapes) if shapes.widened.contains(revision) => &shapes.after,
            Self::Widened(shapes) => &shapes.before,
            Self::Advice(shape) => shape,
            shape => shape,
        }
    }
}

/// A set of strings to choose from.
#[derive(Debug)]
pub(crate) struct Choices {
    pub(crate) choices: &'static [Choice],
    /// Whether a peer may send other values, which later revisions may define.
    pub(crate) open: bool,
}

/// One string, and the capability that the peer must have declared for it to be sent.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) name: &'static str,
    pub(crate) gate: Option<Capability>,
}

/// The members of an object. Other members may be present and are ignored.
#[derive(Debug)]
pub(crate) struct Record {
    /// The fields, at most 64.
    pub(crate) fields: &'static [Field],
    /// The fields that are required wherever the revision has them, one bit each.
    pub(super) required: u64,
    /// The fields that need no check but that of their value, one bit each, for each revision.
    pub(super) plain: [u64; Revision::ALL.len()],
    /// The index of the field that distinguishes the kinds.
    pub(super) tag: Option<usize>,
    /// The kinds of the object, if there are kinds.
    pub(crate) kinds: Option<Kinds>,
    /// The required fields of the first eight kinds, one bit each.
    pub(super) kinds_required: [u64; 8],
    /// The fields that the first eight kinds do not have, because they belong to other kinds, one bit each.
    pub(super) foreign: [u64; 8],
    /// Exactly one of these members must be present. Empty if there is no such rule.
    pub(crate) either: &'static [&'static str],
}

/// A member of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(super) label: Label,
    pub(crate) shape: Shape,
    pub(crate) presence: Presence,
    /// The revisions that have the member.
    pub(crate) revisions: RevisionSet,
    /// A kind that has the member in other revisions.
    pub(crate) in_kind: Option<(&'static str, RevisionSet)>,
    /// The capability that the peer must have declared for the member to be sent.
    pub(crate) gate: Option<Capability>,
}

/// Whether a member is required, and the handling of a member that cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Required,
    /// Optional, and omitted if the revision does not have it.
    Optional,
    /// Optional, and omitted if the revision does not have it or does not allow its value.
    Fitting,
    /// Optional, but an error if the revision does not have it yet.
    Essential,
}

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

impl Record {
    /// Returns the number of required members.
    pub(crate) const fn required_members(&self) -> usize {
        self.required.count_ones() as usize
    }

    /// Whether the table has required members.
    pub(super) const fn needs_members(&self) -> bool {
        self.required != 0
    }

    /// Whether an object without members fits, in every revision.
    pub(super) const fn may_be_empty(&self) -> bool {
        self.is_whole(0)
    }

    /// Whether an object with these members, one bit each, is complete in every revision and requires no capability
    /// of the peer. If not, a closer check must decide.
    #[inline]
    pub(super) const fn is_whole(&self, seen: u64) -> bool {
        self.required & !seen == 0 && self.kinds.is_none() && self.either.is_empty()
    }

    /// Whether the field with this index distinguishes the kinds.
    #[inline]
    pub(super) fn is_tag(&self, index: usize) -> bool {
        self.tag == Some(index)
    }

    /// Returns the required fields of the kind with this index, one bit each; all fields if they are not known in
    /// advance.
    #[inline]
    pub(super) fn required_by_kind(&self, index: usize) -> u64 {
        self.kinds_required.get(index).copied().unwrap_or(u64::MAX)
    }

    /// Returns the fields that the kind with this index does not have, because they belong to other kinds, one bit
    /// each.
    #[inline]
    pub(super) fn foreign_to(&self, index: usize) -> u64 {
        self.foreign.get(index).copied().unwrap_or_default()
    }

    /// Returns the fields that belong to some kind but not to all objects, one bit each. An object of an unknown kind
    /// may have such members with another meaning.
    pub(super) fn of_kinds(&self) -> u64 {
        let kinds = self.kinds.as_ref().map_or(&[][..], |kinds| kinds.kinds);
        if kinds.iter().all(|kind| kind.record.is_none()) {
            return 0;
        }
        self.fields.iter().enumerate().fold(0, |bits, (index, _)| bits | 1 << index)
            & !self.tag.map_or(0, |tag| 1 << tag)
    }

    /// Whether the revision has the field with this index in objects of every kind and without a capability. Such a
    /// field needs no check but that of its value.
    #[inline]
    pub(super) fn is_plain(&self, index: usize, revision: Revision) -> bool {
        self.plain.get(revision as usize).is_some_and(|plain| plain >> index & 1 != 0)
    }

    /// Returns the field of this name and its index.
    pub(super) fn field(&self, key: &[u8]) -> Option<(usize, &'static Field)> {
        let mark = Mark::of(key);
        let index = self.fields.iter().position(|field| field.label.is(key, mark))?;
        Some((index, self.fields.get(index)?))
    }
}

/// Whether two texts are equal, in constant evaluation.
pub(super) const fn is_same(text: &str, other: &str) -> bool {
    let (mut text, mut other) = (text.as_bytes(), other.as_bytes());
    while let ([byte, behind @ ..], [other_byte, other_behind @ ..]) = (text, other) {
        if *byte != *other_byte {
            return false;
        }
        (text, other) = (behind, other_behind);
    }
    text.is_empty() && other.is_empty()
}

impl Field {
    /// Creates a required member.
    pub(crate) const fn required(name: &'static str, shape: Shape) -> Self {
        let presence = Presence::Required;
        let revisions = RevisionSet::ALL;
        Self { name, label: Label::of(name), shape, presence, revisions, in_kind: None, gate: None }
    }

    /// Creates an optional member.
    pub(crate) const fn optional(name: &'static str, shape: Shape) -> Self {
        Self { presence: Presence::Optional, ..Self::required(name, shape) }
    }

    /// Creates the member of a row.
    pub(crate) const fn row(name: &'static str, shape: Shape, is_required: bool) -> Self {
        if is_required { Self::required(name, shape) } else { Self::optional(name, shape) }
    }

    /// Returns the member restricted to this revision.
    pub(crate) const fn only(self, revision: Revision) -> Self {
        Self { revisions: RevisionSet::only(revision), ..self }
    }

    /// Returns the member, omitted if the revision does not allow its value.
    pub(crate) const fn or_left_out(self) -> Self {
        Self { presence: Presence::Fitting, ..self }
    }

    /// Returns the member, refused if the revision does not have it yet.
    pub(crate) const fn or_refused(self) -> Self {
        Self { presence: Presence::Essential, ..self }
    }

    /// Returns the definition restricted to this revision and later ones.
    pub(crate) const fn since(self, revision: Revision) -> Self {
        Self { revisions: RevisionSet::since(revision), ..self }
    }

    /// Returns the member restricted to the revisions before this one.
    pub(crate) const fn before(self, revision: Revision) -> Self {
        Self { revisions: self.revisions.and(RevisionSet::before(revision)), ..self }
    }

    /// Whether an earlier revision was the last to have the member.
    pub(super) fn was_removed(&self, revision: Revision) -> bool {
        self.revisions.latest().is_some_and(|latest| latest < revision)
    }

    /// Returns the member, which objects of this kind have from this revision on.
    pub(crate) const fn in_kind_since(self, kind: &'static str, revision: Revision) -> Self {
        Self { in_kind: Some((kind, RevisionSet::since(revision))), ..self }
    }

    /// Returns the definition, sent only if the peer has declared this capability.
    pub(crate) const fn gated(self, capability: Capability) -> Self {
        Self { gate: Some(capability), ..self }
    }

    /// Whether a revision has the member in an object of this kind.
    pub(super) fn is_in(&self, revision: Revision, kind: Option<&Kind>) -> bool {
        match (self.in_kind, kind) {
            (Some((name, revisions)), Some(kind)) if kind.name == name => {
                revisions.contains(revision)
            }
            _ => self.revisions.contains(revision),
        }
    }
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

impl Choice {
    /// Returns the definition, sent only if the peer has declared this capability.
    pub(crate) const fn gated(self, capability: Capability) -> Self {
        Self { gate: Some(capability), ..self }
    }
}

impl Choices {
    #[inline]
    pub(super) fn find(&self, is_it: impl Fn(&str) -> bool) -> Option<&'static Choice> {
        self.choices.iter().find(|choice| is_it(choice.name))
    }
}

/// The table that a payload is compared with, and the revision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) record: &'static Record,
    pub(crate) revision: Revision,
}

impl Form {
    /// Whether an object of the revision can have a member of this name, if no kind decides.
    pub(crate) fn has(&self, name: &str) -> bool {
        let field = self.record.field(name.as_bytes());
        field.is_some_and(|(_, field)| field.is_in(self.revision, None))
    }
}

/// Tables are compared by address, because each table exists once.
impl PartialEq for Form {
    fn eq(&self, other: &Self) -> bool {
        let identity = |form: &Self| (core::ptr::from_ref(form.record), form.revision);
        identity(self) == identity(other)
    }
}

/// Whether text is base64 with its padding.
pub(super) fn is_base64(text: &str) -> bool {
    let bytes = text.as_bytes();
    if !bytes.len().is_multiple_of(4) {
        return false;
    }
    let digits = match bytes {
        [digits @ .., b'=', b'='] | [digits @ .., b'='] => digits,
        digits => digits,
    };
    // The loop has no branches, so that it compiles to vector instructions.
    digits.iter().fold(true, |all, byte| {
        all & (byte.is_ascii_alphanumeric() | (*byte == b'+') | (*byte == b'/'))
    })
}

/// Whether text is a URI: a scheme, a colon and a nonempty rest
/// ([RFC 3986](https://www.rfc-editor.org/rfc/rfc3986#section-3)).
pub(crate) fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(allowed)
        && !rest.is_empty()
        && !rest.contains(|c: char| c.is_whitespace() || c.is_control())
}

/// Creates a string that requires no capability of the peer.
pub(crate) const fn choice(name: &'static str) -> Choice {
    Choice { name, gate: None }
}

/// Creates a set of strings that later revisions may extend.
pub(crate) const fn open(choices: &'static [Choice]) -> Choices {
    Choices { choices, open: true }
}

/// Creates a set of strings that no revision extends.
pub(crate) const fn closed(choices: &'static [Choice]) -> Choices {
    Choices { choices, open: false }
}
