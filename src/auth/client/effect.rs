//! Effects: requests of the machine to its host.

use alloc::string::String;
use core::fmt;
use core::time::Duration;

use super::failure::AuthorizationFailure;
use super::saved::Saved;
use crate::auth::Secret;

/// Names a request of the host to the MCP server while it waits for authorization. The host chooses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(clippy::exhaustive_structs, reason = "it is a number of the host's")]
pub struct RequestKey(pub u64);

/// Names something that the host was asked to do and answers later. An answer to another one than the last is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub(in crate::auth) u64);

/// Something that the host is asked to do, in the order in which the effects come: what is to be saved has to be saved
/// before the next effect is carried out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "there are few at a time, and they do not stay")]
pub enum Effect {
    /// Make an HTTP request, and pass its response or its error on:
    /// [`fetched`](super::Authorizer::fetched) or [`fetch_failed`](super::Authorizer::fetch_failed).
    Fetch(Fetch),
    /// The user will be asked: give entropy and the URI that the browser shall come back to
    /// ([`login_prepared`](super::Authorizer::login_prepared)). A program on the machine of its user begins to listen
    /// there now.
    PrepareLogin {
        /// Names the answer.
        job: JobId,
        /// The redirect URI that was registered, if there is a registration: the same one, but for the port of a loopback
        /// address, has to be used again. With another one the client is registered anew, where that is possible.
        registered: Option<String>,
    },
    /// Show this URL to the user, and open it in a browser, without a shell. The browser comes back with
    /// [`redirected`](super::Authorizer::redirected); a user who gives up is
    /// [`abandoned`](super::Authorizer::abandoned).
    OpenUrl(BrowserUrl),
    /// Ask the user for a client id at this issuer ([`client_named`](super::Authorizer::client_named)).
    NeedClient {
        /// Names the answer.
        job: JobId,
        /// The issuer.
        issuer: String,
    },
    /// Give an assertion of the identity provider for its user
    /// ([`assertion_given`](super::Authorizer::assertion_given)).
    NeedAssertion {
        /// Names the answer.
        job: JobId,
    },
    /// Sign ([`signed`](super::Authorizer::signed)).
    Sign(Signing),
    /// Take hold of the storage, so that no other process refreshes the same token, and tell what is stored
    /// ([`claimed`](super::Authorizer::claimed)).
    Claim {
        /// Names the answer.
        job: JobId,
    },
    /// Store this, instead of what was stored for this MCP server before. What is stored stays if it
    /// [is newer](Saved::is_newer_than): another process has logged in meanwhile, or out. A storage that processes share is
    /// locked for the comparison and the write, unless it is locked already because of [`Claim`](Self::Claim).
    Save(Saved),
    /// Let go of the storage.
    Unclaim,
    /// A request that waited goes on, in this way.
    Release {
        /// The request.
        request: RequestKey,
        /// What becomes of it.
        verdict: Verdict,
    },
}

/// What becomes of a request that waited for authorization.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "either it is sent or it is not")]
pub enum Verdict {
    /// Send it, again or for the first time, with the token that there is now.
    Send,
    /// There is no token for it.
    Fail(AuthorizationFailure),
}

/// A request of HTTP. Redirects must not be followed, and neither cookies nor other credentials be added.
///
/// `Debug` shows neither the body nor the values of fields.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Fetch {
    /// Names the answer.
    pub job: JobId,
    /// What is asked for.
    pub purpose: FetchPurpose,
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The URL.
    pub url: String,
    /// The value of `Content-Type`, if there is a body.
    pub content_type: Option<&'static str>,
    /// The value of `Authorization`: the client shows who it is.
    pub authorization: Option<Secret>,
    /// The value of `MCP-Protocol-Version`, if it goes with the request.
    pub protocol_version: Option<&'static str>,
    /// The body.
    pub body: Secret,
    /// A response with a longer body has to be given up
    /// ([`FetchError::TooLarge`](super::FetchError::TooLarge)).
    pub most_bytes: usize,
    /// How long it may take.
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

/// What is asked for with a request of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FetchPurpose {
    /// The metadata of the MCP server as a resource.
    ResourceMetadata,
    /// The metadata of its authorization server.
    ServerMetadata,
    /// A client id.
    Registration,
    /// A token for a code, or for the client itself.
    Token,
    /// A token for a refresh token.
    Refresh,
    /// An assertion of the identity provider for the authorization server.
    Assertion,
}

impl FetchPurpose {
    /// The server that is asked, in words, for failures.
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

/// The URL at which the user agrees. It holds the state of the login, so it is for the browser of the user only.
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

    /// The URL: `https`, or `http` to this machine.
    pub fn as_str(&self) -> &str {
        self.url.expose()
    }
}

impl fmt::Debug for BrowserUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "BrowserUrl({:?})", self.as_str().split('?').next().unwrap_or_default())
    }
}

/// Something to sign with the key of the client, as in a JSON Web Signature
/// ([RFC 7515](https://www.rfc-editor.org/rfc/rfc7515)).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Signing {
    /// Names the answer.
    pub job: JobId,
    /// The client whose key it is.
    pub client_id: String,
    /// The algorithm.
    pub algorithm: String,
    /// The id of the key, if one is configured.
    pub key_id: Option<String>,
    /// The bytes to sign: header and claims, each in base64url, with a dot between.
    pub input: String,
}

/// Why there is no response to a request of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "what matters is whether the server can have seen it")]
pub enum FetchError {
    /// Nothing was sent.
    NotSent,
    /// Something was sent, and there is no whole response.
    Broken,
    /// The body was longer than allowed.
    TooLarge,
    /// The name leads to an address that the [`FetchPolicy`](crate::auth::FetchPolicy) does not allow. Nothing was sent.
    NotAllowed,
}
