//! Deterministic simulation of programs built on this crate: an agent, a gateway, a handler. Feature `testing`.
//!
//! The machines are plain values without clock or socket, so a whole conversation runs in one thread, in any order,
//! at any speed, and reproducibly. This module contains the tools around such a run. The simulation, the fuzz targets
//! and the exploration of this crate itself consist of them; the rest of the crate does not use them.
//!
//! | task | tool |
//! |---|---|
//! | run both sides over a wire that you move by hand | [`Pair`] |
//! | split, join, delay, stall, break and disturb the bytes on a wire | [`Link`]; [`MessageLink`] for transports that lose and reorder whole messages |
//! | make decisions from a seed or from fuzzer input | [`Choices`] |
//! | write code that is generic over the role | [`Machine`] |
//! | check at each step that calls end once and requests get one response, from the machine and from your program | [`Monitor`]; [`Monitors`] for both sides of a pair |
//! | check that two runs were identical | [`Digest`] |
//! | record events in production, replay them, and draw them (`examples/replay` in the repository) | [`Recorder`], [`Recording`], [`replay`], [`Recording::diagram`] |
//! | read the messages of a failed run | [`Diagram`] |
//! | check that the work of a machine is linear in its input (feature `work`) | `WorkMeter` |
//! | write a test that reads like a conversation | [`transcript!`](crate::transcript) |
//! | explore all events in every order | [`explore`], [`Canonical`] |
//!
//! The clock is a variable: an [`Instant`](crate::Instant) that you pass, and advance to the earliest
//! [`poll_timeout`](crate::Connection::poll_timeout) of the machines.
//!
//! # Simulating your own agent
//!
//! An agent calls a tool, and abandons the call after an idle timeout. The wire stalls anywhere, and the server
//! responds at any time. Does the call always have exactly one outcome, and does the server always learn it?
//!
//! ```
//! use std::time::Duration;
//!
//! use mcp_sansio::call::Timeout;
//! use mcp_sansio::model::{CallToolParams, CallToolResult, ListChanged, method};
//! use mcp_sansio::testing::{Broken, Choices, Monitors, Pair, Seen};
//! use mcp_sansio::{CallOptions, ClientConfig, ClientEvent, Outcome, ServerConfig, ServerEvent};
//!
//! /// How the agent's one call has ended, for this seed.
//! fn simulate(seed: u64) -> Result<&'static str, Broken> {
//!     let mut choices = Choices::seeded(seed);
//!     let client = ClientConfig::new("agent", "1");
//!     let mut server = ServerConfig::new("tools", "1");
//!     server.capabilities.tools = Some(ListChanged::default());
//!     let mut pair = Pair::new(client, server);
//!     pair.connect().expect("a client connects once");
//!     let mut monitors = Monitors::new();
//!
//!     let options = CallOptions::new().idle(Timeout::After(Duration::from_millis(200)));
//!     let params = CallToolParams::new("slow");
//!     let call = pair.client.call::<method::CallTool>(&params, options, pair.now, &mut pair.client_out);
//!     monitors.client.called(call.expect("there is room for it"))?;
//!
//!     let mut end = None;
//!     let mut waiting = None;
//!     while end.is_none() || monitors.server.requests().next().is_some() {
//!         // The wire, the clock and the server's work go on as the seed has it.
//!         let seen = match choices.below(4) {
//!             0 => pair.watched_by(&mut monitors).to_server(choices.below(30) as usize)?,
//!             1 => pair.watched_by(&mut monitors).to_client(choices.below(30) as usize)?,
//!             2 => {
//!                 pair.now = pair.now + Duration::from_millis(choices.below(20));
//!                 pair.watched_by(&mut monitors).handle_timeout()?
//!             }
//!             _ => {
//!                 if let Some(request) = waiting.take() {
//!                     let result = CallToolResult::text("done");
//!                     if pair.server.respond(request, &result, &mut pair.server_out).is_ok() {
//!                         monitors.server.answered(request)?;
//!                     }
//!                 }
//!                 Vec::new()
//!             }
//!         };
//!         for event in seen {
//!             match event {
//!                 Seen::Client(ClientEvent::CallEnded(ended)) => {
//!                     end = Some(match ended.outcome {
//!                         Outcome::Result(_) => "a result",
//!                         Outcome::TimedOut(_) => "no patience",
//!                         _ => "something else",
//!                     });
//!                 }
//!                 Seen::Server(ServerEvent::Request(request)) => waiting = Some(request.id),
//!                 _ => {}
//!             }
//!         }
//!     }
//!     Ok(end.unwrap_or_default())
//! }
//!
//! let ends: Vec<_> = (0..200).map(|seed| simulate(seed).expect("every promise is kept")).collect();
//! assert!(ends.contains(&"a result") && ends.contains(&"no patience"));
//! assert!(!ends.contains(&"something else"));
//! assert_eq!(simulate(7).unwrap(), ends[7], "a seed is all it takes to see it again");
//! ```
//!
//! A gateway is two such pairs, with the gateway between the server of one pair and the client of the other: the
//! functions of [`manual::gateways`](crate::manual::gateways) take these two machines. `proptests/programs/simulate.rs`
//! in the repository runs the world of this crate itself, in which both applications, the wire and a hostile peer act
//! at any time.

mod choices;
mod diagram;
mod digest;
mod escape;
mod explore;
mod lines;
mod link;
mod machine;
mod monitor;
mod pair;
mod promise;
mod recorder;
mod recording;
mod replaying;
mod transcript;
mod watched;
mod wire;
#[cfg(feature = "work")]
mod work;

pub use choices::Choices;
pub use diagram::Diagram;
#[cfg(test)]
pub(crate) use diagram::{draw, summary};
pub use digest::{Canonical, Digest};
pub use explore::{Counterexample, Explored, World, explore};
pub use link::{Link, MessageLink};
pub use machine::{Machine, Meaning};
pub use monitor::Monitor;
pub use pair::{Pair, Seen};
pub use promise::{Broken, Promise};
pub use recorder::{Application, Recorder, Sink};
pub use recording::{BadRecording, Recording, Step, StepKind};
pub use replaying::{Divergence, replay, replay_with};
pub use transcript::{Mismatch, converse};
pub use watched::{Monitors, WatchedPair};
#[cfg(feature = "work")]
pub use work::WorkMeter;
