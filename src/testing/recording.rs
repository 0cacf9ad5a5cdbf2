//! `Recording`: the inputs and outputs of a connection, in order.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use super::escape::{escaped, unescaped};
use super::lines::Lines;
use crate::time::Instant;

/// Something that happened, and what was sent because of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepKind {
    /// Bytes were read, in a chunk of this size.
    Read(Vec<u8>),
    /// There was nothing more to read.
    EndOfInput,
    /// The transport failed while something was read from it.
    ReadFailed,
    /// The transport failed while something was written to it. What had been taken to be written is written down
    /// before this, whether it has arrived or not.
    WriteFailed,
    /// `handle_timeout` was called until there was nothing to do.
    Timeout,
    /// The application did something on its own account; only it knows what this means.
    Command(String),
    /// These bytes were written.
    Written(Vec<u8>),
}

/// Something that happened, and when.
///
/// As text it is a line: the nanoseconds since the epoch, a word, and what came or went with the bytes that are
/// not printable escaped.
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
    /// When.
    pub at: Instant,
    /// What.
    pub kind: StepKind,
}

impl Step {
    /// This happened then.
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

/// Everything that happened on one side of a connection, and when.
///
/// As text it has one line for each [`Step`]. So it can be kept in a file, shortened by hand and read again.
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
    /// Nothing yet.
    pub const fn new() -> Self {
        Self { steps: Vec::new() }
    }

    /// Adds what happens next.
    pub fn push(&mut self, at: Instant, kind: StepKind) {
        self.steps.push(Step::new(at, kind));
    }

    /// What happened, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// What happened from one moment on and before another.
    ///
    /// A recording can only happen again from its beginning: these are for looking at. If its times are in no order,
    /// as those of several recordings behind one another are, it is not said which these are.
    pub fn between(&self, from: Instant, to: Instant) -> &[Step] {
        let first = self.steps.partition_point(|step| step.at < from);
        let end = self.steps.partition_point(|step| step.at < to);
        // Nothing lies between two moments in the wrong order.
        self.steps.get(first..end).unwrap_or_default()
    }

    /// The messages that came in, each when the last of it had come.
    pub fn received(&self) -> impl Iterator<Item = (Instant, Vec<u8>)> {
        received(&self.steps)
    }

    /// The messages that were written, each when the last of it was.
    pub fn written(&self) -> impl Iterator<Item = (Instant, Vec<u8>)> {
        let mut lines = Lines::default();
        messages(&self.steps, move |kind| match kind {
            StepKind::Written(bytes) => lines.take(bytes),
            _ => Vec::new(),
        })
    }
}

/// The messages that came in with these steps.
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
