//! What the fuzzer has to know.

use std::fs;

use crate::{root, sources};

/// The fuzzer knows every method, and nothing in its dictionary is wrong.
#[test]
fn the_dictionary_has_every_method() {
    let dictionary = fs::read_to_string(root().join("fuzz/mcp.dict")).unwrap();
    for line in dictionary.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        assert!(line.len() > 2 && line.starts_with('"') && line.ends_with('"'), "{line}");
    }
    let sources = sources();
    let table = &sources["src/dialect/methods.rs"];
    let methods = table.split('"').skip(1).step_by(2).filter(|text| {
        text.contains('/') && text.chars().all(|c| c.is_ascii_alphabetic() || "/_".contains(c))
    });
    let mut found = 0;
    for method in methods {
        found += 1;
        let entry = format!("\"\\\"{method}\\\"\"");
        assert!(dictionary.lines().any(|line| line == entry), "{method} is missing");
    }
    assert!(30 < found, "{found} methods are fewer than there are");
}

/// Every fuzz target is built and run.
#[test]
fn every_fuzz_target_is_run() {
    let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
    let script = fs::read_to_string(root().join("fuzz/run")).unwrap();
    let listed = script.split("targets=(").nth(1).unwrap().split(')').next().unwrap();
    for name in sources().keys() {
        let Some(target) = name.strip_prefix("fuzz/fuzz_targets/") else { continue };
        let target = target.strip_suffix(".rs").unwrap();
        assert!(manifest.contains(&format!("name = \"{target}\"")), "{target}");
        assert!(listed.split(' ').any(|one| one == target), "{target}");
    }
}
