//! Access tokens as JSON Web Tokens (RFC 9068), signed by the holder of the key.

use serde::Serialize;
use serde_json::{Value, json};

/// A signer of access tokens. The caller supplies the key.
#[allow(clippy::exhaustive_structs, reason = "a caller gives all three")]
pub struct Signer {
    /// The ID of the key.
    pub kid: String,
    /// The public key as a JSON Web Key of P-256: `kty`, `crv`, `x` and `y`.
    pub jwk: Value,
    /// Creates an ES256 signature of 64 bytes.
    pub sign: Sign,
}

/// A function that creates a signature.
pub type Sign = Box<dyn Fn(&[u8]) -> Vec<u8> + Send>;

/// The claims of an access token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Claims {
    /// The issuer.
    pub iss: String,
    /// The user, or the client that acts for itself.
    pub sub: String,
    /// The resource that the token is for.
    pub aud: String,
    /// The expiry time, in seconds since the Unix epoch.
    pub exp: u64,
    /// The time of issue, in seconds since the Unix epoch.
    pub iat: u64,
    /// The client that received the token.
    pub client_id: String,
    /// The scopes, separated by spaces.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scope: String,
    /// The ID of the token.
    pub jti: String,
}

impl Signer {
    /// Creates a signer with worthless signatures, for servers that only verify their own tokens.
    pub fn worthless() -> Self {
        let zero = base64url(&[0; 32]);
        let jwk = json!({ "kty": "EC", "crv": "P-256", "x": zero, "y": zero });
        Self { kid: "none".into(), jwk, sign: Box::new(|_| vec![0; 64]) }
    }

    /// Returns the public key in the format of a key set.
    pub(super) fn public_key(&self) -> Value {
        let mut key = self.jwk.clone();
        key["kid"] = self.kid.as_str().into();
        key["alg"] = "ES256".into();
        key["use"] = "sig".into();
        key
    }

    pub(super) fn token(&self, claims: &Claims) -> String {
        let header = json!({ "typ": "at+jwt", "alg": "ES256", "kid": self.kid });
        let claims = serde_json::to_vec(claims).unwrap();
        let input = format!("{}.{}", base64url(header.to_string().as_bytes()), base64url(&claims));
        let signature = (self.sign)(input.as_bytes());
        format!("{input}.{}", base64url(&signature))
    }
}

/// Encodes base64url without padding (RFC 4648, section 5).
pub fn base64url(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let octet = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let group = octet(0) << 16 | octet(1) << 8 | octet(2);
        for place in 0..=chunk.len() {
            let sextet = group >> (18 - 6 * place) & 63;
            text.push(char::from(ALPHABET[sextet as usize]));
        }
    }
    text
}

/// Decodes base64 with the standard alphabet (RFC 4648, section 4), with or without padding.
pub(super) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut group, mut bits) = (Vec::new(), 0_u32, 0_u32);
    for byte in text.trim_end_matches('=').bytes() {
        let sextet = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        group = group << 6 | u32::from(sextet);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((group >> bits & 0xff) as u8);
        }
    }
    Some(bytes)
}
