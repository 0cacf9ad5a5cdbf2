//! Messages of a server that belong to a call, as they are passed on to the client.

use mcp_sansio::event::Notification;
use mcp_sansio::json::Raw;
use mcp_sansio::{Client, ErrorCode};
use mcp_sansio_tokio::{CallFailure, Exchange};

use super::call::{Question, report};
use super::params;
use super::parking::respond;

/// Passes a request of a server on to the session of a legacy client, and the response back.
/// `asking` marks the time that the client takes.
pub(super) async fn ask_session(exchange: Exchange, question: Exchange<Client>, asking: Question) {
    let request = question.request();
    let mut options = exchange.call_options();
    if request.context.wants_progress {
        options = options.progress();
    }
    let params = params::for_client(request).unwrap_or(Raw::EMPTY_OBJECT);
    let method = request.method.to_str();
    let mut call = exchange.handle().call_method(&method, &params, options);
    loop {
        let update = tokio::select! {
            biased;
            // The server has withdrawn its request, and the call is cancelled.
            () = question.cancelled() => return,
            update = async { call.progress().next().await } => update,
        };
        let Some(update) = update else { break };
        let message = update.message.as_ref().map(|message| message.to_str());
        _ = question.progress(report(&update, message.as_deref()));
    }
    let answered = call.await;
    drop(asking);
    match answered {
        Ok(answer) => respond(&question, answer.raw()),
        Err(CallFailure::PeerError(error)) => {
            if question.reject_with(&error).is_err() {
                _ = question.reject(ErrorCode::INTERNAL_ERROR, &error.message.to_str());
            }
        }
        Err(failure) => {
            let message = format!("the client has not answered: {failure}");
            _ = question.reject(ErrorCode::INTERNAL_ERROR, &message);
        }
    }
}

/// Passes a notification of a server on to the client of a request. Its machine suppresses log messages that the client does
/// not want.
pub(super) fn notify(exchange: &Exchange, notification: &Notification<'_>) {
    let params = params::of_notification(notification, None);
    _ = exchange.notify_method(&notification.method.to_str(), &params);
}
