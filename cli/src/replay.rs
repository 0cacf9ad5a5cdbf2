//! `--replay`: the client of a recording against a server again, and the differences between its responses.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mcp_sansio::json::Raw;
use mcp_sansio_std::{Process, ProcessOptions};
use serde_json::Value;

use crate::recording::{Line, Sender as From, identity};
use crate::say::say;
use crate::target::Program;

/// The messages of a server, by their identity, in order.
type Messages = BTreeMap<String, Vec<Value>>;

/// Sends the recorded messages of the client to the server, each one when the server has sent as many messages as in the
/// recording, and compares what the server sends. Returns the differences.
///
/// A server that sends nothing for `patience` is waited for no longer.
pub(crate) fn replay(
    program: &Program,
    lines: &[Line],
    patience: Duration,
) -> Result<Vec<String>, String> {
    let name = program.program.to_string_lossy();
    let failed = |error: io::Error| format!("{name}: {error}");
    let (server, input, output) = Server::start(program).map_err(failed)?;
    let to_server = written_to(input);
    let (sender, received) = channel();
    thread::spawn(move || {
        for message in messages(BufReader::new(output)) {
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    // The messages that were waited for and did not arrive in time. They are not waited for again.
    let mut missing = 0;
    let (mut expected, mut actual) = (Vec::new(), Vec::new());
    for line in lines {
        let Some(message) = &line.message else { continue };
        if line.from == From::Server {
            expected.push(message.get().to_owned());
            continue;
        }
        missing +=
            collect(&received, &mut actual, expected.len().saturating_sub(missing), patience);
        if to_server.send(message.get().to_owned()).is_err() {
            // The server has ended; the comparison shows when.
            break;
        }
    }
    missing += collect(&received, &mut actual, expected.len().saturating_sub(missing), patience);
    drop(to_server);
    // Messages until its end count as well, for a second.
    let end = Instant::now() + Duration::from_secs(1);
    while let Ok(line) = received.recv_timeout(end.saturating_duration_since(Instant::now())) {
        actual.push(line);
    }
    drop(server);
    let mut differences = differences(&by_identity(&expected), &by_identity(&actual));
    if 0 < missing && differences.is_empty() {
        differences.push("the server was slower than the time limit".into());
    }
    Ok(differences)
}

/// The process of the server. Dropping it kills the server with the processes that it has started.
struct Server(Arc<Mutex<Option<Process>>>);

impl Server {
    /// Starts the server. A signal ends it and this program. A Ctrl-C does not reach the server itself, because it leads
    /// its own process group.
    fn start(program: &Program) -> io::Result<(Self, ChildStdin, ChildStdout)> {
        let server = Self(Arc::default());
        // Locked until the server has started: an earlier signal ends it as soon as it has.
        let mut starting = lock(&server.0);
        let process = Arc::clone(&server.0);
        let installed = ctrlc::set_handler(move || {
            // The comparison ends with the server. Its thread then waits for this lock, and cannot return from `main`
            // with another status.
            let mut process = lock(&process);
            drop(process.take());
            std::process::exit(130);
        });
        if let Err(error) = installed {
            say!("inspect: a signal may leave the server running: {error}");
        }
        let options = ProcessOptions::default();
        let (process, input, output) = Process::spawn(&mut program.command(), options)?;
        *starting = Some(process);
        drop(starting);
        Ok((server, input, output))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(lock(&self.0).take());
    }
}

fn lock(process: &Mutex<Option<Process>>) -> MutexGuard<'_, Option<Process>> {
    process.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the sender of messages to the server. They are written in a thread of their own, because a server that does not
/// read blocks its writer until it ends. The input ends with the sender.
fn written_to(mut input: ChildStdin) -> Sender<String> {
    let (sender, messages) = channel::<String>();
    thread::spawn(move || {
        for message in messages {
            if writeln!(input, "{message}").and_then(|()| input.flush()).is_err() {
                return;
            }
        }
    });
    sender
}

/// Returns the messages in the output of a server, up to its end. Invalid UTF-8 is replaced, as in a recording. Text
/// that is no JSON was not recorded as a message either.
fn messages(output: impl BufRead) -> impl Iterator<Item = String> {
    let lines = output.split(b'\n').map_while(Result::ok);
    let lines = lines.map(|line| String::from_utf8_lossy(&line).trim().to_owned());
    lines.filter(|line| Raw::new(line).is_ok())
}

/// Receives messages until there are this many, or none arrives for `patience`. Returns how many are missing.
fn collect(
    received: &Receiver<String>,
    messages: &mut Vec<String>,
    count: usize,
    patience: Duration,
) -> usize {
    while messages.len() < count {
        match received.recv_timeout(patience) {
            Ok(line) => messages.push(line),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return count - messages.len();
            }
        }
    }
    0
}

fn by_identity(messages: &[String]) -> Messages {
    let mut all = Messages::new();
    for message in messages {
        let Ok(raw) = Raw::new(message) else { continue };
        // A message that is nested too deeply to be decoded is compared as text.
        let value = serde_json::from_str(message).unwrap_or_else(|_| message.as_str().into());
        all.entry(identity(&raw)).or_default().push(value);
    }
    all
}

fn differences(expected: &Messages, actual: &Messages) -> Vec<String> {
    let mut differences = Vec::new();
    for (name, before) in expected {
        let now = actual.get(name).map(Vec::as_slice).unwrap_or_default();
        if before.len() != now.len() {
            differences.push(format!("{name}: {} recorded, {} now", before.len(), now.len()));
            continue;
        }
        for (before, now) in before.iter().zip(now) {
            if let Some((place, before, now)) = difference(before, now) {
                differences.push(format!("{name}: {place} was {before}, is {now}"));
            }
        }
    }
    let unknown = actual.keys().filter(|name| !expected.contains_key(*name));
    differences.extend(unknown.map(|name| format!("{name}: not recorded")));
    differences
}

/// Returns the place of the first difference as a JSON Pointer, and both values.
fn difference(before: &Value, now: &Value) -> Option<(String, String, String)> {
    let below = |name: &str, before: Option<&Value>, now: Option<&Value>| {
        let (place, before, now) = match (before, now) {
            (Some(before), Some(now)) => difference(before, now)?,
            (before, now) => (String::new(), shown(before), shown(now)),
        };
        let name = name.replace('~', "~0").replace('/', "~1");
        Some((format!("/{name}{place}"), before, now))
    };
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            let names = before.keys().chain(now.keys().filter(|name| !before.contains_key(*name)));
            names.into_iter().find_map(|name| below(name, before.get(name), now.get(name)))
        }
        (Value::Array(before), Value::Array(now)) => (0..before.len().max(now.len()))
            .find_map(|at| below(&at.to_string(), before.get(at), now.get(at))),
        (before, now) if before == now => None,
        (before, now) => Some((String::new(), shown(Some(before)), shown(Some(now)))),
    }
}

/// Returns a value for a line of text.
fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "missing".into(), |value| crate::report::shortened(&value.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_follow_a_line_that_is_not_utf_8() {
        let output = b"{\"id\":1}\r\nstarted \xff\n{\"id\":\"\xff\"}\nlog\n\n{\"id\":2}";
        let read: Vec<String> = messages(&output[..]).collect();
        assert_eq!(read, ["{\"id\":1}", "{\"id\":\"\u{fffd}\"}", "{\"id\":2}"]);
    }

    #[test]
    fn the_first_difference_is_named() {
        let of = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let find = |before, now| {
            difference(&of(before), &of(now))
                .map(|(place, before, now)| format!("{place} {before} {now}"))
        };
        assert_eq!(find(r#"{"a":[1,{"b":2}]}"#, r#"{"a":[1,{"b":2}]}"#), None);
        assert_eq!(
            find(r#"{"a":[1,{"b":2}]}"#, r#"{"a":[1,{"b":3}]}"#).as_deref(),
            Some("/a/1/b 2 3")
        );
        assert_eq!(find(r#"{"a/b":1}"#, "{}").as_deref(), Some("/a~1b 1 missing"));
        assert_eq!(find("[1]", "[1,2]").as_deref(), Some("/1 missing 2"));
        assert_eq!(find("1", "\"1\"").as_deref(), Some(" 1 \"1\""));
    }
}
