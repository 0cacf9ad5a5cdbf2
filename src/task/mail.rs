//! `Mail`: the messages about tasks that wait for a connection.

use alloc::collections::VecDeque;
use core::mem::{replace, take};

use super::key::TaskKey;
use super::record::{Asking, Record};
use crate::handle::{CallId, ConnectionNumber, IncomingId};
use crate::ordered::Ordered;

/// One thing to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Notice {
    /// A task has changed, or asks for something. To whoever asked for it.
    Changed(TaskKey),
    /// The same, to a subscription.
    Watched(IncomingId, TaskKey),
    /// A request for the result of a task can be answered.
    Answer(IncomingId, TaskKey),
    /// A request for the result of a task that is forgotten.
    Gone(IncomingId),
    /// What was asked for a task is not needed any more.
    Dismiss(CallId),
}

/// Notices by the numbers of connections. A task has at most one of each kind for each of its links, so that nothing grows
/// while nobody looks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Mail {
    /// The connections that have to do with tasks and have not ended.
    boxes: Ordered<u64, VecDeque<Notice>>,
    /// Those of them that have something to tell.
    full: Ordered<u64, ConnectionNumber>,
}

impl Mail {
    /// A connection has to do with tasks.
    pub(super) fn know(&mut self, connection: ConnectionNumber) {
        if !self.knows(connection) {
            self.boxes.insert(number(connection), VecDeque::new());
        }
    }

    /// Whether it has, and has not ended.
    pub(super) fn knows(&self, connection: ConnectionNumber) -> bool {
        self.boxes.contains_key(&number(connection))
    }

    pub(super) fn first(&self) -> Option<ConnectionNumber> {
        self.full.first().map(|(_, connection)| *connection)
    }

    pub(super) fn full(&self) -> impl Iterator<Item = ConnectionNumber> {
        self.full.iter().map(|(_, connection)| *connection)
    }

    pub(super) fn has(&self, connection: ConnectionNumber) -> bool {
        self.full.contains_key(&number(connection))
    }

    /// A connection has ended. Gives what has not been told on it.
    pub(super) fn forget(&mut self, connection: ConnectionNumber) -> VecDeque<Notice> {
        self.full.remove(&number(connection));
        self.boxes.remove(&number(connection)).unwrap_or_default()
    }

    /// The next thing to tell, which stays.
    pub(super) fn next(&self, connection: ConnectionNumber) -> Option<Notice> {
        self.boxes.get(&number(connection))?.front().copied()
    }

    /// It has been told.
    pub(super) fn pop(&mut self, connection: ConnectionNumber) {
        let Some(notices) = self.boxes.get_mut(&number(connection)) else { return };
        notices.pop_front();
        if notices.is_empty() {
            self.full.remove(&number(connection));
        }
    }

    /// What was to be told next is told last. Says how much there is to tell.
    pub(super) fn rotate(&mut self, connection: ConnectionNumber) -> usize {
        let Some(notices) = self.boxes.get_mut(&number(connection)) else { return 0 };
        if !notices.is_empty() {
            notices.rotate_left(1);
        }
        notices.len()
    }

    /// A connection is not to be told of a change any more.
    pub(super) fn withdraw(&mut self, connection: ConnectionNumber, key: TaskKey) {
        let Some(notices) = self.boxes.get_mut(&number(connection)) else { return };
        notices.retain(|notice| *notice != Notice::Changed(key));
        if notices.is_empty() {
            self.full.remove(&number(connection));
        }
    }

    /// Nobody is told on a connection that has ended.
    pub(super) fn post(&mut self, connection: ConnectionNumber, notice: Notice) {
        if let Some(notices) = self.boxes.get_mut(&number(connection)) {
            notices.push_back(notice);
            self.full.insert(number(connection), connection);
        }
    }

    /// A task has changed.
    pub(super) fn changed(&mut self, key: TaskKey, record: &mut Record) {
        record.links.is_told = false;
        self.asks(key, record);
        let links = &mut record.links;
        for (listen, is_posted) in &mut links.watchers {
            if !replace(is_posted, true) {
                self.post(listen.connection(), Notice::Watched(*listen, key));
            }
        }
    }

    /// A task asks for something; it is no news that it does.
    pub(super) fn asks(&mut self, key: TaskKey, record: &mut Record) {
        let links = &mut record.links;
        if links.home.is_some_and(|home| !self.knows(home)) {
            // That connection has ended: somebody else may wait for the task.
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

    /// A task has ended.
    pub(super) fn ended(&mut self, key: TaskKey, record: &mut Record) {
        self.dismiss_all(record);
        self.changed(key, record);
        for waiter in take(&mut record.links.waiters) {
            self.post(waiter.connection(), Notice::Answer(waiter, key));
        }
    }

    /// A task is about to be forgotten.
    pub(super) fn gone(&mut self, record: &mut Record) {
        self.dismiss_all(record);
        for waiter in take(&mut record.links.waiters) {
            self.post(waiter.connection(), Notice::Gone(waiter));
        }
    }

    /// What a task has asked for is not needed any more.
    fn dismiss_all(&mut self, record: &mut Record) {
        for wanted in record.inputs.wanted.iter_mut().filter(|wanted| wanted.is_open()) {
            if let Asking::Asked(call) = replace(&mut wanted.progress, Asking::Refused) {
                self.dismiss(call);
            }
        }
    }

    /// One thing that was asked is not needed any more. That comes before everything else: it makes room
    /// for what may be waiting for some.
    pub(super) fn dismiss(&mut self, call: CallId) {
        let connection = call.connection();
        if let Some(notices) = self.boxes.get_mut(&number(connection)) {
            let is_dismissal = |notice: &&Notice| matches!(notice, Notice::Dismiss(_));
            let at = notices.iter().take_while(is_dismissal).count();
            notices.insert(at, Notice::Dismiss(call));
            self.full.insert(number(connection), connection);
        }
    }
}

fn number(connection: ConnectionNumber) -> u64 {
    u64::from(connection.get())
}
