//! The login to a server over HTTP that requires an access token: its options, and the interaction with the user.

use std::env;
use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clap::Args;
use clap::error::ErrorKind;
use mcp_sansio::auth::{
    AuthorizationFailure, AuthorizerConfig, BrowserUrl, ClientMetadata, ConfiguredClient,
    IssuerPlace, OAuthErrorCode, Scopes, Stage,
};
use mcp_sansio_http::{Authorization, AuthorizationHost, HostFuture};

use crate::arguments::REQUESTS;
use crate::browser;
use crate::patience::Patience;
use crate::remembered::Remembered;
use crate::say::say;

/// The options of a login.
#[derive(Args, Debug)]
pub(crate) struct LoginOptions {
    /// Log in as this client, registered beforehand; its secret, if any, is taken from the variable
    /// INSPECT_CLIENT_SECRET
    #[arg(long, value_name = "ID", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    client_id: Option<String>,
    /// Request these scopes in addition to those that the server names
    #[arg(long = "scope", value_name = "SCOPE", value_parser = scopes)]
    scopes: Vec<Scopes>,
    /// Show the URL of the login, and open no browser
    #[arg(long)]
    no_browser: bool,
    /// Forget the login to the URL, and end
    #[arg(long, conflicts_with_all = ["client_id", "scopes", "no_browser"])]
    #[arg(conflicts_with_all = REQUESTS)]
    pub(crate) logout: bool,
}

/// The environment variable of the secret: other users of the computer can read a command line.
const SECRET: &str = "INSPECT_CLIENT_SECRET";

impl LoginOptions {
    /// Returns the first given option, for messages.
    fn given(&self) -> Option<&'static str> {
        let options = [
            (self.logout, "--logout"),
            (self.client_id.is_some(), "--client-id"),
            (!self.scopes.is_empty(), "--scope"),
            (self.no_browser, "--no-browser"),
        ];
        options.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name)
    }

    /// Refuses options that would have no effect.
    pub(crate) fn check(
        &self,
        url: Option<&str>,
        headers: &[(String, String)],
    ) -> Result<(), clap::Error> {
        let Some(option) = self.given() else { return Ok(()) };
        let conflict =
            |text: String| Err(clap::Error::raw(ErrorKind::ArgumentConflict, text + "\n"));
        let Some(url) = url else {
            return conflict(format!(
                "{option} needs the URL of a server: a server that is started takes credentials from its environment"
            ));
        };
        if has_token(headers) && !self.logout {
            return conflict(format!(
                "{option} cannot be used with a header field Authorization: the login writes that field"
            ));
        }
        match AuthorizerConfig::new(url) {
            Ok(_) => Ok(()),
            Err(error) => conflict(format!("{option} cannot be used with this URL: {error}")),
        }
    }

    /// Deletes the stored login to this URL.
    pub(crate) fn log_out(&self, url: &str) -> Result<(), String> {
        let config = AuthorizerConfig::new(url).map_err(|error| error.to_string())?;
        let remembered = Remembered::of(config.server());
        remembered.clear().map_err(|error| remembered.explain(&error))?;
        say!("inspect: no login to {} is remembered any more", config.server().without_query());
        Ok(())
    }

    /// Creates the authorization for this URL. `None` if the user has given a token, or if the URL does not permit
    /// a login.
    pub(crate) fn authorization(
        &self,
        url: &str,
        headers: &[(String, String)],
    ) -> Result<Option<Authorization>, String> {
        let Ok(mut config) = AuthorizerConfig::new(url) else { return Ok(None) };
        if has_token(headers) {
            return Ok(None);
        }
        match &self.client_id {
            Some(id) => config.clients.push(with_secret(ConfiguredClient::new(id))?),
            None => config.registration = Some(ClientMetadata::native("mcp-sansio inspect")),
        }
        config.scopes = self.scopes.iter().fold(Scopes::none(), |all, more| all.union(more));
        let remembered = Remembered::of(config.server());
        let terminal = Terminal::new(!self.no_browser, remembered.clone());
        Ok(Some(Authorization::new(config, terminal).storage(remembered)))
    }
}

/// Whether the user has given a token by hand.
fn has_token(headers: &[(String, String)]) -> bool {
    headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
}

fn with_secret(client: ConfiguredClient) -> Result<ConfiguredClient, String> {
    match env::var(SECRET) {
        Ok(secret) if !secret.is_empty() => Ok(client.secret(secret)),
        Ok(_) | Err(env::VarError::NotPresent) => Ok(client),
        Err(env::VarError::NotUnicode(_)) => Err(format!("{SECRET} is not UTF-8")),
    }
}

/// Parses scopes from the command line. An invalid scope is an error here, and not left out.
fn scopes(text: &str) -> Result<Scopes, String> {
    let named = text.split_whitespace();
    match named.clone().find(|name| Scopes::parse(name).is_empty()) {
        Some(name) => Err(format!("{name:?} cannot be a scope")),
        None if text.trim().is_empty() => Err("there is no scope".into()),
        None => Ok(named.collect()),
    }
}

/// The user at a terminal, with a browser.
pub(crate) struct Terminal {
    opens_browser: bool,
    remembered: Remembered,
}

impl Terminal {
    pub(crate) const fn new(opens_browser: bool, remembered: Remembered) -> Self {
        Self { opens_browser, remembered }
    }
}

/// The number of requests that must not ask the user to log in.
static QUIET_REQUESTS: AtomicUsize = AtomicUsize::new(0);

/// A request that fails if it needs a login, until this is dropped.
pub(crate) struct QuietRequest(());

impl Drop for QuietRequest {
    fn drop(&mut self) {
        QUIET_REQUESTS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Abandons each login instead of showing it to the user, for a request that the user has not made: the completion of a
/// word opens no browser.
pub(crate) fn without_login() -> QuietRequest {
    QUIET_REQUESTS.fetch_add(1, Ordering::Relaxed);
    QuietRequest(())
}

/// The interval at which to check whether the user is done.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(100);

impl AuthorizationHost for Terminal {
    fn may_log_in(&self) -> bool {
        QUIET_REQUESTS.load(Ordering::Relaxed) == 0
    }

    fn open_url<'a>(
        &'a self,
        url: &'a BrowserUrl,
        authorization: &'a Authorization,
    ) -> HostFuture<'a, ()> {
        Box::pin(async move {
            if authorization.stage() != Stage::AwaitingUser {
                // The login was abandoned in the meantime.
                return;
            }
            // The wait is for the user and not for the server.
            let _silence = Patience::silence();
            let url = url.as_str();
            say!("The server asks for authorization. Open this URL in a browser: {url}");
            let back = redirect_uri(url).unwrap_or_else(|| "this program".into());
            say!(
                "Waiting for the browser to come back to {back}, Ctrl-C gives up. If the browser shows an error, --logout \
                 forgets the login"
            );
            if self.opens_browser {
                browser::open(url);
            }
            while authorization.stage() == Stage::AwaitingUser {
                tokio::time::sleep(LOOK_AGAIN_AFTER).await;
            }
        })
    }

    fn storage_failed(&self, error: io::Error) {
        say!("inspect: the login may not be remembered: {}", self.remembered.explain(&error));
    }
}

/// Returns the URI that the browser is redirected to.
fn redirect_uri(url: &str) -> Option<String> {
    let (_, query) = url.split_once('?')?;
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs.find(|(name, _)| name == "redirect_uri").map(|(_, uri)| uri.into_owned())
}

/// Describes why authorization failed and what the user can do, if authorization caused this error.
pub(crate) fn explain(error: &(dyn Error + 'static)) -> Option<String> {
    match error.downcast_ref::<AuthorizationFailure>() {
        Some(failure) => Some(format!("{failure}\n{}", advice(failure))),
        None => explain(error.source()?),
    }
}

/// Returns advice for the user.
fn advice(failure: &AuthorizationFailure) -> &'static str {
    use AuthorizationFailure as Failure;
    match failure {
        Failure::Denied(_) | Failure::Abandoned => "Run the command again to log in.",
        Failure::NoRegistration { .. } | Failure::RegistrationRefused(_) => {
            "Register a client there by hand, and name it with --client-id."
        }
        Failure::IssuerMismatch { place: IssuerPlace::Client, .. } => {
            "The server has another authorization server now: name a client of that one with --client-id. If the client \
             of that name is a new one, forget the old one with --logout."
        }
        Failure::TokenRefused(error) if error.code == OAuthErrorCode::InvalidClient => {
            "Check --client-id and the variable INSPECT_CLIENT_SECRET."
        }
        Failure::Unsupported(_) => {
            "A client that is registered in another way may be of use: see --client-id and INSPECT_CLIENT_SECRET."
        }
        Failure::ScopeUnavailable(_) => {
            "Log in as a user who has these rights: --logout forgets who you are, --scope requests more."
        }
        Failure::Forbidden => "Log in as a user who may do this: --logout forgets who you are.",
        Failure::Transient { status: None, .. } => {
            "Is it running, and does this machine trust its certificate?"
        }
        Failure::LoginLost(_) => "Try again later. It takes another login.",
        Failure::Transient { .. } => "Try again later.",
        Failure::NotAllowed { .. } => {
            "A server may only name URLs that are https, or on this machine if it is there itself."
        }
        _ => {
            "That is a fault of the server, or of its authorization server: tell those who run them."
        }
    }
}
