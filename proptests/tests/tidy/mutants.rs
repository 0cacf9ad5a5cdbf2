//! The switches of mutants and the list of the tests that notice them.

use std::collections::BTreeSet;

use crate::sources;

/// Every switch in the core has its oracle, and every oracle has a switch to notice: one place each.
#[test]
fn every_mutant_has_its_oracle() {
    let sources = sources();
    let mut switches = Vec::new();
    for (_, text) in sources.iter().filter(|(name, _)| name.starts_with("src/")) {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for part in code.flat_map(|line| line.split("mutant!(\"").skip(1)) {
            switches.push(part.split('"').next().unwrap());
        }
    }
    let list = &sources["proptests/tests/promises/mutants.rs"];
    let rows = list.lines().filter_map(|line| line.trim().strip_prefix("(\""));
    let listed: Vec<&str> = rows.map(|row| row.split('"').next().unwrap()).collect();
    let unique: BTreeSet<&str> = switches.iter().copied().collect();
    assert_eq!(unique.len(), switches.len(), "a switch is in two places: {switches:?}");
    assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), unique);
    assert_eq!(listed.len(), unique.len(), "a switch is listed twice");
    assert!(10 <= unique.len(), "only {} were found", unique.len());
}
