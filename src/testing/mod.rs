//! Simulation of what is built on this crate: an agent, a gateway, a handler. Feature `testing`.
//!
//! The machines are plain values that know no clock and no socket, so a whole conversation runs in one
//! thread, in any order, at any speed, and the same way every time. What is here is what such a run needs
//! around it. It is what the simulation, the fuzz targets and the exploration of this crate itself are made
//! of; nothing in it is used by the rest of the crate.
//!
//! | to | there is |
//! |---|---|
//! | run both sides over a wire that you move by hand | [`Pair`] |
//! | split, join, delay, stall, break and disturb what goes over a wire | [`Link`]; [`MessageLink`] for transports that lose and reorder whole messages |
//! | decide by a seed, or by what a fuzzer says | [`Choices`] |
//! | treat both roles alike | [`Machine`] |
//! | check at each step that calls end once and requests are answered once, by the machine and by what you have built | [`Monitor`]; [`Monitors`] for both sides of a pair |
//! | know that two runs were the same | [`Digest`] |
//! | write down what happens in production, have it happen again, and draw it (`examples/replay` in the repository) | [`Recorder`], [`Recording`], [`replay`], [`Recording::diagram`] |
//! | read what went wrong | [`Diagram`] |
//! | check that the work of a machine is linear in what it is given (feature `work`) | `WorkMeter` |
//! | write a test that reads like a conversation | [`transcript!`](crate::transcript) |
//! | go through everything that can happen, in every order | [`explore`], [`Canonical`] |
//!
//! The clock is a variable: an [`Instant`](crate::Instant) that you pass, and move on to
//! [`poll_timeout`](crate::Connection::poll_timeout) of whoever is next.
//!
//! # Simulating your own agent
//!
//! An agent calls a tool, and gives up when that takes longer than it has patience. Over a wire that stalls
//! anywhere, with a server that answers at any time: does it always come to one end, and does the server
//! always hear of it?
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
//! A gateway is two of these: the server of one pair and the client of the other, and what is between them
//! under test. `examples/simulate.rs` in the repository runs this crate's own world, in which both
//! applications, the wire and a hostile peer do anything at any time.

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
