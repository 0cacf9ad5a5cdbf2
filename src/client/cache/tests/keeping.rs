//! The lifetime and the number of cached results.

use super::*;

/// Proves M-CACHE-07, M-CACHE-20.
#[test]
fn a_result_is_fresh_for_as_long_as_it_says() {
    let key = CacheKey::tools(None, ANN);
    let mut scene = Scene::new();
    scene.fill(&key, &result("t", 500, "private"), 10_000);
    for (now, is_fresh) in [(10_000, true), (10_499, true), (10_500, false), (10_501, false)] {
        assert_eq!(scene.get(&key, now).is_some(), is_fresh, "{now}");
    }
    assert!(scene.cache.get(&key, at(10_500) - core::time::Duration::from_nanos(1)).is_some());

    for ttl in [9_000_000_000_000_000, 1 << 53] {
        for received in [0, 10_000, u64::MAX / 1_000_000] {
            let mut scene = Scene::new();
            let verdict = scene.fill(&key, &result("t", ttl, "private"), received);
            assert_eq!(verdict, Verdict::Stored);
            assert_eq!(scene.get(&key, received).as_deref(), Some("t"), "{ttl} at {received}");
            let never = Instant::EPOCH + core::time::Duration::MAX;
            let moment_before = never - core::time::Duration::from_nanos(1);
            assert!(scene.cache.get(&key, moment_before).is_some(), "{ttl} at {received}");
            assert!(scene.cache.get(&key, never).is_none());
        }
    }
}

/// Proves M-CACHE-16, M-CACHE-17: a result expires without an event, and `stale` still returns it.
#[test]
fn nothing_happens_when_the_time_is_over() {
    let key = CacheKey::tools(None, ANN);
    let mut scene = Scene::new();
    scene.keep(&key, "old", 0);
    let before = scene.cache.clone();
    assert_eq!(scene.get(&key, 1_000), None, "never by default");
    assert_eq!(scene.get(&key, 1_000_000), None);
    assert!(scene.cache == before, "a miss is only a miss");
    assert_eq!(scene.stale(&key).as_deref(), Some("old"));
    assert_eq!(scene.stale(&CacheKey::tools(None, BOB)), None, "and still only by them");
    scene.cache.changed(&Change::Tools);
    assert_eq!(scene.stale(&key).as_deref(), Some("old"), "stale is what a change makes it");
}

/// Proves M-CACHE-11, M-MRTR-38, M-CACHE-05: a result that is not stored is not used again, and it evicts the older
/// result of its request.
#[test]
fn an_unstorable_result_evicts_the_older_one() {
    let limits = CacheLimits { bytes: 200, ..CacheLimits::default() };
    let filler = "x".repeat(200);
    let large = format!(r#"{{"name":"{filler}","ttlMs":1000}}"#);
    for (text, expected) in [
        (
            r#"{"resultType":"input_required","requestState":"s","ttlMs":1000}"#,
            Verdict::NotComplete,
        ),
        (r#"{"resultType":"task","ttlMs":1000}"#, Verdict::NotComplete),
        ("null", Verdict::NotComplete),
        (r#"{"resultType":"complete"}"#, Verdict::NoTtl),
        (r#"{"resultType":"complete","ttlMs":0}"#, Verdict::NoTtl),
        (r#"{"resultType":"complete","ttlMs":-5}"#, Verdict::NoTtl),
        (r#"{"resultType":"complete","ttlMs":1.5}"#, Verdict::NoTtl),
        (&*large, Verdict::TooLarge),
    ] {
        for scope in ["private", "public"] {
            let key = CacheKey::resource("file:///a", ANN);
            let mut scene = Scene::with(limits);
            scene.fill(&key, &result("old", 1_000, scope), 0);
            assert_eq!(scene.fill(&key, &Raw::new(text).expect("JSON"), 0), expected, "{text}");
            assert!(scene.stale(&key).is_none() && scene.cache.is_empty(), "{text}");
            assert_eq!(scene.cache.bytes(), 0);
        }
    }
}

/// Proves M-CACHE-14.
#[test]
fn every_page_has_its_own_clock() {
    let [first, second] = [None, Some("2")].map(|cursor| CacheKey::tools(cursor, ANN));
    let mut scene = Scene::new();
    scene.fill(&first, &result("1", 1_000, "public"), 0);
    scene.fill(&second, &result("2", 100, "public"), 50);
    assert_eq!(scene.get(&second, 149).as_deref(), Some("2"));
    assert_eq!(scene.get(&second, 150), None, "to be asked for by its cursor");
    assert_eq!(scene.get(&first, 150).as_deref(), Some("1"));
    scene.fill(&second, &result("2'", 100, "public"), 150);
    assert_eq!(scene.get(&second, 150).as_deref(), Some("2'"));
    assert_eq!(scene.get(&first, 999).as_deref(), Some("1"));
    assert_eq!(scene.get(&first, 1_000), None);
}

/// Proves M-R-42: a lookup does not depend on requests in flight. Of two results, the one of the later request stays,
/// in any order of arrival.
#[test]
fn of_two_requests_on_their_way_the_later_one_wins() {
    let key = CacheKey::tools(None, ANN);
    let mut scene = Scene::new();
    scene.keep(&key, "kept", 0);
    let first = scene.cache.begin(key.clone());
    let second = scene.cache.begin(key.clone());
    assert_eq!(scene.get(&key, 0).as_deref(), Some("kept"));
    let bobs = scene.cache.begin(CacheKey::tools(None, BOB));
    let verdict = scene.cache.store(second, &result("second", 1_000, "private"), at(0));
    assert_eq!(verdict, Verdict::Stored);
    let verdict = scene.cache.store(first, &result("first", 1_000, "private"), at(0));
    assert_eq!(verdict, Verdict::Overtaken);
    assert_eq!(scene.get(&key, 0).as_deref(), Some("second"));
    // A private result does not overtake the result of another principal.
    let verdict = scene.cache.store(bobs, &result("bob's", 1_000, "private"), at(0));
    assert_eq!(verdict, Verdict::Stored);
    assert_eq!(scene.get(&key, 0).as_deref(), Some("second"));
}

/// A public result overtakes the earlier requests of all principals.
#[test]
fn a_public_result_overtakes_earlier_requests_of_others() {
    let (anns, bobs) = (CacheKey::tools(None, ANN), CacheKey::tools(None, BOB));
    let mut scene = Scene::new();
    let first = scene.cache.begin(anns.clone());
    let second = scene.cache.begin(bobs);
    let verdict = scene.cache.store(second, &result("all", 1_000, "public"), at(0));
    assert_eq!(verdict, Verdict::Stored);
    for scope in ["public", "private"] {
        let verdict = scene.cache.store(first.clone(), &result("first", 1_000, scope), at(0));
        assert_eq!(verdict, Verdict::Overtaken, "{scope}");
        assert_eq!(scene.get(&anns, 0).as_deref(), Some("all"), "{scope}");
    }
}

/// Proves M-CACHE-22.
#[test]
fn the_least_recently_used_result_is_evicted_first() {
    let key = |uri| CacheKey::resource(uri, ANN);
    let kept = |scene: &mut Scene| ["a", "b", "c", "d"].map(|uri| scene.stale(&key(uri)).is_some());
    let size = result("a", 1_000, "private").as_json().len() + 1;
    for limits in [
        CacheLimits { entries: 3, ..CacheLimits::default() },
        CacheLimits { bytes: 3 * size, ..CacheLimits::default() },
    ] {
        let mut scene = Scene::with(limits);
        for uri in ["a", "b", "c"] {
            scene.keep(&key(uri), uri, 0);
        }
        assert_eq!((scene.cache.len(), scene.cache.bytes()), (3, 3 * size));
        assert!(scene.get(&key("a"), 0).is_some());
        scene.keep(&key("d"), "d", 0);
        assert_eq!((scene.cache.len(), scene.cache.bytes()), (3, 3 * size));
        assert_eq!(kept(&mut scene), [true, false, true, true]);
        // A replacement takes no additional room.
        scene.keep(&key("c"), "c", 0);
        assert_eq!(kept(&mut scene), [true, false, true, true]);
        scene.keep(&key("b"), "b", 0);
        assert_eq!(kept(&mut scene), [false, true, true, true], "the next one in line");
    }
    let exact = CacheLimits { bytes: size, ..CacheLimits::default() };
    Scene::with(exact).keep(&key("a"), "a", 0);
    for limits in [
        CacheLimits { bytes: size - 1, ..CacheLimits::default() },
        CacheLimits { entries: 0, ..CacheLimits::default() },
    ] {
        let mut scene = Scene::with(limits);
        let verdict = scene.fill(&key("a"), &result("a", 1_000, "private"), 0);
        assert_eq!((verdict, scene.cache.len()), (Verdict::TooLarge, 0));
    }
}

#[test]
fn debug_shows_no_text() {
    let mut cache = Cache::new(CacheLimits::default());
    let ticket = cache.begin(CacheKey::resource("file:///secret", ANN));
    assert_eq!(
        format!("{ticket:?}"),
        "Ticket { key: CacheKey(Resource, 14 bytes, Asker { principal: Principal(1), revision: 2026-07-28 }), begun: 1 }"
    );
    cache.store(ticket, &result("secret", 1, "private"), at(0));
    assert_eq!(
        format!("{cache:?}"),
        "Cache { limits: CacheLimits { entries: 1024, bytes: 16777216 }, entries: 1, bytes: 88, .. }"
    );
    assert_eq!(format!("{:?}", Change::Resource("file:///secret".into())), "Resource(14 bytes)");
}

/// A request is no later request than itself, so its second result replaces the first one.
#[test]
fn another_result_of_the_same_request_is_stored() {
    let mut scene = Scene::new();
    let key = CacheKey::tools(None, ANN);
    let ticket = scene.cache.begin(key.clone());
    for name in ["a", "b"] {
        let stored = scene.cache.store(ticket.clone(), &result(name, 1_000, "private"), at(0));
        assert_eq!((stored, scene.get(&key, 0).as_deref()), (Verdict::Stored, Some(name)));
    }
}

#[test]
fn a_cache_reports_its_limits_and_whether_it_is_empty() {
    let limits = CacheLimits { entries: 3, bytes: 1_000 };
    let mut scene = Scene::with(limits);
    assert_eq!((scene.cache.limits(), scene.cache.is_empty()), (limits, true));
    scene.keep(&CacheKey::tools(None, ANN), "x", 0);
    assert_eq!((scene.cache.len(), scene.cache.is_empty()), (1, false));
    scene.cache.clear();
    assert!(scene.cache.is_empty());
}
