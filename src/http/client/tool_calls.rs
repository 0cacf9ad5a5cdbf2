//! [`ToolCalls`], the header fields of tool calls. If a server expects other fields, the tools are listed again and
//! the call is repeated, once
//! ([custom headers](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http)).

use alloc::vec::Vec;

use super::arrived::Arrived;
use super::exchange::{Exchange, ExchangeNumber, Purpose};
use super::requests::Requests;
use super::response::error_in;
use super::tool_headers::ToolHeaders;
use super::tool_refresh::{Page, Refresh};
use crate::codes::ErrorCode;
use crate::handle::CallId;
use crate::limits::Limits;

/// The tools of a server, and the calls to be repeated.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct ToolCalls {
    pub(super) headers: ToolHeaders,
    /// The calls that are about to be repeated with other header fields.
    mended: Vec<CallId>,
}

impl ToolCalls {
    pub(super) const fn new(most: usize, most_bytes: usize) -> Self {
        Self { headers: ToolHeaders::new(most, most_bytes), mended: Vec::new() }
    }

    /// Whether the request of this call is repeated with other header fields. Removes the call from the list.
    pub(super) fn take_mended(&mut self, call: CallId) -> bool {
        let found = self.mended.iter().position(|mended| *mended == call);
        found.map(|found| self.mended.swap_remove(found)).is_some()
    }

    /// Clears the calls to be repeated.
    pub(super) fn forget_mended(&mut self) {
        self.mended.clear();
    }

    /// Processes a message on an exchange that lists the tools. Returns `None` if it is not a page, or if more pages
    /// follow.
    pub(super) fn take_page(
        &mut self,
        requests: &mut Requests,
        exchange: ExchangeNumber,
        message: &[u8],
        limits: &Limits,
    ) -> Option<Arrived<'static>> {
        let Purpose::Refresh(refresh) = &requests.exchanges.get(&exchange)?.purpose else {
            return None;
        };
        let page = match refresh.read(message, limits) {
            Page::Unrelated => return None,
            Page::Refused => return give_up(requests, exchange, limits),
            Page::Listed(page) => page,
        };
        let Purpose::Refresh(mut refresh) = requests.exchanges.remove(&exchange)?.purpose else {
            return None;
        };
        self.headers.learn(page, &mut Vec::new());
        if let Some(cursor) = refresh.next_cursor(page) {
            list_tools(requests, refresh, Some(cursor));
            return None;
        }
        self.mended.push(refresh.call());
        ended(&refresh, true, limits)
    }
}

/// Lists the tools again if this message refuses a tool call for its header fields. Returns whether it does. The refusal
/// is kept meanwhile, so one beyond [`Limits::kept_bytes`] is the outcome of the call at once.
pub(super) fn begin_refresh(
    requests: &mut Requests,
    exchange: ExchangeNumber,
    status: u16,
    message: &[u8],
    limits: &Limits,
) -> bool {
    let may = |known: &&Exchange| match &known.purpose {
        Purpose::Request(asked) => asked.called.is_some() && !asked.is_mended,
        _ => false,
    };
    if limits.kept_bytes < message.len() || requests.exchanges.get(&exchange).filter(may).is_none()
    {
        return false;
    }
    let is_mismatch =
        error_in(message, limits).is_some_and(|error| error.code == ErrorCode::HEADER_MISMATCH);
    if !is_mismatch {
        return false;
    }
    let Some(Purpose::Request(asked)) =
        requests.exchanges.remove(&exchange).map(|known| known.purpose)
    else {
        return false;
    };
    list_tools(requests, Refresh::new(asked, status, message), None);
    true
}

/// Ends a call with its refusal, because the tools cannot be listed.
pub(super) fn give_up(
    requests: &mut Requests,
    exchange: ExchangeNumber,
    limits: &Limits,
) -> Option<Arrived<'static>> {
    match requests.exchanges.remove(&exchange)?.purpose {
        Purpose::Refresh(refresh) => ended(&refresh, false, limits),
        _ => None,
    }
}

/// Requests a page of the tools.
fn list_tools(requests: &mut Requests, mut refresh: Refresh, cursor: Option<&str>) {
    if let Some(request) = refresh.request(&requests.config().url, cursor) {
        requests.send(Exchange::new(Purpose::Refresh(refresh), false), request);
    }
}

fn ended(refresh: &Refresh, is_mended: bool, limits: &Limits) -> Option<Arrived<'static>> {
    let end = refresh.end(is_mended, limits)?;
    Some(Arrived::Ended { call: refresh.call(), end })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handle::{ConnectionNumber, SlotKey};

    #[test]
    fn a_call_to_be_repeated_is_taken_once_or_forgotten() {
        let [one, other] = [0, 1].map(|index| {
            CallId(SlotKey { connection: ConnectionNumber::default(), index, generation: 0 })
        });
        let mut calls = ToolCalls::new(1, 1000);
        calls.mended.extend([one, other]);
        assert!(calls.take_mended(one) && !calls.take_mended(one));
        calls.forget_mended();
        assert!(!calls.take_mended(other));
    }
}
