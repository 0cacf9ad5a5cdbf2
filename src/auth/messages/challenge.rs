//! `WWW-Authenticate`: the challenges of a server
//! ([RFC 9110, section 11.6.1](https://www.rfc-editor.org/rfc/rfc9110#section-11.6.1)).

use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;
use alloc::vec::Vec;

use crate::auth::Scopes;
use crate::http::Headers;

/// The challenges of a response, in order.
///
/// The parser accepts every form: several challenges in one field or in several fields, schemes and parameter names
/// in any case, token68, quoted strings, and white space around `=`. Text that is not a challenge is skipped up to
/// the next comma outside quotes. At most 1024 challenges with 1024 parameters each are kept.
///
/// ```
/// use mcp_sansio::auth::Challenges;
///
/// let challenges = Challenges::parse(r#"Negotiate, Bearer scope="a b", error="insufficient_scope""#);
/// let schemes: Vec<&str> = challenges.iter().map(|challenge| challenge.scheme()).collect();
/// assert_eq!(schemes, ["Negotiate", "Bearer"]);
/// assert_eq!(challenges.bearer().expect("there is one").error(), Some("insufficient_scope"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Challenges(Vec<Challenge>);

/// One challenge: a scheme with its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Challenge {
    scheme: String,
    token68: Option<String>,
    params: Vec<(String, String)>,
}

/// The parameters of all bearer challenges of a response together
/// ([RFC 6750, section 3](https://www.rfc-editor.org/rfc/rfc6750#section-3)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BearerChallenge<'c>(&'c Challenges);

const MOST: usize = 1024;

impl Challenges {
    /// Parses the challenges in the header fields of a response.
    pub fn of(headers: Headers<'_>) -> Self {
        headers.combined("WWW-Authenticate").map(|text| Self::parse(&text)).unwrap_or_default()
    }

    /// Parses the combined value of the fields, such as
    /// [`TransportFailure::challenge`](crate::error::TransportFailure::challenge).
    pub fn parse(text: &str) -> Self {
        let mut challenges: Vec<Challenge> = Vec::new();
        let mut rest = Reader(text);
        while !rest.0.is_empty() {
            let start = rest.0;
            match rest.element(challenges.last().is_some_and(Challenge::takes_params)) {
                Some(Element::Param(name, value)) => {
                    if let Some(last) =
                        challenges.last_mut().filter(|last| last.params.len() < MOST)
                    {
                        last.params.push((name.to_ascii_lowercase(), value.into_owned()));
                    }
                }
                Some(Element::Challenge { scheme, token68, param }) if challenges.len() < MOST => {
                    let param =
                        param.map(|(name, value)| (name.to_ascii_lowercase(), value.into_owned()));
                    challenges.push(Challenge {
                        scheme: scheme.to_owned(),
                        token68: token68.map(ToOwned::to_owned),
                        params: param.into_iter().collect(),
                    });
                }
                Some(Element::Challenge { .. }) => break,
                None => rest.0 = start,
            }
            rest.skip_element();
        }
        Self(challenges)
    }

    /// Returns the challenges in order.
    pub fn iter(&self) -> core::slice::Iter<'_, Challenge> {
        self.0.iter()
    }

    /// Returns the bearer challenges, or `None` if the response contains none.
    pub fn bearer(&self) -> Option<BearerChallenge<'_>> {
        self.iter().any(Challenge::is_bearer).then_some(BearerChallenge(self))
    }
}

impl<'c> IntoIterator for &'c Challenges {
    type Item = &'c Challenge;
    type IntoIter = core::slice::Iter<'c, Challenge>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Challenge {
    /// Returns the scheme in its original spelling.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Returns the token68 value, which some schemes use instead of parameters.
    pub fn token68(&self) -> Option<&str> {
        self.token68.as_deref()
    }

    /// Returns the parameters in order, with their names in lower case.
    pub fn params(&self) -> impl Iterator<Item = (&str, &str)> {
        self.params.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the value of a parameter, the first one if the parameter is repeated.
    pub fn param(&self, name: &str) -> Option<&str> {
        let mut params = self.params();
        params.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Whether the scheme is `Bearer`, in any case.
    pub fn is_bearer(&self) -> bool {
        self.scheme.eq_ignore_ascii_case("Bearer")
    }

    const fn takes_params(&self) -> bool {
        self.token68.is_none()
    }
}

impl<'c> BearerChallenge<'c> {
    fn param(self, name: &str) -> Option<&'c str> {
        self.0.iter().filter(|one| one.is_bearer()).find_map(|one| one.param(name))
    }

    /// Returns the URL of the protected resource metadata as the server wrote it, unchecked.
    pub fn resource_metadata(self) -> Option<&'c str> {
        self.param("resource_metadata")
    }

    /// Returns the scopes that the request needs, or `None` if the challenge names none.
    pub fn scopes(self) -> Option<Scopes> {
        self.param("scope").map(Scopes::parse).filter(|scopes| !scopes.is_empty())
    }

    /// Returns the error code, such as `invalid_token` or `insufficient_scope`.
    pub fn error(self) -> Option<&'c str> {
        self.param("error")
    }

    /// Returns the human-readable description of the error. The text comes from a server that is not authenticated.
    pub fn error_description(self) -> Option<&'c str> {
        self.param("error_description")
    }
}

/// A list element. The grammar uses the same list for challenges and for their parameters.
enum Element<'t> {
    Param(&'t str, Cow<'t, str>),
    Challenge { scheme: &'t str, token68: Option<&'t str>, param: Option<(&'t str, Cow<'t, str>)> },
}

/// The text that is not parsed yet.
struct Reader<'t>(&'t str);

impl<'t> Reader<'t> {
    /// Parses the element up to the next comma. Returns `None` if the element is empty or malformed.
    fn element(&mut self, may_be_param: bool) -> Option<Element<'t>> {
        self.skip_space();
        let before = self.0;
        if may_be_param && let Some((name, value)) = self.param() {
            return Some(Element::Param(name, value));
        }
        self.0 = before;
        let scheme = self.token()?;
        let has_space = self.skip_space();
        if self.is_at_end() {
            return Some(Element::Challenge { scheme, token68: None, param: None });
        }
        let after_scheme = self.0;
        if !has_space {
            return None;
        }
        if let Some((name, value)) = self.param() {
            return Some(Element::Challenge { scheme, token68: None, param: Some((name, value)) });
        }
        self.0 = after_scheme;
        let token68 = self.token68().filter(|_| self.is_at_end())?;
        Some(Element::Challenge { scheme, token68: Some(token68), param: None })
    }

    /// Parses a name, `=`, and a value. Only a comma or the end of the text may follow.
    fn param(&mut self) -> Option<(&'t str, Cow<'t, str>)> {
        let name = self.token()?;
        self.skip_space();
        self.0 = self.0.strip_prefix('=')?;
        self.skip_space();
        let value = match self.0.strip_prefix('"') {
            Some(quoted) => {
                self.0 = quoted;
                self.quoted()?
            }
            None => Cow::Borrowed(self.token()?),
        };
        self.skip_space();
        self.is_at_end().then_some((name, value))
    }

    fn token(&mut self) -> Option<&'t str> {
        self.while_all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
    }

    fn token68(&mut self) -> Option<&'t str> {
        let start = self.0;
        self.while_all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte))?;
        let rest = self.0.trim_start_matches('=');
        let (token, _) = start.split_at_checked(start.len() - rest.len())?;
        self.0 = rest;
        self.skip_space();
        Some(token)
    }

    /// Parses the rest of a quoted string, up to its closing quote.
    fn quoted(&mut self) -> Option<Cow<'t, str>> {
        let mut owned: Option<String> = None;
        let text = self.0;
        let mut chars = text.char_indices();
        while let Some((at, char)) = chars.next() {
            match char {
                '"' => {
                    let (value, rest) = text.split_at_checked(at)?;
                    self.0 = rest.get(1..)?;
                    return Some(owned.map_or(Cow::Borrowed(value), Cow::Owned));
                }
                '\\' => {
                    let (_, escaped) = chars.next()?;
                    let owned = owned.get_or_insert_with(|| text.split_at(at).0.to_owned());
                    owned.push(escaped);
                }
                _ => {
                    if let Some(owned) = &mut owned {
                        owned.push(char);
                    }
                }
            }
        }
        None
    }

    /// Skips the rest of an element and the comma behind it. A comma in quotes does not end the element. If the quotes are
    /// never closed, nothing is left.
    fn skip_element(&mut self) {
        let text = self.0;
        let (mut is_quoted, mut is_escaped) = (false, false);
        let end = text.bytes().position(|byte| {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if is_quoted => is_escaped = true,
                b'"' => is_quoted = !is_quoted,
                b',' if !is_quoted => return true,
                _ => {}
            }
            false
        });
        self.0 = end.and_then(|end| text.get(end + 1..)).unwrap_or_default();
    }

    /// Skips white space. Returns whether there was any.
    fn skip_space(&mut self) -> bool {
        let before = self.0.len();
        self.0 = self.0.trim_start_matches([' ', '\t']);
        before != self.0.len()
    }

    fn is_at_end(&self) -> bool {
        self.0.is_empty() || self.0.starts_with(',')
    }

    fn while_all(&mut self, is_part: impl Fn(u8) -> bool) -> Option<&'t str> {
        let length = self.0.bytes().position(|byte| !is_part(byte)).unwrap_or(self.0.len());
        let (part, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        (!part.is_empty()).then_some(part)
    }
}
