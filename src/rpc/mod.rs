//! JSON-RPC 2.0 without MCP: ids, message classification, and the tables of open requests and calls with their
//! deadlines.

mod clock;
mod deadlines;
mod encode;
mod id;
mod inbound;
mod index;
mod message;
mod outbound;
mod outgoing;
mod slot_queue;
mod table;
mod timers;

pub use id::Id;
pub use message::ErrorObject;
pub use outbound::UnmatchedCause;

pub(crate) use deadlines::Deadlines;
pub(crate) use encode::{
    ErrorData, Fault, ReplyTo, write_error, write_notification, write_notification_with,
    write_request, write_result, write_success,
};
pub(crate) use inbound::Inbound;
pub(crate) use index::{Index, Lookup};
pub(crate) use message::{Defective, Intent, Message, ResultType, Versions, classify, defect_kind};
pub(crate) use outbound::GivenUp;
#[cfg(test)]
pub(crate) use outbound::Outbound;
pub(crate) use outgoing::Outgoing;
pub(crate) use slot_queue::SlotQueue;
pub(crate) use table::{Ending, Recycle, Table};
pub(crate) use timers::{Expired, Patience, Wait};

#[cfg(test)]
mod exhaustive_tests;
#[cfg(test)]
mod tests;
