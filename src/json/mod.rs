//! JSON where it meets the wire: a scanner, borrowed views and a writer.
//!
//! serde_json decodes payloads into the caller's types. What happens before and after is done here,
//! because it has to hold for bytes that nobody has looked at yet:
//!
//! - [`Envelope::scan`] validates one frame and finds the members of its JSON-RPC envelope in one
//!   pass, without recursion and without allocation, and still tells the `id` of a frame whose rest
//!   is broken.
//! - [`Raw`] and [`Str`] lend a value or a string as it stands on the wire.
//! - the writer, a [`serde::Serializer`], appends to an outbox and can add members to an object that
//!   the application serialises.

mod additions;
mod append;
mod brackets;
mod edit;
mod encode_error;
mod envelope;
mod error;
mod exact;
mod fits;
mod label;
mod minify;
mod misfit;
mod name;
mod number;
mod object;
mod payload;
mod payload_serializer;
mod place;
mod prepared;
mod raw;
mod raw_write;
mod record;
mod run;
mod scan;
mod scanned;
mod sequence;
mod serializer;
pub(crate) mod shape;
mod shared;
mod sight;
mod skip;
mod source;
mod space;
mod string;
mod structs;
mod text;
mod walk;
mod writer;
mod written;

pub use encode_error::EncodeError;
pub use envelope::{Envelope, Member};
pub use error::{JsonError, JsonErrorKind, ParseError};
pub use misfit::{Misfit, Problem};
pub use number::{Number, NumberError};
pub use prepared::Prepared;
pub use raw::{Elements, Kind, Members, Raw};
pub use scanned::ScannedFrame;
pub use string::Str;
pub use written::WrittenResult;

pub(crate) use additions::{Additions, MetaAdditions};
pub(crate) use envelope::{LONGEST_SHOWN, shown};
pub(crate) use fits::{fits, is_integral};
pub(crate) use name::Name;
pub(crate) use payload::{Empty, Payload};
pub(crate) use place::Object;
pub(crate) use raw::{MemberTexts, decoded, member};
pub(crate) use raw_write::object_of;
pub(crate) use scan::Scanner;
pub(crate) use shared::TextCopy;
pub(crate) use space::{trim, trim_end, trim_start};
#[cfg(feature = "http")]
pub(crate) use walk::Walk;
pub(crate) use writer::Writer;

#[cfg(test)]
mod prepared_tests;
#[cfg(test)]
mod raw_write_tests;
#[cfg(test)]
mod shape_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod writer_tests;
