//! Requests to a token endpoint ([RFC 6749, section 3.2](https://www.rfc-editor.org/rfc/rfc6749#section-3.2)).

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use form_urlencoded::{Serializer, byte_serialize};

use crate::auth::{ClientAuthentication, Scopes, Secret};
use crate::base64::Base64;

/// The grant of a token request.
pub(in crate::auth) enum TokenGrant<'a> {
    Code {
        code: &'a Secret,
        redirect_uri: &'a str,
        verifier: &'a Secret,
    },
    Refresh {
        token: &'a Secret,
    },
    ClientCredentials,
    /// An assertion signed by another server
    /// ([RFC 7523, section 2.1](https://www.rfc-editor.org/rfc/rfc7523#section-2.1)).
    Assertion {
        assertion: &'a Secret,
    },
    /// The exchange of an assertion of an identity provider for an assertion that an authorization server accepts
    /// ([RFC 8693](https://www.rfc-editor.org/rfc/rfc8693)).
    Exchange {
        subject: &'a Secret,
        subject_type: &'a str,
        audience: &'a str,
    },
}

/// The authentication of a client.
pub(in crate::auth) struct Authentication<'a> {
    pub(in crate::auth) client_id: &'a str,
    pub(in crate::auth) secret: Option<&'a Secret>,
    pub(in crate::auth) method: ClientAuthentication,
    /// The signed assertion for the method `private_key_jwt`.
    pub(in crate::auth) assertion: Option<&'a Secret>,
}

/// The parts of a token request.
pub(in crate::auth) struct TokenRequest<'a> {
    pub(in crate::auth) grant: TokenGrant<'a>,
    pub(in crate::auth) resource: Option<&'a str>,
    pub(in crate::auth) scopes: Option<&'a Scopes>,
    pub(in crate::auth) client: Authentication<'a>,
}

impl TokenRequest<'_> {
    /// Returns the body, and the value of the `Authorization` field if the client authenticates there.
    pub(in crate::auth) fn write(&self) -> (Secret, Option<Secret>) {
        let mut form = Serializer::new(String::new());
        match &self.grant {
            TokenGrant::Code { code, redirect_uri, verifier } => form
                .append_pair("grant_type", "authorization_code")
                .append_pair("code", code.expose())
                .append_pair("redirect_uri", redirect_uri)
                .append_pair("code_verifier", verifier.expose()),
            TokenGrant::Refresh { token } => form
                .append_pair("grant_type", "refresh_token")
                .append_pair("refresh_token", token.expose()),
            TokenGrant::ClientCredentials => form.append_pair("grant_type", "client_credentials"),
            TokenGrant::Assertion { assertion } => form
                .append_pair("grant_type", JWT_BEARER)
                .append_pair("assertion", assertion.expose()),
            TokenGrant::Exchange { subject, subject_type, audience } => form
                .append_pair("grant_type", TOKEN_EXCHANGE)
                .append_pair("requested_token_type", ID_JAG)
                .append_pair("audience", audience)
                .append_pair("subject_token", subject.expose())
                .append_pair("subject_token_type", subject_type),
        };
        if let Some(resource) = self.resource {
            form.append_pair("resource", resource);
        }
        if let Some(scopes) = self.scopes.filter(|scopes| !scopes.is_empty()) {
            form.append_pair("scope", &scopes.to_string());
        }
        let field = self.client.add_to(&mut form);
        (Secret::new(form.finish()), field)
    }
}

impl Authentication<'_> {
    /// Adds the credentials to the body, or returns the value of the `Authorization` field, never both.
    fn add_to(&self, form: &mut Serializer<'_, String>) -> Option<Secret> {
        let secret = self.secret.map(Secret::expose).unwrap_or_default();
        match self.method {
            ClientAuthentication::SecretBasic => return Some(self.basic(secret)),
            ClientAuthentication::SecretPost => {
                form.append_pair("client_id", self.client_id).append_pair("client_secret", secret);
            }
            ClientAuthentication::None => {
                form.append_pair("client_id", self.client_id);
            }
            ClientAuthentication::PrivateKeyJwt => {
                let assertion = self.assertion.map(Secret::expose).unwrap_or_default();
                form.append_pair("client_id", self.client_id)
                    .append_pair("client_assertion_type", ASSERTION_TYPE)
                    .append_pair("client_assertion", assertion);
            }
        }
        None
    }

    /// Returns the `Basic` credentials. Client id and secret are form-encoded before they are joined (RFC 6749,
    /// section 2.3.1).
    fn basic(&self, secret: &str) -> Secret {
        let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<Vec<_>>().concat();
        let pair = Secret::new(format!("{}:{}", encoded(self.client_id), encoded(secret)));
        Secret::new(format!("Basic {}", Base64::Padded.text(pair.expose().as_bytes())))
    }
}

/// The grant by an assertion.
pub(in crate::auth) const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// The token type of an identity assertion that an authorization server accepts.
pub(in crate::auth) const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves A-TOK-04, A-TOK-05.
    #[test]
    fn a_client_authenticates_in_one_way() {
        let secret = Secret::new("p%w d");
        let assertion = Secret::new("a.b.c");
        let written = |method| {
            let client = Authentication {
                client_id: "a:b c",
                secret: Some(&secret),
                method,
                assertion: Some(&assertion),
            };
            let grant = TokenGrant::ClientCredentials;
            let request = TokenRequest { grant, resource: None, scopes: None, client };
            let (body, field) = request.write();
            (String::from(body.expose()), field.map(|field| String::from(field.expose())))
        };
        let plain = "grant_type=client_credentials";
        let basic = format!("Basic {}", Base64::Padded.text(b"a%3Ab+c:p%25w+d"));
        assert_eq!(written(ClientAuthentication::SecretBasic), (plain.into(), Some(basic)));
        let body = format!("{plain}&client_id=a%3Ab+c&client_secret=p%25w+d");
        assert_eq!(written(ClientAuthentication::SecretPost), (body, None));
        assert_eq!(
            written(ClientAuthentication::None),
            (format!("{plain}&client_id=a%3Ab+c"), None)
        );
        let kind = "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer";
        let body = format!(
            "{plain}&client_id=a%3Ab+c&client_assertion_type={kind}&client_assertion=a.b.c"
        );
        assert_eq!(written(ClientAuthentication::PrivateKeyJwt), (body, None));
    }
}
