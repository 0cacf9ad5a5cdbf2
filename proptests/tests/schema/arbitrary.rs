//! Values that the feature `arbitrary` builds from any bytes survive writing, reading and writing again.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use arbitrary::Unstructured;
use mcp_sansio::json::{Number, Raw, Str};
use mcp_sansio::model::method::{self, Empty};
use mcp_sansio::model::*;
use mcp_sansio::testing::{Choices, Monitor, Pair, Seen};
use mcp_sansio::{CallOptions, Client, ClientConfig, Server, ServerConfig, ServerEvent};
use proptest::prelude::*;

/// Returns the number of cases: `PROPTEST_CASES`, or enough for a short run.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300)
}

/// Returns the hash of a value; equal values have equal hashes.
fn hash<T: Eq + Hash>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Builds a value of each of the types, and writes and reads it with serde_json and with the writer of this crate.
/// `same` compares the built value with the one that was read.
macro_rules! round_trips {
    ($bytes:expr, $same:expr, $($type:ty,)*) => {$({
        let kind = stringify!($type);
        let value: $type = Unstructured::new($bytes).arbitrary().unwrap();

        let kept: $type = value.clone().into_owned();
        assert!(kept == value, "{kind} is kept as something else");

        let text = serde_json::to_string(&value).unwrap();
        let read: $type = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{kind} is not read again: {error} in {text}"));
        assert_eq!(serde_json::to_string(&read).unwrap(), text, "{kind}");
        assert!($same(value == read), "{kind} is read as something else: {text}");
        assert_eq!(hash(&value.clone()), hash(&value), "{kind} {text}");
        assert!(value != read || hash(&value) == hash(&read), "{kind} {text}");
        let kept: $type = read.clone().into_owned();
        assert!(kept == read, "{kind} is kept as something else: {text}");

        let ours = Raw::from_serialize(&value).unwrap();
        let read: $type = ours.parse()
            .unwrap_or_else(|error| panic!("{kind} is not read again: {error} in {ours}"));
        assert_eq!(Raw::from_serialize(&read).unwrap(), ours, "{kind}");
        // The writers differ only in white space that contains a newline.
        assert!(text.contains('\n') || text == ours.as_json(), "{kind}: {text} or {ours}");
    })*};
}

#[allow(clippy::too_many_lines, reason = "it is a list of types")]
fn values_that_are_equal(bytes: &[u8]) {
    round_trips!(
        bytes,
        |same| same,
        AcknowledgedParams<'_>,
        Annotations<'_>,
        ArraySchema<'_>,
        AudioContent<'_>,
        BlobResourceContents<'_>,
        BooleanSchema<'_>,
        CacheScope<'_>,
        CallToolParams<'_>,
        CancelledParams<'_>,
        ClientCapabilities<'_>,
        ClientTaskRequests,
        CompleteParams<'_>,
        CompleteResult<'_>,
        Completion<'_>,
        CompletionArgument<'_>,
        CompletionContext<'_>,
        CreateTaskResult<'_>,
        DiscoverResult<'_>,
        ElicitAction<'_>,
        ElicitParams<'_>,
        ElicitResult<'_>,
        ElicitationCapability,
        ElicitationCompleteParams<'_>,
        ElicitationMode<'_>,
        ElicitationTaskRequests,
        EmbeddedResource<'_>,
        Empty<'_>,
        EmptyCapability,
        EnumOption<'_>,
        GetPromptParams<'_>,
        Icon<'_>,
        IconTheme<'_>,
        ImageContent<'_>,
        Implementation<'_>,
        IncludeContext<'_>,
        InitializeParams<'_>,
        InitializeResult<'_>,
        ListChanged,
        ListenParams<'_>,
        LogParams<'_>,
        LoggingLevel,
        MissingCapabilitiesData<'_>,
        ModelHint<'_>,
        ModelPreferences<'_>,
        NumberSchema<'_>,
        ObjectSchema<'_>,
        PageParams<'_>,
        PrimitiveSchema<'_>,
        ProgressParams<'_>,
        Prompt<'_>,
        PromptArgument<'_>,
        ReadResourceParams<'_>,
        Reference<'_>,
        Resource<'_>,
        ResourceContents<'_>,
        ResourceLink<'_>,
        ResourceTemplate<'_>,
        ResourceUpdatedParams<'_>,
        ResourcesCapability,
        Role<'_>,
        Root<'_>,
        SamplingCapability,
        SamplingTaskRequests,
        SelectItems<'_>,
        ServerCapabilities<'_>,
        ServerTaskRequests,
        SetLevelParams<'_>,
        StopReason<'_>,
        StringSchema<'_>,
        SubscriptionFilter<'_>,
        Task<'_>,
        TaskMetadata,
        TaskParams<'_>,
        TaskStatus<'_>,
        TaskSupport<'_>,
        TasksCapability<ClientTaskRequests>,
        TasksCapability<ServerTaskRequests>,
        Text<'_>,
        TextContent<'_>,
        TextResourceContents<'_>,
        Tool<'_>,
        ToolAnnotations<'_>,
        ToolChoice<'_>,
        ToolChoiceMode<'_>,
        ToolExecution<'_>,
        ToolTaskRequests,
        ToolUseContent<'_>,
        UnsupportedVersionData<'_>,
        UpdateTaskParams<'_>,
        UriParams<'_>,
        Map<'_, Number>,
        Number,
    );
}

/// A list that was read keeps the text of its elements, and so differs from the built one.
fn values_with_lists(bytes: &[u8]) {
    round_trips!(
        bytes,
        |_| true,
        CallToolResult<'_>,
        Content<'_>,
        CreateMessageParams<'_>,
        CreateMessageResult<'_>,
        DetailedTask<'_>,
        ElicitationRequired<'_>,
        GetPromptResult<'_>,
        InputRequest<'_>,
        InputRequired<'_>,
        ListPromptsResult<'_>,
        ListResourceTemplatesResult<'_>,
        ListResourcesResult<'_>,
        ListRootsResult<'_>,
        ListTasksResult<'_>,
        ListToolsResult<'_>,
        PromptMessage<'_>,
        ReadResourceResult<'_>,
        SamplingContent<'_>,
        SamplingMessage<'_>,
        ToolResultContent<'_>,
        List<'_, Text<'_>>,
    );
}

/// Returns the types of the model that implement `Arbitrary`, by their names in the sources.
fn types_that_are_built() -> Vec<String> {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/model");
    let mut types = Vec::new();
    for entry in fs::read_dir(model).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let starts = [
            ("\n#[cfg_attr(feature = \"arbitrary\", derive(arbitrary::Arbitrary))]", "pub "),
            ("\nopen_enum! {", "    "),
            ("\nrecord! {", "    pub struct "),
            ("\nplain_record! {", "    pub struct "),
        ];
        for (start, word) in starts {
            for rest in text.split(start).skip(1) {
                let head = rest
                    .lines()
                    .skip(1)
                    .find(|line| line.starts_with(word) && !line.trim_start().starts_with('/'));
                let mut words = head.unwrap().split(|character: char| !character.is_alphanumeric());
                let name = words.find(|word| !["", "pub", "struct", "enum"].contains(word));
                types.push(name.unwrap().to_string());
            }
        }
    }
    assert!(100 < types.len(), "the search has missed something: {types:?}");
    types
}

#[test]
fn no_type_is_forgotten() {
    let tests = include_str!("arbitrary.rs");
    for name in types_that_are_built() {
        let is_listed =
            [",", "<"].iter().any(|end| tests.contains(&format!("        {name}{end}")));
        assert!(is_listed, "{name} is not sent round");
    }
}

/// Configures both sides, makes a call and responds to it, as the fuzz target of a handler would. Returns whether the
/// handler was reached.
fn converse(bytes: &mut Unstructured<'_>) -> arbitrary::Result<bool> {
    let mut client = ClientConfig::new("client", "1");
    client.connection = bytes.arbitrary()?;
    client.revisions = bytes.arbitrary()?;
    let mut server = ServerConfig::new("server", "1");
    server.connection = bytes.arbitrary()?;
    server.revisions = bytes.arbitrary()?;
    server.capabilities.tools = Some(bytes.arbitrary()?);
    let mut pair = Pair::new(client, server);
    pair.now = bytes.arbitrary()?;
    let (mut ours, mut theirs) = (Monitor::new(), Monitor::new());
    let Ok(mut seen) = pair.connect() else { return Ok(false) };

    let params: CallToolParams<'_> = bytes.arbitrary()?;
    let options = CallOptions::new();
    let out = &mut pair.client_out;
    if let Ok(call) = pair.client.call::<method::CallTool>(&params, options, pair.now, out) {
        ours.called(call).unwrap();
    }
    let result: CallToolResult<'_> = bytes.arbitrary()?;
    let mut handled = false;
    for _ in 0..4 {
        seen.extend(pair.settle());
        for event in seen.drain(..) {
            match event {
                Seen::Client(event) => ours.event::<Client>(&event).unwrap(),
                Seen::Server(event) => {
                    theirs.event::<Server>(&event).unwrap();
                    if let ServerEvent::Request(request) = event {
                        handled = true;
                        let out = &mut pair.server_out;
                        if pair.server.respond(request.id, &result, out).is_ok() {
                            theirs.answered(request.id).unwrap();
                        }
                    }
                }
            }
        }
        ours.check(&pair.client, pair.now).unwrap();
        theirs.check(&pair.server, pair.now).unwrap();
        pair.now = pair.now.max(bytes.arbitrary()?);
        seen.extend(pair.handle_timeout());
    }
    Ok(handled)
}

#[test]
fn many_a_call_gets_as_far_as_the_handler() {
    let handled = (0..200).filter(|seed| {
        let mut choices = Choices::seeded(*seed);
        let bytes: Vec<u8> = (0..100).flat_map(|_| choices.any().to_le_bytes()).collect();
        converse(&mut Unstructured::new(&bytes)).unwrap()
    });
    assert!(50 < handled.count());
}

/// Decodes base64 one bit at a time.
fn decoded_slowly(text: &str) -> Option<Vec<u8>> {
    const SYMBOLS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let symbols = text.trim_end_matches('=');
    let padding = text.len() - symbols.len();
    if 2 < padding || !text.len().is_multiple_of(4) {
        return None;
    }
    let bits = |symbol| SYMBOLS.find(symbol).map(|value| format!("{value:06b}"));
    let bits: String = symbols.chars().map(bits).collect::<Option<_>>()?;
    let (whole, rest) = bits.split_at(bits.len() / 8 * 8);
    if rest.contains('1') || rest.len() != 2 * padding {
        return None;
    }
    let byte = |bits: &[u8]| u8::from_str_radix(std::str::from_utf8(bits).unwrap(), 2).unwrap();
    Some(whole.as_bytes().chunks(8).map(byte).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_values_survive_a_write_and_a_read(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        values_that_are_equal(&bytes);
        values_with_lists(&bytes);
    }

    #[test]
    fn bytes_come_back_from_base64(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let image = ImageContent::from_bytes(&bytes, "image/png");
        let slowly = decoded_slowly(&image.data);
        prop_assert_eq!(slowly.as_deref(), Some(&*bytes));
        let text = serde_json::to_string(&image).unwrap();
        let read: ImageContent<'_> = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(read.to_bytes(), Ok(bytes));
    }

    #[test]
    fn image_base64_decoding_matches_a_reference_decoder(
        bytes in prop::collection::vec(any::<u8>(), 0..9),
        damage in prop::collection::vec((any::<prop::sample::Index>(), "[Ag=_é\n]"), 0..3),
    ) {
        let mut text = String::from(ImageContent::from_bytes(&bytes, "image/png").data);
        for (place, symbol) in damage {
            let mut places = text.char_indices().map(|(place, _)| place).collect::<Vec<_>>();
            places.push(text.len());
            text.insert_str(*place.get(&places), &symbol);
        }
        let image = ImageContent::new(text.as_str(), "image/png");
        prop_assert_eq!(image.to_bytes().ok(), decoded_slowly(&text));
        if let Err(error) = image.to_bytes() {
            prop_assert!(text.is_char_boundary(error.offset()), "{} {}", text, error);
        }
    }

    #[test]
    fn json_that_is_built_is_json(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let raw: Raw<'_> = Unstructured::new(&bytes).arbitrary().unwrap();
        prop_assert_eq!(&Raw::new(raw.as_json()).unwrap(), &raw);

        let string: Str<'_> = Unstructured::new(&bytes).arbitrary().unwrap();
        let literal = format!("\"{}\"", string.as_wire());
        prop_assert_eq!(Raw::new(&literal).unwrap().into_str(), Some(string));
    }

    #[test]
    fn both_sides_handle_arbitrary_configs_and_messages(bytes in prop::collection::vec(any::<u8>(), 0..1_000)) {
        converse(&mut Unstructured::new(&bytes)).unwrap();
    }
}
