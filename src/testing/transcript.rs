//! [`transcript!`](crate::transcript), tests that read like a conversation.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::time::Duration;

use super::machine::Machine;
use crate::frame::{Frame, Outbox};
use crate::time::Instant;

/// The error of a conversation that differs from its transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mismatch {
    /// The number of the line of the transcript, from 1.
    pub line: usize,
    /// The text of that line.
    pub expected: String,
    /// The actual behavior.
    pub found: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, expected, found } = self;
        write!(
            formatter,
            "line {line} of the transcript\n expected: {expected}\n    found: {found}"
        )
    }
}

impl core::error::Error for Mismatch {}

/// Runs a conversation with a machine, and checks it against a transcript. See [`transcript!`](crate::transcript),
/// which panics on a mismatch.
///
/// # Errors
///
/// The first line that does not match. Earlier lines have taken effect.
pub fn converse<M: Machine>(
    machine: &mut M,
    now: &mut Instant,
    out: &mut Outbox,
    text: &str,
) -> Result<(), Mismatch> {
    let mut events = String::new();
    let mut last = 0;
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim_start().trim_end_matches('\r');
        let (mark, rest) = text.split_at_checked(2).unwrap_or((text, ""));
        let mismatch = |found: &str| {
            Err(Mismatch { line, expected: text.to_string(), found: found.to_string() })
        };
        if mark.trim().is_empty() || mark == "//" {
            continue;
        }
        last = line;
        if mark != "! " && !events.is_empty() {
            return mismatch(&format!("first the event {events}"));
        }
        if mark != "! "
            && mark != "< "
            && let Some(message) = first(out)
        {
            return mismatch(&format!("first the message {message}"));
        }
        match mark {
            "> " => events = debug(machine.receive(Frame::from(rest.as_bytes()), *now, out)),
            "+ " => {
                let Ok(milliseconds) = rest.trim_end_matches(" ms").parse() else {
                    return mismatch("not a time");
                };
                *now = *now + Duration::from_millis(milliseconds);
                events = debug(machine.handle_timeout(*now, out));
            }
            "! " if events.is_empty() => {
                events = debug(machine.handle_timeout(*now, out));
                if !events.starts_with(rest) {
                    return mismatch(if events.is_empty() { "no event" } else { &events });
                }
                events.clear();
            }
            "! " if events.starts_with(rest) => events.clear(),
            "! " => return mismatch(&events),
            "< " => match first(out) {
                Some(message) if message == rest => {}
                Some(message) => return mismatch(&message),
                None => return mismatch("no message"),
            },
            _ => return mismatch("a line begins with `> `, `< `, `! `, `+ ` or `//`"),
        }
    }
    if events.is_empty() {
        events = debug(machine.handle_timeout(*now, out));
    }
    let left = if events.is_empty() { first(out) } else { Some(events) };
    match left {
        Some(found) => Err(Mismatch { line: last, expected: "nothing more".to_string(), found }),
        None => Ok(()),
    }
}

fn first(out: &mut Outbox) -> Option<String> {
    out.messages().next().map(|message| String::from_utf8_lossy(message).into_owned())
}

fn debug<E: fmt::Debug>(event: Option<E>) -> String {
    event.map(|event| format!("{event:?}")).unwrap_or_default()
}

/// Runs a conversation with a [`Client`](crate::Client) or a [`Server`](crate::Server), and panics if it does not
/// match the transcript.
///
/// | prefix of a line | meaning |
/// |---|---|
/// | `> ` | the machine receives this message |
/// | `< ` | the next message that the machine sends is this one, byte for byte |
/// | `! ` | the `Debug` text of the event of the line before begins like this |
/// | `+ ` | this many milliseconds pass, and `handle_timeout` is called |
/// | `//` | a comment, ignored like an empty line |
///
/// The transcript must list every event and every message.
///
/// ```
/// use std::sync::Arc;
/// use mcp_sansio::{Framing, Instant, Outbox, Server, ServerConfig, transcript};
///
/// let config = ServerConfig::new("doc", "1");
/// let mut out = Outbox::new(Framing::Messages, &config.connection.limits);
/// let mut server = Server::new(Arc::new(config));
/// let mut now = Instant::from_millis(1);
/// transcript!(server, now, out, r#"
///     // Noise is reported and not answered.
///     > Hello!
///     ! Violation
///     > {"jsonrpc":"2.0","id":"a","method":"ping"}
///     < {"jsonrpc":"2.0","id":"a","result":{}}
/// "#);
/// ```
#[macro_export]
macro_rules! transcript {
    ($machine:expr, $now:expr, $out:expr, $text:expr $(,)?) => {
        if let Err(mismatch) = $crate::testing::converse(&mut $machine, &mut $now, &mut $out, $text)
        {
            panic!("{mismatch}");
        }
    };
}
