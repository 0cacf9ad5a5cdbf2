//! Mutants: defects that can be enabled to check that a test detects them.
//!
//! `mutant!("name")` is `false` except in a build with `--cfg mutants`, in which the environment variable `MUTANT`
//! names the defect of the process. `.ci/run mutants` makes that build, and runs the tests named in
//! `proptests/tests/promises/mutants.rs` once for each name.

/// Whether the defect of this name is enabled.
#[cfg(not(mutants))]
macro_rules! mutant {
    ($name:literal) => {
        false
    };
}

/// Whether the defect of this name is enabled.
#[cfg(mutants)]
macro_rules! mutant {
    ($name:literal) => {
        crate::mutant::is_on($name)
    };
}

/// Whether the defect of this name is enabled in this process.
#[cfg(mutants)]
pub(crate) fn is_on(name: &str) -> bool {
    static SWITCHED_ON: std::sync::OnceLock<Option<std::string::String>> =
        std::sync::OnceLock::new();
    SWITCHED_ON.get_or_init(|| std::env::var("MUTANT").ok()).as_deref() == Some(name)
}

/// Returns a number that differs from call to call.
#[cfg(mutants)]
pub(crate) fn noise() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| u64::from(now.subsec_nanos() / 7 % 5))
}
