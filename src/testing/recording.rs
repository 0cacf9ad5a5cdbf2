//! What happened on a connection, written down so that it can happen again.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use super::escape::{escaped, unescaped};
use super::machine::Machine;
use crate::frame::{Framing, Inbox, Outbox};
use crate::limits::Limits;
use crate::peer::Cause;
use crate::time::Instant;

/// Something that happened, and what was sent because of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Happening {
    /// Bytes were read, in a chunk of this size.
    Read(Vec<u8>),
    /// There was nothing more to read.
    EndOfInput,
    /// The carrier failed.
    Failed,
    /// `handle_timeout` was called until there was nothing to do.
    Timeout,
    /// The application did something on its own account; only it knows what this means.
    Command(String),
    /// These bytes were written.
    Written(Vec<u8>),
}

/// Everything that happened on one side of a connection, and when.
///
/// As text it has one line for each: the nanoseconds since the epoch, a word, and what came or went with
/// the bytes that are not printable escaped. So it can be kept in a file, shortened by hand and read again.
///
/// ```
/// use mcp_sansio::testing::Recording;
///
/// let text = "5000000 read {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\\n\n5000000 timeout\n";
/// let recording: Recording = text.parse()?;
/// assert_eq!(recording.happenings().count(), 2);
/// assert_eq!(recording.to_string(), text);
/// # Ok::<(), mcp_sansio::testing::BadRecording>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    happenings: Vec<(Instant, Happening)>,
}

impl Recording {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self { happenings: Vec::new() }
    }

    /// Adds what happens next.
    pub fn push(&mut self, at: Instant, happening: Happening) {
        self.happenings.push((at, happening));
    }

    /// What happened, in order.
    pub fn happenings(&self) -> impl Iterator<Item = (Instant, &Happening)> {
        self.happenings.iter().map(|(at, happening)| (*at, happening))
    }
}

impl fmt::Display for Recording {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, happening) in &self.happenings {
            write!(formatter, "{} ", at.since_epoch().as_nanos())?;
            match happening {
                Happening::Read(bytes) => writeln!(formatter, "read {}", escaped(bytes))?,
                Happening::EndOfInput => formatter.write_str("end\n")?,
                Happening::Failed => formatter.write_str("failed\n")?,
                Happening::Timeout => formatter.write_str("timeout\n")?,
                Happening::Command(text) => {
                    writeln!(formatter, "command {}", escaped(text.as_bytes()))?;
                }
                Happening::Written(bytes) => writeln!(formatter, "written {}", escaped(bytes))?,
            }
        }
        Ok(())
    }
}

/// A text that is no recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is not something that happened")]
#[non_exhaustive]
pub struct BadRecording {
    /// Which line, from 1.
    pub line: usize,
}

impl FromStr for Recording {
    type Err = BadRecording;

    fn from_str(text: &str) -> Result<Self, BadRecording> {
        let read =
            |(index, line): (usize, &str)| line_of(line).ok_or(BadRecording { line: index + 1 });
        let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty());
        Ok(Self { happenings: lines.map(read).collect::<Result<_, _>>()? })
    }
}

fn line_of(line: &str) -> Option<(Instant, Happening)> {
    let (at, rest) = line.split_once(' ')?;
    let at = Instant::from_nanos(at.parse().ok()?);
    let (word, payload) = rest.split_once(' ').unwrap_or((rest, ""));
    let happening = match word {
        "read" => Happening::Read(unescaped(payload)?),
        "written" => Happening::Written(unescaped(payload)?),
        "command" => Happening::Command(String::from_utf8(unescaped(payload)?).ok()?),
        "end" if payload.is_empty() => Happening::EndOfInput,
        "failed" if payload.is_empty() => Happening::Failed,
        "timeout" if payload.is_empty() => Happening::Timeout,
        _ => return None,
    };
    Some((at, happening))
}

/// What decides what a machine does besides its peer and time. It has to be as deterministic as the
/// machine, or a replay diverges.
pub trait Application<M: Machine> {
    /// Something happened.
    fn event(&mut self, event: M::Event<'_>, machine: &mut M, now: Instant, out: &mut Outbox);

    /// It does something on its own account, which it knows by this text. Nothing by default.
    fn command(&mut self, command: &str, machine: &mut M, now: Instant, out: &mut Outbox) {
        _ = (command, machine, now, out);
    }
}

/// A machine on a byte stream, with everything that happens to it written down.
///
/// A driver calls [`happened`](Self::happened) for each thing, and writes what
/// [`written`](Self::written) takes. [`replay`] does it all again.
#[derive(Debug)]
pub struct Recorder<M, A> {
    machine: M,
    application: A,
    inbox: Inbox,
    outbox: Outbox,
    recording: Recording,
}

impl<M: Machine, A: Application<M>> Recorder<M, A> {
    /// Nothing has happened yet.
    pub fn new(machine: M, application: A, limits: &Limits) -> Self {
        let (inbox, outbox) = (Inbox::new(limits), Outbox::new(Framing::Lines, limits));
        Self { machine, application, inbox, outbox, recording: Recording::new() }
    }

    /// The machine.
    pub const fn machine(&self) -> &M {
        &self.machine
    }

    /// What the application has come to.
    pub const fn application(&self) -> &A {
        &self.application
    }

    /// What has happened so far.
    pub const fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Has it happen, and writes it down.
    pub fn happened(&mut self, now: Instant, happening: Happening) {
        match &happening {
            Happening::Read(bytes) => self.read(bytes, now),
            Happening::EndOfInput => {
                self.inbox.finish();
                self.frames(now);
                self.machine.disconnected(Cause::EndOfInput, now);
            }
            Happening::Failed => self.machine.disconnected(Cause::ReadFailed, now),
            Happening::Timeout => self.time_out(now),
            Happening::Command(command) => {
                self.application.command(command, &mut self.machine, now, &mut self.outbox);
            }
            Happening::Written(bytes) => self.outbox.sent(bytes.len()),
        }
        self.recording.push(now, happening);
    }

    /// Takes at most so many of the bytes that are to be written, and writes down that they were.
    pub fn written(&mut self, now: Instant, bytes: usize) -> Vec<u8> {
        let unsent = self.outbox.unsent();
        let bytes = unsent.get(..bytes).unwrap_or(unsent).to_owned();
        if !bytes.is_empty() {
            self.happened(now, Happening::Written(bytes.clone()));
        }
        bytes
    }

    fn read(&mut self, mut bytes: &[u8], now: Instant) {
        while !bytes.is_empty() {
            let taken = self.inbox.feed(bytes);
            bytes = bytes.get(taken..).unwrap_or_default();
            self.frames(now);
        }
    }

    fn frames(&mut self, now: Instant) {
        while let Some(frame) = self.inbox.next() {
            if let Some(event) = self.machine.receive(frame, now, &mut self.outbox) {
                self.application.event(event, &mut self.machine, now, &mut self.outbox);
            }
        }
    }

    fn time_out(&mut self, now: Instant) {
        while let Some(event) = self.machine.handle_timeout(now, &mut self.outbox) {
            self.application.event(event, &mut self.machine, now, &mut self.outbox);
        }
    }
}

/// A replay that went another way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("happening {index}: {} was written, now it is {}", escaped(expected), escaped(found))]
#[non_exhaustive]
pub struct Divergence {
    /// Which of the happenings, from 0.
    pub index: usize,
    /// What was written then.
    pub expected: Vec<u8>,
    /// What would be written now.
    pub found: Vec<u8>,
}

/// Has everything happen again to a machine and an application that are as they were at the beginning.
///
/// What is compared is what was written then; what would be written beyond that is in the recorder. Gives both
/// as they are at the end.
///
/// # Errors
///
/// Other bytes were to be written than the recording says: the machine, its configuration, its
/// application, or this crate is not the same.
pub fn replay<M: Machine, A: Application<M>>(
    recording: &Recording,
    machine: M,
    application: A,
    limits: &Limits,
) -> Result<Recorder<M, A>, Divergence> {
    let mut recorder = Recorder::new(machine, application, limits);
    for (index, (at, happening)) in recording.happenings.iter().enumerate() {
        if let Happening::Written(expected) = happening {
            let unsent = recorder.outbox.unsent();
            let found = unsent.get(..expected.len()).unwrap_or(unsent);
            if found != expected {
                let (expected, found) = (expected.clone(), found.to_owned());
                return Err(Divergence { index, expected, found });
            }
        }
        recorder.happened(*at, happening.clone());
    }
    Ok(recorder)
}
