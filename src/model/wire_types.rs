//! The wire types of members whose Rust type has several JSON forms: the types that `as` names in a [`record!`].
//!
//! [`record!`]: super::record

use alloc::vec::Vec;

use super::capabilities::ListChanged;
use super::completion::Completion;
pub(crate) use super::content::Blocks;
pub(crate) use super::elicitation::UrlElicitations;
pub(crate) use super::forms::{Beforehand, Form, Format, ItemKind, NumberKind};
use super::map::Map;
use super::text::Text;
use crate::json::{Number, Raw};
use crate::schema::shape::{Field, Presence, Record, Shape, Widened, choice, closed};
use crate::schema::{
    ModelWriter, Own, Value, WireType, Written, can_be_copied, write_elements, write_member,
};
use crate::version::{Revision, RevisionSet};

/// Any JSON.
pub(crate) enum Any {}

impl WireType<Raw<'_>> for Any {
    const SHAPE: Shape = Shape::Any;

    fn write(value: &Raw<'_>, out: &mut ModelWriter<'_, '_>) -> Written {
        out.raw(value.as_json())
    }
}

/// An object.
pub(crate) enum Object {}

impl WireType<Raw<'_>> for Object {
    const SHAPE: Shape = Shape::Object;

    #[inline]
    fn write(value: &Raw<'_>, out: &mut ModelWriter<'_, '_>) -> Written {
        if !value.as_json().starts_with('{') {
            out.need_filter()?;
        }
        out.raw(value.as_json())
    }
}

/// Objects by name.
impl WireType<Map<'_, Raw<'_>>> for Object {
    const SHAPE: Shape = Shape::Map(&Shape::Object);

    fn write(map: &Map<'_, Raw<'_>>, out: &mut ModelWriter<'_, '_>) -> Written {
        map.write_each(out, Self::write)
    }
}

/// Objects by name. Received values may be anything; the code that needs one checks it.
pub(crate) enum Settings {}

impl WireType<Map<'_, Raw<'_>>> for Settings {
    const SHAPE: Shape = Shape::Map(&Shape::Advice(&Shape::Object));

    fn write(map: &Map<'_, Raw<'_>>, out: &mut ModelWriter<'_, '_>) -> Written {
        Object::write(map, out)
    }
}

/// The roots capability of a client. Its `listChanged` exists in the legacy era only.
pub(crate) enum Roots {}

impl WireType<ListChanged> for Roots {
    const SHAPE: Shape = Shape::Record(&ROOTS);

    fn write(value: &ListChanged, out: &mut ModelWriter<'_, '_>) -> Written {
        let start = out.position();
        write_member::<_, Own>(
            out,
            ",\"listChanged\":",
            (Presence::Optional, RevisionSet::before(Revision::V2026_07_28), None),
            &value.list_changed,
        )?;
        out.enclose(start, b'{', "}")
    }
}

static ROOTS: Record =
    Record::of(&[Field::optional("listChanged", Shape::Boolean).before(Revision::V2026_07_28)]);

/// Wire types whose values are compared with a shape whenever they are written.
macro_rules! compared {
    ($($(#[$documentation:meta])* $Wire:ident = $shape:expr;)*) => {$(
        $(#[$documentation])*
        pub(crate) enum $Wire {}

        impl WireType<Raw<'_>> for $Wire {
            const SHAPE: Shape = $shape;

            fn write(value: &Raw<'_>, out: &mut ModelWriter<'_, '_>) -> Written {
                out.compare(value.as_json(), &<Self as WireType<Raw<'_>>>::SHAPE)
            }
        }
    )*};
}

compared! {
    /// An object, or any JSON since 2026-07-28.
    Structured = Shape::Widened(&STRUCTURED);
    /// The data of a form: strings, numbers and booleans by name, and lists of strings since 2025-11-25.
    Answers = Shape::Map(&Shape::Answer { lists: RevisionSet::since(Revision::V2025_11_25) });
}

/// JSON Schemas, which are copied without comparison if they are [vetted](ObjectSchema::vet).
macro_rules! schemas {
    ($($(#[$documentation:meta])* $Wire:ident = $shape:expr;)*) => {$(
        $(#[$documentation])*
        pub(crate) enum $Wire {}

        impl WireType<Raw<'_>> for $Wire {
            const SHAPE: Shape = $shape;

            fn write(value: &Raw<'_>, out: &mut ModelWriter<'_, '_>) -> Written {
                if value.is_vetted() {
                    return out.copy(value.as_json());
                }
                out.compare(value.as_json(), &<Self as WireType<Raw<'_>>>::SHAPE)
            }
        }
    )*};
}

schemas! {
    /// The JSON Schema of an object.
    ObjectSchema = Shape::Widened(&OBJECT_SCHEMA_BY_REVISION);
    /// The JSON Schema of an object, or any schema since 2026-07-28.
    AnySchema = Shape::Widened(&ANY_SCHEMA_BY_REVISION);
}

impl ObjectSchema {
    /// Checks once whether a schema can be copied into a message of any revision, so that writing need not check it
    /// again.
    pub(super) fn vet(schema: Raw<'_>) -> Raw<'_> {
        let shape = <Self as WireType<Raw<'_>>>::SHAPE;
        let fits = |revision| can_be_copied(schema.as_json(), shape, revision);
        // The shape differs between the two eras only.
        let fits_all = fits(Revision::LATEST_LEGACY) && fits(Revision::LATEST_MODERN);
        if fits_all { schema.vetted() } else { schema }
    }
}

/// Strings of a special format.
macro_rules! texts {
    ($($(#[$documentation:meta])* $Wire:ident;)*) => {$(
        $(#[$documentation])*
        pub(crate) enum $Wire {}

        impl WireType<Text<'_>> for $Wire {
            const SHAPE: Shape = Shape::$Wire;

            fn write(text: &Text<'_>, out: &mut ModelWriter<'_, '_>) -> Written {
                out.text(text, &Shape::$Wire)
            }
        }
    )*};
}

texts! {
    /// Bytes in base64.
    Base64;
    /// A URI.
    Uri;
    /// A `file://` URI.
    FileUri;
}

/// An integer from 0 to 2^53 - 1.
pub(crate) enum Natural {}

impl WireType<u64> for Natural {
    const SHAPE: Shape = Shape::Natural;

    fn write(value: &u64, out: &mut ModelWriter<'_, '_>) -> Written {
        if 1 << 53 <= *value {
            out.need_filter()?;
        }
        out.integer(*value)
    }
}

/// An integer where any number is allowed.
pub(crate) enum Numeric {}

impl WireType<u64> for Numeric {
    const SHAPE: Shape = Shape::Number;

    fn write(value: &u64, out: &mut ModelWriter<'_, '_>) -> Written {
        out.integer(*value)
    }
}

/// An integer, or `null` with a meaning of its own.
pub(crate) enum OrNull {}

impl WireType<Option<u64>> for OrNull {
    const SHAPE: Shape = Shape::Any;
    const REQUIRED: bool = false;

    fn absent() -> Option<Option<u64>> {
        Some(None)
    }

    fn write(value: &Option<u64>, out: &mut ModelWriter<'_, '_>) -> Written {
        match value {
            Some(value) => out.integer(*value),
            None => out.piece("null"),
        }
    }
}

/// A number from 0 to 1.
pub(crate) enum Share {}

impl WireType<Number> for Share {
    const SHAPE: Shape = Shape::Share;

    fn write(value: &Number, out: &mut ModelWriter<'_, '_>) -> Written {
        out.number(*value, &Shape::Share)
    }
}

/// A hint: an unreadable value does not invalidate its message and counts as absent.
pub(crate) enum Hint {}

impl<T: Value> WireType<T> for Hint {
    const SHAPE: Shape = Shape::Advice(&T::SHAPE);

    fn write(value: &T, out: &mut ModelWriter<'_, '_>) -> Written {
        value.write(out)
    }
}

/// Completion proposals, limited in number.
pub(crate) enum Proposals {}

impl WireType<Vec<Text<'_>>> for Proposals {
    const SHAPE: Shape = Shape::ListUpTo(Completion::MOST_VALUES, &Shape::Text);

    fn write(values: &Vec<Text<'_>>, out: &mut ModelWriter<'_, '_>) -> Written {
        if Completion::MOST_VALUES < values.len() {
            out.need_filter()?;
        }
        write_elements(values, out)
    }
}

static OBJECT_SCHEMA_BY_REVISION: Widened = Widened {
    widened: RevisionSet::MODERN,
    before: Shape::Record(&PLAIN_SCHEMA),
    // Any other keyword is allowed.
    after: Shape::Record(&Record::of(&[TYPE, DIALECT])),
};

static ANY_SCHEMA_BY_REVISION: Widened = Widened {
    widened: RevisionSet::MODERN,
    before: Shape::Record(&PLAIN_SCHEMA),
    after: Shape::Record(&Record::of(&[DIALECT])),
};

static STRUCTURED: Widened =
    Widened { widened: RevisionSet::MODERN, before: Shape::Object, after: Shape::Any };

const DIALECT: Field = Field::optional("$schema", Shape::Advice(&Shape::Text));

const TYPE: Field = Field::required("type", Shape::OneOf(&closed(&[choice("object")])));

/// The schema of an object in the legacy era.
static PLAIN_SCHEMA: Record = Record::of(&[
    TYPE,
    Field::optional("properties", Shape::Map(&Shape::Object)),
    Field::optional("required", Shape::List(&Shape::Text)),
    Field::optional("$schema", Shape::Text),
]);
