//! The attacked programs, and their paths.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program and its arguments.
pub(crate) type CommandLine = Vec<OsString>;

/// The attacked examples.
const EXAMPLES: &[&str] = &["everything_server", "inspect"];

/// Returns the command that runs this program with an argument.
pub(crate) fn own(argument: &str) -> Result<CommandLine, String> {
    let program = env::current_exe().map_err(|error| format!("where this program is: {error}"))?;
    Ok(vec![program.into(), argument.into()])
}

/// Finds an example beside this program.
///
/// If cargo runs this program, the examples are built first, because cargo has built only this one. A single build
/// of all examples shares the most with other builds.
///
/// # Errors
///
/// If the example cannot be built or is missing.
pub(crate) fn example(name: &str) -> Result<CommandLine, String> {
    let directory =
        env::current_exe().map_err(|error| format!("where this program is: {error}"))?;
    let directory = directory.parent().ok_or("this program is in no directory")?;
    if let Some(cargo) = env::var_os("CARGO") {
        build(&cargo, directory)?;
    }
    let program = directory.join(format!("{name}{}", env::consts::EXE_SUFFIX));
    if program.is_file() {
        return Ok(vec![program.into()]);
    }
    let place = program.display();
    Err(format!("{place} is missing; build it with: cargo build --release --example {name}"))
}

fn build(cargo: &OsString, directory: &Path) -> Result<(), String> {
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--profile", profile(directory)]);
    for example in EXAMPLES {
        command.args(["--example", example]);
    }
    command.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
    // `cargo run` sets them. The build script of a dependency reads them, and would run again each time.
    for (name, _) in env::vars_os() {
        let is_of_package =
            |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if name.to_str().is_some_and(is_of_package) {
            command.env_remove(name);
        }
    }
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("building the examples to attack ended with {status}")),
        Err(error) => Err(format!("{}: {error}", PathBuf::from(cargo).display())),
    }
}

/// Returns the profile of a directory such as `target/release/examples`.
fn profile(directory: &Path) -> &str {
    let name = directory.parent().and_then(|parent| parent.file_name()?.to_str());
    name.filter(|name| *name != "debug").unwrap_or("dev")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_directory_determines_the_cargo_profile() {
        assert_eq!(profile(Path::new("/x/target/release/examples")), "release");
        assert_eq!(profile(Path::new("target/debug/examples")), "dev");
        assert_eq!(profile(Path::new("examples")), "dev");
    }
}
