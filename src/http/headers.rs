//! [`Headers`], the header fields of an HTTP message as received.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;

/// The header fields of a request or a response: names and values in order, including repeated ones.
///
/// `Debug` shows only the names, because values may be secrets.
///
/// ```
/// use mcp_sansio::http::{Field, Headers, name};
///
/// let fields = [("mcp-method", &b" tools/list "[..]), ("X-Twice", b"1"), ("x-twice", b"2")];
/// let headers = Headers::from(&fields[..]);
/// assert_eq!(headers.get(name::METHOD), Field::Once("tools/list"));
/// assert_eq!(headers.get("X-Twice"), Field::Repeated);
/// assert_eq!(headers.get(name::NAME), Field::Absent);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Headers<'a> {
    fields: &'a [(&'a str, &'a [u8])],
}

/// The value of a header field that must not be repeated.
///
/// `Debug` shows only the length of the value.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "none, one, or several, and one may be broken")]
pub enum Field<'a> {
    /// The field is absent.
    Absent,
    /// The field occurs once. The value consists of visible ASCII, spaces and tabs, without surrounding white space.
    Once(&'a str),
    /// The field occurs several times, with equal or different values. The sender is at fault.
    Repeated,
    /// The value contains bytes other than visible ASCII, spaces and tabs. The sender is at fault.
    NotText,
}

impl<'a> From<&'a [(&'a str, &'a [u8])]> for Headers<'a> {
    fn from(fields: &'a [(&'a str, &'a [u8])]) -> Self {
        Self { fields }
    }
}

impl<'a> Headers<'a> {
    /// Returns the header field of this name, ignoring case.
    pub fn get(self, name: &str) -> Field<'a> {
        let mut found = None;
        for (key, value) in self.fields {
            if is_name(key, name) && found.replace(*value).is_some() {
                return Field::Repeated;
            }
        }
        let Some(value) = found else { return Field::Absent };
        text(value).map_or(Field::NotText, Field::Once)
    }

    /// Returns the unmodified value of a header field that occurs once. A caller can compare it with an expected value
    /// before it [validates](Self::get) the field.
    #[inline]
    pub(super) fn only(self, name: &str) -> Option<&'a [u8]> {
        let mut values = self.all(name);
        values.next().filter(|_| values.next().is_none())
    }

    /// Returns the combined value of a header field that is a list, such as `WWW-Authenticate`, or `None` if it is
    /// absent. The values of all fields of this name are joined in order by a comma and a space
    /// ([RFC 9110, section 5.3](https://www.rfc-editor.org/rfc/rfc9110#section-5.3)).
    ///
    /// Empty values are omitted. A value with bytes beyond ASCII, which only quoted text can contain, is read as
    /// UTF-8; U+FFFD replaces invalid UTF-8. A space replaces each control character other than a tab, so the
    /// combined value is one line.
    ///
    /// ```
    /// use mcp_sansio::http::Headers;
    ///
    /// let fields = [("WWW-Authenticate", &b"Basic"[..]), ("www-authenticate", b"Bearer realm=\"\xff\"")];
    /// let headers = Headers::from(&fields[..]);
    /// let combined = headers.combined("WWW-Authenticate");
    /// assert_eq!(combined.as_deref(), Some("Basic, Bearer realm=\"\u{fffd}\""));
    /// ```
    pub fn combined(self, name: &str) -> Option<String> {
        let mut values = self.all(name).peekable();
        values.peek()?;
        let mut combined = String::new();
        for value in values {
            let value = readable(value);
            if !combined.is_empty() && !value.is_empty() {
                combined.push_str(", ");
            }
            combined.push_str(&value);
        }
        Some(combined)
    }

    /// Returns the unmodified values of all header fields of this name, in order.
    pub fn all(self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        let is_it = move |(key, _): &&(&str, &[u8])| is_name(key, name);
        self.fields.iter().filter(is_it).map(|(_, value)| *value)
    }
}

/// Returns a value without surrounding white space, or `None` if it is not text.
///
/// [RFC 9110, section 5.5](https://www.rfc-editor.org/rfc/rfc9110#section-5.5) permits bytes beyond ASCII only as
/// obsolete text, and no control characters.
pub(super) fn text(value: &[u8]) -> Option<&str> {
    // Fast path: most values pass eight bytes at a time; only other words are checked byte by byte.
    let (words, rest) = value.as_chunks();
    let is_text = |byte: &u8| matches!(byte, b'\t' | b' '..=b'~');
    if !words.iter().all(|word| is_visible(*word) || word.iter().all(is_text))
        || !rest.iter().all(is_text)
    {
        return None;
    }
    // Only spaces and tabs are trimmed: other white space was rejected above.
    core::str::from_utf8(value.trim_ascii()).ok()
}

/// The lowest bit of each of eight bytes.
const ONES: u64 = u64::from_ne_bytes([1; 8]);

/// The highest bit of each of eight bytes.
const HIGH: u64 = ONES << 7;

/// Whether all eight bytes are visible ASCII or spaces.
const fn is_visible(bytes: [u8; 8]) -> bool {
    let word = u64::from_ne_bytes(bytes);
    // The high bit of a byte is set in `word` if the byte is beyond ASCII, in the difference if the byte is below a
    // space, and in the sum if the byte is DEL. Only bytes that are already marked cause a carry or borrow.
    (word | word.wrapping_sub(ONES * b' ' as u64) | word.wrapping_add(ONES)) & HIGH == 0
}

/// Whether two names are equal, ignoring case. Most different names differ in length, or else in the first letter.
#[inline(always)]
fn is_name(key: &str, name: &str) -> bool {
    let first = |text: &str| text.as_bytes().first().map(|byte| byte | CASE);
    key.len() == name.len() && first(key) == first(name) && is_same_letters(key, name)
}

/// Whether two names of equal length are equal, ignoring case.
fn is_same_letters(key: &str, name: &str) -> bool {
    let (keys, names) = (key.as_bytes().as_chunks(), name.as_bytes().as_chunks());
    keys.0.iter().zip(names.0).all(|(key, name)| is_same_word(*key, *name))
        && keys.1.eq_ignore_ascii_case(names.1)
}

/// The bit in which a capital letter differs from the small one.
const CASE: u8 = 0x20;

/// Whether eight bytes are equal, ignoring the case of letters.
const fn is_same_word(one: [u8; 8], other: [u8; 8]) -> bool {
    let one = u64::from_ne_bytes(one);
    let difference = one ^ u64::from_ne_bytes(other);
    if difference & !(ONES * CASE as u64) != 0 {
        return false;
    }
    // The high bit of a byte of `beyond_z` is set if the small letter is greater than `z`, and of `from_a` if it is at
    // least `a`. Without their own high bits, the bytes carry nothing into one another.
    let small = (one | (ONES * CASE as u64)) & !HIGH;
    let from_a = small + ONES * (0x80 - b'a' as u64);
    let beyond_z = small + ONES * (0x80 - b'z' as u64 - 1);
    let letters = from_a & !beyond_z & !one & HIGH;
    // A difference is bit 5 of a byte, and `letters` has bit 7.
    (difference << 2) & !letters == 0
}

/// Returns a value of a list as text without surrounding white space, for any bytes: see [`Headers::combined`].
pub(super) fn readable(value: &[u8]) -> Cow<'_, str> {
    if let Some(text) = text(value) {
        return Cow::Borrowed(text);
    }
    let is_stray = |character: char| character.is_control() && character != '\t';
    let text = String::from_utf8_lossy(value).replace(is_stray, " ");
    Cow::Owned(text.trim_matches([' ', '\t']).into())
}

impl fmt::Debug for Headers<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.fields.iter().map(|(name, _)| name)).finish()
    }
}

impl fmt::Debug for Field<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => formatter.write_str("Absent"),
            Self::Once(value) => write!(formatter, "Once({} bytes)", value.len()),
            Self::Repeated => formatter.write_str("Repeated"),
            Self::NotText => formatter.write_str("NotText"),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    fn get<'a>(fields: &'a [(&'a str, &'a [u8])], name: &str) -> Field<'a> {
        Headers::from(fields).get(name)
    }

    #[test]
    fn names_have_no_case_and_values_have() {
        for name in ["Mcp-Method", "mcp-method", "MCP-METHOD"] {
            assert_eq!(get(&[(name, b"tools/list")], "Mcp-Method"), Field::Once("tools/list"));
            assert_eq!(get(&[("Mcp-Method", b"x")], name), Field::Once("x"));
        }
        assert_ne!(get(&[("a", b"TOOLS/LIST")], "a"), Field::Once("tools/list"));
        for other in ["Mcp-Methods", "Mcp-Metho", "Mcp-MethMcp-Method", "od"] {
            assert_eq!(get(&[(other, b"x")], "Mcp-Method"), Field::Absent, "{other}");
            assert_eq!(get(&[("Mcp-Method", b"x")], other), Field::Absent, "{other}");
        }
    }

    #[test]
    fn values_lose_spaces_and_tabs_around_them_and_no_others() {
        let table: [(&[u8], &str); 6] = [
            (b"  tool  ", "tool"),
            (b"\t \ttool\t", "tool"),
            (b"a b\tc", "a b\tc"),
            (b"", ""),
            (b" \t ", ""),
            (b"!~", "!~"),
        ];
        for (value, expected) in table {
            assert_eq!(get(&[("a", value)], "a"), Field::Once(expected));
        }
    }

    #[test]
    fn a_header_value_that_is_not_text_is_rejected() {
        let table: [&[u8]; 8] =
            [b"a\rb", b"a\nb", b"\0", b"a\x0b", b"\x7f", "é".as_bytes(), b"\xff", b"a\n"];
        for value in table {
            assert_eq!(get(&[("a", value)], "a"), Field::NotText, "{value:?}");
        }
    }

    #[test]
    fn every_byte_counts_wherever_it_stands() {
        for length in 1..=18 {
            for at in 0..length {
                for byte in 0..=u8::MAX {
                    let mut value = vec![b'~'; length];
                    if let Some(place) = value.get_mut(at) {
                        *place = byte;
                    }
                    let is_text = matches!(byte, b'\t' | b' '..=b'~');
                    assert_eq!(text(&value).is_some(), is_text, "{byte} at {at} of {length}");
                }
            }
        }
        assert_eq!(text(b"12345678\t \t\t \t \t"), Some("12345678"));
        assert_eq!(text(b"\x1f\x20\x20\x20\x20\x20\x20\x20"), None);
    }

    #[test]
    fn names_differ_in_any_letter() {
        let name = "MCP-Protocol-Version";
        for at in 0..name.len() {
            for byte in [b'x', b'-', b'M' ^ 0x80, b'@', b'`', b'[', b'{'] {
                let mut other = Vec::from(name);
                let Some(place) = other.get_mut(at) else { continue };
                let is_same = place.eq_ignore_ascii_case(&byte);
                *place = byte;
                let Ok(other) = core::str::from_utf8(&other) else { continue };
                assert_eq!(get(&[(other, b"")], name) == Field::Once(""), is_same, "{other}");
            }
        }
        assert_eq!(get(&[("", b"x")], ""), Field::Once("x"));
    }

    /// Every pair of bytes, at every place of eight: the same as byte by byte.
    #[test]
    fn words_are_compared_like_bytes() {
        for at in 0..8 {
            for one in 0..=u8::MAX {
                for other in 0..=u8::MAX {
                    for around in [b'a', b'Z', 0xff] {
                        let word = |byte| {
                            let mut word = [around; 8];
                            word.iter_mut().skip(at).take(1).for_each(|place| *place = byte);
                            word
                        };
                        let is_same = one.eq_ignore_ascii_case(&other);
                        assert_eq!(
                            is_same_word(word(one), word(other)),
                            is_same,
                            "{one} {other} at {at}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_repeated_header_is_rejected() {
        assert_eq!(get(&[("a", b"1"), ("b", b"2"), ("A", b"1")], "a"), Field::Repeated);
        assert_eq!(get(&[("a", b"\xff"), ("a", b"1")], "a"), Field::Repeated);
        let fields: [(&str, &[u8]); 3] = [("a", b" 1"), ("b", b"2"), ("A", b"\xff")];
        let all: Vec<&[u8]> = Headers::from(&fields[..]).all("a").collect();
        assert_eq!(all, [&b" 1"[..], b"\xff"]);
    }

    fn combined(values: &[&[u8]]) -> Option<String> {
        let fields: Vec<(&str, &[u8])> =
            values.iter().map(|value| ("WWW-Authenticate", *value)).collect();
        Headers::from(&fields[..]).combined("www-authenticate")
    }

    #[test]
    fn the_values_of_a_list_are_joined_in_their_order() {
        let table: [(&[&[u8]], Option<&str>); 9] = [
            (&[], None),
            (&[b""], Some("")),
            (&[b" Bearer\t"], Some("Bearer")),
            (
                &[b"Negotiate", b" Bearer realm=\"a\" ", b"Basic"],
                Some("Negotiate, Bearer realm=\"a\", Basic"),
            ),
            (&[b"", b"Bearer", b" ", b"Basic", b""], Some("Bearer, Basic")),
            (&["Bearer realm=\"caf\u{e9}\"".as_bytes()], Some("Bearer realm=\"caf\u{e9}\"")),
            (&[b"Bearer realm=\"caf\xe9\"", b"Basic"], Some("Bearer realm=\"caf\u{fffd}\", Basic")),
            (&[b"a\r\nb\0c\td\x7f"], Some("a  b c\td")),
            (&["a\u{85}b".as_bytes()], Some("a b")),
        ];
        for (values, expected) in table {
            assert_eq!(combined(values).as_deref(), expected, "{values:?}");
        }
        let fields: [(&str, &[u8]); 3] = [("a", b"1"), ("b", b"2"), ("A", b"3")];
        assert_eq!(Headers::from(&fields[..]).combined("a").as_deref(), Some("1, 3"));
    }

    #[test]
    fn values_are_not_shown() {
        let fields: [(&str, &[u8]); 2] = [("Authorization", b"secret"), ("A", b"hidden")];
        let headers = Headers::from(&fields[..]);
        assert_eq!(format!("{headers:?}"), r#"["Authorization", "A"]"#);
        assert_eq!(format!("{:?}", headers.get("a")), "Once(6 bytes)");
    }
}
