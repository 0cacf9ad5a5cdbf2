//! `Shape` and `Record`: the permitted form of a value, as data in the tables of each revision.
//!
//! A [`Shape`] is looked at from two sides. The writer compares what the application serialises with
//! it and leaves out what the revision has no words for, so that what goes out fits the schema of the
//! revision; [`fits`](super::fits) compares what a peer sent with it, and is kinder.

use crate::capability::Capability;
use crate::json::label::{Label, Mark};
use crate::version::{Revision, RevisionSet};

/// What a value may look like.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// Anything.
    Any,
    /// A string.
    Text,
    /// One of some strings.
    OneOf(&'static Choices),
    /// A string that is a `file://` URI.
    FileUri,
    /// A string that is a URI.
    Uri,
    /// A string that is base64.
    Base64,
    /// An integer.
    Integer,
    /// An integer from 0 to 2^53 - 1, the greatest that every JSON parser reads exactly. What is read
    /// may be anything: whoever needs it makes the best of it.
    Natural,
    /// A number.
    Number,
    /// A number from 0 to 1.
    Share,
    /// `true` or `false`.
    Boolean,
    /// Any object.
    Object,
    /// A string, a number, `true` or `false`, or a list of strings where there can be one.
    Answer { lists: RevisionSet },
    /// An array.
    List(&'static Self),
    /// An array of at most so many elements.
    ListUpTo(usize, &'static Self),
    /// An array that is not empty.
    NonEmpty(&'static Self),
    /// An object whose members are alike.
    Map(&'static Self),
    /// An object whose members are known.
    Record(&'static Record),
    /// Such an object or, where there can be several, an array of them.
    OneOrMany { one: &'static Record, many: RevisionSet },
    /// What became another thing with a revision.
    Widened(&'static Widened),
    /// What it has to be when it is written. What is read may be anything: whoever needs it makes the
    /// best of it.
    Advice(&'static Self),
}

/// A shape that became another one.
#[derive(Debug)]
pub(crate) struct Widened {
    /// The revisions with the second shape.
    pub(crate) widened: RevisionSet,
    pub(crate) before: Shape,
    pub(crate) after: Shape,
}

impl Shape {
    /// What it is in a revision.
    #[inline]
    pub(super) fn in_revision(self, revision: Revision) -> Self {
        *self.now(revision)
    }

    /// The same, where it stands.
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

/// Strings of which one is meant.
#[derive(Debug)]
pub(crate) struct Choices {
    pub(crate) choices: &'static [Choice],
    /// Whether a peer may send others, which later revisions may have.
    pub(crate) open: bool,
}

/// One string, and what a peer has to offer for it to be sent.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) name: &'static str,
    pub(crate) gate: Option<Capability>,
}

/// The members of an object. Others may be there, and are nobody's business.
#[derive(Debug)]
pub(crate) struct Record {
    /// At most 64 of them.
    pub(crate) fields: &'static [Field],
    /// Those that have to be there wherever the revision has them, one bit each.
    pub(super) required: u64,
    /// Those of which the value is all there is to look at, in each revision.
    plain: [u64; Revision::ALL.len()],
    /// Which of them tells the kinds apart.
    tag: Option<usize>,
    /// What kinds of it there are, if there are kinds.
    pub(crate) kinds: Option<Kinds>,
    /// The fields that the first of them have to have, one bit each.
    kinds_required: [u64; 8],
    /// Exactly one of these members is there; all of them if that is none.
    pub(crate) either: &'static [&'static str],
}

/// A member of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(super) label: Label,
    pub(crate) shape: Shape,
    pub(crate) presence: Presence,
    /// The revisions that have it.
    pub(crate) revisions: RevisionSet,
    /// Kinds that have it in other revisions.
    pub(crate) in_kind: Option<(&'static str, RevisionSet)>,
    /// What a peer has to offer for it to be sent.
    pub(crate) gate: Option<Capability>,
}

/// Whether a member has to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Required,
    /// Where the revision does not have it, it is left out.
    Optional,
    /// The same, and where the revision has it but not with such a value, that is left out, too.
    Fitting,
    /// It need not be there, but where the revision does not have it yet, nothing stands for it.
    Essential,
}

/// Objects that are told apart by the string in one of their members.
#[derive(Debug)]
pub(crate) struct Kinds {
    pub(crate) tag: &'static str,
    pub(crate) kinds: &'static [Kind],
    /// The kind of an object without the tag.
    pub(crate) default: Option<&'static str>,
    /// Whether a peer may send others, which later revisions may have.
    pub(crate) open: bool,
}

/// One kind of object.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) revisions: RevisionSet,
    /// The members that this kind has to have.
    pub(crate) required: &'static [&'static str],
    /// What a peer has to offer for it to be sent.
    pub(crate) gate: Option<Capability>,
}

impl Record {
    /// An object with these members, all of one kind.
    pub(crate) const fn of(fields: &'static [Field]) -> Self {
        Self::with(fields, None, &[])
    }

    /// An object with these members, of these kinds, with exactly one of some members.
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
        let kinds_required = match &kinds {
            Some(kinds) => required_by(kinds.kinds, fields),
            None => [0; 8],
        };
        Self { fields, required, plain, tag, kinds, kinds_required, either }
    }

    /// How many members every such object has.
    pub(crate) const fn required_members(&self) -> usize {
        self.required.count_ones() as usize
    }

    /// Whether there are members that every such object has.
    pub(super) const fn needs_members(&self) -> bool {
        self.required != 0
    }

    /// Whether it can be an object without members, of whatever kind.
    pub(super) const fn may_be_empty(&self) -> bool {
        self.is_whole(0)
    }

    /// Whether an object with these members, one bit each, has all it needs in every revision, which
    /// asks nothing of the peer. If not, that takes a closer look.
    #[inline]
    pub(super) const fn is_whole(&self, seen: u64) -> bool {
        self.required & !seen == 0 && self.kinds.is_none() && self.either.is_empty()
    }

    /// Whether the field with this index tells the kinds apart.
    #[inline]
    pub(super) fn is_tag(&self, index: usize) -> bool {
        self.tag == Some(index)
    }

    /// The fields that the kind with this index has to have, one bit each; all of them if that is not
    /// known beforehand.
    #[inline]
    pub(super) fn required_by_kind(&self, index: usize) -> u64 {
        self.kinds_required.get(index).copied().unwrap_or(u64::MAX)
    }

    /// Whether a revision has a field with this index in objects of every kind, and asks nothing of the
    /// peer for it, so that its value is all there is to look at.
    #[inline]
    pub(super) fn is_plain(&self, index: usize, revision: Revision) -> bool {
        self.plain.get(revision as usize).is_some_and(|plain| plain >> index & 1 != 0)
    }

    /// The field of this name, and which of them it is.
    pub(super) fn field(&self, key: &[u8]) -> Option<(usize, &'static Field)> {
        let mark = Mark::of(key);
        let index = self.fields.iter().position(|field| field.label.is(key, mark))?;
        Some((index, self.fields.get(index)?))
    }
}

/// The fields that kinds have to have, as far as there is room, one bit each. What is no field is one
/// that no object has.
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

/// The bit of the field with this name.
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

/// Whether two texts are the same, for tables that are made before the program runs.
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
    /// A member that has to be there.
    pub(crate) const fn required(name: &'static str, shape: Shape) -> Self {
        let presence = Presence::Required;
        let revisions = RevisionSet::ALL;
        Self { name, label: Label::of(name), shape, presence, revisions, in_kind: None, gate: None }
    }

    /// A member that need not be there.
    pub(crate) const fn optional(name: &'static str, shape: Shape) -> Self {
        Self { presence: Presence::Optional, ..Self::required(name, shape) }
    }

    /// A member as its row says.
    pub(crate) const fn row(name: &'static str, shape: Shape, is_required: bool) -> Self {
        if is_required { Self::required(name, shape) } else { Self::optional(name, shape) }
    }

    /// The same, only in this revision.
    pub(crate) const fn only(self, revision: Revision) -> Self {
        Self { revisions: RevisionSet::only(revision), ..self }
    }

    /// The same, left out if the revision does not allow its value.
    pub(crate) const fn or_left_out(self) -> Self {
        Self { presence: Presence::Fitting, ..self }
    }

    /// The same, refused where the revision does not have it yet.
    pub(crate) const fn or_refused(self) -> Self {
        Self { presence: Presence::Essential, ..self }
    }

    /// The same, from this revision on.
    pub(crate) const fn since(self, revision: Revision) -> Self {
        Self { revisions: RevisionSet::since(revision), ..self }
    }

    /// The same, but not any more in this revision and later.
    pub(crate) const fn before(self, revision: Revision) -> Self {
        Self { revisions: self.revisions.and(RevisionSet::before(revision)), ..self }
    }

    /// Whether a revision does not have it any more.
    pub(super) fn was_removed(&self, revision: Revision) -> bool {
        self.revisions.latest().is_some_and(|latest| latest < revision)
    }

    /// The same, but objects of this kind have it from this revision on.
    pub(crate) const fn in_kind_since(self, kind: &'static str, revision: Revision) -> Self {
        Self { in_kind: Some((kind, RevisionSet::since(revision))), ..self }
    }

    /// The same, sent only if the peer offers this.
    pub(crate) const fn gated(self, capability: Capability) -> Self {
        Self { gate: Some(capability), ..self }
    }

    /// Whether a revision has it in an object of this kind.
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
    /// A kind with members that it has to have.
    pub(crate) const fn of(name: &'static str, required: &'static [&'static str]) -> Self {
        Self { name, revisions: RevisionSet::ALL, required, gate: None }
    }

    /// The same, from this revision on.
    pub(crate) const fn since(self, revision: Revision) -> Self {
        Self { revisions: RevisionSet::since(revision), ..self }
    }

    /// The same, sent only if the peer offers this.
    pub(crate) const fn gated(self, capability: Capability) -> Self {
        Self { gate: Some(capability), ..self }
    }
}

impl Choice {
    /// The same, sent only if the peer offers this.
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

/// The form that a payload has to have: what it may look like in a revision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) record: &'static Record,
    pub(crate) revision: Revision,
}

/// Records are tables, each of which is there once.
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
    // Without a branch, so that it becomes vector instructions.
    digits.iter().fold(true, |all, byte| {
        all & (byte.is_ascii_alphanumeric() | (*byte == b'+') | (*byte == b'/'))
    })
}

/// A scheme, a colon and something behind it
/// ([RFC 3986](https://www.rfc-editor.org/rfc/rfc3986#section-3)).
pub(crate) fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(allowed)
        && !rest.is_empty()
        && !rest.contains(|c: char| c.is_whitespace() || c.is_control())
}

/// A string that asks nothing of the peer.
pub(crate) const fn choice(name: &'static str) -> Choice {
    Choice { name, gate: None }
}

/// Strings that later revisions may add to.
pub(crate) const fn open(choices: &'static [Choice]) -> Choices {
    Choices { choices, open: true }
}

/// Strings of which there are no others.
pub(crate) const fn closed(choices: &'static [Choice]) -> Choices {
    Choices { choices, open: false }
}
