//! Texts of a peer that functions of the application read: cursors, sealed states, trace contexts, schemas with
//! annotations, URLs, header fields, tokens and results with a time to live. Each function is compared with what makes
//! such a text, or with its own result for the text that it accepted.

use std::hash::Hasher;
use std::time::Duration;

use mcp_sansio::auth::resource_server::{
    AccessError, Claims, ProtectedResource, TokenError, bearer_token,
};
use mcp_sansio::auth::{Challenges, Scopes, WebUrl};
use mcp_sansio::cache::{Asker, Cache, CacheKey, CacheLimits, Change, Verdict};
use mcp_sansio::http::{Headers, ParamHeaders, decode_value, encode_value};
use mcp_sansio::json::{Kind, Raw, Str};
use mcp_sansio::model::{ElicitParams, Map, ObjectSchema, TraceContext};
use mcp_sansio::pagination::Pager;
use mcp_sansio::request_state::{Authenticator, Binding, OpenError, StateSealer};
use mcp_sansio::testing::Digest;
use mcp_sansio::{Instant, Principal, Revision};

/// The number of kinds of texts.
pub const KINDS: u8 = 9;

/// Texts of each kind, most of which are accepted: what a fuzzer begins with.
pub const EXAMPLES: &[(u8, &str)] = &[
    (0, "3-0\n1"),
    (0, "\n"),
    (1, "a payload of the application\ndeploy"),
    (1, "AQAAAAAAAAAK\n"),
    (
        2,
        r#"{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"a=1","baggage":"b=2","x":1}"#,
    ),
    (
        3,
        r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"size":{"type":"integer","x-mcp-header":"Size"},"dry":{"type":"boolean","x-mcp-header":"Dry"},"in":{"type":"object","properties":{"deep":{"type":"number","x-mcp-header":"Deep"}}}}}
{"region":"süd ","size":42.0,"dry":true,"in":{"deep":-1.50e2}}"#,
    ),
    (3, r#"{"properties":{"a":{"items":{"type":"string","x-mcp-header":"A"}}}}"#),
    (4, "https://login.example:8443/start?state=1"),
    (4, "HTTPS://Bank.Example@[::1]:443/%7ea/../b#c"),
    (5, "=?base64?ZMOpasOg?="),
    (5, " süd\t"),
    (6, "Bearer abc.def-ghi==\nhttps://login.example\nhttps://MCP.example:443/mcp\ntools more"),
    (6, "Bearer abc\nhttps://login.example\nhttps://mcp.example/mcp\nmore"),
    (6, "Basic YTpi"),
    (
        7,
        r#"{"type":"object","properties":{"name":{"type":"string","default":"x","format":"email"},"age":{"type":"integer","minimum":0,"default":4},"news":{"type":"boolean","default":true},"one":{"type":"string","enum":["a","b"],"default":"a"},"many":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]},"default":["a"]}},"required":["name"]}
{"age":44,"other":null}"#,
    ),
    (7, "{\"type\":\"object\",\"properties\":{}}\n{\"age\":{\"a\"\r:44}}"),
    (
        8,
        "{\"tools\":[],\"ttlMs\":100,\"cacheScope\":\"private\"}\nnotifications/tools/list_changed",
    ),
    (
        8,
        "{\"contents\":[],\"ttlMs\":100}\nnotifications/resources/updated\n{\"uri\":\"file:///a\"}",
    ),
];

/// Checks a text of this kind. The lines of the text are its parts.
///
/// # Panics
///
/// Panics if a function accepts or refuses what it should not.
pub fn check_text(kind: u8, text: &str) {
    match kind % KINDS {
        0 => cursor(text),
        1 => sealed(text),
        2 => trace(text),
        3 => repeated_arguments(text),
        4 => url(text),
        5 => header_value(text),
        6 => token(text),
        7 => form(text),
        _ => cached(text),
    }
}

/// Splits off the first line.
fn line(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}

/// A pager accepts the cursors that it has made, and no other.
fn cursor(text: &str) {
    let items: Vec<usize> = (0..40).collect();
    let pager = Pager::new(3).key(7).version(1);
    let (mut made, mut walked) = (Vec::new(), Vec::<usize>::new());
    loop {
        let cursor = made.last().map(|made: &String| Str::from(made.as_str()));
        let page = pager.page(&items, cursor.as_ref()).expect("its own cursor");
        walked.extend(page.items);
        let Some(next) = page.next_cursor else { break };
        made.push(next);
    }
    assert_eq!(walked, items);
    let (first, rest) = line(text);
    let known = made.get(first.len() % made.len()).map_or("", String::as_str);
    for forged in [first.to_owned(), format!("{known}{rest}"), format!("{rest}{known}")] {
        let page = pager.page(&items, Some(&Str::from(forged.as_str())));
        assert_eq!(page.is_ok(), made.contains(&forged), "{forged}");
    }
}

/// An authenticator for tests. Forging its digest requires the key, which no input contains.
struct Keyed;

impl Authenticator for Keyed {
    fn tag(&self, message: &[u8]) -> [u8; 32] {
        let mut tag = [0; 32];
        for (number, part) in tag.chunks_exact_mut(8).enumerate() {
            let mut digest = Digest::new();
            digest.write_u64(0x5eed ^ number as u64);
            digest.write(message);
            part.copy_from_slice(&digest.finish().to_be_bytes());
        }
        tag
    }

    fn verify(&self, message: &[u8], tag: &[u8; 32]) -> bool {
        self.tag(message) == *tag
    }
}

/// A sealed state opens for its request before it expires; a state that opens is written in the only way there is.
fn sealed(text: &str) {
    const MOST: usize = 200;
    let sealer = StateSealer::new(Keyed).payload_bytes(MOST);
    let (payload, name) = line(text);
    let binding = Binding::new(Principal::new(1), "tools/call").name(name);
    let end = Instant::from_millis(10);
    let open = |state: &str, binding: &Binding<'_>, now| {
        sealer.open(&Str::from(state), binding, Instant::from_millis(now))
    };
    let sealed = sealer.seal(payload.as_bytes(), &binding, end);
    assert_eq!(sealed.is_ok(), payload.len() <= MOST);
    if let Ok(state) = &sealed {
        let opened = open(state.as_str(), &binding, 9).expect("it has just been sealed");
        assert_eq!((opened.payload.as_slice(), opened.expiry), (payload.as_bytes(), end));
        assert_eq!(open(state.as_str(), &binding, 10), Err(OpenError::Expired));
        for other in [
            binding.clone().name(&format!("{name}x")),
            binding.clone().uri(name),
            Binding::new(Principal::new(2), "tools/call").name(name),
            Binding::new(Principal::new(1), "prompts/get").name(name),
        ] {
            assert_eq!(open(state.as_str(), &other, 9), Err(OpenError::NotAuthentic));
        }
    }
    // A text of another author, whole or behind a part of a real state.
    let real = sealed.as_ref().map_or("", |state| state.as_str());
    let part = real.get(..name.len()).unwrap_or_default();
    for forged in [payload.to_owned(), format!("{part}{payload}")] {
        if let Ok(opened) = open(&forged, &binding, 0) {
            let again = sealer.seal(&opened.payload, &binding, opened.expiry);
            assert_eq!(again.as_ref().map(|state| state.as_str()), Ok(forged.as_str()));
        }
    }
}

/// A trace context that was read is passed on unchanged.
fn trace(text: &str) {
    let Ok(meta) = Raw::new(text) else { return };
    let Some(context) = TraceContext::of(Some(&meta)) else { return };
    assert_eq!(TraceContext::of(Some(&context.added_to(None))).as_ref(), Some(&context));
    if let Some(id) = context.trace_id() {
        assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        assert!(context.parent_id().is_some_and(|id| id.len() == 16));
    }
    _ = context.is_sampled();
    if meta.kind() == Kind::Object {
        let added = context.added_to(Some(&meta));
        assert_eq!(TraceContext::of(Some(&added)).as_ref(), Some(&context));
    }
}

/// The headers that a client makes of arguments are those that a server expects.
fn repeated_arguments(text: &str) {
    let (schema, arguments) = line(text);
    let (Ok(schema), arguments) = (Raw::new(schema), Raw::new(arguments).ok()) else { return };
    let Ok(params) = ParamHeaders::of(&schema) else { return };
    let Ok(made) = params.of_call(arguments.as_ref()) else { return };
    assert!(made.is_empty() || !params.is_empty());
    let mut fields: Vec<(&str, &[u8])> =
        made.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    assert_eq!(params.check(arguments.as_ref(), Headers::from(&fields[..])), Ok(()));
    if fields.pop().is_some() {
        assert!(params.check(arguments.as_ref(), Headers::from(&fields[..])).is_err());
    }
}

/// A URL stays the same when it is parsed again, and both parsers read the same host.
fn url(text: &str) {
    let request = ElicitParams::visit("", text);
    let shown = request.url_host();
    let Ok(url) = WebUrl::parse(text) else { return };
    assert_eq!(WebUrl::parse(url.as_str()).as_ref(), Ok(&url));
    let canonical = url.canonical();
    assert_eq!(WebUrl::parse(&canonical).map(|url| url.canonical()), Ok(canonical));
    assert!(url.is_same_origin(&url));
    if let Ok(host) = shown {
        assert!(url.host().eq_ignore_ascii_case(host), "{host} and {}", url.host());
    }
}

/// A value that was encoded for a header is a header value, and decodes to itself.
fn header_value(text: &str) {
    let encoded = encode_value(text);
    assert!(encoded.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t')), "{encoded:?}");
    assert_eq!(decode_value(&encoded).as_deref(), Ok(text));
    _ = decode_value(text);
}

/// A token is for the resource that it names, and a refusal is a challenge that a client reads.
fn token(text: &str) {
    const URL: &str = "https://mcp.example/mcp";
    const ISSUER: &str = "https://login.example";
    let resource = ProtectedResource::new(URL, ISSUER).expect("both are URLs");
    let resource = resource.scopes(Scopes::parse("tools"));
    let (field, rest) = line(text);
    let fields = [("authorization", field.as_bytes())];
    let refused = match bearer_token(Headers::from(&fields[..])) {
        Ok(token) => {
            assert!(field.ends_with(token) || field.trim_end().ends_with(token), "{field:?}");
            let (issuer, rest) = line(rest);
            let (audience, scopes) = line(rest);
            let mut claims = Claims::new(issuer, token);
            claims.audience = vec![audience.to_owned()];
            claims.scopes = Scopes::parse(scopes);
            claims.expires_at = Some(Instant::from_millis(1) + Duration::from_secs(60));
            let checked = resource.check(&claims, Instant::from_millis(1));
            if checked.is_ok() {
                assert_eq!(issuer, ISSUER);
                assert!(scopes.split(' ').any(|scope| scope == "tools"), "{scopes}");
            }
            if issuer != ISSUER {
                assert_eq!(checked, Err(AccessError::InvalidToken(TokenError::Issuer)));
            }
            checked.err()
        }
        Err(error) => Some(error),
    };
    let Some(error) = refused else { return };
    let reply = resource.reply(&error);
    assert!(matches!(reply.status, 400 | 401 | 403), "{}", reply.status);
    let challenges = Challenges::parse(reply.challenge.as_deref().unwrap_or_default());
    let bearer = challenges.bearer().expect("a refusal is a challenge");
    assert_eq!(bearer.resource_metadata(), Some(resource.metadata_url()));
}

/// A form keeps every answer, and what it fills in is JSON.
fn form(text: &str) {
    let (schema, answers) = line(text);
    let Ok(schema) = Raw::new(schema) else { return };
    let Ok(schema) = schema.parse::<ObjectSchema<'_>>() else { return };
    let answers = Raw::new(answers).unwrap_or(Raw::EMPTY_OBJECT);
    let Ok(answers) = answers.parse::<Map<'_, Raw<'_>>>() else { return };
    let filled = schema.filled(&answers);
    assert_eq!(Raw::new(filled.as_json()).as_ref(), Ok(&filled));
    for (name, answer) in &answers {
        // An answer with a line break is written on one line.
        assert_eq!(filled.get(name), Raw::from_serialize(answer).ok(), "{name}");
    }
}

/// A result is found as it was stored, until it expires or a notification concerns it, and the cache stays small.
fn cached(text: &str) {
    let (result, rest) = line(text);
    let (method, params) = line(rest);
    let Ok(result) = Raw::new(result) else { return };
    let asker = Asker::new(Principal::new(1), Revision::LATEST_MODERN);
    let mut limits = CacheLimits::default();
    limits.bytes = 300;
    let mut cache = Cache::new(limits);
    let keys = [CacheKey::tools(None, asker), CacheKey::resource("file:///a/b", asker)];
    let now = Instant::from_millis(1);
    let verdicts = keys.clone().map(|key| {
        let ticket = cache.begin(key);
        cache.store(ticket, &result, now)
    });
    for (key, verdict) in keys.iter().zip(&verdicts) {
        if let Some(found) = cache.get(key, now) {
            assert_eq!((found, *verdict), (&result, Verdict::Stored));
        }
    }
    assert!(cache.bytes() <= limits.bytes && cache.len() <= keys.len());
    let params = Raw::new(params).ok();
    let Some(change) = Change::of(method, params.as_ref()) else { return };
    cache.changed(&change);
    if change == Change::Tools || change == Change::Everything {
        assert!(keys.first().is_some_and(|key| cache.get(key, now).is_none()));
    }
}
