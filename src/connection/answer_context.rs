//! `AnswerContext`: the parts of a request of this side that its result is checked against, and its elicitation.

use super::elicitations::Elicitations;
use crate::codes::ErrorCode;
use crate::dialect::features::Feature;
use crate::dialect::methods::RequestKind;
use crate::dialect::{Kept, check_params, elicitation_id};
use crate::json::{Elements, Envelope, Member, Object, Str, member};
use crate::model::ElicitationRequired;
use crate::rpc::ErrorObject;
use crate::schema::shape::Form;
use crate::schema::{Misfit, Problem, fits};
use crate::version::Revision;

/// The parts of a request of this side that are needed when its response is received.
#[derive(Debug, Default)]
pub(super) struct AnswerContext {
    pub(super) kept: Kept,
    /// The id of the elicitation by URL that the request begins.
    pub(super) elicitation: Option<Str<'static>>,
}

impl AnswerContext {
    /// Checks params that this side is about to send, and keeps the parts that their result is checked against. The
    /// shape of the params has been checked before.
    ///
    /// Fails if the params are invalid, or begin an elicitation by URL whose id is known.
    pub(super) fn of(
        kind: RequestKind,
        params: &str,
        revision: Revision,
        known: Option<&Elicitations>,
        most: usize,
    ) -> Result<Self, Misfit> {
        check_params(kind, params)?;
        let mut kept = Kept::default();
        let elicitation = elicitation_id(kind, params, revision);
        match &elicitation {
            Some(id) if known.is_some_and(|known| known.contains(id)) => {
                return Err(Misfit::at("elicitationId", Problem::NotAllowed));
            }
            // The result of an elicitation by URL has no content that counts, so no form is kept.
            Some(_) => {}
            None => kept.keep(kind, params, revision, most),
        }
        Ok(Self { kept, elicitation: elicitation.map(Str::into_owned) })
    }
}

/// Returns the elicitation ids in a well-formed error that names the URLs which the user has to visit first. Empty
/// for any other error.
pub(super) fn required_elicitations<'a>(
    error: &'a ErrorObject<'_>,
    revision: Revision,
) -> impl Iterator<Item = Str<'a>> {
    let form = Form { record: ElicitationRequired::RECORD, revision };
    let data = error.data.as_ref().map(|data| data.as_json()).filter(|data| {
        error.code == ErrorCode::URL_ELICITATION_REQUIRED
            && Feature::ElicitationIds.is_in(revision)
            && fits(form, Some(&Object::of(data))).is_ok()
    });
    ids_in(data.unwrap_or_default())
}

/// Returns the elicitation ids in the `data` of such an error.
pub(super) fn ids_in(data: &str) -> impl Iterator<Item = Str<'_>> {
    Elements::of(member(data, "elicitations").unwrap_or_default())
        .filter_map(|one| member(one.borrowed()?, "elicitationId").and_then(Str::from_literal))
}

/// Returns a member of the envelope of a message that this side has written.
pub(super) fn written(message: &[u8], part: Member) -> &str {
    Envelope::scan(message, u8::MAX).get(part).unwrap_or_default()
}
