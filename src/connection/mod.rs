//! The connection that both roles share, in layers. Each layer owns the one below it.
//!
//! [`Server`](crate::Server) and [`Client`](crate::Client) dereference to [`Connection`]. It is symmetric: either
//! side sends calls, responds to requests, cancels and reports progress. The modules of the roles contain the parts
//! that only one role has: the handshake and the typed requests.
//!
//! | layer | owns | decides |
//! |---|---|---|
//! | [`Connection`] | the configuration, [`Dispatcher`] | the operations of the application that both roles have |
//! | `task_host` | nothing; it borrows [`Tasks`](crate::task::Tasks) of the application, and `Serving` | how tasks of this side appear on a connection |
//! | [`Dispatcher`] | `Serving`, pings | which layer gets a message, a timeout, the end of the connection |
//! | `Serving` | `Calls`, input bridges, subscriptions of the peer | how a request of the peer gets its response, and which work ends with the request |
//! | `Calls` | `Messages`, the index of calls, the opening request | how a call of this side proceeds and ends |
//! | `Messages` | the session, the phase, both tables of requests, violations | whether a message may be sent, its encoding and its route |
//! | `rpc` | ids, deadlines, the pausable clock | which request a response belongs to, and which deadlines have passed |
//!
//! A layer calls only layers below it. A layer passes results up as return values: an event, or `ForRole` for the
//! role.
//!
//! The modules, by layer, from the bottom to the top. There are no cyclic dependencies between modules. Modules with
//! plain types only are not listed.
//!
//! | modules | responsibility |
//! |---|---|
//! | `cx`, `reception`, `outboxes`, `counts`, `event` | the arguments of every step: the configuration, the time, the output; limits |
//! | `request_meta`, `last_request_meta`, `identity`, `context`, `routing` | the `_meta` of requests, and the rules of the era that it selects |
//! | `lifecycle`, `session`, `send_permit`, `answer_context`, `request_members`, `versions` | the negotiated revision, the messages that may be sent now, and the members added to messages of this side |
//! | `incoming`, `exchange`, `send`, `result_members`, `inbound_batches`, `violations` | requests of the peer until their responses; violations of the peer |
//! | `messages`, `ask`, `pre_session_queue`, `withdraw`, `request`, `reply`, `notify`, `progress`, `invalid_frames`, `frame_checks`, `notification` | `Messages`: send a request, admit one, respond, cancel, notify, refuse |
//! | `call_index`, `call_cx`, `pages`, `resend`, `input_rounds`, `check_result`, `wanted_inputs` | the context of a call; lists read page by page; requests sent again; results checked |
//! | `remote_task`, `task_inputs`, `task_messages`, `task_snapshot` | calls that become tasks of the peer |
//! | `subscription` | a subscription of this side |
//! | `call_state`, `opening`, `call_capacity` | the state of a call; the handshake; the limit of concurrent calls |
//! | `subscription_state`, `subscribe`, `session_subscribe` | subscriptions of this side, in the modern and in the legacy era |
//! | `calls`, `commands`, `steps`, `correlation`, `outbound_batch` | `Calls`: the effects of the application, the peer and the clock on a call, each as one step |
//! | `input_bridge`, `listens` | calls of this side made for a request of the peer; subscriptions of the peer |
//! | `serving`, `respond` | `Serving`: the actions of the application and the peer on a request of the peer |
//! | `task_host`, `task_news` | tasks of this side, as the peer sees them |
//! | `keep_alive`, `dispatcher`, `receive`, `timers`, `closing` | [`Dispatcher`]: received messages, timers, the end of the connection |
//! | `answering`, `calling`, `connection_tasks`, `in_flight` | [`Connection`]: the methods that both roles have, and its views |
//! | `call_table` | the permitted changes of a call, checked in builds for fuzzing |

mod answer_context;
mod answering;
mod ask;
mod call_capacity;
mod call_cx;
mod call_index;
mod call_options;
mod call_state;
#[cfg(any(call_table, fuzzing))]
mod call_table;
mod calling;
mod calls;
mod cancel;
mod change;
mod check_result;
mod closing;
mod commands;
mod common_event;
mod connection_tasks;
mod context;
mod correlation;
mod counts;
mod cx;
mod detail;
mod dispatcher;
mod elicitations;
mod event;
mod exchange;
mod for_role;
mod frame_checks;
mod identity;
mod in_flight;
mod inbound_batches;
mod incoming;
mod incoming_request;
mod input_bridge;
mod input_rounds;
mod inputs;
mod invalid_frames;
mod keep_alive;
mod last_request_meta;
mod late_probe;
mod lifecycle;
mod listens;
mod messages;
mod notification;
mod notify;
mod opening;
mod outbound_batch;
mod outboxes;
mod outgoing_request;
mod pages;
mod pre_session_queue;
mod progress;
mod progress_report;
mod receive;
mod reception;
mod remote_task;
mod reply;
mod request;
mod request_members;
mod request_meta;
mod resend;
mod respond;
mod result_members;
mod resumed;
mod routing;
mod saved_session;
mod send;
mod send_permit;
mod serving;
mod session;
mod session_subscribe;
mod steps;
mod subscribe;
mod subscription;
mod subscription_state;
mod task_host;
mod task_inputs;
mod task_messages;
mod task_news;
mod task_snapshot;
mod task_update;
mod timers;
mod transport_error;
mod transport_failure;
mod usual_call;
mod versions;
mod violations;
mod wanted_inputs;
mod withdraw;

pub use call_options::{CallError, CallOptions, TaskOptions, Timeout};
pub use cancel::{CancelError, Cancellation};
pub(crate) use commands::take_reopened;
pub use connection_tasks::ConnectionTasks;
pub use context::{RequestContext, TaskRequest};
pub use counts::Counts;
pub use event::{
    CallEnded, CancelCause, Cancelled, Cause, Expiry, ListPage, ListRestarted, Notification,
    Outcome, ProgressUpdate, RestartCause, TaskAnswer, UnmatchedResponse, Violation,
};
pub use in_flight::InFlight;
pub use notify::{Delivery, NotifyError};
pub use outbound_batch::{Batch, BatchError};
pub use outboxes::{Observation, Outboxes, Received, Route};
pub use pages::Paging;
pub use progress_report::{Progress, ProgressReport};
pub use saved_session::{RestoreSessionError, SavedSession};
pub(crate) use subscription::SubscriptionOrigin;
pub use subscription::{SubscriptionEnd, SubscriptionNews, SubscriptionUpdate};
pub use task_update::{AbandonedTask, BegunTask, TaskTicket, TaskUpdate};
pub use transport_error::{TransportError, TransportErrorKind};
pub use transport_failure::{ExchangeEnd, TransportFailure, TransportFailureKind};

pub(crate) use change::Change;
pub(crate) use common_event::CommonEvent;
pub(crate) use cx::Cx;
pub(crate) use detail::Detail;
pub(crate) use for_role::ForRole;
pub(crate) use identity::{
    Identity, client_info, meta_to_pass_on, modern_client_info, server_info,
};
pub(crate) use incoming_request::{IncomingRequest, UsualCall};
pub(crate) use inputs::InputRequested;
pub(crate) use late_probe::LateProbe;
pub(crate) use notify::Notice;
#[cfg(feature = "http")]
pub(crate) use request_meta::RequestMeta;
pub(crate) use resumed::Resumed;
pub(crate) use routing::Side;
pub(crate) use send::SentMessage;
pub(crate) use timers::Elapsed;
pub(crate) use versions::{versions, versions_in};

use core::fmt;
use core::hash::{Hash, Hasher};

use dispatcher::Dispatcher;

use crate::capability::CapabilitySet;
use crate::config::RoleConfig;
use crate::handle::ConnectionNumber;
use crate::limits::Limits;
use crate::time::Instant;
use crate::version::RevisionSet;

/// One side of a connection: the state and the methods that [`Server`](crate::Server) and [`Client`](crate::Client)
/// share.
///
/// Both roles dereference to it. Only [`Server::new`](crate::Server::new) and [`Client::new`](crate::Client::new)
/// create it; users and drivers do not. It owns the state of the protocol. The [`Inbox`](crate::Inbox) and the
/// [`Outbox`](crate::Outbox) of the caller own the bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Connection {
    pub(crate) config: RoleConfig,
    pub(crate) dispatcher: Dispatcher,
}

/// Leaves out the configuration, which never changes: equal connections have equal configurations.
impl Hash for Connection {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { config: _, dispatcher } = self;
        dispatcher.hash(state);
    }
}

/// Shows the phase, the revision, and the handles of what is in flight. It shows no text of the peer, so it is safe in
/// logs.
impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Connection")
            .field("number", &self.connection_number())
            .field("phase", &self.phase())
            .field("revision", &self.revision())
            .field("in_flight", &self.in_flight())
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// Creates a connection in its initial state. `own` contains the revisions and capabilities of this side.
    pub(crate) fn new(
        config: RoleConfig,
        own: (RevisionSet, CapabilitySet),
        number: ConnectionNumber,
    ) -> Self {
        let role = match config {
            RoleConfig::Server(_) => Side::Server,
            RoleConfig::Client(_) => Side::Client,
        };
        let dispatcher = Dispatcher::new(role, own, number, config.connection());
        Self { config, dispatcher }
    }

    /// The limits of the configuration.
    pub(crate) fn limits(&self) -> &Limits {
        &self.config.connection().limits
    }

    /// Returns the dispatcher and the context of one step. `now` is `None` for a command that takes no time.
    pub(crate) fn enter<'e>(
        &'e mut self,
        now: Option<Instant>,
        out: &'e mut dyn Outboxes,
    ) -> (&'e mut Dispatcher, Cx<'e, 'e>) {
        (&mut self.dispatcher, Cx { config: self.config.connection(), now, out })
    }
}
