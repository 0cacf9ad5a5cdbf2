//! `record!`: defines a type of the model, with a row for each member.

/// Defines a struct of the model, with the JSON form of each member.
///
/// ```text
/// pub output_schema: Option<Raw<'a>> = "outputSchema" as AnySchema,
///     since V2025_06_18, or_left_out;
/// ```
///
/// - The literal is the name of the member. A field of type `Option` is an optional member, any other field a
///   required one.
/// - `as` names the [wire type](super::wire_types). Without it, the type has the same JSON form everywhere.
/// - `by` names a wrapper of the member's type that is read instead, for members that have several forms in JSON, or
///   whose invalid values are read as absent.
/// - `since`, `before` and `only` name the revisions that have the member; `gated` names the capability that the peer
///   must have declared.
/// - `or_left_out`: if the revision does not allow the value, the member is omitted and the rest is sent.
/// - `or_refused`: if the revision does not have the member yet, the message is not sent. A revision that no longer
///   has the member omits it.
///
/// A `row` has no field, because the connection writes that member. `#![tag("type" = "text")]` is the member that
/// distinguishes the objects of several types. `#![record = …]` names the table of a type that needs more than rows.
/// `#![written by filtering]` marks a type whose members depend on one another, so that its table always filters
/// them. `#![read as T]` reads a `T` and converts it.
///
/// The rows generate the table [`RECORD`](super::Tool::RECORD) that other payloads are compared with, the writer of
/// the type, its serde traits, its owned copy, its samples for fuzzers, and a line in the documentation of each
/// member.
macro_rules! record {
    (
        $(#[$meta:meta])*
        $(#![tag($tag:literal = $kind:literal)])?
        $(#![record = $record:expr])?
        $(#![written by $written:ident])?
        $(#![read as $Read:ident])?
        pub struct $Name:ident<$a:lifetime> {
            $(
                $(#[$member_meta:meta])*
                pub $field:ident: $Type:ty = $wire:literal $(as $Wire:ident)? $(by $By:ty)?
                    $(, $word:ident $($argument:ident)?)*;
            )*
            $(row $row:literal as $Row:ident $(, $row_word:ident $row_argument:ident)*;)*
        }
    ) => {
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        $(#[$meta])*
        #[non_exhaustive]
        pub struct $Name<$a> {
            $(
                $(#[$member_meta])*
                #[doc = $crate::model::record::line!($wire $($word ($($argument)?))*)]
                pub $field: $Type,
            )*
        }

        impl<$a> $Name<$a> {
            const FIELDS: &'static [$crate::schema::shape::Field] = &[
                $($crate::model::record::row!(
                    ($wire) ($($Wire)?) ($Type) $($word ($($argument)?))*
                ),)*
                $($crate::model::record::row!(
                    ($row) ($Row) (Option<$crate::json::Raw<'static>>)
                    $($row_word ($row_argument))*
                ),)*
            ];

            /// The table that values of this type are compared with.
            pub(crate) const RECORD: &'static $crate::schema::shape::Record =
                $crate::model::record::table!($Name $($record)?);
        }

        $crate::model::record::written! {
            [<$a>] $Name<$a> [$($tag = $kind)?] [$($written)?]
            $($field: ($Type) = $wire ($($Wire)?) ($($word ($($argument)?))*);)*
        }

        $crate::model::record::read! {
            [<'de: $a, $a>] $Name ($Name<$a>) [$($Read)?]
            $($field: ($Type) = $wire ($($Wire)?) ($($By)?);)*
        }

        $crate::model::record::arbitrary! { $Name $a $($field: ($Type) ($($Wire)?);)* }

        impl $crate::model::IntoOwned for $Name<'_> {
            type Owned = $Name<'static>;

            fn into_owned(self) -> $Name<'static> {
                let Self { $($field),* } = self;
                $Name { $($field: $crate::model::IntoOwned::into_owned($field)),* }
            }
        }

        $crate::model::owned::inherent! { $Name }
    };
}

/// The same as `record!`, for a type that borrows nothing.
macro_rules! plain_record {
    (
        $(#[$meta:meta])*
        pub struct $Name:ident {
            $(
                $(#[$member_meta:meta])*
                pub $field:ident: $Type:ty = $wire:literal $(as $Wire:ident)? $(by $By:ty)?
                    $(, $word:ident $($argument:ident)?)*;
            )*
        }
    ) => {
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
        $(#[$meta])*
        #[non_exhaustive]
        pub struct $Name {
            $(
                $(#[$member_meta])*
                #[doc = $crate::model::record::line!($wire $($word ($($argument)?))*)]
                pub $field: $Type,
            )*
        }

        impl $Name {
            const FIELDS: &'static [$crate::schema::shape::Field] = &[
                $($crate::model::record::row!(
                    ($wire) ($($Wire)?) ($Type) $($word ($($argument)?))*
                ),)*
            ];

            /// The table that values of this type are compared with.
            pub(crate) const RECORD: &'static $crate::schema::shape::Record =
                $crate::model::record::table!($Name);
        }

        $crate::model::record::written! {
            [] $Name [] []
            $($field: ($Type) = $wire ($($Wire)?) ($($word ($($argument)?))*);)*
        }

        $crate::model::record::read! {
            [<'de>] $Name ($Name) []
            $($field: ($Type) = $wire ($($Wire)?) ($($By)?);)*
        }

        impl $crate::model::IntoOwned for $Name {
            type Owned = Self;

            fn into_owned(self) -> Self {
                self
            }
        }
    };
}

/// The table of a type: that of its rows, or the named one.
macro_rules! table {
    ($Name:ident) => {{
        static RECORD: $crate::schema::shape::Record =
            $crate::schema::shape::Record::of($Name::FIELDS);
        &RECORD
    }};
    ($Name:ident $record:expr) => {
        $record
    };
}

/// The writer of a type.
macro_rules! written {
    (
        [$($generics:tt)*] $Name:ty [$($tag:literal = $kind:literal)?] [$($written:ident)?]
        $(
            $field:ident: ($Type:ty) = $wire:literal ($($Wire:ident)?)
                ($($word:ident ($($argument:ident)?))*);
        )*
    ) => {
        const _: () = {
            use $crate::schema::shape::{Record, Shape};
            use $crate::schema::{
                EncodeError, Message, ModelWriter, Payload, PayloadWriter, Value, WireType,
                Written, addable, write_member,
            };

            impl $($generics)* Message for $Name {
                fn record(&self) -> &'static Record {
                    Self::RECORD
                }

                fn write_members(&self, out: &mut ModelWriter<'_, '_>) -> Written {
                    $(out.piece(concat!(",\"", $tag, "\":\"", $kind, "\""))?;)?
                    $(write_member::<$Type, wire!($($Wire)?)>(
                        out,
                        concat!(",\"", $wire, "\":"),
                        const {
                            let field = row!(($wire) ($($Wire)?) ($Type) $($word ($($argument)?))*);
                            (field.presence, field.revisions, field.gate)
                        },
                        &self.$field,
                    )?;)*
                    Ok(())
                }

                fn own_addable(&self) -> u8 {
                    0 $(| if const { addable($wire) } != 0
                        && !<wire!($($Wire)?) as WireType<$Type>>::is_absent(&self.$field)
                    {
                        const { addable($wire) }
                    } else {
                        0
                    })*
                }
            }

            impl $($generics)* Value for $Name {
                const SHAPE: Shape = Shape::Record(Self::RECORD);

                fn write(&self, out: &mut ModelWriter<'_, '_>) -> Written {
                    $(value_of!(out, $written);)?
                    let start = out.position();
                    self.write_members(out)?;
                    out.enclose(start, b'{', "}")
                }
            }

            impl $($generics)* Payload for $Name {
                fn write(&self, payload: PayloadWriter<'_, '_, '_>) -> Result<(), EncodeError> {
                    payload_of!(self, payload, $($written)?)
                }
            }

            impl $($generics)* serde::Serialize for $Name {
                fn serialize<S>(&self, serializer: S) -> Result<S::Ok, S::Error>
                where
                    S: serde::Serializer,
                {
                    use serde::ser::SerializeStruct;

                    let length = 0 $(+ { let _ = $tag; 1 })?
                        $(+ {
                            let value = &self.$field;
                            usize::from(!<wire!($($Wire)?) as WireType<$Type>>::is_absent(value))
                        })*;
                    let mut members = serializer.serialize_struct(stringify!($Name), length)?;
                    $(members.serialize_field($tag, $kind)?;)?
                    $(
                        if <wire!($($Wire)?) as WireType<$Type>>::is_absent(&self.$field) {
                            members.skip_field($wire)?;
                        } else {
                            members.serialize_field($wire, &self.$field)?;
                        }
                    )*
                    members.end()
                }
            }
        };
    };
}

/// The way a value is written as params or a result: by itself, or filtered by its table.
macro_rules! payload_of {
    ($self:ident, $payload:ident,) => {
        $payload.message($self)
    };
    ($self:ident, $payload:ident, filtering) => {
        $payload.filtered($self)
    };
}

/// The same as `payload_of!`, for a value inside another one.
macro_rules! value_of {
    ($out:ident, filtering) => {
        $out.need_filter()?
    };
}

/// The reader of a type: member by member, or by conversion from another type.
macro_rules! read {
    ([$($generics:tt)*] $name:ident ($Name:ty) [] $(
        $field:ident: ($Type:ty) = $wire:literal ($($Wire:ident)?) ($($By:ty)?);
    )*) => {
        impl $($generics)* $crate::schema::ReadMembers<'de> for $Name {
            const NAME: &'static str = stringify!($name);
            const MEMBERS: &'static [&'static str] = &[$($wire),*];

            #[inline]
            fn read<A: serde::de::MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
                #[allow(non_camel_case_types, reason = "they are named as the fields are")]
                enum Row {
                    $($field,)*
                }

                $(let mut $field: Option<read_type!(($Type) $($By)?)> = None;)*
                let mut keys = $crate::schema::Keys::of(Self::MEMBERS);
                while let Some(_row) = keys.next(&mut object)? {
                    $(if _row == Row::$field as usize {
                        $crate::schema::read_once(&mut object, &mut $field, $wire)?;
                        continue;
                    })*
                }
                Ok(Self {$(
                    $field: match $field {
                        Some(value) => read_value!(value $($By)?),
                        None => $crate::schema::absent::<$Type, wire!($($Wire)?), _>($wire)?,
                    },
                )*})
            }
        }

        impl $($generics)* serde::Deserialize<'de> for $Name {
            fn deserialize<D>(deserializer: D) -> Result<Self, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                $crate::schema::read_record(deserializer)
            }
        }
    };
    ([$($generics:tt)*] $name:ident ($Name:ty) [$Read:ident] $($row:tt)*) => {
        impl $($generics)* serde::Deserialize<'de> for $Name {
            fn deserialize<D>(deserializer: D) -> Result<Self, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                <$Read<'_> as serde::Deserialize<'de>>::deserialize(deserializer).map(Self::from)
            }
        }
    };
}

/// The type that a member is read as.
macro_rules! read_type {
    (($Type:ty)) => {
        $Type
    };
    (($Type:ty) $By:ty) => {
        $By
    };
}

/// The value of a member that was read as its own type, or as a wrapper.
macro_rules! read_value {
    ($value:ident) => {
        $value
    };
    ($value:ident $By:ty) => {
        $value.0
    };
}

/// The row of a member in a table.
macro_rules! row {
    (($wire:literal) ($($Wire:ident)?) ($Type:ty) $($word:ident ($($argument:ident)?))*) => {{
        use $crate::schema::WireType;
        $crate::model::record::words!(
            ($crate::schema::shape::Field::row(
                $wire,
                <wire!($($Wire)?) as WireType<$Type>>::SHAPE,
                <wire!($($Wire)?) as WireType<$Type>>::REQUIRED,
            ))
            $($word ($($argument)?))*
        )
    }};
}

/// A row with its attributes applied.
macro_rules! words {
    (($($field:tt)*)) => { $($field)* };
    (($($field:tt)*) since ($revision:ident) $($rest:tt)*) => {
        $crate::model::record::words!(
            ($($field)*.since($crate::version::Revision::$revision)) $($rest)*
        )
    };
    (($($field:tt)*) before ($revision:ident) $($rest:tt)*) => {
        $crate::model::record::words!(
            ($($field)*.before($crate::version::Revision::$revision)) $($rest)*
        )
    };
    (($($field:tt)*) only ($revision:ident) $($rest:tt)*) => {
        $crate::model::record::words!(
            ($($field)*.only($crate::version::Revision::$revision)) $($rest)*
        )
    };
    (($($field:tt)*) gated ($capability:ident) $($rest:tt)*) => {
        $crate::model::record::words!(
            ($($field)*.gated($crate::capability::Capability::$capability)) $($rest)*
        )
    };
    (($($field:tt)*) or_left_out () $($rest:tt)*) => {
        $crate::model::record::words!(($($field)*.or_left_out()) $($rest)*)
    };
    (($($field:tt)*) or_refused () $($rest:tt)*) => {
        $crate::model::record::words!(($($field)*.or_refused()) $($rest)*)
    };
}

/// The line about the wire in the documentation of a member.
macro_rules! line {
    ($wire:literal $($word:ident ($($argument:ident)?))*) => {
        concat!(
            "\n\nOn the wire `", $wire, "`"
            $(, $crate::model::record::phrase!($word $($argument)?))*, "."
        )
    };
}

/// The description of an attribute in the documentation of a member.
macro_rules! phrase {
    (since $revision:ident) => {
        concat!(", since [`", stringify!($revision), "`](crate::version::Revision)")
    };
    (before $revision:ident) => {
        concat!(", before [`", stringify!($revision), "`](crate::version::Revision)")
    };
    (only $revision:ident) => {
        concat!(", only in [`", stringify!($revision), "`](crate::version::Revision)")
    };
    (gated $capability:ident) => {
        concat!(
            ", if the peer has [`",
            stringify!($capability),
            "`](crate::capability::Capability)"
        )
    };
    (or_left_out) => {
        "; left out where a revision does not allow the value"
    };
    (or_refused) => {
        "; refused where a revision does not have it"
    };
}

/// The wire type of a member: the named one, or that of the Rust type.
macro_rules! wire {
    () => {
        $crate::schema::Own
    };
    ($Wire:ident) => {
        $crate::model::wire_types::$Wire
    };
}

/// The `Arbitrary` implementation, which makes a value from the bytes of a fuzzer.
macro_rules! arbitrary {
    ($Name:ident $a:lifetime $($field:ident: ($Type:ty) ($($Wire:ident)?);)*) => {
        #[cfg(feature = "arbitrary")]
        impl<'u: $a, $a> arbitrary::Arbitrary<'u> for $Name<$a> {
            fn arbitrary(bytes: &mut arbitrary::Unstructured<'u>) -> arbitrary::Result<Self> {
                Ok(Self {
                    $($field: <wire!($($Wire)?) as
                        $crate::arbitrary::Sample<'u, $Type>>::sample(bytes)?,)*
                })
            }
        }
    };
}

pub(super) use {arbitrary, line, phrase, read, row, table, words, written};
