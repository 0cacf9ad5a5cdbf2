//! Media types in `Content-Type` and `Accept`.

use super::headers::{Field, Headers, readable};
use super::name;

const JSON: &str = "application/json";

const EVENT_STREAM: &str = "text/event-stream";

/// Whether the sender accepts this media type, by its `Accept` headers; `None` if there are none.
///
/// Wildcards such as `*/*` and `application/*` match. The most specific matching range decides; with a weight of 0 it
/// excludes the media type ([RFC 9110, section 12.5.1](https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1)).
/// Parameters other than the weight are ignored. An invalid weight is ignored too: a client that writes one accepts
/// some content. A range that is not text matches nothing.
///
/// ```
/// use mcp_sansio::http::{Headers, accepts};
///
/// let fields = [("Accept", &b"application/json;q=0.5, text/*"[..])];
/// let headers = Headers::from(&fields[..]);
/// assert_eq!(accepts(headers, "application/json"), Some(true));
/// assert_eq!(accepts(headers, "text/event-stream"), Some(true));
/// assert_eq!(accepts(headers, "image/png"), Some(false));
/// assert_eq!(accepts(Headers::from(&[][..]), "image/png"), None);
/// ```
pub fn accepts(headers: Headers<'_>, media: &str) -> Option<bool> {
    let mut lines = headers.all(name::ACCEPT).peekable();
    lines.peek()?;
    // Among equally specific ranges an accepting one wins, because `true` is the greater.
    let best = lines.filter_map(|line| best_judgement(&readable(line), media)).max();
    Some(best.is_some_and(|(_, is_accepted)| is_accepted))
}

/// Whether the sender accepts both media types of a response to a POST, in the form that the official SDKs write: one
/// `Accept` with exactly these two. [`accepts`] handles all other forms.
pub(super) fn accepts_both_plainly(headers: Headers<'_>) -> bool {
    let Some(line) = headers.only(name::ACCEPT) else { return false };
    let is_pair = |first: &str, second: &str| {
        let rest = line.strip_prefix(first.as_bytes()).and_then(|rest| rest.strip_prefix(b","));
        rest.is_some_and(|rest| rest.trim_ascii_start() == second.as_bytes())
    };
    is_pair(JSON, EVENT_STREAM) || is_pair(EVENT_STREAM, JSON)
}

/// Whether the body has this media type: there is exactly one `Content-Type`, with this type. Case and parameters
/// such as `charset` are ignored.
pub fn has_content_type(headers: Headers<'_>, media: &str) -> bool {
    if headers.only(name::CONTENT_TYPE) == Some(media.as_bytes()) {
        return true;
    }
    let Field::Once(value) = headers.get(name::CONTENT_TYPE) else { return false };
    let mut parts = Parts { rest: Some(value), separator: ';' };
    parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case(media))
}

/// Whether the body is JSON: see [`has_content_type`].
pub fn is_json(headers: Headers<'_>) -> bool {
    has_content_type(headers, JSON)
}

/// Returns the specificity and the acceptance of the most specific range of a line that matches the media type.
fn best_judgement(line: &str, media: &str) -> Option<(u8, bool)> {
    let ranges = Parts { rest: Some(line), separator: ',' };
    ranges.filter_map(|range| judgement(range, media)).max()
}

/// Returns the specificity of a range that matches the media type, and whether the range accepts the media type.
fn judgement(range: &str, media: &str) -> Option<(u8, bool)> {
    let mut parts = Parts { rest: Some(range), separator: ';' };
    let (kind, subtype) = parts.next()?.split_once('/')?;
    let (wanted_kind, wanted_subtype) = media.split_once('/')?;
    let specificity = match (kind, subtype) {
        ("*", "*") => 0,
        (_, "*") if kind.eq_ignore_ascii_case(wanted_kind) => 1,
        _ if kind.eq_ignore_ascii_case(wanted_kind)
            && subtype.eq_ignore_ascii_case(wanted_subtype) =>
        {
            2
        }
        _ => return None,
    };
    Some((specificity, !parts.any(is_zero_weight)))
}

/// `q=0`, `Q=0.000`
fn is_zero_weight(parameter: &str) -> bool {
    let Some((name, weight)) = parameter.split_once('=') else { return false };
    let is_zero = weight.contains('0') && weight.chars().all(|digit| matches!(digit, '0' | '.'));
    name.eq_ignore_ascii_case("q") && is_zero
}

/// The parts of a value between separators, without surrounding white space. Separators in quoted text do not count.
struct Parts<'a> {
    rest: Option<&'a str>,
    separator: char,
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let rest = self.rest?;
        let (mut is_quoted, mut is_escaped) = (false, false);
        let end = rest.find(|character| {
            let is_literal = core::mem::take(&mut is_escaped);
            match character {
                _ if is_literal => {}
                '\\' if is_quoted => is_escaped = true,
                '"' => is_quoted = !is_quoted,
                _ => return character == self.separator && !is_quoted,
            }
            false
        });
        let parts = end.and_then(|end| rest.split_at_checked(end));
        let (part, rest) = parts.map_or((rest, None), |(part, rest)| (part, rest.get(1..)));
        self.rest = rest;
        Some(part.trim_matches([' ', '\t']))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn accepted(lines: &[&str], media: &str) -> Option<bool> {
        let fields: Vec<(&str, &[u8])> =
            lines.iter().map(|line| ("accept", line.as_bytes())).collect();
        accepts(Headers::from(&fields[..]), media)
    }

    fn accepted_plainly(lines: &[&str]) -> bool {
        let fields: Vec<(&str, &[u8])> =
            lines.iter().map(|line| ("accept", line.as_bytes())).collect();
        accepts_both_plainly(Headers::from(&fields[..]))
    }

    #[test]
    fn the_usual_lists_are_found_without_looking_at_ranges() {
        for usual in [
            "application/json, text/event-stream",
            "application/json,text/event-stream",
            "text/event-stream, application/json",
            "text/event-stream,application/json",
        ] {
            assert!(accepted_plainly(&[usual]), "{usual}");
            assert_eq!(accepted(&[usual], "application/json"), Some(true));
            assert_eq!(accepted(&[usual], "text/event-stream"), Some(true));
        }
        let others: [&[&str]; 7] = [
            &[],
            &[""],
            &["application/json"],
            &["application/json, application/json"],
            &["application/json, text/event-stream;q=0"],
            &["application/json;q=0, text/event-stream"],
            &["application/json, text/event-stream", "application/json;q=0"],
        ];
        for other in others {
            assert!(!accepted_plainly(other), "{other:?}");
        }
    }

    /// Proves H-HTTP-17
    #[test]
    fn accept_matches_listed_types_and_ranges_with_a_weight() {
        // The flags are the acceptance of JSON and of event streams.
        let table: [(&[&str], bool, bool); 27] = [
            (&["application/json, text/event-stream"], true, true),
            (&["application/json", "text/event-stream"], true, true),
            (&["text/event-stream,application/json;charset=utf-8"], true, true),
            (&["APPLICATION/JSON , Text/Event-Stream ; q=0.1"], true, true),
            (&["application/json"], true, false),
            (&["text/event-stream"], false, true),
            (&["*/*"], true, true),
            (&["application/*"], true, false),
            (&["text/*"], false, true),
            (&["text/html, */*;q=0.8"], true, true),
            (&["*/*, application/json;q=0"], false, true),
            (&["application/json;q=0", "*/*"], false, true),
            (&["*/*;q=0, application/json"], true, false),
            (&["text/*;q=0.000, */*"], true, false),
            (&["application/*;q=0.0, application/json;Q=0.001"], true, false),
            (&["application/json;q=0, application/json"], true, false),
            (&["application/json;q=, text/event-stream;q=high"], true, true),
            (&["application/json; a=\",text/event-stream,;q=0;\""], true, false),
            (&["application/json; a=\"\\\",text/event-stream,\\\"\""], true, false),
            (&["application/json;a=\"x\";q=0, text/event-stream"], false, true),
            // Only quoted text has escapes.
            (&["text/html\\, application/json"], true, false),
            (&[""], false, false),
            (&[", ,"], false, false),
            (&["json, text, *"], false, false),
            (&["application/jsonp, xapplication/json, text/event-streams"], false, false),
            (&["\u{e9}, application/json", "text/event-stream"], true, true),
            (&["application/json;a=\"\u{e9}\", text/event-stream\u{e9}"], true, false),
        ];
        for (lines, json, stream) in table {
            assert_eq!(accepted(lines, "application/json"), Some(json), "{lines:?}");
            assert_eq!(accepted(lines, "text/event-stream"), Some(stream), "{lines:?}");
        }
        assert_eq!(accepted(&[], "application/json"), None);
        for (lines, json, stream) in table {
            // The fast path agrees with the ranges.
            assert!(!accepted_plainly(lines) || (json && stream), "{lines:?}");
        }
        // Bytes that are not UTF-8 affect only their own range.
        let fields = [("Accept", &b"text/\xe9, application/json;a=\"\xff\""[..])];
        let headers = Headers::from(&fields[..]);
        assert_eq!(accepts(headers, "application/json"), Some(true));
        assert_eq!(accepts(headers, "text/event-stream"), Some(false));
    }

    /// Proves H-HTTP-19
    #[test]
    fn a_body_is_json_if_its_one_type_is() {
        let table: [(&[&str], bool); 12] = [
            (&["application/json"], true),
            (&["application/json; charset=utf-8"], true),
            (&["Application/JSON;charset=\"a;b\""], true),
            (&[" application/json\t;"], true),
            (&["text/plain"], false),
            (&["application/jsonp"], false),
            (&["application/json, text/plain"], false),
            (&["text/plain; application/json"], false),
            (&["application/problem+json"], false),
            (&[""], false),
            (&["application/json", "application/json"], false),
            (&[], false),
        ];
        for (lines, expected) in table {
            let fields: Vec<(&str, &[u8])> =
                lines.iter().map(|line| ("content-type", line.as_bytes())).collect();
            assert_eq!(is_json(Headers::from(&fields[..])), expected, "{lines:?}");
        }
    }
}
