//! A server on pipes, with faults among its calls.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};

use super::{Samples, Served};
use crate::messages;

/// The messages that are sent before their last call must have its response. Earlier calls may still be in flight.
const BATCH: u64 = 64;

pub(super) fn run(mut served: Served, total: u64) -> io::Result<Samples> {
    let mut stdin = served.child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let stdout = served.child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut stdout = BufReader::with_capacity(1 << 16, stdout);
    let mut samples = Samples::new(served.child.id(), total);
    stdin.write_all(&messages::line(messages::INITIALIZE))?;
    stdin.write_all(&messages::line(messages::INITIALIZED))?;
    let (mut done, mut batch) = (0, Vec::new());
    while done < total {
        samples.note(done)?;
        batch.clear();
        for id in done..done + BATCH {
            message(id, &mut batch)?;
        }
        send(&mut stdin, &batch, done)?;
        await_last(&mut stdout, done)?;
        served.is_running()?;
        done += BATCH + 1;
    }
    samples.note(done)?;
    Ok(samples)
}

/// Writes a batch and its last call.
fn send(stdin: &mut ChildStdin, batch: &[u8], last: u64) -> io::Result<()> {
    stdin.write_all(batch)?;
    writeln!(
        stdin,
        r#"{{"jsonrpc":"2.0","id":"last-{last}","method":"tools/call","params":{{"name":"hello","arguments":{{"name":"you"}}}}}}"#
    )
}

/// Reads until the response to the last call arrives.
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
