//! The batches of the peer: the responses to one batch are sent together
//! ([2025-03-26, batching](https://modelcontextprotocol.io/specification/2025-03-26/basic#batching)).

use alloc::vec::Vec;

use super::answer_context::written;
use super::outboxes::{Outboxes, Route};
use super::send::{SentMessage, observe_sent};
use crate::frame::{Element, Queue, Room, Tag};
use crate::handle::{ConnectionNumber, SlotKey};
use crate::json::Member;
use crate::lazy_box::Empty;
use crate::rpc::{Ending, Id, Inbound, Lookup, Recycle, Table};
use crate::schema::{EncodeError, Writer};

/// The batches that have not been answered completely.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Batches {
    table: Table<Batch>,
    /// The batch whose elements are being received, and whether its last element was received.
    current: Option<SlotKey>,
    has_all_elements: bool,
    /// The ids of the requests whose responses wait. For the peer, these requests are still in flight.
    answered: Inbound<()>,
    /// The bytes of all waiting responses and of their ids.
    bytes: usize,
}

/// The bytes that the id of a waiting response takes, in addition to its text.
const ID_BYTES: usize = 96;

/// The responses that wait for the other responses of their batch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Batch {
    answers: Queue<()>,
    /// The places of the ids that the responses carry.
    ids: Vec<SlotKey>,
    /// The bytes of the responses and their ids.
    bytes: usize,
    route: Route,
    /// The number of requests that have not been answered.
    open: u32,
    /// Whether all elements of the batch were received.
    complete: bool,
    asks: bool,
    answers_ours: bool,
}

impl Recycle for Batch {
    fn recycle(&mut self) {
        self.answers.clear();
        self.answers.release();
        self.ids.clear();
        self.bytes = 0;
        self.route = Route::default();
        self.open = 0;
        self.complete = false;
        self.asks = false;
        self.answers_ours = false;
    }
}

impl Batches {
    const NONE: Self = Self {
        table: Table::new(ConnectionNumber::new(0)),
        current: None,
        has_all_elements: false,
        answered: Inbound::new(ConnectionNumber::new(0)),
        bytes: 0,
    };
}

impl Empty for Batches {
    const EMPTY: &'static Self = &Self::NONE;
}

impl Default for Batches {
    fn default() -> Self {
        Self::NONE
    }
}

impl Batches {
    /// Handles the start of an element. Returns its batch.
    pub(super) fn begin_element(&mut self, element: Element, route: Route) -> Option<SlotKey> {
        if self.current.is_none() {
            self.current = Some(self.table.insert(|batch| batch.route = route));
        }
        self.has_all_elements = element.index + 1 == element.count;
        self.current
    }

    /// Whether no batch is being received or waits for responses.
    pub(super) fn is_idle(&self) -> bool {
        self.current.is_none() && self.table.is_empty()
    }

    /// Whether the last element of a batch was received.
    pub(super) const fn has_all_elements(&self) -> bool {
        self.has_all_elements
    }

    /// Notes that the current batch contains a request or notification (`asks`), or a response to a call of this
    /// side.
    pub(super) fn note(&mut self, asks: bool) {
        let batch = self.current.and_then(|place| self.table.get_mut(place));
        if let Some(batch) = batch {
            batch.asks |= asks;
            batch.answers_ours |= !asks;
        }
    }

    /// Whether too many other batches wait for responses to admit a request of this one.
    pub(super) fn is_full(&self, place: SlotKey, most: u32) -> bool {
        let is_open = self.table.get(place).is_some_and(|batch| 0 < batch.open);
        !is_open && most < self.table.len()
    }

    /// Whether the first request of another batch could be admitted.
    pub(super) fn has_room(&self, most: u32) -> bool {
        self.table.len() < most
    }

    /// Whether the responses to the batch end a stream together.
    pub(super) fn is_of_stream(&self, place: SlotKey) -> bool {
        self.table.get(place).is_some_and(|batch| matches!(batch.route, Route::Stream(_)))
    }

    /// Returns the bytes of the waiting responses.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Notes that a request of the batch was admitted.
    pub(super) fn open_request(&mut self, place: SlotKey) {
        if let Some(batch) = self.table.get_mut(place) {
            batch.open += 1;
        }
    }

    /// Adds a response. Fails if more than `limit` bytes would wait.
    ///
    /// A request whose id is longer than `longest_id`, or collides too often in the index, was refused, so its id is not
    /// kept: a second request with the same id is refused for the same reason.
    pub(super) fn append(
        &mut self,
        place: SlotKey,
        (limit, longest_id): (usize, usize),
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let waiting = self.bytes;
        let Some(batch) = self.table.get_mut(place) else { return Ok(()) };
        // The queue counts its responses, which `waiting` includes.
        let room = limit.saturating_sub(waiting).saturating_add(batch.answers.len());
        batch.answers.append(room, (), b"", write)?;
        let length = batch.answers.last_length();
        let mut bytes = length;
        let unsent = batch.answers.unsent();
        let answer = unsent.get(unsent.len() - length..).unwrap_or_default();
        let id = written(answer, Member::Id);
        let is_kept = !matches!(id, "" | "null") && id.len() <= longest_id;
        let id = Id::trusted(id);
        if is_kept && self.answered.look_up(&id) != Lookup::Crowded {
            bytes += id.as_wire().len() + ID_BYTES;
            batch.ids.push(self.answered.insert_twin(&id));
        }
        batch.bytes += bytes;
        self.bytes += bytes;
        Ok(())
    }

    /// Whether the response to a request with this id waits for others.
    pub(super) fn look_up(&self, id: &Id<'_>) -> Lookup {
        self.answered.look_up(id)
    }

    fn is_settled(&self, place: SlotKey) -> bool {
        self.table.get(place).is_some_and(|batch| batch.complete && batch.open == 0)
    }
}

impl Batches {
    /// Whether no batch has waiting responses.
    pub(super) const fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Whether the elements of a batch are being received.
    pub(super) const fn has_current(&self) -> bool {
        self.current.is_some()
    }

    /// Ends the current batch. Returns whether it mixes requests with responses.
    #[cold]
    pub(super) fn end_current(&mut self, out: &mut dyn Outboxes) -> bool {
        self.has_all_elements = false;
        let Some(place) = self.current.take() else { return false };
        let Some(batch) = self.table.get_mut(place) else { return false };
        batch.complete = true;
        let is_mixed = batch.asks && batch.answers_ours;
        self.send_batch_if_settled(place, out);
        is_mixed
    }

    /// Notes that a request of a batch was answered, or will never be answered.
    pub(super) fn settle(&mut self, place: SlotKey, out: &mut dyn Outboxes) {
        if let Some(batch) = self.table.get_mut(place) {
            batch.open = batch.open.saturating_sub(1);
        }
        self.send_batch_if_settled(place, out);
    }

    fn send_batch_if_settled(&mut self, place: SlotKey, out: &mut dyn Outboxes) {
        if self.is_settled(place) {
            self.send_batch(place, out);
        }
    }

    /// Sends the waiting responses of every batch, because no more responses can follow.
    pub(super) fn send_all(&mut self, out: &mut dyn Outboxes) {
        while let Some(place) = self.table.first() {
            self.send_batch(place, out);
        }
    }

    /// Sends the responses to a batch as one array, if there are any, and removes the batch.
    fn send_batch(&mut self, place: SlotKey, out: &mut dyn Outboxes) {
        let Some(batch) = self.table.get_mut(place) else { return };
        let route = batch.route;
        if !batch.answers.is_empty() {
            self.bytes -= batch.bytes;
            // `append` has bounded the responses already, so this cannot fail.
            let sent = out.outbox(route).append(Room::Held, Tag::Nothing, |writer| {
                write_array(writer, batch.answers.drain().map(|(answer, ())| answer))
            });
            if sent.is_ok() {
                observe_sent(out, route, SentMessage::Result);
            }
        }
        for id in batch.ids.drain(..) {
            self.answered.remove(id, Ending::Answered);
        }
        self.table.remove(place, Ending::Answered);
    }
}

/// Writes messages as one JSON-RPC batch.
pub(super) fn write_array<'a>(
    writer: &mut Writer<'_>,
    messages: impl Iterator<Item = &'a [u8]>,
) -> Result<(), EncodeError> {
    let mut separator: &[u8] = b"[";
    for message in messages {
        writer.push(separator)?;
        writer.push(message)?;
        separator = b",";
    }
    writer.push(b"]")
}
