//! Follows a call at a server, until its end or until the client has to give input.

use std::time::Duration;

use mcp_sansio::error::{ErrorObject, NotAllowed};
use mcp_sansio::{CallError, Era, ErrorCode, RespondError};
use mcp_sansio_tokio::{CallFailure, Exchange, Reply};
use tokio::time::Instant;

use super::call::{Call, Step, in_words, report};
use super::params::Subject;
use super::parking::{Parked, Questions};
use super::responses::{may_be_elsewhere, pass_result, refuse};
use super::to_client::{ask_session, notify};
use crate::gateway::Gateway;
use crate::upstream::Counters;
use crate::upstream::table::FromServer;

/// How long to wait for more requests of a server, which can be given to the client together.
const GATHER: Duration = Duration::from_millis(20);

/// How following a call has ended.
pub(super) enum Followed {
    /// The request was responded to, or its client does not want a response any more.
    Responded(Result<(), RespondError>),
    /// The server does not have the resource. There is no response yet.
    NotThere(ErrorObject<'static>),
    /// The server has not answered. There is no response yet.
    Failed(String),
    /// The connection has ended before the call was sent. There is no response yet.
    NotSent,
    /// The call has become a task, which is followed now. There is no response yet.
    Task(Box<Call>),
}

impl Gateway {
    /// Follows a call to its end, and responds.
    pub(super) async fn follow(
        &self,
        exchange: &Exchange,
        mut call: Call,
        mut questions: Questions,
    ) -> Followed {
        let is_modern = exchange.request().context.era() == Era::Modern;
        // When the questions so far are given to the client.
        let mut due = None;
        loop {
            if questions.is_empty() {
                due = None;
            } else {
                due.get_or_insert_with(|| Instant::now() + GATHER);
            }
            let gathered = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            let step = tokio::select! {
                biased;
                () = exchange.cancelled() => {
                    questions.refuse("the client has cancelled its request");
                    call.cancel(exchange.cancel_reason());
                    return Followed::Responded(Err(RespondError::Cancelled));
                }
                () = gathered => {
                    questions.remove_withdrawn();
                    if questions.is_empty() {
                        continue;
                    }
                    match self.park(exchange, call, questions) {
                        Ok(responded) => return Followed::Responded(responded),
                        // The server gets no input, and may do without.
                        Err(refused) => Parked { call, questions } = *refused,
                    }
                    continue;
                }
                step = call.next() => step,
            };
            match step {
                Step::Progress(update) => {
                    let message = update.message.as_ref().map(|message| message.to_str());
                    // The client may not have asked for it.
                    _ = exchange.progress(report(&update, message.as_deref()));
                }
                Step::Message(FromServer::Notification(notification)) => {
                    notify(exchange, &notification);
                }
                Step::Message(FromServer::Request(question)) if is_modern => {
                    questions.add_for(exchange.request().context.capabilities, question);
                }
                Step::Message(FromServer::Request(question)) => {
                    tokio::spawn(ask_session(exchange.clone(), question, call.question()));
                }
                Step::Ended(outcome) => return self.end(exchange, (call, questions), outcome),
            }
        }
    }

    /// Responds with the outcome of a call, unless it has become a task. Its client was not asked these questions yet.
    fn end(
        &self,
        exchange: &Exchange,
        (mut call, questions): (Call, Questions),
        outcome: Result<Reply, CallFailure>,
    ) -> Followed {
        if let Err(CallFailure::Task(begun)) = outcome {
            let call = call.follow(&begun.ticket);
            call.hand_over(questions);
            return Followed::Task(Box::new(call));
        }
        call.leave();
        call.hand_over(questions);
        self.finish(exchange, &call, outcome)
    }

    /// Responds with the outcome of a call.
    fn finish(
        &self,
        exchange: &Exchange,
        call: &Call,
        outcome: Result<Reply, CallFailure>,
    ) -> Followed {
        let counters = &call.upstream.counters;
        match outcome {
            Ok(reply) => {
                Counters::add(&counters.answered);
                Followed::Responded(pass_result(exchange, &call.upstream, reply.raw()))
            }
            Err(CallFailure::PeerError(error)) => {
                Counters::add(&counters.answered);
                pass_error(exchange, error)
            }
            // The server was not asked: it has said that it does not have the method.
            Err(CallFailure::CallError(CallError::NotAllowed(
                reason @ (NotAllowed::Capability(_) | NotAllowed::Revision | NotAllowed::Extension),
            ))) => {
                let name = &call.upstream.config.name;
                let message = format!("the server {name}: {reason}");
                pass_error(exchange, ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, &message))
            }
            Err(CallFailure::InputRequired(needed)) => {
                Counters::add(&counters.answered);
                Followed::Responded(self.require(exchange, &call.upstream, &needed))
            }
            Err(CallFailure::NotSent) => Followed::NotSent,
            Err(failure) => {
                Counters::add(&counters.failed);
                call.upstream.problem(&failure.to_string());
                Followed::Failed(in_words(&call.upstream, &failure))
            }
        }
    }
}

/// Responds with an error, unless another server may have the resource of the request.
fn pass_error(exchange: &Exchange, error: ErrorObject<'static>) -> Followed {
    let is_resource = !matches!(Subject::of(&exchange.request().kind), Some(Subject::Name(_)));
    if is_resource && may_be_elsewhere(&error) {
        return Followed::NotThere(error);
    }
    Followed::Responded(refuse(exchange, &error))
}
