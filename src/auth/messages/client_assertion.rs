//! The JWT that a client signs to authenticate
//! ([RFC 7523, section 3](https://www.rfc-editor.org/rfc/rfc7523#section-3)).

use alloc::format;
use alloc::string::String;
use core::time::Duration;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::auth::Secret;
use crate::base64::Base64;
use crate::time::Instant;

#[derive(Serialize)]
struct Header<'a> {
    alg: &'a str,
    typ: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<&'a str>,
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    iat: u64,
    exp: u64,
    jti: &'a str,
}

/// The lifetime of an assertion.
const LIFETIME: Duration = Duration::from_secs(300);

/// Returns the JWS signing input: header and claims. `number` must differ between the assertions of a client.
pub(in crate::auth) fn signing_input(
    algorithm: &str,
    key_id: Option<&str>,
    client_id: &str,
    audience: &str,
    now: Instant,
    number: u64,
) -> String {
    let issued = now.since_epoch();
    // The `jti` must be unique but need not be unguessable: every holder of the assertion can read it.
    let seed = format!("{client_id} {audience} {} {number}", issued.as_nanos());
    let jti = Base64::Url.text(&Sha256::digest(seed.as_bytes()));
    let header = Header { alg: algorithm, typ: "JWT", kid: key_id };
    let (iat, exp) = (issued.as_secs(), (issued + LIFETIME).as_secs());
    let claims = Claims { iss: client_id, sub: client_id, aud: audience, iat, exp, jti: &jti };
    // Strings and numbers always serialize.
    let part = |json: Result<String, _>| Base64::Url.text(json.unwrap_or_default().as_bytes());
    let json_header: Result<_, serde_json::Error> = serde_json::to_string(&header);
    format!("{}.{}", part(json_header), part(serde_json::to_string(&claims)))
}

/// Returns the signed assertion.
pub(in crate::auth) fn assertion(signing_input: &str, signature: &[u8]) -> Secret {
    Secret::new(format!("{signing_input}.{}", Base64::Url.text(signature)))
}
