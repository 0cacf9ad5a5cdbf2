//! Changes make results stale before their lifetime ends.

use alloc::vec::Vec;

use super::*;
use crate::client::cache::change::REMEMBERED;

/// The keys that each notification makes stale, by method and params.
const NOTIFICATIONS: [(&str, Option<&str>, &[&str]); 14] = [
    ("notifications/tools/list_changed", None, &["tools", "tools+"]),
    ("notifications/tools/list_changed", Some(r#"{"_meta":{"a":1}}"#), &["tools", "tools+"]),
    ("notifications/prompts/list_changed", None, &["prompts", "prompts+"]),
    (
        "notifications/resources/list_changed",
        None,
        &["resources", "resources+", "templates", "templates+"],
    ),
    ("notifications/resources/updated", Some(r#"{"uri":"a:/d"}"#), &["a:/d", "a:/d/", "a:/d/x/y"]),
    ("notifications/resources/updated", Some(r#"{"uri":"a:/d/"}"#), &["a:/d/", "a:/d/x/y"]),
    ("notifications/resources/updated", Some(r#"{"uri":"a:\/d\/x"}"#), &["a:/d/x/y"]),
    ("notifications/resources/updated", Some(r#"{"uri":"a:/dx"}"#), &["a:/dx"]),
    ("notifications/resources/updated", Some(r#"{"uri":"A:/d"}"#), &[]),
    ("notifications/resources/updated", Some(r#"{"uri":"a:/"}"#), &URIS),
    ("notifications/resources/updated", None, &ALL),
    ("notifications/resources/updated", Some(r#"{"uri":7}"#), &ALL),
    ("notifications/message", Some(r#"{"uri":"a:/d","level":"info","data":1}"#), &[]),
    ("notifications/own", None, &[]),
];

const URIS: [&str; 4] = ["a:/d", "a:/d/", "a:/d/x/y", "a:/dx"];

const ALL: [&str; 13] = [
    "discover",
    "tools",
    "tools+",
    "prompts",
    "prompts+",
    "resources",
    "resources+",
    "templates",
    "templates+",
    "a:/d",
    "a:/d/",
    "a:/d/x/y",
    "a:/dx",
];

fn key_named(name: &'static str, asker: Asker) -> CacheKey<'static> {
    match name {
        "discover" => CacheKey::discover(asker),
        "tools" => CacheKey::tools(None, asker),
        "tools+" => CacheKey::tools(Some("2"), asker),
        "prompts" => CacheKey::prompts(None, asker),
        "prompts+" => CacheKey::prompts(Some("2"), asker),
        "resources" => CacheKey::resources(None, asker),
        "resources+" => CacheKey::resources(Some("2"), asker),
        "templates" => CacheKey::resource_templates(None, asker),
        "templates+" => CacheKey::resource_templates(Some("2"), asker),
        uri => CacheKey::resource(uri, asker),
    }
}

/// Proves M-CACHE-12: a notification makes results stale for every principal, on whichever connection it arrives.
#[test]
fn a_notification_invalidates_the_results_it_concerns() {
    for (method, params, changed) in NOTIFICATIONS {
        let mut scene = Scene::new();
        for name in ALL {
            scene.keep(&key_named(name, ANN), name, 0);
        }
        scene.fill(&key_named("tools", BOB), &result("tools", 1_000, "public"), 0);
        scene.keep(&key_named("a:/d", BOB), "a:/d", 0);
        scene.notified(method, params);
        for name in ALL {
            let expected = (!changed.contains(&name)).then_some(name);
            let found = scene.get(&key_named(name, ANN), 0);
            assert_eq!(found.as_deref(), expected, "{method} {params:?}");
        }
        for name in ["tools", "a:/d"] {
            let found = scene.get(&key_named(name, BOB), 0);
            assert_eq!(found.is_none(), changed.contains(&name), "{method} {params:?}: {name}");
        }
    }
}

/// Proves M-CACHE-13, M-R-11: the result is delivered, the verdict marks it as possibly stale, and the next access is
/// a miss.
#[test]
fn a_result_that_was_on_its_way_when_a_notification_came_is_not_kept() {
    for (method, params, changed) in NOTIFICATIONS {
        for name in ALL {
            let key = key_named(name, ANN);
            let mut scene = Scene::new();
            let ticket = scene.cache.begin(key.clone());
            scene.notified(method, params);
            let is_late = changed.contains(&name);
            let expected = if is_late { Verdict::Invalidated } else { Verdict::Stored };
            let verdict = scene.cache.store(ticket, &result("late", 1_000, "private"), at(0));
            assert_eq!(verdict, expected, "{method} {params:?}: {name}");
            assert_eq!(scene.get(&key, 0).is_none(), is_late);
            // A request sent afterwards is stored, and a later result of the old request does not replace it.
            scene.keep(&key, "new", 0);
            assert_eq!(scene.get(&key, 0).as_deref(), Some("new"));
        }
    }
    let key = CacheKey::tools(None, ANN);
    let mut scene = Scene::new();
    let late = scene.cache.begin(key.clone());
    scene.cache.changed(&Change::Tools);
    scene.keep(&key, "new", 0);
    let verdict = scene.cache.store(late, &result("late", 1_000, "private"), at(0));
    assert_eq!(verdict, Verdict::Invalidated);
    assert_eq!(scene.get(&key, 0).as_deref(), Some("new"));
}

/// Proves M-CACHE-13 for more resources than are remembered: a result is dropped rather than served stale.
#[test]
fn forgotten_changes_count_for_every_resource() {
    let key = CacheKey::resource("a:/mine", ANN);
    for (others, expected) in [(0, Verdict::Stored), (REMEMBERED, Verdict::Stored)]
        .into_iter()
        .chain([(REMEMBERED + 1, Verdict::Invalidated)])
    {
        let mut scene = Scene::new();
        let ticket = scene.cache.begin(key.clone());
        for other in 0..others {
            scene.cache.changed(&Change::Resource(format!("a:/other/{other}").into()));
        }
        let verdict = scene.cache.store(ticket, &result("r", 1, "private"), at(0));
        assert_eq!(verdict, expected, "{others}");
        scene.keep(&key, "r", 0);
    }
    // A resource that changes repeatedly takes one entry.
    let mut scene = Scene::new();
    let ticket = scene.cache.begin(key.clone());
    for _ in 0..10 * REMEMBERED {
        scene.cache.changed(&Change::Resource("a:/other".into()));
    }
    assert_eq!(scene.cache.store(ticket, &result("r", 1, "private"), at(0)), Verdict::Stored);
    // A resource that is forgotten after a wider change does not hide that change.
    let mut scene = Scene::new();
    for other in 0..REMEMBERED {
        scene.cache.changed(&Change::Resource(format!("a:/other/{other}").into()));
    }
    let ticket = scene.cache.begin(key.clone());
    scene.cache.changed(&Change::Everything);
    scene.cache.changed(&Change::Resource("a:/other".into()));
    assert_eq!(scene.cache.store(ticket, &result("r", 1, "private"), at(0)), Verdict::Invalidated);
    // A forgotten change does not affect a request that was sent after it.
    for other in 0..=REMEMBERED {
        scene.cache.changed(&Change::Resource(format!("a:/other/{other}").into()));
    }
    let ticket = scene.cache.begin(CacheKey::resource("a:/other/0", ANN));
    scene.cache.changed(&Change::Resource("a:/other/1".into()));
    assert_eq!(scene.cache.store(ticket, &result("r", 1, "private"), at(0)), Verdict::Stored);
}

/// Proves M-CACHE-15.
#[test]
fn a_dead_cursor_takes_all_pages_of_its_list_along() {
    let mut scene = Scene::new();
    for name in ALL {
        scene.keep(&key_named(name, ANN), name, 0);
    }
    let third = CacheKey::tools(Some("3"), ANN);
    scene.fill(&third, &result("3", 1_000, "public"), 0);
    scene.keep(&CacheKey::tools(None, BOB), "bob's", 0);
    let first_page = scene.cache.begin(CacheKey::tools(None, ANN));

    scene.cache.cursor_died(&CacheKey::tools(None, ANN));
    scene.cache.cursor_died(&CacheKey::resource("a:/d", ANN));
    assert_eq!(scene.cache.len(), 15, "neither has a cursor");

    scene.cache.cursor_died(&third);
    for name in ALL {
        let expected = (!name.starts_with("tools")).then_some(name);
        assert_eq!(scene.stale(&key_named(name, ANN)).as_deref(), expected);
    }
    assert_eq!(scene.stale(&third), None, "public pages too");
    assert_eq!(scene.get(&CacheKey::tools(None, BOB), 0).as_deref(), Some("bob's"));
    let verdict = scene.cache.store(first_page, &result("late", 1_000, "private"), at(0));
    assert_eq!(verdict, Verdict::Invalidated, "it belongs to the list as it was");
    scene.keep(&CacheKey::tools(None, ANN), "again", 0);
}

/// Proves M-CACHE-18: a suspected change counts like a reported one.
#[test]
fn a_suspicion_is_as_good_as_a_notification() {
    let key = CacheKey::tools(None, ANN);
    let mut scene = Scene::new();
    scene.keep(&key, "old", 0);
    let on_its_way = scene.cache.begin(key.clone());
    scene.cache.changed(&Change::Tools);
    assert_eq!(scene.get(&key, 0), None);
    let verdict = scene.cache.store(on_its_way, &result("old", 1_000, "private"), at(0));
    assert_eq!(verdict, Verdict::Invalidated);
}

/// Proves M-SUB-23.
#[test]
fn after_a_reconnect_everything_is_stale() {
    for is_dropped in [false, true] {
        let mut scene = Scene::new();
        let mut tickets = Vec::new();
        for name in ALL {
            scene.keep(&key_named(name, ANN), name, 0);
            tickets.push(scene.cache.begin(key_named(name, BOB)));
        }
        if is_dropped {
            scene.cache.clear();
            assert_eq!((scene.cache.len(), scene.cache.bytes()), (0, 0));
        } else {
            scene.cache.changed(&Change::Everything);
        }
        for (name, ticket) in ALL.into_iter().zip(tickets) {
            assert_eq!(scene.get(&key_named(name, ANN), 0), None, "{name}");
            let kept = scene.stale(&key_named(name, ANN));
            assert_eq!(kept.is_none(), is_dropped, "{name}");
            let verdict = scene.cache.store(ticket, &result(name, 1_000, "private"), at(0));
            assert_eq!(verdict, Verdict::Invalidated, "{name}");
        }
    }
}

/// A cursor is no URI, whatever its text.
#[test]
fn a_change_of_a_resource_concerns_no_page() {
    let mut scene = Scene::new();
    let page = CacheKey::tools(Some("a:/d"), ANN);
    let ticket = scene.cache.begin(page.clone());
    scene.cache.changed(&Change::Resource("a:/d".into()));
    assert_eq!(scene.cache.store(ticket, &result("x", 1_000, "private"), at(0)), Verdict::Stored);
    assert_eq!(scene.get(&page, 0).as_deref(), Some("x"));
}
