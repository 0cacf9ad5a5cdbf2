//! Shared helpers of these tests.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// Returns the path of an example, which is built first, into the directory of this test.
pub(crate) fn example(name: &str) -> PathBuf {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    let directory = DIRECTORY.get_or_init(|| {
        let profile = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().to_path_buf();
        let target = profile.parent().unwrap();
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--workspace", "--examples"]);
        build.args(["--bin", "mcp-sansio-gateway", "--bin", "attack"]);
        let name = profile.file_name().unwrap().to_str().unwrap();
        if name != "debug" {
            build.args(["--profile", name]);
        }
        // With `--target`, cargo adds a directory with the name of the target by itself.
        let triple = target.file_name().unwrap().to_str().unwrap();
        if triple.matches('-').count() == 3 || triple.starts_with("wasm32-") {
            build.args(["--target", triple, "--target-dir"]).arg(target.parent().unwrap());
        } else {
            build.arg("--target-dir").arg(target);
        }
        // `cargo test` sets them. The build script of a dependency reads them: it would run again, and cargo would build
        // everything that depends on it once with them and once without.
        for (name, _) in std::env::vars_os() {
            let text = name.to_str().unwrap_or_default();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                build.env_remove(name);
            }
        }
        assert!(build.status().unwrap().success());
        profile.join("examples")
    });
    directory.join(name)
}

/// Returns the path of the gateway, which is a program of the workspace and no example.
pub(crate) fn gateway() -> PathBuf {
    example("..").join("mcp-sansio-gateway")
}

/// Returns the path of `attack`, a program of the benchmarks.
pub(crate) fn attack() -> PathBuf {
    example("..").join("attack")
}
