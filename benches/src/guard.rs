//! What mcp-sansio may cost: no more than it did, and no more than the promises allow.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::case::Served;
use crate::hello::client::Transport;
use crate::measure::Costs;
use crate::{Case, Contender};

/// By how many percent more instructions than recorded a case may take. Another compiler, or the
/// `memcpy` of another system, moves them by less; what is worth noticing moves them by more.
pub const TOLERANCE: u64 = 5;

/// The same for servers that are called through pipes. Their threads wait for each other now and then, and how often
/// is for the scheduler to say: with 64 calls in flight, a dozen runs lay between 22,400 and 25,000, 11 % apart, and a
/// record may be any of them. Over HTTP, one thread does everything; runs were within 1 %, and [`TOLERANCE`] holds.
pub const TOLERANCE_OF_THREADS: u64 = 15;

/// How many allocations more than recorded a call may take through an adapter. With threads, runs were within 0.2
/// of each other; one more for each call is noticed. A machine may take none more.
pub const ALLOCATIONS_TOLERATED: f64 = 0.5;

/// By how many percent more instructions than recorded this case may take.
pub const fn tolerance(case: Case) -> u64 {
    match case.served() {
        Some(Served { transport: Transport::Stdio, .. }) => TOLERANCE_OF_THREADS,
        _ => TOLERANCE,
    }
}

/// By how many percent less a case has to take for the guard to say that the record is too loose.
pub const LOOSE: u64 = 10;

/// How many times the instructions the official SDK takes at least for these. The aim is 15 for both, which a
/// ping has reached.
pub const AHEAD_OF_RMCP: [(Case, u64); 2] = [(Case::Ping, 15), (Case::Call, 9)];

/// Cases that are not below the floor yet. None is to stay here, and none is to come in: a case that is
/// below the floor after all fails until it is taken out.
pub const ABOVE_THE_FLOOR: [Case; 7] = [
    Case::Call,
    Case::TypedCall,
    Case::ListPreparedTools,
    Case::ClientCall,
    Case::ClientProgress,
    Case::RoundTrip,
    Case::RoundTripOf64,
];

/// How the record is made, and made anew.
pub const HOW_TO_WRITE: &str = "\
cargo build --release --package mcp-sansio-benches --bins
cargo run --release --package mcp-sansio-benches --bin count -- --write";

/// What is recorded of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Count {
    /// Instructions of one round.
    pub instructions: u64,
    /// Allocations of one round.
    pub allocations: f64,
}

/// The record: what each case costs mcp-sansio.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Record {
    /// Case by case.
    pub counts: BTreeMap<Case, Count>,
}

impl Record {
    /// The record of what has been measured.
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
    /// That the file cannot be read, and how to make it; or the first line that is wrong.
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

    /// Reads a record.
    ///
    /// # Errors
    ///
    /// The first line that is wrong.
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

    /// The text of a record, with how to move it.
    pub fn write(&self) -> String {
        let mut text = format!(
            "# What one round of each case costs mcp-sansio: its name, instructions, allocations, \
             with tabs\n\
             # between them. `count --check` fails if a case takes more than {TOLERANCE} % more \
             instructions than\n\
             # here, or any allocation more. Through an adapter it may take \
             {ALLOCATIONS_TOLERATED} allocations more, and on pipes\n\
             # {TOLERANCE_OF_THREADS} % more instructions.\n\
             #\n\
             # Whoever has made something cheaper, or has a reason for which it costs more, moves \
             the numbers\n\
             # with these, and gives the reason in the commit:\n\
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

/// What the guard says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// What has to change.
    pub failures: Vec<String>,
    /// What may be of interest.
    pub notes: Vec<String>,
}

/// Compares what has been measured with the record and with what the others take.
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
        let said = format!("{case}: {is} instructions, {moved:+.1} % beside the recorded {was}");
        let tolerated = tolerance(case);
        if was * (100 + tolerated) < is * 100 {
            self.failures.push(format!("{said}; {tolerated} % more are tolerated"));
        } else if is * 100 < was * (100 - LOOSE) {
            self.notes.push(format!("{said}; the record could be tighter"));
        }
        let (was, is) = (recorded.allocations, count.allocations);
        let tolerated = if case.served().is_some() { ALLOCATIONS_TOLERATED } else { 0.0 };
        if was + tolerated < is {
            let said = format!("{case}: {is} allocations, where {was} are recorded");
            self.failures.push(match case.served() {
                Some(_) => format!("{said}; {tolerated} more are tolerated"),
                None => format!("{said}; not one more is tolerated"),
            });
        }
    }

    fn compete(&mut self, case: Case, ours: u64, costs: &Costs) {
        let theirs = |contender| costs.get(&(case, contender)).map(|cost| cost.instructions);
        if let Some(floor) = theirs(Contender::SerdeJson) {
            let said = format!("{case}: {ours} instructions, and {floor} of serde_json, the floor");
            match (ours < floor, ABOVE_THE_FLOOR.contains(&case)) {
                (true, true) => self.failures.push(format!("{said}: below it at last")),
                (false, false) => self.failures.push(format!("{said}: no longer below it")),
                _ => {}
            }
        }
        let promised = AHEAD_OF_RMCP.iter().find(|(promised, _)| *promised == case);
        if let Some((_, times)) = promised {
            let Some(rmcp) = theirs(Contender::Rmcp) else {
                self.failures.push(format!("{case}: rmcp has not been measured"));
                return;
            };
            if rmcp < times * ours {
                let ratio = rmcp as f64 / ours as f64;
                let said = format!("{case}: rmcp takes {ratio:.1} times the instructions");
                self.failures.push(format!("{said} ({rmcp}, and {ours}); promised are {times}"));
            }
        }
    }
}
