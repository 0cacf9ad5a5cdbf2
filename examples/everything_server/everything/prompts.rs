//! The prompts, and the completion of their arguments.

use mcp_sansio::model::{
    CompleteResult, Completion, Content, EmbeddedResource, GetPromptResult, ImageContent, Map,
    Prompt, PromptArgument, PromptMessage, Reference, ResourceContents, Text,
};
use mcp_sansio::request::{Complete, GetPrompt};
use mcp_sansio::{ErrorCode, RespondError, Server};
use mcp_sansio_std::Exchange;

use super::media::PNG;
use super::rounds;

pub(super) fn list() -> [Prompt<'static>; 5] {
    let prompt = |name: &'static str, description: &'static str, arguments: &[&'static str]| {
        let mut prompt = Prompt::new(name);
        prompt.description = Some(description.into());
        if !arguments.is_empty() {
            prompt.arguments =
                Some(arguments.iter().map(|name| PromptArgument::required(*name)).collect());
        }
        prompt
    };
    [
        prompt("test_simple_prompt", "A message", &[]),
        prompt("test_prompt_with_arguments", "A message with arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", "A resource", &["resourceUri"]),
        prompt("test_prompt_with_image", "A picture", &[]),
        prompt("test_input_required_result_prompt", "A message that needs a context", &[]),
    ]
}

pub(super) fn get(exchange: &Exchange<Server>, prompt: &GetPrompt<'_>) -> Result<(), RespondError> {
    let given = prompt.arguments.as_ref().map(|raw| raw.parse_lossy::<serde_json::Value>());
    let given = given.and_then(Result::ok).unwrap_or_default();
    let argument = |name: &str| given.get(name).and_then(|value| value.as_str());
    let missing = |name: &str| {
        let message = format!("the argument {name} is missing");
        exchange.reject(ErrorCode::INVALID_PARAMS, &message)
    };
    let text = |text: String| PromptMessage::user(Content::text(text));
    let messages = match &*prompt.name.to_str() {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.".into())],
        "test_prompt_with_arguments" => {
            let Some(first) = argument("arg1") else { return missing("arg1") };
            let Some(second) = argument("arg2") else { return missing("arg2") };
            vec![text(format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
        }
        "test_prompt_with_embedded_resource" => {
            let Some(uri) = argument("resourceUri") else { return missing("resourceUri") };
            let contents = ResourceContents::text(uri, "Embedded resource content for testing.")
                .mime_type("text/plain");
            vec![
                PromptMessage::user(Content::Resource(EmbeddedResource::new(contents))),
                text("Please process the embedded resource above.".into()),
            ]
        }
        "test_prompt_with_image" => vec![
            PromptMessage::user(Content::Image(ImageContent::new(PNG, "image/png"))),
            text("Please analyze the image above.".into()),
        ],
        "test_input_required_result_prompt" => match rounds::context(exchange) {
            Some(context) => vec![text(format!("The context is: {context}"))],
            None => return rounds::ask_for_context(exchange),
        },
        _ => return exchange.reject(ErrorCode::INVALID_PARAMS, "unknown prompt"),
    };
    exchange.respond(&GetPromptResult::new(messages))
}

pub(super) fn complete(
    exchange: &Exchange<Server>,
    complete: &Complete<'_>,
) -> Result<(), RespondError> {
    let known = match complete.reference.parse::<Reference<'_>>() {
        Ok(Reference::Prompt { name, .. }) => list().iter().any(|prompt| prompt.name == name),
        Ok(Reference::Resource { .. }) => true,
        _ => false,
    };
    if !known {
        return exchange.reject(ErrorCode::INVALID_PARAMS, "unknown reference");
    }
    let mut completion = Completion::default();
    if complete.name == "arg1" {
        let typed = complete.value.to_str();
        let values = ["paris", "park", "party"].into_iter();
        completion = Completion::new(values.filter(|value| value.starts_with(&*typed)));
        completion.total = Some(150);
        completion.has_more = Some(false);
    }
    // The other arguments do not affect these values, but they have to be valid.
    let context = complete.context.as_ref().and_then(|context| context.get("arguments"));
    if context.is_some_and(|arguments| arguments.parse::<Map<'_, Text<'_>>>().is_err()) {
        return exchange.reject(ErrorCode::INVALID_PARAMS, "arguments must be strings");
    }
    exchange.respond(&CompleteResult::from(completion))
}
