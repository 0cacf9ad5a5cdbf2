//! Runs and measures an attack on a child process.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::Failure;
use crate::bounds::Measured;
use crate::programs::CommandLine;
use crate::stdio::pipe::Pipe;
use crate::stdio::{After, Attack};
use crate::victim::Victim;
use crate::work;

/// The number of pings after which the work is measured.
const PINGS: u32 = 100;

/// The time that a server may take to end by itself: five seconds for the calls of `everything_server`, and some
/// margin.
const END: Duration = Duration::from_secs(8);

/// The reference: a server that is not attacked.
pub(crate) struct Control {
    victim: Victim,
    pipe: Pipe,
}

impl Control {
    /// Starts the server. Returns its row as well.
    pub(crate) async fn start(command: &CommandLine) -> Result<(Measured, Self), Failure> {
        let (victim, mut pipe) = start(command)?;
        pipe.ping().await?;
        pipe.longest = Duration::ZERO;
        for _ in 0..10 {
            pipe.ping().await?;
            sleep(Duration::from_millis(50)).await;
        }
        let mut measured = Measured::default();
        measured.name = "(no attack)";
        measured.memory_after = victim.memory_now();
        measured.slowdown = victim.slowdown();
        measured.wait = Some(pipe.longest);
        measured.memory = victim.memory();
        measured.processor = victim.processor_time();
        Ok((measured, Self { victim, pipe }))
    }
}

/// Runs an attack on a server.
pub(crate) async fn run(
    attack: &Attack,
    command: &CommandLine,
    share: Duration,
    control: &mut Control,
) -> Result<Measured, Failure> {
    let (mut victim, mut pipe) = start(command)?;
    pipe.until = Instant::now() + share;
    let mut measured = Measured::default();
    measured.name = attack.name;
    let attacked = (attack.attack)(&mut pipe).await;
    // The memory of a process that has ended cannot be measured.
    measured.memory = victim.memory();
    measured.processor = victim.processor_time();
    let result = match attacked {
        Ok(After::Alive { ids }) => after(&victim, &mut pipe, &ids, control).await,
        Ok(After::Ends) if victim.ends_within(END).await => Ok(None),
        Ok(After::Ends) => Err("the server does not end by itself".into()),
        Err(failure) => Err(failure),
    };
    match result {
        Ok(work) => measured.work = work,
        Err(failure) => {
            measured.failure = Some(victim.end().unwrap_or_else(|| failure.to_string()));
        }
    }
    measured.memory = victim.memory().or(measured.memory);
    measured.processor = victim.processor_time().or(measured.processor);
    measured.memory_after = victim.memory_now();
    measured.slowdown = victim.slowdown();
    measured.wait = Some(pipe.longest).filter(|wait| !wait.is_zero());
    measured.refused = pipe.refused();
    measured.served = pipe.sent.saturating_sub(measured.refused);
    Ok(measured)
}

/// Checks that the server responds to a ping, and returns the work as a multiple of the work without an attack.
async fn after(
    victim: &Victim,
    pipe: &mut Pipe,
    ids: &[String],
    control: &mut Control,
) -> Result<Option<f64>, Failure> {
    pipe.ping().await?;
    let Some(idle) = work::idle(victim).await? else { return Ok(None) };
    let before = async || pings(&control.victim, &mut control.pipe, &[], 0.0).await;
    work::times(before, async || pings(victim, pipe, ids, idle).await).await
}

fn start(command: &CommandLine) -> Result<(Victim, Pipe), Failure> {
    let (victim, stdin, stdout) = Victim::with_pipes(command)?;
    Ok((victim, Pipe::new(stdin, stdout)))
}

/// Measures the processor time of a ping in seconds, with these ids or with new ones.
async fn pings(
    victim: &Victim,
    pipe: &mut Pipe,
    ids: &[String],
    idle: f64,
) -> Result<Option<f64>, Failure> {
    let mut own = ids.chunks(1).cycle();
    // One at a time, because the number of pings that a server handles at once depends on the computer as well.
    let some = async || {
        for _ in 0..PINGS {
            pipe.pings(1, own.next().unwrap_or_default()).await?;
        }
        Ok(PINGS)
    };
    work::round(victim, idle, some).await
}
