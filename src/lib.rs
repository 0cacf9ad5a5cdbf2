//! The Model Context Protocol as a sans-IO state machine.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

mod dialect;
mod frame;
pub mod json;
pub mod model;
mod rpc;
mod error;
mod handle;
mod limits;
mod time;
mod version;

pub use error::{ErrorCode, ViolationKind};
pub use handle::{CallId, ConnectionNumber, InboundId};
pub use limits::Limits;
pub use time::Instant;
pub use version::{Revision, RevisionSet};

pub use dialect::{Capability, CapabilitySet};
pub use frame::{Frame, Frames, Framing, Inbox, Messages, Outbox};
pub use rpc::{ErrorObject, Id, StrayCause};
