//! The library in a program in C, and in Python.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a command, which has to succeed.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}\n{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// Returns the library that cargo has built beside this test.
fn library(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let library = test.with_file_name(name);
    assert!(library.exists(), "{library:?} is missing");
    library
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The example compiles without warnings, as C and with the header as C++, and passes the tests of its client.
#[test]
fn a_program_in_c_and_a_client_in_python() {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("poll_server");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror", "-O1"]);
    compiler.arg("-I").arg(file("include")).arg("-o").arg(&program);
    compiler.arg(file("examples/poll_server.c")).arg(library("libmcp_sansio_ffi.a"));
    run(compiler.args(["-lm", "-lpthread", "-ldl"]));
    let mut header = Command::new("c++");
    header.args(["-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++"]);
    run(header.arg(file("include/mcp_sansio.h")));
    let shared = if cfg!(target_os = "macos") { "dylib" } else { "so" };
    let mut client = Command::new("python3");
    // It imports a file beside it, whose compiled form would stay there.
    client.arg("-B");
    client.arg(file("tests/client.py")).arg(library(&format!("libmcp_sansio_ffi.{shared}")));
    let output = run(client.arg(&program));
    assert_eq!(output.matches("ok: ").count(), 14, "{output}");
}
