//! Writes the initial corpora of the fuzz targets: messages of simulated sessions, as this crate encodes them, and
//! the official examples if they exist (`../shared/schema`).
//!
//! ```sh
//! cargo run --release -p mcp-sansio-proptests --bin corpus -- fuzz/target/begin
//! ```

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "it fails by panicking")]

use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};

use mcp_sansio::http::write_event;
use mcp_sansio::testing::{Choices, Digest};
use mcp_sansio_proptests::oracles::challenges::written;
use mcp_sansio_proptests::oracles::texts;
use mcp_sansio_proptests::single::{APPLICATION, CONFIGURATION};
use mcp_sansio_proptests::world::{World, schedule};

/// The number of simulated sessions.
const SESSIONS: u64 = 150;

fn main() {
    let target = PathBuf::from(std::env::args().nth(1).expect("where to write the corpora"));
    for seed in 0..SESSIONS {
        let mut choices = Choices::seeded(seed);
        let (setup, steps) = schedule(&mut choices, 80);
        let mut world = World::new(setup);
        // Failures are found by other tests.
        _ = steps.iter().try_for_each(|step| world.step(step));
        session(&target, &mut choices, world.messages());
        let noise: Vec<u8> = (0..400).map(|_| choices.below(256) as u8).collect();
        let of_choices = ["operations", "tasks", "repeated", "replay", "write", "handler"];
        for name in of_choices.into_iter().chain(["http", "http_server", "http_client"]) {
            write(&target.join(name), &noise);
        }
        let long: Vec<u8> = (0..1000).map(|_| choices.below(256) as u8).collect();
        write(&target.join("authorizer"), &long);
        let (fields, _) = written(&mut choices);
        write(&target.join("challenge"), fields.join("\n").as_bytes());
    }
    for (kind, text) in texts::EXAMPLES {
        write(&target.join("texts"), &[&[*kind], text.as_bytes()].concat());
    }
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/schema");
    let mut found = 0;
    official(&examples, &mut |text| {
        found += 1;
        one_text(&target, &text);
    });
    if found == 0 {
        eprintln!("NOT THERE: the official examples, in {}", examples.display());
    }
}

/// Writes the messages of a session, one by one and all together.
fn session(target: &Path, choices: &mut Choices, messages: &[(bool, Vec<u8>)]) {
    let (mut to_server, mut to_client) = (vec![0; CONFIGURATION], vec![0; CONFIGURATION]);
    for (is_to_server, message) in messages {
        one_text(target, message);
        let stream = if *is_to_server { &mut to_server } else { &mut to_client };
        stream.extend(message);
        if !message.ends_with(b"\n") {
            stream.push(b'\n');
        }
        if choices.one_in(2) {
            let own = [APPLICATION, choices.below(256) as u8, choices.below(256) as u8, b'\n'];
            stream.extend(own);
        }
    }
    write(&target.join("server"), &to_server);
    write(&target.join("client"), &to_client);
    write(&target.join("inbox"), &to_server[CONFIGURATION - 8..]);
    let happenings = (0..64).map(|_| choices.below(256) as u8);
    let replay: Vec<u8> = happenings.chain(to_server.into_iter().skip(CONFIGURATION)).collect();
    write(&target.join("replay"), &replay);
}

/// Writes a text and its parts.
fn one_text(target: &Path, text: &[u8]) {
    write(&target.join("scan"), text);
    write(&target.join("model"), text);
    // The chunk sizes, and an event.
    let mut event = vec![3, 255, 1, 60];
    write_event(&mut event, None, Some(&text.len()), None, text);
    write(&target.join("sse"), &event);
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(text) else { return };
    for member in ["params", "result"] {
        if let Some(part) = value.get(member) {
            write(&target.join("model"), part.to_string().as_bytes());
        }
    }
}

/// Reads every example in a directory.
fn official(directory: &Path, each: &mut dyn FnMut(Vec<u8>)) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            official(&path, each);
        } else if path.components().any(|part| part.as_os_str() == "examples") {
            each(fs::read(&path).unwrap());
        }
    }
}

/// Writes a file that is named after its contents.
fn write(directory: &Path, bytes: &[u8]) {
    fs::create_dir_all(directory).unwrap();
    let mut digest = Digest::new();
    digest.write(bytes);
    fs::write(directory.join(digest.to_string()), bytes).unwrap();
}
