//! The configuration file: the servers as other hosts list them (`mcpServers`), and what only a gateway needs.
//!
//! ```
//! use mcp_sansio_gateway::config::file::ConfigFile;
//!
//! let text = r#"{
//!     // Members of other hosts are ignored, and comments are allowed.
//!     "mcpServers": {
//!         "files": {
//!             "command": "npx",
//!             "args": ["-y", "@modelcontextprotocol/server-filesystem", "/tmp"],
//!             "gateway": {"prefix": "fs_", "deny": ["write_*"], "mostCalls": 8}
//!         },
//!         "search": {
//!             "url": "https://search.example/mcp",
//!             "headers": {"Authorization": "Bearer ${SEARCH_TOKEN}"}
//!         }
//!     },
//!     "gateway": {"listen": "127.0.0.1:8080"}
//! }"#;
//! let file = ConfigFile::parse(text, |name| (name == "SEARCH_TOKEN").then(|| "secret".into()))?;
//! assert_eq!(file.gateway.upstreams.len(), 2);
//!
//! let mistake = ConfigFile::parse(r#"{"mcpServers": {"a": {"command": "b", "gateway": {"mostCals": 1}}}}"#, |_| None);
//! assert!(mistake.unwrap_err().to_string().starts_with("mcpServers.a.gateway.mostCals: unknown field"));
//! # Ok::<(), mcp_sansio_gateway::config::file::ConfigError>(())
//! ```

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use jsonc_parser::errors::ParseError;
use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::server_entry::{ServerEntry, scopes};
use super::variables::expand;
use super::{GatewayConfig, UpstreamConfig};
use crate::serve::{AuthorizationConfig, ServeConfig, TlsFiles};

/// The content of a configuration file.
#[derive(Debug)]
#[non_exhaustive]
pub struct ConfigFile {
    /// The gateway and its servers.
    pub gateway: GatewayConfig,
    /// How it is served over HTTP. Its address is absent if the file has none.
    pub serve: ServeConfig,
}

/// A mistake in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
#[non_exhaustive]
pub struct ConfigError {
    /// The member, for example `mcpServers.files.args`.
    pub place: String,
    /// The problem. It contains no values, which may be secret.
    pub problem: String,
}

pub(super) fn mistake(place: impl Into<String>, problem: impl Into<String>) -> ConfigError {
    ConfigError { place: place.into(), problem: problem.into() }
}

#[derive(serde::Deserialize)]
struct File {
    #[serde(rename = "mcpServers")]
    servers: serde_json::Map<String, Value>,
    #[serde(default = "no_members")]
    gateway: Value,
}

/// The order of the file, which a [`serde_json::Map`] does not keep.
#[derive(serde::Deserialize)]
struct Order {
    #[serde(rename = "mcpServers")]
    servers: Names,
}

/// The names of the servers. One that is repeated occurs more than once.
struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Names;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some((name, IgnoredAny)) = members.next_entry()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

fn no_members() -> Value {
    Value::Object(serde_json::Map::new())
}

/// JSON with comments and trailing commas, and nothing else of JSON5.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The members of a server that the gateway reads.
const MEMBERS: [&str; 8] =
    ["command", "args", "env", "cwd", "url", "serverUrl", "headers", "gateway"];

#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Gateway {
    name: Option<String>,
    instructions: Option<String>,
    listen: Option<SocketAddr>,
    path: Option<String>,
    admin: Option<SocketAddr>,
    tls: Option<Tls>,
    hosts: Option<Vec<String>>,
    origins: Option<Vec<String>>,
    authorization: Option<Authorization>,
    state_key: Option<String>,
    page_size: Option<usize>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Tls {
    certificate: PathBuf,
    key: PathBuf,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Authorization {
    resource: String,
    issuer: String,
    keys: PathBuf,
    #[serde(default)]
    scopes: Vec<String>,
}

impl ConfigFile {
    /// Reads the text of a file: JSON, in which comments and trailing commas are allowed. `variable` returns the value of
    /// `${NAME}`, normally that of the environment.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] for the first mistake.
    pub fn parse(
        text: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let of_text = |error: ParseError| mistake("the file", error.to_string());
        let value: Option<Value> = parse_to_serde_value(text, &OPTIONS).map_err(of_text)?;
        let value = value.ok_or_else(|| mistake("the file", "it is empty"))?;
        let mut file: File = read(value, "")?;
        let order: Order = parse_to_serde_value(text, &OPTIONS).map_err(of_text)?;
        let mut upstreams = Vec::new();
        for name in order.servers.0 {
            // The last one of a name counts.
            let Some(mut server) = file.servers.remove(&name) else { continue };
            match server.get("disabled") {
                Some(Value::Bool(true)) => continue,
                None | Some(Value::Bool(false) | Value::Null) => {}
                Some(_) => {
                    let place = format!("mcpServers.{name}.disabled");
                    return Err(mistake(place, "it is true or false"));
                }
            }
            // Members of other hosts are ignored, also their variables.
            if let Value::Object(members) = &mut server {
                members.retain(|member, _| MEMBERS.contains(&&**member));
            }
            let place = format!("mcpServers.{name}");
            expand_all(&mut server, &mut place.clone(), &variable)?;
            let server: ServerEntry = read(server, &place)?;
            upstreams.push(server.upstream(&name, &place)?);
        }
        check(&upstreams)?;
        let mut of_gateway = file.gateway;
        expand_all(&mut of_gateway, &mut String::from("gateway"), &variable)?;
        let of_gateway: Gateway = read(of_gateway, "gateway")?;
        let serve = serve(&of_gateway)?;
        let has_scopes = |upstream: &&UpstreamConfig| !upstream.scopes.is_empty();
        if serve.authorization.is_none()
            && let Some(upstream) = upstreams.iter().find(has_scopes)
        {
            let place = format!("mcpServers.{}.gateway.scopes", upstream.name);
            return Err(mistake(place, "no client has scopes without `gateway.authorization`"));
        }
        let Gateway { name, instructions, state_key, page_size, .. } = of_gateway;
        let mut gateway = GatewayConfig::new(name.unwrap_or_else(|| "gateway".into()), upstreams);
        gateway.instructions = instructions;
        gateway.page_size = page_size.unwrap_or(gateway.page_size);
        if gateway.page_size == 0 {
            return Err(mistake("gateway.pageSize", "a page has at least one item"));
        }
        gateway.state_key = state_key.as_deref().map(key).transpose()?;
        Ok(Self { gateway, serve })
    }
}

/// Decodes a part of the file. An error names the place in the whole file.
fn read<T: for<'de> Deserialize<'de>>(value: Value, place: &str) -> Result<T, ConfigError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let place = match (place, &*path) {
            ("", ".") => "the file".into(),
            ("", path) => path.to_owned(),
            (place, ".") => place.to_owned(),
            (place, path) => format!("{place}.{path}"),
        };
        mistake(place, without_values(&error.inner().to_string()))
    })
}

/// Returns an error of serde without the value, which may be secret: `invalid type: string "…", expected u64`.
fn without_values(error: &str) -> String {
    match (error.split_once(": "), error.rsplit_once(", expected ")) {
        (Some((kind @ ("invalid type" | "invalid value"), _)), Some((_, expected))) => {
            format!("{kind}, expected {expected}")
        }
        (_, Some((variant, expected))) if variant.starts_with("unknown variant ") => {
            format!("unknown value, expected {expected}")
        }
        _ => error.to_owned(),
    }
}

/// Replaces the variables in all texts. Names of members are not texts.
fn expand_all(
    value: &mut Value,
    place: &mut String,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<(), ConfigError> {
    let length = place.len();
    match value {
        Value::String(text) => {
            *text = expand(text, variable).map_err(|problem| mistake(&**place, problem))?;
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter_mut().enumerate() {
                place.push_str(&format!("[{index}]"));
                expand_all(element, place, variable)?;
                place.truncate(length);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                if length > 0 {
                    place.push('.');
                }
                place.push_str(name);
                expand_all(member, place, variable)?;
                place.truncate(length);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Checks servers together: their names, and that their prefixes distinguish them.
///
/// # Errors
///
/// [`ConfigError`] for the first mistake.
pub fn check(upstreams: &[UpstreamConfig]) -> Result<(), ConfigError> {
    let is_of_name = |one: char| one.is_ascii_alphanumeric() || "-_.".contains(one);
    for (index, one) in upstreams.iter().enumerate() {
        if one.name.is_empty() || !one.name.chars().all(is_of_name) {
            let problem = "the name of a server has letters, digits, `-`, `_` and `.` only";
            return Err(mistake(format!("mcpServers.{}", one.name), problem));
        }
        let before = upstreams.iter().take(index);
        let prefix = &*one.names.prefix;
        for other in before {
            let theirs = &*other.names.prefix;
            let place = format!("mcpServers.{}.gateway.prefix", one.name);
            if other.name == one.name {
                return Err(mistake(place, "another server has the same name"));
            }
            let is_shared = theirs.starts_with(prefix) || prefix.starts_with(theirs);
            if !prefix.is_empty() && !theirs.is_empty() && is_shared {
                let problem = format!(
                    "one of `{prefix}` and `{theirs}` ({}) begins with the other",
                    other.name
                );
                return Err(mistake(place, problem));
            }
        }
        let mut names = BTreeSet::new();
        if let Some(name) = one.names.rename.values().find(|name| !names.insert(*name)) {
            let place = format!("mcpServers.{}.gateway.rename", one.name);
            return Err(mistake(place, format!("two names become {name}")));
        }
    }
    Ok(())
}

fn serve(gateway: &Gateway) -> Result<ServeConfig, ConfigError> {
    let mut serve = ServeConfig::new();
    serve.listen = gateway.listen;
    serve.admin = gateway.admin;
    if let Some(path) = &gateway.path {
        if !path.starts_with('/') {
            return Err(mistake("gateway.path", "a path begins with /"));
        }
        serve.path = path.clone();
    }
    serve.tls = gateway
        .tls
        .as_ref()
        .map(|tls| TlsFiles { certificate: tls.certificate.clone(), key: tls.key.clone() });
    serve.hosts = gateway.hosts.clone();
    serve.origins = gateway.origins.clone();
    if let Some(authorization) = &gateway.authorization {
        let mut config = AuthorizationConfig::new(
            &*authorization.resource,
            &*authorization.issuer,
            &*authorization.keys,
        );
        config.scopes = scopes(&authorization.scopes, "gateway.authorization.scopes")?;
        serve.authorization = Some(config);
    }
    Ok(serve)
}

/// Reads a key of 64 hexadecimal digits.
fn key(text: &str) -> Result<[u8; 32], ConfigError> {
    let wrong = || mistake("gateway.stateKey", "a key has 64 hexadecimal digits");
    let mut key = [0; 32];
    if text.len() != 64 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(wrong());
    }
    for (byte, digits) in key.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digits = str::from_utf8(digits).map_err(|_| wrong())?;
        *byte = u8::from_str_radix(digits, 16).map_err(|_| wrong())?;
    }
    Ok(key)
}
