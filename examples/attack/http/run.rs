//! How an attack over HTTP is made and measured.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::Failure;
use crate::bounds::Measured;
use crate::http::client::{Client, of_session};
use crate::http::crowd::Probe;
use crate::http::good_client::GoodClient;
use crate::http::{Attack, Target};
use crate::messages;
use crate::programs::CommandLine;
use crate::victim::Victim;

/// How much processor time the pings of a measurement take at least, and how long it takes at most.
const ENOUGH: Duration = Duration::from_millis(120);
const LONGEST: Duration = Duration::from_millis(600);

/// How long a server gets to finish with what it was sent, before the work for a ping is measured.
const QUIET: Duration = Duration::from_secs(2);

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
    let work = work(&victim, &target, &probe(&target).await?).await;
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
            quiet(&victim).await;
            let loaded = work(&victim, &target, siege.probe.as_ref().unwrap_or(&probe)).await;
            measured.work = loaded.zip(unloaded).map(|(loaded, unloaded)| loaded / unloaded);
        }
        Err(failure) => measured.failure = Some(failure.to_string()),
    }
    measured.wait = Some(tokio::task::spawn_blocking(move || good.stop()).await?);
    measured.memory = victim.memory();
    measured.processor = victim.processor_time();
    drop(held);
    if let Some(end) = victim.end() {
        measured.failure = Some(end);
    }
    Ok(measured)
}

/// A session for pings.
async fn probe(target: &Target) -> Result<Probe, Failure> {
    let session = Client::connect(target).await?.open_session("2025-03-26").await?;
    Ok(Probe::new(session.ok_or("the server has refused a session before the attack")?))
}

/// Waits until a server is idle, but for what it does by the clock.
async fn quiet(victim: &Victim) {
    const STEP: Duration = Duration::from_millis(100);
    let latest = Instant::now() + QUIET;
    while Instant::now() < latest {
        let before = victim.processor_time();
        sleep(STEP).await;
        let Some((before, after)) = before.zip(victim.processor_time()) else { return };
        if after.saturating_sub(before) * 4 < STEP {
            return;
        }
    }
}

/// The processor time of a ping in seconds. `None` if it cannot be measured, also because pings are refused.
async fn work(victim: &Victim, target: &Target, probe: &Probe) -> Option<f64> {
    let mut client = Client::connect(target).await.ok()?;
    let idle = idle(victim).await?;
    let (began, before) = (Instant::now(), victim.processor_time()?);
    let mut pings = 0_u32;
    let mut ids = probe.ids.iter().cycle();
    loop {
        for _ in 0..100 {
            let ping = messages::ping(ids.next()?);
            let fields = of_session(&probe.session);
            let answer = client.ask(&fields, ping);
            if !tokio::time::timeout(LONGEST, answer).await.ok()?.ok()?.is_served() {
                return None;
            }
            pings += 1;
        }
        let spent = victim.processor_time()?.saturating_sub(before);
        if ENOUGH < spent || LONGEST < began.elapsed() {
            let own = spent.as_secs_f64() - idle * began.elapsed().as_secs_f64();
            return Some(own.max(0.0) / f64::from(pings));
        }
    }
}

/// How much processor time a server takes per second without the pings.
async fn idle(victim: &Victim) -> Option<f64> {
    const TIME: Duration = Duration::from_millis(200);
    let before = victim.processor_time()?;
    sleep(TIME).await;
    Some(victim.processor_time()?.saturating_sub(before).as_secs_f64() / TIME.as_secs_f64())
}
