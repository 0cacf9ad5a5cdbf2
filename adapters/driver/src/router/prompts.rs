//! The prompts of a router.

use std::future::Future;

use mcp_sansio::model::Prompt;
#[cfg(feature = "schemars")]
use mcp_sansio::model::PromptArgument;
use mcp_sansio::subscription::ChangedList;
use serde::de::DeserializeOwned;

use super::Router;
use super::arguments::prompt_arguments_of;
use super::function::Function;
use super::output::PromptOutput;
use crate::exchange::Exchange;

/// # Prompts
///
/// The arguments of a prompt are strings. A field of another type is read from the string: a number, for example.
impl Router {
    /// Adds a prompt, or replaces the one with this name. Its arguments are the fields of their type, with the
    /// comments of the fields as descriptions. A field of type `Option` is an optional argument.
    ///
    /// ```
    /// # use mcp_sansio_driver::Router;
    /// use mcp_sansio_driver::schemars::{self, JsonSchema};
    ///
    /// #[derive(serde::Deserialize, JsonSchema)]
    /// struct Review {
    ///     /// The code to review.
    ///     code: String,
    ///     /// How many remarks there should be.
    ///     remarks: Option<u8>,
    /// }
    ///
    /// let router = Router::new();
    /// router.prompt("review", "Reviews code", |review: Review, _| {
    ///     format!("Make {} remarks on this code: {}", review.remarks.unwrap_or(3), review.code)
    /// });
    /// ```
    #[cfg(feature = "schemars")]
    pub fn prompt<A, O>(
        &self,
        name: &str,
        description: &str,
        run: impl Fn(A, &Exchange) -> O + Send + Sync + 'static,
    ) -> &Self
    where
        A: DeserializeOwned + schemars::JsonSchema,
        O: PromptOutput,
    {
        self.prompt_with(described::<A>(name, description), run)
    }

    /// As `prompt`, with a function that returns a future.
    #[cfg(feature = "schemars")]
    pub fn async_prompt<A, F>(
        &self,
        name: &str,
        description: &str,
        run: impl Fn(A, Exchange) -> F + Send + Sync + 'static,
    ) -> &Self
    where
        A: DeserializeOwned + schemars::JsonSchema,
        F: Future<Output: PromptOutput> + Send + 'static,
    {
        self.async_prompt_with(described::<A>(name, description), run)
    }

    /// Exists only for a compiler error that names the missing feature instead of a missing method.
    #[cfg(not(feature = "schemars"))]
    #[doc(hidden)]
    pub fn prompt<A: super::needs_schemars::Schema>(&self, _: &str, _: &str, _: A) -> &Self {
        self
    }

    /// As `prompt`.
    #[cfg(not(feature = "schemars"))]
    #[doc(hidden)]
    pub fn async_prompt<A: super::needs_schemars::Schema>(&self, _: &str, _: &str, _: A) -> &Self {
        self
    }

    /// Adds a prompt with a description by hand, or replaces the one with this name.
    ///
    /// Arguments that do not match their type are refused with `-32602` and a text that names the argument.
    pub fn prompt_with<A, O>(
        &self,
        prompt: Prompt<'static>,
        run: impl Fn(A, &Exchange) -> O + Send + Sync + 'static,
    ) -> &Self
    where
        A: DeserializeOwned,
        O: PromptOutput,
    {
        let run = move |exchange: &Exchange| {
            run(prompt_arguments_of(exchange)?, exchange).into_prompt_result()
        };
        self.add(ChangedList::Prompts, prompt, Function::blocking(run))
    }

    /// As [`prompt_with`](Self::prompt_with), with a function that returns a future.
    pub fn async_prompt_with<A, F>(
        &self,
        prompt: Prompt<'static>,
        run: impl Fn(A, Exchange) -> F + Send + Sync + 'static,
    ) -> &Self
    where
        A: DeserializeOwned,
        F: Future<Output: PromptOutput> + Send + 'static,
    {
        let run = move |exchange: Exchange| {
            let begun = prompt_arguments_of(&exchange).map(|arguments| run(arguments, exchange));
            async { begun?.await.into_prompt_result() }
        };
        self.add(ChangedList::Prompts, prompt, Function::asynchronous(run))
    }
}

/// Describes a prompt with the fields of its argument type.
#[cfg(feature = "schemars")]
fn described<A: schemars::JsonSchema>(name: &str, description: &str) -> Prompt<'static> {
    let schema = schemars::SchemaGenerator::default().into_root_schema_for::<A>();
    let mut prompt = Prompt::new(name.to_owned());
    prompt.description = Some(description.to_owned().into());
    let arguments = arguments_in(schema.as_value());
    prompt.arguments = (!arguments.is_empty()).then_some(arguments);
    prompt
}

/// Returns the arguments that the properties of a schema stand for: the required ones in the order of the fields,
/// then the others by name, because the schema does not keep their order.
#[cfg(feature = "schemars")]
fn arguments_in(schema: &serde_json::Value) -> Vec<PromptArgument<'static>> {
    let Some(properties) = schema.get("properties").and_then(|it| it.as_object()) else {
        return Vec::new();
    };
    let required = schema.get("required").and_then(|it| it.as_array()).into_iter().flatten();
    let required: Vec<&str> = required.filter_map(|name| name.as_str()).collect();
    let optional = properties.keys().map(String::as_str).filter(|name| !required.contains(name));
    let argument = |name: &str| {
        let text = |member| {
            let text = properties.get(name)?.get(member)?.as_str()?;
            Some(text.to_owned().into())
        };
        let mut argument = PromptArgument::new(name.to_owned());
        argument.required = required.contains(&name).then_some(true);
        (argument.title, argument.description) = (text("title"), text("description"));
        argument
    };
    required.iter().copied().chain(optional).map(argument).collect()
}

#[cfg(all(test, feature = "schemars"))]
mod tests {
    use schemars::JsonSchema;

    use super::*;

    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    struct Arguments {
        /// The topic of the text.
        topic: String,
        /// How many words.
        words: Option<u32>,
        language: Option<String>,
        author: String,
    }

    #[test]
    fn the_fields_of_a_type_are_arguments() {
        let prompt = described::<Arguments>("write", "Writes");
        let shown: Vec<_> = prompt
            .arguments
            .iter()
            .flatten()
            .map(|argument| {
                let description = argument.description.as_ref().map(ToString::to_string);
                (argument.name.to_string(), argument.required, description.unwrap_or_default())
            })
            .collect();
        let row = |name: &str, required, description: &str| {
            (name.to_owned(), required, description.to_owned())
        };
        let rows = [
            row("topic", Some(true), "The topic of the text."),
            row("author", Some(true), ""),
            row("language", None, ""),
            row("words", None, "How many words."),
        ];
        assert_eq!(shown, rows);
        assert_eq!(described::<()>("none", "").arguments, None);
    }
}
