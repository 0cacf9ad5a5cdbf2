//! The result for each request, by method, params and principal.

use super::*;
use crate::client::cache::entry_key::Cacheable;
use crate::dialect::methods::RequestKind;

/// Keys that differ from each other in one part, besides the principal.
fn different_keys(asker: Asker) -> [CacheKey<'static>; 12] {
    [
        CacheKey::discover(asker),
        CacheKey::tools(None, asker),
        CacheKey::tools(Some(""), asker),
        CacheKey::tools(Some("a"), asker),
        CacheKey::tools(Some("b"), asker),
        CacheKey::prompts(None, asker),
        CacheKey::resources(None, asker),
        CacheKey::resource_templates(None, asker),
        CacheKey::resource_templates(Some("a"), asker),
        CacheKey::resource("a", asker),
        CacheKey::resource("a/", asker),
        CacheKey::resource("A", asker),
    ]
}

/// Proves M-CACHE-08.
#[test]
fn only_the_same_request_gets_the_result() {
    for kept in different_keys(ANN) {
        for scope in ["private", "public"] {
            let mut scene = Scene::new();
            scene.fill(&kept, &result("r", 10, scope), 0);
            for asked in different_keys(ANN) {
                assert_eq!(scene.get(&asked, 0).is_some(), asked == kept, "{kept:?} {asked:?}");
                assert_eq!(scene.stale(&asked).is_some(), asked == kept, "{kept:?} {asked:?}");
            }
            for revision in Revision::ALL {
                let asker = Asker::new(ANN.principal(), revision);
                let asked = CacheKey { asker, ..kept.clone() };
                assert_eq!(scene.get(&asked, 0).is_some(), asked == kept, "{kept:?} {asked:?}");
            }
        }
    }
}

/// Proves M-CACHE-09, M-CACHE-10, M-CACHE-06.
#[test]
fn private_results_are_not_shared_between_principals() {
    let expected = [("private", false), ("public", true), ("shared", false), ("", false)];
    for (scope, is_shared) in expected {
        for key in different_keys(ANN) {
            let mut scene = Scene::new();
            scene.fill(&key, &result("r", 10, scope), 0);
            assert_eq!(scene.get(&key, 0).as_deref(), Some("r"));
            let asked = CacheKey { asker: BOB, ..key.clone() };
            assert_eq!(scene.get(&asked, 0).is_some(), is_shared, "{scope:?} {key:?}");
            assert_eq!(scene.stale(&asked).is_some(), is_shared, "{scope:?} {key:?}");
        }
    }
    // Each principal has its own result, and neither replaces the other.
    let (anns, bobs) = (CacheKey::tools(None, ANN), CacheKey::tools(None, BOB));
    let mut scene = Scene::new();
    scene.keep(&anns, "ann's", 0);
    scene.keep(&bobs, "bob's", 0);
    assert_eq!(scene.get(&anns, 0).as_deref(), Some("ann's"));
    assert_eq!(scene.get(&bobs, 0).as_deref(), Some("bob's"));
    // A public result that becomes private is no longer shared, and the reverse.
    scene.fill(&anns, &result("all", 10, "public"), 0);
    assert_eq!(scene.get(&anns, 0).as_deref(), Some("all"));
    assert_eq!(scene.get(&bobs, 0).as_deref(), Some("bob's"));
    scene.keep(&anns, "ann's", 0);
    assert_eq!(scene.get(&anns, 0).as_deref(), Some("ann's"));
    let third = Asker::new(Principal::new(3), Revision::V2026_07_28);
    assert_eq!(scene.get(&CacheKey::tools(None, third), 0), None);
}

/// A stale result of a principal does not hide a fresh result for all.
#[test]
fn a_fresh_public_result_replaces_a_stale_private_one() {
    let (anns, bobs) = (CacheKey::tools(None, ANN), CacheKey::tools(None, BOB));
    let mut scene = Scene::new();
    scene.keep(&anns, "ann's", 0);
    scene.fill(&bobs, &result("all", 10_000, "public"), 0);
    assert_eq!(scene.get(&anns, 999).as_deref(), Some("ann's"));
    assert_eq!(scene.get(&anns, 1_000).as_deref(), Some("all"));
    assert_eq!(scene.get(&anns, 10_000), None);
}

/// Proves M-CACHE-08, M-CACHE-11, M-MRTR-38: which requests have a key, and which key.
#[test]
fn a_request_has_a_key_if_all_that_affects_it_is_known() {
    let key = |method: &str, params: &str| {
        let params = (!params.is_empty()).then(|| Raw::new(params).expect("JSON"));
        CacheKey::of(method, params.as_ref(), ANN).map(CacheKey::into_owned)
    };
    let read = |uri| Some(CacheKey::resource(uri, ANN));
    let tools = |cursor| Some(CacheKey::tools(cursor, ANN));
    for (method, params, expected) in [
        ("server/discover", "", Some(CacheKey::discover(ANN))),
        ("server/discover", r#"{"_meta":{"a":1}}"#, Some(CacheKey::discover(ANN))),
        ("server/discover", r#"{"cursor":"a"}"#, None),
        ("tools/list", "", tools(None)),
        ("tools/list", "{}", tools(None)),
        ("tools/list", r#"{"cursor":null}"#, tools(None)),
        ("tools/list", r#"{"cursor":""}"#, tools(Some(""))),
        ("tools/list", r#"{"cursor":"a"}"#, tools(Some("a"))),
        ("tools/list", r#"{"c\u0075rsor":"\u0061","_meta":{"progressToken":1}}"#, tools(Some("a"))),
        ("tools/list", r#"{"cursor":"a\"b"}"#, tools(Some("a\"b"))),
        ("tools/list", r#"{"cursor":1}"#, None),
        ("tools/list", r#"{"cursor":"a","cursor":"b"}"#, None),
        ("tools/list", r#"{"cursor":null,"cursor":"b"}"#, None),
        ("tools/list", r#"{"cursor":"\ud800"}"#, None),
        ("tools/list", r#"{"uri":"a"}"#, None),
        ("tools/list", r#"{"requestState":"s"}"#, None),
        ("tools/list", r#"{"com.example/filter":"x"}"#, None),
        ("tools/list", r#"["a"]"#, None),
        ("prompts/list", r#"{"cursor":"a"}"#, Some(CacheKey::prompts(Some("a"), ANN))),
        ("resources/list", r#"{"cursor":"a"}"#, Some(CacheKey::resources(Some("a"), ANN))),
        ("resources/templates/list", "", Some(CacheKey::resource_templates(None, ANN))),
        ("resources/read", r#"{"uri":"file:///a"}"#, read("file:///a")),
        ("resources/read", r#"{"uri":"file:\/\/\/a"}"#, read("file:///a")),
        ("resources/read", "", None),
        ("resources/read", r#"{"uri":null}"#, None),
        ("resources/read", r#"{"uri":"a","requestState":"s"}"#, None),
        ("resources/read", r#"{"uri":"a","requestState":null}"#, None),
        ("resources/read", r#"{"inputResponses":{},"uri":"a"}"#, None),
        ("tools/call", r#"{"name":"t"}"#, None),
        ("prompts/get", r#"{"name":"p"}"#, None),
        ("subscriptions/listen", "", None),
        ("x/own", "", None),
    ] {
        assert_eq!(key(method, params), expected, "{method} {params}");
    }
    for kind in RequestKind::ALL {
        assert_eq!(Cacheable::of(*kind).is_some(), kind.is_cacheable(), "{kind:?}");
    }
}

/// Proves M-DISC-20: also with the result of a probe.
#[test]
fn a_public_discover_result_is_cached_for_its_ttl() {
    let mut scene = Scene::new();
    let probe = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":3600000,"cacheScope":"public"}"#;
    scene.fill(&CacheKey::discover(ANN), &Raw::new(probe).expect("JSON"), 0);
    for asker in [ANN, BOB] {
        let key = CacheKey::of("server/discover", None, asker).expect("a key");
        let found = scene.cache.get(&key, at(3_599_999)).map(Raw::as_json);
        assert_eq!(found, Some(probe), "byte for byte");
        assert!(scene.cache.get(&key, at(3_600_000)).is_none());
    }
}

/// A method of the application has the param that it names, or none.
#[test]
fn a_method_of_the_application_is_keyed_by_its_own_param() {
    use crate::model::method::{CacheableMethod, Method};

    enum Forecast {}
    impl Method for Forecast {
        const NAME: &'static str = "com.example/forecast";
        type Params<'a> = Raw<'a>;
        type Result<'a> = Raw<'a>;
    }
    impl CacheableMethod for Forecast {
        const PARAM: Option<&'static str> = Some("city");
    }
    let key = |text: &str| {
        let params = Raw::new(text).expect("JSON");
        CacheKey::of_params::<Forecast>(Some(&params), ANN).map(CacheKey::into_owned)
    };
    let of_paris = CacheKey::of_method::<Forecast>(Some("paris"), ANN);
    assert_eq!(key(r#"{"city":"paris"}"#), Some(of_paris));
    assert_eq!(key("{}"), Some(CacheKey::of_method::<Forecast>(None, ANN)));
    assert_eq!(key(r#"{"cursor":"paris"}"#), None);
}
