//! Completion of the arguments of prompts and of the variables of resource templates.

use std::fmt;
use std::future::Future;

use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    CompleteResult, Completion, Prompt, Reference, Resource, ResourceTemplate,
};
use mcp_sansio::{ClientRequest, ErrorCode};

use super::Router;
use super::function::{Function, FunctionResult};
use super::output::Failed;
use super::registry::Registry;
use crate::exchange::Exchange;

/// The completion of one argument.
#[derive(Clone)]
pub(super) struct ArgumentCompletion {
    /// The name of a prompt, or a URI template.
    pub(super) owner: Owner,
    pub(super) argument: String,
    pub(super) function: Function,
}

impl fmt::Debug for ArgumentCompletion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("ArgumentCompletion");
        debug.field("owner", &self.owner).field("argument", &self.argument).finish_non_exhaustive()
    }
}

/// The prompt or the resource template that an argument belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Prompt(String),
    Template(String),
}

impl Owner {
    /// Returns the name of the prompt, or the URI template.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Prompt(name) | Self::Template(name) => name,
        }
    }

    fn of(reference: &Reference<'_>) -> Option<Self> {
        match reference {
            Reference::Prompt { name, .. } => Some(Self::Prompt(name.to_string())),
            Reference::Resource { uri } => Some(Self::Template(uri.to_string())),
            _ => None,
        }
    }
}

/// # Completion
impl Router {
    /// Completes an argument of a prompt, or a variable of a resource template. The function gets the text that the
    /// user has typed so far and returns proposals, the best first; of more than 100 the client gets the first 100.
    ///
    /// ```
    /// use mcp_sansio::model::Reference;
    /// # use mcp_sansio_driver::Router;
    ///
    /// let router = Router::new();
    /// router.completion(Reference::prompt("review"), "language", |typed: &str, _| {
    ///     let known = ["Python", "Rust", "TypeScript"];
    ///     known.into_iter().filter(move |name| name.starts_with(typed)).collect::<Vec<_>>()
    /// });
    /// ```
    ///
    /// The reference of a template has its text: `Reference::resource("book://{book}/pages{?number}")`. Add the prompt or
    /// the template itself as well: a reference that the router does not have is refused with `-32602`.
    ///
    /// The values of other arguments that the user has chosen already are the
    /// [`context`](mcp_sansio::request::Complete::context) of the request. An argument without a function has no
    /// proposals.
    pub fn completion<I>(
        &self,
        reference: Reference<'_>,
        argument: &str,
        complete: impl Fn(&str, &Exchange) -> I + Send + Sync + 'static,
    ) -> &Self
    where
        I: IntoIterator<Item: Into<String>>,
    {
        let complete =
            move |exchange: &Exchange| completed(complete(&typed_in(exchange), exchange));
        self.add_completion(&reference, argument, Function::blocking(complete))
    }

    /// As [`completion`](Self::completion), with a function that returns a future.
    pub fn async_completion<F>(
        &self,
        reference: Reference<'_>,
        argument: &str,
        complete: impl Fn(String, Exchange) -> F + Send + Sync + 'static,
    ) -> &Self
    where
        F: Future<Output: IntoIterator<Item: Into<String>>> + Send + 'static,
    {
        let complete = move |exchange: Exchange| {
            let completing = complete(typed_in(&exchange), exchange);
            async move { completed(completing.await) }
        };
        self.add_completion(&reference, argument, Function::asynchronous(complete))
    }

    fn add_completion(
        &self,
        reference: &Reference<'_>,
        argument: &str,
        function: Function,
    ) -> &Self {
        if let Some(owner) = Owner::of(reference) {
            let completion = ArgumentCompletion { owner, argument: argument.to_owned(), function };
            let old = self.lock().registry.put_completion(completion);
            // Dropped without the lock.
            drop(old);
        }
        self
    }

    /// Returns the function that completes an argument with the name of its owner, `None` if there is none, or the
    /// refusal of an owner that does not exist.
    pub(super) fn completion_of(
        &self,
        exchange: &Exchange,
    ) -> Result<Option<(String, Function)>, Failed> {
        let ClientRequest::Complete(complete) = &exchange.request().kind else { return Ok(None) };
        let refused = |text: String| Failed::refused(ErrorCode::INVALID_PARAMS, text);
        let reference = complete.reference.parse::<Reference<'_>>();
        let owner = reference.ok().as_ref().and_then(Owner::of);
        let owner = owner.ok_or_else(|| refused("the type of the reference is unknown".into()))?;
        let (exists, what, name) = match &owner {
            Owner::Prompt(name) => {
                let find = |registry: &Registry| registry.prompts.function(name);
                (self.shown::<Prompt<'_>>(exchange, name, find).is_some(), "prompt", name)
            }
            Owner::Template(uri) => {
                let find = |registry: &Registry| registry.templates.function(uri);
                let template = self.shown::<ResourceTemplate<'_>>(exchange, uri, find);
                let find = |registry: &Registry| registry.resources.function(uri);
                let resource = self.shown::<Resource<'_>>(exchange, uri, find);
                (template.is_some() || resource.is_some(), "resource", uri)
            }
        };
        if !exists {
            return Err(refused(format!("there is no such {what}: {name}")));
        }
        let function = self.lock().registry.completion(&owner, &complete.name.to_str());
        Ok(function.map(|function| (owner.name().to_owned(), function)))
    }
}

/// Returns the result for these proposals.
pub(super) fn completed(values: impl IntoIterator<Item: Into<String>>) -> FunctionResult {
    let completion = Completion::new(values.into_iter().map(Into::<String>::into));
    Ok(Raw::from_payload(&CompleteResult::new(completion))?)
}

fn typed_in(exchange: &Exchange) -> String {
    match &exchange.request().kind {
        ClientRequest::Complete(complete) => complete.value.to_str().into_owned(),
        _ => String::new(),
    }
}
