//! A server in the configuration file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use mcp_sansio::auth::{AuthorizerConfig, Scopes};
use mcp_sansio::http::HttpClientConfig;
use serde::Deserialize;

use super::file::{ConfigError, mistake};
use super::{
    CommandConfig, HttpConfig, LONGEST, NameRules, OAuthConfig, Sharing, UpstreamConfig,
    UpstreamTransport,
};

/// A server. Members that only other hosts know are ignored.
#[derive(Deserialize)]
pub(super) struct ServerEntry {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    #[serde(alias = "serverUrl")]
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    gateway: OfServer,
}

/// What only a gateway needs to know of a server.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct OfServer {
    prefix: Option<String>,
    allow: Vec<String>,
    deny: Vec<String>,
    rename: BTreeMap<String, String>,
    scopes: Vec<String>,
    sessions: Sessions,
    most_sessions: Option<usize>,
    session_idle_seconds: Option<f64>,
    most_calls: Option<usize>,
    most_calls_of_client: Option<usize>,
    connect_seconds: Option<f64>,
    list_seconds: Option<f64>,
    call_seconds: Option<f64>,
    list_age_seconds: Option<f64>,
    ping_seconds: Option<f64>,
    drain_seconds: Option<f64>,
    oauth: Option<OAuth>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Sessions {
    #[default]
    Shared,
    PerClient,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OAuth {
    client_id: String,
    client_secret: String,
    issuer: Option<String>,
    #[serde(default)]
    scopes: Vec<String>,
}

impl ServerEntry {
    /// Returns the configuration of the server with this name, which is at this place of the file.
    pub(super) fn upstream(self, name: &str, place: &str) -> Result<UpstreamConfig, ConfigError> {
        let Self { command, args, env, cwd, url, headers, mut gateway, .. } = self;
        let oauth = gateway.oauth.take();
        let transport = match (command, url) {
            (Some(_), Some(_)) => {
                return Err(mistake(place, "a server has either a command or a url"));
            }
            (None, None) => return Err(mistake(place, "a server needs a command or a url")),
            (Some(_), None) if oauth.is_some() => {
                return Err(mistake(format!("{place}.gateway.oauth"), "a program needs no token"));
            }
            (Some(program), None) => UpstreamTransport::Command(CommandConfig {
                program,
                arguments: args,
                environment: env,
                directory: cwd.map(PathBuf::from),
            }),
            (None, Some(url)) => {
                let oauth = oauth.map(|oauth| oauth.config(place)).transpose()?;
                let http = HttpConfig { url, headers, oauth };
                check(&http, place)?;
                UpstreamTransport::Http(http)
            }
        };
        let mut config = UpstreamConfig::new(name, transport);
        gateway.adjust(&mut config, place)?;
        Ok(config)
    }
}

/// Finds what would make every attempt to connect fail.
fn check(config: &HttpConfig, place: &str) -> Result<(), ConfigError> {
    let mut target = HttpClientConfig::new(&*config.url);
    for (name, value) in &config.headers {
        if let Err(error) = target.header(name, value) {
            return Err(mistake(format!("{place}.headers.{name}"), error.to_string()));
        }
    }
    match config.oauth.as_ref().map(|_| AuthorizerConfig::new(&config.url)) {
        Some(Err(error)) => Err(mistake(format!("{place}.url"), error.to_string())),
        Some(Ok(_)) | None => Ok(()),
    }
}

impl OAuth {
    fn config(self, place: &str) -> Result<OAuthConfig, ConfigError> {
        Ok(OAuthConfig {
            scopes: scopes(&self.scopes, &format!("{place}.gateway.oauth.scopes"))?,
            client_id: self.client_id,
            client_secret: self.client_secret,
            issuer: self.issuer,
        })
    }
}

impl OfServer {
    /// Sets in a configuration what the file has.
    fn adjust(self, config: &mut UpstreamConfig, place: &str) -> Result<(), ConfigError> {
        let at = |member: &str| format!("{place}.gateway.{member}");
        config.scopes = scopes(&self.scopes, &at("scopes"))?;
        let number = |member: &str, number: Option<usize>, default: usize| match number {
            Some(0) => Err(mistake(at(member), "at least 1 is needed")),
            Some(number) if MOST < number => Err(mistake(at(member), "at most 1000 are possible")),
            number => Ok(number.unwrap_or(default)),
        };
        config.most_calls = number("mostCalls", self.most_calls, config.most_calls)?;
        let of_client = config.most_calls_of_client.min(config.most_calls);
        config.most_calls_of_client =
            number("mostCallsOfClient", self.most_calls_of_client, of_client)?;
        let set = |member: &str, seconds: Option<f64>, time: &mut Duration| {
            if let Some(seconds) = seconds {
                *time = duration(seconds)
                    .ok_or_else(|| mistake(at(member), "not a number of seconds"))?;
            }
            Ok(())
        };
        set("connectSeconds", self.connect_seconds, &mut config.connect_timeout)?;
        set("listSeconds", self.list_seconds, &mut config.list_timeout)?;
        set("callSeconds", self.call_seconds, &mut config.call_timeout)?;
        set("listAgeSeconds", self.list_age_seconds, &mut config.list_age)?;
        set("drainSeconds", self.drain_seconds, &mut config.drain)?;
        match self.ping_seconds {
            Some(0.0) => config.ping_every = None,
            seconds => set("pingSeconds", seconds, config.ping_every.get_or_insert_default())?,
        }
        if let Sessions::PerClient = self.sessions {
            let mut idle = Duration::from_secs(600);
            set("sessionIdleSeconds", self.session_idle_seconds, &mut idle)?;
            let most = number("mostSessions", self.most_sessions, 32)?;
            config.sharing = Sharing::PerClient { most, idle };
        } else if self.most_sessions.is_some() || self.session_idle_seconds.is_some() {
            return Err(mistake(at("sessions"), "limits of sessions need `perClient`"));
        }
        let NameRules { prefix, .. } = &config.names;
        config.names = NameRules {
            prefix: self.prefix.unwrap_or_else(|| prefix.clone()),
            allow: self.allow,
            deny: self.deny,
            rename: self.rename,
        };
        Ok(())
    }
}

/// The most calls that the file can allow: a connection takes few more.
const MOST: usize = 1_000;

fn duration(seconds: f64) -> Option<Duration> {
    let time = Duration::try_from_secs_f64(seconds).ok()?;
    (!time.is_zero() && time < LONGEST).then_some(time)
}

/// Reads scopes. A text that is no scope is an error, and not left out.
pub(super) fn scopes(names: &[String], place: &str) -> Result<Scopes, ConfigError> {
    let invalid = names.iter().position(|name| Scopes::parse(name).iter().count() != 1);
    match invalid {
        Some(index) => Err(mistake(format!("{place}[{index}]"), "not a scope")),
        None => Ok(names.iter().map(String::as_str).collect()),
    }
}
