//! The client side: a state machine that obtains and keeps access tokens for one MCP server.
//!
//! [`Authorizer`] owns an `Activity`, whose public form is a [`Stage`]. `answers` and `challenged` pass each input
//! to a step: a function of `Inner` and the data of the activity, which returns the next `Activity` or a failure.
//! The steps are in six modules, from top to bottom: `refreshing`, `discovery`, `identifying`, `login`,
//! `registering`, `token`. A step calls only steps below it. All steps send through `fetching`.

mod access_token;
mod activity;
mod answers;
mod authorizer;
mod challenged;
pub(in crate::auth) mod client_id;
pub(in crate::auth) mod config;
mod discovery;
mod effect;
pub(in crate::auth) mod failure;
mod fetching;
mod identifying;
mod inner;
mod login;
mod pacing;
mod refreshing;
mod registering;
mod response;
mod saved;
mod stage;
#[cfg(test)]
pub(crate) mod stage_tests;
mod token;

pub use self::access_token::AccessToken;
pub use self::authorizer::{Authorizer, Permit};
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
pub use self::login::{LoginMaterial, Redirected};
pub use self::response::FetchedResponse;
pub use self::saved::{InvalidSaved, Saved};
pub use self::stage::Stage;
