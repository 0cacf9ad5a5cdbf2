//! A server that is a child process, and the bounded end of it.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::kill_switch::KillSwitch;
use super::process_group::ProcessGroup;
use crate::sleep::Sleep;

/// How often to look whether a process has ended.
const LOOK: Duration = Duration::from_millis(5);

/// How a server that is a child process is run and ended
/// ([shutdown](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#shutdown)), unless a
/// [`KillSwitch`](crate::KillSwitch) ends the patience with it.
///
/// Its arguments, environment and working directory are those of the
/// [`Command`](std::process::Command) that starts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessOptions {
    /// From closing its input to asking it to terminate. Default 2 s.
    pub exit: Duration,
    /// From asking it to terminate to killing it. Default 2 s. Where there is no way to ask, which is so on
    /// Windows, it is killed at once.
    pub terminate: Duration,
    /// Whether what the server starts ends with it: `npx` and `uvx` start the server as a child of theirs.
    /// Default true.
    ///
    /// On Unix the server leads a process group of its own then. A Ctrl-C in the terminal does not reach it:
    /// end the connection when this process is told to end. And it is in the background, where it cannot
    /// read from the terminal: set this to false for servers that ask for a password there, as `ssh` and
    /// `sudo` do. On Windows it is put into a job, which is ended with it.
    pub own_group: bool,
    /// Where its standard error goes. Default [`Stderr::Inherit`].
    pub stderr: Stderr,
}

/// Where the standard error of a server goes. It is no sign of an error that there is some: servers log there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stderr {
    /// Where the command says, which is to that of this process unless it says something else. A pipe is
    /// for the caller to read: one that nobody reads fills up, and then the server waits for ever.
    #[default]
    Inherit,
    /// Nowhere.
    Discard,
    /// It is read, so that it never fills up, and as many of its last bytes are kept: see
    /// [`Process::stderr`].
    Capture(usize),
}

impl Default for ProcessOptions {
    fn default() -> Self {
        let patience = Duration::from_secs(2);
        let stderr = Stderr::default();
        Self { exit: patience, terminate: patience, own_group: true, stderr }
    }
}

/// A child process with its standard input and output piped. Dropping it kills it, and what it has started.
#[derive(Debug)]
pub struct Process {
    child: Child,
    group: ProcessGroup,
    options: ProcessOptions,
    kill_switch: KillSwitch,
    stderr: Arc<Tail>,
}

impl Process {
    /// Starts a process.
    ///
    /// # Errors
    ///
    /// What the system says if it cannot be started.
    pub fn spawn(
        command: &mut Command,
        options: ProcessOptions,
    ) -> io::Result<(Self, ChildStdin, ChildStdout)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        match options.stderr {
            Stderr::Inherit => {}
            Stderr::Discard => _ = command.stderr(Stdio::null()),
            Stderr::Capture(_) => _ = command.stderr(Stdio::piped()),
        }
        ProcessGroup::prepare(command, options.own_group);
        let mut child = command.spawn()?;
        let group = ProcessGroup::of(&child, options.own_group);
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (kill_switch, stderr_tail) = (KillSwitch::default(), Arc::default());
        let process = Self { child, group, options, kill_switch, stderr: stderr_tail };
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(io::Error::other("the process has no standard input or output"));
        };
        if let (Stderr::Capture(most), Some(stderr)) = (options.stderr, stderr) {
            process.capture(stderr, most)?;
        }
        Ok((process, stdin, stdout))
    }

    /// Keeps the last bytes of what the process says on its standard error, for as long as somebody has it.
    fn capture(&self, mut stderr: ChildStderr, most: usize) -> io::Result<()> {
        let tail = Arc::clone(&self.stderr);
        let read = move || {
            let mut chunk = [0; 4096];
            loop {
                match stderr.read(&mut chunk) {
                    Ok(0) => break,
                    Ok(bytes) => tail.push(chunk.get(..bytes).unwrap_or_default(), most),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
        };
        thread::Builder::new().name("mcp stderr".into()).spawn(read).map(|_| ())
    }

    /// What ends the patience with it.
    pub(crate) const fn kill_switch(&self) -> &KillSwitch {
        &self.kill_switch
    }

    /// Has its end waited for no longer once this is pulled.
    pub(crate) fn set_kill_switch(&mut self, switch: &KillSwitch) {
        self.kill_switch = switch.clone();
    }

    /// The number that the system has given it.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The last bytes of its standard error, if these are [captured](Stderr::Capture).
    pub fn stderr(&self) -> Vec<u8> {
        self.stderr.bytes()
    }

    /// Waits for the process to end, its input being closed; asks it to terminate; kills it. In the
    /// end it is gone and reaped, and so is what it has started and left behind.
    ///
    /// # Errors
    ///
    /// What the system says if it cannot tell what became of it.
    pub async fn end(&mut self, sleep: &dyn Sleep) -> io::Result<ExitStatus> {
        let by_itself = self.wait(self.options.exit, sleep).await?;
        // One that has ended may have left others behind that did not notice.
        let patience = if self.group.terminate() { self.options.terminate } else { Duration::ZERO };
        let status = match by_itself {
            Some(status) => Some(status),
            None => self.wait(patience, sleep).await?,
        };
        let group = &mut self.group;
        if let Some(status) = status
            && within(patience, sleep, &self.kill_switch, || !group.is_alive()).await
        {
            return Ok(status);
        }
        self.kill();
        self.child.wait()
    }

    /// How the process ended, if it does so in time.
    ///
    /// # Errors
    ///
    /// As for [`end`](Self::end).
    pub async fn wait(
        &mut self,
        patience: Duration,
        sleep: &dyn Sleep,
    ) -> io::Result<Option<ExitStatus>> {
        let mut status = Ok(None);
        within(patience, sleep, &self.kill_switch, || {
            status = self.child.try_wait();
            !matches!(status, Ok(None))
        })
        .await;
        if matches!(status, Ok(Some(_))) {
            self.group.reaped();
        }
        status
    }

    fn kill(&mut self) {
        self.group.kill();
        // If it has ended meanwhile there is nothing to kill.
        _ = self.child.kill();
    }
}

/// Looks again and again whether something has come about, at most so long, and no longer than anybody wants to
/// wait. Says whether it has.
async fn within(
    patience: Duration,
    sleep: &dyn Sleep,
    kill_switch: &KillSwitch,
    mut come_about: impl FnMut() -> bool,
) -> bool {
    let started = Instant::now();
    loop {
        if come_about() {
            return true;
        }
        if patience <= started.elapsed() || kill_switch.is_pulled() {
            return false;
        }
        sleep.sleep(LOOK).await;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its input may still be open, so there is no point in waiting for it to notice.
        if !matches!(self.child.try_wait(), Ok(Some(_))) || self.group.is_alive() {
            self.kill();
            // One that has been killed does not take long.
            _ = self.child.wait();
        }
    }
}

/// The last bytes of a stream.
#[derive(Default)]
struct Tail {
    bytes: Mutex<VecDeque<u8>>,
}

impl Tail {
    fn push(&self, bytes: &[u8], most: usize) {
        let mut kept = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(bytes);
        let over = kept.len().saturating_sub(most);
        kept.drain(..over);
    }

    fn bytes(&self) -> Vec<u8> {
        let kept = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().copied().collect()
    }
}

impl fmt::Debug for Tail {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tail").finish_non_exhaustive()
    }
}
