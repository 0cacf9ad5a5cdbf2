//! The JWT that a client signs to authenticate itself
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

/// How long an assertion is valid.
const LIFETIME: Duration = Duration::from_secs(300);

/// The text that is signed: header and claims as a JWS has them. `number` is another one for each assertion of a client.
pub(in crate::auth) fn signing_input(
    algorithm: &str,
    key_id: Option<&str>,
    client_id: &str,
    audience: &str,
    now: Instant,
    number: u64,
) -> String {
    let issued = now.since_epoch();
    // It has to be unique and need not be unguessable: whoever has an assertion knows it.
    let seed = format!("{client_id} {audience} {} {number}", issued.as_nanos());
    let jti = Base64::Url.text(&Sha256::digest(seed.as_bytes()));
    let header = Header { alg: algorithm, typ: "JWT", kid: key_id };
    let (iat, exp) = (issued.as_secs(), (issued + LIFETIME).as_secs());
    let claims = Claims { iss: client_id, sub: client_id, aud: audience, iat, exp, jti: &jti };
    // Texts and numbers alone cannot fail to be written.
    let part = |json: Result<String, _>| Base64::Url.text(json.unwrap_or_default().as_bytes());
    let json_header: Result<_, serde_json::Error> = serde_json::to_string(&header);
    format!("{}.{}", part(json_header), part(serde_json::to_string(&claims)))
}

/// The signed assertion.
pub(in crate::auth) fn assertion(signing_input: &str, signature: &[u8]) -> Secret {
    Secret::new(format!("{signing_input}.{}", Base64::Url.text(signature)))
}
