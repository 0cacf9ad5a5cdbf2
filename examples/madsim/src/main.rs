//! An agent, a gateway and two servers under [`madsim`], on hosts that crash, pause and lose each other.
//!
//! madsim replaces the executor, the time, the randomness and the network of the whole program. `adapter` connects it
//! with the driver that all adapters share, in a hundred lines. One seed decides everything.
//!
//! The agent calls tools of the gateway, and the gateway those of the servers. During the first minute hosts are killed
//! and started again, paused, and cut off from each other. The program requires that every call ends once and in time,
//! that every result is that of its call, that all calls succeed a few seconds after the last fault, and that the same
//! seed gives the same run.
//!
//! ```sh
//! (cd examples/madsim && cargo run --locked -- [SEEDS])
//! ```

mod adapter;

use std::collections::BTreeMap;
use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use madsim::net::{NetSim, TcpListener, TcpStream};
use madsim::rand::{Rng, thread_rng};
use madsim::runtime::{Handle as Hosts, NodeHandle, Runtime};
use madsim::time::{Instant, sleep, timeout};
use madsim::{Config, task};
use mcp_sansio::call::Timeout;
use mcp_sansio::model::{CallToolResult, ListChanged};
use mcp_sansio::{CallOptions, ClientConfig, ClientRequest, ErrorCode, RespondError, ServerConfig};
use mcp_sansio_driver::{CallFailure, Exchange, Handle};
use serde::{Deserialize, Serialize};

type Failure = Box<dyn Error + Send + Sync>;

const PORT: u16 = 4000;
const SERVERS: [(&str, &str); 2] = [("alpha", "10.0.0.3"), ("beta", "10.0.0.4")];
const GATEWAY: &str = "10.0.0.2";

/// The time between two calls of the agent. No time limit is a multiple of it: otherwise a call would wake the
/// connection at the moment of a deadline, and the run would not detect a missing timer.
const PACE: Duration = Duration::from_millis(97);

/// The end of the faults, and the time of the last call.
const FAULTS: Duration = Duration::from_secs(60);
const END: Duration = Duration::from_secs(75);

/// The time after the last fault from which every call has to succeed.
const RECOVERY: Duration = Duration::from_secs(8);

/// The time limits of the agent for a call, and of the gateway for its own call. Half of each is for the connection.
const AGENT_PATIENCE: Duration = Duration::from_secs(6);
const GATEWAY_PATIENCE: Duration = Duration::from_secs(2);

/// The outcomes by the numbers of the calls: the time in milliseconds, and the answer or the error.
type Log = Arc<Mutex<BTreeMap<usize, (u128, String)>>>;

#[derive(Clone, Deserialize, Serialize)]
struct Text {
    text: String,
}

fn config(name: &str) -> ServerConfig {
    let mut config = ServerConfig::new(name, "1.0");
    config.capabilities.tools = Some(ListChanged::default());
    config
}

/// Serves a tool on every connection to the host: the tool has a name and a text, and returns a text.
async fn listen<F>(
    name: &'static str,
    tool: impl Fn(String, Text) -> F + Clone + Send + Sync + 'static,
) -> Result<(), Failure>
where
    F: Future<Output = Result<String, String>> + Send + 'static,
{
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    loop {
        let (socket, _) = listener.accept().await?;
        let tool = tool.clone();
        let handler = move |exchange: Exchange| respond(exchange, tool.clone());
        task::spawn(adapter::serve(config(name), socket, handler));
    }
}

async fn respond<F>(
    exchange: Exchange,
    tool: impl Fn(String, Text) -> F,
) -> Result<(), RespondError>
where
    F: Future<Output = Result<String, String>>,
{
    let ClientRequest::CallTool(call) = &exchange.request().kind else {
        return exchange.reject(ErrorCode::METHOD_NOT_FOUND, "method not found");
    };
    let text = match call.parse::<Text>() {
        Ok(text) => text,
        Err(error) => return exchange.respond(&CallToolResult::error(error.to_string())),
    };
    exchange.respond(&match tool(call.name.to_string(), text).await {
        Ok(text) => CallToolResult::text(text),
        Err(error) => CallToolResult::error(error),
    })
}

/// A server whose tool returns the server's name and the text.
async fn server(name: &'static str) {
    let say = move |_, Text { text }| async move {
        sleep(Duration::from_millis(20)).await;
        Ok(format!("{name}: {text}"))
    };
    _ = listen(name, say).await;
}

/// A client of a host, which connects when a call needs it.
#[derive(Clone)]
struct Upstream {
    host: &'static str,
    handle: Arc<Mutex<Option<Handle>>>,
}

impl Upstream {
    fn new(host: &'static str) -> Self {
        Self { host, handle: Arc::default() }
    }

    fn handle(&self) -> std::sync::MutexGuard<'_, Option<Handle>> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the connection, which is opened again if it has ended.
    async fn connected(&self) -> Result<Handle, Failure> {
        if let Some(handle) = &*self.handle()
            && handle.phase() != mcp_sansio::Phase::Closed
        {
            return Ok(handle.clone());
        }
        let socket = TcpStream::connect((self.host, PORT)).await?;
        let connection = adapter::connect(ClientConfig::new("client", "1.0"), socket).await?;
        let handle = connection.handle().clone();
        // This task owns the connection until the connection ends.
        task::spawn(async move { connection.handle().ended().await });
        *self.handle() = Some(handle.clone());
        Ok(handle)
    }

    /// Calls a tool, and waits this long for a connection and for the result.
    async fn call(&self, tool: &str, text: &Text, patience: Duration) -> Result<String, String> {
        let begun = Instant::now();
        let handle = loop {
            let left = (patience / 2).saturating_sub(begun.elapsed());
            match timeout(left, self.connected()).await {
                Ok(Ok(handle)) => break handle,
                Ok(Err(_)) => sleep(Duration::from_millis(100)).await,
                Err(_) => return Err("no connection".into()),
            }
        };
        let params = serde_json::json!({ "name": tool, "arguments": text });
        let options = CallOptions::new().total(Timeout::After(patience / 2));
        let reply = handle.call_method("tools/call", &params, options).await;
        if let Err(CallFailure::TimedOut(_)) = &reply {
            // Both hosts respond sooner, the gateway at least with an error. So the network has lost the connection.
            handle.shut_down(Duration::ZERO);
        }
        let reply = reply.map_err(|error| error.to_string())?;
        let result: CallToolResult<'_> = reply.parse_as().map_err(|error| error.to_string())?;
        let text = result.texts().collect();
        if result.failed() { Err(text) } else { Ok(text) }
    }
}

/// The gateway: its tools are those of the servers.
async fn gateway() {
    let upstreams = SERVERS.map(|(name, host)| (name, Upstream::new(host)));
    let forward = move |tool: String, text| {
        let upstreams = upstreams.clone();
        async move {
            let (_, upstream) =
                upstreams.iter().find(|(name, _)| *name == tool).ok_or("no such server")?;
            upstream.call("say", &text, GATEWAY_PATIENCE).await
        }
    };
    _ = listen("gateway", forward).await;
}

/// The agent: makes calls until the end, several at a time.
async fn agent(log: Log) {
    let (begin, gateway) = (Instant::now(), Upstream::new(GATEWAY));
    let mut calls = Vec::new();
    for (number, (name, _)) in SERVERS.into_iter().cycle().enumerate() {
        if END <= begin.elapsed() {
            break;
        }
        let (gateway, log) = (gateway.clone(), Arc::clone(&log));
        calls.push(task::spawn(async move {
            let begun = begin.elapsed();
            let answer =
                gateway.call(name, &Text { text: number.to_string() }, AGENT_PATIENCE).await;
            let ended = begin.elapsed();
            let took = ended - begun;
            assert!(took <= AGENT_PATIENCE + Duration::from_millis(5), "{number} took {took:?}");
            if let Ok(answer) = &answer {
                assert_eq!(*answer, format!("{name}: {number}"));
            } else {
                assert!(begun < FAULTS + RECOVERY, "{number} failed at {begun:?}: {answer:?}");
            }
            let outcome = (ended.as_millis(), format!("{answer:?}"));
            let earlier =
                log.lock().unwrap_or_else(PoisonError::into_inner).insert(number, outcome);
            assert!(earlier.is_none(), "{number} has ended twice");
        }));
        sleep(PACE).await;
    }
    for (number, call) in calls.into_iter().enumerate() {
        call.await.unwrap_or_else(|error| panic!("{number} has no outcome: {error}"));
    }
}

/// Lets hosts crash, pause, and lose each other.
async fn break_things(hosts: &Hosts, nodes: &[NodeHandle]) {
    let (begin, network) = (Instant::now(), NetSim::current());
    while begin.elapsed() < FAULTS {
        let pause = Duration::from_millis(thread_rng().gen_range(100..4_000));
        sleep(Duration::from_millis(thread_rng().gen_range(100..3_000))).await;
        let node = &nodes[thread_rng().gen_range(0..nodes.len())];
        match thread_rng().gen_range(0..3) {
            0 => {
                hosts.kill(node.id());
                sleep(pause).await;
                hosts.restart(node.id());
            }
            1 => {
                hosts.pause(node.id());
                sleep(pause).await;
                hosts.resume(node.id());
            }
            _ => {
                network.clog_node(node.id());
                sleep(pause).await;
                network.unclog_node(node.id());
            }
        }
    }
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap_or_else(|_| panic!("{text} is no address"))
}

/// Runs a seed, and returns the outcomes of its calls.
fn run(seed: u64) -> BTreeMap<usize, (u128, String)> {
    let runtime = Runtime::with_seed_and_config(seed, Config::default());
    let log = Log::default();
    let outcomes = Arc::clone(&log);
    runtime.block_on(async move {
        let hosts = Hosts::current();
        let host = |name: &str, ip: &str| hosts.create_node().name(name).ip(address(ip));
        let mut nodes = vec![host("gateway", GATEWAY).init(gateway).build()];
        for (name, ip) in SERVERS {
            nodes.push(host(name, ip).init(move || server(name)).build());
        }
        let caller = host("agent", "10.0.0.1").build();
        let calls = caller.spawn(agent(log));
        break_things(&hosts, &nodes).await;
        calls.await.unwrap_or_else(|error| panic!("the agent has failed: {error}"));
    });
    let outcomes = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
    outcomes.clone()
}

fn main() -> Result<(), Box<dyn Error>> {
    let seeds = std::env::args().nth(1).map_or(Ok(20), |seeds| seeds.parse())?;
    let mut digests = Vec::new();
    for seed in 1..=seeds {
        println!("seed {seed}");
        let outcomes = run(seed);
        assert_eq!(outcomes, run(seed), "the same seed gave another run");
        let succeeded = outcomes.values().filter(|(_, outcome)| outcome.starts_with("Ok")).count();
        assert!(succeeded < outcomes.len(), "there was no fault");
        let mut digest = DefaultHasher::new();
        outcomes.hash(&mut digest);
        println!(
            "  {} calls, {succeeded} succeeded, digest={:016x}",
            outcomes.len(),
            digest.finish()
        );
        assert!(!digests.contains(&digest.finish()), "two seeds gave the same run");
        digests.push(digest.finish());
    }
    println!("every call had one outcome, and each seed gave the same run twice");
    Ok(())
}
