//! [`replay`], which executes a recording again.

use alloc::borrow::ToOwned;
use alloc::vec::Vec;

use super::escape::escaped;
use super::machine::Machine;
use super::recorder::{Application, Recorder};
use super::recording::{Recording, Step, StepKind, received};
use crate::limits::Limits;

/// The error of a replay with a different output: the first message that differs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("step {index}: {} was written, now it is {}", escaped(expected), escaped(found))]
#[non_exhaustive]
pub struct Divergence {
    /// The index of the step at which the replay diverged, from 0.
    pub index: usize,
    /// The number of the written message that differs, from 1.
    pub message: usize,
    /// The recorded message. It can be a part of a message, if the recording ends with that part.
    pub expected: Vec<u8>,
    /// The message of the replay in its place. Empty if the replay writes none.
    pub found: Vec<u8>,
    /// The last received message.
    pub after: Vec<u8>,
}

/// Executes a recording again with a machine and an application in their initial state.
///
/// The function compares the recorded output; output beyond that remains in the recorder. It returns both the machine
/// and the application in their final state.
///
/// # Errors
///
/// The output differs from the recording: the machine, its configuration, its application, or this crate is not the
/// same.
pub fn replay<M: Machine, A: Application<M>>(
    recording: &Recording,
    machine: M,
    application: A,
    limits: &Limits,
) -> Result<Recorder<M, A>, Divergence> {
    replay_with(recording, machine, application, limits, |_, _| ())
}

/// Does the same, and calls `look` after each step: to draw it, or to inspect the application. For a step with
/// different output, `look` receives only the common bytes.
///
/// # Errors
///
/// As for [`replay`].
pub fn replay_with<M: Machine, A: Application<M>>(
    recording: &Recording,
    machine: M,
    application: A,
    limits: &Limits,
    mut look: impl FnMut(&Step, &Recorder<M, A>),
) -> Result<Recorder<M, A>, Divergence> {
    let mut recorder = Recorder::new(machine, application, limits);
    for (index, step) in recording.steps().iter().enumerate() {
        let StepKind::Written(expected) = &step.kind else {
            recorder.happened(step.at, step.kind.clone());
            look(step, &recorder);
            continue;
        };
        let found = recorder.written(step.at, expected.len());
        if found == *expected {
            look(step, &recorder);
            continue;
        }
        let same = found.get(..common(expected, &found)).unwrap_or_default();
        look(&Step::new(step.at, StepKind::Written(same.to_owned())), &recorder);
        recorder.written(step.at, usize::MAX);
        return Err(divergence(index, recording, recorder.recording()));
    }
    Ok(recorder)
}

/// Returns the first message that differs. It may have been written in several pieces.
fn divergence(index: usize, then: &Recording, now: &Recording) -> Divergence {
    let (expected, found) = (written(then), written(now));
    let same = expected.get(..common(&expected, &found)).unwrap_or_default();
    let begin = same.iter().rposition(is_newline).map_or(0, |end| end + 1);
    let is_blank = |line: &&[u8]| line.trim_ascii().is_empty();
    let before = same.get(..begin).unwrap_or_default().split(is_newline);
    let first = |text: &[u8]| {
        let line = text.get(begin..).unwrap_or_default().split(is_newline).next();
        line.unwrap_or_default().to_owned()
    };
    let seen = then.steps().get(..index).unwrap_or_default();
    Divergence {
        index,
        message: before.filter(|line| !is_blank(line)).count() + 1,
        expected: first(&expected),
        found: first(&found),
        after: received(seen).last().map(|(_, message)| message).unwrap_or_default(),
    }
}

fn written(recording: &Recording) -> Vec<u8> {
    let written = recording.steps().iter().filter_map(|step| match &step.kind {
        StepKind::Written(bytes) => Some(bytes.as_slice()),
        _ => None,
    });
    written.collect::<Vec<_>>().concat()
}

/// Returns the length of the common prefix.
fn common(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

const fn is_newline(byte: &u8) -> bool {
    *byte == b'\n'
}
