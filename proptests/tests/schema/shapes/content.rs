//! Content that is sent: blocks by position and revision, contents of resources, and their members.

use super::{Leaves, params_leave, put, raw, request, results_leave, sent_result};
use mcp_sansio::Revision;
use mcp_sansio::Revision::{
    V2024_11_05 as A, V2025_03_26 as B, V2025_06_18 as C, V2025_11_25 as D,
};
use mcp_sansio::model::{CallToolResult, Content, ResourceLink};
use mcp_sansio::schema::Problem::{Missing, NotAllowed, NotInRevision, WrongType};
use mcp_sansio_proptests::{ServerSide, config};

const TEXT: &str = r#"{"type":"text","text":"t"}"#;
const IMAGE: &str = r#"{"type":"image","data":"aGk=","mimeType":"image/png"}"#;
const AUDIO: &str = r#"{"type":"audio","data":"aGk=","mimeType":"audio/wav"}"#;
const RESOURCE: &str =
    r#"{"type":"resource","resource":{"uri":"x:y","mimeType":"a/b","text":"t"}}"#;
const LINK: &str = r#"{"type":"resource_link","uri":"x:y","name":"n"}"#;
const TOOL_USE: &str = r#"{"type":"tool_use","id":"u","name":"n","input":{}}"#;
const TOOL_RESULT: &str = r#"{"type":"tool_result","toolUseId":"u","content":[]}"#;

const CONTENT: &str = r#"{"content":[@]}"#;
const MESSAGE: &str = r#"{"messages":[{"role":"user","content":@}]}"#;
const CONTENTS: &str = r#"{"contents":[@]}"#;

/// Returns the expected text of a block that is allowed at this position since a revision, or never.
fn since(revision: Option<Revision>, block: &'static str) -> Leaves {
    Revision::LEGACY.map(|now| match revision {
        Some(since) if since <= now => Ok(block),
        Some(_) => Err(("type", NotInRevision)),
        None => Err(("type", NotAllowed)),
    })
}

/// Proves L-TOOL-09, L-TOOL-15, L-TOOL-20, L-PROMPT-03, L-PROMPT-06: T2.3 for tools and prompts. A block cannot be
/// omitted, so the whole result is refused.
#[test]
fn tools_and_prompts_have_the_blocks_of_their_revision() {
    let kinds = [
        (TEXT, Some(A)),
        (IMAGE, Some(A)),
        (AUDIO, Some(B)),
        (RESOURCE, Some(A)),
        (LINK, Some(C)),
        (TOOL_USE, None),
        (TOOL_RESULT, None),
        (r#"{"type":"hologram"}"#, None),
        // A member of another kind is like an unknown member.
        (r#"{"type":"image","text":5,"data":"aGk=","mimeType":"image/png"}"#, Some(A)),
        (r#"{"type":"text","text":"t","resource":[]}"#, Some(A)),
    ];
    for (block, revision) in kinds {
        results_leave("tools/call", CONTENT, block, since(revision, block));
        results_leave("prompts/get", MESSAGE, block, since(revision, block));
    }
}

/// Proves L-SAMP-08: T2.3 for sampling, where resources occur only inside tool results.
#[test]
fn sampling_has_the_blocks_of_its_revision() {
    let asked = r#"{"messages":[{"role":"user","content":@}],"maxTokens":1}"#;
    let answered = r#"{"messages":[{"role":"assistant","content":{"type":"tool_use","id":"u","name":"n","input":{}}},{"role":"user","content":@}],"maxTokens":1}"#;
    let inside = r#"{"messages":[{"role":"assistant","content":{"type":"tool_use","id":"u","name":"n","input":{}}},{"role":"user","content":{"type":"tool_result","toolUseId":"u","content":[@]}}],"maxTokens":1}"#;
    let result = r#"{"role":"assistant","content":@,"model":"m"}"#;
    let kinds = [
        (TEXT, Some(A)),
        (IMAGE, Some(A)),
        (AUDIO, Some(B)),
        (TOOL_USE, Some(D)),
        (RESOURCE, None),
        (LINK, None),
        (r#"{"type":"hologram"}"#, None),
    ];
    for (block, revision) in kinds {
        params_leave("sampling/createMessage", asked, block, since(revision, block));
        results_leave("sampling/createMessage", result, block, since(revision, block));
    }
    let leaves = since(Some(D), TOOL_RESULT);
    params_leave("sampling/createMessage", answered, TOOL_RESULT, leaves);
    for block in [TEXT, IMAGE, AUDIO, RESOURCE, LINK] {
        params_leave("sampling/createMessage", inside, block, since(Some(D), block));
    }
    let nested = Err(("type", NotInRevision));
    let never = Err(("type", NotAllowed));
    for block in [TOOL_USE, TOOL_RESULT] {
        params_leave("sampling/createMessage", inside, block, [nested, nested, nested, never]);
    }
}

/// Proves L-TOOL-20: a link is not compared with the listed resources, and needs no resources capability.
#[test]
fn a_tool_may_link_to_a_resource_that_is_nowhere_listed() {
    for revision in [C, D] {
        let mut config = config::server();
        config.capabilities.resources = None;
        let mut side = ServerSide::ready_with(config, revision);
        let id = side.request(&request("tools/call", r#"{"name":"n"}"#));
        let mut link = ResourceLink::default();
        link.uri = "x:unlisted".into();
        link.name = "n".into();
        let result = CallToolResult::new([Content::ResourceLink(link)]);
        side.server.respond(id, &result, &mut side.out).unwrap();
        assert_eq!(
            side.sent(),
            [
                r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"resource_link","uri":"x:unlisted","name":"n"}]}}"#
            ]
        );
    }
}

/// Proves L-META-02 for blocks, contents of resources, roots and sampling messages.
#[test]
fn inner_metadata_came_later_than_that_of_messages() {
    let meta = r#","_meta":{"com.example/k":[1]}"#;
    let from_third: Leaves = [Ok(""), Ok(""), Ok(meta), Ok(meta)];
    let blocks = [
        r#"{"type":"text","text":"t"@}"#,
        r#"{"type":"image","data":"aGk=","mimeType":"image/png"@}"#,
        r#"{"type":"resource","resource":{"uri":"x:y","text":"t"}@}"#,
        r#"{"type":"resource","resource":{"uri":"x:y","text":"t"@}}"#,
        r#"{"type":"resource","resource":{"uri":"x:y","blob":"aGk="@}}"#,
    ];
    for block in blocks {
        results_leave("tools/call", &put(CONTENT, block), meta, from_third);
        results_leave("prompts/get", &put(MESSAGE, block), meta, from_third);
    }
    let contents = put(CONTENTS, r#"{"uri":"x:y","text":"t"@}"#);
    results_leave("resources/read", &contents, meta, from_third);
    let roots = r#"{"roots":[{"uri":"file:///r"@}]}"#;
    results_leave("roots/list", roots, meta, from_third);
    let sampled = r#"{"role":"assistant","content":{"type":"text","text":"t"@},"model":"m"}"#;
    results_leave("sampling/createMessage", sampled, meta, from_third);
    let wrong = Err(("_meta", WrongType));
    results_leave("roots/list", roots, r#","_meta":7"#, [Ok(""), Ok(""), wrong, wrong]);

    let message =
        r#"{"messages":[{"role":"user","content":{"type":"text","text":"t"}@}],"maxTokens":1}"#;
    let from_fourth: Leaves = [Ok(""), Ok(""), Ok(""), Ok(meta)];
    params_leave("sampling/createMessage", message, meta, from_fourth);
    let later = Err(("type", NotInRevision));
    let uses = r#"{"role":"assistant","content":{"type":"tool_use","id":"u","name":"n","input":{}@},"model":"m"}"#;
    results_leave("sampling/createMessage", uses, meta, [later, later, later, Ok(meta)]);
    let results = r#"{"messages":[{"role":"assistant","content":{"type":"tool_use","id":"u","name":"n","input":{}}},{"role":"user","content":{"type":"tool_result","toolUseId":"u","content":[]@}}],"maxTokens":1}"#;
    params_leave("sampling/createMessage", results, meta, [later, later, later, Ok(meta)]);
}

/// Proves L-META-02, L-META-09, L-TOOL-15 for a link, which has all members of a resource.
#[test]
fn a_link_has_icons_where_resources_have() {
    let bare = r#"{"type":"resource_link","uri":"x:y","name":"n","title":"T","_meta":{"k":1}}"#;
    let whole = r#"{"type":"resource_link","uri":"x:y","name":"n","title":"T","icons":[{"src":"x:i"}],"_meta":{"k":1}}"#;
    let later = Err(("type", NotInRevision));
    results_leave("tools/call", CONTENT, whole, [later, later, Ok(bare), Ok(whole)]);
}

/// Proves L-RES-16: a priority is from 0 to 1, an audience is one of two values, and the date was added later.
#[test]
fn annotations_are_within_bounds() {
    let template = r#"{"content":[{"type":"text","text":"t","annotations":{@}}]}"#;
    for fine in [
        r#""priority":0"#,
        r#""priority":1"#,
        r#""priority":1.0"#,
        r#""priority":0.25"#,
        r#""audience":[]"#,
        r#""audience":["assistant","user"]"#,
    ] {
        results_leave("tools/call", template, fine, [Ok(fine); 4]);
    }
    for (wrong, problem) in [
        (r#""priority":1.5"#, ("priority", NotAllowed)),
        (r#""priority":-0.1"#, ("priority", NotAllowed)),
        (r#""priority":2"#, ("priority", NotAllowed)),
        (r#""priority":"1""#, ("priority", WrongType)),
        (r#""audience":["robot"]"#, ("audience", NotAllowed)),
        (r#""audience":"user""#, ("audience", WrongType)),
    ] {
        results_leave("tools/call", template, wrong, [Err(problem); 4]);
    }
    let dated = r#""lastModified":"2025-01-12T15:00:58Z""#;
    results_leave("tools/call", template, dated, [Ok(""), Ok(""), Ok(dated), Ok(dated)]);
}

/// Proves L-RES-02, L-AMB-57: the required members of a listed resource, and templates in every revision.
#[test]
fn a_resource_needs_a_uri_and_a_name() {
    let resources = r#"{"resources":[@]}"#;
    let templates = r#"{"resourceTemplates":[@]}"#;
    let missing = |field| [Err((field, Missing)); 4];
    results_leave("resources/list", resources, r#"{"name":"n"}"#, missing("uri"));
    results_leave("resources/list", resources, r#"{"uri":"x:y"}"#, missing("name"));
    results_leave("resources/templates/list", templates, r#"{"name":"n"}"#, missing("uriTemplate"));
    results_leave("resources/templates/list", templates, r#"{"uriTemplate":"x"}"#, missing("name"));
    for revision in Revision::LEGACY {
        let of = |method, text| sent_result(method, revision, &raw(text));
        assert_eq!(of("resources/list", "{}"), Err(("resources", Missing)));
        assert_eq!(of("resources/templates/list", "{}"), Err(("resourceTemplates", Missing)));
        let crossed = of("resources/templates/list", r#"{"resources":[]}"#);
        assert_eq!(crossed, Err(("resourceTemplates", Missing)));
    }
}

/// Proves L-RES-03: exactly one of text and blob, and the blob is base64.
#[test]
fn contents_are_text_or_base64() {
    for fine in [
        r#"{"uri":"x:y","text":""}"#,
        r#"{"uri":"x:y","mimeType":"a/b","blob":"aGk="}"#,
        r#"{"uri":"x:y","blob":""}"#,
        r#"{"uri":"x:a","text":"a"},{"uri":"x:b","text":null,"blob":"+/=="}"#,
    ] {
        let leaves = fine.replace(r#","text":null"#, "");
        for revision in Revision::LEGACY {
            let sent = sent_result("resources/read", revision, &raw(&put(CONTENTS, fine)));
            assert_eq!(sent, Ok(put(CONTENTS, &leaves)), "{revision} {fine}");
        }
    }
    for (wrong, problem) in [
        (r#"{"uri":"x:y"}"#, ("text", Missing)),
        (r#"{"uri":"x:y","text":"t","blob":"aGk="}"#, ("text", NotAllowed)),
        (r#"{"uri":"x:y","blob":"aGk"}"#, ("blob", NotAllowed)),
        (r#"{"uri":"x:y","blob":"a-_="}"#, ("blob", NotAllowed)),
        (r#"{"uri":"x:y","blob":"a Gk="}"#, ("blob", NotAllowed)),
        (r#"{"uri":"x:y","blob":"===="}"#, ("blob", NotAllowed)),
        (r#"{"uri":"x:y","blob":7}"#, ("blob", WrongType)),
        (r#"{"text":"t"}"#, ("uri", Missing)),
    ] {
        results_leave("resources/read", CONTENTS, wrong, [Err(problem); 4]);
    }
}

/// Proves L-PROMPT-01: the required members of a listed prompt and its arguments.
#[test]
fn a_prompt_and_its_arguments_need_names() {
    let prompts = r#"{"prompts":[@]}"#;
    for fine in [r#"{"name":"p"}"#, r#"{"name":"p","arguments":[{"name":"a"}]}"#] {
        results_leave("prompts/list", prompts, fine, [Ok(fine); 4]);
    }
    for (wrong, problem) in [
        (r#"{"description":"d"}"#, ("name", Missing)),
        (r#"{"name":"p","arguments":[{"required":true}]}"#, ("name", Missing)),
        (r#"{"name":"p","arguments":[{"name":"a","required":"yes"}]}"#, ("required", WrongType)),
        (r#"{"name":"p","arguments":{"a":{}}}"#, ("arguments", WrongType)),
    ] {
        results_leave("prompts/list", prompts, wrong, [Err(problem); 4]);
    }
}

/// Proves L-PROMPT-03: one block per message, from the user or the assistant, and an optional description.
#[test]
fn a_prompt_message_has_one_block_and_a_role() {
    for fine in [
        r#"{"messages":[]}"#,
        r#"{"description":"d","messages":[{"role":"assistant","content":{"type":"text","text":""}}]}"#,
    ] {
        results_leave("prompts/get", "@", fine, [Ok(fine); 4]);
    }
    for (wrong, problem) in [
        (r#"{"description":"d"}"#, ("messages", Missing)),
        (
            r#"{"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}"#,
            ("content", WrongType),
        ),
        (r#"{"messages":[{"role":"user"}]}"#, ("content", Missing)),
        (r#"{"messages":[{"content":{"type":"text","text":""}}]}"#, ("role", Missing)),
        (
            r#"{"messages":[{"role":"system","content":{"type":"text","text":""}}]}"#,
            ("role", NotAllowed),
        ),
    ] {
        results_leave("prompts/get", "@", wrong, [Err(problem); 4]);
    }
}

/// Proves L-PROMPT-06: data is base64 with a MIME type; an embedded resource has a URI and contents.
#[test]
fn data_in_a_prompt_is_base64_with_a_type() {
    let early: Leaves = [Err(("type", NotInRevision)); 4];
    for (wrong, problem) in [
        (r#"{"type":"image","data":"hi!","mimeType":"image/png"}"#, ("data", NotAllowed)),
        (r#"{"type":"image","data":"aGk="}"#, ("mimeType", Missing)),
        (r#"{"type":"image","mimeType":"image/png"}"#, ("data", Missing)),
        (r#"{"type":"audio","data":"aGk","mimeType":"audio/wav"}"#, ("data", NotAllowed)),
        (r#"{"type":"audio","data":"aGk="}"#, ("mimeType", Missing)),
        (r#"{"type":"resource"}"#, ("resource", Missing)),
        (r#"{"type":"resource","resource":{"mimeType":"a/b","text":"t"}}"#, ("uri", Missing)),
        (r#"{"type":"resource","resource":{"uri":"x:y","mimeType":"a/b"}}"#, ("text", Missing)),
        (
            r#"{"type":"resource","resource":{"uri":"x:y","mimeType":"a/b","blob":"?"}}"#,
            ("blob", NotAllowed),
        ),
    ] {
        let mut leaves = [Err(problem); 4];
        if wrong.contains("audio") {
            leaves[0] = early[0];
        }
        results_leave("prompts/get", MESSAGE, wrong, leaves);
    }
}
