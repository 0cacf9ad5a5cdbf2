//! The failures of an authorization.

use alloc::string::String;
use core::time::Duration;

use crate::auth::UrlError;

/// Why there is no access token for a request.
///
/// `Display` shows no secret. Texts of servers appear as they came; they are for people and must not be interpreted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorizationFailure {
    /// The MCP server publishes no metadata that name its authorization server. The server is at fault.
    #[error("the server does not say which authorization server it trusts")]
    NoResourceMetadata,
    /// The metadata are those of another resource. The server is at fault, or a proxy between.
    #[error("the metadata are those of the resource {0:?}, which is not this server")]
    ResourceMismatch(String),
    /// The server takes tokens only in ways that MCP does not allow.
    #[error("the server does not take tokens in the Authorization field")]
    NoHeaderTokens,
    /// The metadata of the resource name no authorization server.
    #[error("the metadata of the server name no authorization server")]
    NoAuthorizationServer,
    /// No metadata of the authorization server have been found.
    #[error("the authorization server {issuer:?} has no metadata that can be read")]
    NoServerMetadata {
        /// The issuer.
        issuer: String,
    },
    /// The metadata of the authorization server cannot be used because of this member.
    #[error("the member {member:?} of the metadata of {issuer:?} cannot be used")]
    UnusableMetadata {
        /// The issuer that was asked for.
        issuer: String,
        /// The member that is missing or wrong.
        member: &'static str,
    },
    /// A document or a response is of another issuer than the one that was asked.
    #[error("{place} is of another issuer than {expected:?}, or names none")]
    IssuerMismatch {
        /// Where the issuer is named.
        place: IssuerPlace,
        /// The issuer that was expected.
        expected: String,
    },
    /// The authorization server does not say that it supports PKCE with S256.
    #[error("the authorization server does not support PKCE with S256")]
    NoPkce,
    /// There is no client id for this authorization server and no way to get one.
    #[error("there is no way to register with {issuer:?}")]
    NoRegistration {
        /// The issuer.
        issuer: String,
    },
    /// The authorization server refused to register the client.
    #[error("the registration was refused: {0}")]
    RegistrationRefused(OAuthError),
    /// The authorization server does not have the grant, or the way to authenticate, that is configured.
    #[error("the authorization server does not support {0:?}")]
    Unsupported(&'static str),
    /// The user, or the authorization server for them, said no.
    #[error("authorization was denied: {0}")]
    Denied(OAuthError),
    /// The user gave up, or took longer than allowed.
    #[error("authorization was not finished by the user")]
    Abandoned,
    /// The browser came back with something that is no answer.
    #[error("the answer of the authorization server is malformed")]
    InvalidResponse,
    /// The token endpoint refused.
    #[error("the token request was refused: {0}")]
    TokenRefused(OAuthError),
    /// The token endpoint answered with something that is no token, because of this member.
    #[error("the member {0:?} of the token response cannot be used")]
    InvalidToken(&'static str),
    /// The scopes that the request needs cannot be had: they were requested already, as often as is allowed, or
    /// step-up is switched off.
    #[error("the scopes that the request needs cannot be had: {0}")]
    ScopeUnavailable(String),
    /// The server refused an access token that had just been issued.
    #[error("the server refuses an access token that has just been issued")]
    FreshTokenRefused,
    /// The server refused the request itself with 403. No token would change that.
    #[error("the server forbids the request")]
    Forbidden,
    /// A server named a URL that must not be fetched.
    #[error("{place} must not be fetched: {reason}")]
    NotAllowed {
        /// Which URL.
        place: &'static str,
        /// Why.
        reason: NotAllowed,
    },
    /// A server is out of order, or cannot be reached. Nothing has been forgotten; later it may go well.
    #[error("{place} could not be reached, or failed for now")]
    Transient {
        /// Who was asked.
        place: &'static str,
        /// The status of HTTP, `None` if there was no response.
        status: Option<u16>,
        /// How long the server asks to be left alone.
        retry_after: Option<Duration>,
    },
    /// A response was longer than allowed.
    #[error("{place} answered with more bytes than allowed")]
    TooLarge {
        /// Who was asked.
        place: &'static str,
    },
    /// A request was answered with a status that it cannot have.
    #[error("{place} answered with status {status}")]
    UnexpectedStatus {
        /// Who was asked.
        place: &'static str,
        /// The status of HTTP.
        status: u16,
    },
    /// The host could not do its part in time: sign, name a client, make ready for a redirect, lock the storage.
    #[error("the host could not {0}")]
    Host(&'static str),
    /// So many requests wait for authorization that this one cannot.
    #[error("too many requests wait for authorization")]
    TooManyWaiting,
}

/// Where an issuer is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IssuerPlace {
    /// The metadata of the authorization server.
    Metadata,
    /// The answer that came by way of the browser.
    Response,
    /// The client id that was configured.
    Client,
}

/// Why a URL must not be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum NotAllowed {
    /// It is no URL that can be used.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The [`FetchPolicy`](crate::auth::FetchPolicy) does not allow it.
    #[error("the policy does not allow it")]
    Policy,
}

/// An error as OAuth has it
/// ([RFC 6749, section 5.2](https://www.rfc-editor.org/rfc/rfc6749#section-5.2)).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct OAuthError {
    /// The code.
    pub code: OAuthErrorCode,
    /// The text for people, as it came.
    pub description: Option<String>,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The code of an error of OAuth.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum OAuthErrorCode {
            $($(#[$doc])* $name,)*
            /// Another one.
            Other(String),
        }

        impl OAuthErrorCode {
            /// The code as it is on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$name => $text,)*
                    Self::Other(code) => code,
                }
            }
        }

        impl From<&str> for OAuthErrorCode {
            fn from(code: &str) -> Self {
                match code {
                    $($text => Self::$name,)*
                    other => Self::Other(other.into()),
                }
            }
        }
    };
}

codes! {
    /// The request is malformed.
    InvalidRequest = "invalid_request",
    /// The client is not known, or has not shown who it is.
    InvalidClient = "invalid_client",
    /// The code or the refresh token is not valid, or not for this client.
    InvalidGrant = "invalid_grant",
    /// The client may not use this grant.
    UnauthorizedClient = "unauthorized_client",
    /// The server does not have this grant.
    UnsupportedGrantType = "unsupported_grant_type",
    /// The scope is not valid, or more than was granted.
    InvalidScope = "invalid_scope",
    /// The resource is not known
    /// ([RFC 8707, section 2](https://www.rfc-editor.org/rfc/rfc8707#section-2)).
    InvalidTarget = "invalid_target",
    /// The user, or the server for them, said no.
    AccessDenied = "access_denied",
    /// The server does not answer with a code.
    UnsupportedResponseType = "unsupported_response_type",
    /// The server failed.
    ServerError = "server_error",
    /// The server is overloaded.
    TemporarilyUnavailable = "temporarily_unavailable",
    /// A redirect URI cannot be registered
    /// ([RFC 7591, section 3.2.2](https://www.rfc-editor.org/rfc/rfc7591#section-3.2.2)).
    InvalidRedirectUri = "invalid_redirect_uri",
    /// What the client says of itself cannot be registered.
    InvalidClientMetadata = "invalid_client_metadata",
}

impl OAuthError {
    pub(in crate::auth) fn new(code: &str, description: Option<String>) -> Self {
        Self { code: code.into(), description }
    }
}

impl core::fmt::Display for OAuthError {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // It may be a text of a server: without its control characters.
        write!(formatter, "{}", self.code.as_str().escape_debug())?;
        match &self.description {
            Some(description) => write!(formatter, " ({description:?})"),
            None => Ok(()),
        }
    }
}

impl core::fmt::Display for IssuerPlace {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter.write_str(match self {
            Self::Metadata => "the metadata of the authorization server",
            Self::Response => "the answer of the authorization server",
            Self::Client => "the configured client id",
        })
    }
}
