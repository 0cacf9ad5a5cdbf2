//! Runs a server with one tool, until its standard input ends: see [`HelloServer`].
//!
//! `count` and `throughput` start it.

use std::error::Error;

use clap::Parser;
use mcp_sansio_benches::hello::HelloServer;

#[derive(Parser)]
struct Arguments {
    server: HelloServer,
}

fn main() -> Result<(), Box<dyn Error>> {
    Arguments::parse().server.run()
}
