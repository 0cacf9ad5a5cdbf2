//! [`Process`]: a server that is a child process, with a bounded shutdown.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::kill_switch::KillSwitch;
use super::process_group::ProcessGroup;
use crate::sleep::Sleep;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, thread};

/// The interval at which to check whether a process has ended.
const LOOK: Duration = Duration::from_millis(5);

/// How long to wait for the end of the standard error of a process that has ended. Another process may keep it open.
const STDERR_END: Duration = Duration::from_millis(200);

/// How long to wait for the end of a process that was killed. A process of another user cannot be killed, and one in a
/// system call that does not end does not end either.
const KILLED: Duration = Duration::from_secs(5);

/// The same for a process that is dropped, which blocks the thread.
const DROPPED: Duration = Duration::from_secs(1);

/// How a server that is a child process is run and ended
/// ([shutdown](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#shutdown)), unless a
/// [`KillSwitch`](crate::KillSwitch) ends the wait for it.
///
/// Arguments, environment and working directory are those of the [`Command`](std::process::Command) that starts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessOptions {
    /// The time from closing its input to asking it to terminate. Default 2 s.
    pub exit: Duration,
    /// The time from asking it to terminate to killing it. Default 2 s. Windows has no way to ask, so there the
    /// server is killed at once.
    pub terminate: Duration,
    /// Whether the child processes of the server end with it: `npx` and `uvx` start the server as a child process.
    /// Default true.
    ///
    /// On Unix the server then leads its own process group. A Ctrl-C in the terminal does not reach it, so end the
    /// connection when this process is asked to terminate. The server is also in the background, where it cannot
    /// read from the terminal. Set this to false for servers that ask for a password there, as `ssh` and `sudo` do.
    /// On Windows the server is assigned to a job, which ends with it, and the creation flags of its
    /// [`Command`](std::process::Command) are replaced by `CREATE_NEW_PROCESS_GROUP`.
    pub own_group: bool,
    /// The destination of its standard error. Default [`Stderr::Inherit`].
    pub stderr: Stderr,
}

/// The destination of a server's standard error. Output there does not indicate an error: servers log to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stderr {
    /// The destination that the command sets, by default that of this process. If that is
    /// [`Stdio::piped`](std::process::Stdio::piped), the output is read and discarded. A pipe that the caller has made
    /// is the caller's to read: an unread pipe fills up, and then the server blocks.
    #[default]
    Inherit,
    /// Discarded.
    Discard,
    /// A thread reads it, so that the pipe never fills up, and keeps this number of its last bytes: see
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

/// A child process with its standard input and output piped. Dropping it kills the process and the processes that
/// it has started.
#[derive(Debug)]
pub struct Process {
    child: Child,
    group: ProcessGroup,
    options: ProcessOptions,
    kill_switch: KillSwitch,
    stderr: Arc<Tail>,
    /// Whether the process was killed and did not end in time.
    is_unkillable: bool,
}

impl Process {
    /// Starts a process.
    ///
    /// # Errors
    ///
    /// The error of the operating system if the process cannot be started.
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
        let is_unkillable = false;
        let process =
            Self { child, group, options, kill_switch, stderr: stderr_tail, is_unkillable };
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(io::Error::other("the process has no standard input or output"));
        };
        if let Some(stderr) = stderr {
            // The command may have asked for a pipe without anyone who reads it.
            let most = if let Stderr::Capture(most) = options.stderr { most } else { 0 };
            process.capture(stderr, most)?;
        }
        Ok((process, stdin, stdout))
    }

    /// Starts a thread that reads the standard error of the process and keeps its last bytes, until every process
    /// has closed it.
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
            tail.is_complete.store(true, Ordering::Release);
        };
        thread::Builder::new().name("mcp stderr".into()).spawn(read).map(|_| ())
    }

    /// Returns the switch that ends the wait for the process.
    pub(crate) const fn kill_switch(&self) -> &KillSwitch {
        &self.kill_switch
    }

    /// Sets the switch that ends the waits of [`end`](Self::end) and [`wait`](Self::wait). Once it is pulled, `end`
    /// kills the process at once.
    pub fn set_kill_switch(&mut self, switch: &KillSwitch) {
        self.kill_switch = switch.clone();
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the last bytes of the standard error, if it is [captured](Stderr::Capture).
    pub fn stderr(&self) -> Vec<u8> {
        self.stderr.bytes()
    }

    /// Returns the last bytes of the standard error of a process that has ended. Waits for the rest of them, for at most
    /// [`STDERR_END`].
    pub(crate) async fn whole_stderr(&self, sleep: &dyn Sleep) -> Vec<u8> {
        if matches!(self.options.stderr, Stderr::Capture(_)) {
            let is_complete = || self.stderr.is_complete.load(Ordering::Acquire);
            within(STDERR_END, sleep, &self.kill_switch, is_complete).await;
        }
        self.stderr()
    }

    /// Ends the process, whose input is closed: waits for it, then asks it to terminate, then kills it. Afterwards
    /// the process is reaped, and the processes that it has left behind are gone.
    ///
    /// # Errors
    ///
    /// The error of the operating system if it cannot report the exit status, or cannot kill the process:
    /// [`PermissionDenied`](io::ErrorKind::PermissionDenied) for a process of another user.
    /// [`TimedOut`](io::ErrorKind::TimedOut) if the process does not end within 5 s after it was killed. A thread of its
    /// own waits for such a process when this value is dropped.
    pub async fn end(&mut self, sleep: &dyn Sleep) -> io::Result<ExitStatus> {
        let by_itself = self.wait(self.options.exit, sleep).await?;
        // A process that has ended may have left others behind that did not notice the end of its input.
        let patience = if self.group.terminate() { self.options.terminate } else { Duration::ZERO };
        let asked = Instant::now();
        let status = match by_itself {
            Some(status) => Some(status),
            None => self.wait(patience, sleep).await?,
        };
        let (group, left) = (&mut self.group, patience.saturating_sub(asked.elapsed()));
        if let Some(status) = status
            && within(left, sleep, &self.kill_switch, || !group.is_alive()).await
        {
            return Ok(status);
        }
        let killed = self.kill();
        let status = last_status(KILLED, sleep, killed, || self.child.try_wait()).await;
        self.is_unkillable = status.is_err();
        status
    }

    /// Returns the exit status, if the process ends within `patience`.
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

    fn kill(&mut self) -> io::Result<()> {
        self.group.kill();
        self.child.kill()
    }
}

/// Returns the exit status of a process that was killed, with this result, if the process ends within `patience`.
async fn last_status(
    patience: Duration,
    sleep: &dyn Sleep,
    killed: io::Result<()>,
    mut try_wait: impl FnMut() -> io::Result<Option<ExitStatus>>,
) -> io::Result<ExitStatus> {
    let mut status = Ok(None);
    within(patience, sleep, &KillSwitch::default(), || {
        status = try_wait();
        !matches!(status, Ok(None))
    })
    .await;
    match (status?, killed) {
        (Some(status), _) => Ok(status),
        (None, Err(error)) => Err(error),
        (None, Ok(())) => {
            let text = "the process was killed, and has not ended";
            Err(io::Error::new(io::ErrorKind::TimedOut, text))
        }
    }
}

/// Polls a condition until it holds, `patience` is over, or the switch is pulled. Returns whether it holds.
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
        // Its input may still be open, so waiting for the process to notice is pointless.
        if !matches!(self.child.try_wait(), Ok(Some(_))) || self.group.is_alive() {
            // The process may have ended in the meantime.
            _ = self.kill();
            let patience = if self.is_unkillable { Duration::ZERO } else { DROPPED };
            let killed = Instant::now();
            while matches!(self.child.try_wait(), Ok(None)) {
                if patience <= killed.elapsed() {
                    return self.group.reap_later();
                }
                thread::sleep(LOOK);
            }
        }
    }
}

/// The last bytes of a stream.
#[derive(Default)]
struct Tail {
    bytes: Mutex<VecDeque<u8>>,
    /// Whether the stream has ended.
    is_complete: AtomicBool,
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

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// A timer that blocks the thread.
    struct Blocks;

    impl Sleep for Blocks {
        fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
            Box::pin(async move { thread::sleep(time) })
        }
    }

    /// The error for a process that does not end after it was killed.
    fn error_after(killed: io::Result<()>) -> io::ErrorKind {
        let mut end = pin!(last_status(Duration::from_millis(10), &Blocks, killed, || Ok(None)));
        match end.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Err(error)) => error.kind(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_wait_for_a_process_that_cannot_be_killed_ends() {
        let denied = io::ErrorKind::PermissionDenied;
        assert_eq!(error_after(Err(denied.into())), denied);
        assert_eq!(error_after(Ok(())), io::ErrorKind::TimedOut);
    }
}
