//! How an attack over HTTP is made and measured.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use crate::Failure;
use crate::bounds::Measured;
use crate::http::client::{Client, of_session};
use crate::http::crowd::Probe;
use crate::http::good_client::GoodClient;
use crate::http::{Attack, Target};
use crate::messages;
use crate::programs::CommandLine;
use crate::victim::Victim;
use crate::work;

/// How long a ping may take while the work is measured.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long after an attack its victim has to give memory back before that is measured.
const REST: Duration = Duration::from_millis(300);

/// Where the server is.
#[derive(Clone, Debug)]
pub(crate) enum Server {
    /// It is started for each attack.
    Program(CommandLine),
    /// It runs.
    Running { address: SocketAddr, path: String, pid: Option<u32> },
}

impl Server {
    async fn victim(&self) -> Result<(Victim, Target), Failure> {
        let until = Instant::now();
        match self {
            Self::Program(command) => {
                let (victim, address, path) = Victim::behind_http(command).await?;
                Ok((victim, Target { address, path, until }))
            }
            Self::Running { address, path, pid } => {
                let target = Target { address: *address, path: path.clone(), until };
                Ok((Victim::running(*pid), target))
            }
        }
    }
}

/// The row of a server that is not attacked, and its work for a ping in seconds.
pub(crate) async fn calibrate(server: &Server) -> Result<(Measured, Option<f64>), Failure> {
    let (victim, target) = server.victim().await?;
    let work = work(&victim, &target, &probe(&target).await?).await?;
    let good = GoodClient::start(&target)?;
    sleep(Duration::from_millis(500)).await;
    let wait = good.stop();
    let mut measured = Measured::default();
    measured.name = "(no attack)";
    measured.wait = Some(wait);
    measured.memory = victim.memory();
    measured.processor = victim.processor_time();
    Ok((measured, work))
}

/// Makes an attack on a server.
pub(crate) async fn run(
    attack: &Attack,
    server: &Server,
    share: Duration,
    unloaded: Option<f64>,
) -> Result<Measured, Failure> {
    let (mut victim, mut target) = server.victim().await?;
    let probe = probe(&target).await?;
    let good = GoodClient::start(&target)?;
    target.until = Instant::now() + share;
    let siege = (attack.attack)(target.clone()).await;
    let mut measured = Measured::default();
    measured.name = attack.name;
    let mut held = Vec::new();
    match siege {
        Ok(siege) => {
            held = siege.held;
            (measured.served, measured.refused) = (siege.served, siege.refused);
            let probe = siege.probe.as_ref().unwrap_or(&probe);
            match times(&victim, &target, probe, unloaded).await {
                Ok(work) => measured.work = work,
                Err(failure) => measured.failure = Some(failure.to_string()),
            }
        }
        Err(failure) => measured.failure = Some(failure.to_string()),
    }
    measured.wait = Some(tokio::task::spawn_blocking(move || good.stop()).await?);
    measured.memory = victim.memory();
    measured.processor = victim.processor_time();
    measured.slowdown = victim.slowdown();
    drop(held);
    sleep(REST).await;
    measured.memory_after = victim.memory_now();
    if let Some(end) = victim.end() {
        measured.failure = Some(end);
    }
    Ok(measured)
}

/// A session for pings.
async fn probe(target: &Target) -> Result<Probe, Failure> {
    let session = Client::connect(target).await?.open_session("2025-03-26").await;
    let session = session.map_err(|failure| format!("before the attack: {failure}"))?;
    Ok(Probe::new(session))
}

/// The work for a ping as a multiple of the work before the attack.
async fn times(
    victim: &Victim,
    target: &Target,
    probe: &Probe,
    unloaded: Option<f64>,
) -> Result<Option<f64>, Failure> {
    let mut least = f64::INFINITY;
    for _ in 0..work::TRIES {
        let loaded = work(victim, target, probe).await?;
        let Some((now, before)) = loaded.zip(unloaded) else { return Ok(None) };
        least = least.min(now / before);
        if least < work::LARGE {
            break;
        }
    }
    Ok(Some(least))
}

/// The processor time of a ping in seconds. `None` if it cannot be measured, also because pings are refused.
async fn work(victim: &Victim, target: &Target, probe: &Probe) -> Result<Option<f64>, Failure> {
    let Ok(mut client) = Client::connect(target).await else { return Ok(None) };
    let mut ids = probe.ids.iter().cycle();
    let mut is_refused = false;
    let measured = work::per_message(victim, async || {
        for id in ids.by_ref().take(100) {
            let fields = of_session(&probe.session);
            let answer = client.ask(&fields, messages::ping(id));
            let answer = timeout(PATIENCE, answer).await.map_err(|_| "a ping is not answered")?;
            // A server that closes the connection refuses the ping as well; how long that lasts the good client sees.
            is_refused |= !answer.is_ok_and(|answer| answer.is_served());
            if is_refused {
                break;
            }
        }
        Ok(100)
    });
    Ok(measured.await?.filter(|_| !is_refused))
}
