//! Results: the members that the machine adds, removes and refuses.

use mcp_sansio::config::{CacheHint, CacheHints};
use mcp_sansio::json::Raw;
use mcp_sansio::model::method::ListTools;
use mcp_sansio::model::{CallToolResult, CompleteResult, Completion, Icon, IconTheme, Tool};
use mcp_sansio::pagination::Pager;
use mcp_sansio::schema::{EncodeError, Misfit};
use mcp_sansio::{ClientRequest, ErrorCode, RespondError, Revision};
use mcp_sansio_proptests::ServerSide;

use crate::modern::kit::*;

const CACHEABLE: [&str; 5] =
    ["tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"];

/// The params and the minimal result of a method.
fn least(method: &str) -> (&'static str, &'static str) {
    METHODS.into_iter().find(|row| row.0 == method).map(|row| (row.1, row.2)).unwrap()
}

/// The response to a modern request with this result.
#[track_caller]
fn answered(side: &mut ServerSide, method: &str, result: &str) -> String {
    let id = side.request(&modern_request("1", method, least(method).0));
    side.respond(id, &format!("{{{result}}}"));
    let mut sent = side.sent();
    assert_eq!(sent.len(), 1);
    sent.remove(0)
}

/// The same in a session of the newest legacy revision.
#[track_caller]
fn answered_in_session(method: &str, result: &str) -> String {
    let mut side = beside_session(Revision::V2025_11_25);
    let id = side.request(&of_session("1", method, least(method).0));
    side.respond(id, &format!("{{{result}}}"));
    side.sent().remove(0)
}

/// The misfit in a result. The request can still be answered.
#[track_caller]
fn misfit(method: &str, result: &str) -> Misfit {
    let mut side = server();
    let id = side.request(&modern_request("1", method, least(method).0));
    let raw = format!("{{{result}}}");
    let answered = side.server.respond(id, &Raw::new(&raw).unwrap(), &mut side.out);
    assert_eq!(side.sent(), [""; 0]);
    side.server.reject(id, ErrorCode::INTERNAL_ERROR, "no", &mut side.out).unwrap();
    assert_eq!(side.sent(), [error("1", -32603, "no")]);
    match answered {
        Err(RespondError::Encode(EncodeError::Misfit(misfit))) => misfit,
        other => panic!("{method} {result}: {other:?}"),
    }
}

/// Proves M-RES-01, M-RES-02, M-RES-08, M-RES-13, M-RES-14, M-CACHE-01, M-CACHE-02, M-RPC-01: every result has a
/// kind and identifies the server, and a cacheable one has hints.
#[test]
fn every_modern_result_has_a_result_type_and_server_info() {
    let mut side = server();
    for (method, _, result) in METHODS {
        let expected = match CACHEABLE.contains(&method) {
            true => cacheable("1", result),
            false => complete("1", result),
        };
        assert_eq!(answered(&mut side, method, result), expected, "{method}");
    }
    // A method that MCP does not define.
    let id = side.request(&modern_request("1", "x/own", ""));
    side.server.respond(id, &(), &mut side.out).unwrap();
    assert_eq!(
        side.sent(),
        [format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete",{SERVER}}}}}"#)]
    );
}

/// Proves M-RES-09, M-ARCH-05: results in a session have none of these members.
#[test]
fn results_of_sessions_have_nothing_added() {
    for revision in Revision::LEGACY {
        let mut side = beside_session(revision);
        for (method, params, result) in METHODS {
            let id = side.request(&of_session("1", method, params));
            let hints = r#""ttlMs":5,"cacheScope":"public""#;
            side.respond(id, &format!("{{{result},{hints}}}"));
            let extra =
                if CACHEABLE.contains(&method) { String::new() } else { format!(",{hints}") };
            let expected = plain("1", &format!("{result}{extra}"));
            assert_eq!(side.sent(), [expected], "{method} in {revision}");
        }
    }
}

/// Proves M-RES-02: a result never has a kind that was not requested.
#[test]
fn a_result_is_never_of_a_foreign_kind() {
    let mut side = server();
    for kind in ["task", "input_required", "later", "complete"] {
        for (method, _, result) in METHODS {
            let sent = answered(&mut side, method, &format!(r#""resultType":"{kind}",{result}"#));
            assert_eq!(sent.matches("resultType").count(), 1, "{sent}");
            assert!(sent.contains(r#""resultType":"complete""#), "{sent}");
        }
    }
    let task = r#""resultType":"task","taskId":"t","status":"working""#;
    assert_eq!(misfit("tools/call", task).field, "content");
}

/// Proves M-RES-08: the server information can be switched off.
#[test]
fn server_info_can_be_omitted_from_results() {
    let mut side = server_with(|config| config.identify = false);
    let sent = answered(&mut side, "tools/call", r#""content":[]"#);
    let expected = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#;
    assert_eq!(sent, expected);
    assert_eq!(side.receive(&modern_request("1", "server/discover", "")), None);
    assert!(!side.sent()[0].contains("_meta"));
    let sent = answered(&mut side, "tools/call", r#""content":[],"_meta":{"a":1}"#);
    let expected = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[],"_meta":{"a":1}}}"#;
    assert_eq!(sent, expected);
}

/// Info that the revision does not allow is left out: no result needs it, and it would make each of them invalid.
#[test]
fn invalid_server_info_is_left_out_of_results() {
    let mut side = server_with(|config| {
        let theme = IconTheme::Other("grey".into());
        config.info.icons = Some(vec![Icon::new("data:,").theme(theme)]);
    });
    let sent = answered(&mut side, "tools/call", r#""content":[]"#);
    let expected = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#;
    assert_eq!(sent, expected);
}

/// Proves M-RES-08: an application adds members to `_meta`, but not the keys of the machine.
#[test]
fn the_keys_of_the_machine_are_its_own() {
    let mut side = server();
    let own = r#""_meta":{"com.example/x":1,"io.modelcontextprotocol/serverInfo":"me","io.modelcontextprotocol/subscriptionId":7}"#;
    let sent = answered(&mut side, "tools/call", &format!(r#""content":[],{own}"#));
    let meta: Raw<'_> = Raw::new(&sent).unwrap();
    let result = meta.get("result").unwrap();
    let meta = result.get("_meta").unwrap();
    assert_eq!(meta.get("com.example/x").unwrap().as_json(), "1");
    let info = meta.get("io.modelcontextprotocol/serverInfo").unwrap();
    assert_eq!(info.as_json(), r#"{"name":"server","version":"1"}"#);
    assert!(meta.get("io.modelcontextprotocol/subscriptionId").is_none());
    assert_eq!(sent.matches("serverInfo").count(), 1, "{sent}");
    assert_eq!(sent.matches("_meta").count(), 1, "{sent}");
}

/// Proves M-CACHE-01, M-CACHE-03, M-AMB-32: the default hints of each kind of result, and the hints in a result.
#[test]
fn hints_are_those_of_the_kind_or_of_the_result() {
    let mut side = server_with(|config| {
        let mut hints = CacheHints::default();
        hints.discovery = CacheHint::public(1);
        hints.tools = CacheHint::private(2);
        hints.prompts = CacheHint::public(3);
        hints.resources = CacheHint::private(4);
        hints.resource_templates = CacheHint::public(5);
        hints.contents = CacheHint::public(u64::MAX);
        config.cache = hints;
    });
    let most = "9007199254740991";
    let delivered = ["2", "3", "4", "5", most].into_iter();
    let scopes = ["private", "public", "private", "public", "public"];
    for ((method, ttl), scope) in CACHEABLE.into_iter().zip(delivered).zip(scopes) {
        let result = least(method).1;
        let hint = format!(r#""ttlMs":{ttl},"cacheScope":"{scope}""#);
        let expected = complete("1", &format!("{result},{hint}"));
        assert_eq!(answered(&mut side, method, result), expected);
        let own = format!(r#"{result},"ttlMs":9,"cacheScope":"private""#);
        assert_eq!(answered(&mut side, method, &own), complete("1", &own));
        let half = format!(r#"{result},"ttlMs":0"#);
        let rest = format!(r#"{half},"cacheScope":"{scope}""#);
        assert_eq!(answered(&mut side, method, &half), complete("1", &rest));
    }
    assert_eq!(side.receive(&modern_request("1", "server/discover", "")), None);
    assert!(side.sent()[0].contains(r#""ttlMs":1,"cacheScope":"public""#));
}

/// Proves M-CACHE-03: all pages of a list have the same scope.
#[test]
fn all_pages_have_one_scope() {
    let mut side = server_with(|config| config.cache.tools = CacheHint::public(60_000));
    let last = answered(&mut side, "tools/list", r#""tools":[]"#);
    let first = answered(&mut side, "tools/list", r#""tools":[],"nextCursor":"a""#);
    let hint = r#""ttlMs":60000,"cacheScope":"public""#;
    assert!(first.contains(hint) && last.contains(hint), "{first} {last}");
}

/// Proves M-CACHE-04: an invalid `ttlMs` is refused.
#[test]
fn a_time_is_a_natural_number() {
    for method in CACHEABLE {
        for ttl in ["-1", "1.5", r#""5""#, "1e30", "[]"] {
            let result = format!(r#"{},"ttlMs":{ttl}"#, least(method).1);
            assert_eq!(misfit(method, &result).field, "ttlMs", "{result}");
        }
    }
}

/// Proves M-CACHE-01: the scope is one of two values.
#[test]
fn a_scope_is_public_or_private() {
    for method in CACHEABLE {
        for scope in [r#""tenant""#, r#""""#, "1", "{}"] {
            let result = format!(r#"{},"cacheScope":{scope}"#, least(method).1);
            assert_eq!(misfit(method, &result).field, "cacheScope", "{result}");
        }
    }
}

/// Proves M-PAGE-03, M-PAGE-04, M-TOOL-01, M-STATE-04: a cursor contains everything for its page and is valid on
/// any connection.
#[test]
fn a_cursor_is_good_on_any_connection() {
    let tool = |name| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
    let tools = ["a", "b", "c"].map(|name| Raw::new(&tool(name)).unwrap().into_owned());
    let pager = Pager::new(2).key(7);
    let page = |cursor: Option<&str>| {
        let mut side = server();
        let params = cursor.map(|cursor| format!(r#""cursor":"{cursor}""#)).unwrap_or_default();
        let request = request(&mut side, &modern_request("1", "tools/list", &params));
        let ClientRequest::ListTools(asked) = &request.kind else { panic!("{:?}", request.kind) };
        match pager.page(&tools, asked.cursor.as_ref()) {
            Ok(page) => {
                side.server
                    .respond(request.id, &page.result::<ListTools>(), &mut side.out)
                    .unwrap();
            }
            Err(_) => {
                let code = ErrorCode::INVALID_PARAMS;
                side.server.reject(request.id, code, "invalid cursor", &mut side.out).unwrap();
            }
        }
        side.sent().remove(0)
    };
    let next = pager.page(&tools, None).unwrap().next_cursor.unwrap();
    let first = format!(r#""tools":[{},{}],"nextCursor":"{next}""#, tool("a"), tool("b"));
    assert_eq!(page(None), cacheable("1", &first));
    assert_eq!(page(None), page(None), "the order is always the same");
    assert_eq!(page(Some(&next)), cacheable("1", &format!(r#""tools":[{}]"#, tool("c"))));
    assert_eq!(page(Some("garbage")), error("1", -32602, "invalid cursor"));
}

/// Proves M-TOOL-02, M-TOOL-03, M-TOOL-11, M-JSCH-05, M-ARCH-14: a tool is encoded in the form of its revision.
#[test]
fn a_tool_is_written_as_its_revision_has_it() {
    let mut side = server();
    let keywords = r#""$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"a":{"$anchor":"x"}},"type":"object","allOf":[{}],"anyOf":[{}],"oneOf":[{}],"not":false,"if":{},"then":{},"else":{},"additionalProperties":false,"properties":{"p":{"type":"string","x-mcp-header":"P"}}"#;
    let input = format!(r#""name":"t","inputSchema":{{{keywords}}}"#);
    let tools = |tool: &str| format!(r#""tools":[{{{tool}}}]"#);
    assert_eq!(answered(&mut side, "tools/list", &tools(&input)), cacheable("1", &tools(&input)));
    assert_eq!(answered_in_session("tools/list", &tools(&input)), plain("1", &tools(&input)));

    let bare = r#""name":"t","inputSchema":{"type":"object"}"#;
    let any = format!(r#"{bare},"outputSchema":{{"type":["array","null"]}}"#);
    assert_eq!(answered(&mut side, "tools/list", &tools(&any)), cacheable("1", &tools(&any)));
    assert_eq!(answered_in_session("tools/list", &tools(&any)), plain("1", &tools(bare)));
    let object = format!(r#"{bare},"outputSchema":{{"type":"object"}}"#);
    assert_eq!(answered_in_session("tools/list", &tools(&object)), plain("1", &tools(&object)));

    let tasks = format!(r#"{bare},"execution":{{"taskSupport":"optional"}}"#);
    assert_eq!(answered(&mut side, "tools/list", &tools(&tasks)), cacheable("1", &tools(bare)));
    assert_eq!(answered_in_session("tools/list", &tools(&tasks)), plain("1", &tools(&tasks)));
    assert_eq!(misfit("tools/list", &tools(r#""name":"t","inputSchema":{}"#)).field, "type");
}

/// Proves M-TOOL-04, M-TOOL-06, M-TOOL-14: structured content is any value, and is also present as text.
#[test]
fn structured_content_of_a_tool_result_is_any_value() {
    let mut side = server();
    for value in ["null", "false", "0", r#""""#, "[]", "{}", "1.50"] {
        let result = format!(r#""content":[],"structuredContent":{value}"#);
        assert_eq!(answered(&mut side, "tools/call", &result), complete("1", &result));
        let typed = CallToolResult::structured(Raw::new(value).unwrap());
        let id = side.request(&modern_request("1", "tools/call", r#""name":"t""#));
        side.server.respond(id, &typed, &mut side.out).unwrap();
        let text = value.replace('"', r#"\""#);
        let both =
            format!(r#""content":[{{"type":"text","text":"{text}"}}],"structuredContent":{value}"#);
        assert_eq!(side.sent(), [complete("1", &both)]);
    }
    // A session permits only objects.
    let object = r#""content":[],"structuredContent":{}"#;
    assert_eq!(answered_in_session("tools/call", object), plain("1", object));
    let list = r#""content":[],"structuredContent":[1]"#;
    assert_eq!(answered_in_session("tools/call", list), plain("1", r#""content":[]"#));
    assert_eq!(misfit("tools/call", r#""structuredContent":{}"#).field, "content");
    assert_eq!(misfit("tools/call", r#""isError":true"#).field, "content");
}

/// Proves M-RSRC-04: contents are texts or blobs, and there can be several.
#[test]
fn contents_are_texts_or_blobs() {
    let mut side = server();
    let both = r#""contents":[{"uri":"x:y","mimeType":"text/plain","text":"t","_meta":{"a":1}},{"uri":"x:z","blob":"AA=="}]"#;
    assert_eq!(answered(&mut side, "resources/read", both), cacheable("1", both));
}

/// Proves M-COMP-01: at most one hundred values are proposed.
#[test]
fn at_most_a_hundred_values_are_proposed() {
    let mut side = server();
    let (method, params) = ("completion/complete", least("completion/complete").0);
    let id = side.request(&modern_request("1", method, params));
    let result = CompleteResult::from(Completion::new((0..150).map(|n| n.to_string())));
    side.server.respond(id, &result, &mut side.out).unwrap();
    let values: Vec<String> = (0..100).map(|number| format!(r#""{number}""#)).collect();
    let values = values.join(",");
    let sent = format!(r#""completion":{{"values":[{values}],"total":150,"hasMore":true}}"#);
    assert_eq!(side.sent(), [complete("1", &sent)]);
    let many = format!(r#""completion":{{"values":[{values},"x"]}}"#);
    assert_eq!(misfit(method, &many).field, "values");
}

/// Proves M-PAGE-06: a method without pages has no cursor in its result, and ignores one in its params.
#[test]
fn methods_without_pages_ignore_a_cursor() {
    let mut side = server();
    for (method, params, result) in METHODS.into_iter().filter(|row| !row.0.ends_with("list")) {
        let id = side.request(&modern_request("1", method, &format!(r#"{params},"cursor":7"#)));
        side.respond(id, &format!("{{{result}}}"));
        assert_eq!(side.sent().len(), 1, "{method}");
    }
}

/// Proves M-TOOL-12: the tool names that are portable.
#[test]
fn portable_tool_names_are_recognized() {
    let schema = || Raw::new(r#"{"type":"object"}"#).unwrap();
    let longest = "x".repeat(128);
    for name in ["a", "A_b-c.9", longest.as_str()] {
        assert!(Tool::new(name, schema()).has_portable_name(), "{name}");
    }
    let too_long = "x".repeat(129);
    for name in ["", "a b", "a/b", "ü", "a,b", too_long.as_str()] {
        assert!(!Tool::new(name, schema()).has_portable_name(), "{name}");
    }
}

/// Proves M-TOOL-09, M-TOOL-10: arguments are optional, and members of earlier revisions are ignored.
#[test]
fn a_call_needs_nothing_but_a_name() {
    let mut side = server();
    for params in [
        r#""name":"t""#,
        r#""name":"t","task":{"ttl":1}"#,
        r#""name":"t","task":7"#,
        r#""name":"t","arguments":{}"#,
    ] {
        let request = request(&mut side, &modern_request("1", "tools/call", params));
        let ClientRequest::CallTool(call) = &request.kind else { panic!("{:?}", request.kind) };
        assert_eq!(call.name, "t");
        side.respond(request.id, r#"{"content":[]}"#);
        assert_eq!(side.sent(), [complete("1", r#""content":[]"#)]);
    }
}

/// Proves M-TOOL-08, M-ERR-16: invalid arguments are a failure of the tool.
#[test]
fn arguments_that_do_not_fit_are_the_tools() {
    let mut side = server();
    let id = side.request(&modern_request("1", "tools/call", r#""name":"t","arguments":{"a":1}"#));
    side.server.reject_arguments(id, "a must be a string", &mut side.out).unwrap();
    let delivered = r#""content":[{"type":"text","text":"a must be a string"}],"isError":true"#;
    assert_eq!(side.sent(), [complete("1", delivered)]);
}

/// Proves M-CONT-01: unknown members of content are sent unchanged.
#[test]
fn content_leaves_as_it_is() {
    let mut side = server();
    let kinds = r#""content":[{"type":"text","text":"t"},{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"audio","data":"AA==","mimeType":"audio/wav"},{"type":"resource_link","uri":"x:y","name":"n"},{"type":"resource","resource":{"uri":"x:y","text":"t"}}]"#;
    assert_eq!(answered(&mut side, "tools/call", kinds), complete("1", kinds));
    let members = r#""content":[{"type":"text","text":"t","x":[1]}],"y":null,"z":{"a":1.50}"#;
    let sent = answered(&mut side, "tools/call", members);
    assert!(sent.contains(r#""x":[1]"#) && sent.contains(r#""z":{"a":1.50}"#), "{sent}");
}
