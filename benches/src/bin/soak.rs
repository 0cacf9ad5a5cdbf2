//! Sends millions of messages to a server, faults among them, and watches its memory and its open files.
//!
//! ```text
//! cargo build --release --package mcp-sansio-benches --bins
//! cargo run --release --package mcp-sansio-benches --bin soak -- pipes target/release/hello std
//! ```
//!
//! The carrier is `pipes`, `piling` (pipes, and the client lets calls pile up) or `http`. The server has the tool `hello`
//! of README. Over HTTP it prints its address, and its counts for each line of its input, as `hello http-expiring` does.
//! If its memory or its number of open files grows in the second half of the run, or its memory exceeds its bound while
//! calls pile up, the exit code is 1. It requires the `/proc` of Linux. `.ci/run soak` watches every adapter.

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::{fs, io};

use clap::{Parser, ValueEnum};
use mcp_sansio_benches::soak;

/// Watches a server over millions of messages.
#[derive(Parser)]
struct Arguments {
    /// How the server is reached
    carrier: Carrier,
    /// The server and its arguments
    #[arg(required = true, trailing_var_arg = true)]
    server: Vec<String>,
    /// The number of messages, or of sessions over HTTP: by default 10,000,000 (1,000,000 that pile up), or 100,000
    #[arg(long)]
    count: Option<u64>,
    /// Draws the memory into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Carrier {
    /// Standard input and output
    Pipes,
    /// Standard input and output, and the client lets calls pile up
    Piling,
    /// A socket
    Http,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("soak: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether the memory and the number of files have not grown.
fn run(arguments: &Arguments) -> io::Result<bool> {
    let Some((program, rest)) = arguments.server.split_first() else { return Ok(false) };
    let mut command = Command::new(program);
    command.args(rest);
    let samples = match arguments.carrier {
        Carrier::Pipes => soak::pipes(&mut command, arguments.count.unwrap_or(10_000_000))?,
        Carrier::Piling => soak::piling(&mut command, arguments.count.unwrap_or(1_000_000))?,
        Carrier::Http => soak::http(&mut command, arguments.count.unwrap_or(100_000))?,
    };
    print!("{samples}");
    if let Some(file) = &arguments.svg {
        fs::write(file, samples.plot())?;
    }
    match samples.growth() {
        Some(growth) => println!("{growth}"),
        None => println!("nothing grows"),
    }
    Ok(samples.growth().is_none())
}
