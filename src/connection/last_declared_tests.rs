//! Remembered capabilities mean what they meant when they were read.

use alloc::format;
use alloc::string::String;
use alloc::vec;

use super::*;
use crate::capability::Capability;
use crate::config::CacheHints;
use crate::connection::claim::Claim;
use crate::connection::identity::{Identity, key};
use crate::json::Object;
use crate::version::RevisionSet;

/// Texts of capabilities: known ones, texts of the same length, extensions of this side and of nobody, malformed and long
/// ones.
fn texts() -> [String; 12] {
    [
        "{}".into(),
        "[]".into(),
        r#"{"roots":{}}"#.into(),
        r#"{"boots":{}}"#.into(),
        r#"{"sampling":{"tools":{}}}"#.into(),
        r#"{"sampling":{"fools":{}}}"#.into(),
        r#"{"sampling":true}"#.into(),
        r#"{"elicitation":{"url":{}},"extensions":{"com.example/a":{}}}"#.into(),
        r#"{"elicitation":{"url":{}},"extensions":{"com.example/b":{}}}"#.into(),
        r#"{"extensions":{"com.example/none":{}}}"#.into(),
        format!(r#"{{"roots":{{}},"x":"{}"}}"#, "a".repeat(LastDeclared::LONGEST)),
        format!(r#"{{"boots":{{}},"x":"{}"}}"#, "a".repeat(LastDeclared::LONGEST)),
    ]
}

fn identity() -> Identity {
    let extensions = vec!["com.example/a".into(), "com.example/b".into()];
    Identity::of_server(None, CapabilitySet::NONE, CacheHints::default(), extensions)
}

fn claim(capabilities: &str, own: &Identity, last: Option<&mut LastDeclared>) -> String {
    let meta =
        format!(r#"{{"{}":"2026-07-28","{}":{capabilities}}}"#, key::VERSION, key::CAPABILITIES);
    format!("{:?}", Claim::read(Some(&Object::of(&meta)), RevisionSet::ALL, own, last))
}

/// Proves M-META-07
#[test]
fn what_is_remembered_means_what_is_read() {
    let own = identity();
    let mut last = LastDeclared::NONE;
    for first in &texts() {
        for second in &texts() {
            for text in [first, second, second, first] {
                let remembered = claim(text, &own, Some(&mut last));
                assert_eq!(remembered, claim(text, &own, None), "{text} after {first}");
            }
        }
    }
}

#[test]
fn equal_text_is_not_read_again() {
    let mut last = LastDeclared::NONE;
    let roots = CapabilitySet::NONE.with(Capability::Roots);
    let meaning = Meaning { capabilities: roots, extensions: ExtensionSet::default() };
    let text = r#"{"roots":{}}"#;
    assert_eq!(last.meaning_of(text, |_| Some(meaning)), Some(meaning));
    assert_eq!(last.meaning_of(text, |_| unreachable!("it is remembered")), Some(meaning));
    // What cannot be read, or is too long, leaves the memory as it is.
    assert_eq!(last.meaning_of("[]", |_| None), None);
    let long = "a".repeat(LastDeclared::LONGEST + 1);
    assert_eq!(last.meaning_of(&long, |_| Some(meaning)), Some(meaning));
    assert_eq!(last.meaning_of(text, |_| unreachable!("it is remembered")), Some(meaning));
    // The text is the peer's and no state of the machine.
    assert_eq!(format!("{last:?}"), "LastDeclared(12 bytes)");
    assert_eq!(last, LastDeclared::NONE);
}
