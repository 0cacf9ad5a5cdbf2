//! A server that is a child process, and the bounded end of it.

use std::io;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often to look whether a process has ended.
const LOOK: Duration = Duration::from_millis(5);

/// How a server that is a child process is run and ended
/// ([shutdown](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#shutdown)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessOptions {
    /// From closing its input to asking it to terminate. Default 2 s.
    pub exit: Duration,
    /// From asking it to terminate to killing it. Default 2 s.
    pub terminate: Duration,
    /// Whether the server leads a process group of its own, on Unix, so that what it starts ends with
    /// it: `npx` and `uvx` start the server as a child of theirs. Default true.
    ///
    /// Then a Ctrl-C in the terminal does not reach the server: end the connection when this process
    /// is told to end. And it is in the background, where it cannot read from the terminal: set this
    /// to false for servers that ask for a password there, as `ssh` and `sudo` do.
    pub own_group: bool,
}

impl Default for ProcessOptions {
    fn default() -> Self {
        let patience = Duration::from_secs(2);
        Self { exit: patience, terminate: patience, own_group: true }
    }
}

/// A child process with its standard input and output piped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    options: ProcessOptions,
    /// It has ended and its number may be used again.
    is_reaped: bool,
}

impl Process {
    /// Starts a process.
    pub(crate) fn spawn(
        command: &mut Command,
        options: ProcessOptions,
    ) -> io::Result<(Self, ChildStdin, ChildStdout)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        #[cfg(unix)]
        if options.own_group {
            std::os::unix::process::CommandExt::process_group(command, 0);
        }
        let mut child = command.spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let mut process = Self { child, options, is_reaped: false };
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            process.kill();
            return Err(io::Error::other("the process has no standard input or output"));
        };
        Ok((process, stdin, stdout))
    }

    /// Waits for the process to end, its input being closed; asks it to terminate; kills it. In the
    /// end it is gone and reaped, and so is what it has started and left behind.
    pub(crate) fn end(&mut self) -> io::Result<ExitStatus> {
        let by_itself = self.wait(self.options.exit)?;
        // One that has ended may have left others behind that did not notice.
        self.terminate();
        let status = match by_itself {
            Some(status) => Some(status),
            None => self.wait(self.options.terminate)?,
        };
        if status.is_some() && within(self.options.terminate, || !self.has_descendants()) {
            return status.map_or_else(|| self.child.wait(), Ok);
        }
        self.kill();
        self.child.wait()
    }

    /// How the process ended, if it does so in time.
    pub(crate) fn wait(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let mut status = Ok(None);
        within(patience, || {
            status = self.child.try_wait();
            !matches!(status, Ok(None))
        });
        self.is_reaped |= matches!(status, Ok(Some(_)));
        status
    }

    /// Whether anything that the process has started is still running, once it has ended itself. The
    /// number of the group is not used again before the last of them is gone.
    #[cfg(unix)]
    fn has_descendants(&self) -> bool {
        self.options.own_group
            && self
                .id()
                .is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok())
    }

    /// Windows has no groups of processes.
    #[cfg(not(unix))]
    fn has_descendants(&self) -> bool {
        false
    }

    #[cfg(unix)]
    fn terminate(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    /// Windows has no way to ask; the closed input was it.
    #[cfg(not(unix))]
    fn terminate(&self) {}

    fn kill(&mut self) {
        #[cfg(unix)]
        self.signal(rustix::process::Signal::KILL);
        // If it has ended meanwhile there is nothing to kill.
        _ = self.child.kill();
    }

    /// Sends a signal to the process and, if it leads a group, to all that are in it.
    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        // What has ended meanwhile is what we want.
        _ = match (self.id(), self.options.own_group) {
            (Some(group), true) => rustix::process::kill_process_group(group, signal),
            (Some(process), false) if !self.is_reaped => {
                rustix::process::kill_process(process, signal)
            }
            _ => Ok(()),
        };
    }

    #[cfg(unix)]
    fn id(&self) -> Option<rustix::process::Pid> {
        i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw)
    }
}

/// Looks again and again whether something has come about, at most so long. Says whether it has.
fn within(patience: Duration, mut come_about: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    loop {
        if come_about() {
            return true;
        }
        if patience <= started.elapsed() {
            return false;
        }
        thread::sleep(LOOK);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its input may still be open, so there is no point in waiting for it to notice.
        if !matches!(self.child.try_wait(), Ok(Some(_))) || self.has_descendants() {
            self.kill();
            _ = self.child.wait();
        }
    }
}
