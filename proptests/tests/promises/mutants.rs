//! Each promise has an oracle in `promises.rs`; here each is broken in the core, and its oracle has to notice.
//!
//! The core is copied, every change is made in the copy so that an environment variable switches it on, and
//! the copy is built once. It needs the feature `mutants`, because it builds:
//! `cargo test -p mcp-sansio-proptests --features mutants --test mutants`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A way to break a promise.
struct Mutant {
    /// What stands in front of the names of its oracles.
    oracle: &'static str,
    file: &'static str,
    before: &'static str,
    after: &'static str,
}

const fn mutant(
    oracle: &'static str,
    file: &'static str,
    before: &'static str,
    after: &'static str,
) -> Mutant {
    Mutant { oracle, file, before, after }
}

const MUTANTS: [Mutant; 14] = [
    // More brackets are closed than were open.
    mutant("promise_1_no", "src/peer/noise.rs", "open.checked_sub(1)?", "open - 1"),
    mutant("promise_2_", "src/peer/timers.rs", EXPIRED, "super::Cancellation::Withdrawn"),
    mutant("promise_3_", "src/peer/noise.rs", RESPONSES, "false"),
    // An answer ends whatever call was made first.
    mutant("promise_2_", "src/rpc/outbound.rs", "self.table.place_of(index)", "self.table.first()"),
    mutant(
        "promise_3_",
        "src/peer/exchanges.rs",
        "self.drop_exchange(place, Ending::Cancelled)",
        "None",
    ),
    mutant(
        "promise_4_",
        "src/peer/cancel.rs",
        "out.lane(entry.lane).withdraw(serial, call)",
        "false",
    ),
    // The peer is never told that a call was given up.
    mutant("promise_4_", "src/peer/cancel.rs", "self.send_cancelled(lane, id, reason, out)", "()"),
    mutant(
        "promise_5_chunks",
        "src/frame/inbox.rs",
        "self.frame_bytes + MARGIN < pending.len()",
        "true",
    ),
    mutant(
        "promise_5_messages",
        "src/frame/queue.rs",
        "self.buffer.copy_within(end.., start)",
        "()",
    ),
    mutant(
        "promise_6_",
        "src/peer/exchanges.rs",
        "limits.inbound_requests <= self.inbound.len()",
        "false",
    ),
    mutant(
        "promise_7_",
        "src/rpc/outbound.rs",
        "self.next_id += 1",
        "self.next_id += 1 + crate::noise()",
    ),
    mutant(
        "promise_8_",
        "src/peer/receive.rs",
        "let bytes = frame.bytes();\n        let envelope",
        ALLOCATES,
    ),
    mutant("promise_9_", "src/model/content.rs", "Ok(Self::Unknown(Raw::trusted(text)))", FORGETS),
    mutant("promise_10_", "src/json/raw.rs", SHOWN, "write!(formatter, \"{kind} {}\", self.text)"),
];

const EXPIRED: &str =
    r#"self.give_up(call, GivenUp::TimedOut, Some("the request timed out"), out)"#;
const RESPONSES: &str = "matches!(intent, Intent::Notification | Intent::Response)";
const ALLOCATES: &str =
    "let bytes = frame.bytes();\n        drop(alloc::boxed::Box::new(0_u8));\n        let envelope";
const FORGETS: &str = "Ok(Self::Unknown(Raw::trusted(\"{}\")))";
const SHOWN: &str = "write!(formatter, \"Raw({kind}, {} bytes)\", self.text.len())";

/// What the copy has beside: which change is on, and something that is not the same twice.
const SWITCH: &str = r#"
/// Whether a change is on.
pub(crate) fn is_on(number: usize) -> bool {
    static NUMBER: std::sync::OnceLock<Option<usize>> = std::sync::OnceLock::new();
    let read = || std::env::var("MUTANT").ok().and_then(|number| number.parse().ok());
    *NUMBER.get_or_init(read) == Some(number)
}

/// Something that is not the same twice.
pub(crate) fn noise() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| u64::from(now.subsec_nanos() / 7 % 5))
}
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Copies what the tests are built of.
fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
        return;
    }
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().is_some_and(|name| name != "target") {
            copy(&path, &to.join(path.file_name().unwrap()));
        }
    }
}

/// Makes every change in the copy, each behind its switch.
fn change(copy: &Path) {
    for (number, mutant) in MUTANTS.iter().enumerate() {
        let path = copy.join(mutant.file);
        let text = fs::read_to_string(&path).unwrap();
        let Mutant { before, after, .. } = mutant;
        assert!(text.contains(before), "{} has no {before:?} any more", mutant.file);
        let changed = match before.strip_prefix("let ") {
            // What follows needs the variable.
            Some(_) => {
                let (first, rest) = before.split_once(";\n").unwrap();
                let extra = after.strip_prefix(first).unwrap().strip_suffix(rest).unwrap();
                let extra = extra.trim_start_matches(';').trim();
                format!("{first};\nif crate::is_on({number}) {{ {extra} }}\n{rest}")
            }
            None => format!("(if crate::is_on({number}) {{ {after} }} else {{ {before} }})"),
        };
        fs::write(&path, text.replacen(before, &changed, 1)).unwrap();
    }
    let lib = copy.join("src/lib.rs");
    let text = fs::read_to_string(&lib).unwrap();
    fs::write(&lib, text.replace("#![forbid(unsafe_code)]", "") + SWITCH).unwrap();
}

/// Builds the oracles in the copy, and gives the program.
fn build(copy: &Path) -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["test", "--offline", "--no-run", "--message-format=short"])
        .args(["--package", "mcp-sansio-proptests", "--test", "promises"])
        .env("CARGO_TARGET_DIR", root().join("target"))
        .current_dir(copy)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let line = said.lines().find(|line| line.contains("Executable")).unwrap();
    let path = line.split_once('(').unwrap().1.trim_end_matches(')');
    copy.join(path)
}

fn run(program: &Path, oracle: &str, mutant: Option<usize>) -> Output {
    let mut command = Command::new(program);
    command.arg(oracle).env_remove("MUTANT").env("RUST_BACKTRACE", "0");
    if let Some(number) = mutant {
        command.env("MUTANT", number.to_string());
    }
    command.output().unwrap()
}

/// A change that no oracle notices would be a hole; so would be a promise without a change.
#[test]
fn each_broken_promise_is_noticed_by_its_oracle() {
    let copied = root().join("target").join("mutants");
    if copied.exists() {
        fs::remove_dir_all(&copied).unwrap();
    }
    for part in [
        "Cargo.toml",
        "Cargo.lock",
        "README.md",
        "src",
        "adapters",
        "proptests",
        "examples",
        "benches",
    ] {
        copy(&root().join(part), &copied.join(part));
    }
    change(&copied);
    let program = build(&copied);
    let whole = run(&program, "promise_", None);
    assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stdout));
    let mut survivors = Vec::new();
    for (number, mutant) in MUTANTS.iter().enumerate() {
        let output = run(&program, mutant.oracle, Some(number));
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(!said.contains("running 0 tests"), "there is no oracle {}", mutant.oracle);
        assert!(!said.contains("ANOTHER, "), "{}: not its own: {said}", mutant.oracle);
        println!("{} in {}: noticed {}", mutant.oracle, mutant.file, !output.status.success());
        if output.status.success() {
            survivors.push((mutant.oracle, mutant.file, mutant.before));
        }
    }
    assert_eq!(survivors, []);
    for promise in 1..=10 {
        let name = format!("promise_{promise}_");
        assert!(MUTANTS.iter().any(|mutant| mutant.oracle.starts_with(&name)), "{name}");
    }
}
