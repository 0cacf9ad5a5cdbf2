//! A scan with known members returns the same as a scan without them.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::*;
use crate::json::{Envelope, Member};

/// Members of a `_meta`: the selected ones begin with `r/`.
const MEMBERS: &[&str] = &[
    r#""r/a":"1""#,
    r#""r/b":{"c":{},"d":[1,2]}"#,
    r#""r/b":{"c":{},"d":[1,3]}"#,
    r#""r/b":[]"#,
    r#""r/n":1"#,
    r#""r/n":12"#,
    r#""r/\u0061":"2""#,
    r#""r/b" : { "c":{} }"#,
    r#""r/x":"\"r/a\":""#,
    r#""token":"r/a""#,
    r#""token":{"r/a":"1"}"#,
];

fn belongs(key: &str) -> bool {
    key.starts_with("r/")
}

fn frame(members: &[&str]) -> String {
    let members = members.join(",");
    format!(r#"{{"id":1,"method":"m","params":{{"_meta":{{{members}}},"z":[{{}}]}}}}"#)
}

/// Returns frames with up to two members in their metadata, and some with more.
fn frames() -> Vec<String> {
    let mut frames = Vec::from([frame(&[]), frame(&MEMBERS[..3]), frame(MEMBERS)]);
    for first in MEMBERS {
        frames.push(frame(&[first]));
        frames.extend(MEMBERS.iter().map(|second| frame(&[first, second])));
        frames.push(frame(&[first, MEMBERS[0], MEMBERS[1], MEMBERS[9]]));
    }
    frames.push(frame(&[MEMBERS[9]; 9]));
    // More members than are recorded, in front of the known members and including them.
    frames.push(frame(&[&[MEMBERS[9]; 8], &MEMBERS[..2]].concat()));
    frames.push(frame(&[&[MEMBERS[9]; 7], &MEMBERS[..2]].concat()));
    frames
}

fn learned(frame: &str) -> Option<KnownMembers> {
    let envelope = Envelope::scan(frame.as_bytes(), 128);
    let mut known = KnownMembers::NONE;
    known.learn(&envelope.object(Member::ParamsMeta)?, belongs).then_some(known)
}

fn with<'f>(frame: &'f str, depth: u8, known: &KnownMembers) -> Envelope<'f> {
    let mut envelope = Envelope::unread(frame.as_bytes());
    envelope.read(depth, Some(known));
    envelope
}

#[test]
fn known_members_are_found_where_they_would_be() {
    let frames = frames();
    let mut tried = 0;
    for earlier in &frames {
        let Some(known) = learned(earlier) else { continue };
        for frame in &frames {
            // Also with the end cut off, and with a wrong end.
            let cut = frame.len() - 12;
            for text in [frame, &frame[..cut], &format!("{}x", &frame[..cut])] {
                assert_eq!(with(text, 128, &known), Envelope::scan(text.as_bytes(), 128), "{text}");
                tried += 1;
            }
        }
    }
    assert!(20_000 < tried, "{tried}");
}

#[test]
fn they_are_all_in_an_object_if_nothing_else_belongs() {
    for earlier in &frames() {
        let Some(known) = learned(earlier) else { continue };
        for frame in &frames() {
            let envelope = Envelope::scan(frame.as_bytes(), 128);
            let meta = envelope.object(Member::ParamsMeta).unwrap();
            // The selected members, decoded, are the same with the same values.
            let of = |meta: &Object<'_, '_>| -> Vec<(String, String)> {
                let members =
                    meta.members().map(|(name, value)| (name.to_str().into(), value.into()));
                members.filter(|(name, _): &(String, String)| belongs(name)).collect()
            };
            if known.are_all_in(&meta, belongs) {
                let earlier = Envelope::scan(earlier.as_bytes(), 128);
                assert_eq!(of(&meta), of(&earlier.object(Member::ParamsMeta).unwrap()), "{frame}");
            } else {
                assert!(learned(frame).is_none_or(|other| other.text != known.text), "{frame}");
            }
        }
    }
}

#[test]
fn known_members_are_not_scanned() {
    let frame = frame(&[MEMBERS[9], MEMBERS[0], MEMBERS[1]]);
    let known = learned(&frame).unwrap();
    assert_eq!(known.len(), r#""r/a":"1","r/b":{"c":{},"d":[1,2]}"#.len());
    // A scan would detect that the members nest deeper than three levels.
    assert!(Envelope::scan(frame.as_bytes(), 3).defect().is_some());
    assert_eq!(with(&frame, 4, &known).defect(), None);
}

#[test]
fn members_unfit_for_comparison_as_text_are_not_learned() {
    for members in [&MEMBERS[4..5], &[MEMBERS[0], MEMBERS[9], MEMBERS[1]], &MEMBERS[6..7], &[]] {
        assert!(learned(&frame(members)).is_none(), "{members:?}");
    }
    let long = format!(r#""r/a":"{}""#, "x".repeat(KnownMembers::LONGEST - 7));
    assert!(learned(&frame(&[&long])).is_none(), "{}", long.len());
    assert!(learned(&frame(&[&long.replacen('x', "", 1)])).is_some());
}
