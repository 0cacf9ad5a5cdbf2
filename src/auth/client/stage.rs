//! The life of an authorization as a table.

/// Which part of an authorization is under way. Each stage but [`Idle`](Self::Idle) waits for one answer of the host, and
/// has a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// Nothing. There may be a token or none.
    Idle,
    /// The metadata of the MCP server are fetched.
    FindingResource,
    /// The metadata of the authorization server are fetched.
    FindingServer,
    /// The storage is being claimed, to refresh the token.
    Claiming,
    /// The user is asked for a client id.
    NamingClient,
    /// The host makes ready for a login.
    PreparingLogin,
    /// The client is registered.
    Registering,
    /// The user is asked to agree.
    AwaitingUser,
    /// The host gives an assertion of the identity provider.
    AwaitingAssertion,
    /// The identity provider exchanges the assertion.
    ExchangingAssertion,
    /// The host signs.
    Signing,
    /// A token is requested.
    RequestingToken,
    /// A token is refreshed.
    Refreshing,
}

/// Where each stage can lead. An authorization ends, well or not, by going to [`Stage::Idle`]; every waiting request is
/// released then.
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
    /// Where this stage can lead.
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
