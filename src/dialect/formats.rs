//! The formats of strings in a form.

use crate::schema::shape::is_uri;

/// Whether text has the given format. Only four formats are checked; any other format accepts all text.
///
/// The checks are light: they detect wrong input, but not every string that a standard excludes.
pub(super) fn has_format(text: &str, format: &str) -> bool {
    match format {
        "email" => is_email(text),
        "uri" => is_uri(text),
        "date" => is_date(text),
        "date-time" => is_date_time(text),
        _ => true,
    }
}

fn is_email(text: &str) -> bool {
    let plain = !text.contains(char::is_whitespace);
    text.rsplit_once('@').is_some_and(|(name, host)| plain && !name.is_empty() && !host.is_empty())
}

/// Accepts `2025-11-25`, with the number of days of the month.
fn is_date(text: &str) -> bool {
    let mut parts = text.split('-');
    let (Some(year), Some(month), Some(day), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2))
    else {
        return false;
    };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    (1..=12).contains(&month) && (1..=days).contains(&day)
}

/// Accepts `2025-11-25T12:30:00Z`, with an optional fraction of a second and an offset
/// ([RFC 3339](https://www.rfc-editor.org/rfc/rfc3339#section-5.6)).
fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else { return false };
    let Some(end) = time.find(['Z', 'z', '+', '-']) else { return false };
    let (clock, offset) = time.split_at(end);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let is_offset = match offset.strip_prefix(['+', '-']) {
        Some(offset) => is_clock(offset, &[23, 59]),
        None => offset.len() == 1,
    };
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    // A minute can have a leap second.
    is_date(date) && is_clock(clock, &[23, 59, 60]) && is_fraction && is_offset
}

/// Accepts two-digit numbers separated by colons, each within its bound.
fn is_clock(text: &str, bounds: &[u32]) -> bool {
    let mut parts = text.split(':');
    bounds
        .iter()
        .all(|bound| parts.next().and_then(|part| digits(part, 2)).is_some_and(|n| n <= *bound))
        && parts.next().is_none()
}

/// Reads a number of exactly `count` digits.
fn digits(text: &str, count: usize) -> Option<u32> {
    let all = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if all { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves L-ELIC-11.
    #[test]
    fn the_four_formats_and_any_other() {
        let table = [
            ("email", &["a@b", "first.last@example.com"][..], &["", "@", "a@", "@b", "a b@c"][..]),
            (
                "uri",
                &["https://example.com/a?b#c", "mailto:a@b", "urn:x:y"],
                &["", "example.com", ":", "https:", "1a:b", "a b:c", "x:a b", "x:a\u{7f}b"],
            ),
            (
                "date",
                &["2024-02-29", "2025-12-31", "2000-02-29", "0001-01-01", "2025-11-30"],
                &[
                    "2025-02-29",
                    "1900-02-29",
                    "2025-13-01",
                    "2025-00-01",
                    "2025-1-1",
                    "20250101",
                    "2025-01-01-",
                    "2025-04-31",
                    "2025-06-31",
                    "2025-09-31",
                    "2025-11-31",
                    "+025-01-01",
                ],
            ),
            (
                "date-time",
                &[
                    "2025-11-25T12:30:00Z",
                    "2025-11-25t23:59:60.123+02:00",
                    "2025-11-25T00:00:00-23:59",
                ],
                &[
                    "2025-11-25",
                    "2025-11-25 12:30:00Z",
                    "2025-11-25T12:30Z",
                    "2025-11-25T24:00:00Z",
                    "2025-11-25T12:30:00",
                    "2025-11-25T12:30:00.Z",
                    "2025-11-25T12:30:00.1aZ",
                    "2025-11-25T12:30:00+2:00",
                    "2025-11-25T12:30:00Zz",
                ],
            ),
            ("postcode", &["", "anything"], &[]),
        ];
        for (format, good, bad) in table {
            for text in good {
                assert!(has_format(text, format), "{format} {text:?}");
            }
            for text in bad {
                assert!(!has_format(text, format), "{format} {text:?}");
            }
        }
    }
}
