//! `Pages`: a list that is read page by page under one handle, and whether what was read is still true
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

/// How far the reading of a list is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pages {
    method: &'static str,
    /// The member of the result that holds the items.
    items: &'static str,
    guard: PageGuard,
    /// How often it may still begin anew because the list has changed.
    restarts: u32,
    /// A cursor died, and the list was begun anew once for that.
    has_lost_cursor: bool,
}

/// The params of a request for a page.
pub(super) struct PageParams<'a> {
    /// The cursor as it came, a JSON text.
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
    /// A list of which the first page has been asked for.
    pub(super) fn new((method, items): (&'static str, &'static str), paging: Paging) -> Self {
        let guard = PageGuard::new(paging.limits);
        Self { method, items, guard, restarts: paging.restarts, has_lost_cursor: false }
    }

    /// Looks whether a page of the list has come, and asks for the next one.
    pub(super) fn answered<'a, C: Recycle, S>(
        &mut self,
        at: &mut CallCx<'_, '_, '_, C>,
        outcome: Outcome<'a>,
    ) -> Next<'a, S> {
        let stale = at.below.is_stale(at.call);
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

    /// Asks for a page of the list, under a new id and the same handle.
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
