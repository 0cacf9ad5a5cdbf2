//! Compares what each package offers with what is recorded beside this, a line per item.
//!
//! ```text
//! cargo run --manifest-path .ci/interface/Cargo.toml [-- --write]
//! ```
//!
//! A change of the interface shows in the difference of these files. The compiler of this toolchain is asked for its
//! documentation as JSON, which is not stable: with another one than that of `.ci/run` the format can be another.

#![allow(clippy::unwrap_used, reason = "a program for those who work on the crate")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitCode};

const PACKAGES: [&str; 10] = [
    "mcp-sansio",
    "mcp-sansio-driver",
    "mcp-sansio-std",
    "mcp-sansio-tokio",
    "mcp-sansio-async-std",
    "mcp-sansio-http",
    "mcp-sansio-store",
    "mcp-sansio-extensions",
    "mcp-sansio-cli",
    "mcp-sansio-gateway",
];

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let writes = match arguments.as_slice() {
        [] => false,
        [option] if option == "--write" => true,
        _ => {
            eprintln!("usage: interface [--write]");
            return ExitCode::from(2);
        }
    };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2).unwrap();
    document(root);
    let mut has_changed = false;
    for package in PACKAGES {
        let offered = offered(root, package);
        let file = here.join("recorded").join(format!("{package}.txt"));
        if writes {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, &offered).unwrap();
        } else {
            has_changed |= compare(package, &std::fs::read_to_string(file).unwrap(), &offered);
        }
    }
    if has_changed {
        eprintln!("The interface is another one. If that is meant, run this with --write.");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Everything that can be named from outside, without what the compiler adds by itself and what is derived.
fn offered(root: &Path, package: &str) -> String {
    let json = root.join("target/doc").join(format!("{}.json", package.replace('-', "_")));
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .sorted(true)
        .build()
        .unwrap();
    api.items().map(|item| format!("{item}\n")).collect()
}

/// Documents every package as JSON. All at once, so that what `cargo doc` has compiled before serves for this, too.
fn document(root: &Path) {
    let mut command = Command::new(env!("CARGO"));
    // `cargo run` sets them. The build script of a dependency reads them: it would run again, and cargo would build
    // everything that depends on it once with them and once without.
    for (name, _) in std::env::vars_os() {
        let text = name.to_str().unwrap_or_default();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    let status = command
        .current_dir(root)
        .args(["doc", "--quiet", "--locked", "--workspace", "--all-features", "--no-deps", "--lib"])
        // As in the stage `doc`, which has checked the dependencies.
        .args(["--example", "hello_server", "--target-dir", "target"])
        .env("RUSTDOC", root.join(".ci/interface/rustdoc"))
        .env("RUSTDOCFLAGS", "-Z unstable-options --output-format json --cap-lints allow")
        .status()
        .unwrap();
    assert!(status.success(), "the packages could not be documented");
}

/// Prints what is there no more, and what is new. Says whether there is anything.
fn compare(package: &str, recorded: &str, offered: &str) -> bool {
    let lines = |text: &str| text.lines().map(String::from).collect::<BTreeSet<_>>();
    let (recorded, offered) = (lines(recorded), lines(offered));
    for line in recorded.difference(&offered) {
        println!("{package}: - {line}");
    }
    for line in offered.difference(&recorded) {
        println!("{package}: + {line}");
    }
    recorded != offered
}
