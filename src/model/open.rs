//! Enums of the wire, which later revisions and other programs may add to.

/// Defines an enum of strings that keeps strings it does not know.
///
/// `as` says how the strings are compared: `closed` are those that no revision adds to, and of `any` every string may be
/// sent. `gated` says what a peer has to offer for a string to be sent.
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
            /// Something this crate does not know. It is written back unchanged.
            Other($crate::model::Text<'a>),
        }

        impl $name<'_> {
            /// As it stands on the wire.
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

/// What is sent is one of these strings, or may be another.
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

/// A string that nobody knows is for the filter, unless any string may be sent.
macro_rules! other {
    ($out:ident any) => {};
    ($out:ident $($set:ident)?) => {
        $out.need_filter()?
    };
}

pub(super) use {open_enum, other, shape};
