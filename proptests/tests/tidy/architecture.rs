//! `ARCHITECTURE.md` names files and functions that there are.

use std::collections::BTreeSet;
use std::fs;

use crate::{is_test, root, sources};

/// The page without its drawing.
fn page() -> String {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    page.split("```").step_by(2).collect()
}

/// The names in backticks.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// A name that is a path, from the root of the repository or from `src`; methods of MCP have slashes, too.
fn is_path(name: &str) -> bool {
    let is_from_root = ["src/", "adapters/", "proptests/"].iter().any(|at| name.starts_with(at));
    name.contains('/') && (is_from_root || name.contains('.'))
}

#[test]
fn its_files_are_there() {
    let page = page();
    let mut paths = 0;
    for name in names(&page).filter(|name| is_path(name)) {
        let is_there = [root(), root().join("src")].iter().any(|base| base.join(name).exists());
        assert!(is_there, "there is no {name}");
        paths += 1;
    }
    assert!(60 < paths, "only {paths} paths were found");
}

/// The rows of the journeys: what happens, in which functions, in which files.
#[test]
fn its_functions_are_in_their_files() {
    let mut functions = 0;
    let page = page();
    let (journeys, _) = page.split_once("## Where each promise is kept").unwrap();
    for row in journeys.lines().filter(|line| line.starts_with('|') && line.contains('`')) {
        let cells: Vec<&str> = row.split('|').collect();
        let [_, _, code, files, _] = cells[..] else { continue };
        let files: String =
            names(files).map(|path| fs::read_to_string(root().join(path)).unwrap()).collect();
        for name in names(code) {
            let last = name.rsplit("::").next().unwrap();
            let is_type = last.starts_with(char::is_uppercase);
            // A variant is written like a type.
            let kinds: &[&str] = if is_type { &["struct ", "enum ", " "] } else { &["fn "] };
            let is_there = kinds.iter().any(|kind| {
                let end = |next: char| !next.is_alphanumeric() && next != '_';
                let defined = format!("{kind}{last}");
                files
                    .match_indices(&defined)
                    .any(|(at, _)| files[at + defined.len()..].starts_with(end))
            });
            assert!(is_there, "{name} is not in the files of {row}");
            functions += 1;
        }
    }
    assert!(50 < functions, "only {functions} functions were found");
}

/// The recipe of a new method lists every file that knows a method which is there: the one for completion.
#[test]
fn the_recipe_of_a_method_lists_its_files() {
    const MOST: usize = 10;
    let page = page();
    let (_, recipe) = page.split_once("### A new method").unwrap();
    let recipe = recipe.split("\n#").next().unwrap();
    let listed: BTreeSet<&str> = recipe
        .lines()
        .filter(|line| line.starts_with("- "))
        .filter_map(|line| names(line).next())
        .collect();
    assert!(listed.len() <= MOST, "a new method touches {} files", listed.len());
    let knows = |text: &str| {
        let types = ["CompleteParams", "CompleteResult"];
        let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        text.contains("completion/complete") || words.any(|word| types.contains(&word))
    };
    let mut found = 0;
    for (name, text) in sources() {
        let is_inside = name.starts_with("src/") || name.starts_with("adapters/driver/src/");
        if is_inside && !is_test(&name) && knows(&text) {
            assert!(listed.contains(&*name), "{name} is not in the recipe");
            found += 1;
        }
    }
    assert!(4 < found, "only {found} files know the method");
}
