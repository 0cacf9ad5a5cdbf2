//! How an attack on a child process is made and measured.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::Failure;
use crate::bounds::Measured;
use crate::programs::CommandLine;
use crate::stdio::pipe::Pipe;
use crate::stdio::{After, Attack};
use crate::victim::Victim;
use crate::work;

/// After how many pings to look how much work they were.
const PINGS: u32 = 100;

/// How long a server may take to end by itself: five seconds for the calls of `everything_server`, and a little.
const END: Duration = Duration::from_secs(8);

/// The row of a server that is not attacked, and its work for a ping in seconds.
pub(crate) async fn calibrate(command: &CommandLine) -> Result<(Measured, Option<f64>), Failure> {
    let (victim, mut pipe) = start(command)?;
    pipe.ping().await?;
    let work = work(&victim, &mut pipe, &[]).await?;
    pipe.longest = Duration::ZERO;
    for _ in 0..10 {
        pipe.ping().await?;
        sleep(Duration::from_millis(50)).await;
    }
    let mut measured = Measured::default();
    measured.name = "(no attack)";
    measured.wait = Some(pipe.longest);
    measured.memory = victim.memory();
    measured.processor = victim.processor_time();
    Ok((measured, work))
}

/// Makes an attack on a server.
pub(crate) async fn run(
    attack: &Attack,
    command: &CommandLine,
    share: Duration,
    unloaded: Option<f64>,
) -> Result<Measured, Failure> {
    let (mut victim, mut pipe) = start(command)?;
    pipe.until = Instant::now() + share;
    let mut measured = Measured::default();
    measured.name = attack.name;
    let attacked = (attack.attack)(&mut pipe).await;
    // A process that has ended has no memory to look at.
    measured.memory = victim.memory();
    measured.processor = victim.processor_time();
    let result = match attacked {
        Ok(After::Alive { ids }) => after(&victim, &mut pipe, &ids, unloaded).await,
        Ok(After::Ends) if victim.ends_within(END).await => Ok(None),
        Ok(After::Ends) => Err("the server does not end by itself".into()),
        Err(failure) => Err(failure),
    };
    match result {
        Ok(work) => measured.work = work,
        Err(failure) => {
            measured.failure = Some(victim.end().unwrap_or_else(|| failure.to_string()))
        }
    }
    measured.memory = victim.memory().or(measured.memory);
    measured.processor = victim.processor_time().or(measured.processor);
    measured.wait = Some(pipe.longest).filter(|wait| !wait.is_zero());
    measured.refused = pipe.refused();
    measured.served = pipe.sent.saturating_sub(measured.refused);
    Ok(measured)
}

/// The server has to answer a ping, with no more work than before the attack: gives how many times as much it is.
async fn after(
    victim: &Victim,
    pipe: &mut Pipe,
    ids: &[String],
    unloaded: Option<f64>,
) -> Result<Option<f64>, Failure> {
    pipe.ping().await?;
    let loaded = work(victim, pipe, ids).await?;
    Ok(loaded.zip(unloaded).map(|(loaded, unloaded)| loaded / unloaded))
}

fn start(command: &CommandLine) -> Result<(Victim, Pipe), Failure> {
    let (victim, stdin, stdout) = Victim::with_pipes(command)?;
    Ok((victim, Pipe::new(stdin, stdout)))
}

/// The processor time of a ping in seconds.
async fn work(victim: &Victim, pipe: &mut Pipe, ids: &[String]) -> Result<Option<f64>, Failure> {
    let mut own = ids.chunks(1).cycle();
    // One at a time: how many of them a server reads and answers at once depends on what else the machine does.
    let some = async || {
        for _ in 0..PINGS {
            pipe.pings(1, own.next().unwrap_or_default()).await?;
        }
        Ok(PINGS)
    };
    work::per_message(victim, some).await
}
