//! Deliberate faults of a server.

macro_rules! misbehaviours {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// A deliberate fault of a server. A server has at most one fault at a time.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(clippy::exhaustive_enums, reason = "a test wants to know of everything new")]
        pub enum Misbehaviour {
            $($(#[$doc])* $name,)*
        }

        impl Misbehaviour {
            /// All faults.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Returns the name used on command lines.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

misbehaviours! {
    /// The authorization response names another issuer.
    WrongIssuer = "wrong-iss",
    /// The authorization response names no issuer although the metadata promise one.
    MissingIssuer = "missing-iss",
    /// The metadata belong to another issuer.
    OtherIssuer = "other-issuer",
    /// The metadata do not advertise PKCE.
    NoPkce = "no-pkce",
    /// Every response is delayed by [`Options::delay`](super::Options::delay).
    Slow = "slow",
    /// The first request to the token endpoint fails with 503.
    TokenUnavailable = "token-unavailable",
    /// The first request to the token endpoint deletes every registration: `invalid_client`.
    ForgetsClients = "forgets-clients",
    /// Every refresh fails: `invalid_grant`.
    DropsRefreshTokens = "drops-refresh-tokens",
    /// A refresh returns no new refresh token, and the old one stays valid.
    NoRotation = "no-rotation",
    /// The token endpoint redirects.
    RedirectsToken = "redirects-token",
    /// The metadata are not JSON.
    GarbageMetadata = "garbage-metadata",
    /// The response of the token endpoint is not JSON.
    GarbageToken = "garbage-token",
    /// The metadata exceed the size limit of a client.
    HugeMetadata = "huge-metadata",
    /// The response of the token endpoint exceeds the size limit of a client.
    HugeToken = "huge-token",
}

impl std::str::FromStr for Misbehaviour {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = Self::ALL.iter().find(|known| known.name() == name).copied();
        known.ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|known| known.name()).collect();
            format!("not one of {}", names.join(", "))
        })
    }
}

/// A text that is not JSON.
pub(super) const GARBAGE: &str = "<html>\u{fffd}{]\0";

/// A size above any sensible limit.
pub(super) const HUGE: usize = 4 << 20;
