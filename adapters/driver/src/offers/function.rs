//! The functions behind what is offered, all of one kind.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use mcp_sansio::Call;
use mcp_sansio::json::Raw;
use serde::de::DeserializeOwned;

use super::misfit::misfit;
use super::output::Failed;
use crate::exchange::Exchange;

/// The result of a request, or why there is none.
pub(super) type Answer = Result<Raw<'static>, Failed>;

type Answering = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// Serves a request for one thing.
#[derive(Clone)]
pub(super) struct Function {
    run: Arc<dyn Fn(Exchange) -> Answering + Send + Sync>,
}

impl Function {
    pub(super) fn blocking(run: impl Fn(&Exchange) -> Answer + Send + Sync + 'static) -> Self {
        let run = Arc::new(run);
        let run = move |exchange: Exchange| -> Answering {
            let run = Arc::clone(&run);
            Box::pin(async move { run(&exchange) })
        };
        Self { run: Arc::new(run) }
    }

    pub(super) fn asynchronous<F: Future<Output = Answer> + Send + 'static>(
        run: impl Fn(Exchange) -> F + Send + Sync + 'static,
    ) -> Self {
        Self { run: Arc::new(move |exchange| Box::pin(run(exchange))) }
    }

    pub(super) async fn run(&self, exchange: Exchange) -> Answer {
        (self.run)(exchange).await
    }
}

/// The arguments of a tool or a prompt; absent ones count as `{}`.
pub(super) fn arguments_of<A: DeserializeOwned>(exchange: &Exchange) -> Result<A, Failed> {
    let arguments = match &exchange.request().call {
        Call::CallTool(call) => call.arguments.as_ref(),
        Call::GetPrompt(prompt) => prompt.arguments.as_ref(),
        _ => None,
    };
    let none = Raw::EMPTY_OBJECT;
    let arguments = arguments.unwrap_or(&none);
    arguments.parse().map_err(|error| Failed::arguments(&misfit(arguments.as_json(), &error)))
}
