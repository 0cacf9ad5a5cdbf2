//! Runs the contenders in other processes and measures their costs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::{env, fs, process, thread};

use crate::callgrind::Profile;
use crate::case::Served;
use crate::hello::client::{Driven, Pace};
use crate::{Case, Contender};

/// The number of concurrent measurements.
const AT_ONCE: usize = 2;

/// Makes glibc copy and fill with vector instructions only. Otherwise, on processors where it is fast, glibc uses a
/// single instruction for long ranges, which callgrind counts once per byte.
const TUNABLES: &str = "glibc.cpu.x86_rep_movsb_threshold=1000000000:\
                        glibc.cpu.x86_rep_stosb_threshold=1000000000";

/// The measured stages, named like their functions without `stage_`.
pub const STAGES: [&str; 6] = ["framing", "receiving", "handling", "writing", "sending", "reading"];

/// The cost of one round for a contender.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Cost {
    /// The instructions, without those that generate the input.
    pub instructions: u64,
    /// The allocations.
    pub allocations: f64,
    stages: BTreeMap<&'static str, u64>,
}

impl Cost {
    /// Returns the cost of one round, from a profile of `rounds` rounds.
    pub fn of(profile: &Profile, rounds: usize) -> Self {
        let rounds = rounds as u64;
        let each = |cost: u64| (cost + rounds / 2) / rounds;
        let inclusive = |name: &str| profile.inclusive(&format!("stage_{name}"));
        let stage = |name| match name {
            // The application writes its response while it handles the request.
            "handling" => {
                inclusive(name).saturating_sub(profile.inside("stage_handling", "stage_writing"))
            }
            _ => inclusive(name),
        };
        Self {
            instructions: each(profile.total() - inclusive("driving")),
            allocations: 0.0,
            stages: STAGES.iter().map(|&name| (name, each(stage(name)))).collect(),
        }
    }

    /// Returns the instructions of one of the [`STAGES`], without those of another stage inside it.
    pub fn stage(&self, name: &str) -> u64 {
        self.stages.get(name).copied().unwrap_or_default()
    }
}

/// The costs of one round, by case and contender.
pub type Costs = BTreeMap<(Case, Contender), Cost>;

/// Measures all contenders on these cases.
///
/// # Errors
///
/// Fails if a program is missing, with instructions to get it, or if a measurement fails.
pub fn measure(cases: &[Case]) -> Result<Costs, String> {
    let directory = Directory::new()?;
    let every = |&case| Contender::ALL.iter().map(move |&contender| (case, contender));
    let waiting = Mutex::new(cases.iter().flat_map(every));
    let costs = Mutex::new(Ok(Costs::new()));
    let work = || {
        loop {
            let next = waiting.lock().unwrap().next();
            let Some((case, contender)) = next else { break };
            let cost = match case.served() {
                Some(served) => measure_served(served, contender, &directory.path),
                None => profile(case, contender, &directory.path),
            };
            let mut costs = costs.lock().unwrap();
            match (costs.as_mut(), cost) {
                (Ok(costs), Ok(Some(cost))) => _ = costs.insert((case, contender), cost),
                (Ok(_), Ok(None)) => {}
                (Ok(_), Err(failure)) => *costs = Err(failure),
                (Err(_), _) => break,
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    let mut costs = costs.into_inner().unwrap()?;
    count_allocations(&mut costs)?;
    Ok(costs)
}

/// Measures the cost of one round for a contender, or returns `None` if the contender does not take part.
fn profile(case: Case, contender: Contender, directory: &Path) -> Result<Option<Cost>, String> {
    let file = directory.join(format!("{case} {contender}"));
    let mut command = valgrind(&file);
    command.arg("--toggle-collect=*stage_everything*");
    command.arg(beside("work")?).args([case.name(), contender.name()]);
    let output = run(&mut command)?;
    if output.status.code() == Some(NOTHING_TO_DO) {
        return Ok(None);
    }
    succeed(&command, &output)?;
    Ok(Some(Cost::of(&read_profile(&file)?, case.rounds())))
}

fn valgrind(file: &Path) -> Command {
    let mut out = OsString::from("--callgrind-out-file=");
    out.push(file);
    let mut command = Command::new("valgrind");
    command.arg("--tool=callgrind").arg(out).env("GLIBC_TUNABLES", TUNABLES);
    command
}

fn read_profile(file: &Path) -> Result<Profile, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Profile::parse(&text)
}

/// The number of calls in the two runs of a server. The difference of their costs is the cost of the additional
/// calls: startup, connection and shutdown are in both.
const CALLS: [usize; 2] = [512, 1_536];

/// Measures the cost of one call of a server in its own process, in all its threads.
fn measure_served(
    served: Served,
    contender: Contender,
    directory: &Path,
) -> Result<Option<Cost>, String> {
    let Some(server) = served.by(contender) else { return Ok(None) };
    let run = |mut command: Command, calls| {
        command.arg(server.name()).stderr(Stdio::piped());
        let failed = |error| format!("{server}, of {contender}: {error}");
        let mut driven =
            Driven::start(&mut command, served.transport, served.in_flight).map_err(failed)?;
        driven.call(calls, Pace::Bursts).map_err(failed)?;
        driven.end().map_err(failed)
    };
    let mut instructions = [0; 2];
    let mut allocations = [0_u64; 2];
    for ((calls, instructions), allocations) in
        CALLS.into_iter().zip(&mut instructions).zip(&mut allocations)
    {
        let file = directory.join(format!("{served:?} {contender} {calls}"));
        let mut command = valgrind(&file);
        // Otherwise a thread may run on while others wait for it, for longer in one run than in the next.
        command.arg("--fair-sched=yes").arg(beside("hello")?);
        run(command, calls)?;
        *instructions = read_profile(&file)?.total();
        let output = run(Command::new(beside("hello_allocations")?), calls)?;
        *allocations = output.trim().parse().map_err(|_| format!("no allocations: {output}"))?;
    }
    let each =
        |[fewer, more]: [u64; 2]| more.saturating_sub(fewer) as f64 / (CALLS[1] - CALLS[0]) as f64;
    Ok(Some(Cost {
        instructions: each(instructions).round() as u64,
        // Buffers grow occasionally, so more digits mean nothing.
        allocations: (each(allocations) * 100.0).round() / 100.0,
        ..Cost::default()
    }))
}

/// The exit code of `work` if a contender does not take part in a case.
pub const NOTHING_TO_DO: i32 = 3;

fn count_allocations(costs: &mut Costs) -> Result<(), String> {
    let mut command = Command::new(beside("allocations")?);
    let output = run(&mut command)?;
    succeed(&command, &output)?;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let wrong = || format!("no line of allocations: {line}");
        let cells: Vec<&str> = line.split('\t').collect();
        let [case, contender, count] = cells[..] else { return Err(wrong()) };
        let measured = (case.parse()?, contender.parse()?);
        if let Some(cost) = costs.get_mut(&measured) {
            cost.allocations = count.parse().map_err(|_| wrong())?;
        }
    }
    Ok(())
}

/// Returns the path of another program of this package, in the directory of this program.
fn beside(name: &str) -> Result<PathBuf, String> {
    let here = env::current_exe().map_err(|error| error.to_string())?;
    let program = here.with_file_name(name).with_extension(env::consts::EXE_EXTENSION);
    if program.exists() {
        return Ok(program);
    }
    Err(format!(
        "there is no {}: build all programs first, with\n\
         cargo build --release --package mcp-sansio-benches --bins",
        program.display()
    ))
}

fn run(command: &mut Command) -> Result<Output, String> {
    command.output().map_err(|error| {
        let program = command.get_program().to_string_lossy();
        match error.kind() {
            ErrorKind::NotFound => {
                format!("there is no {program}: install it, from the package {program} on Debian")
            }
            _ => format!("{program} does not start: {error}"),
        }
    })
}

fn succeed(command: &Command, output: &Output) -> Result<(), String> {
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?} has failed with {}:\n{text}", output.status))
}

/// A directory that is removed on drop.
struct Directory {
    path: PathBuf,
}

impl Directory {
    fn new() -> Result<Self, String> {
        let path = env::temp_dir().join(format!("mcp-sansio-count-{}", process::id()));
        fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { path })
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // A failed removal does not matter to the measurement.
        _ = fs::remove_dir_all(&self.path);
    }
}
