//! `IntoOwned`: conversion of values that must outlive the message they were read from.
//!
//! The enums list their variants here: a new variant that is not listed does not compile.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::*;
use crate::json::{Number, Raw, Str};

/// A value that can be converted into one that outlives its message.
///
/// Every borrowing type of the model has an inherent method of the same name, which needs no import; prefer it. The
/// trait is for generic code: [`List`] and [`Map`] require it of their elements, and so does code that keeps the
/// [`Result`](method::Method::Result) of any method. Implement it for your own types to keep them in a list or a map.
///
/// ```
/// use mcp_sansio::json::Raw;
/// use mcp_sansio::model::{IntoOwned, List, Prompt};
///
/// let text = String::from(r#"[{"name":"greet"},{"name":"part"}]"#);
/// let raw = Raw::new(&text)?;
/// let prompts: Vec<Prompt<'_>> = raw.parse::<List<Prompt>>()?.into_iter().collect();
/// let prompts: Vec<Prompt<'static>> = prompts.into_owned();
/// drop(text);
/// assert_eq!(prompts[1].name, "part");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait IntoOwned {
    /// The same type without borrowed data.
    type Owned: 'static;

    /// Converts the value into one that borrows nothing. Borrowed data is copied; owned data is moved.
    fn into_owned(self) -> Self::Owned;
}

/// The inherent method, which needs no import of the trait.
macro_rules! inherent {
    ($($(#[$documentation:meta])* $Type:ident)*) => {$(
        impl $Type<'_> {
            /// Converts the value into one that borrows nothing and can outlive its message. Borrowed data is copied;
            /// owned data is moved.
            $(#[$documentation])*
            pub fn into_owned(self) -> $Type<'static> {
                $crate::model::IntoOwned::into_owned(self)
            }
        }
    )*};
}

pub(super) use inherent;

/// Implementations for enums whose variants hold one value each.
macro_rules! enums {
    ($($Type:ident { $($Variant:ident),* })*) => {$(
        impl IntoOwned for $Type<'_> {
            type Owned = $Type<'static>;

            fn into_owned(self) -> $Type<'static> {
                match self {
                    $(Self::$Variant(value) => $Type::$Variant(value.into_owned()),)*
                }
            }
        }

        inherent! { $Type }
    )*};
}

/// Implementations for types that borrow nothing.
macro_rules! plain {
    ($($Type:ty),* $(,)?) => {$(
        impl IntoOwned for $Type {
            type Owned = Self;

            fn into_owned(self) -> Self {
                self
            }
        }
    )*};
}

plain! { bool, i64, u64, String, Number, LoggingLevel, EmptyCapability }

impl<R: 'static> IntoOwned for TasksCapability<R> {
    type Owned = Self;

    fn into_owned(self) -> Self {
        self
    }
}

macro_rules! with_a_method {
    ($($Type:ident)*) => {$(
        impl IntoOwned for $Type<'_> {
            type Owned = $Type<'static>;

            fn into_owned(self) -> $Type<'static> {
                // Method resolution prefers the inherent method to that of the trait.
                self.into_owned()
            }
        }
    )*};
}

with_a_method! { Raw Str Text }

impl<T: IntoOwned> IntoOwned for Option<T> {
    type Owned = Option<T::Owned>;

    fn into_owned(self) -> Option<T::Owned> {
        self.map(T::into_owned)
    }
}

impl<T: IntoOwned> IntoOwned for Vec<T> {
    type Owned = Vec<T::Owned>;

    fn into_owned(self) -> Vec<T::Owned> {
        self.into_iter().map(T::into_owned).collect()
    }
}

impl<T: IntoOwned> IntoOwned for Box<T> {
    type Owned = Box<T::Owned>;

    fn into_owned(self) -> Box<T::Owned> {
        Box::new((*self).into_owned())
    }
}

impl<T: IntoOwned> IntoOwned for List<'_, T> {
    type Owned = List<'static, T::Owned>;

    fn into_owned(self) -> List<'static, T::Owned> {
        self.into_owned()
    }
}

impl<V: IntoOwned> IntoOwned for Map<'_, V> {
    type Owned = Map<'static, V::Owned>;

    fn into_owned(self) -> Map<'static, V::Owned> {
        self.into_owned()
    }
}

enums! {
    Content { Text, Image, Audio, Resource, ResourceLink, ToolUse, ToolResult, Unknown }
    ResourceContents { Text, Blob }
    SamplingContent { One, Many }
    PrimitiveSchema { String, Number, Boolean, Array, Unknown }
}

impl IntoOwned for Reference<'_> {
    type Owned = Reference<'static>;

    fn into_owned(self) -> Reference<'static> {
        match self {
            Self::Prompt { name, title } => {
                Reference::Prompt { name: name.into_owned(), title: title.into_owned() }
            }
            Self::Resource { uri } => Reference::Resource { uri: uri.into_owned() },
            Self::Unknown(raw) => Reference::Unknown(raw.into_owned()),
        }
    }
}

inherent! { Reference }

impl IntoOwned for InputRequest<'_> {
    type Owned = InputRequest<'static>;

    fn into_owned(self) -> InputRequest<'static> {
        match self {
            Self::Elicit(params) => InputRequest::Elicit(params.into_owned()),
            Self::CreateMessage(params) => InputRequest::CreateMessage(params.into_owned()),
            Self::ListRoots => InputRequest::ListRoots,
            Self::Unknown(raw) => InputRequest::Unknown(raw.into_owned()),
        }
    }
}

inherent! { InputRequest }
