//! The key that signs access tokens. Each start creates a new one.

use mcp_sansio_http::random_bytes;
use mcp_sansio_proptests::authorization_server::{Signer, base64url};
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use serde_json::json;

use crate::Failure;

/// Creates a signer with a new P-256 key.
pub(crate) fn signer() -> Result<Signer, Failure> {
    let key = new_key()?;
    let point = key.verifying_key().to_sec1_point(false);
    let coordinate = |bytes: Option<&[u8]>| bytes.map(base64url).ok_or("the key is no point");
    let x = coordinate(point.x().map(|x| &x[..]))?;
    let y = coordinate(point.y().map(|y| &y[..]))?;
    let jwk = json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y });
    let sign = move |input: &[u8]| {
        let signature: Signature = key.sign(input);
        signature.to_bytes().to_vec()
    };
    let kid = base64url(&random_bytes::<8>()?);
    Ok(Signer { kid, jwk, sign: Box::new(sign) })
}

/// Creates a key from random bytes, of which almost all are valid keys.
fn new_key() -> Result<SigningKey, Failure> {
    for _ in 0..8 {
        if let Ok(key) = SigningKey::from_slice(&random_bytes::<32>()?) {
            return Ok(key);
        }
    }
    Err("there is no randomness".into())
}
