//! What the parts of the core may use.

use crate::{is_test, sources};

/// The differences between revisions and eras are tables of `dialect` and rows of `model`. Besides these only `version.rs`,
/// routing and negotiation compare them, because they decide which era a request or a connection belongs to.
#[test]
fn only_the_dialect_compares_revisions_and_eras() {
    let decides = [
        "src/version.rs",
        "src/connection/context.rs",
        "src/connection/request.rs",
        "src/connection/routing.rs",
        "src/client/negotiation.rs",
    ];
    let mut searched = 0;
    for (name, text) in sources().into_iter().filter(|(name, _)| name.starts_with("src/")) {
        if name.starts_with("src/dialect/") || decides.contains(&&*name) || is_test(&name) {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let asks = ["Revision::V2", "match revision", "match session.revision", "Era::"];
            let compares = ["revision <", "revision >", "revision ==", "revision !="];
            let eras = ["is_modern", ".era()"];
            let rows = ["since(Revision::", "before(Revision::", ".in_kind_since("];
            if name.starts_with("src/model/") && rows.iter().any(|row| line.contains(row)) {
                continue;
            }
            for word in asks.into_iter().chain(compares).chain(eras) {
                assert!(!line.contains(word), "{name}: {line}");
            }
            searched += 1;
        }
    }
    assert!(20_000 < searched, "only {searched} lines were searched");
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
        // The counter of steps is no part of any other build.
        if is_test(&name) || name == "src/work.rs" {
            continue;
        }
        for code in text.lines().filter_map(|line| line.split("//").next()) {
            let word = banned.iter().find(|word| code.contains(*word));
            assert_eq!(word, None, "{name}");
        }
    }
}

/// From the ground up: each layer uses only those before it.
const LAYERS: [&str; 26] = [
    "json",
    "base64",
    "time",
    "version",
    "capability",
    "limits",
    "codes",
    "handle",
    "schema",
    "frame",
    "rpc",
    "model",
    "dialect",
    "config",
    "session",
    "interests",
    "pagination",
    "task",
    "connection",
    "server",
    "client",
    "role",
    "byte_stream",
    "http",
    "auth",
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
                // By the root it would come past the layers.
                assert!(!used.starts_with(char::is_uppercase), "{name}: {line}");
                let Some(used) = rank(used) else { continue };
                assert!(used <= own, "{name}: {line}");
                uses += usize::from(used < own);
            }
        }
    }
    assert!(500 < uses, "only {uses} uses were found");
}
