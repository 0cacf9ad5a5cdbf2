//! What documents say of the repository.

use std::fs;

use crate::conformance::SpecificationPages;
use crate::{root, sources};

/// The documents at the root.
const DOCUMENTS: [&str; 5] =
    ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];

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

/// The README shows the examples as they are.
#[test]
fn the_readme_shows_a_server_and_a_client() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let sources = sources();
    for name in ["examples/hello_server.rs", "examples/hello_client.rs"] {
        let example = &sources[name];
        let code = &example[example.find("use ").unwrap()..];
        assert!(readme.contains(&format!("```rust\n{code}```\n")), "{name}");
        assert!(example.lines().count() < 40, "{name}");
    }
}

/// Whatever a document links to is there, and a test that it names is in the file.
#[test]
fn documents_link_to_existing_files_and_tests() {
    let mut links = 0;
    for document in DOCUMENTS {
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

/// A link to the specification leads to a page and a heading that it has.
#[test]
fn links_lead_to_pages_of_the_specification() {
    const SITE: &str = "https://modelcontextprotocol.io/";
    let known = SpecificationPages::read();
    let mut texts = sources();
    for document in DOCUMENTS {
        texts.insert(document.into(), fs::read_to_string(root().join(document)).unwrap());
    }
    for entry in fs::read_dir(root().join("src/manual")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            texts.insert(path.display().to_string(), fs::read_to_string(&path).unwrap());
        }
    }
    let mut links = 0;
    for (name, text) in &texts {
        for link in text.split(SITE).skip(1) {
            let end = |next: char| next.is_whitespace() || ")>\"`{".contains(next);
            let page = link.split(end).next().unwrap();
            // The front page, which leads to the newest revision.
            if !page.is_empty() && page != "specification" {
                links += 1;
                assert!(known.has(page), "{name}: the specification has no page {page}");
            }
        }
    }
    assert!(80 < links, "only {links} links were found");
}

/// The root of the crate is what a newcomer reads first: few names, the rest in modules with themes.
#[test]
fn the_root_of_the_crate_has_few_names() {
    let sources = sources();
    let root = &sources["src/lib.rs"];
    let exports = root.split("\npub use ").skip(1).map(|rest| rest.split(';').next().unwrap());
    let names: Vec<&str> = exports
        .flat_map(|export| export.rsplit("::").next().unwrap().split(','))
        .map(|name| name.trim_matches(|c: char| !c.is_alphanumeric() && c != '_'))
        // Modules are themes; what counts are the types.
        .filter(|name| name.starts_with(char::is_uppercase))
        .collect();
    assert!(names.contains(&"Server") && names.contains(&"Outbox"), "{names:?}");
    assert!(names.len() <= 40, "{}: {names:?}", names.len());
}

/// A reader of the documentation of a role sees its methods and those of `Connection`, which it dereferences to.
#[test]
fn a_role_has_few_methods() {
    let sources = sources();
    let methods = |of: &str| {
        let mut names = Vec::new();
        for text in
            sources.iter().filter(|(name, _)| name.starts_with("src/")).map(|(_, text)| text)
        {
            for block in text.split(&format!("\nimpl {of} {{\n")).skip(1) {
                let block = block.split("\n}\n").next().unwrap();
                let public = block.lines().filter_map(|line| line.strip_prefix("    pub "));
                let functions =
                    public.filter_map(|line| line.trim_start_matches("const ").strip_prefix("fn "));
                names.extend(
                    functions.map(|name| name.split(['(', '<']).next().unwrap().to_owned()),
                );
            }
        }
        names
    };
    let shared = methods("Connection");
    assert!(shared.iter().any(|name| name == "respond"), "{shared:?}");
    for (role, known) in [("Server", "require_input"), ("Client", "connect")] {
        let own = methods(role);
        assert!(own.iter().any(|name| name == known), "{own:?}");
        let all = shared.len() + own.len();
        assert!(all <= 40, "{role}: {all}: {shared:?} {own:?}");
    }
}
