//! The abstract states and transitions, and their text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::hash::Hasher;

use mcp_sansio::testing::Digest;

/// The separator of the two sides in a state.
const SIDES: &str = " | ";

/// Abstract states and transitions, sorted.
#[derive(Clone, Debug, Default)]
pub struct List {
    states: BTreeSet<String>,
    transitions: BTreeSet<String>,
}

impl List {
    /// Adds the first state.
    pub(super) fn begin(&mut self, state: &str) {
        self.states.insert(state.to_owned());
    }

    /// Adds a transition.
    pub(super) fn add(&mut self, source: &str, action: &str, target: &str) {
        self.states.insert(target.to_owned());
        self.transitions.insert(format!("{source} -> {action} -> {target}"));
    }

    /// Returns the transitions, each as a line of text.
    pub fn transitions(&self) -> impl Iterator<Item = &str> {
        self.transitions.iter().map(String::as_str)
    }

    /// Returns the number of states.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Whether there are no states.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Compares the list with the recorded text of a list of the model.
    ///
    /// # Errors
    ///
    /// Describes some of the differences.
    pub fn compare(&self, recorded: &str) -> Result<(), String> {
        let text = self.text();
        if text == recorded {
            return Ok(());
        }
        let model = states_in(recorded);
        let mut difference = String::from("the model and the machines differ\n");
        for state in self.states.difference(&model).take(5) {
            _ = writeln!(difference, "only the machines: {state}");
        }
        for state in model.difference(&self.states).take(5) {
            _ = writeln!(difference, "only the model: {state}");
        }
        let known: BTreeSet<&str> = recorded.lines().collect();
        let actions = text.lines().filter(|line| !known.contains(line) && line.contains(": "));
        for action in actions.rev().take(5) {
            _ = writeln!(difference, "other transitions of the machines: {action}");
        }
        Err(difference)
    }

    /// Writes the list as `.ci/models` does: the states of each side with numbers, their combinations, and the
    /// number of transitions of each action with a digest.
    pub fn text(&self) -> String {
        let mut text = String::from("# Written by .ci/models. States of the client:\n");
        let halves = |index| -> BTreeMap<&str, usize> {
            let halves = self.states.iter().filter_map(|it| it.split(SIDES).nth(index));
            let halves: BTreeSet<&str> = halves.collect();
            halves.into_iter().zip(0..).collect()
        };
        let (clients, servers) = (halves(0), halves(1));
        for (half, number) in &clients {
            _ = writeln!(text, "{number} {half}");
        }
        text.push_str("# States of the server:\n");
        for (half, number) in &servers {
            _ = writeln!(text, "{number} {half}");
        }
        text.push_str("# States of the server for each state of the client:\n");
        let mut together: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (client, server) in self.states.iter().filter_map(|it| it.split_once(SIDES)) {
            together.entry(clients[client]).or_default().insert(servers[server]);
        }
        for (client, servers) in together {
            _ = write!(text, "{client}:");
            servers.iter().for_each(|server| _ = write!(text, " {server}"));
            text.push('\n');
        }
        text.push_str("# Transitions by action, and the digest of their text:\n");
        let mut actions: BTreeMap<&str, (usize, Digest)> = BTreeMap::new();
        for transition in &self.transitions {
            let action = transition.split(" -> ").nth(1).unwrap_or_default();
            let (count, digest) = actions.entry(action).or_default();
            *count += 1;
            digest.write(transition.as_bytes());
            digest.write(b"\n");
        }
        for (action, (count, digest)) in actions {
            _ = writeln!(text, "{action}: {count} {digest}");
        }
        text
    }
}

/// Returns the states in the text of a list.
fn states_in(text: &str) -> BTreeSet<String> {
    let parts: Vec<Vec<&str>> =
        text.split("# ").map(|part| part.lines().skip(1).collect()).collect();
    let half = |part: usize, number: &str| {
        let line = number.parse().ok().and_then(|number: usize| parts.get(part)?.get(number));
        line.and_then(|line| line.split_once(' ')).map_or("?", |(_, half)| half).to_owned()
    };
    let together = parts.get(3).into_iter().flatten().filter_map(|line| line.split_once(": "));
    together
        .flat_map(|(client, servers)| {
            let client = half(1, client);
            servers
                .split(' ')
                .map(|server| format!("{client}{SIDES}{}", half(2, server)))
                .collect::<Vec<_>>()
        })
        .collect()
}
