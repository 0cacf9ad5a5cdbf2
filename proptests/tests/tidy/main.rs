//! House rules that no tool checks for us.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
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

#[test]
fn files_are_short_and_say_what_they_are() {
    for (name, text) in sources() {
        let lines = text.lines().count();
        assert!(lines < 500 || is_test(&name), "{name} has {lines} lines");
        assert!(text.starts_with("//!") || name.ends_with("tests.rs"), "{name} has no header");
        assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{name} ends oddly");
    }
}

#[test]
fn lines_fit_and_hold_nothing_unfinished() {
    // Put together here so that this file does not hold them itself.
    let unfinished = ["TODO", "FIXME", "XXX"].map(String::from).into_iter();
    let macros = ["todo", "dbg", "unimplemented"].map(|name| format!("{name}!("));
    let banned: Vec<String> = unfinished.chain(macros).chain([String::from("#[ignore")]).collect();
    for (name, text) in sources().into_iter().filter(|(name, _)| !name.contains("/tests/tidy/")) {
        for (number, line) in text.lines().enumerate() {
            let place = format!("{name}:{}", number + 1);
            assert!(!line.contains('\t'), "{place} has a tab");
            let banned = banned.iter().find(|word| line.contains(*word));
            assert_eq!(banned, None, "{place}");
            // Tests and examples hold messages, which are one line each.
            let holds_message = is_test(&name) || line.contains("r#\"") || line.contains("const ");
            let fits = line.chars().count() <= 100 || holds_message || line.contains("](http");
            assert!(fits || line.trim_start().starts_with(['"', '/']), "{place} is too long");
        }
    }
}

/// Which revision has what is data, and stands in `dialect`.
#[test]
fn nothing_outside_the_dialect_names_a_revision() {
    for (name, text) in sources() {
        let may = name.starts_with("src/dialect/") || name == "src/version.rs" || is_test(&name);
        if !name.starts_with("src/") || may {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap();
            assert!(!code.contains("Revision::V"), "{name}:{}", number + 1);
        }
    }
}

/// No clock, no randomness, no global state, no hash order in the core.
///
/// Proves M-SECL-04.
#[test]
fn the_core_is_deterministic() {
    let banned = [
        "HashMap",
        "HashSet",
        "Instant::now",
        "SystemTime::now",
        "static mut",
        "thread_local",
        "AtomicU",
        "OnceLock",
        "RandomState",
        "env::var",
    ];
    for (name, text) in sources().into_iter().filter(|(name, _)| name.starts_with("src/")) {
        if is_test(&name) {
            continue;
        }
        for code in text.lines().filter_map(|line| line.split("//").next()) {
            let word = banned.iter().find(|word| code.contains(*word));
            assert_eq!(word, None, "{name}");
        }
    }
}

/// What a revision has is in its tables: nobody else asks which one it is.
#[test]
fn only_the_dialects_know_one_revision_from_another() {
    let excepted =
        |name: &str| name.starts_with("src/dialect/") || name == "src/version.rs" || is_test(name);
    for (name, text) in sources().into_iter().filter(|(name, _)| name.starts_with("src/")) {
        if excepted(&name) {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let asks = ["Revision::V2", "match revision", "match session.revision"];
            let compares = ["revision <", "revision >", "revision ==", "revision !="];
            for word in asks.into_iter().chain(compares) {
                assert!(!line.contains(word), "{name}: {line}");
            }
        }
    }
}

/// An ID as the requirements have it: `L-CANCEL-07`, or `SEED2-07`.
fn ids(text: &str) -> Vec<String> {
    text.split(|character: char| !character.is_ascii_alphanumeric() && character != '-')
        .filter(|word| {
            if let Some(number) = word.strip_prefix("SEED2-") {
                return number.len() == 2 && number.chars().all(|c| c.is_ascii_digit());
            }
            let mut parts = word.split('-');
            let series = parts.next().is_some_and(|series| matches!(series, "L" | "M" | "H"));
            let topic = parts.next().is_some_and(|topic| {
                !topic.is_empty() && topic.chars().all(|c| c.is_ascii_uppercase())
            });
            let number = parts.next().is_some_and(|number| {
                !number.is_empty() && number.chars().all(|c| c.is_ascii_digit())
            });
            series && topic && number && parts.next().is_none()
        })
        .map(String::from)
        .collect()
}

/// The tests that say what they prove, with the IDs.
fn claims() -> BTreeMap<String, BTreeSet<String>> {
    let mut claims: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for text in sources().values() {
        let mut documentation = String::new();
        for line in text.lines().map(str::trim) {
            if let Some(line) = line.strip_prefix("///") {
                documentation.push_str(line);
                documentation.push(' ');
            } else if let Some(rest) =
                line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")
            {
                let proven = documentation.contains("Proves").then(|| ids(&documentation));
                for id in proven.unwrap_or_default() {
                    let name = rest.split('(').next().unwrap().to_string();
                    claims.entry(id).or_default().insert(name);
                }
                documentation.clear();
            } else if !line.starts_with("#[") {
                documentation.clear();
            }
        }
    }
    claims
}

/// `CONFORMANCE.md` and the tests name each other, and its totals are right.
#[test]
fn the_conformance_list_is_true() {
    let text = fs::read_to_string(root().join("CONFORMANCE.md")).unwrap();
    let claims = claims();
    let mut listed = BTreeSet::new();
    let (mut of_hosts, mut deviations) = (0, 0);
    for row in text.lines().filter(|line| {
        ["| L-", "| M-", "| H-", "| SEED2-"].iter().any(|head| line.starts_with(head))
    }) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 5, "three cells: {row}");
        let (id, rule, proof) = (cells[1], cells[2], cells[3]);
        assert!(listed.insert(id.to_string()), "{id} is listed twice");
        assert!(!rule.is_empty() && !proof.is_empty(), "{row}");
        let named: BTreeSet<String> =
            proof.split('`').skip(1).step_by(2).map(String::from).collect();
        let proven = claims.get(id).cloned().unwrap_or_default();
        assert!(proven.is_subset(&named), "{id}: a test that proves it is not named: {proven:?}");
        for name in named.iter().filter(|name| name.contains('_')) {
            assert!(proven.contains(name), "{id}: no test {name} says that it proves it");
        }
        assert!(!proof.contains("not yet"), "{id}: what there is not is not claimed");
        let is_host = proof.starts_with("host:");
        assert!(proven.is_empty() == is_host, "{id}: either a test or the reason why not");
        of_hosts += usize::from(is_host);
        let deviates = row.contains("Deviation");
        assert!(!(is_host && deviates), "{id}: the host's is not ours to deviate from");
        deviations += usize::from(deviates);
    }
    let rows = listed.len();
    let of_tests = rows - of_hosts;
    let totals = format!(
        "Of {rows} rows {of_tests} are proven by tests, {deviations} of them with a deviation, and {of_hosts} are the host's."
    );
    assert!(text.lines().any(|line| line == totals), "the totals should be: {totals}");
    let unlisted: Vec<&String> = claims.keys().filter(|id| !listed.contains(*id)).collect();
    assert_eq!(unlisted, [""; 0], "proven but not listed");
}

/// Every test that the promises in the crate documentation name exists.
#[test]
fn the_promises_name_real_tests() {
    let sources = sources();
    let rows = sources["src/lib.rs"].lines().filter(|line| {
        let cell = line.strip_prefix("//! | ").and_then(|row| row.split(' ').next());
        cell.is_some_and(|cell| cell.parse::<u8>().is_ok())
    });
    let mut promises = 0;
    for row in rows {
        promises += 1;
        let proof = row.split('|').nth(3).unwrap();
        let named = proof.split('`').skip(1).step_by(2).filter(|name| name.contains('_'));
        let mut tests = 0;
        for name in named {
            let test = format!("fn {name}(");
            assert!(sources.values().any(|text| text.contains(&test)), "there is no {name}");
            tests += 1;
        }
        assert!(0 < tests, "{row}");
    }
    assert_eq!(promises, 10);
}

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

/// The README shows the example as it is.
#[test]
fn the_readme_shows_hello_server() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let sources = sources();
    let example = &sources["examples/hello_server.rs"];
    let code = &example[example.find("use ").unwrap()..];
    assert!(readme.contains(&format!("```rust\n{code}```\n")));
    assert!(example.lines().count() < 40);
}

/// Whatever a document links to is there, and a test that it names is in the file.
#[test]
fn documents_link_to_what_is_there() {
    let mut links = 0;
    for document in ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"] {
        let text = fs::read_to_string(root().join(document)).unwrap();
        for (shown, behind) in text.split("](").zip(text.split("](").skip(1)) {
            let target = behind.split(')').next().unwrap();
            if target.starts_with("http") {
                continue;
            }
            links += 1;
            let path = root().join(target);
            assert!(path.exists(), "{document} links to {target}");
            let name = shown.rsplit('[').next().unwrap().trim_matches('`');
            if name.starts_with("promise_") {
                let test = format!("fn {name}()");
                assert!(fs::read_to_string(path).unwrap().contains(&test), "{document}: {name}");
            }
        }
    }
    assert!(15 < links, "only {links} links were found");
}

/// From the ground up: each layer uses only those before it.
const LAYERS: [&str; 21] = [
    "base64",
    "time",
    "version",
    "capability",
    "limits",
    "error",
    "handle",
    "json",
    "frame",
    "rpc",
    "model",
    "dialect",
    "session",
    "subscription",
    "pagination",
    "task",
    "peer",
    "server",
    "client",
    "http",
    "testing",
];

/// Proves M-ARCH-10: the core knows nothing of HTTP.
#[test]
fn each_layer_uses_only_those_below_it() {
    let rank = |name: &str| LAYERS.iter().position(|layer| *layer == name);
    let mut uses = 0;
    for (name, text) in sources() {
        let Some(layer) = name.strip_prefix("src/") else { continue };
        let layer = layer.split(['/', '.']).next().unwrap();
        let Some(own) = rank(layer).filter(|_| !is_test(&name)) else { continue };
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for used in line.split("crate::").skip(1) {
                let used = used.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
                let Some(used) = rank(used) else { continue };
                assert!(used <= own, "{name}: {line}");
                uses += usize::from(used < own);
            }
        }
    }
    assert!(500 < uses, "only {uses} uses were found");
}
