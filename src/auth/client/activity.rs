//! The stages of an authorization, with the data of each.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;

use super::client_id::{Client, ClientAuthentication};
use super::effect::FetchPurpose;
use super::stage::Stage;
use crate::auth::messages::server_metadata::ServerMetadata;
use crate::auth::{Scopes, Secret};

/// A stage with what is known at it. Each step takes it by value and gives the next one.
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

/// Why a token is wanted, and what the server has said about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Attempt {
    /// The scopes that the challenge names.
    pub(super) challenged: Option<Scopes>,
    /// Scopes that were requested before, which are requested again.
    pub(super) earlier: Scopes,
    /// The server has a token already that is good for less: a user has to agree to more.
    pub(super) is_step_up: bool,
    /// The client was registered anew because the authorization server had forgotten it. That is done once.
    pub(super) has_registered_anew: bool,
    /// The client has been registered in this attempt.
    pub(super) registered_now: bool,
}

/// The MCP server as a resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Resource {
    /// What requests name it by; `None` if they do not.
    pub(super) name: Option<String>,
    pub(super) scopes: Option<Scopes>,
    /// Its authorization server.
    pub(super) issuer: String,
    /// It is taken for its own authorization server, as in 2025-03-26.
    pub(super) is_fallback: bool,
}

/// The resource and its authorization server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Found {
    pub(super) attempt: Attempt,
    pub(super) resource: Resource,
    pub(super) server: ServerMetadata,
}

/// What a token is requested for, and as whom.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Purpose {
    pub(super) found: Found,
    pub(super) client: Client,
    pub(super) method: ClientAuthentication,
    pub(super) scopes: Scopes,
}

/// What belongs to one login: used once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LoginParts {
    pub(super) redirect_uri: String,
    pub(super) verifier: Secret,
    pub(super) state: Secret,
}

/// What a token is given for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Proof {
    Code {
        code: Secret,
        redirect_uri: String,
        verifier: Secret,
    },
    /// The client's own authentication.
    Client,
    /// An assertion of the identity provider.
    Assertion(Secret),
}

/// A refresh of the token that there is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Refresh {
    /// What was found out because of a challenge; without it the time has come.
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

    /// Whether this is a part of a refresh.
    pub(super) const fn is_refresh(&self) -> bool {
        matches!(
            self,
            Self::Claiming(_)
                | Self::Signing { request: Request::Refresh(_), .. }
                | Self::Refreshing(_)
        )
    }

    /// What is asked for at the stages that wait for a server.
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
