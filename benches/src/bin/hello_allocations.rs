//! The program `hello` with a counting allocator: at exit it prints the allocations of all threads on standard error.

use std::error::Error;

use clap::Parser;
use mcp_sansio_benches::hello::HelloServer;
use mcp_sansio_benches::process_allocations::ProcessAllocations;

#[global_allocator]
static ALLOCATOR: ProcessAllocations = ProcessAllocations::new();

#[derive(Parser)]
struct Arguments {
    server: HelloServer,
}

fn main() -> Result<(), Box<dyn Error>> {
    Arguments::parse().server.run()?;
    eprintln!("{}", ALLOCATOR.count());
    Ok(())
}
