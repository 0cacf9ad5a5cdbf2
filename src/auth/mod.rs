//! Authorization over HTTP: OAuth 2.1 as profiled by MCP, without IO
//! ([authorization](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization)).
//!
//! - An [`Authorizer`] obtains and keeps the access tokens for one MCP server. The application passes in challenges,
//!   responses and redirects; the authorizer emits [`Effect`]s for the application to carry out.
//! - [`resource_server`] contains the checks of an MCP server that accepts bearer tokens, as functions.
//!
//! The chapter [authorization](crate::manual::authorization) of the manual walks through a complete login.

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
