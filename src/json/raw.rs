//! A JSON value as it stands on the wire.

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

/// The name by which `serde_json::value::RawValue` tells a serializer that it is JSON already.
pub(crate) const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// Valid JSON text: one value, untouched, borrowed from the input or owned.
///
/// Look into it with [`get`](Self::get), [`members`](Self::members) and
/// [`elements`](Self::elements), which borrow and allocate nothing, or decode it with
/// [`parse`](Self::parse) into any type that serde knows. Written into a message it goes out byte
/// for byte, except that white space is dropped if it holds a newline, because a frame is one line.
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
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Raw<'a> {
    /// One valid JSON value without white space around it.
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
    /// [`JsonError`] says what is wrong and where.
    pub fn new(text: &'a str) -> Result<Self, JsonError> {
        check(text)?;
        Ok(Self::trusted(trimmed(text)))
    }

    /// The value of a member of a scanned frame.
    pub(crate) const fn trusted(text: &'a str) -> Self {
        Self { text: WireText::Borrowed(text) }
    }

    /// An object of a scanned frame, with where its members begin.
    pub(super) const fn noted(text: &'a str, starts: MemberStarts) -> Self {
        Self { text: WireText::Noted(Noted { text, starts }) }
    }

    #[cfg(test)]
    pub(super) const fn is_noted(&self) -> bool {
        matches!(self.text, WireText::Noted(..))
    }

    /// A value that has been put together here.
    pub(crate) fn owned(text: String) -> Self {
        Self { text: WireText::from(text) }
    }

    /// The same value, which a layer above has found to be what it needs: see [`is_vetted`](Self::is_vetted).
    pub(crate) fn vetted(self) -> Self {
        Self { text: self.text.vetted() }
    }

    /// Whether a layer above need not look at it again.
    pub(crate) const fn is_vetted(&self) -> bool {
        self.text.is_vetted()
    }

    /// The JSON text: of a string with its quotes and escapes. What the string says is
    /// [`as_string`](Self::as_string).
    pub fn as_json(&self) -> &str {
        &self.text
    }

    /// The JSON text for as long as the input lives, unless this is a copy.
    pub(crate) const fn borrowed(&self) -> Option<&'a str> {
        self.text.borrowed()
    }

    /// What kind of value it is.
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
    /// [`ParseError`] if the value does not fit the type. A string with a surrogate that lacks its
    /// partner fits no Rust string; [`parse_lossy`](Self::parse_lossy) reads such values.
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

    /// The member of this name, `None` if there is none or the value is no object.
    ///
    /// Of several members of one name this is the last, as most JSON parsers have it.
    pub fn get(&self, name: &str) -> Option<Raw<'_>> {
        let value = match &self.text {
            WireText::Noted(noted) => noted.member(name),
            text => member(text, name),
        };
        value.map(Raw::trusted)
    }

    /// The value at a [JSON Pointer](https://www.rfc-editor.org/rfc/rfc6901): `/content/0/text`.
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

    /// The members of an object, in order. No members if the value is no object.
    pub fn members(&self) -> Members<'_> {
        Members::of(&self.text)
    }

    /// The elements of an array, in order. No elements if the value is no array.
    pub fn elements(&self) -> Elements<'_> {
        Elements::of(&self.text)
    }

    /// The string, `None` if the value is none.
    pub fn as_string(&self) -> Option<Str<'_>> {
        Str::from_literal(&self.text)
    }

    /// The string for as long as the text of this value lives, `None` if the value is none.
    pub fn into_str(self) -> Option<Str<'a>> {
        match self.text.borrowed() {
            Some(text) => Str::from_literal(text),
            None => Str::from_literal(&self.text).map(Str::into_owned),
        }
    }

    /// The number, `None` if the value is none or too large for an `f64`.
    pub fn as_number(&self) -> Option<Number> {
        Number::from_literal(&self.text)
    }

    /// The truth value, `None` if the value is none.
    pub fn as_bool(&self) -> Option<bool> {
        match &*self.text {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// The same value with its own copy of the text. What is a copy already, or shares one, goes on doing so.
    pub fn into_owned(self) -> Raw<'static> {
        self.into_part(None)
    }

    /// The same value as a part of a copy, if it lies within the text that was copied.
    pub(crate) fn into_part(self, copy: Option<&TextCopy<'_>>) -> Raw<'static> {
        Raw { text: self.text.into_part(copy) }
    }
}

/// The index that a token of a JSON Pointer is: digits, and no zero in front of others.
fn index(token: &str) -> Option<usize> {
    let digits = token.bytes().all(|byte| byte.is_ascii_digit());
    let canonical = token == "0" || !token.starts_with('0');
    (digits && canonical).then(|| token.parse().ok()).flatten()
}

/// How deep a value may nest that serde_json can decode.
const DECODABLE_DEPTH: u8 = 127;

/// Checks that the text is one JSON value.
fn check(text: &str) -> Result<(), JsonError> {
    let mut scanner = Scanner::new(text.as_bytes(), DECODABLE_DEPTH);
    let (start, _) = scanner.next(0);
    let end = scanner.value(start, 0).map_err(|broken| scanner.error(broken))?;
    scanner.end(end)?;
    scanner.flaw().map_or(Ok(()), Err)
}

fn trimmed(text: &str) -> &str {
    // Trimming ASCII from UTF-8 leaves UTF-8.
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
    /// The JSON text.
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
        if mutant!("debug_shows_payloads") {
            return write!(formatter, "{kind} {}", self.as_json());
        }
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
    /// Borrows the value. Works from text (`serde_json::from_str`, [`Raw::parse`]), as
    /// [`RawValue`] does.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&'de RawValue>::deserialize(deserializer).map(|value| Self::trusted(value.get()))
    }
}

/// The members of an object, see [`Raw::members`].
#[derive(Clone)]
pub struct Members<'a> {
    texts: MemberTexts<'a>,
}

impl<'a> Members<'a> {
    /// The members of a JSON text that has been scanned, none if it is no object.
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

/// The members of an object, with their values as text of the input.
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
    /// The members of the object that comes next, none if it is no object.
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

/// The last member of this name of an object that has been scanned.
pub(crate) fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    MemberTexts::of(object).filter(|(key, _)| *key == *name).last().map(|(_, value)| value)
}

/// The elements of an array, see [`Raw::elements`].
#[derive(Clone)]
pub struct Elements<'a> {
    walk: Walk<'a>,
    more: bool,
}

impl<'a> Elements<'a> {
    /// The elements of a JSON text that has been scanned, none if it is no array.
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
