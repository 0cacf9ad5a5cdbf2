//! Long runs of a server in its own process, with faults, while its memory and its files are watched.

mod http;
mod pipes;
mod plot;
mod samples;

use std::io;
use std::process::{Child, Command, Stdio};

pub use samples::Samples;

/// A server in its own process.
struct Served {
    child: Child,
}

impl Served {
    fn start(command: &mut Command) -> io::Result<Self> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        Ok(Self { child })
    }

    fn is_running(&mut self) -> io::Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(io::Error::other(format!("the server has ended with {status}"))),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Sends `messages` messages to a server on its standard input. One in eight is a fault: text that is not JSON, a call
/// that is cancelled, an unknown method, a response to no request, or invalid params. The last call of every 64 messages
/// must get its response.
///
/// # Errors
///
/// Fails if the server ends, or does not respond.
pub fn pipes(command: &mut Command, messages: u64) -> io::Result<Samples> {
    pipes::run(Served::start(command)?, messages)
}

/// Opens `sessions` sessions with a server that prints its address, and calls its tool in each. Clients leave in
/// different ways: they end the session, never use it, close the connection within a request, or do not read the
/// response.
///
/// # Errors
///
/// Fails if the server ends, or a request that is complete gets no response.
pub fn http(command: &mut Command, sessions: u64) -> io::Result<Samples> {
    http::run(Served::start(command)?, sessions)
}
