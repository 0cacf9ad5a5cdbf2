//! [`Recording`], the inputs and outputs of a connection, in order.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use super::escape::{escaped, unescaped};
use super::lines::Lines;
use crate::time::Instant;

/// An input of a connection, or its output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepKind {
    /// Bytes were read, in a chunk of this size.
    Read(Vec<u8>),
    /// The input ended.
    EndOfInput,
    /// The transport failed during a read.
    ReadFailed,
    /// The transport failed during a write. Bytes taken for writing are recorded before this step, whether or not
    /// they arrived.
    WriteFailed,
    /// `handle_timeout` was called until no work was due.
    Timeout,
    /// The application executed a command of its own; only the application knows its meaning.
    Command(String),
    /// These bytes were written.
    Written(Vec<u8>),
}

/// An input or output of a recording, with its time. [`drive::Step`](crate::drive::Step) is another type: a step of a
/// [`ByteStream`](crate::ByteStream).
///
/// In text form, a step is one line: the nanoseconds since the epoch, a word, and the payload with non-printable
/// bytes escaped.
///
/// ```
/// use mcp_sansio::Instant;
/// use mcp_sansio::testing::{StepKind, Step};
///
/// let step = Step::new(Instant::from_millis(5), StepKind::Read(b"{}\n".to_vec()));
/// assert_eq!(step.to_string(), r"5000000 read {}\n");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// The time of the step.
    pub at: Instant,
    /// The input or output.
    pub kind: StepKind,
}

impl Step {
    /// Creates a step.
    pub const fn new(at: Instant, kind: StepKind) -> Self {
        Self { at, kind }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ", self.at.since_epoch().as_nanos())?;
        match &self.kind {
            StepKind::Read(bytes) => write!(formatter, "read {}", escaped(bytes)),
            StepKind::EndOfInput => formatter.write_str("end"),
            StepKind::ReadFailed => formatter.write_str("failed read"),
            StepKind::WriteFailed => formatter.write_str("failed write"),
            StepKind::Timeout => formatter.write_str("timeout"),
            StepKind::Command(text) => write!(formatter, "command {}", escaped(text.as_bytes())),
            StepKind::Written(bytes) => write!(formatter, "written {}", escaped(bytes)),
        }
    }
}

/// All inputs and outputs of one side of a connection, with their times.
///
/// The text form has one line for each [`Step`]. So a recording can be stored in a file, shortened by hand and parsed
/// again.
///
/// ```
/// use mcp_sansio::testing::Recording;
///
/// let text = "5000000 read {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\\n\n5000000 timeout\n";
/// let recording: Recording = text.parse()?;
/// assert_eq!(recording.steps().len(), 2);
/// assert_eq!(recording.received().count(), 1);
/// assert_eq!(recording.to_string(), text);
/// # Ok::<(), mcp_sansio::testing::BadRecording>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    steps: Vec<Step>,
}

impl Recording {
    /// Creates an empty recording.
    pub const fn new() -> Self {
        Self { steps: Vec::new() }
    }

    /// Appends a step.
    pub fn push(&mut self, at: Instant, kind: StepKind) {
        self.steps.push(Step::new(at, kind));
    }

    /// Returns the steps, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the steps from one time on and before another.
    ///
    /// A recording can only be replayed from its beginning: this slice is for inspection. If the times are not
    /// ordered, as in a concatenation of several recordings, the selection is unspecified.
    pub fn between(&self, from: Instant, to: Instant) -> &[Step] {
        let first = self.steps.partition_point(|step| step.at < from);
        let end = self.steps.partition_point(|step| step.at < to);
        // A reversed range is empty.
        self.steps.get(first..end).unwrap_or_default()
    }

    /// Returns the received messages, each with the time of its last byte.
    pub fn received(&self) -> impl Iterator<Item = (Instant, Vec<u8>)> {
        received(&self.steps)
    }

    /// Returns the written messages, each with the time of its last byte.
    pub fn written(&self) -> impl Iterator<Item = (Instant, Vec<u8>)> {
        let mut lines = Lines::default();
        messages(&self.steps, move |kind| match kind {
            StepKind::Written(bytes) => lines.take(bytes),
            _ => Vec::new(),
        })
    }
}

/// Returns the messages received in these steps.
pub(super) fn received(steps: &[Step]) -> impl Iterator<Item = (Instant, Vec<u8>)> {
    let mut lines = Lines::default();
    messages(steps, move |kind| match kind {
        StepKind::Read(bytes) => lines.take(bytes),
        StepKind::EndOfInput => lines.finish().into_iter().collect(),
        _ => Vec::new(),
    })
}

fn messages(
    steps: &[Step],
    mut of: impl FnMut(&StepKind) -> Vec<Vec<u8>>,
) -> impl Iterator<Item = (Instant, Vec<u8>)> {
    steps.iter().flat_map(move |step| of(&step.kind).into_iter().map(|message| (step.at, message)))
}

impl fmt::Display for Recording {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps.iter().try_for_each(|step| writeln!(formatter, "{step}"))
    }
}

/// The error of a text that is not a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is not something that happened")]
#[non_exhaustive]
pub struct BadRecording {
    /// The number of the line, from 1.
    pub line: usize,
}

impl FromStr for Recording {
    type Err = BadRecording;

    fn from_str(text: &str) -> Result<Self, BadRecording> {
        let read =
            |(index, line): (usize, &str)| line_of(line).ok_or(BadRecording { line: index + 1 });
        let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty());
        Ok(Self { steps: lines.map(read).collect::<Result<_, _>>()? })
    }
}

fn line_of(line: &str) -> Option<Step> {
    let (at, rest) = line.split_once(' ')?;
    let at = Instant::from_nanos(at.parse().ok()?);
    let (word, payload) = rest.split_once(' ').unwrap_or((rest, ""));
    let kind = match word {
        "read" => StepKind::Read(unescaped(payload)?),
        "written" => StepKind::Written(unescaped(payload)?),
        "command" => StepKind::Command(String::from_utf8(unescaped(payload)?).ok()?),
        "end" if payload.is_empty() => StepKind::EndOfInput,
        "failed" if payload == "read" => StepKind::ReadFailed,
        "failed" if payload == "write" => StepKind::WriteFailed,
        "timeout" if payload.is_empty() => StepKind::Timeout,
        _ => return None,
    };
    Some(Step::new(at, kind))
}
