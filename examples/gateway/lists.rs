//! Lists: the client gets a single list with all items of all pages of all upstreams, in the order of the
//! upstreams.
//!
//! An upstream that does not respond in time is left out. If it responds later, the client receives list-changed
//! notifications.

use std::collections::BTreeMap;

use mcp_sansio::call::{Paging, Timeout};
use mcp_sansio::capability::Capability;
use mcp_sansio::event::ListPage;
use mcp_sansio::json::Raw;
use mcp_sansio::model::method::{
    ListPrompts, ListResourceTemplates, ListResources, ListTools, PagedMethod,
};
use mcp_sansio::request::Page;
use mcp_sansio::schema::{EncodeError, Json};
use mcp_sansio::{
    CallError, CallId, CallOptions, ErrorCode, IncomingId, Instant, Outcome, RespondError,
};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::forward::{Job, in_words};
use crate::gateway::Gateway;
use crate::names;
use crate::say::say;
use crate::upstream::{Purpose, Upstream};

/// The kind of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl Kind {
    /// The member of a result that contains the items.
    const fn items(self) -> &'static str {
        match self {
            Self::Tools => ListTools::ITEMS,
            Self::Prompts => ListPrompts::ITEMS,
            Self::Resources => ListResources::ITEMS,
            Self::Templates => ListResourceTemplates::ITEMS,
        }
    }

    const fn capability(self) -> Capability {
        match self {
            Self::Tools => Capability::Tools,
            Self::Prompts => Capability::Prompts,
            Self::Resources | Self::Templates => Capability::Resources,
        }
    }

    /// The member that identifies an item in requests.
    const fn key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    /// Requests the list of an upstream.
    fn ask(
        self,
        upstream: &mut Upstream,
        options: CallOptions,
        now: Instant,
    ) -> Result<CallId, CallError> {
        let Upstream { client, outbox, .. } = upstream;
        let paging = Paging::default();
        match self {
            Self::Tools => client.list::<ListTools>(paging, options, now, outbox),
            Self::Prompts => client.list::<ListPrompts>(paging, options, now, outbox),
            Self::Resources => client.list::<ListResources>(paging, options, now, outbox),
            Self::Templates => client.list::<ListResourceTemplates>(paging, options, now, outbox),
        }
    }

    /// Converts an item for the client; `None` if it has no name.
    fn item(self, upstream: &str, item: &Raw<'_>) -> Option<Raw<'static>> {
        let name = item.get(self.key())?.into_str()?;
        if self.key() != "name" {
            return Some(item.clone().into_owned());
        }
        let name = names::text(&names::join(upstream, &name.to_str()));
        Some(item.edited(&[("name", Some(name))]))
    }
}

/// A list in progress, with a part for each upstream.
pub(crate) struct List {
    kind: Kind,
    parts: Vec<Part>,
}

#[derive(Default)]
struct Part {
    items: Vec<Raw<'static>>,
    /// The call that is still open.
    call: Option<CallId>,
}

impl List {
    /// Returns the calls that are still open, with their upstreams.
    pub(crate) fn calls(self) -> impl Iterator<Item = (usize, CallId)> {
        let calls = self.parts.into_iter().enumerate();
        calls.filter_map(|(upstream, part)| Some((upstream, part.call?)))
    }

    fn add(&mut self, from: usize, upstream: &str, result: &Raw<'_>) {
        let items = result.get(self.kind.items());
        let items = items.iter().flat_map(|items| items.elements());
        let items = items.filter_map(|item| self.kind.item(upstream, &item));
        self.parts[from].items.extend(items);
    }
}

impl Gateway {
    /// Serves a list request of the client.
    pub(crate) fn list(&mut self, request: IncomingId, kind: Kind, page: &Page<'_>) {
        if page.cursor.is_some() {
            return self.reject(request, ErrorCode::INVALID_PARAMS, "there is only one page");
        }
        let parts = self.upstreams.iter().map(|_| Part::default()).collect();
        self.jobs.insert(request, Job::List(List { kind, parts }));
        for upstream in 0..self.upstreams.len() {
            if self.may_offer(upstream, kind.capability()) {
                self.ask_for_part(upstream, request);
            }
        }
        self.finish_list(request);
    }

    /// Requests an upstream's part of a list.
    pub(crate) fn ask_for_part(&mut self, from: usize, request: IncomingId) {
        let Some(Job::List(list)) = self.jobs.get_mut(request) else { return };
        list.parts[from].call = None;
        let options = CallOptions::new().total(Timeout::After(self.patience));
        let upstream = &mut self.upstreams[from];
        match list.kind.ask(upstream, options, self.now) {
            Ok(call) => {
                upstream.purposes.insert(call, Purpose::Part(request));
                list.parts[from].call = Some(call);
            }
            Err(error) => say!("{}: cannot be asked for a list: {error}", upstream.name),
        }
    }

    /// Handles a page that is not the last one.
    pub(crate) fn page(&mut self, from: usize, page: &ListPage<'_>) {
        let upstream = &self.upstreams[from];
        let Some(Purpose::Part(request)) = upstream.purposes.get(page.call) else { return };
        if let Some(Job::List(list)) = self.jobs.get_mut(*request) {
            list.add(from, &upstream.name, &page.result);
        }
    }

    /// Handles a list that has changed and is read again.
    pub(crate) fn pages_restarted(&mut self, from: usize, call: CallId) {
        let Some(Purpose::Part(request)) = self.upstreams[from].purposes.get(call) else { return };
        if let Some(Job::List(list)) = self.jobs.get_mut(*request) {
            list.parts[from].items.clear();
        }
    }

    /// Handles the end of a list request to an upstream.
    pub(crate) fn part_ended(&mut self, from: usize, request: IncomingId, outcome: Outcome<'_>) {
        let Some(Job::List(list)) = self.jobs.get_mut(request) else { return };
        let Upstream { name, is_listed, is_missed, .. } = &mut self.upstreams[from];
        list.parts[from].call = None;
        match outcome {
            Outcome::Result(last) | Outcome::Truncated { last, .. } => {
                *is_listed = true;
                list.add(from, name, &last);
            }
            Outcome::CallError(CallError::NotAllowed(_)) => {} // The upstream has no such list.
            outcome => {
                *is_missed = true;
                say!("{name}: {} not listed: {}", list.kind.items(), in_words(&outcome));
            }
        }
        self.finish_list(request);
    }

    /// Responds with the list if no part of it is missing.
    pub(crate) fn finish_list(&mut self, request: IncomingId) {
        let is_complete = |list: &List| list.parts.iter().all(|part| part.call.is_none());
        match self.jobs.get(request) {
            Some(Job::List(list)) if is_complete(list) => {}
            _ => return,
        }
        let Some(Job::List(list)) = self.jobs.take(request) else { return };
        self.remember_owners(&list);
        if let Err(error) = self.answer_list(request, &list) {
            self.reject(request, ErrorCode::INTERNAL_ERROR, &error.to_string());
        }
    }

    /// Responds with a list. If the client's revision cannot express it, tries to leave one upstream out.
    fn answer_list(&mut self, request: IncomingId, list: &List) -> Result<(), RespondError> {
        let (server, out) = (&mut self.server, &mut self.outbox);
        let result = server.respond(request, &Json(Whole { list, left_out: None }), out);
        let Err(RespondError::Encode(EncodeError::Misfit(_))) = result else { return result };
        for (odd, upstream) in self.upstreams.iter().enumerate() {
            if server.respond(request, &Json(Whole { list, left_out: Some(odd) }), out).is_ok() {
                let (name, items) = (&upstream.name, list.kind.items());
                say!("{name}: {items} not listed: the client could not read them");
                return Ok(());
            }
        }
        result
    }

    fn remember_owners(&mut self, list: &List) {
        let owners = match list.kind {
            Kind::Resources => &mut self.owners[0],
            Kind::Templates => &mut self.owners[1],
            Kind::Tools | Kind::Prompts => return,
        };
        *owners = BTreeMap::new();
        for (upstream, part) in list.parts.iter().enumerate() {
            for item in &part.items {
                if let Some(uri) = item.get(list.kind.key()).and_then(Raw::into_str) {
                    // The first upstream wins.
                    owners.entry(uri.to_str().into_owned()).or_insert(upstream);
                }
            }
        }
    }
}

/// The result with the whole list, or without one part of it.
struct Whole<'l> {
    list: &'l List,
    left_out: Option<usize>,
}

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parts = self.list.parts.iter().enumerate();
        let parts = parts.filter(|(upstream, _)| self.left_out != Some(*upstream));
        let items: Vec<&Raw<'_>> = parts.flat_map(|(_, part)| &part.items).collect();
        let mut result = serializer.serialize_map(Some(1))?;
        result.serialize_entry(self.list.kind.items(), &items)?;
        result.end()
    }
}
