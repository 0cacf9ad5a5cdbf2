//! [`Outgoing`]: what an operation has added to an outbox, and what it has withdrawn.

use mcp_sansio::Outbox;
use mcp_sansio::testing::Broken;
use serde_json::Value;
use serde_json::value::RawValue;

use super::disagree;

/// The unsent bytes of an outbox after the last operation.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    known: Vec<u8>,
    /// Whether messages are lines. Otherwise they follow each other without anything between them.
    has_lines: bool,
}

/// The messages that an operation has added and withdrawn, in order.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) added: Vec<Value>,
    pub(super) withdrawn: Vec<Value>,
}

impl Outgoing {
    pub(super) fn new(has_lines: bool) -> Self {
        Self { has_lines, ..Self::default() }
    }

    /// Takes the current bytes as known, after some of them have been sent.
    pub(super) fn sent(&mut self, out: &Outbox) {
        if self.known != out.unsent() {
            self.known.clear();
            self.known.extend_from_slice(out.unsent());
        }
    }

    /// Returns the changes since the last call of this method or of [`sent`](Self::sent).
    pub(super) fn changes(&mut self, out: &Outbox) -> Changes {
        let now = out.unsent();
        if self.known == now {
            return Changes::default();
        }
        let changes = match now.strip_prefix(&*self.known) {
            Some(tail) => Changes {
                added: pieces(tail, self.has_lines).into_iter().map(value).collect(),
                withdrawn: Vec::new(),
            },
            None => compared(pieces(&self.known, self.has_lines), pieces(now, self.has_lines)),
        };
        self.sent(out);
        changes
    }
}

/// Checks that a withdrawn message is no cancellation. The application has learned that the peer is notified
/// (L-CANCEL-15).
pub(super) fn check_withdrawn(message: &Value) -> Result<(), Broken> {
    match message["method"].as_str() {
        Some("tasks/cancel" | "notifications/cancelled") => {
            Err(disagree("L-CANCEL-15: a cancellation is not withdrawn", message))
        }
        _ => Ok(()),
    }
}

/// Compares two lists of messages. A message that is in the old list only is withdrawn.
fn compared(old: Vec<&[u8]>, new: Vec<&[u8]>) -> Changes {
    let mut changes = Changes::default();
    let mut at = 0;
    for message in new {
        match old[at..].iter().position(|known| *known == message) {
            Some(skipped) => {
                changes.withdrawn.extend(old[at..at + skipped].iter().copied().map(value));
                at += skipped + 1;
            }
            None => {
                changes.withdrawn.extend(old[at..].iter().copied().map(value));
                at = old.len();
                changes.added.push(value(message));
            }
        }
    }
    changes.withdrawn.extend(old[at..].iter().copied().map(value));
    changes
}

/// Splits bytes into messages. The first one may lack its beginning, which has been sent.
fn pieces(bytes: &[u8], has_lines: bool) -> Vec<&[u8]> {
    if has_lines {
        return bytes.split_inclusive(|byte| *byte == b'\n').collect();
    }
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<&RawValue>();
    std::iter::from_fn(|| values.next()?.ok()).map(|raw| raw.get().as_bytes()).collect()
}

fn value(message: &[u8]) -> Value {
    serde_json::from_slice(message).unwrap_or_default()
}
