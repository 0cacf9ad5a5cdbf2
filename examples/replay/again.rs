//! Replays a recording, and draws it.

use std::fmt;

use mcp_sansio::testing::{Diagram, Divergence, Recording, StepKind, replay_with};
use mcp_sansio::{Instant, Server};

use crate::tools::{Tools, config};

/// The result of a replay.
pub(crate) struct Again {
    /// Everything that happened, up to the first difference.
    pub(crate) diagram: Diagram,
    pub(crate) verdict: Result<Same, Difference>,
}

/// The output is the same to the byte.
pub(crate) struct Same {
    messages: usize,
    bytes: usize,
    /// The number of bytes that would be written after the end of the recording.
    beyond: usize,
}

/// The first message that differs.
pub(crate) struct Difference(Divergence);

/// Replays a recording. The diagram also contains the notes of the application.
pub(crate) fn again(recording: &Recording) -> Again {
    let config = config();
    let limits = config.connection.limits.clone();
    let (server, tools) = (Server::new(config.into()), Tools::default());
    let start = recording.steps().first().map_or(Instant::EPOCH, |step| step.at);
    let mut diagram = Diagram::new("client", "server", start);
    let mut drawn = 0;
    let replayed = replay_with(recording, server, tools, &limits, |step, recorder| {
        diagram.step(step);
        for note in recorder.application().notes().get(drawn..).unwrap_or_default() {
            diagram.right(step.at, note.as_str());
            drawn += 1;
        }
    });
    let verdict = replayed.map_err(Difference).map(|mut recorder| {
        let end = recording.steps().last().map_or(start, |step| step.at);
        let bytes = recording.steps().iter().map(|step| match &step.kind {
            StepKind::Written(bytes) => bytes.len(),
            _ => 0,
        });
        let beyond = recorder.written(end, usize::MAX).len();
        Same { messages: recording.written().count(), bytes: bytes.sum(), beyond }
    });
    Again { diagram, verdict }
}

impl fmt::Display for Same {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { messages, bytes, beyond } = self;
        write!(formatter, "The same to the byte: {messages} messages, {bytes} bytes.")?;
        if 0 < *beyond {
            write!(formatter, " The recording ends before {beyond} more were written.")?;
        }
        Ok(())
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Divergence { message, expected, found, after, .. } = &self.0;
        writeln!(formatter, "Message {message} of the server is another one.")?;
        writeln!(formatter, "  recorded: {}", shown(expected))?;
        writeln!(formatter, "  replayed: {}", shown(found))?;
        write!(formatter, "  after:    {}", shown(after))
    }
}

/// Converts a message to text without control characters.
fn shown(message: &[u8]) -> String {
    if message.is_empty() {
        return "nothing".into();
    }
    let text = String::from_utf8_lossy(message);
    let shown = |character: char| match character.is_control() {
        true => character.escape_default().collect(),
        false => String::from(character),
    };
    text.chars().map(shown).collect()
}
