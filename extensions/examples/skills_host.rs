//! A host that lists the skills of a server, and shows the instructions of those that are asked for.
//!
//! Usage:
//! `cargo run -p mcp-sansio-extensions --example skills_host -- [--read URI]... COMMAND [ARGUMENT]...`.
//! It runs the command and lists its skills. It reads the `SKILL.md` of each URI, and compares the contents with the digest.
//!
//! The extension forbids a host to read files ahead of need. A real host reads `SKILL.md` when a skill is activated, after
//! the consent of its user.

use std::collections::BTreeSet;
use std::error::Error;
use std::io::Write;
use std::process::Command;
use std::time::Duration;

use mcp_sansio::ClientConfig;
use mcp_sansio::json::Raw;
use mcp_sansio_extensions::skills::{self, list_skills, read_instructions};
use mcp_sansio_std::{RefuseAll, spawn};

fn main() -> Result<(), Box<dyn Error>> {
    let (mut arguments, mut asked) = (std::env::args_os().skip(1), BTreeSet::new());
    let mut program = arguments.next();
    while program.as_ref().is_some_and(|argument| argument == "--read") {
        let uri = arguments.next().and_then(|uri| uri.into_string().ok());
        asked.insert(uri.ok_or("which skill?")?);
        program = arguments.next();
    }
    let mut command = Command::new(program.ok_or("which server?")?);
    command.args(arguments);
    let mut config = ClientConfig::new("skills_host", env!("CARGO_PKG_VERSION"));
    config.capabilities = config.capabilities.with_extension(skills::EXTENSION, Raw::EMPTY_OBJECT);
    let connection = spawn(config, command, RefuseAll::new())?;
    let server = connection.handle();
    let mut stdout = std::io::stdout();
    let (listed, errors) = list_skills(server).wait()?;
    for skill in &listed {
        let line = format!("{} ({}): {}", skill.name(), skill.uri, skill.description());
        writeln!(stdout, "{}", shown(&line))?;
        if !asked.remove(&skill.uri) {
            continue;
        }
        match read_instructions(server, skill).wait() {
            Ok(text) => writeln!(stdout, "{}", shown(&text))?,
            Err(error) => writeln!(stdout, "  not usable: {error}\n")?,
        }
    }
    for error in errors {
        writeln!(stdout, "left out: {}", shown(&error.to_string()))?;
    }
    for uri in asked {
        writeln!(stdout, "{uri}: there is no such skill")?;
    }
    connection.close(Duration::from_secs(5)).wait()?;
    Ok(())
}

/// Replaces control characters, with which a server could change the terminal.
fn shown(text: &str) -> String {
    text.replace(|one: char| one.is_control() && one != '\n', "\u{fffd}")
}
