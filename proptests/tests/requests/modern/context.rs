//! The context of a request, which counts for that request only.

use mcp_sansio::capability::{Capability, CapabilitySet};
use mcp_sansio::error::{InvalidMetaKey, ViolationKind};
use mcp_sansio::json::Raw;
use mcp_sansio::model::{Implementation, LoggingLevel, Map, ServerCapabilities};
use mcp_sansio::request::MetaKey;
use mcp_sansio::request::Requestor;
use mcp_sansio::{Era, Principal, Received, RequestContext, Revision, ServerEvent};
use mcp_sansio_proptests::ServerSide;

use crate::modern::kit::*;

const KEY: &str = "io.modelcontextprotocol/";

/// A server with these extensions.
fn extended(names: &[&'static str]) -> ServerSide {
    server_with(|config| {
        let extensions = names.iter().map(|name| ((*name).into(), Raw::new("{}").unwrap()));
        let mut map = Map::default();
        extensions.for_each(|(name, settings): (mcp_sansio::model::Text<'_>, _)| {
            map.insert(name, settings);
        });
        config.capabilities.extensions = Some(map);
    })
}

/// Proves M-META-07, M-META-08, M-META-13, M-ARCH-02: the context of a request is its own, and unknown members
/// arrive unchanged.
#[test]
fn a_request_brings_its_own_context() {
    let mut side = server();
    let more = format!(
        r#""progressToken":"p","{KEY}logLevel":"error","{KEY}clientInfo":{{"name":"c","version":"2"}},"{KEY}unknown":{{}},"com.example/x":[1, 2],"traceparent":"00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01","tracestate":"a=b","baggage":"k=v""#
    );
    let more = format!(r#"{more},"io.modelcontextprotocol/related-task":{{"taskId":"t"}}"#);
    // A param with that name is no identity.
    let members = r#""name":"t","clientInfo":{"name":"other","version":"1"}"#;
    let frame = with_more("1", "tools/call", &more, members);
    let received = Received::from(side.now).principal(Principal::new(7));
    let Some(ServerEvent::Request(one)) =
        side.server.receive(frame.as_str(), received, &mut side.out)
    else {
        panic!("not a request");
    };
    let other = request(&mut side, &of_client("2", "tools/call", ABLE, r#""name":"t""#));
    let context = one.context;
    assert_eq!((context.revision, context.era()), (Revision::V2026_07_28, Era::Modern));
    assert_eq!(context.capabilities, CapabilitySet::NONE);
    assert_eq!(context.log_level, Some(LoggingLevel::Error));
    assert!(context.wants_progress);
    assert_eq!(context.principal, Principal::new(7));
    let able = other.context.capabilities;
    assert!(able.contains(Capability::SamplingTools) && able.contains(Capability::ElicitationUrl));
    assert!(!other.context.wants_progress && other.context.log_level.is_none());
    // The context does not change.
    assert_eq!(side.server.in_flight().context(one.id), Some(context));
    assert_eq!(side.server.in_flight().context(other.id), Some(other.context));
    assert_eq!(one.client_info(), Some(Implementation::new("c", "2")));
    assert_eq!(other.client_info(), None);
    let rest = r#""com.example/x":[1, 2],"traceparent":"00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01","tracestate":"a=b","baggage":"k=v""#;
    let rest = format!(r#"{{"{KEY}unknown":{{}},{rest}}}"#);
    assert_eq!(one.meta_to_pass_on().unwrap().as_json(), rest);
    assert_eq!(other.meta_to_pass_on(), None);
    let meta = one.meta.unwrap();
    let text = |key: &str| meta.get(key).unwrap().as_json().to_owned();
    assert_eq!(text("com.example/x"), "[1, 2]");
    assert_eq!(text(&format!("{KEY}clientInfo")), r#"{"name":"c","version":"2"}"#);
    assert_eq!(text("traceparent"), r#""00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01""#);
    assert_eq!((text("tracestate"), text("baggage")), (r#""a=b""#.into(), r#""k=v""#.into()));
}

/// In a session only the client information of `initialize` counts, not that of later requests.
#[test]
fn legacy_requests_ignore_client_info_in_their_meta() {
    let mut side = beside_session(Revision::V2025_11_25);
    let meta = format!(r#""_meta":{{"{KEY}clientInfo":{{"name":"m","version":"1"}}}}"#);
    let members = format!(r#""name":"t","clientInfo":{{"name":"p","version":"1"}},{meta}"#);
    let request = request(&mut side, &of_session("1", "tools/call", &members));
    assert_eq!(request.client_info(), None);
}

/// Proves M-META-04, M-META-05, M-META-09: a request is served with any other content of its `_meta`.
#[test]
fn invalid_optional_meta_members_are_ignored() {
    let mut side = server();
    for more in [
        format!(r#""{KEY}clientInfo":7"#),
        format!(r#""{KEY}clientInfo":{{"name":[]}}"#),
        format!(r#""{KEY}unknown":{{}}"#),
        format!(r#""{KEY}serverInfo":"x""#),
        format!(r#""{KEY}subscriptionId":1"#),
        r#""traceparent":"not one""#.into(),
        r#""dev.mcp/x":null"#.into(),
        r#""-":1"#.into(),
        r#""progressToken":null"#.into(),
    ] {
        let id = side.request(&with_more("1", "tools/list", &more, ""));
        side.respond(id, r#"{"tools":[]}"#);
        assert_eq!(side.sent(), [cacheable("1", r#""tools":[]"#)], "{more}");
    }
}

/// Proves M-META-15: the client information has no influence.
#[test]
fn a_client_may_be_anybody() {
    let mut anonymous = server();
    let mut known = server();
    for (method, params, result) in METHODS {
        let info = format!(r#""{KEY}clientInfo":{{"name":"root","version":"9"}}"#);
        // The name has the same length, because the length of a request counts.
        let other = info.replace(KEY, &"x".repeat(KEY.len()));
        let bare = anonymous.request(&with_more("1", method, &other, params));
        let named = known.request(&with_more("1", method, &info, params));
        assert_eq!(anonymous.server, known.server, "{method}");
        anonymous.respond(bare, &format!("{{{result}}}"));
        known.respond(named, &format!("{{{result}}}"));
        assert_eq!(anonymous.sent(), known.sent(), "{method}");
    }
}

/// Proves M-META-10: the grammar of `_meta` keys.
#[test]
fn keys_have_a_grammar() {
    for key in ["a/x", "com.ex-1/y.z", "x", "com.example/", "a.b.c/d", "A9/z_z"] {
        let parsed = MetaKey::parse(key).unwrap();
        let prefix = parsed.prefix().map(|prefix| format!("{prefix}/")).unwrap_or_default();
        assert_eq!(format!("{prefix}{}", parsed.name()), key);
    }
    for key in ["1a/x", "a-/x", ".a/x", "a./x", "a..b/x", "/x", "a_b/x"] {
        assert_eq!(MetaKey::parse(key), Err(InvalidMetaKey::Prefix), "{key}");
    }
    for key in ["a//x", "-x", "x-", ".x", "x_", "a/-"] {
        assert_eq!(MetaKey::parse(key), Err(InvalidMetaKey::Name), "{key}");
    }
}

/// Proves M-META-11: the prefixes that are reserved.
#[test]
fn the_second_label_says_whose_a_key_is() {
    let reserved = |key| MetaKey::parse(key).unwrap().is_reserved(Revision::V2026_07_28);
    for key in ["io.modelcontextprotocol/foo", "dev.mcp/x", "com.mcp.tools/x"] {
        assert!(reserved(key), "{key}");
    }
    for key in ["com.example.mcp/x", "mcp/x", "com.example/x", "progressToken"] {
        assert!(!reserved(key), "{key}");
    }
}

/// Proves M-STATE-01, M-CAP-03: a declaration of a request counts for no other request.
#[test]
fn capabilities_of_a_request_do_not_apply_to_others() {
    let mut side = server();
    let first = request(&mut side, &of_client("1", "tools/call", ABLE, r#""name":"t""#));
    let second = request(&mut side, &modern_request("2", "tools/call", r#""name":"t""#));
    assert!(first.context.capabilities.contains(Capability::Sampling));
    assert_eq!(second.context.capabilities, CapabilitySet::NONE);
    let needed = CapabilitySet::NONE.with(Capability::Sampling);
    side.server.reject_missing(second.id, needed, &mut side.out).unwrap();
    assert_eq!(side.sent(), [missing("2", r#"{"sampling":{}}"#)]);
}

/// Proves M-STATE-01: a session declares nothing for a modern request, nor the reverse.
#[test]
fn a_session_declares_nothing_for_others() {
    let mut side = beside_session(Revision::V2025_11_25);
    let in_session = request(&mut side, &of_session("1", "tools/list", ""));
    let by_itself = request(&mut side, &modern_request("2", "tools/list", ""));
    let again = request(&mut side, &of_session("3", "tools/list", ""));
    assert!(in_session.context.capabilities.contains(Capability::SamplingTools));
    assert_eq!(by_itself.context.capabilities, CapabilitySet::NONE);
    assert_eq!(again.context, in_session.context);
}

/// Proves M-STATE-05, M-STATE-08: requests are answered in any order.
#[test]
fn requests_are_answered_in_any_order() {
    for first in 0..METHODS.len() {
        let mut side = server();
        let ids = METHODS.map(|(method, params, _)| {
            side.request(&modern_request(&format!(r#""{method}""#), method, params))
        });
        // From both ends to the middle, begun at another request each time.
        let count = METHODS.len();
        let turns =
            (0..count).map(|turn| if turn % 2 == 0 { turn / 2 } else { count - 1 - turn / 2 });
        for turn in turns {
            let at = (first + turn) % count;
            let (method, _, result) = METHODS[at];
            side.respond(ids[at], &format!("{{{result}}}"));
            let sent = side.sent();
            assert_eq!(sent.len(), 1);
            assert!(sent[0].starts_with(&format!(r#"{{"jsonrpc":"2.0","id":"{method}","result""#)));
        }
        assert_eq!(side.server.in_flight().counts().inbound, 0);
    }
}

/// Proves M-CAP-04, M-CAP-05, M-ERR-11, M-ERR-12: the error for a missing capability names the missing capabilities
/// only.
#[test]
fn a_missing_capability_error_names_only_missing_ones() {
    use Capability::*;
    for (declared, needed, delivered) in [
        ("{}", vec![Sampling], r#"{"sampling":{}}"#),
        ("{}", vec![Roots, Sampling], r#"{"roots":{},"sampling":{}}"#),
        (r#"{"sampling":{}}"#, vec![Sampling, SamplingTools], r#"{"sampling":{"tools":{}}}"#),
        (
            r#"{"elicitation":{}}"#,
            vec![Elicitation, ElicitationUrl],
            r#"{"elicitation":{"url":{}}}"#,
        ),
        ("{}", vec![Elicitation, ElicitationForm], r#"{"elicitation":{"form":{}}}"#),
        (r#"{"roots":{}}"#, vec![Roots, SamplingContext], r#"{"sampling":{"context":{}}}"#),
        // No client can declare a capability of servers, or one that its revision lacks.
        ("{}", vec![Sampling, Tools, RootsListChanged], r#"{"sampling":{}}"#),
    ] {
        let mut side = server();
        let id = side.request(&of_client("1", "tools/call", declared, r#""name":"t""#));
        let needed = needed.into_iter().collect();
        side.server.reject_missing(id, needed, &mut side.out).unwrap();
        assert_eq!(side.sent(), [missing("1", delivered)]);
        lives(&mut side);
    }
}

/// Proves M-CAP-06: the elicitation modes of a client.
#[test]
fn a_client_that_names_no_mode_has_forms() {
    let mut side = server();
    for (declared, form, url) in [
        (r#"{"elicitation":{}}"#, true, false),
        (r#"{"elicitation":{"form":{}}}"#, true, false),
        (r#"{"elicitation":{"url":{}}}"#, false, true),
        (r#"{"elicitation":{"form":{},"url":{}}}"#, true, true),
        ("{}", false, false),
    ] {
        let request = request(&mut side, &of_client("1", "tools/list", declared, ""));
        let has = |capability| request.context.capabilities.contains(capability);
        let found = (has(Capability::ElicitationForm), has(Capability::ElicitationUrl));
        assert_eq!(found, (form, url), "{declared}");
        side.respond(request.id, r#"{"tools":[]}"#);
    }
}

/// Proves M-CAP-02: `roots.listChanged` is ignored in this revision, even if a client declares it.
#[test]
fn modern_requests_ignore_the_roots_list_changed_flag() {
    let mut side = server();
    let declared = r#"{"roots":{"listChanged":true},"com.example/x":{}}"#;
    let request = request(&mut side, &of_client("1", "tools/list", declared, ""));
    assert_eq!(request.context.capabilities, CapabilitySet::NONE.with(Capability::Roots));
}

/// Proves M-CAP-08, M-CAP-09, M-CAP-12: an extension is active if both sides declare it under a valid name, the
/// client with an object and in this request.
#[test]
fn an_extension_is_there_if_both_sides_have_it() {
    let mut side = extended(&["com.example/x", "tasks", "io.example/y"]);
    let own = side.server.config().extension("com.example/x").unwrap();
    let other = side.server.config().extension("io.example/y").unwrap();
    assert_eq!(side.server.config().extension("tasks"), None, "a name without a prefix is none");
    assert_eq!(side.server.config().extension("com.example/z"), None);
    for (declared, has) in [
        (r#"{"extensions":{"com.example/x":{}}}"#, [true, false]),
        (r#"{"extensions":{"com.example/x":{"a":1},"io.example/y":{}}}"#, [true, true]),
        (r#"{"extensions":{"com.example/x":true,"io.example/y":[]}}"#, [false, false]),
        (r#"{"extensions":{"com.example/x":null,"io.example/y":"{}"}}"#, [false, false]),
        (r#"{"extensions":{"com.example/z":{},"tasks":{}}}"#, [false, false]),
        (r#"{"extensions":[]}"#, [false, false]),
        ("{}", [false, false]),
    ] {
        let request = request(&mut side, &of_client("1", "tools/call", declared, r#""name":"t""#));
        let extensions = request.context.extensions;
        assert_eq!([extensions.contains(own), extensions.contains(other)], has, "{declared}");
        side.respond(request.id, r#"{"content":[]}"#);
        assert_eq!(side.sent(), [complete("1", r#""content":[]"#)]);
    }
}

#[track_caller]
fn is_asked_for_with_its_extension(method: &str) {
    const TASKS: &str = "io.modelcontextprotocol/tasks";
    let declared = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    let mut side = server();
    for capabilities in ["{}", declared] {
        let frame = of_client("1", method, capabilities, r#""taskId":"t""#);
        let kind = ViolationKind::MethodNotAvailable;
        refused(&mut side, &frame, kind, &unavailable("1"));
    }
    let mut side = extended(&[TASKS]);
    let params = r#""taskId":"t","inputResponses":{}"#;
    let frame = modern_request("1", method, params);
    let kind = ViolationKind::MissingCapability;
    refused(&mut side, &frame, kind, &missing("1", declared));
    side.request(&of_client("1", method, declared, params));
}

/// Proves M-CAP-10, M-CAP-11: a method of an extension exists if the server has the extension, and only for
/// requests that declare it.
#[test]
fn a_method_of_an_extension_is_asked_for_with_it() {
    is_asked_for_with_its_extension("tasks/update");
}

/// Proves M-CAP-11: the same for a method whose name has another meaning in the legacy era.
#[test]
fn a_method_of_an_extension_is_not_the_one_of_sessions() {
    is_asked_for_with_its_extension("tasks/get");
    is_asked_for_with_its_extension("tasks/cancel");
}

/// Proves M-CAP-13, M-DISC-05, M-RSRC-03: a server serves exactly the capabilities that it declares.
#[test]
fn a_server_serves_exactly_its_declared_capabilities() {
    for declared in 0..16_u32 {
        let has = |bit: u32| declared & 1 << bit != 0;
        let mut side = server_with(|config| {
            let all = core::mem::take(&mut config.capabilities);
            let mut some = ServerCapabilities::default();
            some.tools = all.tools.filter(|_| has(0));
            some.prompts = all.prompts.filter(|_| has(1));
            some.resources = all.resources.filter(|_| has(2));
            some.completions = all.completions.filter(|_| has(3));
            config.capabilities = some;
        });
        assert_eq!(side.receive(&modern_request("1", "server/discover", "")), None);
        let discovery = side.sent().remove(0);
        for (method, params, result) in METHODS {
            let (bit, capability) = match method.split('/').next().unwrap() {
                "tools" => (0, r#""tools":{"#),
                "prompts" => (1, r#""prompts":{"#),
                "resources" => (2, r#""resources":{"#),
                _ => (3, r#""completions":{"#),
            };
            assert_eq!(discovery.contains(capability), has(bit), "{discovery}");
            let frame = modern_request("1", method, params);
            if has(bit) {
                let id = side.request(&frame);
                side.respond(id, &format!("{{{result}}}"));
                assert!(side.sent()[0].contains(result));
            } else {
                let kind = ViolationKind::MethodNotAvailable;
                refused(&mut side, &frame, kind, &unavailable("1"));
            }
        }
    }
}

/// The debug output of a context names the requestor only if it is not the principal.
#[test]
fn a_printed_context_names_a_requestor_of_its_own() {
    let mut side = server();
    let mut context = |received: Received| -> RequestContext {
        let frame = modern_request("1", "tools/call", r#""name":"t""#);
        let event = side.server.receive(frame.as_str(), received, &mut side.out);
        let Some(ServerEvent::Request(request)) = event else { panic!("not a request") };
        let (id, context) = (request.id, request.context);
        side.respond(id, r#"{"content":[]}"#);
        context
    };
    let now = mcp_sansio::Instant::from_millis(1_000_000);
    let principal = Principal::new(7);
    let plain = format!("{:?}", context(Received::from(now).principal(principal)));
    assert!(plain.starts_with("RequestContext { revision: 2026-07-28, capabilities: "), "{plain}");
    assert!(plain.contains(", principal: Principal(7), task: None }"), "{plain}");
    assert!(!plain.contains("requestor"), "{plain}");
    let requestor = Requestor::Session(3);
    let own = format!("{:?}", context(Received::from(now).requestor(requestor)));
    assert!(own.contains(&format!("requestor: {requestor:?}, task: None }}")), "{own}");
}
