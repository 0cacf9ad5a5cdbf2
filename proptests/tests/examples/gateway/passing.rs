//! Messages that the gateway relays between the client and the servers.

use serde_json::Value;

use super::kit::*;

/// The server information of a modern `everything_server`.
const EVERYTHING: &str = r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"everything","title":"Everything","version":"0.1.0"}}"#;

#[test]
fn a_client_of_either_era_uses_servers_of_either_era() {
    let mut gateway = Gateway::of_both_eras();
    for server in ["old", "new"] {
        let echo = tool(&format!("{server}__echo"), r#"{"text":"hi"}"#);
        assert_eq!(
            gateway.ask(&modern_gateway_request("1", "tools/call", &echo)),
            modern_tool_response("1", "hi")
        );
    }
    gateway.open("{}");
    for (server, meta) in [("old", ""), ("new", ",")] {
        let echo = tool(&format!("{server}__echo"), r#"{"text":"hi"}"#);
        let meta = if meta.is_empty() { "" } else { &[meta, EVERYTHING].concat() };
        assert_eq!(
            gateway.ask(&in_session(r#""same""#, "tools/call", &echo)),
            format!(
                r#"{{"jsonrpc":"2.0","id":"same","result":{{"content":[{{"type":"text","text":"hi"}}]{meta}}}}}"#
            )
        );
    }
    let prompt = r#""name":"new__test_prompt_with_arguments","arguments":{"arg1":"a","arg2":"b"}"#;
    let message = gateway.ask(&in_session("3", "prompts/get", prompt));
    assert!(message.contains("Prompt with arguments: arg1='a', arg2='b'"), "{message}");
    let complete = r#""ref":{"type":"ref/prompt","name":"old__test_prompt_with_arguments"},"argument":{"name":"arg1","value":"par"}"#;
    assert_eq!(
        gateway.ask(&in_session("4", "completion/complete", complete)),
        r#"{"jsonrpc":"2.0","id":4,"result":{"completion":{"values":["paris","park","party"],"total":150,"hasMore":false}}}"#
    );
    gateway.end();
}

/// All pages of all servers, in the order of the command line.
#[test]
fn gateway_lists_contain_the_items_of_all_servers() {
    let (old, new) = (everything("2025-06-18"), everything("2026-07-28"));
    let paged = format!("{new} --page-items 3");
    let mut gateway = Gateway::start(&[("b", &old), ("a", &paged)], &[]);
    for (method, items, key) in [
        ("tools/list", "tools", "name"),
        ("prompts/list", "prompts", "name"),
        ("resources/list", "resources", "uri"),
        ("resources/templates/list", "resourceTemplates", "uriTemplate"),
    ] {
        let list = gateway.ask(&modern_gateway_request("1", method, ""));
        let list: Value = serde_json::from_str(&list).unwrap();
        let list = list["result"][items].as_array().unwrap();
        let names: Vec<&str> = list.iter().map(|item| item[key].as_str().unwrap()).collect();
        if key != "name" {
            // Both servers have the same resources, of which the first server is asked.
            let mut different = names.clone();
            different.dedup();
            assert_eq!(different, names, "{method}");
            continue;
        }
        let (first, second) = names.split_at(names.len() / 2);
        let without = |names: &[&str], prefix| -> Vec<String> {
            let rest = |name: &&str| name.strip_prefix(prefix).unwrap().to_string();
            names.iter().map(rest).collect()
        };
        assert_eq!(without(first, "b__"), without(second, "a__"), "{method}");
    }
    let refused = gateway.ask(&modern_gateway_request("2", "tools/list", r#""cursor":"x""#));
    let expected = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"invalid cursor"}}"#;
    assert_eq!(refused, expected);
    gateway.end();
}

/// An item that cannot be sent to the client is left out, and reported.
#[test]
fn an_item_that_does_not_fit_spoils_no_other() {
    let odd =
        scripted(r#"{"tools":{}}"#, r#"*tools/list*) result '{"tools":[{"name":"bare"}]}' ;;"#);
    let mut gateway = Gateway::start(&[("odd", &odd), ("old", &everything("2025-11-25"))], &[]);
    let list = gateway.ask(&modern_gateway_request("1", "tools/list", ""));
    assert!(list.contains("old__echo") && !list.contains("bare"), "{list}");
    gateway.error(|line| {
        line.starts_with("mcp-sansio-gateway: odd: tools: odd__bare is left out for a client: ")
    });
    gateway.end();
}

#[test]
fn a_resource_is_found_wherever_it_is() {
    let lone = scripted(
        r#"{"resources":{}}"#,
        r#"*resources/list*) result '{"resources":[{"uri":"odd:1","name":"odd"}]}' ;;
           *odd:*) result '{"contents":[{"uri":"odd:1","text":"found"}]}' ;;
           *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32002,"message":"none","data":{"x":1.0}}}\n' "$id" ;;"#,
    );
    let mut gateway = Gateway::start(&[("old", &everything("2025-11-25")), ("lone", &lone)], &[]);
    gateway.open("{}");
    let read = |id, uri| in_session(id, "resources/read", &format!(r#""uri":"{uri}""#));
    let found = r#""result":{"contents":[{"uri":"odd:1","text":"found"}]}}"#;
    // The first time the gateway asks each server in turn, later it knows the server that has listed the resource.
    for id in ["1", "2"] {
        assert_eq!(
            gateway.ask(&read(id, "odd:1")),
            format!(r#"{{"jsonrpc":"2.0","id":{id},{found}"#)
        );
        let list = gateway.ask(&in_session("9", "resources/list", ""));
        assert!(list.contains(r#"{"uri":"odd:1","name":"odd"}"#), "{list}");
    }
    assert_eq!(
        gateway.ask(&read("3", "none:1")),
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32002,"message":"none","data":{"x":1.0}}}"#
    );
    let refused = gateway.ask(&in_session("4", "tools/call", &tool("nobody__echo", "{}")));
    assert_eq!(
        refused,
        r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"no server here has this name"}}"#
    );
    gateway.end();
}

/// Returns the command of a legacy server in the shell, with its capabilities and the cases of its requests.
fn scripted(capabilities: &str, cases: &str) -> String {
    let script = format!(
        r#"result() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
        while read -r line; do
            id=${{line#*'"id":'}}; id=${{id%%,*}}
            case $line in
            *'"method":"notifications/'*) ;;
            *'"method":"server/discover"'*) printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-32601,"message":"no"}}}}\n' "$id" ;;
            *'"method":"initialize"'*) result '{{"protocolVersion":"2025-06-18","capabilities":{capabilities},"serverInfo":{{"name":"s","version":"1"}}}}' ;;
            {cases}
            esac
        done"#
    );
    let quoted = script.replace('\\', r"\\").replace('"', r#"\""#);
    format!(r#"sh -c "{quoted}""#)
}

/// Arguments, results and errors are relayed unchanged, with members outside the schema and numbers in their original
/// form.
#[test]
fn the_gateway_relays_messages_unchanged() {
    let odd = r#"{"x":1.0,"y":[1e2,-0.0,12345678901234567890123],"\u007a":{"\ud800":null}}"#;
    let cases = format!(
        r#"*'"name":"fail"'*) printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":7,"message":"so \\u0061nd so","data":%s}}}}\n' "$id" '{odd}' ;;
           *'{odd}'*) result '{{"content":[],"structuredContent":{odd},"more":{odd}}}' ;;"#
    );
    let server = scripted(r#"{"tools":{}}"#, &cases);
    let mut gateway = Gateway::start(&[("odd", &server)], &[]);
    let call = format!(r#""name":"odd__x","arguments":{odd},"more":{odd}"#);
    assert_eq!(
        gateway.ask(&modern_gateway_request("1", "tools/call", &call)),
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete","content":[],"structuredContent":{odd},"more":{odd},{GATEWAY}}}}}"#
        )
    );
    let refused = gateway.ask(&modern_gateway_request("2", "tools/call", &tool("odd__fail", "{}")));
    assert_eq!(
        refused,
        format!(
            r#"{{"jsonrpc":"2.0","id":2,"error":{{"code":7,"message":"so and so","data":{odd}}}}}"#
        )
    );
    gateway.end();
}

/// Requests are relayed unchanged, except for the name and for the metadata of each connection.
#[test]
fn requests_pass_as_they_came() {
    let members =
        r#""name":"old__json_schema_2020_12_tool","more":1.50,"arguments":{"b":1e2,"a":[-0.0]}"#;
    let mut gateway = Gateway::start(&[("old", &everything_with_stderr_copy("2025-11-25"))], &[]);
    let trace = r#","progressToken":"t","com.example/trace":[1.0]"#;
    let answer = gateway.ask(&modern_gateway_request_with_meta("1", "tools/call", members, trace));
    assert_eq!(answer, modern_tool_response("1", r#"Called with {\"b\":1e2,\"a\":[-0.0]}"#));
    let received = gateway.error(|line| line.contains("tools/call"));
    let (head, rest) = received.split_once(r#","method""#).unwrap();
    let id = head.strip_prefix(r#"{"jsonrpc":"2.0","id":"#).unwrap();
    let members = members.replace("old__", "");
    assert_eq!(
        rest,
        format!(
            r#":"tools/call","params":{{{members},"_meta":{{"progressToken":{id},"com.example/trace":[1.0]}}}}}}"#
        )
    );
    gateway.end();
}

/// Pain 89.
#[test]
fn progress_comes_under_the_token_of_the_client() {
    let mut gateway = Gateway::of_both_eras();
    gateway.open("{}");
    for server in ["old", "new"] {
        let members = format!(r#""name":"{server}__test_tool_with_progress""#);
        let meta = r#""progressToken":"my token""#;
        gateway.send(&modern_gateway_request_with_meta(
            "1",
            "tools/call",
            &members,
            &format!(",{meta}"),
        ));
        for done in [0, 50, 100] {
            let expected = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":"my token","progress":{done},"total":100}}}}"#
            );
            assert_eq!(gateway.next(), expected);
        }
        assert_eq!(
            gateway.next(),
            modern_tool_response("1", "Tool with progress executed successfully")
        );
    }
    gateway.end();
}

/// A cancellation is relayed to the server of the request, with the id of the request there. Pain 89.
#[test]
fn cancellations_go_to_the_right_server() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let (quiet, received) = (everything("2025-11-25"), everything_with_stderr_copy(revision));
        let mut gateway = Gateway::start(&[("quiet", &quiet), ("heard", &received)], &[]);
        gateway.send(&modern_gateway_request(
            "1",
            "tools/call",
            &tool("quiet__slow", r#"{"ms":300}"#),
        ));
        gateway.send(&modern_gateway_request(
            "2",
            "tools/call",
            &tool("heard__slow", r#"{"ms":600000}"#),
        ));
        let call = gateway.error(|line| line.contains("tools/call"));
        let call: Value = serde_json::from_str(&call).unwrap();
        gateway.send(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"enough"}}"#,
        );
        assert_eq!(
            gateway.error(|line| line.contains("notifications/cancelled")),
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{},"reason":"enough"}}}}"#,
                call["id"]
            )
        );
        assert_eq!(
            gateway.next(),
            modern_tool_response("1", "slept 300 ms"),
            "the other one goes on"
        );
        gateway.end();
    }
}

/// A subscription gets its response when every server has accepted it, so that no later change is missed.
#[test]
fn a_subscription_is_answered_by_the_slowest_server() {
    let gate = std::env::temp_dir().join(format!("mcp-sansio-gateway-{}", std::process::id()));
    let slow = format!(
        r#"sh -c "while IFS= read -r line; do case \"$line\" in *test://watched*) echo held >&2; while [ ! -e '{}' ]; do sleep 0.01; done ;; esac; printf '%s\\n' \"$line\"; done | {}""#,
        gate.display(),
        everything("2026-07-28")
    );
    let quick = everything("2025-11-25");
    let mut gateway = Gateway::start(&[("quick", &quick), ("slow", &slow)], &[]);
    gateway.open("{}");
    let uri = r#""uri":"test://watched-resource""#;
    gateway.send(&in_session("1", "resources/subscribe", uri));
    gateway.error(|line| line == "held");
    // The quick server has accepted the subscription before this response.
    let echo = tool("quick__echo", r#"{"text":"hi"}"#);
    let answer = gateway.ask(&in_session("2", "tools/call", &echo));
    assert!(answer.contains(r#""id":2"#), "{answer}");
    std::fs::write(&gate, "").unwrap();
    assert_eq!(gateway.next(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    std::fs::remove_file(&gate).unwrap();
    gateway.end();
}

#[test]
fn the_gateway_relays_change_notifications_in_both_eras() {
    const UPDATED: &str = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"test://watched-resource"}}"#;
    for server in ["old", "new"] {
        let mut gateway = Gateway::of_both_eras();
        gateway.open("{}");
        let uri = r#""uri":"test://watched-resource""#;
        let subscribed = gateway.ask(&in_session("1", "resources/subscribe", uri));
        assert_eq!(subscribed, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        let change = tool(&format!("{server}__test_trigger_resource_update"), "{}");
        gateway.send(&in_session("2", "tools/call", &change));
        let mut received = [gateway.next(), gateway.next()];
        received.sort_unstable_by_key(|line| line.contains(r#""id":2"#));
        assert_eq!(received[0], UPDATED);
        let listen = r#""notifications":{"toolsListChanged":true}"#;
        let granted =
            gateway.ask(&modern_gateway_request(r#""l""#, "subscriptions/listen", listen));
        assert!(granted.contains("acknowledged"), "{granted}");
        let change = tool(&format!("{server}__test_trigger_tool_change"), "{}");
        gateway.send(&in_session("3", "tools/call", &change));
        let received = [gateway.next(), gateway.next(), gateway.next()];
        let delivered = received.iter().filter(|line| line.contains("tools/list_changed")).count();
        assert_eq!(delivered, 2, "the session and the subscription: {received:?}");
        // No notification arrives after the end of the subscription.
        let ended = gateway.ask(&in_session("4", "resources/unsubscribe", uri));
        assert_eq!(ended, r#"{"jsonrpc":"2.0","id":4,"result":{}}"#);
        let change = tool(&format!("{server}__test_trigger_resource_update"), "{}");
        let changed = gateway.ask(&in_session("5", "tools/call", &change));
        assert!(changed.contains(r#""id":5"#), "{changed}");
        gateway.close_input();
        let ended = gateway.next();
        assert!(ended.starts_with(r#"{"jsonrpc":"2.0","id":"l","result":{"#), "{ended}");
        gateway.is_over(0);
    }
}

#[test]
fn log_messages_come_if_they_are_wanted() {
    const LOGGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"everything","data":"This is what was logged"}}"#;
    for server in ["old", "new"] {
        let mut gateway = Gateway::of_both_eras();
        let log = tool(&format!("{server}__test_logging_tool"), "{}");
        let wanted = r#","io.modelcontextprotocol/logLevel":"info""#;
        assert_eq!(
            gateway.ask(&modern_gateway_request_with_meta("1", "tools/call", &log, wanted)),
            LOGGED
        );
        assert_eq!(gateway.next(), modern_tool_response("1", "Logged"));
        assert_eq!(
            gateway.ask(&modern_gateway_request("2", "tools/call", &log)),
            modern_tool_response("2", "Logged")
        );
        gateway.open("{}");
        for (level, is_logged) in [("info", true), ("error", false)] {
            let level = format!(r#""level":"{level}""#);
            let set = gateway.ask(&in_session("3", "logging/setLevel", &level));
            assert_eq!(set, r#"{"jsonrpc":"2.0","id":3,"result":{}}"#);
            let first = gateway.ask(&in_session("4", "tools/call", &log));
            assert_eq!(first == LOGGED, is_logged, "{first}");
            if is_logged {
                assert!(gateway.next().contains(r#""id":4"#));
            }
        }
        gateway.end();
    }
}

/// Pain 89: two servers report progress under the same token at the same time.
#[test]
fn progress_of_two_servers_is_not_mixed_up() {
    let of = everything("2025-11-25");
    let mut gateway = Gateway::start(&[("a", &of), ("b", &of)], &[]);
    gateway.open("{}");
    for (id, server, token) in [("1", "a", "x"), ("2", "b", "y")] {
        let members = format!(r#""name":"{server}__test_tool_with_progress""#);
        let meta = format!(r#","progressToken":"{token}""#);
        gateway.send(&modern_gateway_request_with_meta(id, "tools/call", &members, &meta));
    }
    let lines: Vec<String> = (0..8).map(|_| gateway.next()).collect();
    for (id, token) in [("1", "x"), ("2", "y")] {
        let mut expected: Vec<String> = Vec::new();
        for done in [0, 50, 100] {
            expected.push(format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":"{token}","progress":{done},"total":100}}}}"#
            ));
        }
        expected.push(modern_tool_response(id, "Tool with progress executed successfully"));
        let own: Vec<&String> = lines.iter().filter(|line| expected.contains(line)).collect();
        assert_eq!(own, expected.iter().collect::<Vec<_>>());
    }
    gateway.end();
}
