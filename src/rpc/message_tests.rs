//! The limits of a message, and the short path of usual ones.

use alloc::format;

use super::*;

/// Returns the violation of a frame; ids and methods may have three bytes.
fn violation(frame: &str) -> Option<ViolationKind> {
    let mut limits = Limits::default();
    (limits.id_bytes, limits.method_bytes) = (3, 3);
    let envelope = Envelope::scan(frame.as_bytes(), 128);
    classify(&envelope, &limits, Versions::Exact).err().map(|defective| defective.kind)
}

/// Params of `null` take the long path.
#[test]
fn ids_and_methods_may_be_as_long_as_the_limits() {
    for params in ["", r#","params":{}"#, r#","params":null"#] {
        for (id, method, expected) in [
            ("123", "abc", None),
            ("\"1\"", "abc", None),
            ("1234", "abc", Some(ViolationKind::LongId)),
            ("\"1234567\"", "abc", Some(ViolationKind::LongId)),
            ("1", "abcd", Some(ViolationKind::LongMethod)),
            ("1", "abcdefgh", Some(ViolationKind::LongMethod)),
        ] {
            let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"{params}}}"#);
            assert_eq!(violation(&frame), expected, "{frame}");
        }
    }
    for (id, expected) in [
        ("123", None),
        ("1234", Some(ViolationKind::LongId)),
        ("12345", Some(ViolationKind::LongId)),
    ] {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        assert_eq!(violation(&frame), expected, "{frame}");
    }
}

/// A method counts with its quotes.
#[test]
fn long_methods_and_ids_are_not_shown() {
    let id = "1".repeat(LONGEST_SHOWN);
    let method = "m".repeat(LONGEST_SHOWN - 2);
    for (more, shown) in [("", (Some(&*method), Some(&*id))), ("0", (None, None))] {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":{id}{more},"method":"{method}{more}"}}"#);
        let envelope = Envelope::scan(frame.as_bytes(), 128);
        let mut limits = Limits::default();
        (limits.id_bytes, limits.method_bytes) = (1_000, 1_000);
        let message = classify(&envelope, &limits, Versions::Exact).expect("it is a request");
        assert_eq!(message.shown(), shown, "{more:?}");
    }
}

/// The path does not depend on the order of the members, nor on members that do not belong to JSON-RPC.
#[test]
fn usual_requests_and_notifications_take_the_short_path() {
    let mut limits = Limits::default();
    (limits.id_bytes, limits.method_bytes) = (2, 3);
    for frame in [
        r#"{"jsonrpc":"2.0","id":12,"method":"abc"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"abc","params":{}}"#,
        r#"{"method":"a","params":{"_meta":{}},"jsonrpc":"2.0","id":1,"x":[]}"#,
        r#"{"jsonrpc": "2.0","method":"abc"}"#,
    ] {
        let envelope = Envelope::scan(frame.as_bytes(), 128);
        let message = asking(&envelope, &limits).expect("it is usual");
        // The long path returns the same.
        let (id, intent) = (id(&envelope).and_then(Result::ok), intent(&envelope));
        assert_eq!(request(&envelope, id, intent, &limits), Ok(message), "{frame}");
    }
    for frame in [
        r#"{"jsonrpc":"2.0","id":123,"method":"abc"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"abcd"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"abc","params":null}"#,
        r#"{"jsonrpc":"2.1","id":1,"method":"abc"}"#,
        r#"{"id":1,"method":"abc"}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"abc"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"abc","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    ] {
        let envelope = Envelope::scan(frame.as_bytes(), 128);
        assert_eq!(asking(&envelope, &limits), None, "{frame}");
    }
}
