//! A session with the server that is inspected.

use std::io;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mcp_sansio::model::{
    CallToolParams, ElicitationCapability, ListChanged, SamplingCapability, method,
};
use mcp_sansio::{CallOptions, ClientConfig, Connected, RevisionSet, Timeout};
use mcp_sansio_std::{CallFailure, Connection, OpenError, Reply};
use serde::Serialize;

use crate::answers::{Answers, Overheard};
use crate::arguments::{Arguments, ToolCall};
use crate::everything;

pub(crate) struct Session {
    connection: Connection,
    timeout: Duration,
}

impl Session {
    /// Starts the server, or the built-in one, and connects to it.
    pub(crate) fn open(arguments: &Arguments) -> Result<Self, String> {
        let config = config(arguments);
        let overheard = Arc::new(Overheard::default());
        let answers = Answers::new(arguments, Arc::clone(&overheard))?;
        let connection = match arguments.server.split_first() {
            None => built_in(config, answers).map_err(|error| error.to_string())?,
            Some((program, rest)) => {
                let mut command = Command::new(program);
                command.args(rest);
                Connection::spawn(config, command, answers)
                    .map_err(|error| explain(&error, &program.to_string_lossy(), &overheard))?
            }
        };
        Ok(Self { connection, timeout: arguments.timeout })
    }

    /// What the server said of itself.
    pub(crate) const fn connected(&self) -> &Connected<'static> {
        self.connection.connected()
    }

    /// Calls a method and shows progress meanwhile.
    pub(crate) fn call<T: Serialize + ?Sized>(
        &self,
        method: &str,
        params: &T,
    ) -> Result<Reply, CallFailure> {
        let options = CallOptions::new().progress().idle(Timeout::After(self.timeout));
        let pending = self.connection.handle().start_method(method, params, options)?;
        pending.wait_with(|update| {
            let total = update.total.map(|total| format!(" of {total}")).unwrap_or_default();
            let message = update.message.map(|text| format!(": {text}")).unwrap_or_default();
            eprintln!("{method}: {}{total}{message}", update.progress);
        })
    }

    pub(crate) fn call_tool(&self, call: ToolCall<'_>) -> Result<Reply, String> {
        let params = CallToolParams::with(call.name, call.arguments);
        let name = <method::CallTool as method::Method>::NAME;
        self.call(name, &params).map_err(|failure| format!("{name} failed: {failure}"))
    }

    pub(crate) fn close(self, grace: Duration) {
        // What we came for is there; how the server ends is its own affair.
        _ = self.connection.close(grace);
    }
}

fn config(arguments: &Arguments) -> ClientConfig {
    let mut config = ClientConfig::new("inspect", env!("CARGO_PKG_VERSION"));
    config.info.title = Some("mcp-sansio inspect".into());
    config.capabilities.roots = Some(ListChanged::default());
    config.capabilities.sampling = Some(SamplingCapability::default());
    config.capabilities.elicitation = Some(ElicitationCapability::default());
    config.connection.timeouts.handshake = Some(arguments.timeout);
    if let Some(revision) = arguments.revision {
        config.revisions = RevisionSet::only(revision);
    }
    config
}

/// Serves the built-in server on a thread, and connects to it by pipes.
fn built_in(config: ClientConfig, answers: Answers) -> Result<Connection, OpenError> {
    let pipes = || Ok::<_, io::Error>((io::pipe()?, io::pipe()?));
    let ((from_client, to_server), (from_server, to_client)) = pipes().map_err(OpenError::Spawn)?;
    thread::spawn(move || {
        let handler = everything::Everything::default();
        mcp_sansio_std::serve(everything::config(), from_client, to_client, handler)
    });
    Connection::open(config, from_server, to_server, answers)
}

/// Why there is no session, and what to do about it.
fn explain(error: &OpenError, program: &str, overheard: &Overheard) -> String {
    let hint = match error {
        OpenError::Spawn(error) if error.kind() == io::ErrorKind::NotFound => {
            "\nIs it installed, and is it on the PATH?".to_string()
        }
        OpenError::Spawn(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            "\nIs it a program?".to_string()
        }
        _ => overheard.hint(),
    };
    format!("{program}: {error}{hint}")
}
