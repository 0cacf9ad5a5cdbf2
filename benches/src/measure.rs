//! Has others do the work, and looks at what it costs them.

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

/// How many run at once.
const AT_ONCE: usize = 2;

/// Has glibc copy and fill with instructions of vectors only. Otherwise it uses one instruction for
/// everything long if the processor is good at that, which callgrind counts once per byte.
const TUNABLES: &str = "glibc.cpu.x86_rep_movsb_threshold=1000000000:\
                        glibc.cpu.x86_rep_stosb_threshold=1000000000";

/// The stages that are told from one another, as their functions are named behind `stage_`.
pub const STAGES: [&str; 6] = ["framing", "receiving", "handling", "writing", "sending", "reading"];

/// What one round costs a contender.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Cost {
    /// Instructions, without those that made the bytes that came in.
    pub instructions: u64,
    /// Allocations.
    pub allocations: f64,
    stages: BTreeMap<&'static str, u64>,
}

impl Cost {
    /// What one round costs, going by a profile of so many.
    pub fn of(profile: &Profile, rounds: usize) -> Self {
        let rounds = rounds as u64;
        let each = |cost: u64| (cost + rounds / 2) / rounds;
        let inclusive = |name: &str| profile.inclusive(&format!("stage_{name}"));
        let stage = |name| match name {
            // The application writes its answer while it handles the request.
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

    /// Instructions of one of the [`STAGES`], without those of another one inside it.
    pub fn stage(&self, name: &str) -> u64 {
        self.stages.get(name).copied().unwrap_or_default()
    }
}

/// What rounds cost those who have something to do with them.
pub type Costs = BTreeMap<(Case, Contender), Cost>;

/// Measures everybody at these pieces of work.
///
/// # Errors
///
/// What is missing, and how to get it; or what has gone wrong.
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

/// What a contender needs for one round, or `None` if it has nothing to do with it.
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

/// How many calls a server takes in its two runs. What the second one costs more is the price of the calls that it has
/// more: starting, connecting and ending are in both.
const CALLS: [usize; 2] = [512, 1_536];

/// What one call costs a server that is a process of its own, in all its threads.
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
        let said = run(Command::new(beside("hello_allocations")?), calls)?;
        *allocations = said.trim().parse().map_err(|_| format!("no allocations: {said}"))?;
    }
    let each =
        |[fewer, more]: [u64; 2]| more.saturating_sub(fewer) as f64 / (CALLS[1] - CALLS[0]) as f64;
    Ok(Some(Cost {
        instructions: each(instructions).round() as u64,
        // Buffers that grow now and then are not worth more digits.
        allocations: (each(allocations) * 100.0).round() / 100.0,
        ..Cost::default()
    }))
}

/// How `work` exits if a contender has nothing to do with a case.
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

/// A program of this package, which is where this one is.
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
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?} has failed with {}:\n{said}", output.status))
}

/// A directory that is removed when it is dropped.
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
        // Whoever cannot remove it has no use for another failure.
        _ = fs::remove_dir_all(&self.path);
    }
}
