//! The cost bounds of mcp-sansio: the recorded costs, and the promises relative to the other contenders.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::case::Served;
use crate::hello::client::Transport;
use crate::measure::Costs;
use crate::{Case, Contender};

/// The tolerated excess of instructions over the record, in percent. Another compiler or another system's `memcpy`
/// moves the count by less; a relevant change moves it by more.
pub const TOLERANCE: u64 = 5;

/// The tolerated excess for servers that are called through pipes. Their threads occasionally wait for each other,
/// and the scheduler decides how often. With 64 calls in flight, a dozen runs lay between 22,400 and 25,000
/// instructions, 11 % apart, and any of them may be the record.
pub const TOLERANCE_OF_THREADS: u64 = 15;

/// The tolerated excess for servers that are called over HTTP. One thread does everything, so runs on a quiet computer
/// were within 1 %. On a busy one a call takes longer, and the runtime advances its timers more often: runs were up to
/// 5 % above the record.
pub const TOLERANCE_OVER_HTTP: u64 = 8;

/// The tolerated excess of allocations per call through an adapter. With threads, runs were within 0.2 of each other;
/// one more allocation per call is detected. Without an adapter, no excess is tolerated.
pub const ALLOCATIONS_TOLERATED: f64 = 0.5;

/// Returns the tolerated excess of instructions of this case, in percent.
pub const fn tolerance(case: Case) -> u64 {
    match case.served() {
        Some(Served { transport: Transport::Stdio, .. }) => TOLERANCE_OF_THREADS,
        Some(_) => TOLERANCE_OVER_HTTP,
        None => TOLERANCE,
    }
}

/// The improvement over the record, in percent, from which the guard reports the record as too loose.
pub const LOOSE: u64 = 10;

/// The minimum ratio of the official SDK's instructions to those of mcp-sansio, per case. The aim is 15 for both; a
/// ping has reached it.
pub const AHEAD_OF_RMCP: [(Case, u64); 2] = [(Case::Ping, 15), (Case::Call, 9)];

/// The cases that are not below the floor yet. The list may only shrink: a listed case that falls below the floor
/// fails until it is removed from the list.
pub const ABOVE_THE_FLOOR: [Case; 6] = [
    Case::Call,
    Case::ListPreparedTools,
    Case::ClientCall,
    Case::ClientProgress,
    Case::RoundTrip,
    Case::RoundTripOf64,
];

/// The commands that create or update the record.
pub const HOW_TO_WRITE: &str = "\
cargo build --release --package mcp-sansio-benches --bins
cargo run --release --package mcp-sansio-benches --bin count -- --write";

/// The recorded costs of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Count {
    /// The instructions of one round.
    pub instructions: u64,
    /// The allocations of one round.
    pub allocations: f64,
}

/// The record: the costs of mcp-sansio in each case.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Record {
    /// The recorded costs by case.
    pub counts: BTreeMap<Case, Count>,
}

impl Record {
    /// Returns the record of the measured costs.
    pub fn of(costs: &Costs) -> Self {
        let ours = costs.iter().filter(|((_, contender), _)| *contender == Contender::Core);
        let counts = ours.map(|((case, _), cost)| {
            let (instructions, allocations) = (cost.instructions, cost.allocations);
            (*case, Count { instructions, allocations })
        });
        Self { counts: counts.collect() }
    }

    /// Reads a record from its file.
    ///
    /// # Errors
    ///
    /// Fails with the instructions to create the file if it cannot be read, or with the first malformed line.
    pub fn read(file: &Path) -> Result<Self, String> {
        match fs::read_to_string(file) {
            Ok(text) => Self::parse(&text),
            Err(error) => Err(format!(
                "{}: {error}\n\nThere is nothing to compare with. Record what is, and commit it:\n\n\
                 {HOW_TO_WRITE}",
                file.display()
            )),
        }
    }

    /// Parses a record.
    ///
    /// # Errors
    ///
    /// Fails with the first malformed line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut counts = BTreeMap::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let wrong = || format!("no case, instructions and allocations: {line}");
            let cells: Vec<&str> = line.split('\t').collect();
            let [case, instructions, allocations] = cells[..] else { return Err(wrong()) };
            let instructions = instructions.parse().map_err(|_| wrong())?;
            let allocations = allocations.parse().map_err(|_| wrong())?;
            if counts.insert(case.parse()?, Count { instructions, allocations }).is_some() {
                return Err(format!("{case} is recorded twice"));
            }
        }
        Ok(Self { counts })
    }

    /// Returns the text of the record, with the instructions to update it.
    pub fn write(&self) -> String {
        let mut text = format!(
            "# The cost of one round of each case for mcp-sansio: the name of the case, its \
             instructions and its\n\
             # allocations, separated by tabs. `count --check` fails if a case takes over \
             {TOLERANCE} % more instructions\n\
             # than recorded, or more allocations. Through an adapter, \
             {ALLOCATIONS_TOLERATED} more allocations are tolerated. On\n\
             # pipes, {TOLERANCE_OF_THREADS} % more instructions are tolerated, over HTTP \
             {TOLERANCE_OVER_HTTP} %.\n\
             #\n\
             # If a change makes a case cheaper, or has a reason to make it more expensive, update \
             the record with\n\
             # these commands, and give the reason in the commit message:\n\
             #\n"
        );
        for line in HOW_TO_WRITE.lines() {
            _ = writeln!(text, "#     {line}");
        }
        for (case, Count { instructions, allocations }) in &self.counts {
            _ = writeln!(text, "{case}\t{instructions}\t{allocations}");
        }
        text
    }
}

/// The result of the guard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// Problems that must be fixed.
    pub failures: Vec<String>,
    /// Observations that do not fail the check.
    pub notes: Vec<String>,
}

/// Compares the measured costs with the record and with the costs of the other contenders.
pub fn judge(record: &Record, costs: &Costs) -> Verdict {
    let mut verdict = Verdict::default();
    for (&case, count) in &Record::of(costs).counts {
        match record.counts.get(&case) {
            Some(recorded) => verdict.compare(case, *recorded, *count),
            None => verdict.failures.push(format!("{case}: it is not recorded")),
        }
        verdict.compete(case, count.instructions, costs);
    }
    verdict
}

impl Verdict {
    fn compare(&mut self, case: Case, recorded: Count, count: Count) {
        let (was, is) = (recorded.instructions, count.instructions);
        let moved = (is as f64 / was as f64 - 1.0) * 100.0;
        let finding = format!("{case}: {is} instructions, {moved:+.1} % beside the recorded {was}");
        let tolerated = tolerance(case);
        if was * (100 + tolerated) < is * 100 {
            self.failures.push(format!("{finding}; {tolerated} % more are tolerated"));
        } else if is * 100 < was * (100 - LOOSE) {
            self.notes.push(format!("{finding}; the record could be tighter"));
        }
        let (was, is) = (recorded.allocations, count.allocations);
        let tolerated = if case.served().is_some() { ALLOCATIONS_TOLERATED } else { 0.0 };
        if was + tolerated < is {
            let finding = format!("{case}: {is} allocations, where {was} are recorded");
            self.failures.push(match case.served() {
                Some(_) => format!("{finding}; {tolerated} more are tolerated"),
                None => format!("{finding}; not one more is tolerated"),
            });
        }
    }

    fn compete(&mut self, case: Case, ours: u64, costs: &Costs) {
        let theirs = |contender| costs.get(&(case, contender)).map(|cost| cost.instructions);
        if let Some(floor) = theirs(Contender::SerdeJson) {
            let finding =
                format!("{case}: {ours} instructions, and {floor} of serde_json, the floor");
            match (ours < floor, ABOVE_THE_FLOOR.contains(&case)) {
                (true, true) => self.failures.push(format!("{finding}: below it at last")),
                (false, false) => self.failures.push(format!("{finding}: no longer below it")),
                _ => {}
            }
        }
        if cfg!(not(feature = "contenders")) {
            return;
        }
        let promised = AHEAD_OF_RMCP.iter().find(|(promised, _)| *promised == case);
        if let Some((_, times)) = promised {
            let Some(rmcp) = theirs(Contender::Rmcp) else {
                self.failures.push(format!("{case}: rmcp has not been measured"));
                return;
            };
            if rmcp < times * ours {
                let ratio = rmcp as f64 / ours as f64;
                let finding = format!("{case}: rmcp takes {ratio:.1} times the instructions");
                self.failures.push(format!("{finding} ({rmcp}, and {ours}); promised are {times}"));
            }
        }
    }
}
