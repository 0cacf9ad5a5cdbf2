//! Runs and measures an attack over HTTP.

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

/// The number of pings after which the work is measured.
const PINGS: usize = 100;

/// The time that a ping may take while the work is measured.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time that a victim has to release memory after an attack, before the memory is measured.
const REST: Duration = Duration::from_millis(300);

/// The attacked server.
#[derive(Clone, Debug)]
pub(crate) enum Server {
    /// A program that is started for each attack.
    Program(CommandLine),
    /// A running server.
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

/// The reference: a server that is not attacked.
pub(crate) enum Control {
    /// A server that runs beside the attacked one.
    Other(Box<Victim>, Target),
    /// The processor time of a ping before the first attack, in seconds, if there is only one server.
    Before(Option<f64>),
}

impl Control {
    /// Starts the reference. Returns its row as well.
    pub(crate) async fn start(server: &Server) -> Result<(Measured, Self), Failure> {
        let (victim, target) = server.victim().await?;
        let good = GoodClient::start(&target)?;
        sleep(Duration::from_millis(500)).await;
        let mut measured = Measured::default();
        measured.name = "(no attack)";
        measured.wait = Some(tokio::task::spawn_blocking(move || good.stop()).await?);
        measured.memory = victim.memory();
        measured.processor = victim.processor_time();
        measured.slowdown = victim.slowdown();
        let control = match server {
            Server::Program(_) => Self::Other(Box::new(victim), target),
            Server::Running { .. } => {
                let mut pings = Pings::connect(&target, probe(&target).await?).await?;
                let idle = work::idle(&victim).await?;
                let Some(idle) = idle else { return Ok((measured, Self::Before(None))) };
                let mut least = None::<f64>;
                for _ in 0..10 {
                    let one = pings.round(&victim, idle).await?;
                    least = least.map_or(one, |least| one.map(|one| one.min(least)));
                }
                Self::Before(least)
            }
        };
        Ok((measured, control))
    }
}

/// Runs an attack on a server.
pub(crate) async fn run(
    attack: &Attack,
    server: &Server,
    share: Duration,
    control: &Control,
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
            match times(&victim, &target, siege.probe.unwrap_or(probe), control).await {
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

/// Opens a session for pings.
async fn probe(target: &Target) -> Result<Probe, Failure> {
    let session = Client::connect(target).await?.open_session("2025-03-26").await;
    let session = session.map_err(|failure| format!("before the attack: {failure}"))?;
    Ok(Probe::new(session))
}

/// Returns the work for a ping as a multiple of the work without the attack. `None` if it cannot be measured, for
/// example because pings are refused.
async fn times(
    victim: &Victim,
    target: &Target,
    probe: Probe,
    control: &Control,
) -> Result<Option<f64>, Failure> {
    let Ok(mut pings) = Pings::connect(target, probe).await else { return Ok(None) };
    let Some(idle) = work::idle(victim).await? else { return Ok(None) };
    let now = async || pings.round(victim, idle).await;
    match control {
        Control::Other(other, target) => {
            let mut pings = Pings::connect(target, self::probe(target).await?).await?;
            work::times(async || pings.round(other, 0.0).await, now).await
        }
        Control::Before(time) => work::times(async || Ok(*time), now).await,
    }
}

/// Pings, one at a time on one connection.
struct Pings {
    client: Client,
    probe: Probe,
    /// The index of the next id.
    used: usize,
}

impl Pings {
    async fn connect(target: &Target, probe: Probe) -> Result<Self, Failure> {
        Ok(Self { client: Client::connect(target).await?, probe, used: 0 })
    }

    /// Measures the processor time of a ping in seconds. `None` if it cannot be measured, for example because pings
    /// are refused.
    async fn round(&mut self, victim: &Victim, idle: f64) -> Result<Option<f64>, Failure> {
        let mut is_refused = false;
        let measured = work::round(victim, idle, async || {
            let fields = of_session(&self.probe.session);
            for id in self.probe.ids.iter().cycle().skip(self.used).take(PINGS) {
                let answer = self.client.ask(&fields, messages::ping(id));
                let answer =
                    timeout(PATIENCE, answer).await.map_err(|_| "a ping is not answered")?;
                // A server that closes the connection refuses the ping as well; the good client measures how long
                // that lasts.
                is_refused |= !answer.is_ok_and(|answer| answer.is_served());
                if is_refused {
                    break;
                }
            }
            self.used = (self.used + PINGS) % self.probe.ids.len().max(1);
            Ok(PINGS as u32)
        });
        Ok(measured.await?.filter(|_| !is_refused))
    }
}
