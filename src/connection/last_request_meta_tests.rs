//! A cached `_meta` gives the same result as parsing it.

use alloc::format;
use alloc::string::String;
use alloc::vec;

use super::*;
use crate::capability::CapabilitySet;
use crate::config::CacheHints;
use crate::connection::identity::Identity;
use crate::json::{Envelope, Member};
use crate::version::RevisionSet;

const VERSION: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;

/// Variants of the `_meta` of a client: texts of the same length, known and unknown extensions, other members before,
/// after and between the reserved ones, malformed and long ones.
fn metas() -> [String; 16] {
    let with = |capabilities: &str| {
        format!(r#"{VERSION},"io.modelcontextprotocol/clientCapabilities":{capabilities}"#)
    };
    let level = |name: &str| format!(r#""io.modelcontextprotocol/logLevel":"{name}""#);
    [
        String::new(),
        VERSION.into(),
        with("{}"),
        with("[]"),
        with(r#"{"roots":{}}"#),
        with(r#"{"boots":{}}"#),
        with(r#"{"sampling":true}"#),
        with(r#"{"extensions":{"com.example/a":{}}}"#),
        with(r#"{"extensions":{"com.example/b":{}}}"#),
        format!(r#""progressToken":1,{},"traceparent":"x""#, with("{}")),
        format!("{},{}", with("{}"), level("error")),
        format!("{},{}", level("debug"), with("{}")),
        format!(r#"{},"progressToken":1,{}"#, with("{}"), level("error")),
        format!(
            "{},{}",
            with("{}"),
            r#""io.modelcontextprotocol/clientCapabilities":{"roots":{}}"#
        ),
        with("{}").replace("2026-07-28", "2099-01-01"),
        with(&format!(r#"{{"roots":{{}},"x":"{}"}}"#, "a".repeat(KnownMembers::LONGEST))),
    ]
}

fn identity() -> Identity {
    let extensions = vec!["com.example/a".into(), "com.example/b".into()];
    Identity::of_server(None, CapabilitySet::NONE, CacheHints::default(), extensions)
}

fn frame(meta: &str) -> String {
    format!(r#"{{"id":1,"method":"ping","params":{{"_meta":{{{meta}}}}}}}"#)
}

/// Returns the parsed `_meta` of a frame, with this cache or without any.
fn request_meta(meta: &str, own: &Identity, last: Option<&mut LastRequestMeta>) -> String {
    let frame = frame(meta);
    let envelope = Envelope::scan(frame.as_bytes(), 128);
    let meta = envelope.object(Member::ParamsMeta);
    let read = || RequestMeta::read(meta.as_ref(), RevisionSet::ALL, own);
    let request_meta = match last {
        Some(last) => last.of(meta.as_ref(), read),
        None => read(),
    };
    format!("{request_meta:?}")
}

/// Proves M-META-07
#[test]
fn remembered_request_meta_equals_freshly_parsed_meta() {
    let own = identity();
    let mut last = LastRequestMeta::NONE;
    for first in &metas() {
        for second in &metas() {
            for meta in [first, second, second, first] {
                let remembered = request_meta(meta, &own, Some(&mut last));
                assert_eq!(remembered, request_meta(meta, &own, None), "{meta} after {first}");
            }
        }
    }
}

/// The formula of `Limits` contains 800 bytes.
#[test]
fn a_memory_is_no_larger_than_the_formula_says() {
    let own = identity();
    let mut last = LastRequestMeta::NONE;
    // Texts of growing length, up to the longest.
    let around = metas()[2].len() + r#""x":"""#.len();
    for length in (around..=KnownMembers::LONGEST).step_by(4) {
        let long = format!(r#"{{"x":"{}"}}"#, "a".repeat(length - around));
        let meta = metas()[2].replace(r#"Capabilities":{}"#, &format!(r#"Capabilities":{long}"#));
        request_meta(&meta, &own, Some(&mut last));
        let known = last.0.as_ref().unwrap();
        assert_eq!(known.members.len(), length);
        assert!(size_of::<Known>() + known.members.capacity() <= 800, "{length}");
    }
}

#[test]
fn the_same_members_are_not_read_again() {
    let own = identity();
    let mut last = LastRequestMeta::NONE;
    let [none, .., long] = metas();
    let token = &metas()[9];
    assert!(request_meta(token, &own, Some(&mut last)).contains("Modern"));
    let text = format!("{last:?}");
    // A `_meta` without reserved members, or one that is too long, leaves the cache unchanged.
    request_meta(&none, &own, Some(&mut last));
    request_meta(&long, &own, Some(&mut last));
    // The text belongs to the peer and is no state of the connection.
    assert_eq!((format!("{last:?}"), &last), (text, &LastRequestMeta::NONE));
    assert_eq!(format!("{last:?}"), "LastRequestMeta(102 bytes)");

    let frame = frame(&metas()[2]);
    let envelope = Envelope::scan(frame.as_bytes(), 128);
    let meta = envelope.object(Member::ParamsMeta);
    let request_meta = last.of(meta.as_ref(), || unreachable!("it is remembered"));
    assert!(matches!(request_meta, RequestMeta::Modern(_)));
}
