//! [`WireType`]: the JSON form of a member.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::model_writer::{ModelWriter, Written};
use super::shape::{Presence, Shape};
use crate::capability::Capability;
use crate::json::Number;
use crate::version::RevisionSet;

/// A type with the same JSON form everywhere.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can look like several things on the wire",
    note = "say behind `as` which of them it is in this member, for example `as Object`"
)]
pub(crate) trait Value {
    /// The shape that a value is compared with if it was read instead of built.
    const SHAPE: Shape;

    fn write(&self, out: &mut ModelWriter<'_, '_>) -> Written;
}

/// The JSON form of a member whose Rust type is `T`.
pub(crate) trait WireType<T> {
    const SHAPE: Shape;

    /// Whether the member is required.
    const REQUIRED: bool = true;

    #[inline(always)]
    fn is_absent(_value: &T) -> bool {
        false
    }

    /// Returns the value of an absent member, or `None` if the member is required.
    fn absent() -> Option<T> {
        None
    }

    fn write(value: &T, out: &mut ModelWriter<'_, '_>) -> Written;
}

/// The JSON form of a type that implements [`Value`].
pub(crate) enum Own {}

impl<T: Value> WireType<T> for Own {
    const SHAPE: Shape = T::SHAPE;

    #[inline(always)]
    fn write(value: &T, out: &mut ModelWriter<'_, '_>) -> Written {
        value.write(out)
    }
}

impl<T, W: WireType<T>> WireType<Option<T>> for W {
    const SHAPE: Shape = W::SHAPE;
    const REQUIRED: bool = false;

    #[inline(always)]
    fn is_absent(value: &Option<T>) -> bool {
        value.is_none()
    }

    fn absent() -> Option<Option<T>> {
        Some(None)
    }

    #[inline(always)]
    fn write(value: &Option<T>, out: &mut ModelWriter<'_, '_>) -> Written {
        match value {
            Some(value) => W::write(value, out),
            None => Ok(()),
        }
    }
}

/// Writes a member with a leading comma.
#[inline(always)]
pub(crate) fn write_member<T, W: WireType<T>>(
    out: &mut ModelWriter<'_, '_>,
    key: &'static str,
    (presence, revisions, gate): (Presence, RevisionSet, Option<Capability>),
    value: &T,
) -> Written {
    if W::is_absent(value) {
        return Ok(());
    }
    if !out.is_in(revisions) {
        // Omitting an essential member would change the meaning of the message, so the filter must report it.
        return match presence {
            Presence::Essential => out.need_filter(),
            Presence::Required | Presence::Optional | Presence::Fitting => Ok(()),
        };
    }
    if let Some(gate) = gate {
        out.need(gate);
    }
    out.piece(key)?;
    W::write(value, out)
}

impl Value for bool {
    const SHAPE: Shape = Shape::Boolean;

    #[inline]
    fn write(&self, out: &mut ModelWriter<'_, '_>) -> Written {
        out.piece(if *self { "true" } else { "false" })
    }
}

impl Value for u64 {
    const SHAPE: Shape = Shape::Integer;

    fn write(&self, out: &mut ModelWriter<'_, '_>) -> Written {
        out.integer(*self)
    }
}

impl Value for i64 {
    const SHAPE: Shape = Shape::Integer;

    fn write(&self, out: &mut ModelWriter<'_, '_>) -> Written {
        out.integer(*self)
    }
}

impl Value for Number {
    const SHAPE: Shape = Shape::Number;

    fn write(&self, out: &mut ModelWriter<'_, '_>) -> Written {
        out.number(*self, &Shape::Number)
    }
}

impl<T: Value> Value for Box<T> {
    const SHAPE: Shape = T::SHAPE;

    fn write(&self, out: &mut ModelWriter<'_, '_>) -> Written {
        (**self).write(out)
    }
}

impl<T: Value> Value for Vec<T> {
    const SHAPE: Shape = Shape::List(&T::SHAPE);

    fn write(&self, out: &mut ModelWriter<'_, '_>) -> Written {
        write_elements(self, out)
    }
}

/// Writes an array.
pub(crate) fn write_elements<T: Value>(elements: &[T], out: &mut ModelWriter<'_, '_>) -> Written {
    let start = out.position();
    for element in elements {
        out.piece(",")?;
        element.write(out)?;
    }
    out.enclose(start, b'[', "]")
}
