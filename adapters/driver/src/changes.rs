//! Change notifications that wait for room in the outbox.

use mcp_sansio::error::NotifyError;
use mcp_sansio::schema::EncodeError;
use mcp_sansio::subscription::Delivery;

use crate::lazy_box::LazyBox;
use crate::machine::Machine;
use crate::out::Out;
use crate::wire::State;

/// The most changes that wait for a peer that does not read. Later changes are dropped.
const MOST_WAITING: usize = 1_024;

/// Sends a notification. The last argument is whether it has waited for room.
type SendChange<M> = Box<dyn Fn(&mut M, &mut Out, bool) -> Result<Delivery, NotifyError> + Send>;

/// The changes that did not fit into the outbox yet. A change that occurs again while it waits is sent once.
pub(crate) struct Changes<M: Machine> {
    /// Sorted by name. The entries are few, and a list is less code than a tree.
    waiting: LazyBox<Vec<(String, SendChange<M>)>>,
}

impl<M: Machine> Changes<M> {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.get().is_none_or(Vec::is_empty)
    }
}

impl<M: Machine> Default for Changes<M> {
    fn default() -> Self {
        Self { waiting: LazyBox::NONE }
    }
}

impl<M: Machine> State<M> {
    /// Sends the change notification with this name, now or as soon as there is room.
    pub(crate) fn send_change(&mut self, name: String, send: SendChange<M>) {
        let place = match self.changes.waiting.get() {
            Some(waiting) => waiting.binary_search_by(|(known, _)| known.cmp(&name)),
            None => Err(0),
        };
        match place {
            // Only changes that the peer wants, and that find no room, wait: others must not take their places.
            Err(_) if !finds_no_room(&send, &mut self.machine, &mut self.out, false) => {}
            Err(at) => {
                let waiting = self.changes.waiting.needed();
                if waiting.len() < MOST_WAITING {
                    waiting.insert(at, (name, send));
                }
            }
            Ok(at) => {
                let waiting = self.changes.waiting.get_mut();
                if let Some((_, known)) = waiting.and_then(|waiting| waiting.get_mut(at)) {
                    *known = send;
                }
                self.send_changes();
            }
        }
    }

    /// Sends the waiting notifications, as far as there is room.
    pub(crate) fn send_changes(&mut self) {
        let Some(waiting) = self.changes.waiting.get_mut() else { return };
        let mut is_stuck =
            |(_, send): &(_, _)| finds_no_room(send, &mut self.machine, &mut self.out, true);
        let sent = waiting.iter().position(&mut is_stuck).unwrap_or(waiting.len());
        waiting.drain(..sent);
    }
}

/// Sends a notification. Returns whether it has to wait for room. All other outcomes count as sent: a peer without a
/// subscription gets no notification, and an ended connection needs none.
fn finds_no_room<M: Machine>(
    send: &SendChange<M>,
    machine: &mut M,
    out: &mut Out,
    has_waited: bool,
) -> bool {
    send(machine, out, has_waited) == Err(NotifyError::Encode(EncodeError::Full)) && !out.is_empty()
}
