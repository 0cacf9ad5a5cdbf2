//! Prose and names in the words of the field: subjects that name nothing are ruled out.

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
        "stand+ alone",
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

/// The parts of names that are ruled out, put together like those of [`ruled_out`].
fn ruled_out_of_names() -> Vec<String> {
    let parts = ["to+ld", "he+ard", "sa+id", "no+body", "some+body", "who+ever", "what+ever"];
    parts.iter().map(|part| part.replace('+', "")).collect()
}

/// The names after a keyword that defines one. Fields, variants and parameters are not read.
fn defined(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let keywords =
        ["fn", "struct", "enum", "trait", "mod", "let", "mut", "const", "static", "type"];
    let mut before = "";
    line.split(move |c: char| !is_part(c)).filter(|word| !word.is_empty()).filter(move |word| {
        let is_defined = keywords.contains(&before);
        before = word;
        is_defined
    })
}

#[test]
fn names_say_the_thing() {
    let (parts, mut names, mut wrong) = (ruled_out_of_names(), 0, Vec::new());
    for (name, text) in sources() {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for defined in code.flat_map(defined) {
            names += 1;
            let lower = defined.to_lowercase();
            let is_ruled_out = lower.split('_').any(|own| parts.iter().any(|part| part == own));
            if is_ruled_out || lower.starts_with("what_") {
                wrong.push(format!("{name}: {defined}"));
            }
        }
    }
    assert_eq!(wrong, [""; 0], "name the subject");
    assert!(20_000 < names, "only {names} names were read");
}
