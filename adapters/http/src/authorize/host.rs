//! `AuthorizationHost`: the tasks of the application in an authorization.

use std::future::Future;
use std::io;
use std::pin::Pin;

use mcp_sansio::auth::{BrowserUrl, ConfiguredClient, Secret, Signing};

use super::Authorization;

/// A future of an application.
pub type HostFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Callbacks of the application: interaction with the user, signing, and assertions.
pub trait AuthorizationHost: Send + Sync + 'static {
    /// Shows the URL to the user and opens it in a browser, without a shell. The URL comes from a server: it is
    /// `https`, or `http` to this computer.
    ///
    /// The browser is redirected to the listener of the [`Authorization`]. If the user gives up, call
    /// [`Authorization::abandon`].
    fn open_url<'a>(
        &'a self,
        url: &'a BrowserUrl,
        authorization: &'a Authorization,
    ) -> HostFuture<'a, ()>;

    /// Whether the user may be asked to log in now. Called before a login, and before a client is registered for it.
    /// If not, the login is abandoned: no request that waits for it is one that the user has made, for example.
    fn may_log_in(&self) -> bool {
        true
    }

    /// Returns the redirect URI, if the application receives the redirect itself and calls
    /// [`Authorization::redirected`]. By default the authorization listens at a port of 127.0.0.1.
    fn redirect_uri(&self) -> Option<String> {
        None
    }

    /// Asks the user for a client id at this issuer. Called only if
    /// [`can_name_client`](mcp_sansio::auth::AuthorizerConfig::can_name_client) is set.
    fn name_client<'a>(&'a self, issuer: &'a str) -> HostFuture<'a, Option<ConfiguredClient>> {
        _ = issuer;
        Box::pin(async { None })
    }

    /// Signs with the key of the client.
    fn sign<'a>(&'a self, signing: &'a Signing) -> HostFuture<'a, Option<Vec<u8>>> {
        _ = signing;
        Box::pin(async { None })
    }

    /// Returns an assertion of the identity provider for its user, and the token type of the assertion.
    fn assertion(&self) -> HostFuture<'_, Option<(Secret, String)>> {
        Box::pin(async { None })
    }

    /// Reports that the storage cannot be read or written. The authorization continues without it.
    fn storage_failed(&self, error: io::Error) {
        _ = error;
    }
}
