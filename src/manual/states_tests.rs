//! Writes the chapter `states` down by asking the code, and compares it with the file.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

#[path = "states_of_calls_tests.rs"]
mod calls;
#[path = "states_of_connections_tests.rs"]
mod connections;
#[path = "states_of_tasks_tests.rs"]
mod tasks;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::client::negotiation_states as negotiation;

/// What leads from which state to which.
#[derive(Default)]
pub(crate) struct Chart {
    rows: Vec<[String; 3]>,
}

impl Chart {
    /// Adds a row, behind those that begin in the same state.
    pub(crate) fn row(&mut self, from: &str, step: &str, to: &str) {
        let last = self.rows.iter().rposition(|row| row[0] == from);
        let place = last.map_or(self.rows.len(), |last| last + 1);
        self.rows.insert(place, [from, step, to].map(ToString::to_string));
    }

    /// As text, which can be read anywhere.
    pub(crate) fn table(&self) -> String {
        let mut text = String::from("| from | step | to |\n|---|---|---|\n");
        for [from, step, to] in &self.rows {
            text += &format!("| {from} | {step} | {to} |\n");
        }
        text
    }

    /// As a drawing, for whatever draws Mermaid. What stands behind a state, in brackets or with a comma and an
    /// "and", is left to the table.
    pub(crate) fn diagram(&self) -> String {
        let plain = |text: &str| {
            let state = text.split(" (").next().unwrap_or_default();
            state.split(", and ").next().unwrap_or_default().replace('`', "")
        };
        let mut states: Vec<String> = Vec::new();
        let mut edges: Vec<(usize, usize, String)> = Vec::new();
        for [from, step, to] in &self.rows {
            let [from, to] = [from, to].map(|name| {
                let name = plain(name);
                states.iter().position(|state| *state == name).unwrap_or_else(|| {
                    states.push(name);
                    states.len() - 1
                })
            });
            let step = step.replace('`', "");
            assert!(!step.contains([':', ';']), "{step} would end early");
            match edges.iter_mut().find(|edge| (edge.0, edge.1) == (from, to)) {
                Some((_, _, steps)) => *steps += &format!(" / {step}"),
                None => edges.push((from, to, step)),
            }
        }
        let mut text = String::from("```mermaid\nstateDiagram-v2\n");
        for (number, state) in states.iter().enumerate() {
            text += &format!("    state \"{state}\" as s{number}\n");
        }
        text += "    [*] --> s0\n";
        for (from, to, step) in &edges {
            text += &format!("    s{from} --> s{to}: {step}\n");
        }
        for number in 0..states.len() {
            if edges.iter().all(|(from, to, _)| *from != number || to == from) {
                text += &format!("    s{number} --> [*]\n");
            }
        }
        text + "```\n"
    }
}

fn chapter() -> String {
    let head = "\
The test `the_chapter_is_what_the_code_does` writes this chapter: it takes every step in every state and records the
next state. The drawing below a table shows the same transitions, for viewers that draw
[Mermaid](https://mermaid.js.org).
";
    [head, &connections::section(), &negotiation::section(), &calls::section(), &tasks::section()]
        .join("\n")
}

/// Compares a part of the chapter with the code; writes it anew if that is asked for.
fn compare(name: &str, now: &str) {
    let file = format!("{}/src/manual/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("WRITE_STATES").is_some() {
        std::fs::write(&file, now).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default().replace("\r\n", "\n");
    let mut lines = (1..).zip(written.lines().zip(now.lines()));
    let difference = lines.find(|(_, (written, now))| written != now);
    assert!(
        written == now,
        "src/manual/{name} is not what the code does any more: the first line (its number, as written, as it is \
         now) that differs is {difference:?}, or one is longer. If that is how it should be, \
         `WRITE_STATES=1 cargo test --lib the_chapter_is` writes it anew.",
    );
}

/// The chapter says what the code does.
#[test]
fn the_chapter_is_what_the_code_does() {
    compare("states.md", &chapter());
}

/// The part of the chapter that is there with the feature `auth` says what the code does.
#[cfg(feature = "auth")]
#[test]
fn the_chapter_is_what_authorization_does() {
    compare("states_of_authorization.md", &crate::auth::stage_tests::section());
}
