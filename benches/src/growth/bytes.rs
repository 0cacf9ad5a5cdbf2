//! Messages of any size, in chunks of any size.

use std::hint::black_box;

use mcp_sansio::schema::Json;
use mcp_sansio::{Inbox, Limits, Outbox, Server, ServerEvent};

use super::{Meter, Round, Work};
use crate::core_server::Serving;
use crate::messages::{self, Echo};

/// Larger sizes would take minutes byte by byte and show nothing more.
const IN_PIECES: &[usize] = &[10_000, 100_000];

pub(super) const ALL: &[Work] = &[
    Work::of_bytes(
        "server: call with a large argument",
        &[1_000, 10_000, 100_000, 1_000_000, 10_000_000],
        calls,
    ),
    Work::of_bytes("framing: whole", IN_PIECES, |size| frames(size, usize::MAX)),
    Work::of_bytes("framing: in chunks of 64 bytes", IN_PIECES, |size| frames(size, 64)),
    Work::of_bytes("framing: byte by byte", IN_PIECES, |size| frames(size, 1)),
];

/// Returns the line of a call with an argument of `size` bytes.
fn line_of(size: usize) -> Vec<u8> {
    messages::line(&messages::call(&"x".repeat(size)))
}

/// Receives a large call and responds with a short text.
fn calls(size: usize) -> Round {
    let line = line_of(size);
    let mut serving = Serving::new();
    let mut answer = |server: &mut Server, event: &ServerEvent<'_>, out: &mut Outbox| {
        let ServerEvent::Request(request) = event else { panic!("{event:?}") };
        server.respond(request.id, &Json(&Echo::of(messages::TEXT)), out).unwrap();
    };
    Box::new(move |meter: &Meter| {
        meter.count(|| {
            serving.feed(black_box(&line), &mut answer);
            assert_ne!(serving.send(), 0);
        });
        line.len() as u64
    })
}

/// Feeds a line in chunks and asks for a frame after each of them.
fn frames(size: usize, piece: usize) -> Round {
    let line = line_of(size);
    let mut inbox = Inbox::new(&Limits::default());
    Box::new(move |meter: &Meter| {
        let frames = meter.count(|| {
            let mut frames = 0;
            for mut bytes in black_box(&line).chunks(piece) {
                while !bytes.is_empty() {
                    bytes = &bytes[inbox.feed(bytes)..];
                    while black_box(inbox.next()).is_some() {
                        frames += 1;
                    }
                }
            }
            frames
        });
        assert_eq!(frames, 1);
        line.len() as u64
    })
}
