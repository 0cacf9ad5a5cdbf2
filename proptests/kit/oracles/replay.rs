//! A recording of a server, and its replay.

use std::time::Duration;

use mcp_sansio::json::Raw;
use mcp_sansio::testing::{Application, Choices, Recorder, Recording, StepKind, replay};
use mcp_sansio::{IncomingId, Instant, Outbox, Server, ServerEvent};

use crate::config;

/// An application that responds to every second request immediately, and to the others on command.
#[derive(Debug, Default, PartialEq)]
struct Sometimes {
    waiting: Vec<IncomingId>,
    seen: usize,
}

impl Application<Server> for Sometimes {
    fn event(&mut self, event: ServerEvent<'_>, server: &mut Server, _: Instant, out: &mut Outbox) {
        if let ServerEvent::Request(request) = event {
            self.seen += 1;
            if self.seen.is_multiple_of(2) {
                _ = server.respond(request.id, &(), out);
            } else {
                self.waiting.push(request.id);
            }
        }
    }

    fn command(&mut self, command: &str, server: &mut Server, _: Instant, out: &mut Outbox) {
        let Ok(result) = Raw::new(command) else { return };
        for request in self.waiting.drain(..) {
            _ = server.respond(request, &result, out);
        }
    }
}

/// Checks that a replay repeats everything, and that a recording round-trips through text.
pub fn check_replay(choices: &mut Choices, mut bytes: impl FnMut(&mut Choices) -> Vec<u8>) {
    let config = config::server_of_both_eras();
    let limits = config.connection.limits.clone();
    let server = Server::new(config.into());
    let mut recorder = Recorder::new(server.clone(), Sometimes::default(), &limits);
    let mut now = Instant::from_millis(5);
    for _ in 0..20 {
        now = now + Duration::from_millis(choices.below(900));
        match choices.below(5) {
            0 => recorder.happened(now, StepKind::Command(r#"{"a":"ü"}"#.into())),
            1 => recorder.happened(now, StepKind::Timeout),
            2 => _ = recorder.written(now, choices.below(200) as usize),
            _ => recorder.happened(now, StepKind::Read(bytes(choices))),
        }
    }
    recorder.happened(
        now,
        match choices.below(3) {
            0 => StepKind::ReadFailed,
            1 => StepKind::WriteFailed,
            _ => StepKind::EndOfInput,
        },
    );
    recorder.written(now, usize::MAX);
    let read: Recording = recorder.recording().to_string().parse().expect("it was written");
    assert_eq!(read, *recorder.recording());
    let again = replay(&read, server, Sometimes::default(), &limits).expect("the same again");
    assert!(again.machine() == recorder.machine() && again.application() == recorder.application());
}
