//! The catalogue of requirements, the list of pains, and the pages of the specification: the files in
//! `proptests/conformance` that are written by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::root;

/// What a row says besides its rule.
#[derive(PartialEq)]
pub(crate) enum Note {
    None,
    /// The specification leaves a choice, or asks for more: what was chosen.
    Ruling(String),
    /// The specification asks for something else, and why it is not done.
    Deviation(String),
    /// The rule binds the application, and why the library cannot keep it.
    Host(String),
}

/// A line of the catalogue.
pub(crate) struct Requirement {
    pub(crate) id: String,
    /// One of [`LEVELS`].
    pub(crate) level: String,
    /// Letters, see [`REVISIONS`].
    pub(crate) revisions: String,
    /// Below `https://modelcontextprotocol.io/`.
    pub(crate) page: String,
    pub(crate) rule: String,
    pub(crate) note: Note,
}

/// A failure of other implementations.
pub(crate) struct Pain {
    pub(crate) number: usize,
    pub(crate) pain: String,
    /// A public report of it.
    pub(crate) evidence: Option<String>,
    pub(crate) behaviour: String,
}

/// The letters of the revisions.
pub(crate) const REVISIONS: [(char, &str); 5] = [
    ('A', "2024-11-05"),
    ('B', "2025-03-26"),
    ('C', "2025-06-18"),
    ('D', "2025-11-25"),
    ('E', "2026-07-28"),
];

/// The words of RFC 2119; `RFC` for a rule of a standard that the specification makes binding; `derived` for one
/// that follows from other rules; `interop` for one that only failures of other implementations ask for.
pub(crate) const LEVELS: [&str; 8] =
    ["MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "RFC", "derived", "interop"];

/// The lines of a file, cut at tabs, without its heading.
fn table<const CELLS: usize>(name: &str) -> Vec<[String; CELLS]> {
    let text = fs::read_to_string(root().join("proptests/conformance").join(name)).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let rows = lines.map(|line| {
        let cells: Vec<String> = line.split('\t').map(String::from).collect();
        assert!(!line.contains('|'), "{name}: a cell of a page cannot have a vertical bar: {line}");
        cells.try_into().unwrap_or_else(|_| panic!("{name}: {CELLS} cells, with tabs: {line}"))
    });
    rows.collect()
}

pub(crate) fn requirements() -> Vec<Requirement> {
    let rows = table("catalogue.tsv").into_iter();
    let rows = rows.map(|[id, level, revisions, page, rule, note]: [String; 6]| {
        assert!(LEVELS.contains(&level.as_str()), "{id}: there is no level {level}");
        let letters: BTreeSet<char> = revisions.chars().collect();
        let known = |letter: &char| REVISIONS.iter().any(|(known, _)| known == letter);
        assert!(!letters.is_empty() && letters.iter().all(known), "{id}: {revisions}");
        assert!(letters.iter().copied().eq(revisions.chars()), "{id}: {revisions} is out of order");
        assert!(!rule.is_empty(), "{id} has no rule");
        let note = match note.split_once(": ") {
            None if note.is_empty() => Note::None,
            Some(("Ruling", text)) => Note::Ruling(text.into()),
            Some(("Deviation", text)) => Note::Deviation(text.into()),
            Some(("Host", text)) => Note::Host(text.into()),
            _ => panic!("{id}: the note begins with Ruling, Deviation or Host: {note}"),
        };
        Requirement { id, level, revisions, page, rule, note }
    });
    rows.collect()
}

pub(crate) fn pains() -> Vec<Pain> {
    let rows = table("pains.tsv").into_iter();
    let rows = rows.map(|[number, pain, evidence, behaviour]: [String; 4]| {
        let evidence = (evidence != "-").then_some(evidence);
        assert!(evidence.as_ref().is_none_or(|url| url.starts_with("https://")), "{number}");
        Pain { number: number.parse().unwrap(), pain, evidence, behaviour }
    });
    rows.collect()
}

/// The pages that the site of the specification has, with their anchors.
pub(crate) struct SpecificationPages(BTreeMap<String, BTreeSet<String>>);

impl SpecificationPages {
    pub(crate) fn read() -> Self {
        let text = fs::read_to_string(root().join("proptests/conformance/pages.txt")).unwrap();
        let pages = text.lines().map(|line| {
            let mut words = line.split(' ').map(String::from);
            (words.next().unwrap(), words.collect())
        });
        Self(pages.collect())
    }

    /// Whether there is such a page, and the anchor on it: `specification/2025-11-25/basic#requests`.
    pub(crate) fn has(&self, page: &str) -> bool {
        let (path, anchor) = page
            .split_once('#')
            .map_or((page, None), |(path, _)| (path, Some(&page[path.len()..])));
        let anchors = self.0.get(path);
        anchors.is_some_and(|anchors| anchor.is_none_or(|anchor| anchors.contains(anchor)))
    }
}
