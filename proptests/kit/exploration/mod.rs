//! Exhaustive exploration of small worlds on the real machines: every possible event, in every order.

mod deeds;
mod negotiation;
pub mod request;
mod small;

use std::fmt;

use mcp_sansio::testing::{Explored, World, explore};
use mcp_sansio::{Revision, RevisionSet};

use crate::config;
use deeds::Budget;
use negotiation::Negotiating;
use small::Small;

/// The maximum number of states of a world.
const MOST: usize = 5_000_000;

/// A small world.
pub struct Scenario {
    /// A description of its possible events.
    pub name: String,
    /// Whether an unoptimized build explores all states in seconds.
    pub is_quick: bool,
    explore: Box<dyn Fn() -> Result<Explored, String>>,
}

impl Scenario {
    /// Explores all states.
    ///
    /// # Errors
    ///
    /// Returns a shortest path to a violation.
    pub fn explore(&self) -> Result<Explored, String> {
        (self.explore)()
    }

    fn of<W: World + 'static>(name: String, is_quick: bool, world: W) -> Self
    where
        W::Action: fmt::Debug,
    {
        let explore = move || {
            explore(world.clone(), MOST).map_err(|counterexample| counterexample.to_string())
        };
        Self { name, is_quick, explore: Box::new(explore) }
    }
}

impl fmt::Debug for Scenario {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

/// The possible operations between a connected client and server, with their budgets.
const WORLDS: [(&str, bool, Budget); 8] = [
    (
        "a request with progress, cancellation, timeout and a break",
        true,
        &[("call", 1), ("cancel", 1), ("wait", 2), ("report", 1), ("answer", 1), ("break", 1)],
    ),
    (
        "a request that needs input",
        true,
        &[("call", 1), ("cancel", 1), ("wait", 1), ("require", 1), ("give", 1), ("answer", 1)],
    ),
    (
        "a request while either side ends",
        true,
        &[("call", 1), ("answer", 1), ("wait", 2), ("end of input", 1), ("shut down", 1)],
    ),
    (
        "a request with everything that can come between",
        false,
        &[
            ("call", 1),
            ("cancel", 1),
            ("wait", 2),
            ("report", 1),
            ("require", 1),
            ("give", 1),
            ("answer", 1),
            ("end of input", 1),
        ],
    ),
    (
        "a task with cancellation, input and expiry",
        false,
        &[
            ("call for task", 1),
            ("begin task", 1),
            ("cancel task", 1),
            ("require for task", 1),
            ("give", 1),
            ("complete", 1),
            ("wait", 2),
        ],
    ),
    (
        "a task with cancellation and expiry",
        false,
        &[
            ("call for task", 1),
            ("begin task", 1),
            ("complete", 1),
            ("cancel", 1),
            ("cancel task", 1),
            ("wait", 3),
        ],
    ),
    (
        "a task that needs input",
        false,
        &[
            ("call for task", 1),
            ("begin task", 1),
            ("require for task", 1),
            ("give", 1),
            ("complete", 1),
            ("cancel by server", 1),
            ("wait", 2),
        ],
    ),
    (
        "a subscription with updates, cancellation, teardown and a break",
        false,
        &[
            ("subscribe", 1),
            ("change", 2),
            ("cancel", 1),
            ("answer", 1),
            ("shut down", 1),
            ("wait", 1),
            ("break", 1),
        ],
    ),
];

/// Two requests with the same id, the second of them invalid, and the cancellation of that id.
const TWINS: [&str; 3] = [
    r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#,
    r#"{"jsonrpc":"2.0","id":"a","method":3}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#,
];

/// The same messages in the modern era.
const TWINS_ALONE: [&str; 3] = [
    r#"{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    TWINS[1],
    TWINS[2],
];

/// Returns all small worlds.
pub fn scenarios() -> Vec<Scenario> {
    let eras = [
        ("sessions", RevisionSet::LEGACY, &TWINS),
        ("no sessions", RevisionSet::MODERN, &TWINS_ALONE),
    ];
    let mut scenarios = Vec::new();
    for (era, revisions, twins) in eras {
        for (name, is_quick, budget) in WORLDS {
            let world = connected(revisions, budget, &[]);
            scenarios.push(Scenario::of(format!("{name}, {era}"), is_quick, world));
        }
        let world = connected(revisions, &[("forge", 4), ("answer", 2), ("wait", 1)], twins);
        scenarios.push(Scenario::of(format!("requests with the same id, {era}"), true, world));
    }
    scenarios.extend(negotiations());
    scenarios
}

fn connected(revisions: RevisionSet, budget: Budget, forged: &'static [&'static str]) -> Small {
    let mut client = config::client_of_both_eras();
    client.capabilities = client.capabilities.with_tasks();
    client.revisions = revisions;
    let mut server = config::server_of_both_eras();
    server.capabilities = server.capabilities.with_tasks();
    server.revisions = revisions;
    Small::new(client, server, budget, forged).connected()
}

/// A connecting client, and a server that responds in every way or not at all.
fn negotiations() -> impl Iterator<Item = Scenario> {
    let (legacy, modern) = (Revision::V2025_11_25, Revision::V2026_07_28);
    let clients = [
        ("both eras", false, RevisionSet::ALL, None, true),
        ("both eras, sessions known", true, RevisionSet::ALL, Some(legacy), true),
        ("both eras, no sessions known", false, RevisionSet::ALL, Some(modern), true),
        ("no sessions", true, RevisionSet::MODERN, None, true),
        ("no sessions, unasked", true, RevisionSet::MODERN, None, false),
        ("sessions", true, RevisionSet::LEGACY, None, true),
    ];
    clients.into_iter().map(|(name, is_quick, revisions, known, probe)| {
        let world = Negotiating::new(revisions, known, probe);
        Scenario::of(format!("negotiation by a client of {name}"), is_quick, world)
    })
}
