//! House rules that no tool checks for us.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod architecture;
mod conformance;
mod documents;
mod fuzzing;
mod layers;
mod setters;
mod style;
mod words;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Every Rust file of the project, by its path from the root.
fn sources() -> BTreeMap<String, String> {
    fn walk(directory: &Path, root: &Path, sources: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, root, sources);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
                sources.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    let root = root();
    let mut sources = BTreeMap::new();
    let rooms = ["src", "adapters", "proptests", "examples", "benches", "fuzz/fuzz_targets"];
    for room in rooms {
        walk(&root.join(room), &root, &mut sources);
    }
    assert!(100 < sources.len(), "the walk has missed something");
    sources
}

fn is_test(name: &str) -> bool {
    name.contains("/tests/") || name.ends_with("tests.rs")
}
