//! The command line.

use std::net::{SocketAddr, ToSocketAddrs};

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, ValueEnum};
use mcp_sansio::auth::WebUrl;
use mcp_sansio_proptests::authorization_server::{
    Client, Consent, MetadataPlace, Misbehaviour, Options,
};

/// Runs an OAuth authorization server for tests on this computer.
///
/// It logs in every user, and stores nothing. It prints its issuer when it listens.
#[derive(Parser, Debug)]
#[command(version, name = "authorization_server", after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Where to listen: a loopback address with a port; with port 0 any port that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9000", value_parser = loopback)]
    pub(crate) listen: SocketAddr,
    /// The issuer, which may have a path. Default: http and the address
    #[arg(long, value_name = "URL", value_parser = issuer)]
    pub(crate) issuer: Option<String>,
    /// The lifetime of access tokens, in seconds
    #[arg(long, value_name = "N", default_value_t = 3600, value_parser = seconds)]
    access_token_seconds: u64,
    /// The location of the metadata
    #[arg(long, value_enum, default_value_t = Metadata::Oauth)]
    metadata: Metadata,
    /// Whether the user agrees at once, is asked on a page, or denies
    #[arg(long, value_enum, default_value_t = Asks::Automatic)]
    consent: Asks,
    /// A client that is known beforehand, with its secret if it has one; can be repeated
    #[arg(long = "client", value_name = "ID[:SECRET]", value_parser = client)]
    clients: Vec<Client>,
    /// A scope that the metadata name; can be repeated
    #[arg(long = "scope", value_name = "SCOPE", value_parser = scope)]
    scopes: Vec<String>,
    /// The fault to show: one of the names below
    #[arg(long, value_name = "NAME", value_parser = str::parse::<Misbehaviour>)]
    misbehave: Option<Misbehaviour>,
}

/// The location of the metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Metadata {
    /// At the well-known URL of OAuth
    Oauth,
    /// At the well-known URL of OpenID, before the path of the issuer
    Openid,
    /// At the well-known URL of OpenID, after the path of the issuer
    OpenidAppended,
    /// Nowhere
    None,
}

/// Whether the user is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Asks {
    /// The user agrees at once
    Automatic,
    /// There is a page
    Ask,
    /// The user denies at once
    Deny,
}

const EXAMPLES: &str = "What it can do wrong:
  wrong-iss, missing-iss, other-issuer, no-pkce, slow, token-unavailable,
  forgets-clients, drops-refresh-tokens, no-rotation, redirects-token,
  garbage-metadata, garbage-token, huge-metadata, huge-token

Examples:
  authorization_server --listen 127.0.0.1:9000
  authorization_server --client robot:secret --access-token-seconds 30
  authorization_server --misbehave drops-refresh-tokens";

/// Ten years, the largest accepted lifetime.
const MOST_SECONDS: u64 = 315_360_000;

impl Arguments {
    /// Parses the command line. If it is invalid, prints the error and exits.
    pub(crate) fn read() -> Self {
        let arguments = Self::parse();
        for (index, client) in arguments.clients.iter().enumerate() {
            let before = arguments.clients.iter().take(index);
            if before.into_iter().any(|other| other.id == client.id) {
                let message = format!("two clients are called {}", client.id);
                Self::command().error(ErrorKind::ValueValidation, message).exit();
            }
        }
        arguments
    }

    /// Converts the arguments into the options of the server.
    pub(crate) fn options(self, issuer: String) -> Options {
        let mut options = Options::new(issuer);
        options.metadata = match self.metadata {
            Metadata::Oauth => MetadataPlace::OAuth,
            Metadata::Openid => MetadataPlace::OpenId,
            Metadata::OpenidAppended => MetadataPlace::OpenIdAppended,
            Metadata::None => MetadataPlace::None,
        };
        options.consent = match self.consent {
            Asks::Automatic => Consent::Automatic,
            Asks::Ask => Consent::Ask,
            Asks::Deny => Consent::Deny,
        };
        options.access_token_seconds = self.access_token_seconds;
        options.clients = self.clients;
        options.scopes = self.scopes;
        options.misbehaviour = self.misbehave;
        options
    }
}

fn loopback(text: &str) -> Result<SocketAddr, String> {
    let mut addresses =
        text.to_socket_addrs().map_err(|_| "not of the form ADDRESS:PORT".to_owned())?;
    let address = addresses.next().ok_or("there is no such address")?;
    if !address.ip().is_loopback() {
        return Err(
            "not a loopback address: the server speaks plain HTTP and asks for no password".into(),
        );
    }
    Ok(address)
}

fn seconds(text: &str) -> Result<u64, String> {
    let seconds = text.parse().ok().filter(|seconds| (1..=MOST_SECONDS).contains(seconds));
    seconds.ok_or_else(|| format!("not a number from 1 to {MOST_SECONDS}"))
}

fn issuer(text: &str) -> Result<String, String> {
    let url = WebUrl::parse(text).map_err(|error| error.to_string())?;
    if url.query().is_some() {
        return Err("an issuer has no query".into());
    }
    Ok(text.into())
}

fn client(text: &str) -> Result<Client, String> {
    let (id, secret) = match text.split_once(':') {
        Some((_, "")) => return Err("the secret is empty".into()),
        Some((id, secret)) => (id, Some(secret)),
        None => (text, None),
    };
    if id.is_empty() { Err("the ID is empty".into()) } else { Ok(Client::new(id, secret)) }
}

fn scope(text: &str) -> Result<String, String> {
    // RFC 6749, section 3.3.
    let is_right = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    if text.is_empty() || !text.bytes().all(is_right) {
        return Err("not a scope: visible ASCII without quotes and backslashes".into());
    }
    Ok(text.into())
}
