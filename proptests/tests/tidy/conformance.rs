//! The conformance pages: what the protocol asks, and the tests that prove it.
//!
//! `proptests/conformance/catalogue.tsv` has the requirements, `pains.tsv` beside it has failures of other
//! implementations, and the doc comments of tests say what they prove (`Proves L-CANCEL-07`, `Pain 12`). The
//! pages are written from the three by `WRITE_CONFORMANCE=1`, and compared with them otherwise.

mod catalogue;
mod claims;
mod pages;

use std::collections::BTreeSet;
use std::env;
use std::fs;

pub(crate) use catalogue::SpecificationPages;
use catalogue::{Note, Requirement};
use claims::Claims;

use crate::root;

const WRITE: &str =
    "WRITE_CONFORMANCE=1 cargo test -p mcp-sansio-proptests --test tidy conformance::";

/// Each requirement has a test or a note that the host keeps it, and each claimed id is in the catalogue.
#[test]
fn each_requirement_is_proven_or_the_hosts() {
    let requirements = catalogue::requirements();
    let claims = Claims::of_requirements();
    let mut listed = BTreeSet::new();
    for requirement in &requirements {
        let Requirement { id, note, .. } = requirement;
        assert!(listed.insert(id.as_str()), "{id} is in the catalogue twice");
        let is_host = matches!(note, Note::Host(_));
        assert_eq!(claims.of(id).is_empty(), is_host, "{id}: either a test or the reason why not");
    }
    let unlisted: Vec<&str> = claims.names().filter(|id| !listed.contains(id)).collect();
    assert_eq!(unlisted, [""; 0], "proven, but not in the catalogue");
}

/// Each requirement says where it comes from: a page of the specification that exists.
#[test]
fn each_requirement_names_a_page_of_the_specification() {
    let known = SpecificationPages::read();
    for requirement in catalogue::requirements() {
        let Requirement { id, page, .. } = &requirement;
        assert!(known.has(page), "{id}: the specification has no page {page}");
    }
}

/// Each failure of other implementations has a test that shows that it does not happen here.
#[test]
fn each_pain_has_a_test() {
    let pains = catalogue::pains();
    let claims = Claims::of_pains();
    let numbers: Vec<usize> = pains.iter().map(|pain| pain.number).collect();
    assert_eq!(numbers, (1..=pains.len()).collect::<Vec<_>>());
    let unproven = |number: &usize| claims.of(&number.to_string()).is_empty();
    let unproven: Vec<usize> = numbers.iter().copied().filter(unproven).collect();
    assert_eq!(unproven, [0; 0], "no test names these pains");
    let unknown = |name: &&str| !name.parse().is_ok_and(|number| numbers.contains(&number));
    assert_eq!(claims.names().find(unknown), None, "there is no such pain");
}

/// The catalogue has every requirement of the documents that the project started from.
#[test]
fn the_catalogue_is_complete() {
    let Some(directory) = mcp_sansio_proptests::shared("requirements") else { return };
    let requirements = catalogue::requirements();
    let listed: BTreeSet<&str> = requirements.iter().map(|row| row.id.as_str()).collect();
    let mut asked = 0;
    for document in ["legacy.md", "modern.md", "http.md", "authorization.md"] {
        let text = fs::read_to_string(directory.join(document)).unwrap();
        for line in text.lines().filter(|line| line.starts_with("| ")) {
            let cell = line.split('|').nth(1).unwrap().trim();
            if ["L-", "M-", "H-", "A-"].iter().any(|series| cell.starts_with(series)) {
                assert!(listed.contains(cell), "{cell} of {document} is not in the catalogue");
                asked += 1;
            }
        }
    }
    let of_guides = listed.iter().filter(|id| id.starts_with("SEED2-")).count();
    assert_eq!(asked, listed.len() - of_guides, "the catalogue has rows that no document asks for");
}

/// The pages list what the catalogue and the tests say.
#[test]
fn the_conformance_list_is_true() {
    let written = pages::all();
    let directory = root().join("proptests/conformance");
    let old = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
    let old = old.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let left: Vec<_> =
        old.filter(|path| !written.keys().any(|name| root().join(name) == *path)).collect();
    assert!(left.is_empty(), "no longer written: {left:?}");
    for (name, text) in written {
        let path = root().join(&name);
        if env::var_os("WRITE_CONFORMANCE").is_some() {
            fs::write(path, text).unwrap();
            continue;
        }
        let present = fs::read_to_string(path).unwrap_or_default().replace("\r\n", "\n");
        assert!(present == text, "{name} is stale: {WRITE}");
    }
}
