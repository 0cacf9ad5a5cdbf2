//! Tools, resources and prompts that servers send: members and kinds of content by revision, and refused values.

use super::{Leaves, put, raw, results_leave, sent_params, sent_result};
use mcp_sansio::Revision;
use mcp_sansio::Revision::{
    V2024_11_05 as A, V2025_03_26 as B, V2025_06_18 as C, V2025_11_25 as D,
};
use mcp_sansio::model::{
    Icon, Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, Prompt, Resource, ResourceTemplate, Tool,
};
use mcp_sansio::schema::Problem::{Missing, NotAllowed, WrongType};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

const TOOLS: &str = r#"{"tools":[@]}"#;
const RESOURCES: &str = r#"{"resources":[@]}"#;
const TEMPLATES: &str = r#"{"resourceTemplates":[@]}"#;
const PROMPTS: &str = r#"{"prompts":[@]}"#;

/// The lists with all members of all revisions: the method, the member with the list, the item, and its sent text.
const LISTED: [(&str, &str, &str, [&str; 3]); 4] = [
    (
        "tools/list",
        TOOLS,
        r#"{"name":"t","title":"T","description":"d","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"annotations":{"title":"N","readOnlyHint":true},"execution":{"taskSupport":"optional"},"icons":[{"src":"x:i","mimeType":"image/png","sizes":["any"],"theme":"dark"}],"_meta":{"k":1}}"#,
        [
            r#"{"name":"t","description":"d","inputSchema":{"type":"object"}}"#,
            r#"{"name":"t","description":"d","inputSchema":{"type":"object"},"annotations":{"title":"N","readOnlyHint":true}}"#,
            r#"{"name":"t","title":"T","description":"d","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"annotations":{"title":"N","readOnlyHint":true},"_meta":{"k":1}}"#,
        ],
    ),
    (
        "resources/list",
        RESOURCES,
        r#"{"uri":"x:y","name":"n","title":"T","description":"d","mimeType":"a/b","size":7,"annotations":{"audience":["user"],"priority":0.5,"lastModified":"2025-01-12T15:00:58Z"},"icons":[{"src":"x:i"}],"_meta":{"k":1}}"#,
        [
            r#"{"uri":"x:y","name":"n","description":"d","mimeType":"a/b","size":7,"annotations":{"audience":["user"],"priority":0.5}}"#,
            r#"{"uri":"x:y","name":"n","description":"d","mimeType":"a/b","size":7,"annotations":{"audience":["user"],"priority":0.5}}"#,
            r#"{"uri":"x:y","name":"n","title":"T","description":"d","mimeType":"a/b","size":7,"annotations":{"audience":["user"],"priority":0.5,"lastModified":"2025-01-12T15:00:58Z"},"_meta":{"k":1}}"#,
        ],
    ),
    (
        "resources/templates/list",
        TEMPLATES,
        r#"{"uriTemplate":"x:{y}","name":"n","title":"T","description":"d","mimeType":"a/b","annotations":{"audience":["assistant"],"lastModified":"2025-01-12T15:00:58Z"},"icons":[{"src":"x:i"}],"_meta":{"k":1}}"#,
        [
            r#"{"uriTemplate":"x:{y}","name":"n","description":"d","mimeType":"a/b","annotations":{"audience":["assistant"]}}"#,
            r#"{"uriTemplate":"x:{y}","name":"n","description":"d","mimeType":"a/b","annotations":{"audience":["assistant"]}}"#,
            r#"{"uriTemplate":"x:{y}","name":"n","title":"T","description":"d","mimeType":"a/b","annotations":{"audience":["assistant"],"lastModified":"2025-01-12T15:00:58Z"},"_meta":{"k":1}}"#,
        ],
    ),
    (
        "prompts/list",
        PROMPTS,
        r#"{"name":"p","title":"T","description":"d","arguments":[{"name":"a","title":"T","description":"d","required":true}],"icons":[{"src":"x:i"}],"_meta":{"k":1}}"#,
        [
            r#"{"name":"p","description":"d","arguments":[{"name":"a","description":"d","required":true}]}"#,
            r#"{"name":"p","description":"d","arguments":[{"name":"a","description":"d","required":true}]}"#,
            r#"{"name":"p","title":"T","description":"d","arguments":[{"name":"a","title":"T","description":"d","required":true}],"_meta":{"k":1}}"#,
        ],
    ),
];

/// Proves L-TOOL-01, L-TOOL-15, L-META-02, L-META-09, L-RES-02, L-RES-16, L-PROMPT-01, L-AMB-57 for listed items:
/// `size` and templates exist since the first revision.
#[test]
fn list_items_omit_fields_unknown_to_their_revision() {
    for (method, template, whole, [first, second, third]) in LISTED {
        results_leave(method, template, whole, [Ok(first), Ok(second), Ok(third), Ok(whole)]);
    }
}

/// Proves L-TOOL-15, L-META-02, L-META-09, L-JSONRPC-29 for typed values: absent members are not sent, and members
/// that the revision lacks are omitted as in JSON.
#[test]
fn typed_values_leave_as_json_does() {
    for (index, revision) in Revision::LEGACY.into_iter().enumerate() {
        for (method, template, whole, earlier) in LISTED {
            let whole_raw = raw(whole);
            let sent = match method {
                "tools/list" => {
                    let tool: Tool<'_> = whole_raw.parse().unwrap();
                    sent_result(method, revision, &ListToolsResult::new([tool]))
                }
                "resources/list" => {
                    let resource: Resource<'_> = whole_raw.parse().unwrap();
                    sent_result(method, revision, &ListResourcesResult::new([resource]))
                }
                "resources/templates/list" => {
                    let one: ResourceTemplate<'_> = whole_raw.parse().unwrap();
                    sent_result(method, revision, &ListResourceTemplatesResult::new([one]))
                }
                _ => {
                    let prompt: Prompt<'_> = whole_raw.parse().unwrap();
                    sent_result(method, revision, &ListPromptsResult::new([prompt]))
                }
            };
            let expected = earlier.get(index).copied().unwrap_or(whole);
            assert_eq!(sent, Ok(put(template, expected)), "{method} {revision}");
        }
        let bare = ListToolsResult::new([Tool::new("t", raw(r#"{"type":"object"}"#))]);
        assert_eq!(
            sent_result("tools/list", revision, &bare),
            Ok(put(TOOLS, r#"{"name":"t","inputSchema":{"type":"object"}}"#))
        );
    }
}

/// Proves L-META-09 for the implementation of each side.
#[test]
fn an_implementation_shows_itself_as_its_revision_can() {
    let mut info = Implementation::new("i", "1");
    info.title = Some("T".into());
    info.description = Some("d".into());
    info.icons = Some(vec![Icon::new("x:i")]);
    info.website_url = Some("x:w".into());
    let bare = r#"{"name":"i","version":"1"}"#;
    let titled = r#"{"name":"i","title":"T","version":"1"}"#;
    let whole = r#"{"name":"i","title":"T","version":"1","description":"d","icons":[{"src":"x:i"}],"websiteUrl":"x:w"}"#;
    for (revision, says) in [(A, bare), (B, bare), (C, titled), (D, whole)] {
        let mut config = config::bare_server();
        config.info = info.clone();
        let mut side = ServerSide::with(config);
        let initialize = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
        );
        assert!(side.receive(&initialize).is_some());
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"{revision}","capabilities":{{}},"serverInfo":{says}}}}}"#
        );
        assert_eq!(side.sent(), [answer]);

        let mut config = config::bare_client();
        config.info = info.clone();
        config.offer = Some(revision);
        let mut side = ClientSide::with(config);
        side.client.connect(side.now, &mut side.out).unwrap();
        let question = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{says}}}}}"#
        );
        assert_eq!(side.sent(), [question]);
    }
}

/// Proves L-META-09 for the members of an icon.
#[test]
fn an_icon_has_a_source_and_a_known_theme() {
    let cases: [(&str, Leaves); 3] = [
        (r#"[{"mimeType":"image/png"}]"#, [Ok(""), Ok(""), Ok(""), Err(("src", Missing))]),
        (r#"[{"src":"x","theme":"sepia"}]"#, [Ok(""), Ok(""), Ok(""), Err(("theme", NotAllowed))]),
        (r#"[{"src":"x","sizes":"any"}]"#, [Ok(""), Ok(""), Ok(""), Err(("sizes", WrongType))]),
    ];
    for (icons, leaves) in cases {
        let inner = format!(r#","icons":{icons}"#);
        results_leave("prompts/list", r#"{"prompts":[{"name":"p"@}]}"#, &inner, leaves);
    }
}

/// Proves L-TOOL-01, L-TOOL-19: every tool has a name and an object schema, never `null`.
#[test]
fn a_tool_needs_a_name_and_an_object_schema() {
    let cases: [(&str, Result<&str, _>); 10] = [
        (r#"{"name":"t"}"#, Err(("inputSchema", Missing))),
        (r#"{"name":"t","inputSchema":null}"#, Err(("inputSchema", Missing))),
        (r#"{"name":"t","inputSchema":true}"#, Err(("inputSchema", WrongType))),
        (r#"{"name":"t","inputSchema":[]}"#, Err(("inputSchema", WrongType))),
        (r#"{"name":"t","inputSchema":{}}"#, Err(("type", Missing))),
        (r#"{"name":"t","inputSchema":{"type":"string"}}"#, Err(("type", NotAllowed))),
        (
            r#"{"name":"t","inputSchema":{"type":"object","properties":[]}}"#,
            Err(("properties", WrongType)),
        ),
        (r#"{"inputSchema":{"type":"object"}}"#, Err(("name", Missing))),
        (
            r#"{"name":"t","inputSchema":{"type":"object"}}"#,
            Ok(r#"{"name":"t","inputSchema":{"type":"object"}}"#),
        ),
        (
            r#"{"name":"t","inputSchema":{"type":"object","additionalProperties":false}}"#,
            Ok(r#"{"name":"t","inputSchema":{"type":"object","additionalProperties":false}}"#),
        ),
    ];
    for (tool, leaves) in cases {
        results_leave("tools/list", TOOLS, tool, [leaves; 4]);
    }
    for revision in Revision::LEGACY {
        let without = sent_result("tools/list", revision, &raw("{}"));
        assert_eq!(without, Err(("tools", Missing)));
        let single = sent_result("tools/list", revision, &raw(r#"{"tools":{}}"#));
        assert_eq!(single, Err(("tools", WrongType)));
    }
}

/// Proves L-TOOL-18: the crate can report whether a name is portable, and refuses no other name.
#[test]
fn an_odd_name_of_a_tool_is_no_fault() {
    let schema = || raw(r#"{"type":"object"}"#);
    let long = "n".repeat(129);
    let names = [
        ("a", true),
        ("Get_user-2.json", true),
        (&long[..128], true),
        (long.as_str(), false),
        ("", false),
        ("a b", false),
        ("a/b", false),
        ("é", false),
    ];
    for (name, portable) in names {
        assert_eq!(Tool::new(name, schema()).has_portable_name(), portable, "{name}");
        // Names that differ only in case are two names.
        let upper = name.to_uppercase();
        let list =
            ListToolsResult::new([Tool::new(name, schema()), Tool::new(upper.as_str(), schema())]);
        let listed = sent_result("tools/list", D, &list);
        assert_eq!(
            listed,
            Ok(format!(
                r#"{{"tools":[{{"name":"{name}","inputSchema":{{"type":"object"}}}},{{"name":"{upper}","inputSchema":{{"type":"object"}}}}]}}"#
            ))
        );
        let params = format!(r#"{{"name":"{name}"}}"#);
        assert_eq!(sent_params("tools/call", D, &raw(&params)), Ok(params));
    }
}

/// Proves L-TOOL-09, L-TOOL-10, L-TOOL-15.
#[test]
fn the_result_of_a_tool_has_content_and_structured_content_is_an_object() {
    let kept = r#","structuredContent":{"a":[1,null]},"isError":false"#;
    let cut = r#","isError":false"#;
    let template = r#"{"content":[]@}"#;
    results_leave("tools/call", template, kept, [Ok(cut), Ok(cut), Ok(kept), Ok(kept)]);
    // A value of another type, which a later revision allows, is omitted.
    for wrong in [r#","structuredContent":[]"#, r#","structuredContent":"a""#] {
        results_leave("tools/call", template, wrong, [Ok(""); 4]);
    }
    for revision in Revision::LEGACY {
        let sent = |text: &str| sent_result("tools/call", revision, &raw(text));
        assert_eq!(sent("{}"), Err(("content", Missing)));
        assert_eq!(sent(r#"{"structuredContent":{}}"#), Err(("content", Missing)));
        assert_eq!(sent(r#"{"content":{"type":"text","text":""}}"#), Err(("content", WrongType)));
        assert_eq!(sent(r#"{"content":[]}"#), Ok(r#"{"content":[]}"#.to_owned()));
    }
}
