//! Members that differ between revisions: the same result in every revision, byte for byte.

use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, Content, ListResourcesResult};
use mcp_sansio::schema::{EncodeError, Problem};
use mcp_sansio::{Payload, RespondError, Revision, ServerEvent};
use mcp_sansio_proptests::{ServerSide, config, payload};

use crate::official::closed::Schemas;
use crate::official::messages::REQUESTS;
use crate::official::parse;
use crate::official::stateless::{REVISION, ask, claim, frame};

/// The sent text, or the member that prevented sending.
type Leaves = Result<String, (&'static str, Problem)>;

/// Responds to a request of this method, and returns the sent result without the modern members that the server adds.
fn sent<T: Payload + ?Sized>(method: &str, revision: Revision, result: &T) -> Leaves {
    let mut config = config::server_of_both_eras();
    config.identify = false;
    let (mut side, id) = if revision == REVISION {
        let mut side = ServerSide::with(config);
        let id = ask(&mut side, method);
        (side, id)
    } else {
        let mut side = ServerSide::ready_with(config, revision);
        let params = payload::params(method);
        let params = if params.as_json() == "null" { "{}" } else { params.as_json() };
        let text = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#);
        let id = side.request(&text);
        (side, id)
    };
    let answered = side.server.respond(id, result, &mut side.out);
    let sent = side.sent();
    match answered {
        Err(RespondError::Encode(EncodeError::Misfit(misfit))) => {
            assert_eq!(sent, [""; 0], "what is refused leaves nothing behind");
            return Err((misfit.field, misfit.problem));
        }
        answered => answered.unwrap(),
    }
    let exchange = REQUESTS.iter().find(|exchange| exchange.method == method).unwrap();
    if let Some(schemas) = Schemas::of(revision) {
        schemas.closed(exchange.result, &parse(&sent)["result"]).unwrap();
    }
    let result = sent[0].strip_prefix(r#"{"jsonrpc":"2.0","id":7,"result":"#).unwrap();
    let result = result.strip_suffix('}').unwrap();
    Ok(if revision == REVISION {
        let result = result.strip_prefix(r#"{"resultType":"complete","#).unwrap();
        format!("{{{}", result.replace(r#","ttlMs":0,"cacheScope":"private"}"#, "}"))
    } else {
        result.to_owned()
    })
}

/// A member of a result: the method, the result with a hole for the member, the member, and its sent text in each of
/// the five revisions.
type Row = (&'static str, &'static str, &'static str, [&'static str; 5]);

const TOOL: &str = r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}@}]}"#;
const CALLED: &str = r#"{"content":[]@}"#;
const INPUT: &str = r#"{"tools":[{"name":"t","inputSchema":{"type":"object"@}}]}"#;

const ROWS: &[Row] = &[
    // M-TOOL-11
    (
        "tools/list",
        TOOL,
        r#","execution":{"taskSupport":"optional"}"#,
        ["", "", "", r#","execution":{"taskSupport":"optional"}"#, ""],
    ),
    ("tools/list", TOOL, r#","execution":{}"#, ["", "", "", r#","execution":{}"#, ""]),
    // M-TOOL-03
    (
        "tools/list",
        TOOL,
        r#","outputSchema":{"type":"object"}"#,
        [
            "",
            "",
            r#","outputSchema":{"type":"object"}"#,
            r#","outputSchema":{"type":"object"}"#,
            r#","outputSchema":{"type":"object"}"#,
        ],
    ),
    (
        "tools/list",
        TOOL,
        r#","outputSchema":{"type":"array","items":{"type":"string"}}"#,
        ["", "", "", "", r#","outputSchema":{"type":"array","items":{"type":"string"}}"#],
    ),
    (
        "tools/list",
        TOOL,
        r#","outputSchema":{"type":["object","null"]}"#,
        ["", "", "", "", r#","outputSchema":{"type":["object","null"]}"#],
    ),
    (
        "tools/list",
        TOOL,
        r#","outputSchema":{"anyOf":[{"type":"object"}]}"#,
        ["", "", "", "", r#","outputSchema":{"anyOf":[{"type":"object"}]}"#],
    ),
    ("tools/list", TOOL, r#","outputSchema":{}"#, ["", "", "", "", r#","outputSchema":{}"#]),
    ("tools/list", TOOL, r#","outputSchema":true"#, ["", "", "", "", ""]),
    // M-TOOL-02
    (
        "tools/list",
        INPUT,
        r##","$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"b":{"$anchor":"a"}},"properties":{"p":{"$ref":"#/$defs/b","x-mcp-header":"P"}},"allOf":[true],"anyOf":[{}],"oneOf":[{}],"not":false,"if":{},"then":{},"else":{},"additionalProperties":false,"required":["p"]"##,
        [r##","$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"b":{"$anchor":"a"}},"properties":{"p":{"$ref":"#/$defs/b","x-mcp-header":"P"}},"allOf":[true],"anyOf":[{}],"oneOf":[{}],"not":false,"if":{},"then":{},"else":{},"additionalProperties":false,"required":["p"]"##;
            5],
    ),
    // M-TOOL-04
    (
        "tools/call",
        CALLED,
        r#","structuredContent":{"a":[null]}"#,
        [
            "",
            "",
            r#","structuredContent":{"a":[null]}"#,
            r#","structuredContent":{"a":[null]}"#,
            r#","structuredContent":{"a":[null]}"#,
        ],
    ),
    (
        "tools/call",
        CALLED,
        r#","structuredContent":null"#,
        ["", "", "", "", r#","structuredContent":null"#],
    ),
    (
        "tools/call",
        CALLED,
        r#","structuredContent":false"#,
        ["", "", "", "", r#","structuredContent":false"#],
    ),
    (
        "tools/call",
        CALLED,
        r#","structuredContent":0"#,
        ["", "", "", "", r#","structuredContent":0"#],
    ),
    (
        "tools/call",
        CALLED,
        r#","structuredContent":1.50"#,
        ["", "", "", "", r#","structuredContent":1.50"#],
    ),
    (
        "tools/call",
        CALLED,
        r#","structuredContent":"""#,
        ["", "", "", "", r#","structuredContent":"""#],
    ),
    (
        "tools/call",
        CALLED,
        r#","structuredContent":[]"#,
        ["", "", "", "", r#","structuredContent":[]"#],
    ),
    (
        "tools/call",
        CALLED,
        r#","structuredContent":[{"b":1,"a":2}],"isError":true"#,
        [
            r#","isError":true"#,
            r#","isError":true"#,
            r#","isError":true"#,
            r#","isError":true"#,
            r#","structuredContent":[{"b":1,"a":2}],"isError":true"#,
        ],
    ),
    // M-RES-09
    ("tools/list", r#"{"tools":[]@}"#, r#","ttlMs":0,"cacheScope":"private""#, [""; 5]),
];

/// Proves M-TOOL-02, M-TOOL-03, M-TOOL-04, M-TOOL-11, M-RES-09, M-JSCH-05, M-ERA-29 for results of servers: the exact
/// bytes in every revision.
#[test]
fn a_member_leaves_where_the_revision_has_it() {
    for (method, template, member, leaves) in ROWS {
        let whole = template.replace('@', member);
        for (revision, left) in Revision::ALL.into_iter().zip(leaves) {
            let expected = Ok(template.replace('@', left));
            let left = sent(method, revision, &Raw::new(&whole).unwrap());
            assert_eq!(left, expected, "{revision} {whole}");
        }
    }
}

/// Proves M-TOOL-14 and M-TOOL-02 for refused results: no revision sends a result without a required member.
#[test]
fn a_result_lacks_nothing_that_it_must_have() {
    use Problem::{Missing, NotAllowed, WrongType};
    let cases = [
        ("tools/call", "{}", ("content", Missing)),
        ("tools/call", r#"{"structuredContent":{}}"#, ("content", Missing)),
        ("tools/call", r#"{"isError":true}"#, ("content", Missing)),
        ("tools/call", r#"{"content":null}"#, ("content", Missing)),
        ("tools/call", r#"{"content":{}}"#, ("content", WrongType)),
        ("tools/list", r#"{"tools":[{"name":"t"}]}"#, ("inputSchema", Missing)),
        (
            "tools/list",
            r#"{"tools":[{"name":"t","inputSchema":true}]}"#,
            ("inputSchema", WrongType),
        ),
        ("tools/list", r#"{"tools":[{"name":"t","inputSchema":{}}]}"#, ("type", Missing)),
        (
            "tools/list",
            r#"{"tools":[{"name":"t","inputSchema":{"type":"array"}}]}"#,
            ("type", NotAllowed),
        ),
        ("resources/read", "{}", ("contents", Missing)),
        ("prompts/get", "{}", ("messages", Missing)),
        ("completion/complete", "{}", ("completion", Missing)),
    ];
    for (method, result, misfit) in cases {
        for revision in Revision::ALL {
            let left = sent(method, revision, &Raw::new(result).unwrap());
            assert_eq!(left, Err(misfit), "{revision} {result}");
        }
    }
    let empty: CallToolResult<'_> = CallToolResult::new(Vec::<Content<'_>>::new());
    for revision in Revision::ALL {
        assert_eq!(sent("tools/call", revision, &empty), Ok(r#"{"content":[]}"#.to_owned()));
    }
}

/// `$schema` names a dialect if it is present.
#[test]
fn the_dialect_of_a_schema_is_a_string() {
    let tool = r#"{"tools":[{"name":"t","inputSchema":{"type":"object","$schema":7}}]}"#;
    let left = sent("tools/list", REVISION, &Raw::new(tool).unwrap());
    assert_eq!(left, Err(("$schema", Problem::WrongType)));
    let tool =
        r#"{"tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"$schema":7}}]}"#;
    let left = sent("tools/list", REVISION, &Raw::new(tool).unwrap());
    assert_eq!(left, Ok(r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#.to_owned()));
}

/// An integer that not every parser reads exactly is unreliable, and is refused.
#[test]
fn a_resource_size_is_a_safe_non_negative_integer() {
    let listed =
        |size: &str| format!(r#"{{"resources":[{{"uri":"x:y","name":"n","size":{size}}}]}}"#);
    let linked = |size: &str| {
        format!(
            r#"{{"content":[{{"type":"resource_link","uri":"x:y","name":"n","size":{size}}}]}}"#
        )
    };
    for (size, problem) in [
        ("0", None),
        ("9007199254740991", None),
        ("9007199254740992", Some(Problem::NotAllowed)),
        ("-1", Some(Problem::NotAllowed)),
        ("0.5", Some(Problem::WrongType)),
        (r#""1""#, Some(Problem::WrongType)),
    ] {
        for revision in Revision::ALL {
            let result = listed(size);
            let expected =
                problem.map_or_else(|| Ok(result.clone()), |problem| Err(("size", problem)));
            let left = sent("resources/list", revision, &Raw::new(&result).unwrap());
            assert_eq!(left, expected, "{revision} {size}");
        }
        let result = linked(size);
        let expected = problem.map_or_else(|| Ok(result.clone()), |problem| Err(("size", problem)));
        assert_eq!(sent("tools/call", REVISION, &Raw::new(&result).unwrap()), expected, "{size}");
        // When reading, an invalid size counts as absent and affects nothing else.
        let text = listed(size);
        let list: ListResourcesResult<'_> = serde_json::from_str(&text).unwrap();
        let found: Vec<_> = list.resources.iter().map(|resource| resource.size).collect();
        assert_eq!(found, [problem.map_or(Some(size), |_| None).map(|size| size.parse().unwrap())]);
    }
}

/// Proves M-TOOL-06: structured content that the library converts to a result is sent as text, too. So it reaches
/// clients that know no structured content, or only objects.
#[test]
fn structured_content_is_there_as_text_too() {
    let table = [
        (r#"{"a":1}"#, r#"{\"a\":1}"#, 2),
        ("[1,2]", "[1,2]", 4),
        ("null", "null", 4),
        (r#""t""#, r#"\"t\""#, 4),
    ];
    for (content, text, since) in table {
        let result = CallToolResult::structured(Raw::new(content).unwrap());
        for (index, revision) in Revision::ALL.into_iter().enumerate() {
            let structured = match since <= index {
                true => format!(r#","structuredContent":{content}"#),
                false => String::new(),
            };
            let expected =
                format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]{structured}}}"#);
            assert_eq!(sent("tools/call", revision, &result), Ok(expected), "{revision}");
        }
    }
}

/// Members of another revision in a request.
///
/// Proves M-TOOL-10, M-CAP-02 for reading servers, M-MRTR-36, M-CAP-12: such members have no effect.
#[test]
fn members_of_another_revision_do_not_matter_to_a_request() {
    let cases = [
        ("tools/call", r#"{"name":"n","task":{"ttl":60000}}"#, "{}", r#"{"content":[]}"#),
        ("tools/call", r#"{"name":"n","task":7}"#, "{}", r#"{"content":[]}"#),
        ("tools/list", r#"{"requestState":7,"inputResponses":[]}"#, "{}", r#"{"tools":[]}"#),
        ("tools/list", "{}", r#"{"roots":{"listChanged":true}}"#, r#"{"tools":[]}"#),
        ("tools/list", "{}", r#"{"tasks":{"list":{}}}"#, r#"{"tools":[]}"#),
        ("tools/list", "{}", r#"{"extensions":{"a/b":true,"c/d":{}}}"#, r#"{"tools":[]}"#),
    ];
    for (method, params, capabilities, result) in cases {
        let mut config = config::server_of_both_eras();
        config.identify = false;
        let mut side = ServerSide::with(config);
        let meta = claim("").replace(crate::official::stateless::ALL, capabilities);
        let text = frame(7, method, params, &meta);
        let Some(ServerEvent::Request(request)) = side.receive(&text) else { panic!("{text}") };
        assert_eq!((&request.inputs, &request.state), (&None, &None), "{text}");
        side.respond(request.id, result);
        let inner = result.strip_prefix('{').unwrap().strip_suffix('}').unwrap();
        let hint = if method == "tools/list" { r#","ttlMs":0,"cacheScope":"private""# } else { "" };
        assert_eq!(
            side.sent(),
            [format!(
                r#"{{"jsonrpc":"2.0","id":7,"result":{{"resultType":"complete",{inner}{hint}}}}}"#
            )]
        );
    }
}

/// Proves M-RES-02 for the methods of MCP: the application cannot override the result type, the server information or
/// the subscription id.
#[test]
fn an_application_cannot_override_reserved_result_members() {
    let own = r#"{"resultType":"task","content":[],"_meta":{"io.modelcontextprotocol/serverInfo":7,"io.modelcontextprotocol/subscriptionId":7,"com.example/k":1},"resultType":"input_required"}"#;
    let mut side = ServerSide::with(config::server_of_both_eras());
    let id = ask(&mut side, "tools/call");
    side.respond(id, own);
    let sent = side.sent();
    assert_eq!(
        sent,
        [format!(
            r#"{{"jsonrpc":"2.0","id":7,"result":{{"resultType":"complete","content":[],"_meta":{{{},"com.example/k":1}}}}}}"#,
            crate::official::stateless::SERVER
        )]
    );
    let Some(schemas) = Schemas::of(REVISION) else { return };
    schemas.closed("CallToolResult", &parse(&sent)["result"]).unwrap();
}
