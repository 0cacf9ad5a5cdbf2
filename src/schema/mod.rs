//! What each message looks like in each revision, and the writer that keeps to it.
//!
//! A shape says what a value may look like, and in which revisions each of its members exists. The
//! tables of `dialect` are made of shapes. The writer, a [`serde::Serializer`], compares what the application serialises
//! with its shape while it appends to an outbox: members that the revision has no place for are left out, and what does
//! not fit is an [`EncodeError`] that names the place. It adds the members of the machine, such as `_meta` and
//! `resultType`, in the same pass.
//! What a peer has sent is compared with the same shapes.

mod additions;
mod append;
mod encode_error;
mod exact;
mod fits;
pub(crate) mod merge;
mod message;
mod misfit;
mod model_writer;
mod object;
mod one_line;
mod payload;
mod payload_serializer;
mod payload_writer;
mod prepared;
mod raw_write;
mod record;
mod sequence;
mod serializer;
pub(crate) mod shape;
mod sight;
mod source;
mod structs;
mod text;
mod wire_type;
mod writer;
mod written;

pub use encode_error::EncodeError;
pub use misfit::{Misfit, Problem};
pub use payload::{Json, Payload};
pub use prepared::Prepared;
pub use written::WrittenResult;

pub(crate) use additions::{Additions, MetaAdditions};
pub(crate) use exact::can_be_copied;
pub(crate) use fits::{fits, is_integral};
pub(crate) use message::{Message, addable};
pub(crate) use model_writer::{ModelWriter, Written};
pub(crate) use payload::{serialized, text_of};
pub(crate) use payload_writer::{Empty, PayloadWriter};
pub(crate) use raw_write::object_of;
pub(crate) use wire_type::{Own, Value, WireType, write_elements, write_member};
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
