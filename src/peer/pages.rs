//! Lists that are read page by page under one handle, and whether what was read is still true
//! ([pagination](https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/pagination)).

use alloc::boxed::Box;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::Peer;
use super::call::{Call, Whereabouts};
use super::call_options::{CallError, CallOptions};
use super::calls::{Marks, write_call};
use super::cx::Cx;
use super::event::{ListPage, Outcome, PagesRestarted, RestartCause};
use super::peer_event::PeerEvent;
use super::reception::Reception;
use super::request_stamp::{RequestStamp, keep_params};
use super::walk::Walk;
use crate::error::ErrorCode;
use crate::frame::{Room, Tag};
use crate::handle::CallId;
use crate::json::{Elements, EncodeError, Raw, Str, member};
use crate::pagination::{NextPage, PageGuard, PageLimits, PageStop};
use crate::version::RevisionSet;

/// How a list is read page by page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Paging {
    /// How far to go.
    pub limits: PageLimits,
    /// How often to begin anew because the list has changed meanwhile. Default 1. After that the list
    /// is read to its end and marked as stale.
    pub restarts: u32,
}

impl Default for Paging {
    fn default() -> Self {
        Self { limits: PageLimits::default(), restarts: 1 }
    }
}

/// The params of a request for a page.
struct PageParams<'a> {
    /// The cursor as it came, a JSON text.
    cursor: Option<&'a str>,
}

impl Serialize for PageParams<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(cursor) = self.cursor else { return serializer.serialize_unit() };
        let mut params = serializer.serialize_struct("PageParams", 1)?;
        params.serialize_field("cursor", &Raw::trusted(cursor))?;
        params.end()
    }
}

impl Peer {
    /// Asks for a list, and for its further pages as they come.
    pub(crate) fn list(
        &mut self,
        cx: &mut Cx<'_, '_>,
        (method, items): (&'static str, &'static str),
        paging: Paging,
        options: CallOptions,
    ) -> Result<CallId, CallError> {
        let call = self.call(cx, method, &PageParams { cursor: None }, options)?;
        let guard = PageGuard::new(paging.limits);
        let restarts = paging.restarts;
        if let Some(entry) = self.outbound.get_mut(call.0) {
            let walk = Walk { method, items, guard, restarts, has_lost_cursor: false };
            entry.walk = Some(Box::new(walk));
        }
        Ok(call)
    }

    /// How often the list that a call asks for has changed so far.
    pub(super) fn changes_for(&self, entry: &Call) -> u32 {
        entry.kind.and_then(|kind| kind.asks_for()).map_or(0, |list| self.changes.of(list))
    }

    /// Whether the list that a call asks for has changed since it was asked for.
    pub(super) fn is_stale(&self, call: CallId) -> bool {
        self.outbound.get(call.0).is_some_and(|entry| entry.changes != self.changes_for(entry))
    }

    /// Looks whether a page of a list has come, and asks for the next one. The outcome comes back if
    /// the call ends with it.
    pub(super) fn next_page<'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        outcome: Outcome<'a>,
        reception: &Reception,
    ) -> Result<PeerEvent<'a>, Outcome<'a>> {
        let stale = self.is_stale(call);
        let Some(entry) = self.outbound.get_mut(call.0) else { return Err(outcome) };
        let Some(walk) = &mut entry.walk else { return Err(outcome) };
        match outcome {
            Outcome::Result(result) if stale && 0 < walk.restarts => {
                walk.restarts -= 1;
                walk.guard.restart();
                match self.ask_for_page(cx, call, None, reception) {
                    Ok(()) => Ok(restarted(call, RestartCause::Changed)),
                    Err(stop) => Err(Outcome::Cut { stop, last: result }),
                }
            }
            Outcome::Result(result) => {
                let text = result.borrowed().unwrap_or_default();
                let cursor = member(text, "nextCursor").filter(|cursor| cursor.starts_with('"'));
                let items = Elements::of(member(text, walk.items).unwrap_or_default()).count();
                let next = cursor.and_then(Str::from_literal);
                let asked = match walk.guard.page(next.as_ref(), items, text.len()) {
                    NextPage::Follows => self.ask_for_page(cx, call, cursor, reception),
                    NextPage::End => return Err(Outcome::Result(result)),
                    NextPage::Stop(stop) => Err(stop),
                };
                match asked {
                    Ok(()) => Ok(PeerEvent::Page(ListPage { call, result, stale })),
                    Err(stop) => Err(Outcome::Cut { stop, last: result }),
                }
            }
            Outcome::PeerError(error)
                if error.code == ErrorCode::INVALID_PARAMS
                    && 0 < walk.guard.pages()
                    && !walk.has_lost_cursor =>
            {
                walk.has_lost_cursor = true;
                walk.guard.restart();
                match self.ask_for_page(cx, call, None, reception) {
                    Ok(()) => Ok(restarted(call, RestartCause::InvalidCursor)),
                    Err(_) => Err(Outcome::PeerError(error)),
                }
            }
            outcome => Err(outcome),
        }
    }

    /// Asks for a page of a list, under a new id and the same handle.
    fn ask_for_page(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        cursor: Option<&str>,
        _reception: &Reception,
    ) -> Result<(), PageStop> {
        let id = self.outbound.next_id();
        let now = self.clock.at(cx.now());
        let changes = self.outbound.get(call.0).map_or(0, |entry| self.changes_for(entry));
        let (session, rules) = (self.session, self.rules());
        let Some(entry) = self.outbound.get_mut(call.0) else { return Err(PageStop::NotSent) };
        let Some(walk) = &entry.walk else { return Err(PageStop::NotSent) };
        let method = walk.method;
        let rule = entry.kind.map(|kind| kind.rule());
        let form = rule.zip(session).map(|(rule, session)| rule.params(session.revision));
        let stamp = RequestStamp::of(self.identity.as_deref(), rules, entry);
        let params = PageParams { cursor };
        let marks = Marks { wants_progress: entry.wants_progress, ..Marks::default() };
        let mut params_again = core::mem::take(&mut self.spare);
        let most = cx.config.limits.kept_bytes;
        let written: Result<_, EncodeError> =
            cx.out.lane(entry.lane).append(Room::Limit, Tag::Call(call), |writer| {
                let start = writer.position();
                write_call(writer, (id, method), &params, marks, &stamp, form)?;
                if stamp.is_some() {
                    keep_params(&mut params_again, writer.since(start), most);
                }
                Ok(())
            });
        // Those of the page before are of no use any more.
        core::mem::swap(&mut entry.params, &mut params_again);
        params_again.clear();
        self.spare = params_again;
        let serial = written.map_err(|_| PageStop::NotSent)?;
        entry.whereabouts = Whereabouts::Lane(serial);
        entry.repeated = RevisionSet::NONE;
        entry.progress = None;
        entry.idle_deadline = entry.idle.map(|idle| now + idle);
        if cursor.is_none() {
            entry.changes = changes;
        }
        let (lane, deadline) = (entry.lane, entry.deadline());
        self.outbound.renew(call.0);
        if let Some(deadline) = deadline {
            self.deadlines.set(call.0.index, id, deadline);
        }
        super::exchanges::observe_sent(cx.out, lane, super::exchanges::Said::Method(method));
        Ok(())
    }
}

fn restarted(call: CallId, cause: RestartCause) -> PeerEvent<'static> {
    PeerEvent::PagesRestarted(PagesRestarted { call, cause })
}
