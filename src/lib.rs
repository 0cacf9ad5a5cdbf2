//! The Model Context Protocol as a sans-IO state machine.
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::alloc_instead_of_core, clippy::std_instead_of_alloc, clippy::std_instead_of_core)]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

mod client;
mod dialect;
mod error;
mod frame;
mod handle;
pub mod json;
mod limits;
pub mod model;
mod peer;
mod rpc;
mod server;
mod session;
mod time;
mod version;

pub use client::{
    Client, ClientCall, ClientConfig, ClientEvent, ClientRequest, ConnectError, ConnectFailure,
    Connected,
};
pub use dialect::{Capability, CapabilitySet};
pub use error::{ErrorCode, ViolationKind};
pub use frame::{Frame, Frames, Framing, Inbox, Messages, Outbox};
pub use handle::{CallId, ConnectionNumber, InboundId};
pub use limits::Limits;
pub use peer::{
    Arrival, CallEnded, CallError, CallOptions, CancelCause, CancelError, Cancellation, Cancelled,
    Cause, ConnectionConfig, Counts, DuplicateIds, Expiry, Lane, Notification, NotifyError,
    Observation, Outcome, Outlets, Principal, Progress, ProgressReport, ProgressUpdate,
    RepliesWithoutId, RequestContext, RespondError, Stray, Timeout, Timeouts, UnknownMethods,
    Violation,
};
pub use rpc::{ErrorObject, Id, StrayCause};
pub use server::{
    Call, CallTool, Complete, GetPrompt, Opened, Page, Request, Server, ServerConfig, ServerEvent,
};
pub use session::Phase;
pub use time::Instant;
pub use version::{Revision, RevisionSet};
