//! Encoding of text that may not be a valid header value, from 2026-07-28 on.
//!
//! [Value encoding](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http): text
//! that a header value cannot contain is sent as base64 of its UTF-8, between a prefix and a suffix.

use alloc::borrow::Cow;
use alloc::string::String;

use crate::base64::Base64;

/// The prefix of an encoded value; case matters.
const PREFIX: &str = "=?base64?";

/// The suffix of an encoded value.
const SUFFIX: &str = "?=";

/// A value has the prefix and suffix of an encoded value, but not valid base64 of UTF-8 between them.
///
/// The sender is at fault: a server responds with status 400 and `-32020`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("the value of a header is marked as base64, and is none")]
#[non_exhaustive]
pub struct InvalidSentinel;

/// Encodes text as a header value: the text itself if a header value can carry it unchanged, otherwise its encoded
/// form.
///
/// The value consists of visible ASCII and inner spaces, so text cannot end the header or start another. Text with
/// tabs is always encoded. The value is at most a third longer than the text, plus 15 bytes.
///
/// ```
/// use mcp_sansio::http::{decode_value, encode_value};
///
/// assert_eq!(encode_value("us west 1"), "us west 1");
/// assert_eq!(encode_value("Hello, 世界"), "=?base64?SGVsbG8sIOS4lueVjA==?=");
/// assert_eq!(decode_value("=?base64?SGVsbG8sIOS4lueVjA==?=")?, "Hello, 世界");
/// # Ok::<(), mcp_sansio::http::InvalidSentinel>(())
/// ```
pub fn encode_value(text: &str) -> Cow<'_, str> {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let has_edges = text.starts_with(' ') || text.ends_with(' ');
    // Also if prefix and suffix overlap: some readers decode such a value to empty text.
    let is_marked = text.starts_with(PREFIX) && text.ends_with(SUFFIX);
    if is_plain && !has_edges && !is_marked {
        return Cow::Borrowed(text);
    }
    let length = PREFIX.len() + text.len().div_ceil(3) * 4 + SUFFIX.len();
    let mut value = String::with_capacity(length);
    value.push_str(PREFIX);
    Base64::Padded.encode(text.as_bytes(), &mut value);
    value.push_str(SUFFIX);
    Cow::Owned(value)
}

/// Decodes the text of a header value: see [`encode_value`]. Surrounding white space must already be removed, as
/// [`Headers::get`](super::Headers::get) does.
///
/// A value without both prefix and suffix, or with either in another case, is literal text.
///
/// # Errors
///
/// [`InvalidSentinel`] if the value has prefix and suffix, but invalid text between them: another alphabet, missing
/// or excess padding, non-zero trailing bits, or bytes that are not UTF-8.
pub fn decode_value(value: &str) -> Result<Cow<'_, str>, InvalidSentinel> {
    let encoded = value.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    let Some(encoded) = encoded else { return Ok(Cow::Borrowed(value)) };
    let bytes = Base64::Padded.decode(encoded).ok_or(InvalidSentinel)?;
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| InvalidSentinel)
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    /// Proves H-HTTP-49, H-HTTP-77, H-HTTP-78, M-AMB-29
    #[test]
    fn unsafe_header_values_are_encoded_as_base64() {
        // The values of the conformance suite come first.
        let table = [
            ("us-west1", "us-west1"),
            ("42", "42"),
            ("false", "false"),
            ("true", "true"),
            ("", ""),
            ("test-method", "test-method"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            (" leading", "=?base64?IGxlYWRpbmc=?="),
            ("trailing ", "=?base64?dHJhaWxpbmcg?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("line1\r\nline2", "=?base64?bGluZTENCmxpbmUy?="),
            ("\tindented", "=?base64?CWluZGVudGVk?="),
            ("us west 1", "us west 1"),
            ("us-east1", "us-east1"),
            ("1", "1"),
            ("é", "=?base64?w6k=?="),
            (" a", "=?base64?IGE=?="),
            ("a\tb", "=?base64?YQli?="),
            ("\u{7f}", "=?base64?fw==?="),
            ("\0", "=?base64?AA==?="),
            (" ", "=?base64?IA==?="),
            ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
            ("=?base64??=", "=?base64?PT9iYXNlNjQ/Pz0=?="),
            ("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
            ("=?BASE64?x?=", "=?BASE64?x?="),
            ("=?base64?x", "=?base64?x"),
            ("x?=", "x?="),
            ("!~", "!~"),
        ];
        for (text, value) in table {
            assert_eq!(encode_value(text), value, "{text:?}");
            assert_eq!(decode_value(value).as_deref(), Ok(text), "{text:?}");
        }
    }

    /// Proves H-HTTP-50
    #[test]
    fn uris_stay_unencoded_in_header_values() {
        for uri in ["file:///path%20x", "https://example.com/a?id=1&b=%C3%A9#c", "x://[::1]/~a"] {
            assert!(matches!(encode_value(uri), Cow::Borrowed(value) if value == uri));
        }
    }

    /// Proves H-HTTP-09
    #[test]
    fn no_text_ends_its_header() {
        assert_eq!(encode_value("a\r\nX: y"), "=?base64?YQ0KWDogeQ==?=");
        let characters = ('\0'..='\u{2fff}').chain(['\u{feff}', '\u{10ffff}']);
        for character in characters {
            for text in [format!("{character}"), format!("a{character}b")] {
                let value = encode_value(&text);
                assert!(value.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{text:?}");
                assert_eq!(value.trim_matches(' '), value, "{text:?}");
                assert_eq!(decode_value(&value).as_deref(), Ok(&*text), "{text:?}");
            }
        }
    }

    /// Proves H-HTTP-58
    #[test]
    fn marks_around_anything_else_are_an_error() {
        let broken = [
            "SGVsbG8",
            "SGVs!!!bG8=",
            "SGVsbG9=",
            "SGVsbG8==",
            "SGVs bG8=",
            "SGVsbG8=\t",
            "_-_-",
            "=",
            "/w==",
            "7aCA",
            "w6k",
        ];
        for encoded in broken {
            assert_eq!(decode_value(&format!("=?base64?{encoded}?=")), Err(InvalidSentinel));
        }
        assert_eq!(decode_value("=?base64?SGVsbG8=?=").as_deref(), Ok("Hello"));
        assert_eq!(decode_value("=?base64??=").as_deref(), Ok(""));
    }

    /// Proves H-HTTP-59
    #[test]
    fn without_both_marks_a_value_says_itself() {
        let literal = [
            "SGVsbG8=",
            "=?base64?SGVsbG8=",
            "SGVsbG8=?=",
            "=?BASE64?SGVsbG8=?=",
            "=?Base64?SGVsbG8=?=",
            "=?base64?=",
            "=?base64?",
            "?=",
            "x=?base64?SGVsbG8=?=",
            "=?base64?SGVsbG8=?=x",
            "=?utf-8?B?SGVsbG8=?=",
        ];
        for value in literal {
            assert_eq!(decode_value(value).as_deref(), Ok(value));
        }
    }
}
