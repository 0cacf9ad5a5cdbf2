//! JSON as received from the wire: a scanner and borrowed views, independent of MCP.
//!
//! serde_json decodes payloads into the types of the application. This module does the work before that, because it
//! must handle unchecked bytes. The writer, which knows the shape of each message, is in [`schema`](crate::schema).
//!
//! - [`Envelope::scan`] validates one frame and locates the members of its JSON-RPC envelope in one pass, without
//!   recursion and without allocation. It finds the `id` even of a frame whose rest is malformed.
//! - [`Raw`] and [`Str`] borrow a value or a string in its wire form.

mod brackets;
mod decode;
mod edit;
mod envelope;
mod error;
mod known;
pub(crate) mod label;
pub(crate) mod member_spans;
pub(crate) mod name;
pub(crate) mod number;
pub(crate) mod raw;
pub(crate) mod run;
mod scan;
mod scanned;
mod shared;
pub(crate) mod skip;
pub(crate) mod space;
mod starts;
pub(crate) mod string;
mod surrogates;
pub(crate) mod walk;

pub use envelope::{Envelope, Member};
pub use error::{JsonError, JsonErrorKind, ParseError};
pub use number::{Number, NumberError};
pub use raw::{Elements, Kind, Members, Raw};
pub use scanned::ScannedFrame;
pub use string::Str;

pub(crate) use decode::decode;
pub(crate) use envelope::{LONGEST_SHOWN, shown};
pub(crate) use known::KnownMembers;
pub(crate) use member_spans::Object;
pub(crate) use name::Name;
pub(crate) use raw::{MemberTexts, decoded, member};
pub(crate) use scan::Scanner;
pub(crate) use shared::TextCopy;
pub(crate) use space::{trim, trim_end, trim_start};
#[cfg(feature = "http")]
pub(crate) use walk::Walk;

#[cfg(test)]
mod tests;
