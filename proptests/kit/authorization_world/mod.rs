//! A world of clients that need tokens. Its servers are flaky, slow, lying or hostile, and its users may not return.
//! The clients share a storage and restart at any moment. The file `checks.rs` contains the invariants of every step.

mod checks;
mod client;
mod documents;
mod logins;

use std::collections::BTreeSet;
use std::time::Duration;

use mcp_sansio::Instant;
use mcp_sansio::auth::{Saved, Stage};
use mcp_sansio::testing::Choices;

use checks::Secrets;
use client::Process;
use logins::Logins;

/// The transitions between stages that occurred in worlds.
pub type Moves = BTreeSet<(Stage, Stage)>;

/// The whole world.
pub struct World<'c> {
    choices: &'c mut Choices,
    now: Instant,
    processes: Vec<Process>,
    storage: Option<Saved>,
    /// The process that holds the storage lock, and the state that it has read there.
    holder: Option<(usize, Option<Saved>)>,
    secrets: Secrets,
    logins: Logins,
    numbers: u64,
    moves: Moves,
}

impl<'c> World<'c> {
    /// Runs a world and returns its transitions.
    ///
    /// # Panics
    ///
    /// Panics if a promise is broken.
    pub fn play(choices: &'c mut Choices) -> Moves {
        let count = 1 + choices.below(2);
        let kind = choices.below(12);
        let mut world = World {
            choices,
            now: Instant::from_millis(1_800_000_000_000),
            processes: (0..count).map(|_| Process::new(kind)).collect(),
            storage: None,
            holder: None,
            secrets: Secrets::default(),
            logins: Logins::default(),
            numbers: 0,
            moves: Moves::new(),
        };
        for _ in 0..200 {
            if world.choices.is_exhausted() {
                break;
            }
            let process = usize::try_from(world.choices.below(count)).unwrap();
            world.step(process);
            world.check_waiting();
        }
        world.end();
        world.moves
    }

    /// Returns a new number.
    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn step(&mut self, process: usize) {
        match self.choices.below(16) {
            0 | 1 => self.ask(process),
            2..=4 => self.refuse(process),
            5..=8 => self.serve(process),
            9 | 10 => self.come_back(process),
            11 => self.fail(process),
            12 => self.give_up(process),
            13 => self.restart(process),
            14 => self.look_into_storage(process),
            _ => {
                let seconds =
                    [1, 20, 60, 600, 3600][usize::try_from(self.choices.below(5)).unwrap()];
                self.pass(Duration::from_secs(seconds));
            }
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
        for process in 0..self.processes.len() {
            self.act(process, |authorizer, now| authorizer.handle_timeout(now));
        }
    }

    /// Without further input, everything must end through timeouts.
    fn end(&mut self) {
        for _ in 0..50 {
            let due = |process: &Process| process.authorizer.poll_timeout();
            let busy = self.processes.iter().filter(|it| it.authorizer.stage() != Stage::Idle);
            let Some(due) = busy.filter_map(due).min() else { break };
            let time = (due - self.now).max(Duration::from_nanos(1));
            self.pass(time);
        }
        for process in &self.processes {
            assert_eq!(process.authorizer.stage(), Stage::Idle, "it does not end");
            assert!(process.waiting.is_empty(), "never released: {:?}", process.waiting);
        }
    }
}
