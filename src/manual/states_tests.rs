//! Compares the generated parts of the manual with the code: the chapter `states`, and the pictures.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

#[path = "architecture_tests.rs"]
mod architecture;
#[path = "states_of_calls_tests.rs"]
mod calls;
#[path = "states_of_connections_tests.rs"]
mod connections;
#[path = "drawing_tests.rs"]
mod drawings;
#[cfg(feature = "testing")]
#[path = "sequence_of_a_gateway_tests.rs"]
mod gateway;
#[cfg(all(feature = "auth", feature = "testing"))]
#[path = "sequence_of_a_login_tests.rs"]
mod login;
#[cfg(feature = "testing")]
#[path = "sequences_tests.rs"]
mod sequences;
#[path = "states_of_tasks_tests.rs"]
mod tasks;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use drawings::{drawing, ranges};

use crate::client::negotiation_states as negotiation;

/// The first state, the second one, and the rows that lead from one to the other.
type Edge = (usize, usize, Vec<usize>);

/// The transitions of a state machine.
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

    /// Returns the rows as a Markdown table, with numbers if the drawing refers to them.
    pub(crate) fn table(&self) -> String {
        let is_numbered = self.is_numbered();
        let (number, line) = if is_numbered { ("| # ", "|---:") } else { ("", "") };
        let mut text = format!("{number}| from | step | to |\n{line}|---|---|---|\n");
        for (index, [from, step, to]) in self.rows.iter().enumerate() {
            if is_numbered {
                text += &format!("| {} ", index + 1);
            }
            text += &format!("| {from} | {step} | {to} |\n");
        }
        text
    }

    /// Returns the rows as an SVG. A state is drawn without its remarks in brackets or behind a comma and an "and".
    /// Long labels are replaced by the numbers of the rows.
    ///
    /// Arrows that lead to the state `except` are left out.
    pub(crate) fn drawing(&self, title: &str, except: &str) -> String {
        let (states, mut edges) = self.graph();
        edges.retain(|(_, to, _)| states[*to] != except);
        let is_numbered = self.is_numbered();
        let label = |rows: &[usize]| {
            if is_numbered {
                ranges(&rows.iter().map(|row| row + 1).collect::<Vec<_>>())
            } else {
                self.steps(rows)
            }
        };
        let edges: Vec<_> =
            edges.iter().map(|(from, to, rows)| (*from, *to, label(rows))).collect();
        drawing(title, &states, &edges)
    }

    /// Whether a label of the drawing would be too long.
    fn is_numbered(&self) -> bool {
        self.graph().1.iter().any(|(_, _, rows)| 24 < self.steps(rows).chars().count())
    }

    fn steps(&self, rows: &[usize]) -> String {
        rows.iter().map(|row| self.rows[*row][1].replace('`', "")).collect::<Vec<_>>().join(", ")
    }

    /// Returns the states, and the rows of each pair of states.
    fn graph(&self) -> (Vec<String>, Vec<Edge>) {
        let plain = |text: &str| {
            let state = text.split(" (").next().unwrap_or_default();
            state.split(", and ").next().unwrap_or_default().replace('`', "")
        };
        let mut states: Vec<String> = Vec::new();
        let mut edges: Vec<Edge> = Vec::new();
        for (row, [from, _, to]) in self.rows.iter().enumerate() {
            let [from, to] = [from, to].map(|name| {
                let name = plain(name);
                states.iter().position(|state| *state == name).unwrap_or_else(|| {
                    states.push(name);
                    states.len() - 1
                })
            });
            match edges.iter_mut().find(|edge| (edge.0, edge.1) == (from, to)) {
                Some((_, _, rows)) => rows.push(row),
                None => edges.push((from, to, Vec::from([row]))),
            }
        }
        (states, edges)
    }
}

fn chapter() -> String {
    let head = "\
The test `the_states_chapter_matches_the_code` writes this chapter: it takes every step in every state and records the
next state. The drawing below a table shows the same transitions. Its numbers are those of the rows; a step that stays in
its state is only in the table.
";
    [head, &connections::section(), &negotiation::section(), &calls::section(), &tasks::section()]
        .join("\n")
}

/// Compares a generated file with the code; writes it anew if that is asked for.
fn compare(name: &str, now: &str) {
    let file = format!("{}/src/manual/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("WRITE_MANUAL").is_some() {
        std::fs::write(&file, now).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default().replace("\r\n", "\n");
    let mut lines = (1..).zip(written.lines().zip(now.lines()));
    let difference = lines.find(|(_, (written, now))| written != now);
    assert!(
        written == now,
        "src/manual/{name} is not what the code does any more: the first line (its number, as written, as it is \
         now) that differs is {difference:?}, or one is longer. If that is how it should be, \
         `WRITE_MANUAL=1 cargo test --lib --all-features manual` writes it anew.",
    );
}

/// The chapter says what the code does.
#[test]
fn the_states_chapter_matches_the_code() {
    compare("states.md", &chapter());
}

/// The part of the chapter that is there with the feature `auth` says what the code does.
#[cfg(feature = "auth")]
#[test]
fn the_authorization_states_section_matches_the_code() {
    compare("states_of_authorization.md", &crate::auth::stage_tests::section());
}
