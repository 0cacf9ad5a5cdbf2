//! A server on pipes, with faults among its calls.

use std::io::{self, BufRead, BufReader, Write};
use std::process::ChildStdout;

use super::{Samples, Served};
use crate::messages;

/// The number of messages in a batch. The next batch waits for the response that ends this one; other calls may
/// still be in flight.
const BATCH: u64 = 64;

/// The number of samples of a run.
const SAMPLES: u64 = 200;

/// The response that the client waits for after each batch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Awaited {
    /// The response to the last call.
    Call,
    /// The response to a ping. The server responds to a ping at once, so calls pile up.
    Ping,
}

pub(super) fn run(mut served: Served, total: u64, awaited: Awaited) -> io::Result<Samples> {
    let mut stdin = served.child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let stdout = served.child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut stdout = BufReader::with_capacity(1 << 16, stdout);
    let mut samples = Samples::new(served.child.id(), total, SAMPLES);
    stdin.write_all(&messages::line(messages::INITIALIZE))?;
    stdin.write_all(&messages::line(messages::INITIALIZED))?;
    let (mut done, mut batch) = (0, Vec::new());
    while done < total {
        samples.note(done)?;
        batch.clear();
        for id in done..done + BATCH {
            message(id, &mut batch)?;
        }
        last(done, awaited, &mut batch)?;
        // A server that pauses reading continues long before its unread responses fill its outbox.
        stdin.write_all(&batch)?;
        await_last(&mut stdout, done)?;
        served.is_running()?;
        done += BATCH + 1;
    }
    samples.note(done)?;
    Ok(samples)
}

/// Appends the request whose response ends the batch.
fn last(batch: u64, awaited: Awaited, out: &mut Vec<u8>) -> io::Result<()> {
    let request = match awaited {
        Awaited::Call => {
            r#""method":"tools/call","params":{"name":"hello","arguments":{"name":"you"}}"#
        }
        Awaited::Ping => r#""method":"ping""#,
    };
    writeln!(out, r#"{{"jsonrpc":"2.0","id":"last-{batch}",{request}}}"#)
}

/// Reads until the response to the last request of a batch arrives.
fn await_last(stdout: &mut BufReader<ChildStdout>, last: u64) -> io::Result<()> {
    let expected = format!(r#""id":"last-{last}""#);
    let mut line = String::new();
    while !line.contains(&expected) {
        line.clear();
        if stdout.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}

/// Appends a message: a call, or a fault.
fn message(id: u64, out: &mut Vec<u8>) -> io::Result<()> {
    match id % 40 {
        3 => writeln!(out, "this is not JSON {id}"),
        11 => {
            let before = id - 1;
            writeln!(
                out,
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{before}}}}}"#
            )
        }
        19 => writeln!(out, r#"{{"jsonrpc":"2.0","id":{id},"method":"unknown/method"}}"#),
        27 => writeln!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
        35 => writeln!(
            out,
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":7}}}}"#
        ),
        39 => {
            let name = "x".repeat((id % 4_000) as usize);
            writeln!(
                out,
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"hello","arguments":{{"name":"{name}"}}}}}}"#
            )
        }
        _ => writeln!(out, "{}", messages::hello_call(id)),
    }
}
