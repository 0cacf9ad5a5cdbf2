//! Server state that is handed to the client and authenticated on return: sealed with HMAC-SHA-256, opened, refused
//! for every possible reason, and used once.
//!
//! Usage: `cargo run --example request_state`

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use hmac::{Hmac, KeyInit, Mac};
use mcp_sansio::json::{Raw, Str};
use mcp_sansio::request_state::{Authenticator, Binding, OpenError, OpenedState, StateSealer};
use mcp_sansio::{Instant, Principal};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// The keys of one service. A real service reads them from its secret storage; they are random, and only this
/// service knows them.
struct Keys {
    signing: [u8; 32],
    /// The previous key, until everything that it signed has expired.
    previous: Option<[u8; 32]>,
}

fn hmac(key: &[u8; 32], message: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes keys of any length").chain_update(message)
}

impl Authenticator for Keys {
    fn tag(&self, message: &[u8]) -> [u8; 32] {
        hmac(&self.signing, message).finalize().into_bytes().into()
    }

    fn verify(&self, message: &[u8], tag: &[u8; 32]) -> bool {
        // `verify` compares in constant time.
        let mut keys = [Some(&self.signing), self.previous.as_ref()].into_iter().flatten();
        keys.any(|key| hmac(key, message).verify(tag.into()).is_ok())
    }
}

/// The data that the server needs when the client's answer arrives.
#[derive(Serialize, Deserialize)]
struct Step {
    question: String,
    /// A random number in a real server.
    nonce: u64,
}

/// The used nonces, which make a state valid only once. Instances that share the key share this store, too.
#[derive(Default)]
struct UsedNonces(BTreeMap<u64, Instant>);

impl UsedNonces {
    /// Whether this is the first use of the nonce. Expired nonces are removed, because their states are refused
    /// anyway.
    fn first_use(&mut self, nonce: u64, expiry: Instant, now: Instant) -> bool {
        self.0.retain(|_, expiry| now < *expiry);
        self.0.insert(nonce, expiry).is_none()
    }
}

fn show(what: &str, opened: Result<OpenedState, OpenError>) {
    match opened {
        Ok(state) => println!("{what}: {}", String::from_utf8_lossy(&state.payload)),
        Err(error) => println!("{what}: {error}"),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sealer = StateSealer::new(Keys { signing: [1; 32], previous: None });
    let now = Instant::from(SystemTime::now());
    let expiry = now + Duration::from_secs(10 * 60);

    // In a server this is `Binding::of(&request)`, both for sealing and for opening.
    let arguments = Raw::new(r#"{"to":"production"}"#)?;
    let alice = Principal::new(1);
    let call = Binding::new(alice, "tools/call").name("deploy").arguments(arguments.clone());

    let step = Step { question: "Are you sure?".into(), nonce: 4711 };
    let state = sealer.seal(&serde_json::to_vec(&step)?, &call, expiry)?;
    println!("sealed: {}", state.as_str());

    // The client returns the state as a string in its repeated request: `requestState` of the params.
    let echoed = Str::from(state.as_str());
    show("opened", sealer.open(&echoed, &call, now));

    let fresh = StateSealer::new(Keys { signing: [1; 32], previous: None });
    show("opened by another instance", fresh.open(&echoed, &call, now));
    let rotated = StateSealer::new(Keys { signing: [2; 32], previous: Some([1; 32]) });
    show("opened after a change of keys", rotated.open(&echoed, &call, now));

    let stranger = StateSealer::new(Keys { signing: [3; 32], previous: None });
    show("with another key", stranger.open(&echoed, &call, now));
    let mallory = Binding::new(Principal::new(2), "tools/call").name("deploy").arguments(arguments);
    show("by somebody else", sealer.open(&echoed, &mallory, now));
    let tool = call.clone().name("delete");
    show("for another tool", sealer.open(&echoed, &tool, now));
    let elsewhere = call.clone().arguments(Raw::new(r#"{"to":"anywhere"}"#)?);
    show("with other arguments", sealer.open(&echoed, &elsewhere, now));
    let longer = Str::from(&*state.as_str().replacen("s1.1", "s1.2", 1));
    show("with a later expiry", sealer.open(&longer, &call, now));
    show("made up", sealer.open(&Str::from("let me in"), &call, now));
    show("too late", sealer.open(&echoed, &call, expiry));

    let mut used = UsedNonces::default();
    for attempt in 1..=2 {
        let opened = sealer.open(&echoed, &call, now)?;
        let step: Step = serde_json::from_slice(&opened.payload)?;
        let verdict = match used.first_use(step.nonce, opened.expiry, now) {
            true => "goes on",
            false => "refused by the store of the host",
        };
        println!("attempt {attempt} after {:?}: {verdict}", step.question);
    }
    Ok(())
}
