//! A host that shows the skills of a server, with the instructions of each.
//!
//! Usage: `cargo run -p mcp-sansio-extensions --example skills_host COMMAND [ARGUMENT]...`. It runs the command, lists its
//! skills, reads each `SKILL.md` and compares the contents with the digest. A real host asks its user before the
//! instructions reach a model.

use std::error::Error;
use std::io::Write;
use std::process::Command;
use std::time::Duration;

use mcp_sansio::ClientConfig;
use mcp_sansio::json::Raw;
use mcp_sansio_extensions::skills::{self, list_skills, read_instructions};
use mcp_sansio_std::{RefuseAll, spawn};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let mut command = Command::new(arguments.next().ok_or("which server?")?);
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
        match read_instructions(server, skill).wait() {
            Ok(text) => writeln!(stdout, "{}", shown(&text))?,
            Err(error) => writeln!(stdout, "  not usable: {error}\n")?,
        }
    }
    for error in errors {
        writeln!(stdout, "left out: {}", shown(&error.to_string()))?;
    }
    connection.close(Duration::from_secs(5)).wait()?;
    Ok(())
}

/// Replaces control characters, with which a server could change the terminal.
fn shown(text: &str) -> String {
    text.replace(|one: char| one.is_control() && one != '\n', "\u{fffd}")
}
