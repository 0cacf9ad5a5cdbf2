//! The cache of a client, compared with a small model and with the memory that its limits promise.

use mcp_sansio::cache::{Asker, Cache, CacheKey, CacheLimits, Change, Ticket, Verdict};
use mcp_sansio::json::Raw;
use mcp_sansio::model::method::{CacheableMethod, Method};
use mcp_sansio::{Instant, Principal, Revision};
use mcp_sansio_proptests::allocations::held;
use proptest::prelude::*;

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(500)
}

const LISTS: [&str; 5] =
    ["tools/list", "prompts/list", "resources/list", "resources/templates/list", Custom::NAME];

/// A list of the application.
enum Custom {}

impl Method for Custom {
    const NAME: &'static str = "com.example/list";
    type Params<'a> = Raw<'a>;
    type Result<'a> = Raw<'a>;
}

impl CacheableMethod for Custom {
    const PARAM: Option<&'static str> = Some("cursor");
}

/// The number of different requests in one run, at most.
const REQUESTS: usize = 6;

const URIS: [&str; 7] = ["a:/d", "a:/d/", "a:/d/x", "a:/d/x/y", "a:/dx", "a:/e", "/"];

const CHANGES: [(&str, &[&str]); 3] = [
    ("notifications/tools/list_changed", &["tools/list"]),
    ("notifications/prompts/list_changed", &["prompts/list"]),
    ("notifications/resources/list_changed", &["resources/list", "resources/templates/list"]),
];

/// A request in the model.
#[derive(Clone, Debug, PartialEq)]
struct Asked {
    method: &'static str,
    param: Option<&'static str>,
    principal: u64,
    revision: Revision,
}

impl Asked {
    /// Runs with the cache key, which contains the params in their wire form.
    fn with_key<R>(&self, run: impl FnOnce(CacheKey<'_>) -> R) -> R {
        let name = if self.method == "resources/read" { "uri" } else { "cursor" };
        let params = match self.param {
            Some(param) => format!(r#"{{"_meta":{{"progressToken":1}},"{name}":"{param}"}}"#),
            None => String::from(r#"{"_meta":{}}"#),
        };
        let params = Raw::new(&params).unwrap();
        let asker = Asker::new(Principal::new(self.principal), self.revision);
        let known = CacheKey::of(self.method, Some(&params), asker);
        assert_eq!(known.is_none(), self.method == Custom::NAME);
        run(known.or_else(|| CacheKey::of_params::<Custom>(Some(&params), asker)).unwrap())
    }
}

/// A change of the server's data.
#[derive(Clone, Debug)]
enum Happened {
    Lists(usize),
    Resource(&'static str),
    Custom,
    Everything,
}

impl Happened {
    fn concerns(&self, asked: &Asked) -> bool {
        match self {
            Self::Everything => true,
            Self::Custom => asked.method == Custom::NAME,
            Self::Lists(index) => CHANGES[*index].1.contains(&asked.method),
            Self::Resource(changed) => {
                let below = if changed.ends_with('/') {
                    String::from(*changed)
                } else {
                    format!("{changed}/")
                };
                asked.method == "resources/read"
                    && asked.param.is_some_and(|uri| uri == *changed || uri.starts_with(&below))
            }
        }
    }
}

/// An operation. Requests are named by an index among a few, so that operations often meet.
#[derive(Clone, Debug)]
enum Operation {
    Get(usize),
    Stale(usize),
    Begin(usize),
    Store { ticket: usize, ttl: Option<u64>, is_public: bool, is_complete: bool, padding: usize },
    Lose { ticket: usize },
    Change(Happened),
    CursorDied(usize),
    Clear,
    Wait(u64),
}

/// A stored result in the model.
#[derive(Clone, Debug)]
struct Held {
    asked: Asked,
    is_public: bool,
    text: String,
    begun: usize,
    /// In milliseconds.
    fresh_until: u64,
}

impl Held {
    fn is_for(&self, asked: &Asked) -> bool {
        let same = self.asked.method == asked.method
            && self.asked.param == asked.param
            && self.asked.revision == asked.revision;
        same && (self.is_public || self.asked.principal == asked.principal)
    }

    fn bytes(&self) -> usize {
        self.text.len() + self.asked.param.map_or(0, str::len)
    }
}

/// The model of the cache: a list with a linear search.
struct Model {
    entries: usize,
    bytes: usize,
    /// The stored results; the most recently used one is last.
    held: Vec<Held>,
    /// All changes so far, each with its time.
    changes: Vec<(usize, Happened)>,
    /// The lists whose cursors became invalid, each with its time.
    died: Vec<(usize, &'static str)>,
}

impl Model {
    fn get(&mut self, asked: &Asked, now: Option<u64>) -> Option<String> {
        let is_good = |held: &Held| now.is_none_or(|now| now < held.fresh_until);
        // A private result takes precedence over a public one.
        let index = [false, true].into_iter().find_map(|is_public| {
            let wanted =
                |held: &Held| held.is_for(asked) && held.is_public == is_public && is_good(held);
            self.held.iter().position(wanted)
        })?;
        let held = self.held.remove(index);
        self.held.push(held);
        self.held.last().map(|held| held.text.clone())
    }

    fn store(&mut self, new: Held, ttl: u64, is_complete: bool) -> Verdict {
        let has_changed =
            |(when, change): &(usize, Happened)| new.begun < *when && change.concerns(&new.asked);
        let has_died =
            |(when, method): &(usize, &str)| new.begun < *when && *method == new.asked.method;
        if self.changes.iter().any(has_changed) || self.died.iter().any(has_died) {
            return Verdict::Invalidated;
        }
        if self.held.iter().any(|held| held.is_for(&new.asked) && new.begun < held.begun) {
            return Verdict::Overtaken;
        }
        self.held.retain(|held| !held.is_for(&new.asked));
        if !is_complete {
            return Verdict::NotComplete;
        }
        if ttl == 0 || new.asked.revision != Revision::V2026_07_28 {
            return Verdict::NoTtl;
        }
        if self.entries == 0 || self.bytes < new.bytes() {
            return Verdict::TooLarge;
        }
        self.held.push(new);
        while self.entries < self.held.len() || self.bytes < self.held.iter().map(Held::bytes).sum()
        {
            self.held.remove(0);
        }
        Verdict::Stored
    }

    fn changed(&mut self, when: usize, change: Happened) {
        for held in &mut self.held {
            if change.concerns(&held.asked) {
                held.fresh_until = 0;
            }
        }
        self.changes.push((when, change));
    }

    fn cursor_died(&mut self, when: usize, asked: &Asked) {
        if asked.method == "resources/read" || asked.param.is_none() {
            return;
        }
        self.held.retain(|held| {
            let (param, revision) = (held.asked.param, held.asked.revision);
            let page = Asked { param, revision, ..asked.clone() };
            !held.is_for(&page)
        });
        self.died.push((when, asked.method));
    }
}

fn asked() -> impl Strategy<Value = Asked> {
    let what = prop_oneof![
        1 => Just(("server/discover", None)),
        4 => (
            prop::sample::select(&LISTS[..]),
            prop::sample::select(&[None, Some(""), Some("a"), Some("b")][..]),
        ),
        4 => prop::sample::select(&URIS[..]).prop_map(|uri| ("resources/read", Some(uri))),
    ];
    let revision = prop_oneof![9 => Just(Revision::V2026_07_28), 1 => Just(Revision::V2025_11_25)];
    (what, 0..3_u64, revision).prop_map(|((method, param), principal, revision)| Asked {
        method,
        param,
        principal,
        revision,
    })
}

fn happened() -> impl Strategy<Value = Happened> {
    prop_oneof![
        4 => (0..CHANGES.len()).prop_map(Happened::Lists),
        6 => prop::sample::select(&URIS[..]).prop_map(Happened::Resource),
        2 => Just(Happened::Custom),
        1 => Just(Happened::Everything),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    let ttl = prop::sample::select(&[None, Some(0), Some(5), Some(20), Some(1 << 53)][..]);
    let store = (0..4_usize, ttl, any::<bool>(), prop::bool::weighted(0.9), 0..120_usize);
    let store = store.prop_map(|(ticket, ttl, is_public, is_complete, padding)| Operation::Store {
        ticket,
        ttl,
        is_public,
        is_complete,
        padding,
    });
    prop_oneof![
        10 => (0..REQUESTS).prop_map(Operation::Get),
        3 => (0..REQUESTS).prop_map(Operation::Stale),
        10 => (0..REQUESTS).prop_map(Operation::Begin),
        10 => store,
        1 => (0..4_usize).prop_map(|ticket| Operation::Lose { ticket }),
        3 => happened().prop_map(Operation::Change),
        1 => (0..REQUESTS).prop_map(Operation::CursorDied),
        1 => Just(Operation::Clear),
        4 => (0..15_u64).prop_map(Operation::Wait),
    ]
}

/// The cache and its model.
struct World {
    cache: Cache,
    model: Model,
    tickets: Vec<(Ticket, Asked, usize)>,
    now: u64,
}

impl World {
    fn new(entries: usize, bytes: usize) -> Self {
        let mut limits = CacheLimits::default();
        (limits.entries, limits.bytes) = (entries, bytes);
        let (held, changes, died) = (Vec::new(), Vec::new(), Vec::new());
        let model = Model { entries, bytes, held, changes, died };
        Self { cache: Cache::new(limits), model, tickets: Vec::new(), now: 0 }
    }

    fn change(&mut self, step: usize, change: &Happened) {
        match change {
            Happened::Everything => self.cache.changed(&Change::Everything),
            Happened::Custom => self.cache.changed(&Change::of_method::<Custom>()),
            Happened::Lists(index) => {
                self.cache.changed(&Change::of(CHANGES[*index].0, None).unwrap());
            }
            Happened::Resource(uri) => {
                let params = format!(r#"{{"uri":"{uri}"}}"#);
                let params = Raw::new(&params).unwrap();
                let method = "notifications/resources/updated";
                self.cache.changed(&Change::of(method, Some(&params)).unwrap());
            }
        }
        self.model.changed(step, change.clone());
    }

    fn step(&mut self, step: usize, operation: &Operation, requests: &[Asked]) {
        match operation {
            Operation::Get(asked) => {
                let asked = &requests[*asked];
                let now = Instant::from_millis(self.now);
                let found = asked.with_key(|key| self.cache.get(&key, now).map(Raw::to_string));
                assert_eq!(found, self.model.get(asked, Some(self.now)), "{step}: {operation:?}");
            }
            Operation::Stale(asked) => {
                let asked = &requests[*asked];
                let found = asked.with_key(|key| self.cache.stale(&key).map(Raw::to_string));
                assert_eq!(found, self.model.get(asked, None), "{step}: {operation:?}");
            }
            Operation::Begin(asked) => {
                let asked = &requests[*asked];
                let ticket = asked.with_key(|key| self.cache.begin(key));
                self.tickets.push((ticket, asked.clone(), step));
            }
            Operation::Store { ticket, ttl, is_public, is_complete, padding } => {
                if *ticket < self.tickets.len() {
                    let (ticket, asked, begun) = self.tickets.remove(*ticket);
                    let kind = if *is_complete { "complete" } else { "input_required" };
                    let scope = if *is_public { "public" } else { "private" };
                    let hint = ttl.map(|ttl| format!(r#","ttlMs":{ttl}"#)).unwrap_or_default();
                    let text = format!(
                        r#"{{"step":{step},"resultType":"{kind}","cacheScope":"{scope}"{hint},"p":"{}"}}"#,
                        "p".repeat(*padding)
                    );
                    let now = Instant::from_millis(self.now);
                    let verdict = self.cache.store(ticket, &Raw::new(&text).unwrap(), now);
                    let ttl = ttl.unwrap_or(0);
                    let fresh_until = self.now + ttl;
                    let new = Held { asked, is_public: *is_public, text, begun, fresh_until };
                    let expected = self.model.store(new, ttl, *is_complete);
                    assert_eq!(verdict, expected, "{step}: {operation:?}");
                }
            }
            Operation::Lose { ticket } => {
                if *ticket < self.tickets.len() {
                    drop(self.tickets.remove(*ticket));
                }
            }
            Operation::Change(change) => self.change(step, change),
            Operation::CursorDied(asked) => {
                let asked = &requests[*asked];
                asked.with_key(|key| self.cache.cursor_died(&key));
                self.model.cursor_died(step, asked);
            }
            Operation::Clear => {
                self.cache.clear();
                self.model.changed(step, Happened::Everything);
                self.model.held.clear();
            }
            Operation::Wait(milliseconds) => self.now += milliseconds,
        }
        assert_eq!(self.cache.len(), self.model.held.len(), "{step}: {operation:?}");
        let bytes: usize = self.model.held.iter().map(Held::bytes).sum();
        assert_eq!(self.cache.bytes(), bytes, "{step}: {operation:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    /// Proves M-CACHE-07, M-CACHE-08, M-CACHE-09, M-CACHE-12, M-CACHE-13, M-CACHE-14, M-CACHE-15, M-CACHE-22,
    /// M-R-11, M-R-42: the cache agrees with its model for any operations in any order.
    #[test]
    fn a_cache_agrees_with_its_model(
        entries in 0..8_usize,
        bytes in 50..900_usize,
        requests in prop::collection::vec(asked(), REQUESTS),
        operations in prop::collection::vec(operation(), 1..120),
    ) {
        let mut world = World::new(entries, bytes);
        for (step, operation) in operations.iter().enumerate() {
            world.step(step, operation, &requests);
        }
        // The same operations lead to an equal value.
        let mut again = World::new(entries, bytes);
        for (step, operation) in operations.iter().enumerate() {
            again.step(step, operation, &requests);
        }
        prop_assert!(world.cache == again.cache);
    }
}

/// Proves M-CACHE-22: the memory of a cache agrees with the documentation of its limits.
#[test]
fn a_cache_stays_within_its_memory_limits() {
    let asker = Asker::new(Principal::new(1), Revision::V2026_07_28);
    for (entries, bytes, padding) in
        [(1000, 32_000, 0), (1000, 1 << 20, 1000), (10, 1 << 20, 1 << 19)]
    {
        let mut limits = CacheLimits::default();
        (limits.entries, limits.bytes) = (entries, bytes);
        let most = bytes + 512 * entries + 4096;
        let text = format!(r#"{{"ttlMs":60000,"p":"{}"}}"#, "p".repeat(padding));
        let result = Raw::new(&text).unwrap();
        let (_cache, taken) = held(|| {
            let mut cache = Cache::new(limits);
            for number in 0..3 * entries {
                let uri = format!("a:/{number}");
                let ticket = cache.begin(CacheKey::resource(&uri, asker));
                assert_eq!(cache.store(ticket, &result, Instant::EPOCH), Verdict::Stored);
                if number % 3 == 0 {
                    cache.changed(&Change::Resource(uri.into()));
                }
            }
            cache
        });
        assert!(taken <= most, "{entries}, {bytes}: {taken} of {most}");
        println!("{entries} results of {} bytes: {taken} of {most}", text.len());
    }
}
