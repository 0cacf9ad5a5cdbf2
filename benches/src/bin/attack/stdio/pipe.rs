//! The pipes of a server, and counts of its output.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::held::AbortOnDrop;
use crate::{Failure, messages};

/// The number of bytes of a line that are inspected: enough for its id.
const BEGINNING: usize = 96;

/// The prefix of the ids of pings.
const PROBE: &str = "probe-";

/// The time that a server may take for a response before it counts as dead.
const PATIENCE: Duration = Duration::from_secs(30);

/// The pipes of a server.
pub(crate) struct Pipe {
    stdin: Option<ChildStdin>,
    /// The rest of a line that the server has stopped reading.
    unsent: Bytes,
    output: Arc<Output>,
    pings: u64,
    /// The time at which the attack ends.
    pub(crate) until: Instant,
    /// The longest wait for the response to a ping.
    pub(crate) longest: Duration,
    /// The number of sent messages.
    pub(crate) sent: u64,
    _reading: AbortOnDrop,
}

/// Counts of the output that has been read.
#[derive(Debug, Default)]
struct Output {
    pongs: AtomicU64,
    lines: AtomicU64,
    /// The number of error responses.
    errors: AtomicU64,
    is_over: AtomicBool,
    is_paused: AtomicBool,
    changed: Notify,
}

impl Pipe {
    pub(crate) fn new(stdin: ChildStdin, stdout: ChildStdout) -> Self {
        let output = Arc::new(Output::default());
        let reading = tokio::spawn(read(stdout, Arc::clone(&output)));
        Self {
            stdin: Some(stdin),
            unsent: Bytes::new(),
            output,
            pings: 0,
            until: Instant::now(),
            longest: Duration::ZERO,
            sent: 0,
            _reading: AbortOnDrop(reading),
        }
    }

    /// Whether the attack continues.
    pub(crate) fn goes_on(&self) -> bool {
        Instant::now() < self.until
    }

    /// The number of error responses.
    pub(crate) fn refused(&self) -> u64 {
        self.output.errors.load(Ordering::Relaxed)
    }

    /// The number of lines.
    pub(crate) fn lines(&self) -> u64 {
        self.output.lines.load(Ordering::Relaxed)
    }

    /// Stops reading the server's output, or resumes it.
    pub(crate) fn pause(&self, is_paused: bool) {
        self.output.is_paused.store(is_paused, Ordering::Relaxed);
    }

    /// Sends a message.
    pub(crate) async fn send(&mut self, message: impl Into<Bytes>) -> Result<(), Failure> {
        self.sent += 1;
        self.write(message.into()).await?;
        self.write(Bytes::from_static(b"\n")).await
    }

    /// Sends bytes.
    pub(crate) async fn write(&mut self, bytes: Bytes) -> Result<(), Failure> {
        let latest = Instant::now() + PATIENCE;
        if self.write_until(latest, bytes).await? {
            Ok(())
        } else {
            Err("the server does not read".into())
        }
    }

    /// Sends bytes, as far as the server accepts them before `latest`. The rest precedes the next bytes. Returns
    /// whether all of them were accepted.
    pub(crate) async fn write_until(
        &mut self,
        latest: Instant,
        bytes: Bytes,
    ) -> Result<bool, Failure> {
        let stdin = self.stdin.as_mut().ok_or("the input has ended")?;
        let mut next = bytes;
        loop {
            if self.unsent.is_empty() {
                self.unsent = std::mem::take(&mut next);
            }
            if self.unsent.is_empty() {
                return Ok(true);
            }
            match timeout_at(latest, stdin.write(&self.unsent)).await {
                Ok(written) => self.unsent.advance(written?),
                Err(_) => {
                    if !next.is_empty() {
                        self.unsent = [&self.unsent[..], &next[..]].concat().into();
                    }
                    return Ok(false);
                }
            }
        }
    }

    /// Closes the input of the server.
    pub(crate) fn close(&mut self) {
        self.stdin = None;
    }

    /// Opens a session of this revision.
    pub(crate) async fn initialize(&mut self, version: &str) -> Result<(), Failure> {
        self.send(messages::initialize(version)).await?;
        self.send(messages::INITIALIZED).await?;
        self.ping().await
    }

    /// Sends a ping, and waits for the response.
    pub(crate) async fn ping(&mut self) -> Result<(), Failure> {
        let began = Instant::now();
        let answered = self.pings(1, &[]).await;
        self.longest = self.longest.max(began.elapsed());
        answered
    }

    /// Sends pings with these ids or with new ones, and waits for as many responses.
    pub(crate) async fn pings(&mut self, count: u32, ids: &[String]) -> Result<(), Failure> {
        let (pongs, lines) = (self.output.pongs.load(Ordering::Relaxed), self.lines());
        let mut text = String::new();
        let mut own = ids.iter().cycle();
        for _ in 0..count {
            self.pings += 1;
            let other = || format!("{PROBE}{}", self.pings);
            text.push_str(&messages::ping(&own.next().cloned().unwrap_or_else(other)));
            text.push('\n');
        }
        self.write(text.into()).await?;
        let output = Arc::clone(&self.output);
        let is_answered = || match ids {
            [] => pongs + u64::from(count) <= output.pongs.load(Ordering::Relaxed),
            _ => lines + u64::from(count) <= output.lines.load(Ordering::Relaxed),
        };
        output.wait(is_answered).await
    }
}

impl Output {
    async fn wait(&self, is_there: impl Fn() -> bool) -> Result<(), Failure> {
        let waiting = async {
            loop {
                let mut changed = pin!(self.changed.notified());
                // Registers for all notifications from now on.
                changed.as_mut().enable();
                let is_over = self.is_over.load(Ordering::Relaxed);
                if is_there() {
                    return Ok(());
                }
                if is_over {
                    return Err("the server has closed its output".into());
                }
                changed.await;
            }
        };
        timeout(PATIENCE, waiting).await.map_err(|_| "the server does not answer")?
    }

    /// Counts a line that begins like this.
    fn line(&self, beginning: &[u8]) {
        let text = String::from_utf8_lossy(beginning);
        if text.contains(&format!(r#""id":"{PROBE}"#)) {
            self.pongs.fetch_add(1, Ordering::Relaxed);
        } else if text.contains(r#""error":"#) {
            self.errors.fetch_add(1, Ordering::Relaxed);
        }
        self.lines.fetch_add(1, Ordering::Relaxed);
    }
}

/// Reads the output of a server, and counts it.
async fn read(mut stdout: ChildStdout, output: Arc<Output>) {
    let (mut chunk, mut beginning) = (vec![0; 64 << 10], Vec::new());
    loop {
        if output.is_paused.load(Ordering::Relaxed) {
            sleep(Duration::from_millis(10)).await;
            continue;
        }
        let Ok(count) = stdout.read(&mut chunk).await else { break };
        if count == 0 {
            break;
        }
        let mut rest = chunk.get(..count).unwrap_or_default();
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(end);
            keep(&mut beginning, line);
            output.line(&beginning);
            beginning.clear();
            rest = after.get(1..).unwrap_or_default();
        }
        keep(&mut beginning, rest);
        output.changed.notify_waiters();
    }
    output.is_over.store(true, Ordering::Relaxed);
    output.changed.notify_waiters();
}

fn keep(beginning: &mut Vec<u8>, bytes: &[u8]) {
    let room = BEGINNING.saturating_sub(beginning.len());
    beginning.extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
}
