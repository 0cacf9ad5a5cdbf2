//! The transport between the two sides.

use mcp_sansio::testing::{Link, MessageLink};
use mcp_sansio::{Frame, Framing, Inbox, Instant, Limits, Outbox};

/// One direction of the transport.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "there are two of them in a world")]
pub(super) enum Transport {
    /// A byte stream. A message may be partly sent.
    Bytes { link: Link, inbox: Inbox, has_begun: bool },
    /// Whole messages, and the next one to arrive.
    Messages { link: MessageLink, next: Option<Vec<u8>> },
}

impl Default for Transport {
    fn default() -> Self {
        Self::Messages { link: MessageLink::new(), next: None }
    }
}

impl Transport {
    /// Creates a byte stream with this capacity, or a message transport, to a receiver with these limits.
    pub(super) fn new(stream: Option<usize>, limits: &Limits) -> Self {
        match stream {
            Some(capacity) => Self::Bytes {
                link: Link::new(capacity),
                inbox: Inbox::new(limits),
                has_begun: false,
            },
            None => Self::default(),
        }
    }

    pub(super) const fn framing(stream: Option<usize>) -> Framing {
        if stream.is_some() { Framing::Lines } else { Framing::Messages }
    }

    /// Takes bytes, or all messages, from the outbox. Returns the messages whose first byte is sent by this call.
    pub(super) fn write(
        &mut self,
        outbox: &mut Outbox,
        bytes: usize,
        received: Instant,
    ) -> Vec<Vec<u8>> {
        match self {
            Self::Bytes { link, has_begun, .. } => {
                let unsent = outbox.unsent();
                let count = link.room().min(bytes).min(unsent.len());
                // A partly sent message is always completed, so it counts now in its current form.
                let mut messages = Vec::new();
                let mut at = 0;
                while at < count {
                    let rest = &unsent[at..];
                    let end = rest.iter().position(|byte| *byte == b'\n').unwrap() + 1;
                    if !*has_begun {
                        messages.push(rest[..end].to_vec());
                    }
                    at += end;
                    *has_begun = count < at;
                }
                link.take(outbox, bytes, received);
                messages
            }
            Self::Messages { link, .. } => {
                let before = link.len();
                link.take(outbox);
                link.iter().skip(before).map(<[u8]>::to_vec).collect()
            }
        }
    }

    /// Delivers bytes or one message. Returns whether anything was delivered.
    pub(super) fn read(&mut self, bytes: usize, now: Instant) -> bool {
        match self {
            Self::Bytes { link, inbox, .. } => 0 < link.give(inbox, bytes, now),
            Self::Messages { link, next } => {
                *next = link.give();
                next.is_some()
            }
        }
    }

    /// Returns the next frame that has arrived. Messages are split into frames beforehand.
    pub(super) fn next(&mut self) -> Option<Frame<'_>> {
        match self {
            Self::Bytes { inbox, .. } => inbox.next(),
            Self::Messages { .. } => None,
        }
    }

    /// Ends the input.
    pub(super) fn finish(&mut self) {
        match self {
            Self::Bytes { inbox, .. } => inbox.finish(),
            Self::Messages { link, .. } => *link = MessageLink::new(),
        }
    }

    /// Takes the message that has arrived.
    pub(super) const fn message(&mut self) -> Option<Vec<u8>> {
        match self {
            Self::Bytes { .. } => None,
            Self::Messages { next, .. } => next.take(),
        }
    }

    pub(super) const fn messages(&mut self) -> Option<&mut MessageLink> {
        match self {
            Self::Bytes { .. } => None,
            Self::Messages { link, .. } => Some(link),
        }
    }

    /// Returns the inbox of a byte stream.
    pub(super) const fn inbox(&mut self) -> Option<&mut Inbox> {
        match self {
            Self::Bytes { inbox, .. } => Some(inbox),
            Self::Messages { .. } => None,
        }
    }

    pub(super) fn forge(&mut self, text: &[u8]) {
        match self {
            Self::Bytes { link, .. } => _ = link.add_noise(text),
            Self::Messages { link, .. } => {
                link.add(text);
                link.hurry(link.len() - 1);
            }
        }
    }

    pub(super) fn break_off(&mut self) {
        match self {
            Self::Bytes { link, .. } => link.break_off(),
            Self::Messages { link, .. } => *link = MessageLink::new(),
        }
    }

    /// Whether nothing is on its way.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Bytes { link, inbox, .. } => link.poll_timeout().is_none() && inbox.is_empty(),
            Self::Messages { link, next } => link.is_empty() && next.is_none(),
        }
    }

    /// Returns the time of the next arrival.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Bytes { link, .. } => link.poll_timeout(),
            Self::Messages { .. } => None,
        }
    }
}
