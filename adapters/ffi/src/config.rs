//! The configuration of a connection, from JSON.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::config::Timeouts;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{ClientCapabilities, ServerCapabilities};
use mcp_sansio::{Client, ClientConfig, Revision, RevisionSet, Server, ServerConfig};
use serde::Deserialize;

use crate::error::{Failure, McpStatus};

/// The members of both roles. Unknown members are errors, because they are probably misspelt.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Members {
    name: String,
    version: String,
    capabilities: Option<Box<serde_json::value::RawValue>>,
    instructions: Option<String>,
    revisions: Option<Vec<String>>,
    drain_ms: Option<u64>,
    call_ms: Option<u64>,
}

impl Members {
    fn parse(json: &str) -> Result<Self, Failure> {
        serde_json::from_str(json).map_err(|error| invalid(&error))
    }

    fn revisions(&self) -> Result<Option<RevisionSet>, Failure> {
        let Some(names) = &self.revisions else { return Ok(None) };
        let revision = |name: &String| {
            Revision::from_name(name).ok_or_else(|| invalid(&format!("unknown revision {name}")))
        };
        let revisions: RevisionSet = names.iter().map(revision).collect::<Result<_, _>>()?;
        if revisions.is_empty() {
            return Err(invalid(&"revisions is empty"));
        }
        Ok(Some(revisions))
    }

    /// The capabilities as JSON.
    fn capabilities(&self) -> &str {
        self.capabilities.as_deref().map_or("{}", |json| json.get())
    }

    const fn set_timeouts(&self, timeouts: &mut Timeouts) {
        if let Some(drain) = self.drain_ms {
            timeouts.drain = Duration::from_millis(drain);
        }
        if let Some(call) = self.call_ms {
            timeouts.total = Some(Duration::from_millis(call));
        }
    }
}

fn invalid(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(McpStatus::InvalidArgument, format!("the configuration: {error}"))
}

fn of_capabilities(error: serde_json::Error) -> Failure {
    invalid(&format!("capabilities: {error}"))
}

pub(crate) fn server(json: &str) -> Result<Server, Failure> {
    let members = Members::parse(json)?;
    let mut config = ServerConfig::new(&*members.name, &*members.version);
    let capabilities: ServerCapabilities<'_> =
        serde_json::from_str(members.capabilities()).map_err(of_capabilities)?;
    config.capabilities = capabilities.into_owned();
    config.revisions = members.revisions()?.unwrap_or(config.revisions);
    members.set_timeouts(&mut config.connection.timeouts);
    config.instructions = members.instructions;
    Ok(Server::new(Arc::new(config)))
}

pub(crate) fn client(json: &str) -> Result<Client, Failure> {
    let members = Members::parse(json)?;
    if members.instructions.is_some() {
        return Err(invalid(&"a client has no instructions"));
    }
    let mut config = ClientConfig::new(&*members.name, &*members.version);
    let capabilities: ClientCapabilities<'_> =
        serde_json::from_str(members.capabilities()).map_err(of_capabilities)?;
    config.capabilities = capabilities.into_owned();
    config.revisions = members.revisions()?.unwrap_or(config.revisions);
    members.set_timeouts(&mut config.connection.timeouts);
    Ok(Client::new(Arc::new(config)))
}

/// Returns a JSON object of the caller; none if the text is empty.
pub(crate) fn object<'j>(json: &'j str, name: &str) -> Result<Option<Raw<'j>>, Failure> {
    if json.is_empty() {
        return Ok(None);
    }
    let wrong = |text: String| Failure::new(McpStatus::InvalidArgument, text);
    let raw = Raw::new(json).map_err(|error| wrong(format!("{name}: {error}")))?;
    if !json.trim_start().starts_with('{') {
        return Err(wrong(format!("{name} is not a JSON object")));
    }
    Ok(Some(raw))
}
