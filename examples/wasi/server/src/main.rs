//! An MCP server as a component of WASI 0.2, for any runtime of components. The messages are lines on standard input
//! and output.
//!
//! This file is the loop: it waits with `wasi:io/poll` for input, for room in the output, and for the next deadline,
//! but never in a read or a write. `tools` has the tools, and the calls that take time.
//!
//! `examples/wasi/host` runs the component in a sandbox.

mod tools;

use std::time::Duration;

use mcp_sansio::{ByteStream, Cause, Instant, Server};
use wasip2::cli::{stdin, stdout};
use wasip2::clocks::{monotonic_clock, wall_clock};
use wasip2::io::poll::{Pollable, poll};
use wasip2::io::streams::{InputStream, OutputStream, StreamError};

use self::tools::Tools;

/// The bytes that are read at once. An inbox without frames accepts them.
const CHUNK: usize = 8 << 10;

/// The time that a client may take to read the last output.
const PATIENCE: Duration = Duration::from_secs(5);

fn main() {
    let (input, output, clock) = (stdin::get_stdin(), stdout::get_stdout(), Clock::new());
    let mut stream = ByteStream::lines(tools::server());
    let (mut tools, mut has_input, mut patience) = (Tools::default(), true, None);
    loop {
        let now = clock.now();
        // A client that does not read its responses sends no more requests: the memory for both is bounded.
        let reads = has_input && !stream.machine_and_outbox().1.is_congested();
        if reads {
            has_input = read(&input, &mut stream, now);
        }
        tools.handle_steps(&mut stream, now);
        tools.advance(&mut stream, now);
        write(&output, &mut stream, now);
        if stream.is_closed() && stream.poll_timeout().is_none() {
            if stream.unsent().is_empty() {
                // Waits until the host has passed on the last bytes. The end of the output is no error at the end.
                _ = output.blocking_flush();
                return;
            }
            // The client may not read the last output.
            if *patience.get_or_insert(now + PATIENCE) <= now {
                return;
            }
        }
        let deadlines = [stream.poll_timeout(), tools.deadline(), patience];
        let deadline = deadlines.into_iter().flatten().min();
        let mut events = Vec::new();
        if reads && has_input {
            events.push(input.subscribe());
        }
        if !stream.unsent().is_empty() {
            events.push(output.subscribe());
        }
        events.extend(deadline.map(|deadline| clock.alarm(deadline)));
        poll(&events.iter().collect::<Vec<&Pollable>>());
    }
}

/// Reads what has arrived. Returns whether there can be more later.
fn read(input: &InputStream, stream: &mut ByteStream<Server>, now: Instant) -> bool {
    match input.read(CHUNK as u64) {
        Ok(bytes) => {
            // The inbox has no frame, because every step was handled, so it takes the whole chunk.
            let taken = stream.feed(&bytes);
            debug_assert_eq!(taken, bytes.len());
            return true;
        }
        Err(StreamError::Closed) => stream.finish(),
        Err(StreamError::LastOperationFailed(_)) => stream.fail(Cause::ReadFailed, now),
    }
    false
}

/// Writes as many bytes as the output accepts at this time.
fn write(output: &OutputStream, stream: &mut ByteStream<Server>, now: Instant) {
    while !stream.unsent().is_empty() {
        let written = output.check_write().and_then(|room| {
            let room = usize::try_from(room).unwrap_or(usize::MAX);
            let bytes = stream.unsent();
            let bytes = bytes.get(..room).unwrap_or(bytes);
            output.write(bytes).map(|()| bytes.len())
        });
        match written {
            Ok(0) => return,
            Ok(bytes) => stream.sent(bytes),
            Err(_) => {
                stream.fail(Cause::WriteFailed, now);
                // The client will not read it.
                stream.sent(stream.unsent().len());
            }
        }
    }
}

/// The monotonic clock of the host, anchored at the Unix epoch when the program begins.
struct Clock {
    /// The time of day, and the monotonic time in nanoseconds, of the same moment.
    start: (Instant, u64),
}

impl Clock {
    fn new() -> Self {
        let day = wall_clock::now();
        let since_epoch = Duration::new(day.seconds, day.nanoseconds);
        Self { start: (Instant::EPOCH + since_epoch, monotonic_clock::now()) }
    }

    fn now(&self) -> Instant {
        let (day, start) = self.start;
        day + Duration::from_nanos(monotonic_clock::now().saturating_sub(start))
    }

    /// Returns an event that happens at this time.
    fn alarm(&self, at: Instant) -> Pollable {
        let (day, start) = self.start;
        let nanoseconds = u64::try_from((at - day).as_nanos()).unwrap_or(u64::MAX);
        monotonic_clock::subscribe_instant(start.saturating_add(nanoseconds))
    }
}
