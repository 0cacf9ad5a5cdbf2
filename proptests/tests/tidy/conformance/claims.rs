//! Claims: the ids of requirements and the numbers of pains in doc comments of tests.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources;

/// A test: where it is, and its name.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Test {
    pub(crate) name: String,
    pub(crate) file: String,
}

/// What is proven, with the tests that say so.
pub(crate) struct Claims(BTreeMap<String, BTreeSet<Test>>);

impl Claims {
    /// Requirements by their ids, of doc comments with the word "Proves".
    pub(crate) fn of_requirements() -> Self {
        Self::find(|comment| if comment.contains("Proves") { ids(comment) } else { Vec::new() })
    }

    /// Pains by their numbers.
    pub(crate) fn of_pains() -> Self {
        Self::find(pains)
    }

    /// The tests for one id or number.
    pub(crate) fn of(&self, name: &str) -> Vec<&Test> {
        self.0.get(name).into_iter().flatten().collect()
    }

    /// Every id or number that a test names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    fn find(named: impl Fn(&str) -> Vec<String>) -> Self {
        let mut claims: BTreeMap<String, BTreeSet<Test>> = BTreeMap::new();
        for (file, text) in sources() {
            let mut comment = String::new();
            for line in text.lines().map(str::trim) {
                if let Some(line) = line.strip_prefix("///") {
                    comment.push_str(line);
                    comment.push(' ');
                } else if let Some(rest) = function(line) {
                    for id in named(&comment) {
                        let name = rest.split(['(', '<']).next().unwrap().to_string();
                        claims.entry(id).or_default().insert(Test { name, file: file.clone() });
                    }
                    comment.clear();
                } else if !line.starts_with("#[") {
                    comment.clear();
                }
            }
        }
        Self(claims)
    }
}

/// What follows `fn`, if the line begins a function.
fn function(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub(crate) ").unwrap_or(line);
    line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")
}

/// The ids of requirements in a text: `L-CANCEL-07`, `M-RPC-05a` or `SEED2-07`.
pub(crate) fn ids(text: &str) -> Vec<String> {
    let words = text.split(|next: char| !next.is_ascii_alphanumeric() && next != '-');
    words.filter(|word| is_id(word)).map(String::from).collect()
}

fn is_id(word: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|next| next.is_ascii_digit());
    if let Some(number) = word.strip_prefix("SEED2-") {
        return number.len() == 2 && is_number(number);
    }
    let parts: Vec<&str> = word.split('-').collect();
    let [series, topic, number] = parts[..] else { return false };
    matches!(series, "L" | "M" | "H" | "A")
        && !topic.is_empty()
        && topic.chars().all(|next| next.is_ascii_uppercase())
        && is_number(number.strip_suffix('a').unwrap_or(number))
}

/// The numbers after "Pain" or "Pains": `Pain 7`, `Pains 12, 14 and 16`.
fn pains(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut listing = false;
    for word in text.split_whitespace() {
        let number = word.trim_end_matches([',', '.', ':', ';', ')']);
        listing = if word.trim_start_matches('(').starts_with("Pain") {
            true
        } else if listing && number.chars().all(|next| next.is_ascii_digit()) {
            found.push(number.to_string());
            number == word || word.ends_with(',')
        } else {
            listing && word == "and"
        };
    }
    found
}
