//! What has been prepared is written like what has not been.

use alloc::string::{String, ToString};

use super::raw_write_tests::{ADDITIONS, Maker, write, written};
use super::shape::Form;
use super::*;
use crate::capability::CapabilitySet;
use crate::dialect::methods::RequestKind;
use crate::model::method::Ping;
use crate::version::Revision;

fn copy(
    prepared: &Prepared,
    form: Form,
    additions: &Additions<'_>,
) -> Result<(String, CapabilitySet), EncodeError> {
    written(form, additions, |payload| payload.prepared(prepared))
}

#[test]
fn what_has_been_prepared_is_written_like_what_has_not() {
    let mut maker = Maker::new(Revision::V2024_11_05);
    let mut written = 0;
    for revision in Revision::ALL {
        for kind in RequestKind::ALL {
            let form = kind.rule().result(revision);
            maker.revision = revision;
            for _ in 0..60 {
                let value = maker.record(form.record);
                let prepared = Prepared::of(Some(form), &value);
                let plain = write(&value, form, &Additions::NONE);
                let text = prepared.as_ref().map(|prepared| prepared.as_json().to_string());
                assert_eq!(text.map_err(|error| *error), plain.map(|(text, _)| text));
                let Ok(prepared) = prepared else { continue };
                written += 1;
                let text = serde_json::to_string(&prepared).expect("writable");
                assert_eq!(text, prepared.as_json(), "for other serializers");
                // What the machine adds to results where there are no sessions, older revisions lack;
                // and a `_meta` that is `null` leaves no place to add it in.
                let has_place = !serde_json::to_string(&value)
                    .is_ok_and(|text| member(&text, "_meta") == Some("null"));
                let additions =
                    ADDITIONS.iter().take(if revision.is_stateless() && has_place { 2 } else { 1 });
                for additions in additions {
                    let expected = write(&value, form, additions);
                    assert_eq!(copy(&prepared, form, additions), expected, "{revision:?} {text}");
                }
                let unprepared = Raw::new(&text).expect("JSON");
                for other in Revision::ALL {
                    let form = Form { revision: other, ..form };
                    for additions in &ADDITIONS {
                        let expected = write(&unprepared, form, additions);
                        assert_eq!(copy(&prepared, form, additions), expected, "{other:?} {text}");
                    }
                }
            }
        }
    }
    assert!(1000 < written, "only {written} of the values could be written");
}

#[test]
fn debug_shows_no_payload_of_what_is_prepared() {
    let meta = Raw::new(r#"{"_meta":{"secret":1}}"#).expect("JSON");
    let prepared = Prepared::result::<Ping>(Revision::V2025_11_25, &meta).expect("it fits");
    assert_eq!(alloc::format!("{prepared:?}"), "Prepared(22 bytes)");
    assert_eq!(prepared.as_json(), meta.as_json());
}
