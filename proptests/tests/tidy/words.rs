//! Prose in the words of the field: subjects that name nothing are ruled out.

use std::fs;

use crate::{is_test, root, sources};

/// The words that are ruled out, put together so that this file does not hold them itself.
fn ruled_out() -> Vec<String> {
    let words = [
        "who+ever",
        "no+body",
        "some+body",
        "any+body",
        "to+ld",
        "comes of+ it",
        "came of+ it",
        "had its+ day",
        "means no+ good",
        "for+ ever",
        "in+ vain",
        "stands+ alone",
    ];
    words.iter().map(|word| word.replace('+', "")).collect()
}

/// The prose of a line: of a source its comment, of a page all of it.
fn prose<'l>(name: &str, line: &'l str) -> Option<&'l str> {
    if !name.ends_with(".rs") {
        return Some(line);
    }
    let comment = line.trim_start();
    comment.starts_with("//").then(|| comment.trim_start_matches(['/', '!']).trim_start())
}

/// The sources of the core and of the adapters, and the pages for readers.
fn texts() -> Vec<(String, String)> {
    let is_meant = |name: &str| name.starts_with("src/") || name.starts_with("adapters/");
    let mut texts: Vec<(String, String)> =
        sources().into_iter().filter(|(name, _)| is_meant(name) && !is_test(name)).collect();
    let pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"];
    let mut paths: Vec<_> = pages.map(|page| root().join(page)).into();
    for entry in fs::read_dir(root().join("src/manual")).unwrap() {
        paths.push(entry.unwrap().path());
    }
    for path in paths.iter().filter(|path| path.extension().is_some_and(|end| end == "md")) {
        let name = path.file_name().unwrap().to_str().unwrap();
        texts.push((name.to_owned(), fs::read_to_string(path).unwrap()));
    }
    texts
}

#[test]
fn prose_names_its_subjects() {
    let (words, mut lines) = (ruled_out(), 0);
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    for (name, text) in texts() {
        for (number, line) in text.lines().enumerate() {
            let Some(prose) = prose(&name, line) else { continue };
            lines += 1;
            let lower = prose.to_lowercase();
            for word in &words {
                let found = lower.match_indices(word.as_str()).any(|(at, _)| {
                    let (before, after) = (&lower[..at], &lower[at + word.len()..]);
                    !is_letter(before.chars().last()) && !is_letter(after.chars().next())
                });
                assert!(!found, "{name}:{}: `{word}`: {prose}", number + 1);
            }
            // Only a question may begin so.
            let begins = prose.starts_with("What ") && !prose.contains('?');
            assert!(!begins, "{name}:{}: name the subject: {prose}", number + 1);
        }
    }
    assert!(15_000 < lines, "only {lines} lines were read");
}
