//! Results that are written beforehand, for a method in a revision.

use alloc::vec::Vec;

use super::methods::RequestKind;
use crate::json::Str;
use crate::model::method::Method;
use crate::schema::{EncodeError, Payload, Prepared, WrittenResult};
use crate::version::Revision;

impl Prepared {
    /// Writes the result of a method as it is sent in this revision, without what the machine adds.
    ///
    /// The result of a method that MCP does not have can be anything that is an object.
    ///
    /// # Errors
    ///
    /// [`EncodeError`] as from [`respond`](crate::Connection::respond), but never
    /// [`Full`](EncodeError::Full): the caller is at fault. There is no limit to its size but that of
    /// the outbox that it is to be sent through.
    pub fn result<M: Method>(
        revision: Revision,
        result: &(impl Payload + ?Sized),
    ) -> Result<Self, EncodeError> {
        let form = RequestKind::named(M::NAME).map(|kind| kind.rule().result(revision));
        Self::of(form, &result)
    }
}

impl<'b> WrittenResult<'b> {
    /// Writes the result of a method as it is sent in this revision, without what the machine adds.
    pub(crate) fn new(
        method: &Str<'_>,
        revision: Revision,
        result: &(impl Payload + ?Sized),
        buffer: &'b mut Vec<u8>,
    ) -> Result<Self, EncodeError> {
        let form = RequestKind::of(method).map(|kind| kind.rule().result(revision));
        Self::of(form, &result, buffer)
    }
}
