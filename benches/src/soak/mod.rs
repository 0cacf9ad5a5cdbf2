//! Long runs of a server in its own process, with faults, while its memory and its files are watched.

mod http;
mod pipes;
mod plot;
mod samples;

use std::io;
use std::process::{Child, Command, Stdio};

use self::pipes::Awaited;
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
/// that is cancelled, an unknown method, a response to no request, or invalid params. The last call of every 64
/// messages must get its response.
///
/// # Errors
///
/// Fails if the server ends, or does not respond.
pub fn pipes(command: &mut Command, messages: u64) -> io::Result<Samples> {
    pipes::run(Served::start(command)?, messages, Awaited::Call)
}

/// As [`pipes`], but the client waits for the response to a ping instead. So calls pile up until the server stops
/// reading. The memory may take 80 MiB.
///
/// # Errors
///
/// As for [`pipes`].
pub fn piling(command: &mut Command, messages: u64) -> io::Result<Samples> {
    let mut samples = pipes::run(Served::start(command)?, messages, Awaited::Ping)?;
    samples.most = Some(PILED);
    Ok(samples)
}

/// The permitted memory in KiB of a server in which calls pile up: the 64 MiB of
/// [`Limits::connection_bytes`](mcp_sansio::Limits::connection_bytes), and 16 MiB for the program, its threads, its
/// outbox and the overhead of the allocator.
const PILED: u64 = (64 + 16) << 10;

/// Opens `sessions` sessions with a server that prints its address, and calls its tool in each. Clients leave in
/// different ways: they end the session, leave it to expire, never use it, close the connection within a request, or do
/// not read the response.
///
/// The run has phases. The memory is measured at the end of each phase, when every session has ended: before, it
/// depends on the number of sessions that have not expired yet. For that the server prints the number of its sessions,
/// of its open requests and of its kept bytes for each line of its standard input.
///
/// # Errors
///
/// Fails if the server ends, or a request that is complete gets no response, or if the server still has sessions,
/// requests or bytes of clients that have left, when all of them should have expired.
pub fn http(command: &mut Command, sessions: u64) -> io::Result<Samples> {
    http::run(Served::start(command)?, sessions)
}
