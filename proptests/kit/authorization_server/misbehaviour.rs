//! What a server can do wrong.

macro_rules! misbehaviours {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What a server does wrong. It does one thing wrong at a time.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(clippy::exhaustive_enums, reason = "a test wants to know of everything new")]
        pub enum Misbehaviour {
            $($(#[$doc])* $name,)*
        }

        impl Misbehaviour {
            /// All there are.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name on a command line.
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
    /// The authorization response names no issuer although the metadata promise it.
    MissingIssuer = "missing-iss",
    /// The metadata are those of another issuer.
    OtherIssuer = "other-issuer",
    /// The metadata do not say that there is PKCE.
    NoPkce = "no-pkce",
    /// Every response is late, by [`Options::delay`](super::Options::delay).
    Slow = "slow",
    /// The first request to the token endpoint is answered with 503.
    TokenUnavailable = "token-unavailable",
    /// At the first request to the token endpoint every registration is lost: `invalid_client`.
    ForgetsClients = "forgets-clients",
    /// Every refresh is refused: `invalid_grant`.
    DropsRefreshTokens = "drops-refresh-tokens",
    /// A refresh gives no new refresh token, and the old one stays good.
    NoRotation = "no-rotation",
    /// The token endpoint redirects.
    RedirectsToken = "redirects-token",
    /// The metadata are no JSON.
    GarbageMetadata = "garbage-metadata",
    /// The token endpoint answers with what is no JSON.
    GarbageToken = "garbage-token",
    /// The metadata are larger than a client takes.
    HugeMetadata = "huge-metadata",
    /// The response of the token endpoint is larger than a client takes.
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

/// What is no JSON.
pub(super) const GARBAGE: &str = "<html>\u{fffd}{]\0";

/// Larger than any sensible limit.
pub(super) const HUGE: usize = 4 << 20;
