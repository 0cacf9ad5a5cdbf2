//! Calls that end because of what carries them, where each has an exchange of its own.

use super::carrier_failure::ExchangeEnd;
use super::event::Outcome;
use super::incoming::Incoming;
use super::outlets::{Arrival, Lane, Outlets};
use super::peer_event::PeerEvent;
use super::reception::Reception;
use super::{ConnectionConfig, Peer};
use crate::handle::CallId;
use crate::rpc::ResultType;
use crate::session::Phase;
use crate::time::Instant;

impl Peer {
    /// The exchange that carried a call has ended.
    pub(crate) fn exchange_ended<'e, 'a>(
        &mut self,
        config: &ConnectionConfig,
        call: CallId,
        end: ExchangeEnd<'a>,
        now: Instant,
        out: &mut dyn Outlets,
    ) -> Option<Incoming<'e, 'a>> {
        if self.phase == Phase::Closed || !self.has_heard_of(call) {
            return None;
        }
        #[cfg(any(call_table, fuzzing))]
        self.check_calls();
        self.clock.tick(now);
        let (outcome, status) = match end {
            ExchangeEnd::Error { is_mended: true, .. } if self.is_made_again(call, now, out) => {
                return None;
            }
            ExchangeEnd::Error { error, status, .. } => (Outcome::PeerError(error), Some(status)),
            ExchangeEnd::Failure(failure) => {
                let status = failure.status;
                (Outcome::Undelivered(failure), status)
            }
        };
        let arrival = Arrival::from(now).lane(Lane::Call(call));
        let result_type = ResultType::Absent;
        let mut reception = Reception { config, result_type, arrival, out };
        let mut incoming = self.ended(call, outcome, b"", &mut reception);
        if let Some(Incoming::Event(PeerEvent::CallEnded(ended))) = &mut incoming {
            ended.status = status;
        }
        incoming
    }
}
