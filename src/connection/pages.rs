//! `Pages`: a list that is read page by page under one handle, and restarted if it changes meanwhile
//! ([pagination](https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/pagination)).

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::ask::NewId;
use super::call_cx::{CallCx, CallNews, Next};
use super::common_event::CommonEvent;
use super::event::{ListPage, ListRestarted, Outcome, RestartCause};
use crate::codes::ErrorCode;
use crate::handle::CallId;
use crate::json::{Elements, Raw, Str, member};
use crate::pagination::{NextPage, PageGuard, PageLimits, PageStop};
use crate::rpc::Recycle;
use crate::schema::serialized;

/// The options for reading a list page by page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Paging {
    /// The limits of the read.
    pub limits: PageLimits,
    /// The maximum number of restarts because the list has changed meanwhile. The default is 1. Afterwards the list
    /// is read to its end and marked as stale.
    pub restarts: u32,
}

impl Default for Paging {
    fn default() -> Self {
        Self { limits: PageLimits::default(), restarts: 1 }
    }
}

/// The state of reading a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pages {
    method: &'static str,
    /// The member of the result that holds the items.
    items: &'static str,
    guard: PageGuard,
    /// The remaining restarts for changes of the list.
    restarts: u32,
    /// Whether the list was already restarted for an invalid cursor, which happens once.
    has_lost_cursor: bool,
    /// Whether the peer has answered a request for a page.
    has_begun: bool,
}

/// The params of a request for a page.
pub(super) struct PageParams<'a> {
    /// The JSON text of the cursor, as received.
    pub(super) cursor: Option<&'a str>,
}

serialized! { PageParams<'_> }

impl Serialize for PageParams<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(cursor) = self.cursor else { return serializer.serialize_unit() };
        let mut params = serializer.serialize_struct("PageParams", 1)?;
        params.serialize_field("cursor", &Raw::trusted(cursor))?;
        params.end()
    }
}

impl Pages {
    /// Creates the state of a list whose first page has been requested.
    pub(super) fn new((method, items): (&'static str, &'static str), paging: Paging) -> Self {
        let guard = PageGuard::new(paging.limits);
        let restarts = paging.restarts;
        Self { method, items, guard, restarts, has_lost_cursor: false, has_begun: false }
    }

    /// Whether the peer has answered a request for a page.
    pub(super) const fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Handles a response: returns the page and requests the next one, restarts the list, or ends the call.
    pub(super) fn answered<'a, C: Recycle, S>(
        &mut self,
        at: &mut CallCx<'_, '_, '_, C>,
        outcome: Outcome<'a>,
    ) -> Next<'a, S> {
        let stale = at.below.is_stale(at.call);
        self.has_begun = true;
        match outcome {
            Outcome::Result(result) if stale && 0 < self.restarts => {
                self.restarts -= 1;
                self.guard.restart();
                match self.ask_for_page(at, None) {
                    Ok(()) => restarted(at.call, RestartCause::Changed),
                    Err(stop) => Next::Ends(Outcome::Truncated { stop, last: result }),
                }
            }
            Outcome::Result(result) => {
                let text = result.borrowed().unwrap_or_default();
                let cursor = member(text, "nextCursor").filter(|cursor| cursor.starts_with('"'));
                let items = Elements::of(member(text, self.items).unwrap_or_default()).count();
                let next = cursor.and_then(Str::from_literal);
                let asked = match self.guard.page(next.as_ref(), items, text.len()) {
                    NextPage::Follows => self.ask_for_page(at, cursor),
                    NextPage::End => return Next::Ends(Outcome::Result(result)),
                    NextPage::Stop(stop) => Err(stop),
                };
                match asked {
                    Ok(()) => {
                        let page = ListPage { call: at.call, result, stale };
                        Next::On(Some(CallNews::Event(CommonEvent::Page(page))))
                    }
                    Err(stop) => Next::Ends(Outcome::Truncated { stop, last: result }),
                }
            }
            Outcome::PeerError(error)
                if error.code == ErrorCode::INVALID_PARAMS
                    && 0 < self.guard.pages()
                    && !self.has_lost_cursor =>
            {
                self.has_lost_cursor = true;
                self.guard.restart();
                match self.ask_for_page(at, None) {
                    Ok(()) => restarted(at.call, RestartCause::InvalidCursor),
                    Err(_) => Next::Ends(Outcome::PeerError(error)),
                }
            }
            outcome => Next::Ends(outcome),
        }
    }

    /// Requests a page of the list, under a new id and the same handle.
    fn ask_for_page<C: Recycle>(
        &self,
        at: &mut CallCx<'_, '_, '_, C>,
        cursor: Option<&str>,
    ) -> Result<(), PageStop> {
        let params = PageParams { cursor };
        let id = (at.call, NewId::Next);
        at.below.ask_again(at.cx, id, self.method, &params).map_err(|_| PageStop::NotSent)?;
        if cursor.is_none()
            && let Some(asked) = at.below.outgoing.get_mut(at.call.0)
        {
            asked.list_version = at.below.list_versions.for_kind(asked.kind);
        }
        Ok(())
    }
}

fn restarted<S>(call: CallId, cause: RestartCause) -> Next<'static, S> {
    let event = CommonEvent::ListRestarted(ListRestarted { call, cause });
    Next::On(Some(CallNews::Event(event)))
}
