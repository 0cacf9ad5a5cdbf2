//! Documents outside the repository, in the sibling directory `../shared`: official schemas and examples, and guides
//! to MCP.

use std::io::Write;
use std::path::{Path, PathBuf};

/// Returns the path of a file or folder of `../shared`. `None` if it is missing: the test then writes a note to
/// standard error and checks nothing.
///
/// # Panics
///
/// Panics if the path is missing and the environment contains `CI=true`.
pub fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared").join(name);
    if path.exists() {
        return Some(path);
    }
    let is_required = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(!is_required, "CI=true, but ../shared/{name} is missing");
    // Unlike the output of macros, this line is shown even if the test passes.
    let line = format!("NOT CHECKED: ../shared/{name} is missing\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    None
}
