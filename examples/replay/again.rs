//! Has what was recorded happen again, and draws it.

use std::fmt;

use mcp_sansio::testing::{Diagram, Happening, Recorder, Recording};
use mcp_sansio::{Instant, Server};

use crate::tools::{Tools, config};

/// What came of it.
pub(crate) struct Again {
    /// Everything that happened, up to the first difference.
    pub(crate) diagram: Diagram,
    pub(crate) verdict: Result<Same, Difference>,
}

/// The same was written to the byte.
pub(crate) struct Same {
    messages: usize,
    bytes: usize,
    /// What would be written after the end of the recording.
    beyond: usize,
}

/// The first message that was another one.
pub(crate) struct Difference {
    /// Which one of those that were written, from 1.
    number: usize,
    recorded: Vec<u8>,
    replayed: Vec<u8>,
    /// What the client had said last.
    after: Vec<u8>,
}

/// [`mcp_sansio::testing::replay`] is this in one call, for those who want no drawing.
pub(crate) fn again(recording: &Recording) -> Again {
    let config = config();
    let limits = config.connection.limits.clone();
    let mut recorder = Recorder::new(Server::new(config.into()), Tools::default(), &limits);
    let start = recording.happenings().next().map_or(Instant::EPOCH, |(at, _)| at);
    let mut diagram = Diagram::new("client", "server", start);
    let (mut upstream, mut downstream) = (Lines::default(), Lines::default());
    let mut told = 0;
    for (at, happening) in recording.happenings() {
        match happening {
            Happening::Read(bytes) => {
                upstream.take(bytes, |message| diagram.to_the_right(at, message));
            }
            Happening::EndOfInput => {
                upstream.finish(|message| diagram.to_the_right(at, message));
                diagram.left(at, "end of input");
            }
            Happening::Failed => diagram.left(at, "the connection fails"),
            Happening::Command(command) => diagram.right(at, format!("command: {command}")),
            _ => {}
        }
        if let Happening::Written(expected) = happening {
            let found = recorder.written(at, expected.len());
            if found != *expected {
                let same = expected.iter().zip(&found).take_while(|(one, other)| one == other);
                let (same, other) = found.split_at(same.count());
                downstream.take(same, |message| diagram.to_the_left(at, message));
                let rest = recorder.written(at, usize::MAX);
                let replayed = [&downstream.unfinished, other, &rest].concat();
                let difference = difference(recording, downstream, &replayed, upstream.last);
                return Again { diagram, verdict: Err(difference) };
            }
            downstream.take(expected, |message| diagram.to_the_left(at, message));
        } else {
            recorder.happened(at, happening.clone());
        }
        for note in recorder.application().notes().get(told..).unwrap_or_default() {
            diagram.right(at, note.as_str());
            told += 1;
        }
    }
    let end = recording.happenings().last().map_or(start, |(at, _)| at);
    let beyond = recorder.written(end, usize::MAX).len();
    let Lines { count: messages, bytes, .. } = downstream;
    Again { diagram, verdict: Ok(Same { messages, bytes, beyond }) }
}

/// The messages that follow those that were the same.
fn difference(recording: &Recording, same: Lines, replayed: &[u8], after: Vec<u8>) -> Difference {
    let written = recording.happenings().filter_map(|(_, happening)| match happening {
        Happening::Written(bytes) => Some(bytes.as_slice()),
        _ => None,
    });
    // A message may have been written in several pieces.
    let recorded = written.collect::<Vec<_>>().concat();
    let begin = same.bytes - same.unfinished.len();
    let first = |text: &[u8]| text.split(is_newline).next().unwrap_or_default().to_vec();
    Difference {
        number: same.count + 1,
        recorded: first(recorded.get(begin..).unwrap_or_default()),
        replayed: first(replayed),
        after,
    }
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
        let Self { number, recorded, replayed, after } = self;
        writeln!(formatter, "Message {number} of the server is another one.")?;
        writeln!(formatter, "  recorded: {}", shown(recorded))?;
        writeln!(formatter, "  replayed: {}", shown(replayed))?;
        write!(formatter, "  after:    {}", shown(after))
    }
}

/// A message as text that does nothing to a terminal.
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

fn is_newline(byte: &u8) -> bool {
    *byte == b'\n'
}

/// Bytes as the messages that they are, one on each line.
#[derive(Default)]
struct Lines {
    unfinished: Vec<u8>,
    last: Vec<u8>,
    count: usize,
    bytes: usize,
}

impl Lines {
    fn take(&mut self, bytes: &[u8], mut each: impl FnMut(&[u8])) {
        self.bytes += bytes.len();
        for piece in bytes.split_inclusive(is_newline) {
            self.unfinished.extend(piece);
            if piece.ends_with(b"\n") {
                self.finish(&mut each);
            }
        }
    }

    /// What has come so far is a message, if it is anything.
    fn finish(&mut self, mut each: impl FnMut(&[u8])) {
        let line = std::mem::take(&mut self.unfinished);
        let message = line.trim_ascii();
        if !message.is_empty() {
            each(message);
            self.last = message.to_vec();
            self.count += 1;
        }
    }
}
