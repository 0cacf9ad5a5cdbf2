//! The failures of an authorization.

use alloc::boxed::Box;
use alloc::string::String;
use core::time::Duration;

use crate::auth::UrlError;

/// The reason why there is no access token for a request.
///
/// `Display` shows no secret. Texts of servers appear unchanged; they are for humans and must not be interpreted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorizationFailure {
    /// The MCP server publishes no metadata that names its authorization server. The server is at fault.
    #[error("the server does not say which authorization server it trusts")]
    NoResourceMetadata,
    /// The metadata describes another resource. The server, or a proxy in front of it, is at fault.
    #[error("the metadata are those of the resource {0:?}, which is not this server")]
    ResourceMismatch(String),
    /// The server accepts tokens only in ways that MCP does not allow.
    #[error("the server does not take tokens in the Authorization field")]
    NoHeaderTokens,
    /// The protected resource metadata names no authorization server.
    #[error("the metadata of the server name no authorization server")]
    NoAuthorizationServer,
    /// No metadata of the authorization server was found.
    #[error("the authorization server {issuer:?} has no metadata that can be read")]
    NoServerMetadata {
        /// The issuer.
        issuer: String,
    },
    /// The metadata of the authorization server is unusable because of this member.
    #[error("the member {member:?} of the metadata of {issuer:?} cannot be used")]
    UnusableMetadata {
        /// The requested issuer.
        issuer: String,
        /// The member that is missing or invalid.
        member: &'static str,
    },
    /// A document or a response belongs to another issuer than the expected one.
    #[error("{place} is of another issuer than {expected:?}, or names none")]
    IssuerMismatch {
        /// The place where the issuer is named.
        place: IssuerPlace,
        /// The expected issuer.
        expected: String,
    },
    /// The authorization server does not declare support for PKCE with S256.
    #[error("the authorization server does not support PKCE with S256")]
    NoPkce,
    /// There is no client id for this authorization server and no way to obtain one.
    #[error("there is no way to register with {issuer:?}")]
    NoRegistration {
        /// The issuer.
        issuer: String,
    },
    /// The authorization server refused to register the client.
    #[error("the registration was refused: {0}")]
    RegistrationRefused(OAuthError),
    /// The authorization server does not support the configured grant or authentication method.
    #[error("the authorization server does not support {0:?}")]
    Unsupported(&'static str),
    /// The user, or the authorization server on the user's behalf, denied the authorization.
    #[error("authorization was denied: {0}")]
    Denied(OAuthError),
    /// The user gave up, logged out, or exceeded the time limit, or no request waits for the login any more.
    #[error("authorization was not finished by the user")]
    Abandoned,
    /// The parameters of the redirect are not a valid authorization response.
    #[error("the answer of the authorization server is malformed")]
    InvalidResponse,
    /// The token endpoint refused the request.
    #[error("the token request was refused: {0}")]
    TokenRefused(OAuthError),
    /// The token response is unusable because of this member.
    #[error("the member {0:?} of the token response cannot be used")]
    InvalidToken(&'static str),
    /// The scopes that the request needs are unavailable: they were already requested as often as the limit allows,
    /// or step-up is disabled.
    #[error("the scopes that the request needs cannot be had: {0}")]
    ScopeUnavailable(String),
    /// The server refused an access token that was issued within the last minute, and has accepted no request with it.
    #[error("the server refuses an access token that has just been issued")]
    FreshTokenRefused,
    /// The server refused the request itself with 403. Another token would not help.
    #[error("the server forbids the request")]
    Forbidden,
    /// A server named a URL that must not be fetched.
    #[error("{place} must not be fetched: {reason}")]
    NotAllowed {
        /// The purpose of the URL.
        place: &'static str,
        /// The reason.
        reason: NotAllowed,
    },
    /// A server fails temporarily or is unreachable. Tokens and registrations are kept; a later attempt may succeed.
    #[error("{place} could not be reached, or failed for now")]
    Transient {
        /// The server or endpoint.
        place: &'static str,
        /// The HTTP status. `None` if there was no response.
        status: Option<u16>,
        /// The delay that the server requests before the next attempt.
        retry_after: Option<Duration>,
    },
    /// The authorization server failed temporarily, for this reason, when it was sent the code of a login. A code is
    /// used once, so the next attempt needs another login.
    #[error("the login is lost: {0}")]
    LoginLost(Box<Self>),
    /// A response exceeded the length limit.
    #[error("{place} answered with more bytes than allowed")]
    TooLarge {
        /// The server or endpoint.
        place: &'static str,
    },
    /// A response has a status that is invalid for its request.
    #[error("{place} answered with status {status}")]
    UnexpectedStatus {
        /// The server or endpoint.
        place: &'static str,
        /// The HTTP status.
        status: u16,
    },
    /// The application failed to do its part in time: sign, name a client, prepare for a redirect, or lock the
    /// storage.
    #[error("the host could not {0}")]
    Host(&'static str),
    /// The limit on requests that wait for authorization is reached.
    #[error("too many requests wait for authorization")]
    TooManyWaiting,
}

/// The task of an application that locks its storage, for [`AuthorizationFailure::Host`].
pub(super) const LOCK_STORAGE: &str = "lock the storage";

impl AuthorizationFailure {
    /// Describes the failure of a request with the code of a login, which cannot be sent again.
    pub(super) fn of_code(self) -> Self {
        if self.is_temporary() { Self::LoginLost(Box::new(self)) } else { self }
    }

    /// Whether another attempt may succeed soon, without a login and without a change of the configuration: a server
    /// fails temporarily, the storage is locked for too long, or too many requests wait.
    ///
    /// ```
    /// use mcp_sansio::auth::AuthorizationFailure;
    ///
    /// assert!(AuthorizationFailure::TooManyWaiting.is_temporary());
    /// assert!(!AuthorizationFailure::Abandoned.is_temporary());
    /// ```
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Transient { .. } | Self::TooManyWaiting => true,
            Self::Host(task) => *task == LOCK_STORAGE,
            Self::TokenRefused(error) => matches!(
                error.code,
                OAuthErrorCode::ServerError | OAuthErrorCode::TemporarilyUnavailable
            ),
            _ => false,
        }
    }
}

/// The place where an issuer is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IssuerPlace {
    /// The metadata of the authorization server.
    Metadata,
    /// The authorization response, received through the browser.
    Response,
    /// The configured client id.
    Client,
}

/// The reason why a URL must not be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum NotAllowed {
    /// The text is not a usable URL.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The [`FetchPolicy`](crate::auth::FetchPolicy) forbids the URL.
    #[error("the policy does not allow it")]
    Policy,
    /// The MCP server is elsewhere and has an `http` URL, so that others could read the token.
    #[error("it would be sent in clear text")]
    ClearText,
}

/// An OAuth error ([RFC 6749, section 5.2](https://www.rfc-editor.org/rfc/rfc6749#section-5.2)).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct OAuthError {
    /// The error code.
    pub code: OAuthErrorCode,
    /// The human-readable description, unchanged.
    pub description: Option<String>,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// An OAuth error code.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum OAuthErrorCode {
            $($(#[$doc])* $name,)*
            /// Any other code.
            Other(String),
        }

        impl OAuthErrorCode {
            /// Returns the code in its wire format.
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
    /// The client is unknown or failed to authenticate.
    InvalidClient = "invalid_client",
    /// The code or the refresh token is invalid or was issued to another client.
    InvalidGrant = "invalid_grant",
    /// The client may not use this grant.
    UnauthorizedClient = "unauthorized_client",
    /// The authorization server does not support this grant.
    UnsupportedGrantType = "unsupported_grant_type",
    /// The scope is invalid or exceeds the granted scope.
    InvalidScope = "invalid_scope",
    /// The resource is unknown ([RFC 8707, section 2](https://www.rfc-editor.org/rfc/rfc8707#section-2)).
    InvalidTarget = "invalid_target",
    /// The user, or the authorization server on the user's behalf, denied the request.
    AccessDenied = "access_denied",
    /// The authorization server does not support the response type `code`.
    UnsupportedResponseType = "unsupported_response_type",
    /// The server failed.
    ServerError = "server_error",
    /// The server is overloaded.
    TemporarilyUnavailable = "temporarily_unavailable",
    /// A redirect URI cannot be registered
    /// ([RFC 7591, section 3.2.2](https://www.rfc-editor.org/rfc/rfc7591#section-3.2.2)).
    InvalidRedirectUri = "invalid_redirect_uri",
    /// The metadata of the client cannot be registered.
    InvalidClientMetadata = "invalid_client_metadata",
}

impl OAuthError {
    pub(in crate::auth) fn new(code: &str, description: Option<String>) -> Self {
        Self { code: code.into(), description }
    }
}

impl core::fmt::Display for OAuthError {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // The code may be text of a server, so control characters are escaped.
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
