//! `Mail`: the notices about tasks that wait to be sent on a connection.

use alloc::collections::VecDeque;
use core::mem::{replace, take};

use super::key::TaskKey;
use super::record::{Asking, Record};
use crate::handle::{CallId, ConnectionNumber, IncomingId};
use crate::ordered::Ordered;

/// A notice about a task, for one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Notice {
    /// A task has changed, or requires input. For the connection of its requestor.
    Changed(TaskKey),
    /// A task has changed. For a subscription.
    Watched(IncomingId, TaskKey),
    /// A request for the result of a task can be answered.
    Answer(IncomingId, TaskKey),
    /// A request for the result of a task that has been forgotten.
    Gone(IncomingId),
    /// A request for the input of a task is no longer needed.
    Dismiss(CallId),
}

/// The queues of notices, by connection number.
///
/// A task has at most one notice of each kind for each of its links. A notice of a forgotten task or of an ended
/// request stays in its queue until it is tried, and each attempt to send the queue tries at most 64 notices without
/// room. So the rotation bounds an unread queue, and not the number of links alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Mail {
    /// The queues of all open connections that are involved in tasks.
    boxes: Ordered<u64, Mailbox>,
    /// The connections whose queue is not empty.
    full: Ordered<u64, ConnectionNumber>,
    /// The connections among them with a notice since the last attempt to send. The others had no room at that attempt;
    /// they can stay without room for long, so nothing looks at all of them.
    untried: Ordered<u64, ConnectionNumber>,
}

/// The state of a connection that is involved in tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Mailbox {
    /// The unsent notices.
    notices: VecDeque<Notice>,
    /// The open requests for the result of a task, and the open subscriptions to tasks, by their index. Two open
    /// requests never have the same index.
    waiting: Ordered<u64, IncomingId>,
}

impl Mail {
    /// Creates the queue of a connection.
    pub(super) fn know(&mut self, connection: ConnectionNumber) {
        if !self.knows(connection) {
            self.boxes.insert(number(connection), Mailbox::default());
        }
    }

    fn notices(&mut self, connection: ConnectionNumber) -> Option<&mut VecDeque<Notice>> {
        Some(&mut self.boxes.get_mut(&number(connection))?.notices)
    }

    /// Notes that a request waits for a task.
    pub(super) fn waits(&mut self, id: IncomingId) {
        if let Some(mailbox) = self.boxes.get_mut(&number(id.connection())) {
            mailbox.waiting.insert(id.index() as u64, id);
        }
    }

    /// Notes that a request has ended.
    pub(super) fn waits_no_more(&mut self, id: IncomingId) {
        if self.is_waiting(id)
            && let Some(mailbox) = self.boxes.get_mut(&number(id.connection()))
        {
            mailbox.waiting.remove(&(id.index() as u64));
        }
    }

    /// Whether a request waits for a task, as far as its end was noted.
    pub(super) fn is_waiting(&self, id: IncomingId) -> bool {
        let mailbox = self.boxes.get(&number(id.connection()));
        mailbox.is_some_and(|mailbox| mailbox.waiting.get(&(id.index() as u64)) == Some(&id))
    }

    /// Whether the connection has a queue, and so has not ended.
    pub(super) fn knows(&self, connection: ConnectionNumber) -> bool {
        self.boxes.contains_key(&number(connection))
    }

    pub(super) fn first(&self) -> Option<ConnectionNumber> {
        self.full.first().map(|(_, connection)| *connection)
    }

    pub(super) fn full(&self) -> impl Iterator<Item = ConnectionNumber> {
        self.full.iter().map(|(_, connection)| {
            work!(1);
            *connection
        })
    }

    pub(super) fn untried(&self) -> impl Iterator<Item = ConnectionNumber> {
        self.untried.iter().map(|(_, connection)| {
            work!(1);
            *connection
        })
    }

    pub(super) fn note_tried(&mut self, connection: ConnectionNumber) {
        self.untried.remove(&number(connection));
    }

    /// Notes that a queue is not empty, and has a notice that was not tried.
    fn fill(&mut self, connection: ConnectionNumber) {
        self.full.insert(number(connection), connection);
        self.untried.insert(number(connection), connection);
    }

    fn empty(&mut self, connection: ConnectionNumber) {
        self.full.remove(&number(connection));
        self.untried.remove(&number(connection));
    }

    pub(super) fn has(&self, connection: ConnectionNumber) -> bool {
        self.full.contains_key(&number(connection))
    }

    /// Removes the queue of a connection that has ended. Returns its unsent notices.
    pub(super) fn forget(&mut self, connection: ConnectionNumber) -> VecDeque<Notice> {
        self.empty(connection);
        self.boxes.remove(&number(connection)).unwrap_or_default().notices
    }

    /// The next notice of a connection, which stays in the queue.
    pub(super) fn next(&self, connection: ConnectionNumber) -> Option<Notice> {
        self.boxes.get(&number(connection))?.notices.front().copied()
    }

    /// Removes the next notice, because it has been sent.
    pub(super) fn pop(&mut self, connection: ConnectionNumber) {
        let Some(notices) = self.notices(connection) else { return };
        notices.pop_front();
        if notices.is_empty() {
            self.empty(connection);
        }
    }

    /// Moves the next notice to the end of the queue. Returns the length of the queue.
    pub(super) fn rotate(&mut self, connection: ConnectionNumber) -> usize {
        let Some(notices) = self.notices(connection) else { return 0 };
        if !notices.is_empty() {
            notices.rotate_left(1);
        }
        notices.len()
    }

    /// Withdraws the notice of a change.
    pub(super) fn withdraw(&mut self, connection: ConnectionNumber, key: TaskKey) {
        let Some(notices) = self.notices(connection) else { return };
        notices.retain(|notice| *notice != Notice::Changed(key));
        if notices.is_empty() {
            self.empty(connection);
        }
    }

    /// Queues a notice. A connection that has ended receives none.
    pub(super) fn post(&mut self, connection: ConnectionNumber, notice: Notice) {
        if let Some(notices) = self.notices(connection) {
            notices.push_back(notice);
            self.fill(connection);
        }
    }

    /// Queues notices for a change of a task.
    pub(super) fn changed(&mut self, key: TaskKey, record: &mut Record) {
        record.links.is_reported = false;
        self.asks(key, record);
        let links = &mut record.links;
        for (listen, is_posted) in &mut links.watchers {
            if !replace(is_posted, true) {
                self.post(listen.connection(), Notice::Watched(*listen, key));
            }
        }
    }

    /// Queues a notice that a task requires input, without reporting a change.
    pub(super) fn asks(&mut self, key: TaskKey, record: &mut Record) {
        let links = &mut record.links;
        if links.home.is_some_and(|home| !self.knows(home)) {
            // The connection has ended. If another connection waits for the result of the task, it becomes the home.
            let waiters = links.waiters.iter().map(|waiter| waiter.connection());
            links.home = { waiters }.find(|waiter| self.knows(*waiter));
            links.is_posted = false;
        }
        if let Some(home) = links.home
            && !replace(&mut links.is_posted, true)
        {
            self.post(home, Notice::Changed(key));
        }
    }

    /// Queues the notices for the end of a task.
    pub(super) fn ended(&mut self, key: TaskKey, record: &mut Record) {
        self.dismiss_all(record);
        self.changed(key, record);
        for waiter in take(&mut record.links.waiters) {
            self.waits_no_more(waiter);
            self.post(waiter.connection(), Notice::Answer(waiter, key));
        }
    }

    /// Queues the notices for a task that is being forgotten.
    pub(super) fn gone(&mut self, record: &mut Record) {
        self.dismiss_all(record);
        for waiter in take(&mut record.links.waiters) {
            self.waits_no_more(waiter);
            self.post(waiter.connection(), Notice::Gone(waiter));
        }
    }

    /// Dismisses all open input requests of a task.
    fn dismiss_all(&mut self, record: &mut Record) {
        for wanted in record.inputs.wanted.iter_mut().filter(|wanted| wanted.is_open()) {
            if let Asking::Asked(call) = replace(&mut wanted.progress, Asking::Refused) {
                self.dismiss(call);
            }
        }
    }

    /// Queues the dismissal of an input request, in front of all other notices: it frees a call slot that another
    /// notice may be waiting for.
    pub(super) fn dismiss(&mut self, call: CallId) {
        let connection = call.connection();
        if let Some(notices) = self.notices(connection) {
            let is_dismissal = |notice: &&Notice| matches!(notice, Notice::Dismiss(_));
            let at = notices.iter().take_while(is_dismissal).count();
            notices.insert(at, Notice::Dismiss(call));
            self.fill(connection);
        }
    }
}

fn number(connection: ConnectionNumber) -> u64 {
    u64::from(connection.get())
}
