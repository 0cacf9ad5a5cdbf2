//! The phases of a connection.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::Chart;
use crate::session::{Phase, Step};

/// Each step after the one before, so that the compiler asks for a new one.
const fn next(step: Option<Step>) -> Option<Step> {
    match step {
        None => Some(Step::Begin),
        Some(Step::Begin) => Some(Step::Complete),
        Some(Step::Complete) => Some(Step::Reopen),
        Some(Step::Reopen) => Some(Step::Drain),
        Some(Step::Drain) => Some(Step::Close),
        Some(Step::Close) => None,
    }
}

/// What it is, at a client and at a server.
const fn meaning(step: Step) -> (&'static str, &'static str, &'static str) {
    match step {
        Step::Begin => {
            ("begin", "sends `initialize` or `server/discover`", "has answered `initialize`")
        }
        Step::Complete => (
            "complete",
            "sends `notifications/initialized`, or negotiated the modern era",
            "receives `notifications/initialized`",
        ),
        Step::Reopen => ("reopen", "assumed the modern era, and the server is legacy", "never"),
        Step::Drain => ("drain", "shuts down", "shuts down, or its input has ended"),
        Step::Close => (
            "close",
            "nothing is in flight any more, the deadline passed, or the transport failed",
            "the same",
        ),
    }
}

fn steps() -> impl Iterator<Item = Step> {
    core::iter::successors(next(None), |step| next(Some(*step)))
}

/// Every phase that can be reached, in the order in which it is.
fn phases() -> Vec<Phase> {
    let mut phases = alloc::vec![Phase::default()];
    let mut looked_at = 0;
    while let Some(phase) = phases.get(looked_at).copied() {
        for after in steps().filter_map(|step| phase.after(step).ok()) {
            if !phases.contains(&after) {
                phases.push(after);
            }
        }
        looked_at += 1;
    }
    phases.sort();
    phases
}

pub(super) fn section() -> String {
    let mut chart = Chart::default();
    for phase in phases() {
        for step in steps() {
            if let Ok(after) = phase.after(step) {
                chart.row(&phase.to_string(), meaning(step).0, &after.to_string());
            }
        }
    }
    let mut text = format!(
        "## Connections\n\n\
         The [`Phase`](crate::Phase)s of both roles. A step that is not in the table changes nothing.\n\n\
         {}\n{}\n\
         | step | a client | a server |\n|---|---|---|\n",
        chart.table(),
        chart.drawing("The phases of a connection", "")
    );
    for step in steps() {
        let (name, client, server) = meaning(step);
        text += &format!("| {name} | {client} | {server} |\n");
    }
    text
}
