//! What files and lines look like.

use crate::{is_test, sources};

#[test]
fn source_files_are_short_and_have_a_header() {
    for (name, text) in sources() {
        let lines = text.lines().count();
        assert!(lines < 500 || is_test(&name), "{name} has {lines} lines");
        assert!(text.starts_with("//!") || name.ends_with("tests.rs"), "{name} has no header");
        assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{name} ends oddly");
    }
}

#[test]
fn lines_fit_and_hold_nothing_unfinished() {
    // Put together here so that this file does not hold them itself.
    let unfinished = ["TODO", "FIXME", "XXX"].map(String::from).into_iter();
    let macros = ["todo", "dbg", "unimplemented"].map(|name| format!("{name}!("));
    let banned: Vec<String> = unfinished.chain(macros).chain([String::from("#[ignore")]).collect();
    for (name, text) in sources().into_iter().filter(|(name, _)| !name.contains("/tests/tidy/")) {
        for (number, line) in text.lines().enumerate() {
            let place = format!("{name}:{}", number + 1);
            assert!(!line.contains('\t'), "{place} has a tab");
            let banned = banned.iter().find(|word| line.contains(*word));
            assert_eq!(banned, None, "{place}");
            // Tests and examples hold messages, which are one line each.
            let holds_message = is_test(&name) || line.contains("r#\"") || line.contains("const ");
            let fits = line.chars().count() <= 100 || holds_message || line.contains("](http");
            assert!(fits || line.trim_start().starts_with(['"', '/']), "{place} is too long");
        }
    }
}
