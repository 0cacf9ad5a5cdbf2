//! `Effect`: a request of the authorizer to the application.

use alloc::string::String;
use core::fmt;
use core::time::Duration;

use super::failure::AuthorizationFailure;
use super::saved::Saved;
use crate::auth::Secret;

/// The key of a request to the MCP server that may wait for authorization. The application chooses the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(clippy::exhaustive_structs, reason = "it is a number of the host's")]
pub struct RequestKey(pub u64);

/// The id of an effect whose result the application reports later. Only the result of the latest job is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub(in crate::auth) u64);

/// A request to the application. Effects must be carried out in order: a [`Save`](Self::Save) must be complete
/// before the next effect is carried out.
///
/// When an authorization ends, its effects that [`poll_effect`](super::Authorizer::poll_effect) has not returned yet
/// are withdrawn, except for [`Save`](Self::Save), [`Unclaim`](Self::Unclaim) and [`Release`](Self::Release).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "there are few at a time, and they do not stay")]
pub enum Effect {
    /// Send an HTTP request, and report its response or its error: [`fetched`](super::Authorizer::fetched) or
    /// [`fetch_failed`](super::Authorizer::fetch_failed).
    Fetch(Fetch),
    /// Prepare a login: provide entropy and the redirect URI
    /// ([`login_prepared`](super::Authorizer::login_prepared)). A program on the user's computer begins to listen at
    /// the redirect URI now.
    PrepareLogin {
        /// The id of the job.
        job: JobId,
        /// The registered redirect URI, if the client was registered. The login must use the same URI, except that
        /// the port of a loopback address may differ. With another URI the client is registered again, where
        /// possible.
        registered: Option<String>,
    },
    /// Show this URL to the user and open it in a browser, without a shell. Report the redirect of the browser with
    /// [`redirected`](super::Authorizer::redirected), and a user who gives up with
    /// [`abandoned`](super::Authorizer::abandoned).
    OpenUrl(BrowserUrl),
    /// Ask the user for a client id at this issuer ([`client_named`](super::Authorizer::client_named)).
    NeedClient {
        /// The id of the job.
        job: JobId,
        /// The issuer.
        issuer: String,
    },
    /// Provide an assertion of the identity provider for its user
    /// ([`assertion_given`](super::Authorizer::assertion_given)).
    NeedAssertion {
        /// The id of the job.
        job: JobId,
    },
    /// Sign ([`signed`](super::Authorizer::signed)).
    Sign(Signing),
    /// Lock the storage, so that no other process refreshes the same token, and report the stored state
    /// ([`claimed`](super::Authorizer::claimed)).
    Claim {
        /// The id of the job.
        job: JobId,
    },
    /// Replace the stored state of this MCP server with this one, unless the stored state
    /// [is newer](Saved::is_newer_than): another process has meanwhile logged in or out. Lock a storage that
    /// processes share for the comparison and the write, unless it is already locked by [`Claim`](Self::Claim).
    Save(Saved),
    /// Unlock the storage.
    Unclaim,
    /// Release a waiting request.
    Release {
        /// The request.
        request: RequestKey,
        /// The decision about the request.
        verdict: Verdict,
    },
}

/// The decision about a request that waited for authorization.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "either it is sent or it is not")]
pub enum Verdict {
    /// Send the request, again or for the first time, with the current token.
    Send,
    /// Fail the request: there is no token for it.
    Fail(AuthorizationFailure),
}

/// An HTTP request. The application must not follow redirects, and must not add cookies or other credentials.
///
/// `Debug` shows neither the body nor the values of fields.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Fetch {
    /// The id of the job.
    pub job: JobId,
    /// The purpose of the request.
    pub purpose: FetchPurpose,
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The URL.
    pub url: String,
    /// The value of `Content-Type`, if the request has a body.
    pub content_type: Option<&'static str>,
    /// The value of `Authorization`, if the client authenticates there.
    pub authorization: Option<Secret>,
    /// The value of `MCP-Protocol-Version`, if the request has this field.
    pub protocol_version: Option<&'static str>,
    /// The body.
    pub body: Secret,
    /// The maximum length of the response body. A longer body must fail with
    /// [`FetchError::TooLarge`](super::FetchError::TooLarge).
    pub most_bytes: usize,
    /// The timeout of the request.
    pub within: Duration,
}

impl fmt::Debug for Fetch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Fetch")
            .field("job", &self.job)
            .field("purpose", &self.purpose)
            .field("method", &self.method)
            .field("url", &self.url.split('?').next().unwrap_or_default())
            .finish_non_exhaustive()
    }
}

/// The purpose of an HTTP request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FetchPurpose {
    /// The protected resource metadata of the MCP server.
    ResourceMetadata,
    /// The metadata of the authorization server.
    ServerMetadata,
    /// A client id.
    Registration,
    /// A token for an authorization code, or for the client itself.
    Token,
    /// A token for a refresh token.
    Refresh,
    /// An assertion of the identity provider for the authorization server.
    Assertion,
}

impl FetchPurpose {
    /// Describes the server or endpoint, for failures.
    pub(in crate::auth) const fn place(self) -> &'static str {
        match self {
            Self::ResourceMetadata => "the metadata of the server",
            Self::ServerMetadata => "the metadata of the authorization server",
            Self::Registration => "the registration endpoint",
            Self::Token | Self::Refresh => "the token endpoint",
            Self::Assertion => "the identity provider",
        }
    }
}

/// The URL at which the user consents. The URL contains the state of the login, so it is only for the user's
/// browser.
///
/// `Debug` shows the URL without its query.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct BrowserUrl {
    url: Secret,
}

impl BrowserUrl {
    pub(in crate::auth) const fn new(url: Secret) -> Self {
        Self { url }
    }

    /// Returns the URL: `https`, or `http` to this computer.
    pub fn as_str(&self) -> &str {
        self.url.expose()
    }
}

impl fmt::Debug for BrowserUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "BrowserUrl({:?})", self.as_str().split('?').next().unwrap_or_default())
    }
}

/// A request to sign with the client's key, as in a JSON Web Signature
/// ([RFC 7515](https://www.rfc-editor.org/rfc/rfc7515)).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Signing {
    /// The id of the job.
    pub job: JobId,
    /// The client that owns the key.
    pub client_id: String,
    /// The algorithm.
    pub algorithm: String,
    /// The id of the key, if one is configured.
    pub key_id: Option<String>,
    /// The bytes to sign: header and claims, each in base64url, separated by a dot.
    pub input: String,
}

/// The reason why an HTTP request got no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "what matters is whether the server can have seen it")]
pub enum FetchError {
    /// Nothing was sent.
    NotSent,
    /// The request was at least partly sent, and no complete response arrived.
    Broken,
    /// The body exceeded the length limit.
    TooLarge,
    /// The host name resolves to an address that the [`FetchPolicy`](crate::auth::FetchPolicy) forbids. Nothing was
    /// sent.
    NotAllowed,
}
