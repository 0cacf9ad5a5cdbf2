//! Authorization over HTTP: OAuth 2.1 as MCP uses it, still without IO
//! ([authorization](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization)).
//!
//! - An [`Authorizer`] gets access tokens for one MCP server and keeps them. The host passes in challenges, responses and
//!   redirects; the authorizer emits [`Effect`]s for the host to carry out.
//! - [`resource_server`] has the checks of an MCP server that takes bearer tokens, as functions.
//!
//! The chapter [authorization](crate::manual::authorization) of the manual goes through a whole login by hand.

mod client;
mod fetch_policy;
mod messages;
pub mod resource_server;
mod scopes;
mod secret;
mod web_url;

#[cfg(test)]
pub(crate) use self::client::stage_tests;
pub use self::client::{
    AccessToken, ApplicationType, AuthorizationFailure, Authorizer, AuthorizerConfig, BrowserUrl,
    Challenged, ClientAuthentication, ClientMetadata, ConfiguredClient, Effect, Fallback, Fetch,
    FetchError, FetchPurpose, FetchedResponse, Flow, IdentityProvider, InvalidDocumentUrl,
    InvalidSaved, IssuerPlace, JobId, LoginMaterial, NotAllowed, OAuthError, OAuthErrorCode,
    Permit, Redirected, RequestKey, Saved, Signing, SigningKey, Stage, Verdict,
};
pub use self::fetch_policy::FetchPolicy;
pub use self::messages::challenge::{BearerChallenge, Challenge, Challenges};
pub use self::scopes::Scopes;
pub use self::secret::Secret;
pub use self::web_url::{UrlError, WebUrl};
