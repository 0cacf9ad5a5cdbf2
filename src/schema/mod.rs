//! The schema of each message in each revision, and the writers that follow it.
//!
//! A shape defines the permitted form of a value, and the revisions that have each of its members. The types of
//! [`model`](crate::model) define the shape of each member, and the tables are generated from these types.
//!
//! A [`Payload`] is written in one of three ways. A value of the model writes itself. A value that an application
//! serializes goes through the writer, a [`serde::Serializer`], which compares it with its table while appending it
//! to an outbox. JSON text is filtered by the same table.
//!
//! Each way omits members that the revision does not have. A value that does not fit is an [`EncodeError`] with the
//! path of the value. The members of the connection, such as `_meta` and `resultType`, are added in the same pass.
//! Received values are compared with the same tables.

mod additions;
mod append;
mod encode_error;
mod exact;
mod fits;
mod item_list;
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
mod read;
mod record;
mod record_bits;
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
pub(crate) use item_list::ItemList;
pub(crate) use message::{Message, addable};
pub(crate) use model_writer::{ModelWriter, Written};
pub(crate) use payload::{serialized, text_of};
pub(crate) use payload_writer::{Empty, PayloadWriter};
pub(crate) use raw_write::object_of;
pub(crate) use read::{Keys, ReadMembers, absent, read_once, read_record};
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
