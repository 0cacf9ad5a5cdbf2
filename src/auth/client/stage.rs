//! The stages of an authorization and their transition table.

/// The stage of an authorization. Each stage except [`Idle`](Self::Idle) waits for one response or one result of the
/// application, and has a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// No authorization is in progress, with or without a token.
    Idle,
    /// The protected resource metadata of the MCP server is fetched.
    FindingResource,
    /// The metadata of the authorization server is fetched.
    FindingServer,
    /// The application locks the storage before a refresh.
    Claiming,
    /// The user is asked for a client id.
    NamingClient,
    /// The application prepares a login.
    PreparingLogin,
    /// The client is registered.
    Registering,
    /// The user is asked for consent.
    AwaitingUser,
    /// The application provides an assertion of the identity provider.
    AwaitingAssertion,
    /// The identity provider exchanges the assertion.
    ExchangingAssertion,
    /// The application signs.
    Signing,
    /// A token is requested.
    RequestingToken,
    /// A token is refreshed.
    Refreshing,
}

/// The transitions of each stage. An authorization ends, successfully or not, in [`Stage::Idle`]; every waiting
/// request is then released.
pub(in crate::auth) const TRANSITIONS: [(Stage, &[Stage]); 13] = {
    use Stage::{
        AwaitingAssertion, AwaitingUser, Claiming, ExchangingAssertion, FindingResource,
        FindingServer, Idle, NamingClient, PreparingLogin, Refreshing, Registering,
        RequestingToken, Signing,
    };
    [
        (Idle, &[FindingResource, Claiming]),
        (FindingResource, &[Idle, FindingResource, FindingServer]),
        (
            FindingServer,
            &[
                Idle,
                FindingServer,
                Claiming,
                NamingClient,
                PreparingLogin,
                AwaitingAssertion,
                Signing,
                RequestingToken,
            ],
        ),
        (Claiming, &[Idle, FindingResource, PreparingLogin, NamingClient, Signing, Refreshing]),
        (NamingClient, &[Idle, PreparingLogin, AwaitingAssertion, Signing, RequestingToken]),
        (PreparingLogin, &[Idle, Registering, AwaitingUser]),
        (Registering, &[Idle, AwaitingUser]),
        (AwaitingUser, &[Idle, Signing, RequestingToken]),
        (AwaitingAssertion, &[Idle, ExchangingAssertion]),
        (ExchangingAssertion, &[Idle, Signing, RequestingToken]),
        (Signing, &[Idle, RequestingToken, Refreshing]),
        (RequestingToken, &[Idle, NamingClient, PreparingLogin]),
        (Refreshing, &[Idle, FindingResource, NamingClient, PreparingLogin]),
    ]
};

impl Stage {
    /// Returns the stages that can follow this one.
    ///
    /// ```
    /// use mcp_sansio::auth::Stage;
    ///
    /// assert_eq!(Stage::Registering.next(), [Stage::Idle, Stage::AwaitingUser]);
    /// ```
    pub fn next(self) -> &'static [Self] {
        TRANSITIONS.iter().find(|(from, _)| *from == self).map_or(&[], |(_, to)| *to)
    }
}
