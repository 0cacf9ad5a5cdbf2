//! Finds out whether the server at a URL still serves the era that was negotiated, and knows the session: another
//! release may have replaced it, or it was started again.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use mcp_sansio::call::Timeout;
use mcp_sansio::model::method::{Discover, Method, Ping};
use mcp_sansio::{CallOptions, ErrorCode};
use mcp_sansio_tokio::{CallFailure, Json};
use serde_json::json;

use super::Upstream;
use super::link::Link;
use crate::config::UpstreamTransport;

/// How often in a row a server refuses `server/discover` or `ping` before the gateway negotiates again.
const MOST_REFUSALS: u32 = 3;

/// The pause between two of these attempts.
const PAUSE: Duration = Duration::from_secs(1);

/// After the server has responded as before, failures of calls are no reason to ask it again for this time.
const TRUST: Duration = Duration::from_secs(30);

/// How long to wait for the response.
const PATIENCE: Duration = Duration::from_secs(10);

impl Upstream {
    /// Closes a connection that takes no new calls: once the calls in progress have ended, at the latest after the time
    /// of a call.
    pub(super) fn retire(&self, link: Arc<Link>) {
        // The server is removed from the configuration, or the gateway ends.
        let (most, stop) = (self.config.call_timeout, self.time_is_up());
        let limit = async move { _ = tokio::time::timeout(most, stop).await };
        let mut retiring = self.retiring.lock().unwrap_or_else(PoisonError::into_inner);
        while retiring.try_join_next().is_some() {}
        retiring.spawn(async move { link.close(limit).await });
    }

    /// Waits until the connections that take no new calls have ended.
    pub(super) async fn retired(&self) {
        loop {
            let mut all =
                std::mem::take(&mut *self.retiring.lock().unwrap_or_else(PoisonError::into_inner));
            if all.is_empty() {
                return;
            }
            while all.join_next().await.is_some() {}
        }
    }
}

/// Waits until the server of a modern connection does not serve that era any more, or a server with sessions does not
/// know the session any more. Returns the problem; `None` if the link was dropped in the meantime, because a long wait
/// does not keep it.
///
/// A server refuses a session that it does not know with 404, and the connection negotiates again by itself. Many
/// servers respond with 400 instead, as to any invalid request. Such a server refuses `ping` as well. A modern request
/// carries no session, so a server of the legacy era just refuses each of them.
pub(super) fn era_changed(
    transport: &UpstreamTransport,
    link: &Arc<Link>,
) -> impl Future<Output = Option<String>> + Send + use<> {
    let cannot_change = matches!(transport, UpstreamTransport::Command(_));
    let (doubts, link) = (link.doubts(), Arc::downgrade(link));
    async move {
        if cannot_change {
            std::future::pending::<()>().await;
        }
        loop {
            doubts.notified().await;
            let open = link.upgrade()?;
            let mut refusals = 0;
            while is_refused(&open).await {
                refusals += 1;
                if refusals == MOST_REFUSALS {
                    return Some(if open.has_session() {
                        "the server does not know the session any more".into()
                    } else {
                        format!("the server does not serve {} any more", open.revision())
                    });
                }
                tokio::time::sleep(PAUSE).await;
            }
            drop(open);
            tokio::time::sleep(TRUST).await;
        }
    }
}

/// Whether a server refuses a request that every server of the era serves.
async fn is_refused(link: &Link) -> bool {
    let options = CallOptions::new().total(Timeout::After(PATIENCE));
    let method = if link.has_session() { Ping::NAME } else { Discover::NAME };
    let mut asked = link.handle().call_method(method, &Json(json!({})), options);
    let outcome = (&mut asked).await;
    // A server of any era can be busy, or refuse the credentials of the gateway.
    let is_about_request = |status| matches!(status, 400 | 404 | 405 | 406 | 415);
    match outcome {
        // A session is refused only with a status. Without one, the server has read the request.
        Err(CallFailure::PeerError(_)) if link.has_session() => {
            asked.http_status().is_some_and(is_about_request)
        }
        // Such an error is a failure of a server that knows the method.
        Err(CallFailure::PeerError(error)) => {
            error.code != ErrorCode::INTERNAL_ERROR
                && asked.http_status().is_none_or(is_about_request)
        }
        Err(CallFailure::TransportFailed(failure)) => failure.status.is_some_and(is_about_request),
        _ => false,
    }
}

/// Whether the failure of a call is a reason to doubt that the server is of the era that was negotiated.
pub(crate) const fn is_doubtful(failure: &CallFailure) -> bool {
    matches!(failure, CallFailure::PeerError(_) | CallFailure::TransportFailed(_))
}
