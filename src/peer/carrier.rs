//! Calls that end because of what carries them, where each has an exchange of its own.

use super::Peer;
use super::carrier_failure::ExchangeEnd;
use super::cx::Cx;
use super::event::Outcome;
use super::incoming::Incoming;
use super::outlets::{Arrival, Lane};
use super::peer_event::PeerEvent;
use super::reception::Reception;
use crate::handle::CallId;
use crate::session::Phase;

impl Peer {
    /// The exchange that carried a call has ended.
    pub(crate) fn exchange_ended<'e, 'a>(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: CallId,
        end: ExchangeEnd<'a>,
    ) -> Option<Incoming<'e, 'a>> {
        if self.phase == Phase::Closed || !self.has_heard_of(call) {
            return None;
        }
        #[cfg(any(call_table, fuzzing))]
        self.check_calls();
        self.clock.tick(cx.now());
        let (outcome, status) = match end {
            ExchangeEnd::Error { is_mended: true, .. } if self.is_made_again(cx, call) => {
                return None;
            }
            ExchangeEnd::Error { error, status, .. } => (Outcome::PeerError(error), Some(status)),
            ExchangeEnd::Failure(failure) => {
                let status = failure.status;
                (Outcome::Undelivered(failure), status)
            }
        };
        let arrival = Arrival::from(cx.now()).lane(Lane::Call(call));
        let reception = Reception::from(arrival);
        let mut incoming = self.ended(cx, call, outcome, b"", &reception);
        if let Some(Incoming::Event(PeerEvent::CallEnded(ended))) = &mut incoming {
            ended.status = status;
        }
        incoming
    }
}
