//! The authorization response: the parameters of the redirect
//! ([RFC 6749, section 4.1.2](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2),
//! [RFC 9207](https://www.rfc-editor.org/rfc/rfc9207)).

use alloc::string::String;

use crate::auth::Secret;

/// The response that the authorization server sends through the browser.
#[derive(Default)]
pub(in crate::auth) struct AuthorizationResponse {
    pub(in crate::auth) state: Option<Secret>,
    pub(in crate::auth) code: Option<Secret>,
    pub(in crate::auth) issuer: Option<String>,
    pub(in crate::auth) error: Option<String>,
    pub(in crate::auth) description: Option<String>,
    /// Whether a parameter occurs twice, so its value is ambiguous.
    pub(in crate::auth) is_ambiguous: bool,
}

impl AuthorizationResponse {
    /// Parses the URL of the redirect, or its query alone.
    pub(in crate::auth) fn read(url: &str) -> Self {
        // Values of a query may contain question marks; the text in front of a query contains no `=`, except in a
        // URL.
        let is_url =
            |before: &&str| before.split_once('=').is_none_or(|(start, _)| start.contains("://"));
        let query = url.split_once('?').filter(|(before, _)| is_url(before));
        let query = query.map_or(url, |(_, query)| query);
        let query = query.split('#').next().unwrap_or_default();
        let mut response = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let value = value.into_owned();
            let is_repeated = match &*name {
                "state" => response.state.replace(Secret::new(value)).is_some(),
                "code" => response.code.replace(Secret::new(value)).is_some(),
                "iss" => response.issuer.replace(value).is_some(),
                "error" => response.error.replace(value).is_some(),
                "error_description" => response.description.replace(value).is_some(),
                _ => false,
            };
            response.is_ambiguous |= is_repeated;
        }
        response
    }
}
