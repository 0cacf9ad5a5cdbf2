//! `Prepared` and `WrittenResult`: results that are written in advance, for a method in a revision.

use alloc::vec::Vec;

use super::methods::RequestKind;
use crate::json::Str;
use crate::model::method::Method;
use crate::schema::{EncodeError, Payload, Prepared, WrittenResult};
use crate::version::Revision;

impl Prepared {
    /// Writes the result of a method in the form of this revision, without the members that the machine adds.
    ///
    /// The result of a method that MCP does not define can be any object.
    ///
    /// # Errors
    ///
    /// [`EncodeError`] as from [`respond`](crate::Connection::respond), but never [`Full`](EncodeError::Full). The
    /// caller is at fault. The only limit on the size is that of the outbox.
    pub fn result<M: Method>(
        revision: Revision,
        result: &(impl Payload + ?Sized),
    ) -> Result<Self, EncodeError> {
        let form = RequestKind::named(M::NAME).map(|kind| kind.rule().result(revision));
        Self::of(form, &result)
    }
}

impl<'b> WrittenResult<'b> {
    /// Writes the result of a method in the form of this revision, without the members that the machine adds.
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
