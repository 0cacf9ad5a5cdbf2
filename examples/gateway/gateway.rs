//! [`Gateway`]: all machines of the gateway, and the effects of a message on the other machines.
//!
//! All state is in one value, owned by one thread, so there are no locks. Every method runs to its end without
//! blocking: it inspects an event of one machine and gives commands to others, which write into outboxes. An event
//! borrows the bytes of its message, which belong to the event loop; so all machines remain usable in the meantime.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::event::{ConnectFailure, Notification};
use mcp_sansio::model::method::{self, Notification as _};
use mcp_sansio::model::{EmptyCapability, ListChanged, LoggingLevel, ResourcesCapability};
use mcp_sansio::progress::{Progress, ProgressUpdate};
use mcp_sansio::subscription::ChangedList;
use mcp_sansio::{
    CallId, Cause, ClientEvent, Era, ErrorCode, Frame, Framing, IncomingId, Instant, Outbox, Phase,
    Server, ServerConfig, ServerEvent,
};

use crate::forward::Job;
use crate::inputs::Question;
use crate::parking::Parking;
use crate::resources::{Listener, Watch};
use crate::say::say;
use crate::side_table::SideTable;
use crate::upstream::{self, Purpose, Upstream};

/// One end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Party {
    Client,
    Upstream(usize),
}

pub(crate) struct Gateway {
    /// The machine that the client is connected to.
    pub(crate) server: Server,
    pub(crate) outbox: Outbox,
    /// Upstreams are never removed, so their numbers stay valid.
    pub(crate) upstreams: Vec<Upstream>,
    /// The time of the current event.
    pub(crate) now: Instant,
    /// How long a list waits for an upstream.
    pub(crate) patience: Duration,
    /// The work in progress for each request of the client.
    pub(crate) jobs: SideTable<IncomingId, Job>,
    /// The requests of upstreams that were passed on to a legacy client.
    pub(crate) questions: SideTable<CallId, Question>,
    /// The requests of the client whose response is an input-required result.
    pub(crate) needy: Vec<IncomingId>,
    pub(crate) parking: Parking,
    /// The upstream that has listed a resource, by its URI, or a template, by its text.
    pub(crate) owners: [BTreeMap<String, usize>; 2],
    pub(crate) watches: Vec<Watch>,
    pub(crate) listeners: Vec<Listener>,
    /// The log level of the session.
    pub(crate) level: Option<LoggingLevel>,
}

impl Gateway {
    pub(crate) fn new(
        name: &str,
        upstreams: Vec<Upstream>,
        patience: Duration,
        now: Instant,
    ) -> Self {
        let config = config(name);
        let limits = config.connection.limits.clone();
        let mut outbox = Outbox::new(Framing::Lines, &limits);
        // The number of requests is limited, and a response must not be lost because the client reads slowly.
        outbox.set_limit(usize::MAX);
        Self {
            server: Server::new(Arc::new(config)),
            outbox,
            upstreams,
            now,
            patience,
            jobs: SideTable::default(),
            questions: SideTable::default(),
            needy: Vec::new(),
            parking: Parking::default(),
            owners: Default::default(),
            watches: Vec::new(),
            listeners: Vec::new(),
            level: None,
        }
    }

    /// Handles a message of either side.
    pub(crate) fn receive(&mut self, from: Party, frame: Frame<'_>, now: Instant) {
        self.now = now;
        match from {
            Party::Client => {
                if let Some(event) = self.server.receive(frame, now, &mut self.outbox) {
                    self.on_client_event(event);
                }
            }
            Party::Upstream(from) => {
                let Upstream { client, outbox, .. } = &mut self.upstreams[from];
                if let Some(event) = client.receive(frame, now, outbox) {
                    self.on_upstream_event(from, event);
                }
            }
        }
    }

    /// Handles the end of a line.
    pub(crate) fn disconnected(&mut self, from: Party, cause: Cause, now: Instant) {
        match from {
            Party::Client => self.server.disconnected(cause, now),
            Party::Upstream(from) => self.upstreams[from].client.disconnected(cause, now),
        }
    }

    /// Handles the timeouts of every machine, and the work that is left when all messages have been handled.
    pub(crate) fn keep_time(&mut self, now: Instant) {
        self.now = now;
        while let Some(event) = self.server.handle_timeout(now, &mut self.outbox) {
            self.on_client_event(event);
        }
        for from in 0..self.upstreams.len() {
            loop {
                let Upstream { client, outbox, .. } = &mut self.upstreams[from];
                let Some(event) = client.handle_timeout(now, outbox) else { break };
                self.on_upstream_event(from, event);
            }
        }
        self.settle_needs();
    }

    /// The next deadline.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let upstreams = self.upstreams.iter().filter_map(|upstream| upstream.client.poll_timeout());
        upstreams.chain(self.server.poll_timeout()).min()
    }

    /// Whether the client has disconnected, and no work is left.
    pub(crate) fn is_over(&self) -> bool {
        self.server.phase() == Phase::Closed && self.server.poll_timeout().is_none()
    }

    fn on_client_event(&mut self, event: ServerEvent<'_>) {
        match event {
            ServerEvent::Request(request) => self.serve(request),
            ServerEvent::Cancelled(cancelled) => {
                let reason = cancelled.reason.as_ref().map(|reason| reason.to_str());
                self.give_up(cancelled.id, reason.as_deref());
            }
            ServerEvent::Subscribed(subscribed) => self.listen(&subscribed),
            ServerEvent::CallEnded(ended) => self.question_ended(ended),
            ServerEvent::Progress(update) => self.report_to_upstream(&update),
            ServerEvent::Notification(notification) => self.notify_upstreams(&notification),
            // Most violations get an error response, so the client knows them.
            ServerEvent::Violation(violation) if !violation.answered => {
                say!("the client: {}", violation.kind);
            }
            _ => {}
        }
    }

    fn on_upstream_event(&mut self, from: usize, event: ClientEvent<'_>) {
        match event {
            ClientEvent::Connected(_) => self.upstream_is_there(from),
            ClientEvent::ConnectFailed(ConnectFailure::RestartAdvised(_)) => {
                self.upstreams[from].wants_restart = true;
            }
            ClientEvent::ConnectFailed(failure) => {
                say!("{}: {}", self.upstreams[from].name, upstream::in_words(&failure));
            }
            ClientEvent::CallEnded(ended) => self.answered(from, ended),
            ClientEvent::Page(page) => self.page(from, &page),
            ClientEvent::ListRestarted(restarted) => self.pages_restarted(from, restarted.call),
            ClientEvent::Subscription(update) => self.subscription(from, &update),
            ClientEvent::Progress(update) => self.report_to_client(from, &update),
            ClientEvent::Notification(notification) => self.notify_client(from, &notification),
            ClientEvent::Request(request) => self.asked(from, &request),
            ClientEvent::Cancelled(cancelled) => self.question_withdrawn(from, cancelled.id),
            ClientEvent::Violation(violation) if !violation.answered => {
                say!("{}: {}", self.upstreams[from].name, violation.kind);
            }
            ClientEvent::Closed { cause } => self.upstream_is_gone(from, cause),
            _ => {}
        }
    }

    fn upstream_is_there(&mut self, from: usize) {
        self.upstreams[from].was_there = true;
        if std::mem::take(&mut self.upstreams[from].is_missed) {
            self.lists_changed();
        }
    }

    fn upstream_is_gone(&mut self, from: usize, cause: Cause) {
        let upstream = &self.upstreams[from];
        if upstream.wants_restart {
            return;
        }
        // If the upstream was never connected, the reason has been printed.
        if upstream.was_there {
            say!("{}: {cause}", upstream.name);
        }
        for owners in &mut self.owners {
            owners.retain(|_, owner| *owner != from);
        }
        if self.upstreams[from].is_listed {
            self.lists_changed();
        }
    }

    fn lists_changed(&mut self) {
        for list in [ChangedList::Tools, ChangedList::Resources, ChangedList::Prompts] {
            _ = self.server.notifications().list_changed(list, &mut self.outbox);
        }
    }

    fn report_to_client(&mut self, from: usize, update: &ProgressUpdate<'_>) {
        let Some(Purpose::Answer(request)) = self.upstreams[from].purposes.get(update.call) else {
            return;
        };
        let message = update.message.as_ref().map(|message| message.to_str());
        let report = progress(update, message.as_deref());
        _ = self.server.progress(*request, report, self.now, &mut self.outbox);
    }

    fn report_to_upstream(&mut self, update: &ProgressUpdate<'_>) {
        let Some(question) = self.questions.get(update.call) else { return };
        let Upstream { client, outbox, .. } = &mut self.upstreams[question.upstream];
        let message = update.message.as_ref().map(|message| message.to_str());
        let report = progress(update, message.as_deref());
        _ = client.progress(question.request, report, self.now, outbox);
    }

    /// Passes a notification on. The machine of the client suppresses it if the client is not subscribed to it.
    fn notify_client(&mut self, from: usize, notification: &Notification<'_>) {
        if self.outbox.is_congested() {
            return;
        }
        let method = notification.method.to_str();
        // In the modern era a log message belongs to a request, which upstreams do not name.
        let about = self.newest_request(from).filter(|_| *method == *method::Log::NAME);
        let about = about.filter(|request| self.is_modern(*request));
        _ = self.server.notify_method(&method, &notification.params, about, &mut self.outbox);
    }

    /// Passes a notification of the client on, for example that its roots have changed.
    fn notify_upstreams(&mut self, notification: &Notification<'_>) {
        let method = notification.method.to_str();
        for Upstream { client, outbox, .. } in &mut self.upstreams {
            _ = client.notify_method(&method, &notification.params, None, outbox);
        }
    }

    /// Returns the request of the client that was last forwarded to an upstream.
    pub(crate) fn newest_request(&self, from: usize) -> Option<IncomingId> {
        let upstream = &self.upstreams[from];
        let answers = upstream.client.in_flight().calls().filter_map(|call| {
            match upstream.purposes.get(call) {
                Some(Purpose::Answer(request)) => Some(*request),
                _ => None,
            }
        });
        answers.last()
    }

    /// Whether this is a modern request.
    pub(crate) fn is_modern(&self, request: IncomingId) -> bool {
        self.server.in_flight().context(request).is_some_and(|context| context.era() == Era::Modern)
    }

    /// Rejects a request of the client. Errors are ignored, because the request may no longer be open.
    pub(crate) fn reject(&mut self, request: IncomingId, code: ErrorCode, message: &str) {
        _ = self.server.reject(request, code, message, &mut self.outbox);
    }
}

/// The configuration for the client. It declares every capability, because those of the upstreams are not known
/// yet.
fn config(name: &str) -> ServerConfig {
    let mut config = ServerConfig::new(name, env!("CARGO_PKG_VERSION"));
    config.capabilities.tools = Some(ListChanged::notified());
    config.capabilities.prompts = Some(ListChanged::notified());
    config.capabilities.resources = Some(ResourcesCapability::notified());
    config.capabilities.completions = Some(EmptyCapability::default());
    config.capabilities.logging = Some(EmptyCapability::default());
    config
}

fn progress<'p>(update: &ProgressUpdate<'_>, message: Option<&'p str>) -> Progress<'p> {
    let mut report = Progress::new(update.progress);
    if let Some(total) = update.total {
        report = report.total(total);
    }
    match message {
        Some(message) => report.message(message),
        None => report,
    }
}
