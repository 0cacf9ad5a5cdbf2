//! [`Diagram`], a sequence diagram of the messages of a recording.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::lines::Lines;
use super::recording::{Recording, Step, StepKind};
#[cfg(feature = "std")]
use crate::drawing::Sequence;
use crate::time::Instant;

/// A sequence diagram in text: the messages with their senders, and notes on either side.
///
/// Messages are shown by method and id, without payloads.
///
/// ```
/// use mcp_sansio::Instant;
/// use mcp_sansio::testing::Diagram;
///
/// let mut diagram = Diagram::new("client", "server", Instant::from_millis(1000));
/// diagram.to_the_right(Instant::from_millis(1002), br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
/// diagram.right(Instant::from_millis(1002), "it answers by itself");
/// diagram.to_the_left(Instant::from_millis(1003), br#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
/// assert_eq!(diagram.to_string().trim_start(), "\
/// client                                            server
///         +2 ms     |--- ping #1 ------------------------------------>|
///         +2 ms     |                                                 | it answers by itself
///         +3 ms     |<---------------------------------- result #1 ---|
/// ");
/// ```
#[derive(Clone, Debug)]
pub struct Diagram {
    names: (String, String),
    start: Instant,
    lines: Vec<(Instant, Line)>,
    /// The partial messages of both directions.
    upstream: Lines,
    downstream: Lines,
}

#[derive(Clone, Debug)]
enum Line {
    Right(String),
    Left(String),
    NoteLeft(String),
    NoteRight(String),
}

/// The distance between the two lifelines, in characters.
const WIDTH: usize = 49;

impl Recording {
    /// Draws the whole recording, with the peer on the left.
    pub fn diagram(&self, peer: &str, own: &str) -> Diagram {
        let start = self.steps().first().map_or(Instant::EPOCH, |step| step.at);
        let mut diagram = Diagram::new(peer, own, start);
        self.steps().iter().for_each(|step| diagram.step(step));
        diagram
    }
}

impl Diagram {
    /// Creates an empty diagram of two participants. Times are relative to `start`.
    pub fn new(left: impl Into<String>, right: impl Into<String>, start: Instant) -> Self {
        let (upstream, downstream) = (Lines::default(), Lines::default());
        let names = (left.into(), right.into());
        Self { names, start, lines: Vec::new(), upstream, downstream }
    }

    /// Adds a message from left to right.
    pub fn to_the_right(&mut self, at: Instant, message: &[u8]) {
        self.lines.push((at, Line::Right(summary(message))));
    }

    /// Adds a message from right to left.
    pub fn to_the_left(&mut self, at: Instant, message: &[u8]) {
        self.lines.push((at, Line::Left(summary(message))));
    }

    /// Adds a note on the left.
    pub fn left(&mut self, at: Instant, note: impl Into<String>) {
        self.lines.push((at, Line::NoteLeft(note.into().replace('\n', " "))));
    }

    /// Adds a note on the right.
    pub fn right(&mut self, at: Instant, note: impl Into<String>) {
        self.lines.push((at, Line::NoteRight(note.into().replace('\n', " "))));
    }

    /// Draws the diagram as an SVG, for a page or a report. It has the colours of the page that contains it. The title
    /// describes it to readers who do not see it.
    ///
    /// ```
    /// use mcp_sansio::Instant;
    /// use mcp_sansio::testing::Diagram;
    ///
    /// let mut diagram = Diagram::new("client", "server", Instant::EPOCH);
    /// diagram.to_the_right(Instant::EPOCH, br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    /// let svg = diagram.svg("A ping < a call");
    /// assert!(svg.starts_with("<svg ") && svg.contains("<title>A ping &lt; a call</title>"));
    /// assert!(svg.contains(">ping #1</text>"));
    /// ```
    #[cfg(feature = "std")]
    pub fn svg(&self, title: &str) -> String {
        let mut sequence = Sequence::new(&[&self.names.0, &self.names.1]);
        let mut now = self.start;
        for (at, line) in &self.lines {
            if now < *at {
                sequence.pause(later(*at - now));
                now = *at;
            }
            match line {
                Line::Right(message) => draw(&mut sequence, (0, 1), message),
                Line::Left(message) => draw(&mut sequence, (1, 0), message),
                Line::NoteLeft(note) => sequence.note(0, note),
                Line::NoteRight(note) => sequence.note(1, note),
            }
        }
        sequence.svg(title)
    }

    /// Adds a step of the participant on the right, as a [`Recorder`](super::Recorder) records it. Messages are drawn
    /// once they are complete.
    pub fn step(&mut self, step: &Step) {
        let at = step.at;
        match &step.kind {
            StepKind::Read(bytes) => {
                for message in self.upstream.take(bytes) {
                    self.to_the_right(at, &message);
                }
            }
            StepKind::EndOfInput => {
                if let Some(message) = self.upstream.finish() {
                    self.to_the_right(at, &message);
                }
                self.left(at, "end of input");
            }
            StepKind::ReadFailed => self.right(at, "reading fails"),
            StepKind::WriteFailed => self.right(at, "writing fails"),
            StepKind::Timeout => {}
            StepKind::Command(command) => self.right(at, format!("command: {command}")),
            StepKind::Written(bytes) => {
                for message in self.downstream.take(bytes) {
                    self.to_the_left(at, &message);
                }
            }
        }
    }
}

impl fmt::Display for Diagram {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (left, right) = &self.names;
        writeln!(formatter, "{:18}{left:width$}{right}", "", width = WIDTH + 1)?;
        for (at, line) in &self.lines {
            write!(formatter, "{:>13}     ", since(*at - self.start))?;
            match line {
                Line::Right(message) => {
                    let dashes = "-".repeat((WIDTH - 6).saturating_sub(message.chars().count()));
                    writeln!(formatter, "|--- {message} {dashes}>|")?;
                }
                Line::Left(message) => {
                    let dashes = "-".repeat((WIDTH - 6).saturating_sub(message.chars().count()));
                    writeln!(formatter, "|<{dashes} {message} ---|")?;
                }
                Line::NoteLeft(note) => writeln!(formatter, "| {note}")?,
                Line::NoteRight(note) => writeln!(formatter, "|{:WIDTH$}| {note}", "")?,
            }
        }
        Ok(())
    }
}

fn since(duration: Duration) -> String {
    format!("+{} ms", duration.as_millis())
}

/// Draws a message by its [`summary`].
#[cfg(feature = "std")]
pub(crate) fn draw(sequence: &mut Sequence, (from, to): (usize, usize), summary: &str) {
    if summary.starts_with("result") || summary.starts_with("error") {
        sequence.response(from, to, summary);
    } else {
        sequence.message(from, to, summary);
    }
}

/// Describes a duration between two rows of a picture.
#[cfg(feature = "std")]
fn later(duration: Duration) -> String {
    match duration.subsec_millis() {
        0 => format!("{} s later", duration.as_secs()),
        _ => format!("{} ms later", duration.as_millis()),
    }
}

/// Returns a short description of a message.
pub(crate) fn summary(message: &[u8]) -> String {
    match serde_json::from_slice::<Vec<&RawValue>>(message) {
        Ok(batch) => {
            // A batch in a batch is no message, and may be nested without end.
            let messages: Vec<String> =
                batch.iter().map(|message| summary_of_one(message.get().as_bytes())).collect();
            format!("[{}]", messages.join(", "))
        }
        Err(_) => summary_of_one(message),
    }
}

fn summary_of_one(message: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
        #[serde(borrow)]
        method: Option<&'a RawValue>,
        #[serde(borrow)]
        error: Option<&'a RawValue>,
        #[serde(borrow)]
        result: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow, rename = "resultType")]
        kind: Option<&'a str>,
    }
    let Ok(Envelope { id, method, error, result }) = serde_json::from_slice(message) else {
        return format!("{} bytes of noise", message.len());
    };
    let id = id.map(|id| format!(" #{}", id.get())).unwrap_or_default();
    let what = match (method, error, result) {
        (Some(method), ..) => method.get().trim_matches('"').to_string(),
        (None, Some(_), _) => "error".to_string(),
        (None, None, Some(result)) => match serde_json::from_str(result.get()) {
            Ok(Kind { kind: Some(kind) }) if kind != "complete" => {
                return format!("result{id}, {kind}");
            }
            _ => "result".to_string(),
        },
        (None, None, None) => "no message".to_string(),
    };
    what + &id
}
