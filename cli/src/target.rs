//! The server to inspect.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// A server to inspect.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The server in this process.
    BuiltIn,
    /// A running server, with header fields for every request.
    Url { url: String, headers: Vec<(String, String)> },
    /// A server to start.
    Program(Program),
}

/// A server to start.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    /// Variables in addition to the environment of this process.
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) directory: Option<PathBuf>,
}

impl Program {
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).envs(self.environment.iter().cloned());
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
    }
}
