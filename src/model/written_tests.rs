//! Tests that a value of the model writes itself like its `Serialize` when compared with the same table: with the
//! same text, the same needs, or the same error.

use alloc::string::String;
use alloc::vec::Vec;

use arbitrary::{Arbitrary, Unstructured};
use serde::Serialize;

use super::*;
use crate::capability::CapabilitySet;
use crate::json::Raw;
use crate::schema::shape::Form;
use crate::schema::{
    Additions, Empty, EncodeError, Message, MetaAdditions, Payload, PayloadWriter, Writer,
    WrittenResult,
};
use crate::version::Revision;

type Written = Result<(String, CapabilitySet), EncodeError>;

/// Returns the output of a write with this form and these additions, up to a limit.
fn written_output(
    form: Option<Form>,
    (additions, limit): (&Additions<'_>, usize),
    write: impl FnOnce(PayloadWriter<'_, '_, '_>) -> Result<(), EncodeError>,
) -> Written {
    let mut buffer = Vec::new();
    let mut writer = Writer::new(&mut buffer, limit);
    write(PayloadWriter::new(&mut writer, "p:", Empty::Braces, additions, form))?;
    let needs = writer.needs();
    Ok((String::from_utf8(buffer).expect("UTF-8"), needs))
}

/// Members that a connection adds to messages.
const ADDITIONS: [Additions<'static>; 3] = [
    Additions::NONE,
    Additions {
        members: &[("resultType", "\"complete\"")],
        defaults: &[("ttlMs", "5"), ("cacheScope", "\"private\"")],
        meta: MetaAdditions { members: &[], text: "\"k\":{}", reserved: &["k"] },
    },
    Additions {
        members: &[],
        defaults: &[],
        meta: MetaAdditions { members: &[("progressToken", "1")], text: "", reserved: &[] },
    },
];

fn compare<T: Message + Payload + Serialize>(name: &str, value: &T) -> usize {
    let mut refused = 0;
    let forms = Revision::ALL.map(|revision| Some(Form { record: value.record(), revision }));
    for form in forms.into_iter().chain([None]) {
        for additions in &ADDITIONS {
            let whole = (additions, usize::MAX);
            let straight = written_output(form, whole, |payload| Payload::write(value, payload));
            let compared = written_output(form, whole, |payload| payload.serialize(value));
            assert_eq!(straight, compared, "{name} in {:?}", form.map(|form| form.revision));
            let Ok((text, _)) = &straight else {
                refused += 1;
                continue;
            };
            // Legacy revisions lack the members that the connection adds to modern results.
            let is_legacy = form.is_some_and(|form| !form.revision.is_modern());
            let mut buffer = Vec::new();
            let result = WrittenResult::of(form, value, &mut buffer);
            if let Some(result) = result.ok().filter(|_| additions.is_empty() || !is_legacy) {
                let copied = written_output(form, whole, |payload| result.write(payload));
                assert_eq!(copied, straight, "{name}, written before");
                let cut = (additions, text.len() - 1);
                let full = written_output(form, cut, |payload| result.write(payload));
                assert_eq!(full, Err(EncodeError::Full), "{name}, written before");
            }
            let cut = (additions, text.len() - 1);
            let full = written_output(form, cut, |payload| Payload::write(value, payload));
            assert_eq!(full, Err(EncodeError::Full), "{name}");
        }
    }
    refused
}

/// Compares values of each type, built from the bytes. Returns the number of refused values.
macro_rules! compare {
    ($bytes:expr, $($Type:ident)*) => {
        0 $(+ match $Type::arbitrary(&mut Unstructured::new($bytes)) {
            Ok(value) => compare(stringify!($Type), &value),
            Err(_) => 0,
        })*
    };
}

fn bytes(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // Many bytes are 1, so that optional members are mostly present.
        if state >> 60 < 5 { 1 } else { (state >> 32) as u8 }
    };
    core::iter::repeat_with(next).take(2000).collect()
}

#[test]
fn a_value_writes_itself_as_it_is_serialized() {
    use method::Empty as NoMembers;

    let mut refused = 0;
    for seed in 0..50 {
        refused += compare!(
            &bytes(seed),
            Annotations TextContent ImageContent AudioContent EmbeddedResource ToolUseContent
            ToolResultContent ResourceLink Resource ResourceTemplate TextResourceContents
            BlobResourceContents ReadResourceParams UriParams ListResourcesResult
            ListResourceTemplatesResult ReadResourceResult Tool ToolAnnotations ToolExecution
            PageParams ListToolsResult CallToolParams CallToolResult Prompt PromptArgument
            ListPromptsResult GetPromptParams GetPromptResult PromptMessage CompleteParams
            CompletionArgument CompletionContext CompleteResult Completion Root ListRootsResult
            SetLevelParams LogParams CancelledParams ProgressParams ResourceUpdatedParams
            ElicitationCompleteParams SubscriptionFilter ListenParams AcknowledgedParams
            Implementation Icon InitializeParams InitializeResult DiscoverResult
            UnsupportedVersionData MissingCapabilitiesData ClientCapabilities ServerCapabilities
            NoMembers TaskParams UpdateTaskParams ListTasksResult Task DetailedTask
            CreateTaskResult TaskMetadata ModelPreferences ModelHint ToolChoice SamplingMessage
            CreateMessageResult CreateMessageParams ElicitResult ListChanged ResourcesCapability
            SamplingCapability ElicitationCapability ServerTaskRequests ToolTaskRequests
            ClientTaskRequests SamplingTaskRequests ElicitationTaskRequests ElicitParams
            ElicitationRequired InputRequired ObjectSchema StringSchema NumberSchema BooleanSchema
            ArraySchema SelectItems EnumOption
        );
    }
    assert!(300 < refused, "values that a revision refuses are among them: {refused}");
}

/// The first natural number that not every parser reads exactly is refused, where a revision has the member.
#[test]
fn natural_numbers_end_where_readers_do() {
    let mut result = ListToolsResult::default();
    for (number, is_refused) in [((1 << 53) - 1, false), (1 << 53, true)] {
        result.ttl_ms = Some(number);
        assert_eq!(compare("ListToolsResult", &result) != 0, is_refused, "{number}");
    }
}

#[test]
fn a_completion_has_at_most_100_values() {
    for (count, is_refused) in [(99, false), (100, false), (101, true)] {
        let mut completion = Completion::default();
        completion.values = alloc::vec![Text::from("a"); count];
        assert_eq!(compare("Completion", &completion) != 0, is_refused, "{count}");
    }
}

/// A vetted schema is sent like one that is not vetted, in every revision.
#[test]
fn a_vetted_schema_is_written_as_any_other() {
    let schemas = [
        r#"{"type":"object"}"#,
        r#"{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}"#,
        r#"{"$schema":"urn:x","type":"object","oneOf":[{}]}"#,
        r#"{"$schema":7,"type":"object"}"#,
        r#"{"type":"object","properties":{"a":true}}"#,
        r#"{"type":"object","required":"a"}"#,
        r#"{"type":"array"}"#,
        r#"{"type" : "object" }"#,
        "{\"type\":\"object\",\n\"properties\":{}}",
        r#"{"type":"object","type":"string"}"#,
        r#"{"type":"obje\u0063t"}"#,
        r#"{"properties":{}}"#,
        "{}",
        "[]",
        "null",
        "7",
    ];
    let mut vetted = 0;
    for text in schemas {
        let schema = || Raw::new(text).expect("JSON");
        let mut looked_at = Tool::new("t", schema());
        vetted += usize::from(looked_at.input_schema.is_vetted());
        // The schema may be moved to any member that holds a schema.
        looked_at.output_schema = Some(looked_at.input_schema.clone());
        let mut unknown = looked_at.clone();
        (unknown.input_schema, unknown.output_schema) = (schema(), Some(schema()));
        assert_eq!(looked_at, unknown);
        for revision in Revision::ALL {
            let form = Some(Form { record: Tool::RECORD, revision });
            let whole = (&Additions::NONE, usize::MAX);
            let written =
                |tool: &Tool<'_>| written_output(form, whole, |payload| payload.message(tool));
            assert_eq!(written(&looked_at), written(&unknown), "{text} in {revision}");
        }
    }
    assert!(3 <= vetted && vetted < schemas.len(), "{vetted} of {} are vetted", schemas.len());
}
