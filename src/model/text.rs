//! `Text`: a string that is borrowed when read, and borrowed or owned when written.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;
use core::ops::Deref;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::json::Str;
use crate::schema::shape::Shape;
use crate::schema::{ModelWriter, Value, Written};

/// A string of the model: a `Cow<str>` that serde also borrows inside options and lists.
///
/// A text that was read borrows from its message, unless the message contains it with escapes. It dereferences to
/// `str`.
///
/// ```
/// use mcp_sansio::model::Text;
///
/// let text = Text::from("hello");
/// assert_eq!(text.len(), 5);
/// assert_eq!(text, "hello");
/// // The name of a tool that is called, for example.
/// let name = mcp_sansio::json::Str::from("add \"1\"");
/// assert_eq!(Text::from(name), "add \"1\"");
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<'a>(Cow<'a, str>);

impl<'a> Text<'a> {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Converts the text into one that borrows nothing. A borrowed text is copied.
    pub fn into_owned(self) -> Text<'static> {
        Text(Cow::Owned(self.0.into_owned()))
    }

    /// Converts the text into a `Cow`.
    pub fn into_cow(self) -> Cow<'a, str> {
        self.0
    }

    /// Returns the same text, borrowed from this one.
    pub fn borrow(&self) -> Text<'_> {
        Text(Cow::Borrowed(&self.0))
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Text<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl<'a> From<Cow<'a, str>> for Text<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self(text)
    }
}

impl<'a> From<Str<'a>> for Text<'a> {
    /// Converts a string of a message, borrowed from the message unless it contains escapes. An unpaired surrogate
    /// becomes U+FFFD.
    fn from(text: Str<'a>) -> Self {
        Self(text.into())
    }
}

impl From<Text<'_>> for String {
    fn from(text: Text<'_>) -> Self {
        text.0.into_owned()
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other
    }
}

impl PartialEq<&str> for Text<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self.0 == **other
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}

impl Value for Text<'_> {
    const SHAPE: Shape = Shape::Text;

    #[inline]
    fn write(&self, out: &mut ModelWriter<'_, '_>) -> Written {
        out.string(self)
    }
}

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor).map(Self)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(String::from(text)))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text))
    }
}
