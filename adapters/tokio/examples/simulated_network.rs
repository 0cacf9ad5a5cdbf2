//! An agent, a gateway and two servers in a simulated network, which loses connections while they work.
//!
//! Shows that the adapter for tokio runs under [`turmoil`]: sockets, latency, partitions and crashed hosts are simulated,
//! and time passes only when every task waits. One seed decides everything, so a run can be repeated.
//!
//! The agent calls tools of the gateway, and the gateway those of the servers. During the first minute links break and
//! servers crash. The program requires that every call ends in time, that every result is that of its call,
//! that all calls succeed a few seconds after the last fault, and that the same seed gives the same run.
//!
//! Usage: `cargo run -p mcp-sansio-tokio --example simulated_network [SEEDS]`, or with `--seed SEED` to print one run: the
//! time of each outcome in milliseconds, the number of the call, the outcome.

use std::error::Error;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcp_sansio::call::Timeout;
use mcp_sansio::model::CallToolResult;
use mcp_sansio::{CallOptions, ClientConfig};
use mcp_sansio_tokio::{
    CallFailure, Connection, Exchange, Failed, Handle, RefuseAll, Router, connect, serve,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use turmoil::net::{TcpListener, TcpStream};
use turmoil::{Builder, Sim};

type Failure = Box<dyn Error>;

const PORT: u16 = 4000;
const SERVERS: [&str; 2] = ["alpha", "beta"];

/// The time between two calls of the agent. It divides no time limit: otherwise a call would wake the connection at the
/// moment of a deadline, and a missing timer would not be noticed.
const PACE: Duration = Duration::from_millis(97);

/// How long the network has faults, and when the run ends.
const FAULTS: Duration = Duration::from_secs(60);
const END: Duration = Duration::from_secs(75);

/// The time after the last fault from which every call has to succeed: dead connections are found and replaced.
const RECOVERY: Duration = Duration::from_secs(8);

/// How long the agent waits for a call, and the gateway for its part of it. A half of it is for the connection.
const AGENT_PATIENCE: Duration = Duration::from_secs(6);
const GATEWAY_PATIENCE: Duration = Duration::from_secs(2);

/// How long a connection may take to open.
const CONNECT_PATIENCE: Duration = Duration::from_secs(1);

/// The lines of a run: the time in milliseconds, the number of the call, its outcome.
type Log = Arc<Mutex<Vec<String>>>;

#[derive(Deserialize, Serialize, JsonSchema)]
struct Text {
    text: String,
}

/// Serves this router on every connection to the host.
async fn listen(name: &str, router: Router) -> Result<(), Failure> {
    let config = router.config(name, "1.0");
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    loop {
        let (socket, _) = listener.accept().await?;
        let (reader, writer) = socket.into_split();
        tokio::spawn(serve(config.clone(), reader, writer, router.clone()));
    }
}

/// A server whose tool says its name and the text.
async fn server(name: &'static str) -> Result<(), Failure> {
    let router = Router::new();
    router.async_tool("say", "Says a text", move |Text { text }, _: Exchange| async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        format!("{name}: {text}")
    });
    listen(name, router).await
}

/// A client of a host. A task of its own connects again when the connection has ended.
#[derive(Default)]
struct Upstream {
    handle: Mutex<Option<Handle>>,
    /// Wakes the calls that wait for a connection, in order. A `watch` channel of tokio wakes them in random order.
    opened: Notify,
}

impl Upstream {
    fn new(host: &'static str) -> Arc<Self> {
        let upstream = Arc::new(Self::default());
        let weak = Arc::downgrade(&upstream);
        tokio::spawn(async move {
            while let Some(upstream) = weak.upgrade() {
                let opened = tokio::time::timeout(CONNECT_PATIENCE, open(host)).await;
                let Ok(Ok(connection)) = opened else {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                };
                upstream.set(Some(connection.handle().clone()));
                drop(upstream);
                connection.handle().ended().await;
                if let Some(upstream) = weak.upgrade() {
                    upstream.set(None);
                }
            }
        });
        upstream
    }

    fn set(&self, handle: Option<Handle>) {
        *self.handle.lock().unwrap_or_else(PoisonError::into_inner) = handle;
        self.opened.notify_waiters();
    }

    /// Returns the handle of the connection once there is one.
    async fn connected(&self) -> Handle {
        loop {
            let opened = self.opened.notified();
            if let Some(handle) = &*self.handle.lock().unwrap_or_else(PoisonError::into_inner) {
                return handle.clone();
            }
            opened.await;
        }
    }

    /// Calls a tool, and waits this long for a connection and for the result.
    async fn call(&self, tool: &str, text: &Text, patience: Duration) -> Result<String, String> {
        let Ok(handle) = tokio::time::timeout(patience / 2, self.connected()).await else {
            return Err("no connection".into());
        };
        let params = serde_json::json!({ "name": tool, "arguments": text });
        let options = CallOptions::new().total(Timeout::After(patience / 2));
        let reply = handle.call_method("tools/call", &params, options).await;
        if let Err(CallFailure::TimedOut(_)) = &reply {
            // Both hosts answer sooner, the gateway if only with an error. So the network has lost the connection.
            handle.shut_down(Duration::ZERO);
        }
        let reply = reply.map_err(|error| error.to_string())?;
        let result: CallToolResult<'_> = reply.parse_as().map_err(|error| error.to_string())?;
        let text = result.texts().collect();
        if result.failed() { Err(text) } else { Ok(text) }
    }
}

async fn open(host: &str) -> Result<Connection, Box<dyn Error + Send + Sync>> {
    let config = ClientConfig::new("client", "1.0");
    let (reader, writer) = TcpStream::connect((host, PORT)).await?.into_split();
    Ok(connect(config, reader, writer, RefuseAll::new()).await?)
}

/// The gateway: its tools are those of the servers.
async fn gateway() -> Result<(), Failure> {
    let router = Router::new();
    for host in SERVERS {
        let upstream = Upstream::new(host);
        router.async_tool(host, "Says a text", move |text: Text, _: Exchange| {
            let upstream = upstream.clone();
            async move {
                let answer = upstream.call("say", &text, GATEWAY_PATIENCE).await;
                answer.map_err(Failed::new)
            }
        });
    }
    listen("gateway", router).await
}

/// The agent: makes calls until the end, several at a time.
async fn agent(log: Log) -> Result<(), Failure> {
    let gateway = Upstream::new("gateway");
    let mut calls = Vec::new();
    for (number, host) in SERVERS.into_iter().cycle().enumerate() {
        if END <= turmoil::elapsed() {
            break;
        }
        let (gateway, log) = (gateway.clone(), Arc::clone(&log));
        calls.push(tokio::spawn(async move {
            let begun = turmoil::elapsed();
            let text = Text { text: number.to_string() };
            let answer = gateway.call(host, &text, AGENT_PATIENCE).await;
            let ended = turmoil::elapsed();
            let took = ended - begun;
            assert!(took <= AGENT_PATIENCE + Duration::from_millis(5), "{number} took {took:?}");
            let outcome = match answer {
                Ok(answer) => {
                    assert_eq!(answer, format!("{host}: {number}"));
                    "ok".into()
                }
                Err(error) => {
                    let is_calm = FAULTS + RECOVERY <= begun;
                    assert!(!is_calm, "{number} failed at {begun:?}: {error}");
                    error
                }
            };
            log.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(format!("{} {number} {outcome}", ended.as_millis()));
        }));
        tokio::time::sleep(PACE).await;
    }
    for call in calls {
        call.await?;
    }
    Ok(())
}

/// Breaks or mends links and hosts, a few at a time. At the end of the faults it mends all of them.
fn change(sim: &mut Sim<'_>, random: &mut fastrand::Rng, is_over: bool) {
    const LINKS: [(&str, &str); 3] =
        [("agent", "gateway"), ("gateway", "alpha"), ("gateway", "beta")];
    for (from, to) in LINKS {
        match random.u8(..) {
            0..8 if !is_over => sim.partition(from, to),
            8..16 if !is_over => sim.hold(from, to),
            number if is_over || number < 56 => {
                sim.release(from, to);
                sim.repair(from, to);
            }
            _ => {}
        }
    }
    for host in ["gateway", "alpha", "beta"] {
        match random.u8(..) {
            0..4 if !is_over => sim.crash(host),
            number if (is_over || number < 64) && !sim.is_host_running(host) => sim.bounce(host),
            _ => {}
        }
    }
}

/// Runs the network of this seed. Returns its log.
fn run(seed: u64) -> Result<Vec<String>, Failure> {
    let log = Log::default();
    let mut sim = Builder::new()
        .rng_seed(seed)
        .simulation_duration(END + AGENT_PATIENCE + Duration::from_secs(1))
        .max_message_latency(Duration::from_millis(50))
        .build();
    for name in SERVERS {
        sim.host(name, move || server(name));
    }
    sim.host("gateway", gateway);
    sim.client("agent", agent(Arc::clone(&log)));
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut next, mut is_over) = (Duration::ZERO, false);
    while !sim.step()? {
        if next <= sim.elapsed() && !is_over {
            is_over = FAULTS <= sim.elapsed();
            change(&mut sim, &mut random, is_over);
            next = sim.elapsed() + Duration::from_millis(250);
        }
    }
    drop(sim);
    let log = log.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(log)
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [option, seed] = &*arguments
        && option == "--seed"
    {
        for line in run(seed.parse()?)? {
            println!("{line}");
        }
        return Ok(());
    }
    let seeds = arguments.first().map_or(Ok(3), |seeds| seeds.parse())?;
    for seed in 0..seeds {
        let (log, again) = (run_in_process(seed)?, run_in_process(seed)?);
        if log != again {
            return Err(format!("seed {seed} gives two different runs").into());
        }
        let calls = log.lines().count();
        let succeeded = log.lines().filter(|line| line.ends_with(" ok")).count();
        println!("seed {seed}: {calls} calls, {succeeded} succeeded");
        if succeeded == calls {
            return Err("the network had no faults".into());
        }
    }
    Ok(())
}

/// Runs the network of this seed in a process of its own. Returns what it prints: its log. tokio numbers the tasks of a
/// process, and those of a crashed host end in an order that depends on their numbers.
fn run_in_process(seed: u64) -> Result<String, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.args(["--seed", &seed.to_string()]).stderr(Stdio::inherit()).output()?;
    if output.status.success() {
        Ok(String::from_utf8(output.stdout)?)
    } else {
        Err(format!("seed {seed} failed").into())
    }
}
