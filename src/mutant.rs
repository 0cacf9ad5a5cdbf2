//! Mutants: defects that can be switched on, to see that a test notices them.
//!
//! `mutant!("name")` is `false` in every build but one with `--cfg mutants`, where the environment variable
//! `MUTANT` names the defect of this process. `.ci/run mutants` makes that build, and runs the tests named in
//! `proptests/tests/promises/mutants.rs` once for each name.

/// Whether the defect of this name is switched on.
#[cfg(not(mutants))]
macro_rules! mutant {
    ($name:literal) => {
        false
    };
}

/// Whether the defect of this name is switched on.
#[cfg(mutants)]
macro_rules! mutant {
    ($name:literal) => {
        crate::mutant::is_on($name)
    };
}

/// Whether this process has the defect of this name.
#[cfg(mutants)]
pub(crate) fn is_on(name: &str) -> bool {
    static SWITCHED_ON: std::sync::OnceLock<Option<std::string::String>> =
        std::sync::OnceLock::new();
    SWITCHED_ON.get_or_init(|| std::env::var("MUTANT").ok()).as_deref() == Some(name)
}

/// A number that differs from call to call.
#[cfg(mutants)]
pub(crate) fn noise() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| u64::from(now.subsec_nanos() / 7 % 5))
}
