//! [`Raw`], a JSON value in its wire form.

use alloc::string::String;
use core::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde_json::value::RawValue;

use super::error::{JsonError, ParseError};
use super::name::Name;
use super::number::Number;
use super::scan::Scanner;
use super::shared::{Noted, TextCopy, WireText};
use super::space::trim;
use super::starts::MemberStarts;
use super::string::Str;
use super::walk::Walk;

/// The struct name with which `serde_json::value::RawValue` marks JSON text for a serializer.
pub(crate) const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// Valid JSON text: one value, unmodified, borrowed from the input or owned.
///
/// Inspect it with [`get`](Self::get), [`members`](Self::members) and [`elements`](Self::elements), which borrow and
/// allocate nothing, or decode it with [`parse`](Self::parse) into any type that serde knows. It is written into a
/// message byte for byte, except that white space is dropped if it contains a newline, because a frame is one line.
///
/// `Debug` shows the kind and the length, never the content.
///
/// ```
/// use mcp_sansio::json::Raw;
///
/// let raw = Raw::new(r#"{"city":"Oslo","days":[1,2]}"#)?;
/// assert_eq!(raw.get("days").map(|days| days.elements().count()), Some(2));
/// assert_eq!(raw.get("city").and_then(Raw::into_str).unwrap(), "Oslo");
/// assert_eq!(raw.pointer("/days/1").unwrap().as_json(), "2");
/// assert_eq!(format!("{raw:?}"), "Raw(object, 28 bytes)");
///
/// #[derive(serde::Deserialize)]
/// struct Forecast<'a> { city: &'a str, days: Vec<u8> }
/// let forecast: Forecast = raw.parse()?;
/// assert_eq!(forecast.days, [1, 2]);
/// # assert_eq!(forecast.city, "Oslo");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias(
    "JSONValue",
    "JSONObject",
    "JSONArray",
    "MetaObject",
    "RequestMetaObject",
    "NotificationMetaObject",
    "ResultMetaObject",
))]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Raw<'a> {
    /// One valid JSON value without surrounding white space.
    text: WireText<'a>,
}

/// The kinds of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "JSON will not get another kind")]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// A number
    Number,
    /// A string
    String,
    /// An array
    Array,
    /// An object
    Object,
}

impl Raw<'static> {
    /// `{}`
    pub const EMPTY_OBJECT: Self = Self::trusted("{}");

    /// `null`
    pub const NULL: Self = Self::trusted("null");
}

impl<'a> Raw<'a> {
    /// Checks that the text is one JSON value, of at most 127 levels.
    ///
    /// # Errors
    ///
    /// [`JsonError`], the defect and its position.
    pub fn new(text: &'a str) -> Result<Self, JsonError> {
        check(text)?;
        Ok(Self::trusted(trimmed(text)))
    }

    /// Wraps the value of a member of a scanned frame.
    pub(crate) const fn trusted(text: &'a str) -> Self {
        Self { text: WireText::Borrowed(text) }
    }

    /// Wraps an object of a scanned frame, with the starts of its members.
    pub(super) const fn noted(text: &'a str, starts: MemberStarts) -> Self {
        Self { text: WireText::Noted(Noted { text, starts }) }
    }

    #[cfg(test)]
    pub(super) const fn is_noted(&self) -> bool {
        matches!(self.text, WireText::Noted(..))
    }

    /// Wraps JSON text that this crate has composed.
    pub(crate) fn owned(text: String) -> Self {
        Self { text: WireText::from(text) }
    }

    /// Marks the value as meeting the requirements of a layer above: see [`is_vetted`](Self::is_vetted).
    pub(crate) fn vetted(self) -> Self {
        Self { text: self.text.vetted() }
    }

    /// Whether a layer above has already checked the value.
    pub(crate) const fn is_vetted(&self) -> bool {
        self.text.is_vetted()
    }

    /// Returns the JSON text; a string has its quotes and escapes. [`as_string`](Self::as_string) gives the decoded
    /// string.
    #[doc(alias("as_str", "get"))]
    pub fn as_json(&self) -> &str {
        &self.text
    }

    /// Returns the JSON text with the lifetime of the input, unless this is a copy.
    pub(crate) const fn borrowed(&self) -> Option<&'a str> {
        self.text.borrowed()
    }

    /// Returns the kind of the value.
    pub fn kind(&self) -> Kind {
        match self.text.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'n') | None => Kind::Null,
            Some(_) => Kind::Number,
        }
    }

    /// Decodes the value.
    ///
    /// # Errors
    ///
    /// [`ParseError`] if the value does not fit the type. A string with a surrogate that lacks its partner fits no
    /// Rust string; [`parse_lossy`](Self::parse_lossy) reads such values.
    pub fn parse<'b, T: Deserialize<'b>>(&'b self) -> Result<T, ParseError> {
        decoded(&self.text)
    }

    /// Decodes the value, with U+FFFD for every surrogate that lacks its partner.
    ///
    /// Programs that cut text in the middle of a character send such escapes
    /// ([RFC 8259, section 8.2](https://www.rfc-editor.org/rfc/rfc8259#section-8.2)).
    ///
    /// # Errors
    ///
    /// [`ParseError`] if the value does not fit the type.
    pub fn parse_lossy<T: DeserializeOwned>(&self) -> Result<T, ParseError> {
        Ok(serde_json::from_str(&super::surrogates::without_lone_surrogates(&self.text))?)
    }

    /// Returns the member of this name, `None` if it is absent or the value is not an object.
    ///
    /// Of several members of one name this is the last, as in most JSON parsers.
    pub fn get(&self, name: &str) -> Option<Raw<'_>> {
        let value = match &self.text {
            WireText::Noted(noted) => noted.member(name),
            text => member(text, name),
        };
        value.map(Raw::trusted)
    }

    /// Returns the value at a [JSON Pointer](https://www.rfc-editor.org/rfc/rfc6901): `/content/0/text`.
    pub fn pointer(&self, pointer: &str) -> Option<Raw<'_>> {
        let mut value = &*self.text;
        let Some(path) = pointer.strip_prefix('/') else {
            return pointer.is_empty().then_some(Raw::trusted(value));
        };
        for token in path.split('/') {
            let token = token.replace("~1", "/").replace("~0", "~");
            value = if value.starts_with('[') {
                Elements::of(value).nth(index(&token)?)?.borrowed()?
            } else {
                member(value, &token)?
            };
        }
        Some(Raw::trusted(value))
    }

    /// Returns the members of an object, in order. The iterator is empty if the value is not an object.
    pub fn members(&self) -> Members<'_> {
        Members::of(&self.text)
    }

    /// Returns the elements of an array, in order. The iterator is empty if the value is not an array.
    pub fn elements(&self) -> Elements<'_> {
        Elements::of(&self.text)
    }

    /// Returns the string, `None` if the value is not a string.
    pub fn as_string(&self) -> Option<Str<'_>> {
        Str::from_literal(&self.text)
    }

    /// Returns the string with the lifetime of the text of this value, `None` if the value is not a string.
    pub fn into_str(self) -> Option<Str<'a>> {
        match self.text.borrowed() {
            Some(text) => Str::from_literal(text),
            None => Str::from_literal(&self.text).map(Str::into_owned),
        }
    }

    /// Returns the number, `None` if the value is not a number or is too large for an `f64`.
    pub fn as_number(&self) -> Option<Number> {
        Number::from_literal(&self.text)
    }

    /// Returns the boolean, `None` if the value is not a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match &*self.text {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// Detaches the value from the input. Borrowed text is copied; owned or shared text is kept.
    pub fn into_owned(self) -> Raw<'static> {
        self.into_part(None)
    }

    /// Detaches the value from the input as a part of `copy`, if the value lies within the copied text.
    pub(crate) fn into_part(self, copy: Option<&TextCopy<'_>>) -> Raw<'static> {
        Raw { text: self.text.into_part(copy) }
    }
}

/// Parses a token of a JSON Pointer as an index: digits without a leading zero.
fn index(token: &str) -> Option<usize> {
    let digits = token.bytes().all(|byte| byte.is_ascii_digit());
    let canonical = token == "0" || !token.starts_with('0');
    (digits && canonical).then(|| token.parse().ok()).flatten()
}

/// The maximum nesting depth of a value that serde_json can decode.
const DECODABLE_DEPTH: u8 = 127;

/// Checks that the text is one JSON value, and does not nest deeper than serde_json can decode.
pub(crate) fn check(text: &str) -> Result<(), JsonError> {
    let mut scanner = Scanner::new(text.as_bytes(), DECODABLE_DEPTH);
    let (start, _) = scanner.next(0);
    let end = scanner.value(start, 0).map_err(|broken| scanner.error(broken))?;
    scanner.end(end)?;
    scanner.flaw().map_or(Ok(()), Err)
}

fn trimmed(text: &str) -> &str {
    // Removing ASCII bytes from the ends of UTF-8 leaves UTF-8.
    core::str::from_utf8(trim(text.as_bytes())).unwrap_or_default()
}

impl TryFrom<String> for Raw<'static> {
    type Error = JsonError;

    fn try_from(text: String) -> Result<Self, JsonError> {
        check(&text)?;
        let trimmed = trimmed(&text);
        let text = if trimmed.len() == text.len() { text } else { String::from(trimmed) };
        Ok(Self::owned(text))
    }
}

impl fmt::Display for Raw<'_> {
    /// Writes the JSON text.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.text)
    }
}

impl fmt::Debug for Raw<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind() {
            Kind::Null => "null",
            Kind::Boolean => "boolean",
            Kind::Number => "number",
            Kind::String => "string",
            Kind::Array => "array",
            Kind::Object => "object",
        };
        write!(formatter, "Raw({kind}, {} bytes)", self.text.len())
    }
}

impl From<Str<'_>> for Raw<'static> {
    fn from(string: Str<'_>) -> Self {
        let wire = string.as_wire();
        let mut text = String::with_capacity(wire.len() + 2);
        text.push('"');
        text.push_str(wire);
        text.push('"');
        Self::owned(text)
    }
}

impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut raw = serializer.serialize_struct(RAW_VALUE, 1)?;
        raw.serialize_field(RAW_VALUE, &*self.text)?;
        raw.end()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    /// Borrows the value. Works from text (`serde_json::from_str`, [`Raw::parse`]), as [`RawValue`] does.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&'de RawValue>::deserialize(deserializer).map(|value| Self::trusted(value.get()))
    }
}

/// An iterator over the members of an object, see [`Raw::members`].
#[derive(Clone)]
pub struct Members<'a> {
    texts: MemberTexts<'a>,
}

impl<'a> Members<'a> {
    /// Iterates over the members of a scanned JSON text; empty if it is not an object.
    pub(crate) fn of(text: &'a str) -> Self {
        Self { texts: MemberTexts::of(text) }
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (Str<'a>, Raw<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.texts.next().map(|(key, value)| (key.into_string(), Raw::trusted(value)))
    }
}

impl fmt::Debug for Members<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Members").finish_non_exhaustive()
    }
}

/// An iterator over the members of an object, with their values as text of the input.
#[derive(Clone)]
pub(crate) struct MemberTexts<'a> {
    walk: Walk<'a>,
    more: bool,
}

impl<'a> MemberTexts<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        Self::from(Walk::new(text))
    }
}

impl<'a> From<Walk<'a>> for MemberTexts<'a> {
    /// Iterates over the members of the next object; empty if the next value is not an object.
    fn from(mut walk: Walk<'a>) -> Self {
        let more = walk.enter(b'{', b'}');
        Self { walk, more }
    }
}

impl<'a> Iterator for MemberTexts<'a> {
    type Item = (Name<'a>, &'a str);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if !self.more {
            return None;
        }
        let key = self.walk.key()?;
        let value = self.walk.value()?;
        self.more = self.walk.take(b',');
        Some((key, value))
    }
}

/// Decodes one JSON value that has been checked.
pub(crate) fn decoded<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, ParseError> {
    Ok(serde_json::from_str(text)?)
}

/// Returns the last member of this name of a scanned object.
pub(crate) fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    MemberTexts::of(object).filter(|(key, _)| *key == *name).last().map(|(_, value)| value)
}

/// An iterator over the elements of an array, see [`Raw::elements`].
#[derive(Clone)]
pub struct Elements<'a> {
    walk: Walk<'a>,
    more: bool,
}

impl<'a> Elements<'a> {
    /// Iterates over the elements of a scanned JSON text; empty if it is not an array.
    pub(crate) fn of(text: &'a str) -> Self {
        let mut walk = Walk::new(text);
        let more = walk.take(b'[') && walk.peek() != Some(b']');
        Self { walk, more }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Raw<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        if !self.more {
            return None;
        }
        let value = self.walk.value()?;
        self.more = self.walk.take(b',');
        Some(Raw::trusted(value))
    }
}

impl fmt::Debug for Elements<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Elements").finish_non_exhaustive()
    }
}
