//! `Activity`: the stages of an authorization with their data.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;

use super::client_id::{Client, ClientAuthentication};
use super::effect::FetchPurpose;
use super::saved::Grant;
use super::stage::Stage;
use crate::auth::messages::server_metadata::ServerMetadata;
use crate::auth::scopes::OFFLINE_ACCESS;
use crate::auth::{Scopes, Secret};

/// A stage with its data. Each step takes an activity by value and returns the next one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Activity {
    Idle,
    FindingResource { attempt: Attempt, places: VecDeque<String> },
    FindingServer { attempt: Attempt, resource: Resource, places: VecDeque<String> },
    Claiming(Refresh),
    NamingClient(Box<Found>),
    PreparingLogin { found: Box<Found>, client: Option<Client> },
    Registering { found: Box<Found>, login: LoginParts },
    AwaitingUser { purpose: Box<Purpose>, login: LoginParts },
    AwaitingAssertion(Box<Purpose>),
    ExchangingAssertion(Box<Purpose>),
    Signing { request: Request, input: String },
    RequestingToken { purpose: Box<Purpose>, proof: Proof },
    Refreshing(Refresh),
}

/// The reason for requesting a token, and the progress so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Attempt {
    /// The scopes that the challenge names.
    pub(super) challenged: Option<Scopes>,
    /// Scopes of an earlier request. They are requested again in a step-up, or if the server names no others.
    pub(super) earlier: Scopes,
    /// Whether the current token lacks scopes, so the user must grant more.
    pub(super) is_step_up: bool,
    /// Whether no challenge began the attempt. The server may name its metadata only in a challenge.
    pub(super) is_unchallenged: bool,
    /// Whether the challenge names the metadata of the resource, which servers of 2025-03-26 do not have.
    pub(super) names_metadata: bool,
    /// Whether the client was registered again because the authorization server had forgotten it. This happens at
    /// most once.
    pub(super) has_registered_anew: bool,
    /// Whether the client was registered in this attempt.
    pub(super) registered_now: bool,
}

/// The MCP server as a resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Resource {
    /// The resource indicator of requests. `None` if requests contain none.
    pub(super) name: Option<String>,
    pub(super) scopes: Option<Scopes>,
    /// The authorization server of the resource.
    pub(super) issuer: String,
    /// Whether the MCP server counts as its own authorization server, as in 2025-03-26.
    pub(super) is_fallback: bool,
}

/// The resource and its authorization server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Found {
    pub(super) attempt: Attempt,
    pub(super) resource: Resource,
    pub(super) server: ServerMetadata,
}

impl Found {
    /// Whether a refresh can bring tokens that serve the challenge of this attempt. Refreshed tokens are for the same
    /// resource, and have no further scopes.
    ///
    /// Scopes that were requested but not granted count: the server has accepted tokens without them. A refresh token
    /// proves `offline_access`, which some authorization servers omit from the granted scopes.
    pub(super) fn is_served_by_refresh(&self, grant: &Grant) -> bool {
        let covers = |challenged: &Scopes| {
            // Both sides may be long lists of a server, so they are compared as sets.
            let known = grant.granted.union(&grant.requested).union(&Scopes::parse(OFFLINE_ACCESS));
            known.covers(challenged)
        };
        grant.refresh_token.is_some()
            && grant.resource == self.resource.name
            && self.attempt.challenged.as_ref().is_none_or(covers)
    }
}

/// The purpose of a token request: the resource, the client and the scopes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Purpose {
    pub(super) found: Found,
    pub(super) client: Client,
    pub(super) method: ClientAuthentication,
    pub(super) scopes: Scopes,
}

/// The values of one login, used once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LoginParts {
    pub(super) redirect_uri: String,
    pub(super) verifier: Secret,
    pub(super) state: Secret,
}

/// The proof in exchange for which a token is issued.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Proof {
    Code {
        code: Secret,
        redirect_uri: String,
        verifier: Secret,
    },
    /// The authentication of the client itself.
    Client,
    /// An assertion of the identity provider.
    Assertion(Secret),
}

/// A refresh of the current token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Refresh {
    /// The discovered servers, if a challenge caused the refresh. `None` for a refresh that is due by time.
    pub(super) found: Option<Box<Found>>,
}

/// A request that waits for a signature.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Request {
    Token { purpose: Box<Purpose>, proof: Proof },
    Refresh(Refresh),
}

impl Activity {
    pub(super) const fn stage(&self) -> Stage {
        match self {
            Self::Idle => Stage::Idle,
            Self::FindingResource { .. } => Stage::FindingResource,
            Self::FindingServer { .. } => Stage::FindingServer,
            Self::Claiming(_) => Stage::Claiming,
            Self::NamingClient(_) => Stage::NamingClient,
            Self::PreparingLogin { .. } => Stage::PreparingLogin,
            Self::Registering { .. } => Stage::Registering,
            Self::AwaitingUser { .. } => Stage::AwaitingUser,
            Self::AwaitingAssertion(_) => Stage::AwaitingAssertion,
            Self::ExchangingAssertion(_) => Stage::ExchangingAssertion,
            Self::Signing { .. } => Stage::Signing,
            Self::RequestingToken { .. } => Stage::RequestingToken,
            Self::Refreshing(_) => Stage::Refreshing,
        }
    }

    /// Whether this stage belongs to a refresh.
    pub(super) const fn is_refresh(&self) -> bool {
        matches!(
            self,
            Self::Claiming(_)
                | Self::Signing { request: Request::Refresh(_), .. }
                | Self::Refreshing(_)
        )
    }

    /// Returns the purpose of the request, at a stage that waits for a server.
    pub(super) const fn fetch_purpose(&self) -> FetchPurpose {
        match self {
            Self::FindingResource { .. } => FetchPurpose::ResourceMetadata,
            Self::FindingServer { .. } => FetchPurpose::ServerMetadata,
            Self::Registering { .. } => FetchPurpose::Registration,
            Self::Refreshing(_) => FetchPurpose::Refresh,
            Self::ExchangingAssertion(_) => FetchPurpose::Assertion,
            _ => FetchPurpose::Token,
        }
    }
}
