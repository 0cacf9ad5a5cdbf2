//! `open_enum!`: enums of the wire that later revisions and other programs may extend.

/// Defines an enum of strings that keeps unknown strings.
///
/// `as` selects how strings are checked: in a `closed` set no revision adds strings, and with `any` every string may
/// be sent. `gated` names the capability that the peer must have declared for a string to be sent.
macro_rules! open_enum {
    (
        $(#[$documentation:meta])*
        $name:ident $(as $set:ident)? {
            $(
                $(#[$variant_documentation:meta])*
                $variant:ident = $text:literal $(, gated $gate:ident)?;
            )*
        }
    ) => {
        $(#[$documentation])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name<'a> {
            $($(#[$variant_documentation])* $variant,)*
            /// A string that this crate does not know. It is written back unchanged.
            Other($crate::model::Text<'a>),
        }

        impl $name<'_> {
            /// Returns the string on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(text) => text,
                }
            }
        }

        impl $crate::model::IntoOwned for $name<'_> {
            type Owned = $name<'static>;

            fn into_owned(self) -> $name<'static> {
                match self {
                    $(Self::$variant => $name::$variant,)*
                    Self::Other(text) => $name::Other(text.into_owned()),
                }
            }
        }

        $crate::model::owned::inherent! { $name }

        impl<'a> From<$crate::model::Text<'a>> for $name<'a> {
            fn from(text: $crate::model::Text<'a>) -> Self {
                match text.as_str() {
                    $($text => Self::$variant,)*
                    _ => Self::Other(text),
                }
            }
        }

        impl $crate::schema::Value for $name<'_> {
            const SHAPE: $crate::schema::shape::Shape =
                $crate::model::open::shape!($($set)? [$($text ($($gate)?))*]);

            fn write(
                &self,
                out: &mut $crate::schema::ModelWriter<'_, '_>,
            ) -> $crate::schema::Written {
                match self {
                    $(Self::$variant => {
                        $(out.need($crate::capability::Capability::$gate);)?
                        out.piece(concat!("\"", $text, "\""))
                    })*
                    Self::Other(text) => {
                        $crate::model::open::other!(out $($set)?);
                        out.string(text)
                    }
                }
            }
        }

        impl serde::Serialize for $name<'_> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de: 'a, 'a> serde::Deserialize<'de> for $name<'a> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::model::Text::deserialize(deserializer).map(Self::from)
            }
        }

        #[cfg(feature = "arbitrary")]
        impl<'u: 'a, 'a> arbitrary::Arbitrary<'u> for $name<'a> {
            fn arbitrary(bytes: &mut arbitrary::Unstructured<'u>) -> arbitrary::Result<Self> {
                $crate::arbitrary::name(bytes, &[$($text),*]).map(Self::from)
            }
        }
    };
}

/// The shape of an enum: one of these strings, or any string.
macro_rules! shape {
    (any $($rest:tt)*) => { $crate::schema::shape::Shape::Text };
    (closed [$($choice:tt)*]) => { $crate::model::open::shape!(@ closed [$($choice)*]) };
    ([$($choice:tt)*]) => { $crate::model::open::shape!(@ open [$($choice)*]) };
    (@ $set:ident [$($text:literal ($($gate:ident)?))*]) => {
        $crate::schema::shape::Shape::OneOf(&$crate::schema::shape::$set(&[
            $(
                $crate::schema::shape::choice($text)
                    $(.gated($crate::capability::Capability::$gate))?
            ),*
        ]))
    };
}

/// An unknown string needs the filter, unless any string may be sent.
macro_rules! other {
    ($out:ident any) => {};
    ($out:ident $($set:ident)?) => {
        $out.need_filter()?
    };
}

pub(super) use {open_enum, other, shape};
