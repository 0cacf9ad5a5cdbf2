//! Tests that a prepared result has the same text as one that is written directly.

use super::payload::Json;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::raw_write_tests::{ADDITIONS, Maker, write, written};
use super::shape::Form;
use super::*;
use crate::capability::CapabilitySet;
use crate::dialect::methods::RequestKind;
use crate::json::{Raw, member};
use crate::model::method::Ping;
use crate::version::Revision;

fn copy(
    prepared: &Prepared,
    form: Form,
    additions: &Additions<'_>,
) -> Result<(String, CapabilitySet), EncodeError> {
    written(form, additions, |payload| payload.prepared(prepared))
}

fn copy_written(
    result: &WrittenResult<'_>,
    form: Form,
    additions: &Additions<'_>,
) -> Result<(String, CapabilitySet), EncodeError> {
    written(form, additions, |payload| payload.written(result))
}

#[test]
fn a_prepared_result_is_written_like_an_unprepared_one() {
    let mut maker = Maker::new(Revision::V2024_11_05);
    let mut written = 0;
    for revision in Revision::ALL {
        for kind in RequestKind::ALL {
            let form = kind.rule().result(revision);
            maker.revision = revision;
            for _ in 0..60 {
                let value = maker.record(form.record);
                let prepared = Prepared::of(Some(form), &Json(&value));
                let plain = write(&value, form, &Additions::NONE);
                let text = prepared.as_ref().map(|prepared| prepared.as_json().to_string());
                assert_eq!(text.map_err(|error| *error), plain.map(|(text, _)| text));
                let mut buffer = b"left over".to_vec();
                let result = WrittenResult::of(Some(form), &Json(&value), &mut buffer);
                assert_eq!(
                    result.as_ref().map(WrittenResult::as_json),
                    prepared.as_ref().map(Prepared::as_json)
                );
                let (Ok(prepared), Ok(result)) = (prepared, result) else { continue };
                written += 1;
                let text = serde_json::to_string(&prepared).expect("writable");
                assert_eq!(text, prepared.as_json(), "for other serializers");
                // Legacy revisions lack the members that the connection adds to modern results, and a `_meta` of
                // `null` cannot hold additions.
                let has_place = !serde_json::to_string(&value)
                    .is_ok_and(|text| member(&text, "_meta") == Some("null"));
                let additions =
                    ADDITIONS.iter().take(if revision.is_modern() && has_place { 2 } else { 1 });
                for additions in additions {
                    let expected = write(&value, form, additions);
                    assert_eq!(copy(&prepared, form, additions), expected, "{revision:?} {text}");
                    assert_eq!(copy_written(&result, form, additions), expected, "{text}");
                }
                let unprepared = Raw::new(&text).expect("JSON");
                for other in Revision::ALL {
                    let form = Form { revision: other, ..form };
                    for additions in &ADDITIONS {
                        let expected = write(&unprepared, form, additions);
                        assert_eq!(copy(&prepared, form, additions), expected, "{other:?} {text}");
                        assert_eq!(copy_written(&result, form, additions), expected, "{text}");
                    }
                }
            }
        }
    }
    assert!(1000 < written, "only {written} of the values could be written");
}

/// Keys are compared without their escapes, and copied with them.
#[test]
fn keys_with_escapes_are_copied_beside_additions() {
    let form = RequestKind::Ping.rule().result(Revision::V2026_07_28);
    let value = Raw::new(r#"{"a\"b":1,"result\u0054ype":"x","\u005fmeta":{"c":2}}"#).expect("JSON");
    for additions in &ADDITIONS {
        let expected = write(&value, form, additions);
        let mut buffer = Vec::new();
        let result = WrittenResult::of(Some(form), &value, &mut buffer).expect("it fits");
        assert_eq!(copy_written(&result, form, additions), expected);
        let prepared = Prepared::of(Some(form), &value).expect("it fits");
        assert_eq!(copy(&prepared, form, additions), expected);
    }
}

/// Members that the connection sets, and a `_meta` that it adds to, are not copied as they are.
#[test]
fn members_that_the_connection_adds_are_not_copied_twice() {
    let form = RequestKind::Ping.rule().result(Revision::V2026_07_28);
    let texts = [
        "{}",
        r#"{"a":1}"#,
        r#"{"a":1,"resultType":"x"}"#,
        r#"{"_meta":{"c":2},"a":1}"#,
        r#"{"ttlMs":1,"cacheScope":"public"}"#,
    ];
    for (text, additions) in texts.iter().flat_map(|text| ADDITIONS.map(|added| (text, added))) {
        let value = Raw::new(text).expect("JSON");
        let expected = write(&value, form, &additions);
        let prepared = Prepared::of(Some(form), &value).expect("it fits");
        assert_eq!(copy(&prepared, form, &additions), expected, "{text}");
        let mut buffer = Vec::new();
        let result = WrittenResult::of(Some(form), &value, &mut buffer).expect("it fits");
        assert_eq!(copy_written(&result, form, &additions), expected, "{text}");
    }
}

#[test]
fn debug_of_a_prepared_result_shows_no_payload() {
    let meta = Raw::new(r#"{"_meta":{"secret":1}}"#).expect("JSON");
    let prepared = Prepared::result::<Ping>(Revision::V2025_11_25, &meta).expect("it fits");
    assert_eq!(alloc::format!("{prepared:?}"), "Prepared(22 bytes)");
    let mut buffer = Vec::new();
    let result = WrittenResult::of(None, &meta, &mut buffer).expect("it fits");
    assert_eq!(alloc::format!("{result:?}"), "WrittenResult(22 bytes)");
    assert_eq!(prepared.as_json(), meta.as_json());
}
