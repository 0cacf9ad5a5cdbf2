//! `PayloadWriter`: the one object that `params` or `result` is, before it is written.

use super::additions::{Additions, MetaAdditions};
use super::shape::Form;
use super::writer::Writer;

/// What becomes of a value that is nothing at all: `()` or `None`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Empty {
    /// An absent `params` is left out.
    Omitted,
    /// An empty `result` is `{}`.
    Braces,
}

/// Where exactly one object is to be written.
#[allow(unnameable_types, reason = "only this crate writes payloads")]
#[allow(missing_debug_implementations, reason = "it only passes through")]
pub struct PayloadWriter<'w, 'a, 'x> {
    pub(super) writer: &'w mut Writer<'a>,
    /// Written in front of the object, if there is one.
    pub(super) prefix: &'static str,
    pub(super) additions: &'x Additions<'x>,
    /// What it is the `_meta` of a message with.
    pub(super) meta: Option<&'x MetaAdditions<'x>>,
    pub(super) empty: Empty,
    pub(super) form: Option<Form>,
}

impl<'w, 'a, 'x> PayloadWriter<'w, 'a, 'x> {
    /// An object that has to have this form, if there is one.
    pub(crate) const fn new(
        writer: &'w mut Writer<'a>,
        prefix: &'static str,
        empty: Empty,
        additions: &'x Additions<'x>,
        form: Option<Form>,
    ) -> Self {
        Self { writer, prefix, additions, meta: None, empty, form }
    }

    /// The `_meta` of a message.
    pub(super) fn meta(writer: &'w mut Writer<'a>, meta: &'x MetaAdditions<'x>) -> Self {
        let payload = Self::new(writer, "", Empty::Braces, &Additions::NONE, None);
        Self { meta: Some(meta), ..payload }
    }
}
