//! Forms: the queries and bodies of OAuth.

use form_urlencoded::{byte_serialize, parse};

/// The parameters of a query or a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Parses a form; no input is invalid. Parameters without a value count as absent (RFC 6749, section 3.1).
    pub fn read(text: &[u8]) -> Self {
        let pairs = parse(text).filter(|(_, value)| !value.is_empty());
        Self(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    /// Returns the value of a parameter, or `None` if it is absent.
    pub fn find(&self, name: &str) -> Option<&str> {
        let pair = self.0.iter().find(|(known, _)| known == name);
        pair.map(|(_, value)| value.as_str())
    }

    /// Whether a parameter is repeated, which makes a request invalid.
    pub(super) fn is_ambiguous(&self) -> bool {
        let mut names: Vec<&String> = self.0.iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        names.windows(2).any(|pair| pair[0] == pair[1])
    }
}

/// Encodes a value for a form.
pub fn form_encode(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect()
}

/// Appends parameters to the query of a URL.
pub(super) fn with_query(url: &str, parameters: &[(&str, &str)]) -> String {
    let mut url = url.to_owned();
    for (name, value) in parameters {
        url.push(if url.contains('?') { '&' } else { '?' });
        url.push_str(name);
        url.push('=');
        url.push_str(&form_encode(value));
    }
    url
}
