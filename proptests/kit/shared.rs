//! Documents that are not part of the repository: official schemas and examples, guides to MCP. They lie beside it,
//! in `../shared`.

use std::io::Write;
use std::path::{Path, PathBuf};

/// The path of a file or folder of `../shared`. `None` if it is missing: the test then says so on standard error and
/// has nothing to check.
///
/// # Panics
///
/// If it is missing and the environment says `CI=true`.
pub fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared").join(name);
    if path.exists() {
        return Some(path);
    }
    let is_required = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(!is_required, "CI=true, but ../shared/{name} is missing");
    // Unlike what macros print, this is shown although the test passes.
    let line = format!("NOT CHECKED: ../shared/{name} is missing\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    None
}
