//! A server that is a child process, and the bounded end of it.

use std::io;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often to look whether a process has ended.
const LOOK: Duration = Duration::from_millis(5);

/// How long each step of ending a child process may take
/// ([shutdown](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#shutdown)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Patience {
    /// From closing its input to asking it to terminate. Default 2 s.
    pub exit: Duration,
    /// From asking it to terminate to killing it. Default 2 s.
    pub terminate: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { exit: Duration::from_secs(2), terminate: Duration::from_secs(2) }
    }
}

/// A child process with its standard input and output piped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    patience: Patience,
}

impl Process {
    /// Starts a process. On Unix it leads a group of its own, so that what it starts can be ended
    /// together with it: `npx` and `uvx` start the server as a child of theirs.
    pub(crate) fn spawn(
        command: &mut Command,
        patience: Patience,
    ) -> io::Result<(Self, ChildStdin, ChildStdout)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let mut child = command.spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let mut process = Self { child, patience };
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            process.kill();
            return Err(io::Error::other("the process has no standard input or output"));
        };
        Ok((process, stdin, stdout))
    }

    /// Waits for the process to end, its input being closed; asks it to terminate; kills it. In the
    /// end it is gone and reaped.
    pub(crate) fn end(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.wait(self.patience.exit)? {
            return Ok(status);
        }
        self.terminate();
        if let Some(status) = self.wait(self.patience.terminate)? {
            return Ok(status);
        }
        self.kill();
        self.child.wait()
    }

    /// How the process ended, if it does so in time.
    pub(crate) fn wait(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let deadline = Instant::now() + patience;
        loop {
            let status = self.child.try_wait()?;
            if status.is_some() || deadline <= Instant::now() {
                return Ok(status);
            }
            thread::sleep(LOOK);
        }
    }

    #[cfg(unix)]
    fn terminate(&self) {
        self.signal_group(rustix::process::Signal::TERM);
    }

    /// Windows has no way to ask; the closed input was it.
    #[cfg(not(unix))]
    fn terminate(&self) {}

    fn kill(&mut self) {
        #[cfg(unix)]
        self.signal_group(rustix::process::Signal::KILL);
        // If it has ended meanwhile there is nothing to kill.
        _ = self.child.kill();
    }

    #[cfg(unix)]
    fn signal_group(&self, signal: rustix::process::Signal) {
        let id = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(id) = id {
            // A group that has ended meanwhile is what we want.
            _ = rustix::process::kill_process_group(id, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its input may still be open, so there is no point in waiting for it to notice.
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.kill();
            _ = self.child.wait();
        }
    }
}
