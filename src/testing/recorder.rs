//! A machine, and everything that happens to it written down.

use alloc::borrow::ToOwned;
use alloc::vec::Vec;

use super::machine::Machine;
use super::recording::{Recording, Step, StepKind};
use crate::connection::Cause;
use crate::frame::{Framing, Inbox, Outbox};
use crate::limits::Limits;
use crate::time::Instant;

/// What decides what a machine does besides its peer and time. It has to be as deterministic as the
/// machine, or a replay diverges.
pub trait Application<M: Machine> {
    /// Something happened.
    fn event(&mut self, event: M::Event<'_>, machine: &mut M, now: Instant, out: &mut Outbox);

    /// It does something on its own account, which it knows by this text. Nothing by default.
    fn command(&mut self, command: &str, machine: &mut M, now: Instant, out: &mut Outbox) {
        _ = (command, machine, now, out);
    }
}

/// Where it is written down what happens: a [`Recording`], or a function that keeps it elsewhere.
///
/// Writing down cannot fail as far as the recorder goes. A sink that can, such as a file, keeps the failure, and its
/// driver asks for that by [`sink_mut`](Recorder::sink_mut) before anything leaves that came of the step, as
/// `examples/replay` does.
pub trait Sink {
    /// This is about to happen.
    fn note(&mut self, step: &Step);
}

impl Sink for Recording {
    fn note(&mut self, step: &Step) {
        self.push(step.at, step.kind.clone());
    }
}

impl<F: FnMut(&Step)> Sink for F {
    fn note(&mut self, step: &Step) {
        self(step);
    }
}

/// A machine on a byte stream, with everything that happens to it written down.
///
/// A driver calls [`happened`](Self::happened) for each thing, and writes what
/// [`written`](Self::written) takes. [`replay`](super::replay) does it all again.
///
/// Each thing is written down before it happens, so that what a crash comes of is there as well. Nobody needs to
/// write down when `poll_timeout` was asked: it changes nothing, so that it makes no difference whether, when and
/// how often a driver asks; what a driver does because of the answer is a [`Timeout`](StepKind::Timeout).
///
/// A recording of days does not fit into memory: a [`Sink`] takes each step as it comes.
///
/// ```
/// use std::fmt::Write;
///
/// use mcp_sansio::testing::{Application, StepKind, Recorder, Recording, Step, replay};
/// use mcp_sansio::{Instant, Outbox, Server, ServerConfig, ServerEvent};
///
/// /// Leaves everything to the machine.
/// struct Nothing;
///
/// impl Application<Server> for Nothing {
///     fn event(&mut self, _: ServerEvent<'_>, _: &mut Server, _: Instant, _: &mut Outbox) {}
/// }
///
/// let config = ServerConfig::new("doc", "1");
/// let limits = config.connection.limits.clone();
/// let server = Server::new(config.into());
/// let mut file = String::new();
/// let sink = |step: &Step| writeln!(file, "{step}").unwrap();
/// let mut recorder = Recorder::with_sink(server.clone(), Nothing, &limits, sink);
///
/// let ping = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
/// recorder.happened(Instant::from_millis(1), StepKind::Read(ping.to_vec()));
/// recorder.written(Instant::from_millis(2), usize::MAX);
/// recorder.happened(Instant::from_millis(3), StepKind::WriteFailed);
///
/// let recording: Recording = file.parse()?;
/// assert_eq!(recording.steps().len(), 3);
/// assert_eq!(recording.between(Instant::from_millis(2), Instant::from_millis(3)).len(), 1);
/// replay(&recording, server, Nothing, &limits)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Recorder<M, A, S = Recording> {
    machine: M,
    application: A,
    inbox: Inbox,
    outbox: Outbox,
    sink: S,
}

impl<M: Machine, A: Application<M>> Recorder<M, A> {
    /// Nothing has happened yet. What will is kept.
    pub fn new(machine: M, application: A, limits: &Limits) -> Self {
        Self::with_sink(machine, application, limits, Recording::new())
    }

    /// What has happened so far.
    pub const fn recording(&self) -> &Recording {
        &self.sink
    }
}

impl<M: Machine, A: Application<M>, S: Sink> Recorder<M, A, S> {
    /// Nothing has happened yet. What will goes there.
    pub fn with_sink(machine: M, application: A, limits: &Limits, sink: S) -> Self {
        let (inbox, outbox) = (Inbox::new(limits), Outbox::new(Framing::Lines, limits));
        Self { machine, application, inbox, outbox, sink }
    }

    /// The machine.
    pub const fn machine(&self) -> &M {
        &self.machine
    }

    /// What the application has come to.
    pub const fn application(&self) -> &A {
        &self.application
    }

    /// Where it is written down.
    pub const fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Writes it down, and has it happen.
    pub fn happened(&mut self, now: Instant, kind: StepKind) {
        let step = Step::new(now, kind);
        self.sink.note(&step);
        match &step.kind {
            StepKind::Read(bytes) => self.read(bytes, now),
            StepKind::EndOfInput => {
                self.inbox.finish();
                self.frames(now);
                self.machine.disconnected(Cause::EndOfInput, now);
            }
            StepKind::ReadFailed => self.machine.disconnected(Cause::ReadFailed, now),
            StepKind::WriteFailed => self.machine.disconnected(Cause::WriteFailed, now),
            StepKind::Timeout => self.time_out(now),
            StepKind::Command(command) => {
                self.application.command(command, &mut self.machine, now, &mut self.outbox);
            }
            StepKind::Written(bytes) => self.outbox.sent(bytes.len()),
        }
    }

    /// Takes at most so many of the bytes that are to be written, and writes down that they were.
    pub fn written(&mut self, now: Instant, bytes: usize) -> Vec<u8> {
        let unsent = self.outbox.unsent();
        let bytes = unsent.get(..bytes).unwrap_or(unsent).to_owned();
        if !bytes.is_empty() {
            self.happened(now, StepKind::Written(bytes.clone()));
        }
        bytes
    }

    fn read(&mut self, mut bytes: &[u8], now: Instant) {
        while !bytes.is_empty() {
            let taken = self.inbox.feed(bytes);
            bytes = bytes.get(taken..).unwrap_or_default();
            self.frames(now);
        }
    }

    fn frames(&mut self, now: Instant) {
        while let Some(frame) = self.inbox.next() {
            if let Some(event) = self.machine.receive(frame, now, &mut self.outbox) {
                self.application.event(event, &mut self.machine, now, &mut self.outbox);
            }
        }
    }

    fn time_out(&mut self, now: Instant) {
        while let Some(event) = self.machine.handle_timeout(now, &mut self.outbox) {
            self.application.event(event, &mut self.machine, now, &mut self.outbox);
        }
    }
}
