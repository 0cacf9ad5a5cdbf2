//! Subscriptions to the resources of a router, in both eras.

use mcp_sansio::config::Listening;
use mcp_sansio::json::Raw;
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::{ErrorCode, RespondError};

use super::Router;
use super::function::{Function, FunctionResult, RunsOn};
use super::output::Failed;
use crate::exchange::Exchange;

impl Router {
    /// Returns whether the router or the machine grants subscriptions of 2026-07-28. The router does if some client may
    /// not use some resource.
    pub(super) fn listening(&self) -> Listening {
        let shared = self.lock();
        let is_guarded = !shared.middleware.is_empty()
            || !shared.filters.is_empty()
            || shared.registry.has_mounted_resources();
        if is_guarded { Listening::Asked } else { Listening::Granted }
    }

    /// Grants a subscription without the resources that the client cannot see, and those that the middleware refuses.
    pub(super) async fn grant(
        &self,
        exchange: &Exchange,
        requested: &Raw<'_>,
    ) -> Result<(), RespondError> {
        let Ok(mut filter) = requested.parse::<SubscriptionFilter<'_>>() else {
            return exchange.reject(ErrorCode::INVALID_PARAMS, "the filter cannot be read");
        };
        let mut granted = Vec::new();
        for uri in filter.resource_subscriptions.into_iter().flatten() {
            if self.accept_subscription(exchange, &uri).await.is_ok() {
                granted.push(uri);
            }
        }
        filter.resource_subscriptions = Some(granted);
        exchange.grant(Some(&filter))
    }

    /// Decides about a subscription to one resource, which the machine stores. The middleware of a resource decides about
    /// it. An unknown resource is accepted, because it may be added later.
    pub(super) async fn accept_subscription(
        &self,
        exchange: &Exchange,
        uri: &str,
    ) -> FunctionResult {
        match self.reader_of(exchange, uri) {
            Some((name, function)) => {
                let accept = function.replaced_by(Function::blocking(|_| Ok(Raw::EMPTY_OBJECT)));
                self.outcome(&name, accept, exchange, RunsOn::PollingThread).await
            }
            None if self.is_hidden(exchange, uri) => Err(Failed::not_found()),
            None => Ok(Raw::EMPTY_OBJECT),
        }
    }
}
