//! [`Call`]: a call at a server on behalf of a client.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcp_sansio::auth::Scopes;
use mcp_sansio::call::{TaskOptions, TaskTicket, Timeout};
use mcp_sansio::event::Expiry;
use mcp_sansio::json::Raw;
use mcp_sansio::model::TaskSupport;
use mcp_sansio::model::method::{CallTool, Method};
use mcp_sansio::progress::{Progress, ProgressUpdate};
use mcp_sansio::request::Requestor;
use mcp_sansio::{CallError, CallOptions, ErrorCode, Phase, RequestContext};
use mcp_sansio_tokio::{CallFailure, PendingCall, Reply};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::parking::Questions;
use crate::budget::Share;
use crate::client_key::ClientKey;
use crate::gateway::Gateway;
use crate::upstream::era::is_doubtful;
use crate::upstream::link::Link;
use crate::upstream::shared::NoLink;
use crate::upstream::table::{CallEntry, FromServer};
use crate::upstream::{Place, Upstream};

/// A call in progress, and the messages of the server about it. Dropping it cancels the call.
pub(crate) struct Call {
    pending: PendingCall,
    messages: mpsc::Receiver<FromServer>,
    /// The outcome, until it is returned.
    outcome: Option<Result<Reply, CallFailure>>,
    entry: Option<CallEntry>,
    pub(crate) link: Arc<Link>,
    pub(crate) upstream: Arc<Upstream>,
    client: ClientKey,
    requestor: Requestor,
    /// Given back while the call is parked.
    place: Option<Arc<Place>>,
    /// When the call has taken too long. The machine has no timer for it: its timers stand still while any client of the
    /// connection is asked for input.
    deadline: Instant,
    /// The open requests for input of a person. Meanwhile the call does not expire.
    questions: Arc<AtomicBool>,
    options: CallOptions,
    /// What is needed if the call can be made again with input that the server requires.
    kept: Option<Kept>,
}

/// A tool call that can be made again.
struct Kept {
    params: Raw<'static>,
    /// The name of the tool at the server.
    name: Option<String>,
    /// The scopes of the client, if the endpoint needs access tokens.
    granted: Option<Scopes>,
    _share: Share,
}

/// A request for input of a person. It marks the call when it ends, because the person has taken some of its time.
pub(crate) struct Question(Arc<AtomicBool>);

impl Drop for Question {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// How often a call is made again that was not sent, because the connection had just ended.
pub(super) const MOST_ATTEMPTS: u32 = 3;

/// The pause before that.
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// Why a call gets no place.
pub(crate) const MANY_CALLS: &str = "too many calls are in progress";

/// A step of a call.
pub(crate) enum Step {
    Progress(ProgressUpdate<'static>),
    Message(FromServer),
    Ended(Result<Reply, CallFailure>),
}

impl Call {
    /// Makes a call.
    pub(crate) fn make(
        upstream: &Arc<Upstream>,
        (link, place): (Arc<Link>, Arc<Place>),
        (client, requestor): (ClientKey, Requestor),
        (method, params): (&str, &Raw<'_>),
        options: CallOptions,
    ) -> Self {
        let (pending, entry, messages) = link.call(client, (method, params), options);
        Self {
            pending,
            messages,
            outcome: None,
            entry,
            link,
            upstream: Arc::clone(upstream),
            client,
            requestor,
            place: Some(place),
            deadline: Instant::now() + upstream.config.call_timeout,
            questions: Arc::default(),
            options,
            kept: None,
        }
    }

    /// Keeps the params of a tool call, with which it can be made again, as long as there is room for them. `name` is that
    /// of the tool at the server.
    pub(crate) fn keep(
        &mut self,
        params: Raw<'static>,
        name: Option<&str>,
        granted: Option<Scopes>,
    ) {
        let share = self.upstream.keep(self.requestor, params.as_json().len());
        let name = name.map(str::to_owned);
        self.kept = share.map(|share| Kept { params, name, granted, _share: share });
    }

    /// Follows the task that a call has become.
    pub(crate) fn follow(self, ticket: &TaskTicket) -> Self {
        let follow =
            |server: &mcp_sansio_tokio::Handle| server.resume_task(ticket, TaskOptions::new());
        let (pending, entry, messages) = self.link.call_with(self.client, follow);
        Self { pending, messages, outcome: None, entry, ..self }
    }

    /// Returns the params with which the call can be made again.
    ///
    /// # Errors
    ///
    /// Why that is not possible.
    pub(crate) fn kept(&self) -> Result<&Raw<'static>, String> {
        let name = &self.upstream.config.name;
        self.kept.as_ref().map(|kept| &kept.params).ok_or_else(|| {
            format!("the server {name} has required input, and the gateway keeps too many requests for that")
        })
    }

    /// Makes a tool call again, with the input that the server has required, as soon as there is a place for it. The server
    /// may have another connection by then, because the input of a person takes its time.
    ///
    /// # Errors
    ///
    /// Why that is not possible.
    pub(crate) async fn repeat(
        &mut self,
        gateway: &Gateway,
        inputs: Raw<'_>,
        needed: &Raw<'_>,
    ) -> Result<(), String> {
        let params = self.kept()?;
        let state = needed.get("requestState").map(Raw::into_owned);
        let params = params.edited(&[("inputResponses", Some(inputs)), ("requestState", state)]);
        let mut attempts = 1;
        loop {
            self.renew_link(gateway).await?;
            if !self.enter().await {
                return Err(format!("the server {}: {MANY_CALLS}", self.upstream.config.name));
            }
            let call = (CallTool::NAME, &params);
            let (pending, entry, messages) = self.link.call(self.client, call, self.options);
            (self.pending, self.entry, self.messages) = (pending, entry, messages);
            self.resume();
            match self.error() {
                // The connection has just ended, and another one is being opened.
                Some(CallError::Closed) if attempts < MOST_ATTEMPTS => {
                    attempts += 1;
                    self.pause();
                    tokio::time::sleep(PAUSE).await;
                }
                Some(error) => {
                    return Err(format!("the server {}: {error}", self.upstream.config.name));
                }
                None => return Ok(()),
            }
        }
    }

    /// Chooses the connection on which the call is made again: that of the server now, also if a reload has replaced it.
    async fn renew_link(&mut self, gateway: &Gateway) -> Result<(), String> {
        let deadline = Instant::now() + self.upstream.config.connect_timeout;
        loop {
            match self.upstream.link((self.client, self.requestor)).await {
                // The request stands alone only in the modern era.
                Ok(link) if !link.has_session() => {
                    self.link = link;
                    return Ok(());
                }
                Ok(_) => return Ok(()),
                // A server that a reload has removed serves its calls to their end, if its connection lasts.
                Err(NoLink::Stopped) if self.link.handle().phase() == Phase::Ready => return Ok(()),
                Err(NoLink::Stopped) => match gateway.routes().successor(&self.upstream) {
                    Some(successor) if self.is_served_by(gateway, &successor) => {
                        self.upstream = successor;
                    }
                    // The rules of the reload are others.
                    Some(_) => {
                        let reason = NoLink::Stopped;
                        return Err(format!("the server {}: {reason}", self.upstream.config.name));
                    }
                    None => return Ok(()),
                },
                Err(NoLink::Failed { again }) if Instant::now() + again < deadline => {
                    tokio::time::sleep(again + PAUSE).await;
                }
                Err(error) => {
                    return Err(format!("the server {}: {error}", self.upstream.config.name));
                }
            }
        }
    }

    /// Whether a server that has replaced that of the call in a reload serves it for the client, under the same name.
    fn is_served_by(&self, gateway: &Gateway, successor: &Arc<Upstream>) -> bool {
        self.kept.as_ref().is_some_and(|kept| {
            let (granted, name) = (kept.granted.as_ref(), kept.name.as_deref());
            gateway.routes().serves_for(granted, successor, &self.upstream, name)
        })
    }

    /// Returns a guard of a question to a person, during which the call does not expire.
    pub(crate) fn question(&self) -> Question {
        Question(Arc::clone(&self.questions))
    }

    /// Gives the place of the call back, because it waits for its client, which may take any time. Until the returned
    /// place is dropped, no other call gets it, and [`go_on`](Self::go_on) takes it again.
    pub(crate) fn pause(&mut self) -> Option<Arc<Place>> {
        self.set_parked(true);
        self.place.take()
    }

    /// Notes whether messages of the server that name no call are better given to another call of the client.
    fn set_parked(&self, is_parked: bool) {
        self.entry.iter().for_each(|entry| entry.set_parked(is_parked));
    }

    /// Continues in the place that [`pause`](Self::pause) has returned.
    pub(crate) fn go_on(&mut self, place: Option<Arc<Place>>) {
        self.place = place;
        self.set_parked(false);
    }

    /// Waits for a place again, as long as a call may take.
    pub(crate) async fn enter(&mut self) -> bool {
        let entering = self.upstream.enter(self.requestor);
        let place = tokio::time::timeout(self.upstream.config.call_timeout, entering).await.ok();
        self.go_on(place.map(Arc::new));
        self.place.is_some()
    }

    /// Continues after a pause, with as much time as a call has.
    pub(crate) fn resume(&mut self) {
        self.deadline = Instant::now() + self.upstream.config.call_timeout;
    }

    /// Returns the reason why the call was not made.
    pub(crate) fn error(&self) -> Option<CallError> {
        self.pending.id()?.err()
    }

    /// Waits for the next step. Dropping this future loses nothing.
    pub(crate) async fn next(&mut self) -> Step {
        while self.outcome.is_none() {
            tokio::select! {
                biased;
                Some(message) = self.messages.recv() => return Step::Message(message),
                // Without requested progress, this waits for the end of the call.
                update = next_update(&mut self.pending) => match update {
                    Some(update) => return Step::Progress(update),
                    None => {
                        let outcome = (&mut self.pending).await;
                        if outcome.as_ref().is_err_and(is_doubtful) {
                            self.link.doubt();
                        }
                        self.outcome = Some(outcome);
                    }
                },
                () = tokio::time::sleep_until(self.deadline) => {
                    let was_asked = self.questions.swap(false, Ordering::Relaxed);
                    if was_asked || Arc::strong_count(&self.questions) > 1 {
                        self.resume();
                    } else {
                        self.outcome = Some(Err(CallFailure::TimedOut(Expiry::Total)));
                    }
                }
            }
        }
        // Messages that the server sent before its response come first. There may be more than wait at a time.
        let handled = self.link.handle().events_handled();
        tokio::select! {
            biased;
            Some(message) = self.messages.recv() => return Step::Message(message),
            () = handled => {}
        }
        if let Ok(message) = self.messages.try_recv() {
            return Step::Message(message);
        }
        let ended = Err(CallFailure::Closed(mcp_sansio::Cause::ShutDown));
        Step::Ended(self.outcome.take().unwrap_or(ended))
    }

    /// Takes no more messages of the server.
    pub(crate) fn leave(&mut self) {
        self.entry = None;
    }

    /// Gives requests of the server, which name no call, to the newest call of the client: the one that they were given
    /// to has ended without responses to them. They are refused if there is none.
    pub(crate) fn hand_over(&self, questions: Questions) {
        for question in questions.into_open() {
            let of_this_call = question.request().needed_for.is_some();
            let left = match FromServer::Request(question) {
                question if of_this_call => Err(question),
                question => self.link.deliver_to(self.client, question),
            };
            if let Err(FromServer::Request(question)) = left {
                _ = question.reject(ErrorCode::INTERNAL_ERROR, "the call has ended");
            }
        }
    }

    /// Cancels the call, with the reason of the client.
    pub(crate) fn cancel(self, reason: Option<&str>) {
        self.pending.cancel(reason);
    }

    /// Asks the server to cancel the task that the call has become. Returns whether there is one.
    pub(crate) fn cancel_task(&self) -> bool {
        self.outcome.is_none() && self.pending.cancel_task().is_ok()
    }
}

async fn next_update(pending: &mut PendingCall) -> Option<ProgressUpdate<'static>> {
    pending.progress().next().await
}

/// Returns the options of a call on behalf of a request with this context.
pub(crate) fn options(context: &RequestContext) -> CallOptions {
    let mut options = CallOptions::new()
        .idle(Timeout::Never)
        .total(Timeout::Never)
        .capabilities(context.capabilities)
        .input_by_hand();
    if let Some(level) = context.log_level {
        options = options.log_level(level);
    }
    if context.wants_progress { options.progress() } else { options }
}

/// Adds the options of a tool call to those of a call: whether it may become a task.
pub(crate) fn tool_options(
    options: CallOptions,
    link: &Link,
    support: &TaskSupport<'_>,
    task: TaskOptions,
) -> CallOptions {
    // In the modern era the server decides.
    let is_possible = !link.has_session() || matches!(support, TaskSupport::Required);
    if is_possible { options.task(task) } else { options }
}

/// Returns a progress report with the values of another one.
pub(crate) fn report<'a>(update: &'a ProgressUpdate<'_>, message: Option<&'a str>) -> Progress<'a> {
    let mut progress = Progress::new(update.progress);
    if let Some(total) = update.total {
        progress = progress.total(total);
    }
    match message {
        Some(message) => progress.message(message),
        None => progress,
    }
}

/// Describes why a call has no result.
pub(crate) fn in_words(upstream: &Upstream, failure: &CallFailure) -> String {
    format!("the server {}: {failure}", upstream.config.name)
}
