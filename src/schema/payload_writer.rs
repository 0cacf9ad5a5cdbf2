//! `PayloadWriter`: the destination of one object, the `params` or the `result` of a message.

use super::additions::{Additions, MetaAdditions};
use super::shape::Form;
use super::writer::Writer;

/// The output for an empty value, `()` or `None`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Empty {
    /// The `params` are omitted.
    Omitted,
    /// The `result` is `{}`.
    Braces,
}

/// The destination of exactly one object.
#[allow(unnameable_types, reason = "only this crate writes payloads")]
#[allow(missing_debug_implementations, reason = "it only passes through")]
pub struct PayloadWriter<'w, 'a, 'x> {
    pub(super) writer: &'w mut Writer<'a>,
    /// The text in front of the object, written only together with the object.
    pub(super) prefix: &'static str,
    pub(super) additions: &'x Additions<'x>,
    /// The additions to `_meta`, if the object is the `_meta` of a message.
    pub(super) meta: Option<&'x MetaAdditions<'x>>,
    pub(super) empty: Empty,
    pub(super) form: Option<Form>,
}

impl<'w, 'a, 'x> PayloadWriter<'w, 'a, 'x> {
    /// Creates a writer for an object. With a form, the object is compared with it.
    pub(crate) const fn new(
        writer: &'w mut Writer<'a>,
        prefix: &'static str,
        empty: Empty,
        additions: &'x Additions<'x>,
        form: Option<Form>,
    ) -> Self {
        Self { writer, prefix, additions, meta: None, empty, form }
    }

    /// Creates a writer for the `_meta` of a message.
    pub(super) fn meta(writer: &'w mut Writer<'a>, meta: &'x MetaAdditions<'x>) -> Self {
        let payload = Self::new(writer, "", Empty::Braces, &Additions::NONE, None);
        Self { meta: Some(meta), ..payload }
    }
}
