//! [`Parking`]: calls of servers with sessions that need input of clients without sessions.
//!
//! The server waits for a response. The client only gets an input-required result, and repeats its request at any later
//! time. In between, the call is parked.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use mcp_sansio::capability::{Capability, CapabilitySet};
use mcp_sansio::error::NotAllowed;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{InputRequest, InputRequired, Text};
use mcp_sansio::request::Requestor;
use mcp_sansio::{Client, ErrorCode, Request, RequestFromServer, ServerRequest};
use mcp_sansio_tokio::{Exchange, random_bytes};
use serde::Serialize;
use tokio::task::AbortHandle;

use super::call::Call;
use super::params;
use super::routes::text;

/// The requests of a server that have no response yet.
#[derive(Default)]
pub(crate) struct Questions {
    open: Vec<(String, Exchange<Client>)>,
    /// The number of requests so far.
    added: u64,
    /// The number of these for which a task has required input.
    required: u64,
}

#[derive(Serialize)]
struct Asked<'a> {
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<Raw<'a>>,
}

impl Questions {
    /// Adds a request of the server, under a key that no other request of the call has.
    pub(crate) fn add(&mut self, question: Exchange<Client>) {
        self.open.push((format!("input-{}", self.added), question));
        self.added += 1;
    }

    /// As [`add`](Self::add), if a client with these capabilities can be asked. Otherwise it is refused: the other
    /// requests of the server do not depend on it.
    pub(crate) fn add_for(&mut self, client: CapabilitySet, question: Exchange<Client>) {
        match needed(question.request()).filter(|needed| !client.contains(*needed)) {
            Some(missing) => {
                let reason = NotAllowed::Capability(missing);
                let message = format!("the client cannot be asked: {reason}");
                // The server may have withdrawn it.
                _ = question.reject(ErrorCode::INTERNAL_ERROR, &message);
            }
            None => self.add(question),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Removes requests that the server has withdrawn.
    pub(crate) fn remove_withdrawn(&mut self) {
        self.open.retain(|(_, question)| !question.is_cancelled());
    }

    /// Waits until the server withdraws a request, and removes it. Returns its key.
    pub(crate) async fn withdrawn(&mut self) -> String {
        let index = {
            let mut withdrawn: Vec<_> =
                self.open.iter().map(|(_, question)| Box::pin(question.cancelled())).collect();
            poll_fn(|context| {
                let found =
                    withdrawn.iter_mut().position(|one| one.as_mut().poll(context).is_ready());
                found.map_or(Poll::Pending, Poll::Ready)
            })
            .await
        };
        self.open.remove(index).0
    }

    /// Returns the result that asks a client for all input.
    pub(crate) fn required(&self, state: Option<String>) -> InputRequired<'static> {
        let mut required = required(&self.open);
        required.state = state.map(Text::from);
        required
    }

    /// As [`required`](Self::required), without the input that this has returned before.
    pub(crate) fn not_required_before(&mut self) -> InputRequired<'static> {
        let new = self.added - std::mem::replace(&mut self.required, self.added);
        let new = usize::try_from(new).unwrap_or(usize::MAX);
        required(self.open.split_at(self.open.len().saturating_sub(new)).1)
    }

    /// Responds to the requests that a client has answered.
    pub(crate) fn answer(&mut self, answer: impl Fn(&str) -> Option<Raw<'static>>) {
        self.open.retain(|(key, question)| match answer(key) {
            Some(answer) => {
                respond(question, &answer);
                false
            }
            None => true,
        });
    }

    /// Responds to the requests of a task that its client has answered, and refuses the others, except for those that
    /// were added last: the client has not been asked for them yet.
    pub(crate) fn settle_earlier(
        &mut self,
        last: usize,
        answer: impl Fn(&str) -> Option<Raw<'static>>,
    ) {
        let kept = self.open.len().saturating_sub(last);
        let later = self.open.split_off(kept);
        self.answer(answer);
        self.refuse("the client has refused to answer");
        self.open = later;
    }

    /// Refuses the requests that were added last, which the client cannot answer. The others wait for their answers.
    pub(crate) fn refuse_last(&mut self, count: usize, message: &str) {
        let kept = self.open.len().saturating_sub(count);
        for (_, question) in self.open.drain(kept..) {
            _ = question.reject(ErrorCode::INTERNAL_ERROR, message);
        }
    }

    /// Returns the requests.
    pub(crate) fn into_open(self) -> impl Iterator<Item = Exchange<Client>> {
        self.open.into_iter().map(|(_, question)| question)
    }

    /// Refuses the requests, which no client will answer.
    pub(crate) fn refuse(&mut self, message: &str) {
        for (_, question) in self.open.drain(..) {
            // The server may have withdrawn it.
            _ = question.reject(ErrorCode::INTERNAL_ERROR, message);
        }
    }
}

/// Returns the capability without which no client can be asked for this input.
fn needed(request: &RequestFromServer<'_>) -> Option<Capability> {
    Some(match &request.kind {
        ServerRequest::ListRoots => Capability::Roots,
        ServerRequest::CreateMessage(_) => Capability::Sampling,
        ServerRequest::Elicit(params) => match text(params, "mode").as_deref() {
            Some("url") => Capability::ElicitationUrl,
            _ => Capability::ElicitationForm,
        },
        _ => return None,
    })
}

fn required(questions: &[(String, Exchange<Client>)]) -> InputRequired<'static> {
    let mut required = InputRequired::new();
    for (key, question) in questions {
        let request = question.request();
        let (method, params) = (request.method.to_str(), params::for_client(request));
        // A method and raw params can always be written.
        if let Ok(asked) = Raw::from_serialize(&Asked { method: &method, params }) {
            required = required.request(key.clone(), InputRequest::Unknown(asked));
        }
    }
    required
}

/// Responds to a request of a server with the answer of a client.
pub(crate) fn respond(question: &Exchange<Client>, answer: &Raw<'_>) {
    // The machine of the server adds the member where the revision has it.
    let answer = answer.edited(&[("resultType", None)]);
    if question.respond(&answer).is_err() {
        let message = "the answer of the client does not fit the revision of the server";
        _ = question.reject(ErrorCode::INTERNAL_ERROR, message);
    }
}

/// A call that waits for the client to repeat its request.
pub(crate) struct Parked {
    pub(crate) call: Call,
    pub(crate) questions: Questions,
}

/// Which part of the room a client gets at most.
const MOST_OF_CLIENT: usize = 10;

/// The parked calls, by their numbers. A client proves with its request state that a call is its own.
pub(crate) struct Parking {
    most: usize,
    patience: Duration,
    state: Arc<Mutex<BTreeMap<u128, Entry>>>,
}

struct Entry {
    client: Requestor,
    parked: Parked,
    /// The task that removes the entry after some time.
    expiry: AbortHandle,
}

impl Parking {
    pub(crate) fn new(most: usize, patience: Duration) -> Self {
        Self { most, patience, state: Arc::default() }
    }

    /// Returns the number for a call that is parked, for the state that its client gets; `None` if there is no room. Of the
    /// room, a client gets a tenth at most.
    pub(crate) fn reserve(&self, client: Requestor) -> Option<u128> {
        let parked = self.lock();
        let of_client = parked.values().filter(|entry| entry.client == client).count();
        let has_room = parked.len() < self.most && of_client < self.most.div_ceil(MOST_OF_CLIENT);
        if !has_room {
            return None;
        }
        random_bytes().ok().map(u128::from_ne_bytes)
    }

    /// Parks a call. It is cancelled if its client does not come back in time.
    pub(crate) fn park(&self, number: u128, client: Requestor, parked: Parked) {
        let (state, patience) = (Arc::downgrade(&self.state), self.patience);
        let expiry = tokio::spawn(async move {
            tokio::time::sleep(patience).await;
            let expired = state.upgrade().and_then(|state| {
                state.lock().unwrap_or_else(PoisonError::into_inner).remove(&number)
            });
            drop(expired);
        });
        let entry = Entry { client, parked, expiry: expiry.abort_handle() };
        self.lock().insert(number, entry);
    }

    /// Removes and returns a parked call.
    pub(crate) fn take(&self, number: u128) -> Option<Parked> {
        let entry = self.lock().remove(&number)?;
        entry.expiry.abort();
        Some(entry.parked)
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u128, Entry>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the input of a repeated request under a key.
pub(crate) fn input_of(request: &Request<'_>, key: &str) -> Option<Raw<'static>> {
    request.input(key).map(Raw::into_owned)
}
