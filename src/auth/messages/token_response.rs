//! Responses of a token endpoint ([RFC 6749, section 5](https://www.rfc-editor.org/rfc/rfc6749#section-5)).

use alloc::string::String;
use core::time::Duration;

use super::object::Object;
use super::token_request::ID_JAG;
use crate::auth::{OAuthError, Scopes, Secret};

/// The issued tokens.
pub(in crate::auth) struct Tokens {
    pub(in crate::auth) access_token: Secret,
    pub(in crate::auth) refresh_token: Option<Secret>,
    /// The lifetime of the access token, if the response contains one. Zero counts as unknown: some servers write it
    /// for a token that does not expire.
    pub(in crate::auth) lifetime: Option<Duration>,
    /// The granted scopes. `None` if they equal the requested scopes.
    pub(in crate::auth) scopes: Option<Scopes>,
}

impl Tokens {
    /// Parses the response to an access token request. Fails with the name of the member that is missing or invalid.
    pub(in crate::auth) fn read(body: &[u8]) -> Result<Self, &'static str> {
        let object = Object::read(body).ok_or("access_token")?;
        let text = |name| object.text(name).map_err(|_| name);
        let access_token = text("access_token")?.filter(|token| is_token(token));
        let access_token = access_token.ok_or("access_token")?;
        let kind = text("token_type")?.ok_or("token_type")?;
        if !kind.eq_ignore_ascii_case("Bearer") {
            return Err("token_type");
        }
        Ok(Self {
            access_token: Secret::new(access_token),
            refresh_token: text("refresh_token")?.filter(|it| !it.is_empty()).map(Secret::new),
            lifetime: object
                .seconds("expires_in")
                .filter(|seconds| *seconds > 0)
                .map(Duration::from_secs),
            scopes: text("scope")?.map(Scopes::parse),
        })
    }
}

/// Parses the response to a token exchange. Returns the assertion for the authorization server.
pub(in crate::auth) fn identity_assertion(body: &[u8]) -> Result<Secret, &'static str> {
    let object = Object::read(body).ok_or("access_token")?;
    let text = |name| object.text(name).map_err(|_| name);
    if text("issued_token_type")? != Some(ID_JAG) {
        return Err("issued_token_type");
    }
    Ok(Secret::new(text("access_token")?.ok_or("access_token")?))
}

/// Parses the body of an error response. Returns `None` if it contains no error code.
pub(in crate::auth) fn error(body: &[u8]) -> Option<OAuthError> {
    let object = Object::read(body)?;
    let code = object.text("error").ok()??;
    let description = object.text("error_description").ok().flatten();
    Some(OAuthError::new(code, description.map(String::from)))
}

/// Whether a text is usable as a bearer token in a header field: it must be visible ASCII.
fn is_token(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    /// Proves A-TOK-07, A-TOK-08, A-USE-06.
    #[test]
    fn a_token_response_without_a_bearer_token_is_refused() {
        let read = |members: &str| {
            let tokens = Tokens::read(format!("{{{members}}}").as_bytes())?;
            Ok(tokens.lifetime.map(|lifetime| lifetime.as_secs()))
        };
        let rest = r#""access_token":"t","token_type":"#;
        assert_eq!(read(&format!(r#"{rest}"Bearer""#)), Ok(None));
        assert_eq!(read(&format!(r#"{rest}"bEARER","expires_in":3600"#)), Ok(Some(3600)));
        assert_eq!(read(&format!(r#"{rest}"bearer","expires_in":"3600""#)), Ok(Some(3600)));
        assert_eq!(read(&format!(r#"{rest}"bearer","expires_in":59.9"#)), Ok(Some(59)));
        assert_eq!(read(&format!(r#"{rest}"bearer","expires_in":-1"#)), Ok(None));
        assert_eq!(read(&format!(r#"{rest}"bearer","expires_in":0"#)), Ok(None));
        assert_eq!(read(&format!(r#"{rest}"bearer","expires_in":"0""#)), Ok(None));
        assert_eq!(read(&format!(r#"{rest}"bearer","expires_in":0.5"#)), Ok(None));
        assert_eq!(read(&format!(r#"{rest}"bearer","expires_in":null"#)), Ok(None));
        assert_eq!(read(&format!(r#"{rest}"bearer","expires_in":1e300"#)), Ok(Some(u64::MAX)));
        assert_eq!(read(&format!(r#"{rest}"mac""#)), Err("token_type"));
        assert_eq!(read(r#""access_token":"t""#), Err("token_type"));
        assert_eq!(read(r#""token_type":"Bearer""#), Err("access_token"));
        assert_eq!(read(r#""access_token":1,"token_type":"Bearer""#), Err("access_token"));
        assert_eq!(read(r#""access_token":"a\nb","token_type":"Bearer""#), Err("access_token"));
        assert_eq!(read(r#""access_token":"a b","token_type":"Bearer""#), Err("access_token"));
    }
}
