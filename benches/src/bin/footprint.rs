//! Measures the memory of idle sessions.
//!
//! ```text
//! cargo run --release --package mcp-sansio-benches --bin footprint
//! ```

use std::process::ExitCode;

use clap::Parser;
use mcp_sansio::http::Streams;
use mcp_sansio::{Client, Inbox, Outbox, Server};
use mcp_sansio_benches::allocations::{Counting, held};
use mcp_sansio_benches::footprint::{IdleClient, IdleServer};
use mcp_sansio_benches::http_endpoint::HttpEndpoint;

#[global_allocator]
static ALLOCATOR: Counting = Counting::new();

/// The chapter of the manual with the memory of sessions.
const CHAPTER: &str = include_str!("../../../src/manual/footprint.md");

#[derive(Parser)]
struct Arguments {
    /// Fails if the manual has other numbers.
    #[arg(long)]
    check: bool,
    /// The number of concurrent sessions.
    #[arg(long, default_value_t = 1_000_000)]
    sessions: usize,
    /// The number of concurrent HTTP sessions.
    #[arg(long, default_value_t = 1_000)]
    http_sessions: usize,
}

/// Returns the resident memory of this process in bytes, as reported by the kernel.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Prints a row of the table of sessions, and returns the same row of the manual.
fn print_session(what: &str, stack: usize, heap: usize) -> String {
    let together = stack + heap;
    println!("{what}\t{stack}\t{heap}\t{together}");
    format!("| of a {what} | {stack} | {heap} | {together} |\n")
}

fn print_sizes() {
    println!("type\tbytes");
    println!("Server\t{}", size_of::<Server>());
    println!("Client\t{}", size_of::<Client>());
    println!("Inbox\t{}", size_of::<Inbox>());
    println!("Outbox\t{}", size_of::<Outbox>());
    println!("Streams\t{}", size_of::<Streams>());
}

/// Prints the memory per session, and returns the rows of the manual. The shared configuration is allocated before the
/// measurement.
fn print_sessions() -> [String; 4] {
    println!("\nidle session\tof itself\ton the heap\ttogether");
    let (server, client) = (IdleServer::config(), IdleClient::config());
    let (mut session, heap) = held(|| IdleServer::new(&server));
    let full_server = print_session("server, with its buffers", size_of_val(&session), heap);
    let ((), change) = held(|| session.release());
    let heap = heap.wrapping_add(change);
    let idle_server = print_session("server, released", size_of_val(&session), heap);
    let (mut session, heap) = held(|| IdleClient::new(&client));
    let full_client = print_session("client, with its buffers", size_of_val(&session), heap);
    let ((), change) = held(|| session.release());
    let heap = heap.wrapping_add(change);
    let idle_client = print_session("client, released", size_of_val(&session), heap);
    [full_server, idle_server, full_client, idle_client]
}

/// Prints the memory of idle sessions of an HTTP endpoint, including the state of the endpoint and its runtime.
fn print_http(count: usize) {
    let endpoint = HttpEndpoint::new();
    let open = || {
        let session = endpoint.open();
        endpoint.call(Some(&session), 1);
        endpoint.settle();
    };
    // Allocate the state that all sessions share.
    open();
    endpoint.idle();
    let open_all = || {
        (0..count).for_each(|_| open());
        endpoint.idle();
    };
    let ((), bytes) = held(open_all);
    println!("\n{count} idle HTTP sessions\tbytes\tper session");
    println!("allocated\t{bytes}\t{:.1}", bytes as f64 / count as f64);
}

fn print_many(count: usize) {
    let config = IdleServer::config();
    let before = resident();
    let (sessions, bytes) = held(|| {
        let mut sessions = Vec::with_capacity(count);
        sessions.extend((0..count).map(|_| IdleServer::released(&config)));
        sessions
    });
    println!("\n{} idle servers\tbytes\tper session", sessions.len());
    println!("allocated\t{bytes}\t{:.1}", bytes as f64 / count as f64);
    match (before, resident()) {
        (Some(before), Some(after)) => {
            let bytes = after.saturating_sub(before);
            println!("resident\t{bytes}\t{:.1}", bytes as f64 / count as f64);
        }
        _ => eprintln!("NOT MEASURED: the resident memory; this system has no /proc/self/status."),
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    print_sizes();
    let rows = print_sessions();
    print_many(arguments.sessions);
    print_http(arguments.http_sessions);
    let missing: Vec<&String> = rows.iter().filter(|row| !CHAPTER.contains(*row)).collect();
    if arguments.check && !missing.is_empty() {
        eprintln!("src/manual/footprint.md lacks these rows:");
        missing.iter().for_each(|row| eprint!("{row}"));
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
