//! The functions behind the entries of a router, with a uniform signature.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use mcp_sansio::ClientRequest;
use mcp_sansio::json::Raw;
use serde::de::DeserializeOwned;

use super::misfit::misfit;
use super::output::Failed;
use crate::blocking::Threads;
use crate::exchange::Exchange;

/// The result of a request, or the reason why there is none.
pub(super) type FunctionResult = Result<Raw<'static>, Failed>;

type Answering = Pin<Box<dyn Future<Output = FunctionResult> + Send>>;

/// A function that serves requests for one entry.
#[derive(Clone)]
pub(super) enum Function {
    Blocking(Arc<dyn Fn(&Exchange) -> FunctionResult + Send + Sync>),
    Asynchronous(Arc<dyn Fn(Exchange) -> Answering + Send + Sync>),
}

impl Function {
    pub(super) fn blocking(
        run: impl Fn(&Exchange) -> FunctionResult + Send + Sync + 'static,
    ) -> Self {
        Self::Blocking(Arc::new(run))
    }

    pub(super) fn asynchronous<F: Future<Output = FunctionResult> + Send + 'static>(
        run: impl Fn(Exchange) -> F + Send + Sync + 'static,
    ) -> Self {
        Self::Asynchronous(Arc::new(move |exchange| Box::pin(run(exchange))))
    }

    /// Runs the function. A blocking function runs on `threads`, or on the current thread without them.
    pub(super) async fn run(
        &self,
        exchange: Exchange,
        threads: Option<&Threads>,
    ) -> FunctionResult {
        match (self, threads) {
            (Self::Asynchronous(run), _) => run(exchange).await,
            (Self::Blocking(run), None) => run(&exchange),
            (Self::Blocking(run), Some(threads)) => {
                let run = Arc::clone(run);
                let answer = threads.run(move || run(&exchange)).await;
                answer.unwrap_or_else(|| Err(Failed::panicked()))
            }
        }
    }
}

/// The arguments of a tool or a prompt; absent ones count as `{}`.
pub(super) fn arguments_of<A: DeserializeOwned>(exchange: &Exchange) -> Result<A, Failed> {
    let arguments = match &exchange.request().kind {
        ClientRequest::CallTool(call) => call.arguments.as_ref(),
        ClientRequest::GetPrompt(prompt) => prompt.arguments.as_ref(),
        _ => None,
    };
    let none = Raw::EMPTY_OBJECT;
    let arguments = arguments.unwrap_or(&none);
    arguments.parse().map_err(|error| Failed::arguments(&misfit(arguments.as_json(), &error)))
}
