//! The attacked process.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::arguments::address;
use crate::programs::CommandLine;
use crate::{Failure, usage};

/// The time that a server may take to start.
const START: Duration = Duration::from_secs(20);

/// A process, whose costs are counted from now on. A child process is killed when this is dropped.
pub(crate) struct Victim {
    child: Option<Child>,
    pid: Option<u32>,
    /// The processor time at the beginning.
    began: Duration,
}

impl Victim {
    /// Starts a server on pipes.
    pub(crate) fn with_pipes(
        command: &CommandLine,
    ) -> Result<(Self, ChildStdin, ChildStdout), Failure> {
        let mut child = start(command, Stdio::piped(), Stdio::piped())?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = pipes.ok_or("the process has no pipes")?;
        Ok((Self::of(child), stdin, stdout))
    }

    /// Starts a server that prints its URL as its first line. Returns its address and its path.
    pub(crate) async fn behind_http(
        command: &CommandLine,
    ) -> Result<(Self, SocketAddr, String), Failure> {
        let mut child = start(command, Stdio::null(), Stdio::piped())?;
        let stdout = child.stdout.take().ok_or("the process has no output")?;
        let mut lines = BufReader::new(stdout).lines();
        let line =
            timeout(START, lines.next_line()).await.map_err(|_| "the server does not start")?;
        let line = line?.ok_or("the server has printed no URL")?;
        let (address, path) = address(line.trim())?;
        Ok((Self::of(child), address, path))
    }

    /// Starts a program that needs no pipes.
    pub(crate) fn without_clients(command: &CommandLine) -> Result<Self, Failure> {
        Ok(Self::of(start(command, Stdio::null(), Stdio::null())?))
    }

    /// A process that was started elsewhere, if its id is known.
    pub(crate) fn running(pid: Option<u32>) -> Self {
        pid.into_iter().for_each(usage::reset_peak);
        let mut victim = Self { child: None, pid, began: Duration::ZERO };
        victim.began = victim.processor_time().unwrap_or_default();
        victim
    }

    fn of(child: Child) -> Self {
        Self { pid: child.id(), child: Some(child), began: Duration::ZERO }
    }

    /// The peak memory in bytes.
    pub(crate) fn memory(&self) -> Option<u64> {
        usage::peak_memory(self.pid?)
    }

    /// The current memory in bytes.
    pub(crate) fn memory_now(&self) -> Option<u64> {
        usage::memory(self.pid?)
    }

    /// The slowdown by other load on the processors.
    pub(crate) fn slowdown(&self) -> Option<f64> {
        usage::slowdown(self.pid?)
    }

    /// The processor time until now.
    pub(crate) fn processor_time(&self) -> Option<Duration> {
        Some(usage::processor_time(self.pid?)?.saturating_sub(self.began))
    }

    /// Describes its end, if it has ended.
    pub(crate) fn end(&mut self) -> Option<String> {
        let status = self.child.as_mut()?.try_wait().ok()??;
        Some(format!("the process has ended: {status}"))
    }

    /// Waits until it has ended by itself. Returns whether it has.
    pub(crate) async fn ends_within(&mut self, time: Duration) -> bool {
        let Some(child) = &mut self.child else { return false };
        timeout(time, child.wait()).await.is_ok()
    }
}

fn start(command: &CommandLine, stdin: Stdio, stdout: Stdio) -> Result<Child, Failure> {
    let (program, arguments) = command.split_first().ok_or("there is no program to start")?;
    let mut command = Command::new(program);
    // The log of a server about a hostile client would obscure the table.
    command.args(arguments).stdin(stdin).stdout(stdout).stderr(Stdio::null()).kill_on_drop(true);
    let started = command.spawn();
    started.map_err(|error| format!("cannot start {}: {error}", program.display()).into())
}
