//! Requests to the application that are taken back, because the call that needed an answer does not need it any more.

use super::Peer;
use super::event::CancelCause;
use crate::handle::{CallId, Place};
use crate::rpc::Ending;

impl Peer {
    /// What a call needed is not needed any more, because it ends.
    pub(super) fn withdraw_inputs(&mut self, call: CallId) {
        let Some(gathering) = self.outbound.set_gathering(call.0, None) else { return };
        let places = gathering.wanted.iter().filter_map(|wanted| wanted.place);
        self.withdraw_needs(places, CancelCause::CallEnded);
    }

    /// Takes back requests to the application, which hears of those that it has heard of.
    pub(super) fn withdraw_needs(
        &mut self,
        places: impl Iterator<Item = Place>,
        cause: CancelCause,
    ) {
        let mut untold = 0;
        for place in places {
            let Some(exchange) = self.inbound.get_mut(place) else { continue };
            if exchange.need.is_some_and(|need| need.is_told) {
                exchange.marked = true;
                self.marked.push_back((place, cause));
            } else {
                self.drop_exchange(place, Ending::Cancelled);
                untold += 1;
            }
        }
        if 0 < untold {
            self.unsettled.needs.note_ended(untold, |place| self.inbound.get(place).is_some());
        }
    }
}
