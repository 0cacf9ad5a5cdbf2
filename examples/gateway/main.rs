//! A gateway: several MCP servers, each a child process, behind one on standard input and output.
//!
//! ```text
//!                  threads       the event loop: one thread, no locks          threads
//!
//!             read ──bytes──▶ Inbox ─▶ ┌────────┐         ┌────────┐ ◀─ Inbox ◀──bytes── read
//!   client                             │ Server │ gateway │ Client │                          "files"
//!            write ◀──bytes── Outbox ◀─└────────┘    │    └────────┘─▶ Outbox ──bytes──▶ write
//!                                                    │    ┌────────┐ ◀─ Inbox ◀──bytes── read
//!                                                    └─── │ Client │                          "math"
//!                                                         └────────┘─▶ Outbox ──bytes──▶ write
//! ```
//!
//! Shows what a gateway takes when the protocol is a plain value: ids, progress, cancellation and what servers
//! ask for are mapped from one machine to the other by tables beside them; arguments, results and errors pass as
//! they came, byte for byte. Client and servers may be of different eras and revisions, each machine speaks that of
//! its peer. A server that is silent, slow or dead holds up nobody else.
//!
//! Usage: `cargo run --example gateway -- --upstream files='npx -y @modelcontextprotocol/server-filesystem /tmp'
//! --upstream math=./calculator`, as a child process of a client. The tool `add` of the second is `math__add`.
//!
//! Not shown: tasks, and capabilities that depend on the client or on the servers.
#![allow(
    clippy::indexing_slicing,
    reason = "upstreams and lines never go away, so their numbers stay good"
)]

mod arguments;
mod event_loop;
mod forward;
mod gateway;
mod inputs;
mod lists;
mod names;
mod parking;
mod pipes;
mod resources;
mod routing;
#[path = "../inspect/say.rs"]
mod say;
mod side_table;
mod upstream;

use std::process::ExitCode;

use mcp_sansio::ConnectionNumber;
use mcp_sansio_std::Clock;

use crate::arguments::Arguments;
use crate::event_loop::{Ending, EventLoop};
use crate::gateway::Gateway;
use crate::pipes::News;
use crate::say::say;
use crate::upstream::Upstream;

fn main() -> ExitCode {
    match run(Arguments::read()) {
        Ok(Ending::ClientGone) => ExitCode::SUCCESS,
        // As shells have it for Ctrl-C.
        Ok(Ending::Interrupted) => ExitCode::from(130),
        Err(error) => {
            say!("gateway: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<Ending, String> {
    let Arguments { name, upstreams: starts, patience } = arguments;
    let clock = Clock::new();
    let upstreams = (0..).zip(&starts);
    let upstreams = upstreams
        .map(|(number, start)| Upstream::new(&name, &start.name, ConnectionNumber::new(number)));
    let gateway = Gateway::new(&name, upstreams.collect(), patience, clock.now());
    let mut event_loop = EventLoop::new(gateway, starts, clock);
    let teller = event_loop.teller();
    // The upstreams lead groups of their own, so that they do not hear of a Ctrl-C.
    let told = ctrlc::set_handler(move || _ = teller.send(News::Interrupted));
    told.map_err(|error| format!("cannot look after signals: {error}"))?;
    event_loop.start_upstreams()?;
    event_loop.listen().map_err(|error| format!("cannot talk to the client: {error}"))?;
    Ok(event_loop.run())
}
