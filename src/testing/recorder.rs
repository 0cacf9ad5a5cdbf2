//! [`Recorder`], a machine whose inputs and outputs are recorded.

use alloc::borrow::ToOwned;
use alloc::vec::Vec;

use super::machine::Machine;
use super::recording::{Recording, Step, StepKind};
use crate::connection::Cause;
use crate::frame::{Framing, Inbox, Outbox};
use crate::limits::Limits;
use crate::time::Instant;

/// The part of a program that reacts to events of a machine. It must be as deterministic as the machine, or a replay
/// diverges.
pub trait Application<M: Machine> {
    /// Handles an event.
    fn event(&mut self, event: M::Event<'_>, machine: &mut M, now: Instant, out: &mut Outbox);

    /// Executes a command of the application's own, which it recognizes by this text. Does nothing by default.
    fn command(&mut self, command: &str, machine: &mut M, now: Instant, out: &mut Outbox) {
        _ = (command, machine, now, out);
    }
}

/// The destination of recorded steps: a [`Recording`], or a function that stores them elsewhere.
///
/// The recorder assumes that a note cannot fail. A fallible sink, such as a file, keeps its error. Its driver checks
/// for the error with [`sink_mut`](Recorder::sink_mut) before it sends any output of the step, as `examples/replay`
/// does.
pub trait Sink {
    /// Stores a step that is about to be executed.
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

/// A machine on a byte stream whose inputs and outputs are recorded.
///
/// A driver calls [`happened`](Self::happened) for each input, and writes the bytes that [`written`](Self::written)
/// takes. [`replay`](super::replay) executes all steps again.
///
/// Each step is recorded before it is executed, so that the step that causes a crash is recorded too. Calls of
/// `poll_timeout` need not be recorded, because they change nothing. The reaction of the driver to the result is a
/// [`Timeout`](StepKind::Timeout).
///
/// A recording of several days does not fit into memory: a [`Sink`] receives each step as it happens.
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
    /// Creates a recorder that keeps its recording in memory.
    pub fn new(machine: M, application: A, limits: &Limits) -> Self {
        Self::with_sink(machine, application, limits, Recording::new())
    }

    /// Returns the recording so far.
    pub const fn recording(&self) -> &Recording {
        &self.sink
    }
}

impl<M: Machine, A: Application<M>, S: Sink> Recorder<M, A, S> {
    /// Creates a recorder that sends its steps to `sink`.
    pub fn with_sink(machine: M, application: A, limits: &Limits, sink: S) -> Self {
        let (inbox, outbox) = (Inbox::new(limits), Outbox::new(Framing::Lines, limits));
        Self { machine, application, inbox, outbox, sink }
    }

    /// Returns the machine.
    pub const fn machine(&self) -> &M {
        &self.machine
    }

    /// Returns the application with its current state.
    pub const fn application(&self) -> &A {
        &self.application
    }

    /// Returns the sink.
    pub const fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Records a step and executes it.
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

    /// Takes at most `bytes` of the unsent bytes, and records that they were written.
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
