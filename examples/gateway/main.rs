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
//! Shows a gateway on top of sans-IO machines. Side tables map ids, progress, cancellation and requests of servers
//! from one machine to the other; arguments, results and errors pass through byte for byte. Client and servers may
//! be of different eras and revisions, because each machine speaks the revision of its peer. A server that is
//! silent, slow or dead delays no other server.
//!
//! Usage: `cargo run --example gateway -- --upstream files='npx -y @modelcontextprotocol/server-filesystem /tmp'
//! --upstream math=./calculator`, as a child process of a client. The tool `add` of the second server is
//! `math__add`.
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
#[path = "../../cli/src/say.rs"]
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
        // The exit code of shells after Ctrl-C.
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
    let sender = event_loop.sender();
    // The upstreams lead their own process groups, so a Ctrl-C does not reach them.
    let installed = ctrlc::set_handler(move || _ = sender.send(News::Interrupted));
    installed.map_err(|error| format!("cannot look after signals: {error}"))?;
    event_loop.start_upstreams()?;
    event_loop.listen().map_err(|error| format!("cannot talk to the client: {error}"))?;
    Ok(event_loop.run())
}
