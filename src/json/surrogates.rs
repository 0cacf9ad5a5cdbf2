//! Repair of JSON text with lone surrogates.

use alloc::borrow::Cow;
use alloc::string::String;

/// Returns valid JSON text with `\ufffd` in place of each surrogate escape that lacks its partner.
pub(super) fn without_lone_surrogates(text: &str) -> Cow<'_, str> {
    let mut repaired = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(run) = text.as_bytes().get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += run;
        match (surrogate(text, at), surrogate(text, at + 6)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => at += 12,
            (Some(0xd800..0xe000), _) => {
                repaired.push_str(text.get(copied..at).unwrap_or_default());
                repaired.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            _ => at += 2,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    repaired.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(repaired)
}

/// Returns the code unit of the `\u` escape at this offset, if there is one.
fn surrogate(text: &str, at: usize) -> Option<u32> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u32::from_str_radix(digits, 16).ok()
}
