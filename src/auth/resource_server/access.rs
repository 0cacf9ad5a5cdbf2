//! Access tokens in requests, and the reasons for refusing a request
//! ([RFC 6750](https://www.rfc-editor.org/rfc/rfc6750)).

use alloc::string::String;
use core::fmt;

use crate::auth::Scopes;
use crate::http::{Field, Headers};

/// The reason why a request is refused. The client is at fault, except for
/// [`VerifierUnavailable`](Self::VerifierUnavailable).
///
/// [`ProtectedResource::reply`](super::ProtectedResource::reply) builds the response.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// The request has no bearer token: 401 without an error code.
    #[error("there is no access token")]
    MissingToken,
    /// The `Authorization` field is malformed: 400.
    #[error("the access token cannot be read: {0}")]
    InvalidRequest(&'static str),
    /// The token is invalid or for another server: 401.
    #[error("{0}")]
    InvalidToken(TokenError),
    /// The token is valid but lacks a scope: 403. The value contains all scopes that the request needs.
    #[error("the request needs the scopes {0}")]
    InsufficientScope(Scopes),
    /// The application cannot verify tokens at the moment: 503.
    #[error("access tokens cannot be verified at the moment")]
    VerifierUnavailable,
}

/// The reason why an access token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The application refused the token: its signature is wrong, it was revoked, or it is not a token at all.
    #[error("the token is not valid")]
    Invalid,
    /// The issuer of the token is not an authorization server of the resource.
    #[error("the token is from another issuer")]
    Issuer,
    /// The token was issued for another resource.
    #[error("the token is for another resource")]
    Audience,
    /// `exp` has passed.
    #[error("the token has expired")]
    Expired,
    /// `nbf` is in the future.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// The token has no `exp`, which the resource requires.
    #[error("the token has no expiry")]
    NoExpiry,
}

/// Extracts the bearer token from the head of a request. Only the `Authorization` field counts: a token in the query
/// or in the body is ignored ([RFC 6750, section 2.1](https://www.rfc-editor.org/rfc/rfc6750#section-2.1)).
/// `mcp_sansio_http::bearer_token` takes a `HeaderMap` instead, and returns an `Option`.
///
/// # Errors
///
/// [`AccessError::MissingToken`] if the field is absent or has another scheme. [`AccessError::InvalidRequest`] if
/// the field is repeated, or if the token contains characters outside `b64token`.
pub fn bearer_token(headers: Headers<'_>) -> Result<&str, AccessError> {
    let field = match headers.get("authorization") {
        Field::Absent => return Err(AccessError::MissingToken),
        Field::Once(field) => field.trim_matches([' ', '\t']),
        Field::Repeated => {
            return Err(AccessError::InvalidRequest("there is more than one Authorization field"));
        }
        Field::NotText => return Err(AccessError::InvalidRequest("Authorization is not text")),
    };
    let (scheme, token) = field.split_once(' ').unwrap_or((field, ""));
    if !scheme.eq_ignore_ascii_case("Bearer") {
        return Err(AccessError::MissingToken);
    }
    let token = token.trim_start_matches(' ');
    let body = token.trim_end_matches('=');
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    if body.is_empty() || !body.bytes().all(is_token) {
        return Err(AccessError::InvalidRequest("the token has characters that no token has"));
    }
    Ok(token)
}

/// Checks that the scopes `granted` cover the scopes `needed`. `implies` decides whether one granted scope includes
/// a needed one; for scopes without a hierarchy it is equality.
///
/// # Errors
///
/// [`AccessError::InsufficientScope`] with all of `needed`, in the given order, independent of the granted scopes.
///
/// ```
/// use mcp_sansio::auth::Scopes;
/// use mcp_sansio::auth::resource_server::check_scopes;
///
/// let implies = |granted: &str, needed: &str| granted == needed || granted == "admin";
/// assert!(check_scopes(&Scopes::parse("admin"), &Scopes::parse("read write"), implies).is_ok());
/// assert!(check_scopes(&Scopes::parse("read"), &Scopes::parse("read write"), implies).is_err());
/// ```
pub fn check_scopes(
    granted: &Scopes,
    needed: &Scopes,
    implies: impl Fn(&str, &str) -> bool,
) -> Result<(), AccessError> {
    let has = |needed: &str| granted.iter().any(|granted| implies(granted, needed));
    if needed.iter().all(has) {
        return Ok(());
    }
    Err(AccessError::InsufficientScope(needed.clone()))
}

impl AccessError {
    /// Returns the status of the response.
    pub const fn status(&self) -> u16 {
        match self {
            Self::MissingToken | Self::InvalidToken(_) => 401,
            Self::InvalidRequest(_) => 400,
            Self::InsufficientScope(_) => 403,
            Self::VerifierUnavailable => 503,
        }
    }

    /// Returns the error code of the challenge
    /// ([RFC 6750, section 3.1](https://www.rfc-editor.org/rfc/rfc6750#section-3.1)).
    const fn code(&self) -> Option<&'static str> {
        match self {
            Self::MissingToken | Self::VerifierUnavailable => None,
            Self::InvalidRequest(_) => Some("invalid_request"),
            Self::InvalidToken(_) => Some("invalid_token"),
            Self::InsufficientScope(_) => Some("insufficient_scope"),
        }
    }

    /// Returns the challenge. `metadata` is the URL of the resource's metadata; `scopes` are needed by every
    /// request.
    pub(super) fn challenge(&self, metadata: &str, scopes: &Scopes) -> Option<String> {
        if *self == Self::VerifierUnavailable {
            return None;
        }
        let mut params = Params(String::from("Bearer"));
        if let Some(code) = self.code() {
            params.add("error", &code);
            match self {
                Self::InvalidRequest(text) => params.add("error_description", text),
                Self::InvalidToken(error) => params.add("error_description", error),
                _ => {}
            }
        }
        params.add("resource_metadata", &metadata);
        let scopes = if let Self::InsufficientScope(needed) = self { needed } else { scopes };
        if !scopes.is_empty() {
            params.add("scope", scopes);
        }
        Some(params.0)
    }
}

/// A challenge under construction.
struct Params(String);

impl Params {
    fn add(&mut self, name: &str, value: &dyn fmt::Display) {
        use fmt::Write;

        let separator = if self.0.ends_with('"') { ", " } else { " " };
        // Writing to a `String` cannot fail.
        _ = write!(self.0, "{separator}{name}=\"");
        _ = write!(Quoted(&mut self.0), "{value}");
        self.0.push('"');
    }
}

/// Writes the inside of a quoted string: escapes quotes and backslashes, and drops characters that a field must not
/// contain.
struct Quoted<'s>(&'s mut String);

impl fmt::Write for Quoted<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars().filter(|it| matches!(it, ' '..='~')) {
            if matches!(character, '"' | '\\') {
                self.0.push('\\');
            }
            self.0.push(character);
        }
        Ok(())
    }
}
