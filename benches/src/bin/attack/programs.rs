//! The attacked programs, and their paths.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program and its arguments.
pub(crate) type CommandLine = Vec<OsString>;

/// The attacked client, an example of the root package.
const CLIENT: &str = "inspect";

/// Returns the command that runs this program with an argument.
pub(crate) fn own(argument: &str) -> Result<CommandLine, String> {
    let program = env::current_exe().map_err(|error| format!("where this program is: {error}"))?;
    Ok(vec![program.into(), argument.into()])
}

/// Finds the client to attack.
///
/// If cargo runs this program, the client is built first, because cargo has built only this program.
///
/// # Errors
///
/// If the client cannot be built or is missing.
pub(crate) fn client() -> Result<CommandLine, String> {
    let directory =
        env::current_exe().map_err(|error| format!("where this program is: {error}"))?;
    let directory = directory.parent().ok_or("this program is in no directory")?;
    if let Some(cargo) = env::var_os("CARGO") {
        build(&cargo, directory)?;
    }
    let program = directory.join("examples").join(format!("{CLIENT}{}", env::consts::EXE_SUFFIX));
    if program.is_file() {
        return Ok(vec![program.into()]);
    }
    let place = program.display();
    Err(format!("{place} is missing; build it with: cargo build --release --example {CLIENT}"))
}

fn build(cargo: &OsString, directory: &Path) -> Result<(), String> {
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--profile", profile(directory)]);
    command.args(["--package", "mcp-sansio", "--example", CLIENT]);
    // In the directory of the caller, to which CARGO_TARGET_DIR may be relative.
    command.args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
    command.stdin(Stdio::null());
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
        Ok(status) => Err(format!("building the client to attack ended with {status}")),
        Err(error) => Err(format!("{}: {error}", PathBuf::from(cargo).display())),
    }
}

/// Returns the profile of a directory such as `target/release`.
fn profile(directory: &Path) -> &str {
    let name = directory.file_name().and_then(|name| name.to_str());
    name.filter(|name| *name != "debug").unwrap_or("dev")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_directory_determines_the_cargo_profile() {
        assert_eq!(profile(Path::new("/x/target/release")), "release");
        assert_eq!(profile(Path::new("target/debug")), "dev");
        assert_eq!(profile(Path::new("/")), "dev");
    }
}
