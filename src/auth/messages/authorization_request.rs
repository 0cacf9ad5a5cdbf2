//! The authorization request: the URL at which the user consents
//! ([RFC 6749, section 4.1.1](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.1),
//! [RFC 7636](https://www.rfc-editor.org/rfc/rfc7636)).

use alloc::string::String;

use form_urlencoded::Serializer;
use sha2::{Digest, Sha256};

use crate::auth::web_url::WebUrl;
use crate::auth::{Scopes, Secret};
use crate::base64::Base64;

/// The parts of an authorization request.
pub(in crate::auth) struct AuthorizationRequest<'a> {
    pub(in crate::auth) client_id: &'a str,
    pub(in crate::auth) redirect_uri: &'a str,
    pub(in crate::auth) scopes: &'a Scopes,
    pub(in crate::auth) state: &'a Secret,
    pub(in crate::auth) verifier: &'a Secret,
    pub(in crate::auth) resource: Option<&'a str>,
    /// Whether the request contains `prompt=consent`: the OpenID provider asks the user even after an earlier
    /// consent.
    pub(in crate::auth) asks_for_consent: bool,
}

impl AuthorizationRequest<'_> {
    /// Returns the URL to open. Existing parameters of the endpoint are kept.
    pub(in crate::auth) fn url(&self, endpoint: &WebUrl) -> String {
        let mut form = Serializer::new(String::new());
        form.append_pair("response_type", "code")
            .append_pair("client_id", self.client_id)
            .append_pair("redirect_uri", self.redirect_uri)
            .append_pair("state", self.state.expose())
            .append_pair("code_challenge", &challenge(self.verifier))
            .append_pair("code_challenge_method", "S256");
        if let Some(resource) = self.resource {
            form.append_pair("resource", resource);
        }
        if !self.scopes.is_empty() {
            form.append_pair("scope", &alloc::string::ToString::to_string(self.scopes));
        }
        if self.asks_for_consent {
            form.append_pair("prompt", "consent");
        }
        endpoint.with_query(&form.finish())
    }
}

/// Encodes 32 bytes of entropy as 43 characters, for a verifier or a state.
pub(in crate::auth) fn unguessable(entropy: &[u8; 32]) -> Secret {
    Secret::new(Base64::Url.text(entropy))
}

/// Returns the code challenge of a verifier by the method S256.
fn challenge(verifier: &Secret) -> String {
    Base64::Url.text(&Sha256::digest(verifier.expose()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of RFC 7636, appendix B. Proves A-AUTHZ-05.
    #[test]
    fn verifier_and_challenge_are_those_of_the_standard() {
        let entropy = [
            116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212,
            37, 77, 105, 214, 191, 240, 91, 88, 5, 88, 83, 132, 141, 121,
        ];
        let verifier = unguessable(&entropy);
        assert_eq!(verifier.expose(), "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(challenge(&verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }
}
