//! `--replay`: the client of a recording against a server again, and the differences between its responses.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use mcp_sansio::json::Raw;
use serde_json::Value;

use crate::recording::{Line, Sender, identity};
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
    let failed = |error: std::io::Error| format!("{name}: {error}");
    let mut command = program.command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = command.spawn().map_err(failed)?;
    let (Some(mut input), Some(output)) = (server.stdin.take(), server.stdout.take()) else {
        return Err(format!("{name}: no pipes"));
    };
    let (sender, received) = channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let mut is_late = false;
    let (mut expected, mut actual) = (Vec::new(), Vec::new());
    for line in lines {
        let Some(message) = &line.message else { continue };
        if line.from == Sender::Server {
            expected.push(message.get().to_owned());
            continue;
        }
        is_late |= !collect(&received, &mut actual, expected.len(), patience);
        let sent = writeln!(input, "{}", message.get()).and_then(|()| input.flush());
        if sent.is_err() {
            // The server has ended; the comparison shows when.
            break;
        }
    }
    is_late |= !collect(&received, &mut actual, expected.len(), patience);
    drop(input);
    // Whatever it sends until its end counts as well.
    collect(&received, &mut actual, usize::MAX, Duration::from_secs(1));
    _ = server.kill();
    _ = server.wait();
    let mut differences = differences(&by_identity(&expected), &by_identity(&actual));
    if is_late && differences.is_empty() {
        differences.push("the server was slower than the time limit".into());
    }
    Ok(differences)
}

/// Receives messages until there are this many. Returns whether there are.
fn collect(
    received: &Receiver<String>,
    messages: &mut Vec<String>,
    count: usize,
    patience: Duration,
) -> bool {
    let mut last = Instant::now();
    while messages.len() < count {
        match received.recv_timeout(patience.saturating_sub(last.elapsed())) {
            Ok(line) => messages.push(line),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return false,
        }
        last = Instant::now();
    }
    true
}

fn by_identity(messages: &[String]) -> Messages {
    let mut all = Messages::new();
    for message in messages {
        let Ok(raw) = Raw::new(message) else { continue };
        let value = serde_json::from_str(message).unwrap_or_default();
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
