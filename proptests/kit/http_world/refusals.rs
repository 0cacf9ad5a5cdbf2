//! Refusals on the way to the server, as by a proxy, and the time after the last failure.

use std::time::Duration;

use mcp_sansio::ErrorCode;
use mcp_sansio::http::Reply;

use super::HttpWorld;
use super::carrying::Carried;

/// The statuses of refused requests. A server refuses an event stream for more reasons.
const OF_POST: &[u16] = &[429, 500, 502, 503];
const OF_GET: &[u16] = &[400, 409, 429, 503];

/// The longest time after which a client requests its event stream again.
const RECOVERY: Duration = Duration::from_secs(60);

impl HttpWorld {
    /// Refuses a request before it reaches the server.
    pub(super) fn refuse(&mut self, which: u64) {
        let is_it = |one: &Carried| one.is_under_way() && !one.is_copy();
        // Most requests are POSTs.
        let at = self.one(which / 16, |one| is_it(one) && one.is_get());
        let at = at.filter(|_| (which / 8).is_multiple_of(2));
        let Some(at) = at.or_else(|| self.one(which / 16, is_it)) else { return };
        let carried = &mut self.carried[at];
        let statuses = if carried.is_get() { OF_GET } else { OF_POST };
        let status = statuses[(which % 4) as usize];
        _ = carried.take_request();
        carried.reply(if (which / 4).is_multiple_of(2) {
            Reply::empty(status)
        } else {
            Reply::refusal(status, ErrorCode::INTERNAL_ERROR, "no")
        });
        self.note(format_args!("refused {status} on the way"));
    }

    /// Records the end of the response to a GET request.
    pub(super) fn note_stream_end(&mut self, at: usize) {
        let carried = &self.carried[at];
        if carried.is_get() {
            self.clients[carried.client].stream.on_end();
        }
    }

    /// Lets everything arrive, and time pass until no client waits for its next attempt. Nothing fails meanwhile.
    pub(super) fn recover(&mut self) -> Result<(), String> {
        if !self.features.refusals {
            return Ok(());
        }
        let end = self.now + RECOVERY;
        for _ in 0..16 {
            self.settle()?;
            let dues = self.clients.iter().filter_map(|client| client.transport.poll_timeout());
            let Some(due) = dues.min().filter(|due| *due <= end) else { break };
            self.now = self.now.max(due);
        }
        self.settle()?;
        self.check_event_streams()
    }
}
