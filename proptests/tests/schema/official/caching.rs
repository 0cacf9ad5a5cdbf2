//! Cache hints of results: the hints sent in the modern era, and their absence in the legacy era.

use mcp_sansio::config::CacheHint;
use mcp_sansio::json::Raw;
use mcp_sansio::schema::{EncodeError, Problem};
use mcp_sansio::{RespondError, Revision};
use mcp_sansio_proptests::{ServerSide, config, payload};

use crate::official::closed::Schemas;
use crate::official::messages::REQUESTS;
use crate::official::parse;
use crate::official::stateless::{REVISION, ask, claim, frame};

/// The methods with cacheable results, and the beginning of the minimal result.
const CACHEABLE: [(&str, &str); 5] = [
    ("tools/list", r#""tools":[]"#),
    ("prompts/list", r#""prompts":[]"#),
    ("resources/list", r#""resources":[]"#),
    ("resources/templates/list", r#""resourceTemplates":[]"#),
    ("resources/read", r#""contents":[]"#),
];

/// The other methods with a result, and that result.
const OTHERS: [(&str, &str); 4] = [
    ("tools/call", r#""content":[]"#),
    ("prompts/get", r#""messages":[]"#),
    ("completion/complete", r#""completion":{"values":[]}"#),
    ("com.example/own", r#""a":1"#),
];

/// Creates a server with a different hint for every method.
fn hinting() -> ServerSide {
    let mut config = config::server_of_both_eras();
    config.identify = false;
    config.cache.discovery = CacheHint::public(u64::MAX);
    config.cache.tools = CacheHint::public(1);
    config.cache.prompts = CacheHint::private(2);
    config.cache.resources = CacheHint::public(3);
    config.cache.resource_templates = CacheHint::private(9_007_199_254_740_991);
    config.cache.contents = CacheHint::public(9_007_199_254_740_992);
    ServerSide::with(config)
}

fn check(method: &str, sent: &[String], result: &str) {
    assert_eq!(sent, [format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#)], "{method}");
    let Some(schemas) = Schemas::of(REVISION) else { return };
    let found = REQUESTS.iter().find(|exchange| exchange.method == method);
    if let Some(exchange) = found {
        schemas.closed(exchange.result, &parse(sent)["result"]).unwrap();
    }
}

/// Proves M-CACHE-01, M-CACHE-02, M-CACHE-03, M-RES-13, M-CONT-02: each method has its configured hint, and no other
/// method has one. A duration that exceeds the largest exact integer is cut to that integer.
#[test]
fn every_hint_is_that_of_its_method() {
    let expected = [
        r#""ttlMs":1,"cacheScope":"public""#,
        r#""ttlMs":2,"cacheScope":"private""#,
        r#""ttlMs":3,"cacheScope":"public""#,
        r#""ttlMs":9007199254740991,"cacheScope":"private""#,
        r#""ttlMs":9007199254740991,"cacheScope":"public""#,
    ];
    let mut side = hinting();
    for ((method, body), hint) in CACHEABLE.into_iter().zip(expected) {
        // All pages of a list have the same hint.
        for page in ["", r#","nextCursor":"c""#] {
            let is_read = method == "resources/read";
            let page = if is_read { "" } else { page };
            let id = ask(&mut side, method);
            let result = format!("{{{body}{page}}}");
            side.server.respond(id, &Raw::new(&result).unwrap(), &mut side.out).unwrap();
            let result = format!(r#"{{"resultType":"complete",{body}{page},{hint}}}"#);
            check(method, &side.sent(), &result);
        }
    }
    for (method, body) in OTHERS {
        let id = ask(&mut side, method);
        let result = format!("{{{body}}}");
        side.server.respond(id, &Raw::new(&result).unwrap(), &mut side.out).unwrap();
        // For an unknown method, the missing member is added at the end.
        let result = match method {
            "com.example/own" => format!(r#"{{{body},"resultType":"complete"}}"#),
            _ => format!(r#"{{"resultType":"complete",{body}}}"#),
        };
        check(method, &side.sent(), &result);
    }
    assert_eq!(side.receive(&frame(7, "server/discover", "{}", &claim(""))), None);
    let sent = side.sent();
    let hint = r#","ttlMs":9007199254740991,"cacheScope":"public"}}"#;
    assert!(sent[0].ends_with(hint), "{sent:?}");
}

/// Proves M-CACHE-01, M-CACHE-04: valid hints in a result are kept; other values are refused, and the request stays
/// open.
#[test]
fn a_result_has_the_last_word_unless_it_makes_no_sense() {
    use Problem::{NotAllowed, WrongType};
    let kept = [
        (r#""ttlMs":7"#, r#","ttlMs":7,"cacheScope":"public""#),
        (r#""ttlMs":0,"cacheScope":"private""#, r#","ttlMs":0,"cacheScope":"private""#),
        (r#""cacheScope":"private""#, r#","cacheScope":"private","ttlMs":1"#),
        (
            r#""cacheScope":"public","ttlMs":9007199254740991"#,
            r#","cacheScope":"public","ttlMs":9007199254740991"#,
        ),
        (r#""ttlMs":null,"cacheScope":null"#, r#","ttlMs":1,"cacheScope":"public""#),
        (r#""_meta":{"k":1}"#, r#","_meta":{"k":1},"ttlMs":1,"cacheScope":"public""#),
    ];
    let refused = [
        (r#""ttlMs":-1"#, "ttlMs", NotAllowed),
        (r#""ttlMs":9007199254740992"#, "ttlMs", NotAllowed),
        (r#""ttlMs":0.5"#, "ttlMs", WrongType),
        (r#""ttlMs":1e400"#, "ttlMs", WrongType),
        (r#""ttlMs":"1""#, "ttlMs", WrongType),
        (r#""ttlMs":true"#, "ttlMs", WrongType),
        (r#""cacheScope":"fleet""#, "cacheScope", NotAllowed),
        (r#""cacheScope":"""#, "cacheScope", NotAllowed),
        (r#""cacheScope":1"#, "cacheScope", WrongType),
        (r#""cacheScope":{}"#, "cacheScope", WrongType),
    ];
    for (method, body) in CACHEABLE {
        let mut config = config::server_of_both_eras();
        config.identify = false;
        let hint = CacheHint::public(1);
        let hints = &mut config.cache;
        (hints.tools, hints.prompts, hints.resources) = (hint, hint, hint);
        (hints.resource_templates, hints.contents) = (hint, hint);
        let mut side = ServerSide::with(config);
        for (own, leaves) in kept {
            let id = ask(&mut side, method);
            let result = format!("{{{body},{own}}}");
            side.server.respond(id, &Raw::new(&result).unwrap(), &mut side.out).unwrap();
            check(method, &side.sent(), &format!(r#"{{"resultType":"complete",{body}{leaves}}}"#));
        }
        for (own, field, problem) in refused {
            let id = ask(&mut side, method);
            let result = format!("{{{body},{own}}}");
            match side.server.respond(id, &Raw::new(&result).unwrap(), &mut side.out) {
                Err(RespondError::Encode(EncodeError::Misfit(misfit))) => {
                    assert_eq!((misfit.field, misfit.problem), (field, problem), "{own}");
                }
                other => panic!("{method} {own}: {other:?}"),
            }
            assert_eq!(side.sent(), [""; 0]);
            side.server.respond(id, &payload::result(method), &mut side.out).unwrap();
            let leaves = r#","ttlMs":1,"cacheScope":"public""#;
            check(method, &side.sent(), &format!(r#"{{"resultType":"complete",{body}{leaves}}}"#));
        }
    }
}

/// Proves M-RES-09: for any configuration and result, no hint is sent in a session.
#[test]
fn no_hint_leaves_in_a_session() {
    for revision in Revision::LEGACY {
        let mut config = config::server_of_both_eras();
        config.cache.tools = CacheHint::public(1);
        let mut side = ServerSide::ready_with(config, revision);
        for (method, body) in CACHEABLE {
            let all =
                ["", r#","ttlMs":7,"cacheScope":"private""#, r#","ttlMs":-1,"cacheScope":{}"#];
            for own in all {
                let params = payload::params(method);
                let params = if params.as_json() == "null" { "{}" } else { params.as_json() };
                let id = side.request(&format!(
                    r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#
                ));
                let result = format!("{{{body}{own}}}");
                side.server.respond(id, &Raw::new(&result).unwrap(), &mut side.out).unwrap();
                let sent = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{{body}}}}}"#);
                assert_eq!(side.sent(), [sent], "{revision}");
            }
        }
    }
}
