//! Access tokens that are JSON Web Tokens.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use mcp_sansio::Instant;
use mcp_sansio_http::{JwtVerifier, TokenVerifier, Verification};
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{Signature, SigningKey};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::kit::let_pass;

fn base64url(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        for index in 0..=group.len() {
            text.push(ALPHABET[(bits >> (18 - 6 * index)) as usize & 63].into());
        }
    }
    text
}

fn key(number: u8) -> SigningKey {
    SigningKey::from_slice(&[number; 32]).unwrap()
}

/// Returns the public key as a JSON Web Key.
fn jwk(number: u8, id: &str) -> Value {
    let point = key(number).verifying_key().to_sec1_point(false);
    let (x, y) = (base64url(point.x().unwrap()), base64url(point.y().unwrap()));
    json!({ "kty": "EC", "crv": "P-256", "kid": id, "use": "sig", "alg": "ES256", "x": x, "y": y })
}

fn keys(keys: &[Value]) -> String {
    json!({ "keys": keys }).to_string()
}

fn signed(number: u8, header: &Value, payload: &Value) -> String {
    let input = format!(
        "{}.{}",
        base64url(header.to_string().as_bytes()),
        base64url(payload.to_string().as_bytes()),
    );
    let signature: Signature = key(number).sign(input.as_bytes());
    format!("{input}.{}", base64url(&signature.to_bytes()))
}

fn header(id: &str) -> Value {
    json!({ "alg": "ES256", "typ": "at+jwt", "kid": id })
}

fn payload() -> Value {
    json!({
        "iss": "https://as.example",
        "sub": "alice",
        "aud": "https://mcp.example/mcp",
        "exp": 1_000.5,
        "nbf": 10,
        "scope": "use notes",
        "client_id": "c",
    })
}

async fn verified(token: &str) -> Verification {
    JwtVerifier::new(&keys(&[jwk(1, "one"), jwk(2, "two")])).unwrap().verify(token).await
}

/// Proves A-RS-04, A-RS-05, A-RS-06, A-RS-07: the payload of a token becomes its claims.
#[tokio::test]
async fn a_signed_token_is_read() {
    let token = signed(1, &header("one"), &payload());
    let Verification::Valid(claims) = verified(&token).await else { panic!("it is refused") };
    assert_eq!((&*claims.issuer, &*claims.subject), ("https://as.example", "alice"));
    assert_eq!(
        (claims.client.as_deref(), claims.scopes.to_string()),
        (Some("c"), "use notes".into())
    );
    assert_eq!(claims.audience, ["https://mcp.example/mcp"]);
    assert_eq!(claims.expires_at, Some(Instant::from_millis(1_000_500)));
    assert_eq!(claims.not_before, Some(Instant::from_millis(10_000)));
    // The payload in the form of other servers.
    let other = json!({ "iss": "i", "sub": "s", "aud": ["a", "b"], "scp": ["x", "y"], "azp": "d", "exp": 1e30 });
    let Verification::Valid(claims) =
        verified(&signed(2, &json!({ "alg": "ES256" }), &other)).await
    else {
        panic!("it is refused")
    };
    assert_eq!(
        (claims.audience, claims.scopes.to_string()),
        (vec!["a".into(), "b".into()], "x y".into())
    );
    assert_eq!((claims.client.as_deref(), claims.not_before), (Some("d"), None));
    assert_eq!(claims.expires_at, Some(Instant::from_nanos(u64::MAX)));
}

/// Proves A-CHAL-01, A-RS-07: a forged token, or a token for another purpose, is refused.
#[tokio::test]
async fn a_forged_or_unsuitable_token_is_refused() {
    let good = signed(1, &header("one"), &payload());
    assert!(matches!(verified(&good).await, Verification::Valid(_)));
    let parts: Vec<&str> = good.split('.').collect();
    let text = |value: &Value| base64url(value.to_string().as_bytes());
    let mut richer = payload();
    richer["scope"] = json!("admin");
    let mut without_subject = payload();
    without_subject.as_object_mut().unwrap().remove("sub");
    // A client that presents a bound token would have to present the key as well.
    let mut bound = payload();
    bound["cnf"] = json!({ "jkt": "x" });
    let with = |name: &str, value: Value| {
        let mut header = header("one");
        header[name] = value;
        signed(1, &header, &payload())
    };
    let bad = [
        String::new(),
        "garbage".into(),
        "a.b.c".into(),
        format!("{}.{}.", parts[0], parts[1]),
        format!("{}.{}.{}", parts[0], text(&richer), parts[2]),
        format!("{}.{}.", text(&json!({ "alg": "none" })), parts[1]),
        // The right key under the id of another key, and a key id that does not exist.
        signed(2, &header("one"), &payload()),
        signed(1, &header("three"), &payload()),
        signed(3, &json!({ "alg": "ES256" }), &payload()),
        // The public key as the secret of another algorithm.
        signed(1, &json!({ "alg": "HS256", "kid": "one" }), &payload()),
        with("alg", json!("ES384")),
        with("typ", json!("logout+jwt")),
        with("crit", json!(["exp"])),
        signed(1, &header("one"), &without_subject),
        signed(1, &header("one"), &bound),
        signed(1, &header("one"), &json!([])),
        signed(1, &header("one"), &json!({ "iss": 1, "sub": "a" })),
    ];
    for token in bad {
        assert_eq!(verified(&token).await, Verification::Invalid, "{token}");
    }
    let mut encrypts = jwk(1, "one");
    encrypts["use"] = json!("enc");
    let verifier = JwtVerifier::new(&keys(&[encrypts])).unwrap();
    assert_eq!(verifier.verify(&good).await, Verification::Invalid);
}

/// Proves A-RS-07: keys are fetched on demand, once for all waiting tokens, and at most every ten seconds.
#[tokio::test]
async fn keys_are_fetched_when_they_are_needed() {
    let fetches = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&fetches);
    let verifier = JwtVerifier::fetching(move || {
        let fetch = counted.fetch_add(1, Ordering::SeqCst);
        async move {
            match fetch {
                0 => Err(io::Error::other("down")),
                1 => Ok(keys(&[jwk(1, "one")])),
                2 => Ok("garbage".into()),
                _ => Ok(keys(&[jwk(2, "two")])),
            }
        }
    });
    let (one, two) = (signed(1, &header("one"), &payload()), signed(2, &header("two"), &payload()));
    let is_valid = async |token: &str| match verifier.verify(token).await {
        Verification::Valid(_) => Some(true),
        Verification::Invalid => Some(false),
        _ => None,
    };
    let count = || fetches.load(Ordering::SeqCst);
    assert_eq!((is_valid(&one).await, is_valid(&one).await, count()), (None, None, 1));
    let_pass(Duration::from_secs(11)).await;
    let (first, second) = tokio::join!(is_valid(&one), is_valid(&one));
    assert_eq!((first, second, count()), (Some(true), Some(true), 2));
    // Any client can name a key id, so an unknown one fetches nothing for a while. The key may be new, so the token
    // is not refused either.
    assert_eq!((is_valid(&two).await, count()), (None, 2));
    let_pass(Duration::from_secs(11)).await;
    assert_eq!((is_valid(&two).await, count()), (None, 3));
    assert_eq!(is_valid(&one).await, Some(true), "those that were there are kept");
    let_pass(Duration::from_secs(11)).await;
    assert_eq!((is_valid(&two).await, count()), (Some(true), 4));
    // The key has been withdrawn, which is certain only after a fetch for its id.
    assert_eq!((is_valid(&one).await, count()), (None, 4));
    let_pass(Duration::from_secs(11)).await;
    assert_eq!((is_valid(&one).await, count()), (Some(false), 5));
    let_pass(Duration::from_secs(3601)).await;
    assert_eq!((is_valid(&two).await, count()), (Some(true), 6));
}

/// Proves A-RS-07: keys that cannot be fetched for a long time are no longer accepted.
#[tokio::test]
async fn signing_keys_expire_if_they_cannot_be_refreshed() {
    let fetches = AtomicUsize::new(0);
    let verifier = JwtVerifier::fetching(move || {
        let fetch = fetches.fetch_add(1, Ordering::SeqCst);
        async move {
            if fetch == 0 { Ok(keys(&[jwk(1, "one")])) } else { Err(io::Error::other("down")) }
        }
    });
    let one = signed(1, &header("one"), &payload());
    assert!(matches!(verifier.verify(&one).await, Verification::Valid(_)));
    let_pass(Duration::from_secs(3601)).await;
    assert!(matches!(verifier.verify(&one).await, Verification::Valid(_)));
    let_pass(Duration::from_secs(3600)).await;
    assert_eq!(verifier.verify(&one).await, Verification::Unavailable);
}

/// Proves A-RS-07: a key of an unknown kind does not invalidate the other keys (RFC 7517, section 5).
#[tokio::test]
async fn keys_of_other_kinds_are_left_out() {
    let others = [
        json!({ "kty": "AKP", "alg": "ML-DSA-44", "kid": "new", "pub": "AA" }),
        json!({ "kty": "EC", "crv": "secp256k1", "kid": "odd", "x": "AA", "y": "AA" }),
        json!("no key"),
    ];
    let one = signed(1, &header("one"), &payload());
    for other in others {
        let verifier = JwtVerifier::new(&keys(&[other.clone(), jwk(1, "one")])).unwrap();
        assert!(matches!(verifier.verify(&one).await, Verification::Valid(_)), "{other}");
    }
}

/// Polls a future once, and returns its output if it is ready.
async fn at_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    poll_fn(|context| match Pin::new(&mut *future).poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// Proves A-RS-07: a token with an unknown key id delays no other token.
#[tokio::test]
async fn a_slow_key_fetch_delays_only_tokens_that_need_it() {
    let fetches = AtomicUsize::new(0);
    let verifier = JwtVerifier::fetching(move || {
        let fetch = fetches.fetch_add(1, Ordering::SeqCst);
        async move {
            if fetch > 0 {
                std::future::pending::<()>().await;
            }
            Ok(keys(&[jwk(1, "one")]))
        }
    });
    let (one, two) = (signed(1, &header("one"), &payload()), signed(2, &header("two"), &payload()));
    assert!(matches!(verifier.verify(&one).await, Verification::Valid(_)));
    let_pass(Duration::from_secs(11)).await;
    let mut attack = verifier.verify(&two);
    assert_eq!(at_once(&mut attack).await, None, "it waits for the fetch");
    let verified = at_once(&mut verifier.verify(&one)).await;
    assert!(matches!(verified, Some(Verification::Valid(_))), "{verified:?}");
}

/// Proves A-RS-07: a client that disconnects while keys are fetched does not end the fetch, on which others wait.
#[tokio::test]
async fn a_fetch_outlives_the_client_that_began_it() {
    let (begun, open) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let (counted, opened) = (Arc::clone(&begun), Arc::clone(&open));
    let verifier = JwtVerifier::fetching(move || {
        counted.fetch_add(1, Ordering::SeqCst);
        let opened = Arc::clone(&opened);
        async move {
            opened.acquire().await.unwrap().forget();
            Ok(keys(&[jwk(1, "one")]))
        }
    });
    let one = signed(1, &header("one"), &payload());
    let mut gone = verifier.verify(&one);
    assert_eq!(at_once(&mut gone).await, None);
    drop(gone);
    open.add_permits(1);
    assert!(matches!(verifier.verify(&one).await, Verification::Valid(_)));
    assert_eq!(begun.load(Ordering::SeqCst), 1);
}
