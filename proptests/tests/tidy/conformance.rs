//! The conformance list, and the tests that say what they prove.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::{root, sources};

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
