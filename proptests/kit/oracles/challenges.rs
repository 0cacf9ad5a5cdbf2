//! A reference parser of `WWW-Authenticate` that tries every reading that the grammar allows ([RFC 9110, section
//! 11.6.1](https://www.rfc-editor.org/rfc/rfc9110#section-11.6.1)).

mod check;
mod written;

use std::collections::BTreeMap;

pub use self::check::check;
pub use self::written::written;

/// A challenge. It has a `token68`, parameters, or neither.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Challenge {
    /// The scheme in its original case.
    pub scheme: String,
    /// The single value of schemes such as Negotiate, with its padding.
    pub token68: Option<String>,
    /// Lower-case names, and values without quotes and escapes, in the order of the text.
    pub params: Vec<(String, String)>,
}

impl Challenge {
    /// Creates a challenge that is only a scheme.
    pub fn new(scheme: &str) -> Self {
        Self { scheme: scheme.into(), token68: None, params: Vec::new() }
    }

    /// Creates a challenge with a single value.
    pub fn with_token68(scheme: &str, token68: &str) -> Self {
        Self { token68: Some(token68.into()), ..Self::new(scheme) }
    }

    /// Creates a challenge with parameters.
    pub fn with_params(scheme: &str, params: &[(&str, &str)]) -> Self {
        let params = params.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Self { params: params.collect(), ..Self::new(scheme) }
    }
}

/// Returns the challenges of all fields of a response, in order. `None` if the grammar does not allow the text.
///
/// Several fields form one list, as if their values were joined with commas.
///
/// # Panics
///
/// Panics if the grammar allows two different readings, which would be a bug of this function.
pub fn challenges(fields: &[&str]) -> Option<Vec<Challenge>> {
    let values: Vec<&str> = fields.iter().map(|value| value.trim_matches([' ', '\t'])).collect();
    let text: Vec<char> = values.join(", ").chars().collect();
    element(&text, 0, &mut BTreeMap::new())
}

/// The memoized parse results of the rest of the list, by start position.
type Rest = BTreeMap<usize, Option<Vec<Challenge>>>;

/// `[ challenge ] *( OWS "," OWS [ challenge ] )`: an element may be empty.
fn element(text: &[char], at: usize, known: &mut Rest) -> Option<Vec<Challenge>> {
    if let Some(answer) = known.get(&at) {
        return answer.clone();
    }
    let mut answer = after_element(text, at, known);
    for (challenge, end) in challenge(text, at) {
        let Some(mut reading) = after_element(text, end, known) else { continue };
        reading.insert(0, challenge);
        assert!(answer.as_ref().is_none_or(|other| *other == reading), "two readings");
        answer = Some(reading);
    }
    known.insert(at, answer.clone());
    answer
}

/// Parses the end of the list, or a comma and the next element.
fn after_element(text: &[char], at: usize, known: &mut Rest) -> Option<Vec<Challenge>> {
    if at == text.len() {
        return Some(Vec::new());
    }
    element(text, comma(text, at)?, known)
}

/// `auth-scheme [ 1*SP ( token68 / #auth-param ) ]`: returns every challenge that starts here, with its end.
fn challenge(text: &[char], at: usize) -> Vec<(Challenge, usize)> {
    let Some(end) = token(text, at) else { return Vec::new() };
    let bare = Challenge::new(&string(&text[at..end]));
    let mut readings = vec![(bare.clone(), end)];
    let start = skip(text, end, |next| next == ' ');
    if start == end {
        return readings;
    }
    if let Some(end) = token68(text, start) {
        let token68 = Some(string(&text[start..end]));
        readings.push((Challenge { token68, ..bare.clone() }, end));
    }
    // The parameter list may end after each of its elements, which may be empty.
    let (mut params, mut place) = (Vec::new(), Some(start));
    while let Some(start) = place {
        let mut end = start;
        if let Some((param, after)) = param(text, start) {
            params.push(param);
            end = after;
        }
        readings.push((Challenge { params: params.clone(), ..bare.clone() }, end));
        place = comma(text, end);
    }
    readings
}

/// `token BWS "=" BWS ( token / quoted-string )`.
fn param(text: &[char], at: usize) -> Option<((String, String), usize)> {
    let end = token(text, at)?;
    let name = string(&text[at..end]).to_ascii_lowercase();
    let equals = skip(text, end, is_space);
    if text.get(equals) != Some(&'=') {
        return None;
    }
    let start = skip(text, equals + 1, is_space);
    if let Some(end) = token(text, start) {
        return Some(((name, string(&text[start..end])), end));
    }
    let (value, end) = quoted(text, start)?;
    Some(((name, value), end))
}

/// `DQUOTE *( qdtext / quoted-pair ) DQUOTE`: returns the value without quotes and escapes.
fn quoted(text: &[char], at: usize) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut rest = text.get(at..)?.iter().copied().enumerate();
    if rest.next()?.1 != '"' {
        return None;
    }
    while let Some((index, next)) = rest.next() {
        match next {
            '"' => return Some((value, at + index + 1)),
            '\\' => value.push(rest.next().map(|(_, next)| next).filter(|next| is_text(*next))?),
            next if is_text(next) => value.push(next),
            _ => return None,
        }
    }
    None
}

/// `1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"="`: returns its end.
fn token68(text: &[char], at: usize) -> Option<usize> {
    let end = skip(text, at, |next| next.is_ascii_alphanumeric() || "-._~+/".contains(next));
    (at < end).then(|| skip(text, end, |next| next == '='))
}

/// `1*tchar`: returns its end. The grammar never allows a tchar after a token, so the longest match suffices.
fn token(text: &[char], at: usize) -> Option<usize> {
    let end =
        skip(text, at, |next| next.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(next));
    (at < end).then_some(end)
}

/// `OWS "," OWS`: returns its end.
fn comma(text: &[char], at: usize) -> Option<usize> {
    let at = skip(text, at, is_space);
    (text.get(at) == Some(&',')).then(|| skip(text, at + 1, is_space))
}

fn skip(text: &[char], at: usize, is_skipped: impl Fn(char) -> bool) -> usize {
    at + text[at..].iter().take_while(|next| is_skipped(**next)).count()
}

fn is_space(next: char) -> bool {
    matches!(next, ' ' | '\t')
}

/// `HTAB / SP / VCHAR / obs-text`.
fn is_text(next: char) -> bool {
    is_space(next) || next.is_ascii_graphic() || !next.is_ascii()
}

fn string(text: &[char]) -> String {
    text.iter().collect()
}
