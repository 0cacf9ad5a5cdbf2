//! Subscriptions that a client keeps open with a request
//! ([subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)).

use super::event::{Request, ServerEvent, Subscribed};
use super::{Call, Server};
use crate::Listening;
use crate::dialect::RespondError;
use crate::error::ViolationKind;
use crate::handle::InboundId;
use crate::json::Raw;
use crate::model::SubscriptionFilter;
use crate::peer::{Cx, IncomingRequest, Outlets, TaskHost};
use crate::subscription::Filter;
use crate::task::Tasks;
use crate::time::Instant;

impl Server {
    /// Opens a subscription, and acknowledges it unless somebody has to decide.
    pub(super) fn listen<'f>(
        &mut self,
        request: IncomingRequest<'_, 'f>,
        out: &mut dyn Outlets,
    ) -> Option<ServerEvent<'f>> {
        let Some(call) =
            Call::read(Some(crate::dialect::methods::RequestKind::Listen), request.params.as_ref())
        else {
            return self.refuse(ViolationKind::InvalidParams, request, out);
        };
        let kind = Some(crate::dialect::methods::RequestKind::Listen);
        let (peer, cx) = &mut self.connection.enter(None, out);
        let (id, context) = match peer.serving.admit(cx, kind, &request) {
            Ok(admitted) => admitted,
            Err(kind) => return self.refuse(kind, request, out),
        };
        let has_topics =
            self.connection.peer.serving.open_listen(id, request.params_text().unwrap_or_default());
        if has_topics && self.config.listening == Listening::Asked {
            return Some(ServerEvent::Request(Request::new(id, context, call, &request)));
        }
        let text = request.param("notifications").unwrap_or("{}");
        let (peer, cx) = &mut self.connection.enter(None, out);
        // Without room for it there would be none for what it is about either.
        if peer.serving.acknowledge(cx, id, None, |_| false).is_err() {
            let (peer, cx) = &mut self.connection.enter(None, out);
            peer.serving.abandon_request(cx, id);
            return self.refuse(ViolationKind::TooManyListens, request, out);
        }
        Some(ServerEvent::Subscribed(Subscribed { id, context, requested: Raw::trusted(text) }))
    }

    /// Grants a subscription, as far as `filter` goes and the server offers it; everything that was asked
    /// for if there is none. The client is told what it gets, and first of all whatever has changed since
    /// it asked. Tasks are granted by [`grant_with_tasks`](Self::grant_with_tasks) only.
    ///
    /// The subscription lasts until the client cancels it, the connection ends, or the request is
    /// answered with [`respond`](crate::Connection::respond) and `()`.
    ///
    /// # Errors
    ///
    /// As for [`respond`](crate::Connection::respond).
    pub fn grant(
        &mut self,
        request: InboundId,
        filter: Option<&SubscriptionFilter<'_>>,
        out: &mut impl Outlets,
    ) -> Result<(), RespondError> {
        self.connection.peer.serving.check_answerable(request)?;
        let filter = filter.map(Raw::from_serialize).transpose()?;
        let filter = filter.map(|filter| Filter::read(filter.as_json()));
        let (peer, cx) = &mut self.connection.enter(None, out);
        Ok(peer.serving.acknowledge(cx, request, filter.as_ref(), |_| false)?)
    }

    /// The same, for a subscription that may be about tasks as well: of these it gets those that it may
    /// see, and first of all how far each is.
    ///
    /// # Errors
    ///
    /// As for [`respond`](crate::Connection::respond).
    pub fn grant_with_tasks(
        &mut self,
        request: InboundId,
        filter: Option<&SubscriptionFilter<'_>>,
        tasks: &mut Tasks,
        now: Instant,
        out: &mut impl Outlets,
    ) -> Result<(), RespondError> {
        self.connection.peer.serving.check_answerable(request)?;
        let filter = filter.map(Raw::from_serialize).transpose()?;
        let filter = filter.map(|filter| Filter::read(filter.as_json()));
        let config = &self.config.connection;
        let mut host = TaskHost::new(&mut self.connection.peer.serving, tasks);
        host.grant_with_tasks(&mut Cx::undated(config, out), request, filter.as_ref())?;
        host.settle_tasks(&mut Cx::at(config, now, out));
        Ok(())
    }
}
