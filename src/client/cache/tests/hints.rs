//! The lifetime and scope that results declare.

use super::*;
use crate::client::cache::hints::Hints;

fn hints(revision: Revision, result: &str) -> Option<(u64, bool)> {
    let hints = Hints::of(&Raw::new(result).expect("JSON"), revision)?;
    Some((u64::try_from(hints.ttl.as_millis()).expect("at most 2^53"), hints.is_public))
}

/// Proves M-CACHE-05: any `ttlMs` is read as a number of milliseconds, an invalid one as 0.
#[test]
fn a_time_to_live_that_makes_no_sense_is_none() {
    for (ttl, expected) in [
        ("0", 0),
        ("1", 1),
        ("300000", 300_000),
        ("9000000000000000", 9_000_000_000_000_000),
        ("9007199254740992", 1 << 53),
        ("9e15", 9_000_000_000_000_000),
        ("3.0", 3),
        ("6e4", 60_000),
        ("9007199254740993", 0),
        ("18446744073709551616", 0),
        ("1e300", 0),
        ("1e999", 0),
        ("-1", 0),
        ("-9e99", 0),
        ("-0", 0),
        ("-0.0", 0),
        ("1.5", 0),
        ("0.1", 0),
        (r#""60000""#, 0),
        ("true", 0),
        ("null", 0),
        ("[60000]", 0),
        ("{}", 0),
    ] {
        let result = alloc::format!(r#"{{"tools":[],"ttlMs":{ttl}}}"#);
        assert_eq!(hints(Revision::V2026_07_28, &result), Some((expected, false)), "{ttl}");
    }
    assert_eq!(hints(Revision::V2026_07_28, "{}"), Some((0, false)), "absent");
}

/// Proves M-CACHE-06, M-AMB-21: only the scope `public` is public.
#[test]
fn a_scope_that_is_not_public_is_private() {
    for (scope, expected) in [
        (r#""public""#, true),
        (r#""\u0070ublic""#, true),
        (r#""private""#, false),
        (r#""Public""#, false),
        (r#""public ""#, false),
        (r#""shared""#, false),
        (r#""""#, false),
        ("true", false),
        ("null", false),
        (r#"["public"]"#, false),
    ] {
        let result = alloc::format!(r#"{{"cacheScope":{scope},"ttlMs":1}}"#);
        assert_eq!(hints(Revision::V2026_07_28, &result), Some((1, expected)), "{scope}");
    }
    assert_eq!(hints(Revision::V2026_07_28, r#"{"ttlMs":1}"#), Some((1, false)), "absent");
}

/// Proves M-MRTR-38 for interim results.
#[test]
fn only_complete_results_have_hints() {
    for (kind, is_complete) in [
        (r#""complete""#, true),
        (r#""input_required""#, false),
        (r#""task""#, false),
        (r#""later""#, false),
        ("null", false),
        ("1", false),
    ] {
        let result = alloc::format!(r#"{{"resultType":{kind},"ttlMs":1}}"#);
        let expected = is_complete.then_some((1, false));
        assert_eq!(hints(Revision::V2026_07_28, &result), expected, "{kind}");
    }
    assert_eq!(hints(Revision::V2026_07_28, r#"{"ttlMs":1}"#), Some((1, false)), "absent");
    for odd in ["null", "[]", "1", r#""ttlMs""#] {
        assert_eq!(hints(Revision::V2026_07_28, odd), None, "{odd}");
    }
}

#[test]
fn there_are_no_hints_where_there_are_sessions() {
    for revision in Revision::ALL {
        let expected = if revision.is_modern() { 5 } else { 0 };
        let result = r#"{"resultType":"complete","ttlMs":5,"cacheScope":"public"}"#;
        assert_eq!(hints(revision, result), Some((expected, true)), "{revision}");
    }
}
