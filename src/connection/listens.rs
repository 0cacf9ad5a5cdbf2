//! `Listens`: the subscriptions that requests of the peer keep open. Each is acknowledged first, reports each change
//! once, and ends once
//! ([subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)).
//!
//! Notifications are not queued here. If the outbox has no room for a change, one bit at the subscribed topic marks
//! it as pending until there is room. A change whose notification is still unsent in the outbox is not sent again. So
//! a peer that does not read costs no more memory than its filter.

use alloc::string::String;
use alloc::vec::Vec;
use core::mem::replace;
use core::ops::ControlFlow;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::change::Change;
use super::exchange::Exchange;
use super::identity::key;
use super::incoming::Incoming;
use super::notify::Delivery;
use super::outboxes::{Outboxes, Route};
use super::send::send_about_once;
use super::session::Session;
use crate::dialect::methods::NotificationKind;
use crate::frame::Serial;
use crate::handle::{IncomingId, SlotKey};
use crate::interests::{Filter, LISTS};
use crate::json::member;
use crate::lazy_box::Empty;
use crate::model::ResourceUpdatedParams;
use crate::ordered::Ordered;
use crate::rpc::write_notification_with;
use crate::schema::{EncodeError, MetaAdditions, Payload, serialized};
use crate::task::EXTENSION;

/// The open subscriptions, in the order of their requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Listens {
    /// The subscriptions by their increasing numbers.
    open: Ordered<u64, Listen>,
    /// The numbers by the table indices of the requests.
    numbers: Ordered<u64, u64>,
    /// Whether a subscription may have a pending change. The flag avoids a look at all subscriptions after every
    /// message.
    has_pending: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Listen {
    place: SlotKey,
    acknowledged: bool,
    /// Whether a topic has a pending change.
    has_pending: bool,
    /// The free bytes in the outbox below which no pending notification is tried. It avoids futile passes over all
    /// topics.
    needed: usize,
    filter: Filter<Topic>,
}

/// The delivery state of one subscribed list or resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Topic {
    /// Whether a change is pending: the subscription was not acknowledged, or the outbox had no room.
    pending: bool,
    /// The serial of the last notification about it.
    last_serial: Option<Serial>,
}

impl Empty for Listens {
    const EMPTY: &'static Self =
        &Self { open: Ordered::new(), numbers: Ordered::new(), has_pending: false };
}

impl Listens {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    fn add(&mut self, listen: Listen) {
        let number = self.open.last_key().map_or(0, |last_serial| last_serial + 1);
        self.numbers.insert(u64::from(listen.place.index), number);
        self.open.insert(number, listen);
    }

    pub(super) fn remove(&mut self, place: SlotKey) {
        if let Some(number) = self.number_of(place) {
            self.numbers.remove(&u64::from(place.index));
            self.open.remove(&number);
        }
    }

    fn number_of(&self, place: SlotKey) -> Option<u64> {
        let number = self.numbers.get(&u64::from(place.index))?;
        self.open.get(number).filter(|listen| listen.place == place).map(|_| *number)
    }

    fn of(&self, place: SlotKey) -> Option<&Listen> {
        self.open.get(&self.number_of(place)?)
    }

    fn of_mut(&mut self, place: SlotKey) -> Option<&mut Listen> {
        self.open.get_mut(&self.number_of(place)?)
    }

    /// Returns the number of the first subscription, or of the one after `number`.
    fn after(&self, number: Option<u64>) -> Option<u64> {
        let first = number.map_or(0, |number| number + 1);
        self.open.range(first..).next().map(|(number, _)| *number)
    }
}

impl Filter<Topic> {
    fn topic(&mut self, change: Change<'_>) -> Option<&mut Topic> {
        match change {
            Change::List(index) => self.lists.get_mut(index)?.as_mut(),
            Change::Resource { subscribed, .. } => self.resources.get_mut(subscribed),
        }
    }

    /// Calls `each` for every topic, lists first, until it breaks.
    fn try_for_each(
        &mut self,
        mut each: impl FnMut(Change<'_>, &mut Topic) -> ControlFlow<usize>,
    ) -> ControlFlow<usize> {
        for (index, topic) in self.lists.iter_mut().enumerate() {
            if let Some(topic) = topic {
                each(Change::List(index), topic)?;
            }
        }
        self.resources.try_for_each_mut(|uri, topic| each(Change::of_resource(uri), topic))
    }
}

impl Topic {
    /// Notifies an open subscription of a change, unless an unsent message already reports it.
    fn notify(
        &mut self,
        exchange: &mut Exchange,
        id: IncomingId,
        change: Change<'_>,
        out: &mut dyn Outboxes,
    ) -> Delivery {
        if exchange.marked {
            return Delivery::NotWanted;
        }
        let is_part = matches!(change, Change::Resource { subscribed, uri } if subscribed != uri);
        let waits = self
            .last_serial
            .is_some_and(|serial| out.outbox(Route::Exchange(id)).is_unsent(serial, id));
        if self.pending || (waits && !is_part) {
            return Delivery::Repeated;
        }
        // Parts have no serials of their own, so only a repetition of the last message is found.
        let written = match change {
            Change::List(_) => send_once(exchange, id, change.kind(), (&(), false), out),
            Change::Resource { uri, .. } => {
                let params = ResourceUpdatedParams::new(uri);
                send_once(exchange, id, change.kind(), (&params, is_part), out)
            }
        };
        let Ok(is_sent) = written else {
            self.pending = true;
            return Delivery::Lagged;
        };
        if !is_part {
            self.last_serial = exchange.last_output;
        }
        if is_sent { Delivery::Sent } else { Delivery::Repeated }
    }
}

/// The params of an acknowledgement.
struct Acknowledgement<'a>(&'a Filter<Topic>);

struct Notifications<'a>(&'a Filter<Topic>);

serialized! { Acknowledgement<'_> }

impl Serialize for Acknowledgement<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut params = serializer.serialize_map(Some(1))?;
        params.serialize_entry("notifications", &Notifications(self.0))?;
        params.end()
    }
}

impl Serialize for Notifications<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut filter = serializer.serialize_map(None)?;
        for (topic, (name, _)) in self.0.lists.iter().zip(LISTS) {
            if topic.is_some() {
                filter.serialize_entry(name, &true)?;
            }
        }
        if !self.0.resources.is_empty() {
            let uris: Vec<&str> = self.0.resources.keys().map(|uri| &**uri).collect();
            filter.serialize_entry("resourceSubscriptions", &uris)?;
        }
        if self.0.has_tasks() {
            filter.serialize_entry("taskIds", &self.0.tasks)?;
        }
        filter.end()
    }
}

impl Listens {
    /// Opens a subscription that is not yet acknowledged; from now on no change is lost. Returns whether this side
    /// offers anything that the subscription requests.
    pub(super) fn open(&mut self, session: &Session, id: IncomingId, params: &str) -> bool {
        let notifications = member(params, "notifications").unwrap_or_default();
        let mut filter = Filter::read(notifications);
        filter.limit(session.offered_modern());
        if session.identity().and_then(|own| own.extension(EXTENSION)).is_none() {
            filter.tasks.clear();
        }
        let has_topics = !filter.is_empty();
        let (acknowledged, has_pending) = (false, false);
        let needed = 0;
        self.add(Listen { place: id.0, acknowledged, has_pending, needed, filter });
        has_topics
    }

    /// Acknowledges the granted part of a subscription, and sends the changes since it was opened. Of the tasks, only
    /// those for which `knows` returns `true` are granted.
    pub(super) fn acknowledge(
        &mut self,
        incoming: &mut Incoming,
        id: IncomingId,
        (granted, knows): (Option<&Filter<()>>, impl Fn(&str) -> bool),
        out: &mut dyn Outboxes,
    ) -> Result<(), EncodeError> {
        let Some(listen) = self.of(id.0).filter(|listen| !listen.acknowledged) else {
            return Ok(());
        };
        let is_narrowed = granted.is_some() || listen.filter.has_tasks();
        let narrowed = is_narrowed.then(|| {
            let mut filter = listen.filter.clone();
            if let Some(granted) = granted {
                filter.intersect(granted);
            }
            filter.tasks.retain(|id| knows(id));
            filter
        });
        if let Some(exchange) = incoming.table.get_mut(id.0) {
            let params = Acknowledgement(narrowed.as_ref().unwrap_or(&listen.filter));
            send_notification(exchange, id, NotificationKind::Acknowledged, &params, out)?;
        }
        if let Some(listen) = self.of_mut(id.0) {
            listen.acknowledged = true;
            if let Some(filter) = narrowed {
                listen.filter = filter;
            }
        }
        self.flush(incoming, id, out);
        Ok(())
    }

    /// Notifies every subscription of a change. Returns the combined delivery.
    pub(super) fn publish(
        &mut self,
        incoming: &mut Incoming,
        change: Change<'_>,
        out: &mut dyn Outboxes,
    ) -> Delivery {
        let mut delivery = Delivery::NotWanted;
        let mut next = self.after(None);
        while let Some(number) = next {
            delivery = delivery.and(self.publish_to(incoming, number, change, out));
            next = self.after(next);
        }
        delivery
    }

    fn publish_to(
        &mut self,
        incoming: &mut Incoming,
        number: u64,
        change: Change<'_>,
        out: &mut dyn Outboxes,
    ) -> Delivery {
        let Some(listen) = self.open.get_mut(&number) else { return Delivery::NotWanted };
        let Some(topic) = listen.filter.topic(change) else { return Delivery::NotWanted };
        if !listen.acknowledged {
            (topic.pending, listen.has_pending) = (true, true);
            self.has_pending = true;
            return Delivery::Held;
        }
        let Some(exchange) = incoming.table.get_mut(listen.place) else {
            return Delivery::NotWanted;
        };
        let delivery = topic.notify(exchange, IncomingId(listen.place), change, out);
        if topic.pending {
            let needed = change.least_bytes() + exchange.token.len();
            let others = if listen.has_pending { listen.needed } else { usize::MAX };
            listen.needed = others.min(needed);
            listen.has_pending = true;
        }
        self.has_pending |= listen.has_pending;
        delivery
    }

    /// Sends the pending changes of a subscription, in one pass. Returns whether some of them wait for room in the
    /// outbox.
    pub(super) fn flush(
        &mut self,
        incoming: &mut Incoming,
        id: IncomingId,
        out: &mut dyn Outboxes,
    ) -> bool {
        let Some(number) = self.number_of(id.0) else { return false };
        let is_pending = self.flush_one(incoming, number, out);
        // A change that does not fit an empty outbox waits for nothing.
        is_pending && self.is_acknowledged(id) && !out.outbox(Route::Exchange(id)).is_empty()
    }

    /// Returns whether changes are still pending.
    fn flush_one(&mut self, incoming: &mut Incoming, number: u64, out: &mut dyn Outboxes) -> bool {
        work!(1);
        let Some(listen) = self.open.get_mut(&number) else { return false };
        if !(listen.acknowledged && listen.has_pending) {
            return listen.has_pending;
        }
        let id = IncomingId(listen.place);
        if out.outbox(Route::Exchange(id)).room() < listen.needed {
            return true;
        }
        let Some(exchange) = incoming.table.get_mut(listen.place) else { return false };
        let written = listen.filter.try_for_each(|change, topic| {
            work!(1);
            let was_pending = replace(&mut topic.pending, false);
            if was_pending && topic.notify(exchange, id, change, out) == Delivery::Lagged {
                return ControlFlow::Break(change.least_bytes() + exchange.token.len());
            }
            ControlFlow::Continue(())
        });
        (listen.has_pending, listen.needed) = match written {
            ControlFlow::Break(needed) => (true, needed),
            ControlFlow::Continue(()) => (false, 0),
        };
        listen.has_pending
    }

    /// Whether a subscription may have a pending change. The flag avoids a look at all subscriptions after every
    /// message.
    pub(super) const fn has_pending(&self) -> bool {
        self.has_pending
    }

    /// Sends the pending changes of all subscriptions, as far as there is room.
    pub(super) fn flush_all(&mut self, incoming: &mut Incoming, out: &mut dyn Outboxes) {
        let mut has_pending = false;
        let mut next = self.after(None);
        while let Some(number) = next {
            has_pending |= self.flush_one(incoming, number, out);
            next = self.after(next);
        }
        self.has_pending = has_pending;
    }

    /// Returns the first open subscription.
    pub(super) fn first(&self) -> Option<IncomingId> {
        Some(IncomingId(self.open.first()?.1.place))
    }

    /// Whether a subscription is open and acknowledged to its client.
    pub(super) fn is_acknowledged(&self, id: IncomingId) -> bool {
        self.of(id.0).is_some_and(|listen| listen.acknowledged)
    }

    /// Returns the ids of the tasks that a subscription watches.
    pub(super) fn tasks_of(&self, id: IncomingId) -> &[String] {
        self.of(id.0).map(|listen| &*listen.filter.tasks).unwrap_or_default()
    }
}

/// Sends a notification of a subscription.
pub(super) fn send_notification(
    exchange: &mut Exchange,
    id: IncomingId,
    kind: NotificationKind,
    params: &dyn Payload,
    out: &mut dyn Outboxes,
) -> Result<(), EncodeError> {
    send_once(exchange, id, kind, (params, false), out).map(drop)
}

/// The same with `is_once`, unless the unsent message before it in its outbox is equal. Returns whether it was sent.
fn send_once(
    exchange: &mut Exchange,
    id: IncomingId,
    kind: NotificationKind,
    (params, is_once): (&dyn Payload, bool),
    out: &mut dyn Outboxes,
) -> Result<bool, EncodeError> {
    let rule = kind.rule();
    let form = Some(rule.params(exchange.context.revision));
    let token = core::mem::take(&mut exchange.token);
    let members = [(key::SUBSCRIPTION, &*token)];
    let meta = MetaAdditions { members: &members, text: "", reserved: key::OF_NOTIFICATIONS };
    let sent = send_about_once(exchange, id, out, (rule.name, is_once), |writer| {
        write_notification_with(writer, rule.name, params, meta, form)
    });
    exchange.token = token;
    sent
}
