//! Compares the parser of the library with the grammar.

use mcp_sansio::auth::Challenges;
use mcp_sansio::http::Headers;

use super::{Challenge, challenges};

/// The maximum length of compared fields. Longer fields are only parsed, because the oracle is slow.
const MOST_COMPARED: usize = 1024;

/// Parses the fields of a response, and compares the challenges if the grammar allows every field.
///
/// On invalid fields, the parser may recover in any way, but it must not panic.
///
/// # Panics
///
/// Panics if the challenges differ.
pub fn check(fields: &[&[u8]]) {
    let named: Vec<(&str, &[u8])> =
        fields.iter().map(|field| ("WWW-Authenticate", *field)).collect();
    let parsed = Challenges::of(Headers::from(&named[..]));
    let mut found = Vec::new();
    for challenge in parsed.iter() {
        let params: Vec<(String, String)> = challenge
            .params()
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        for (name, value) in &params {
            // Of several parameters with the same name, in any case, the first one counts.
            let first = params.iter().find(|(other, _)| other == name).map(|(_, value)| value);
            for name in [name.clone(), name.to_ascii_uppercase()] {
                assert_eq!(challenge.param(&name), first.map(String::as_str), "{name}={value}");
            }
        }
        let token68 = challenge.token68().map(str::to_owned);
        found.push(Challenge { scheme: challenge.scheme().to_owned(), token68, params });
    }
    if let Some(expected) = expected(fields) {
        assert_eq!(found, expected, "{}", fields.join(&b"\n"[..]).escape_ascii());
    }
}

/// Returns the challenges, if each field is a list of its own. The parser may read each field separately, so a quoted
/// string or a parameter list that continues in the next field is not compared.
fn expected(fields: &[&[u8]]) -> Option<Vec<Challenge>> {
    if MOST_COMPARED < fields.concat().len() {
        return None;
    }
    let fields: Option<Vec<String>> = fields.iter().map(|field| readable(field)).collect();
    let fields = fields?;
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    let each: Option<Vec<_>> = fields.iter().map(|field| challenges(&[*field])).collect();
    let each = each?.concat();
    let joined = challenges(&fields);
    assert_eq!(joined.as_ref(), Some(&each), "fields are one list");
    joined
}

/// Returns the field as `Headers::combined` does: the grammar allows the control characters U+0080 to U+009F as
/// `obs-text`, and `combined` replaces each with a space, because its text is displayed to people. The ASCII ones are
/// not allowed anyway.
fn readable(field: &[u8]) -> Option<String> {
    let is_replaced = |char: char| char.is_control() && !char.is_ascii();
    Some(str::from_utf8(field).ok()?.replace(is_replaced, " "))
}
