//! The request state that a modern client brings back: that of a server, or the number of a parked call.
//!
//! A server sees only the gateway, and cannot bind its state to the client. So the gateway does: the state is authentic only
//! for the same principal, method and name.

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use mcp_sansio::json::Str;
use mcp_sansio::request_state::{Authenticator, Binding, OpenError, StateSealer};
use mcp_sansio::{Instant, Request};
use mcp_sansio_tokio::clock;
use sha2::Sha256;

/// How long a state of a server is accepted. The server may have a shorter limit of its own.
const ACCEPTED_FOR: Duration = Duration::from_secs(24 * 3600);

/// The most bytes of a state of a server.
const MOST_BYTES: usize = 256 << 10;

struct Key([u8; 32]);

impl Key {
    fn over(&self, message: &[u8]) -> Hmac<Sha256> {
        let mac = Hmac::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        mac.chain_update(message)
    }
}

impl Authenticator for Key {
    fn tag(&self, message: &[u8]) -> [u8; 32] {
        self.over(message).finalize().into_bytes().into()
    }

    fn verify(&self, message: &[u8], tag: &[u8; 32]) -> bool {
        self.over(message).verify(tag.into()).is_ok()
    }
}

/// The content of a state.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The server with this name has to get the request again, with its state.
    OfServer { server: String, state: Option<String> },
    /// The number of a parked call. It is random, so that no other process has it.
    Parked(u128),
}

/// Seals and opens states.
pub(crate) struct States {
    sealer: StateSealer<Key>,
    clock: mcp_sansio_http::Clock,
}

impl States {
    pub(crate) fn new(key: [u8; 32]) -> Self {
        let sealer = StateSealer::new(Key(key)).payload_bytes(MOST_BYTES);
        Self { sealer, clock: clock() }
    }

    /// Returns the text for a client; `None` if the state of the server is too long.
    pub(crate) fn seal(&self, state: &State, request: &Request<'_>) -> Option<String> {
        let payload = match state {
            State::OfServer { server, state: Some(state) } => format!("s{server}\n{state}"),
            State::OfServer { server, state: None } => format!("n{server}"),
            State::Parked(number) => format!("p{number}"),
        };
        let expiry: Instant = self.clock.now() + ACCEPTED_FOR;
        let sealed = self.sealer.seal(payload.as_bytes(), &binding(request), expiry).ok()?;
        Some(sealed.into_string())
    }

    /// Opens the text that a client has brought back.
    pub(crate) fn open(&self, text: &Str<'_>, request: &Request<'_>) -> Result<State, OpenError> {
        let opened = self.sealer.open(text, &binding(request), self.clock.now())?;
        let payload = String::from_utf8(opened.payload).map_err(|_| OpenError::Malformed)?;
        let state = match payload.split_at_checked(1) {
            Some(("s", rest)) => rest.split_once('\n').map(|(server, state)| State::OfServer {
                server: server.to_owned(),
                state: Some(state.to_owned()),
            }),
            Some(("n", server)) => Some(State::OfServer { server: server.to_owned(), state: None }),
            Some(("p", number)) => number.parse().ok().map(State::Parked),
            _ => None,
        };
        state.ok_or(OpenError::Malformed)
    }
}

/// A client may write the same arguments differently in its retry, and the server compares those.
fn binding<'a>(request: &'a Request<'_>) -> Binding<'a> {
    Binding::of(request).without_arguments()
}
