//! The notifications of a server: changes, log messages, completed elicitations.

use alloc::string::String;

use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};

use super::Server;
use crate::connection::{Change, Delivery, Notice, NotifyError, Outboxes};
use crate::dialect::methods::NotificationKind;
use crate::handle::IncomingId;
use crate::model::{ElicitationCompleteParams, LoggingLevel, ResourceUpdatedParams, TaskParams};
use crate::schema::{Json, Payload};
use crate::task::RELATED;

/// A log message for the client
/// ([logging](https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging)).
///
/// It must not contain secrets, personal data, or information that would help an attacker.
///
/// ```
/// use mcp_sansio::model::LoggingLevel;
/// use mcp_sansio::subscription::Log;
///
/// let log = Log::new(LoggingLevel::Warning, "the disk is nearly full").logger("storage");
/// ```
#[derive(Debug)]
pub struct Log<'a, T: ?Sized> {
    level: LoggingLevel,
    data: &'a T,
    logger: Option<&'a str>,
    about: Option<IncomingId>,
    task: Option<&'a str>,
}

impl<'a, T: Serialize + ?Sized> Log<'a, T> {
    /// Returns a message of this level. The data is any JSON, including a string or `null`.
    pub const fn new(level: LoggingLevel, data: &'a T) -> Self {
        Self { level, data, logger: None, about: None, task: None }
    }

    /// Sets the part of the server that logs the message.
    #[must_use]
    pub const fn logger(mut self, logger: &'a str) -> Self {
        self.logger = Some(logger);
        self
    }

    /// Sets the [task](crate::task) that the message is about. The message carries its id in a session. In the modern
    /// era tasks do not log: see [`Tasks::set_message`](crate::task::Tasks::set_message).
    #[must_use]
    pub const fn of_task(mut self, id: &'a str) -> Self {
        self.task = Some(id);
        self
    }

    /// Sets the request that the message is about. The message takes the route of that request.
    #[must_use]
    pub const fn about(mut self, request: IncomingId) -> Self {
        self.about = Some(request);
        self
    }
}

impl<'a, T: ?Sized> Log<'a, T> {
    /// The severity of the message.
    pub const fn level(&self) -> LoggingLevel {
        self.level
    }

    /// The data of the message.
    pub const fn data(&self) -> &'a T {
        self.data
    }

    /// Returns the same message with other data, for instance with serialised data.
    #[must_use = "it is another message; this one does not change"]
    pub const fn with_data<U: ?Sized>(self, data: &'a U) -> Log<'a, U> {
        Log { level: self.level, data, logger: self.logger, about: self.about, task: self.task }
    }
}

// The data is borrowed, so it need not be `Clone`.
impl<T: ?Sized> Clone for Log<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Log<'_, T> {}

impl<T: Serialize + ?Sized> Serialize for Log<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut params = serializer.serialize_struct("LogParams", 3)?;
        params.serialize_field("level", &self.level)?;
        if let Some(logger) = self.logger {
            params.serialize_field("logger", logger)?;
        }
        params.serialize_field("data", self.data)?;
        if let Some(id) = self.task {
            params.serialize_field("_meta", &OfTask(id))?;
        }
        params.end()
    }
}

/// The metadata that links a message to a task.
struct OfTask<'a>(&'a str);

impl Serialize for OfTask<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut meta = serializer.serialize_map(Some(1))?;
        meta.serialize_entry(RELATED, &TaskParams::new(self.0))?;
        meta.end()
    }
}

/// A list of a server that can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChangedList {
    /// The tools.
    Tools,
    /// The resources and their templates.
    Resources,
    /// The prompts.
    Prompts,
}

/// A view of a [`Server`] that sends its notifications: log messages, changes, completed elicitations.
///
/// [`Server::notifications`] returns it. A notification that the client is not subscribed to is not sent. That is no
/// error; see [`Delivery`]. A notification that the configuration does not declare is an error: set
/// [`ListChanged::notified`](crate::model::ListChanged::notified) or `logging` in
/// [`ServerConfig::capabilities`](crate::ServerConfig::capabilities). [`Connection::notify`](crate::Connection::notify) sends any other notification.
///
/// ```
/// # use std::sync::Arc;
/// # use mcp_sansio::{Framing, Limits, Outbox, Server, ServerConfig};
/// use mcp_sansio::subscription::{ChangedList, Delivery};
///
/// # let mut config = ServerConfig::new("doc", "1.0");
/// # let mut outbox = Outbox::new(Framing::Lines, &Limits::default());
/// config.capabilities.tools = Some(mcp_sansio::model::ListChanged::notified());
/// let mut server = Server::new(Arc::new(config));
/// // The session is not open yet, so the notification is queued.
/// let delivery = server.notifications().list_changed(ChangedList::Tools, &mut outbox)?;
/// assert_eq!(delivery, Delivery::Held);
/// # Ok::<(), mcp_sansio::error::NotifyError>(())
/// ```
#[derive(Debug)]
pub struct Notifications<'s> {
    server: &'s mut Server,
}

impl Server {
    /// Returns a view that sends the notifications of a server: log messages, changes, completed elicitations.
    pub const fn notifications(&mut self) -> Notifications<'_> {
        Notifications { server: self }
    }
}

impl<'s> Notifications<'s> {
    /// Sends a log message if the client wants messages of its level. If not, nothing is serialised.
    ///
    /// In a session the client sets the level; until then it is
    /// [`ServerConfig::log_level`](crate::ServerConfig::log_level). A modern request names the level itself, and gets
    /// no log messages if it names none. The message has to be [about](Log::about) that request.
    ///
    /// # Errors
    ///
    /// As for [`notify`](crate::Connection::notify).
    pub fn log<T: Serialize + ?Sized>(
        &mut self,
        log: &Log<'_, T>,
        out: &mut impl Outboxes,
    ) -> Result<Delivery, NotifyError> {
        let wanted = Some(self.wants_log(log));
        self.notify_kind(NotificationKind::Message, &Json(log), log.about, wanted, out)
    }

    /// Whether a log message would be sent, judging by its level and the request that it is about.
    pub fn wants_log<T: ?Sized>(&self, log: &Log<'_, T>) -> bool {
        match log.about.and_then(|request| self.server.in_flight().context(request)) {
            Some(context) if context.revision.rules().updates.log_level_in_requests => {
                context.log_level.is_some_and(|least| least <= log.level)
            }
            _ => self.server.connection.dispatcher.messages().interests.wants_level(log.level),
        }
    }

    /// The least severe level of log messages that the session wants.
    pub const fn log_level(&self) -> LoggingLevel {
        self.server.connection.dispatcher.messages().interests.level()
    }

    /// Notifies the client that a resource has changed, if the client has subscribed to it.
    ///
    /// # Errors
    ///
    /// As for [`notify`](crate::Connection::notify).
    pub fn resource_updated(
        &mut self,
        uri: &str,
        out: &mut impl Outboxes,
    ) -> Result<Delivery, NotifyError> {
        let params = ResourceUpdatedParams::new(uri);
        // A wanted notification may be held, so it is checked again when it is sent.
        let wanted = (!self.server.connection.dispatcher.messages().interests.wants_resource(uri))
            .then_some(false);
        self.notify_resource(Change::Resource { subscribed: uri, uri }, &params, wanted, out)
    }

    /// Notifies the client that the resource `uri` has changed, if the client has subscribed to `subscribed`, which
    /// contains it. A notification that has to wait, for the session or for room, names `subscribed` instead.
    ///
    /// # Errors
    ///
    /// As for [`notify`](crate::Connection::notify).
    pub fn resource_updated_below(
        &mut self,
        subscribed: &str,
        uri: &str,
        out: &mut impl Outboxes,
    ) -> Result<Delivery, NotifyError> {
        let wanted =
            Some(self.server.connection.dispatcher.messages().interests.wants_resource(subscribed));
        let params = ResourceUpdatedParams::new(uri);
        self.notify_resource(Change::Resource { subscribed, uri }, &params, wanted, out)
    }

    /// The URIs that the client has subscribed to in its session, in order.
    pub fn subscriptions(self) -> impl Iterator<Item = &'s str> {
        let server: &'s Server = self.server;
        server.connection.dispatcher.messages().interests.iter()
    }

    /// Notifies the client that a list has changed. Call it after the change, so that a client that reads the list
    /// sees it.
    ///
    /// # Errors
    ///
    /// As for [`notify`](crate::Connection::notify).
    pub fn list_changed(
        &mut self,
        list: ChangedList,
        out: &mut impl Outboxes,
    ) -> Result<Delivery, NotifyError> {
        let kind = match list {
            ChangedList::Tools => NotificationKind::ToolsChanged,
            ChangedList::Resources => NotificationKind::ResourcesChanged,
            ChangedList::Prompts => NotificationKind::PromptsChanged,
        };
        self.notify_kind(kind, &(), None, None, out)
    }

    /// Notifies the client that the user has completed a URL elicitation, by the id of the elicitation or the id in
    /// the error that asked for it. Call it once for each.
    ///
    /// # Errors
    ///
    /// [`NotifyError::UnknownElicitation`] if no such elicitation is open; otherwise as for
    /// [`notify`](crate::Connection::notify).
    pub fn elicitation_complete(
        &mut self,
        elicitation_id: &str,
        out: &mut impl Outboxes,
    ) -> Result<Delivery, NotifyError> {
        let params = ElicitationCompleteParams::new(String::from(elicitation_id));
        self.notify_kind(NotificationKind::ElicitationComplete, &params, None, None, out)
    }

    fn notify_resource(
        &mut self,
        change: Change<'_>,
        params: &ResourceUpdatedParams<'_>,
        wanted: Option<bool>,
        out: &mut impl Outboxes,
    ) -> Result<Delivery, NotifyError> {
        let (method, change) = (NotificationKind::ResourceUpdated.rule().name, Some(change));
        let notice = Notice { method, params, related: None, wanted, change };
        let (dispatcher, cx) = &mut self.server.connection.enter(None, out);
        dispatcher.serving.notify(cx, notice)
    }

    fn notify_kind(
        &mut self,
        kind: NotificationKind,
        params: &dyn Payload,
        related: Option<IncomingId>,
        wanted: Option<bool>,
        out: &mut impl Outboxes,
    ) -> Result<Delivery, NotifyError> {
        let notice = Notice { method: kind.rule().name, params, related, wanted, change: None };
        let (dispatcher, cx) = &mut self.server.connection.enter(None, out);
        dispatcher.serving.notify(cx, notice)
    }
}
