//! The requests of clients.

pub(crate) mod call;
mod follow;
mod forward;
mod input;
mod lists;
mod params;
pub(crate) mod parking;
mod responses;
pub(crate) mod routes;
pub(crate) mod state;
pub(crate) mod subscribers;
mod tasks;
mod to_client;

use mcp_sansio::{ClientRequest, RespondError, Server, ServerEvent};
use mcp_sansio_tokio::{Exchange, Handle, Handler};

use crate::gateway::Gateway;
use crate::upstream::list_kind::ListKind;

impl Handler<Server> for Gateway {
    async fn serve(&self, exchange: Exchange) {
        // An exchange that is dropped without a response responds with the reason.
        _ = self.respond(exchange).await;
    }

    fn begin(&self, handle: &Handle<Server>) {
        self.clients().add(handle);
    }

    async fn event(&self, handle: &Handle<Server>, event: ServerEvent<'static>) {
        match event {
            ServerEvent::Subscribed(subscribed) => self.listen(handle, &subscribed),
            ServerEvent::Cancelled(cancelled) => self.subscribers().remove_listen(cancelled.id),
            ServerEvent::Closed { .. } => self.client_left(handle),
            _ => {}
        }
    }
}

impl Gateway {
    async fn respond(&self, exchange: Exchange) -> Result<(), RespondError> {
        match &exchange.request().kind {
            ClientRequest::ListTools(page) => {
                self.list(&exchange, ListKind::Tools, page.cursor.as_ref()).await
            }
            ClientRequest::ListPrompts(page) => {
                self.list(&exchange, ListKind::Prompts, page.cursor.as_ref()).await
            }
            ClientRequest::ListResources(page) => {
                self.list(&exchange, ListKind::Resources, page.cursor.as_ref()).await
            }
            ClientRequest::ListResourceTemplates(page) => {
                self.list(&exchange, ListKind::Templates, page.cursor.as_ref()).await
            }
            ClientRequest::Subscribe { uri } => self.subscribe(&exchange, &uri.to_str()).await,
            ClientRequest::Unsubscribe { uri } => self.unsubscribe(&exchange, &uri.to_str()),
            ClientRequest::SetLevel(level) => self.set_level(&exchange, *level),
            _ => self.forward(exchange).await,
        }
    }
}
