//! The client's side: a machine that gets access tokens for one MCP server and keeps them.

mod activity;
mod authorizer;
mod challenged;
pub(in crate::auth) mod client_id;
pub(in crate::auth) mod config;
mod discovery;
mod effect;
pub(in crate::auth) mod failure;
mod fetching;
mod identifying;
mod login;
mod refreshing;
mod saved;
mod stage;
#[cfg(test)]
pub(crate) mod stage_tests;
mod token;

pub use self::authorizer::{AccessToken, Authorizer, Permit};
pub use self::challenged::Challenged;
pub use self::client_id::{ClientAuthentication, ConfiguredClient, SigningKey};
pub use self::config::{
    ApplicationType, AuthorizerConfig, ClientMetadata, Fallback, Flow, IdentityProvider,
    InvalidDocumentUrl,
};
pub use self::effect::{
    BrowserUrl, Effect, Fetch, FetchError, FetchPurpose, JobId, RequestKey, Signing, Verdict,
};
pub use self::failure::{
    AuthorizationFailure, IssuerPlace, NotAllowed, OAuthError, OAuthErrorCode,
};
pub use self::fetching::FetchedResponse;
pub use self::login::{LoginMaterial, Redirected};
pub use self::saved::{InvalidSaved, Saved};
pub use self::stage::Stage;
