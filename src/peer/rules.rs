//! What has to hold inside a message beyond the shape of its parts, and what is kept of it.

use alloc::string::String;
use core::fmt;

use super::elicitations::Elicitations;
use crate::dialect::features::Feature;
use crate::dialect::methods::RequestKind;
use crate::dialect::{forms, sampling, shapes};
use crate::error::ErrorCode;
use crate::json::shape::Form;
use crate::json::{Elements, Envelope, Member, Misfit, Object, Problem, Str, fits, member};
use crate::rpc::ErrorObject;
use crate::version::Revision;

/// What is kept of the params of a request until it is answered.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Kept {
    subject: Subject,
    /// The text of the subject, JSON.
    text: String,
}

/// Without what it says.
impl fmt::Debug for Kept {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Kept").field(&self.subject).field(&self.text.len()).finish()
    }
}

/// What the params were about, if the answer depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Subject {
    #[default]
    Nothing,
    /// A user is asked by a form, of which the schema is kept.
    Form,
    /// A user is sent to a URL.
    Url,
    /// A resource, of which the URI is kept.
    Resource,
    /// A logging level, which is kept.
    Level,
}

impl Kept {
    /// Keeps what is needed of params whose shape is right, unless it is longer than `most` bytes.
    pub(super) fn keep(
        &mut self,
        kind: RequestKind,
        params: &str,
        revision: Revision,
        most: usize,
    ) {
        let (subject, name) = match kind {
            RequestKind::Elicit if is_visit(params, revision) => {
                self.subject = Subject::Url;
                return;
            }
            RequestKind::Elicit => (Subject::Form, "requestedSchema"),
            RequestKind::Subscribe | RequestKind::Unsubscribe => (Subject::Resource, "uri"),
            RequestKind::SetLevel => (Subject::Level, "level"),
            _ => return,
        };
        if let Some(text) = member(params, name).filter(|text| text.len() <= most) {
            self.subject = subject;
            self.text.push_str(text);
        }
    }

    pub(super) fn clear(&mut self) {
        self.subject = Subject::Nothing;
        self.text.clear();
    }

    /// The form that a user is asked by, JSON.
    pub(crate) fn form(&self) -> Option<&str> {
        (self.subject == Subject::Form).then_some(&*self.text)
    }

    /// What is kept if a user is asked by this form.
    pub(crate) fn of_form(form: String) -> Self {
        Self { subject: Subject::Form, text: form }
    }

    /// The string that is kept.
    pub(super) fn string(&self) -> Option<Str<'_>> {
        Str::from_literal(&self.text)
    }

    /// Checks the result of a request whose shape is right, whichever side sends it.
    pub(crate) fn check_result(&self, kind: RequestKind, result: &str) -> Result<(), Misfit> {
        match (kind, self.subject) {
            (RequestKind::Elicit, Subject::Form) => forms::check_answer(result, Some(&self.text)),
            (RequestKind::Elicit, Subject::Url) => forms::check_answer(result, None),
            (RequestKind::CreateMessage, _) => sampling::check_uses(result).map(drop),
            _ => Ok(()),
        }
    }
}

/// Checks the params of a request whose shape is right, whichever side sends it.
pub(super) fn check_params(kind: RequestKind, params: &str) -> Result<(), Misfit> {
    match kind {
        RequestKind::CreateMessage => sampling::check_messages(params),
        _ => Ok(()),
    }
}

/// What is needed of a request that this side sends when the answer to it comes.
#[derive(Debug, Default)]
pub(super) struct Expectation {
    pub(super) kept: Kept,
    /// The elicitation by URL that it begins.
    pub(super) elicitation: Option<Str<'static>>,
}

impl Expectation {
    /// Looks at params that this side is about to send, whose shape is right.
    pub(super) fn of(
        kind: RequestKind,
        params: &str,
        revision: Revision,
        known: &Elicitations,
        most: usize,
    ) -> Result<Self, Misfit> {
        check_params(kind, params)?;
        let mut kept = Kept::default();
        let elicitation = elicitation_id(kind, params, revision);
        match &elicitation {
            Some(id) if known.contains(id) => {
                return Err(Misfit::at("elicitationId", Problem::NotAllowed));
            }
            // What the user says to that has no content, and it would not count.
            Some(_) => {}
            None => kept.keep(kind, params, revision, most),
        }
        Ok(Self { kept, elicitation: elicitation.map(Str::into_owned) })
    }
}

/// Whether an elicitation sends the user to a URL. Where it need not have an id it has no form either.
fn is_visit(params: &str, revision: Revision) -> bool {
    elicitation_id(RequestKind::Elicit, params, revision).is_some()
        || (revision.is_stateless() && member(params, "requestedSchema").is_none())
}

/// The id of an elicitation, if it is one by URL.
pub(super) fn elicitation_id(
    kind: RequestKind,
    params: &str,
    revision: Revision,
) -> Option<Str<'_>> {
    if kind != RequestKind::Elicit || !Feature::ElicitationIds.is_in(revision) {
        return None;
    }
    member(params, "mode").and_then(Str::from_literal).filter(|mode| *mode == "url")?;
    member(params, "elicitationId").and_then(Str::from_literal)
}

/// The ids in the error that says which URLs the user has to visit first, if it is that and well
/// formed.
pub(super) fn required_elicitations<'a>(
    error: &'a ErrorObject<'_>,
    revision: Revision,
) -> impl Iterator<Item = Str<'a>> {
    let form = Form { record: &shapes::URL_REQUIRED, revision };
    let data = error.data.as_ref().map(|data| data.as_json()).filter(|data| {
        error.code == ErrorCode::URL_ELICITATION_REQUIRED
            && Feature::ElicitationIds.is_in(revision)
            && fits(form, Some(&Object::of(data))).is_ok()
    });
    ids_in(data.unwrap_or_default())
}

/// The ids in the data of such an error.
pub(super) fn ids_in(data: &str) -> impl Iterator<Item = Str<'_>> {
    Elements::of(member(data, "elicitations").unwrap_or_default())
        .filter_map(|one| member(one.borrowed()?, "elicitationId").and_then(Str::from_literal))
}

/// A member of the envelope of a message that this side has written.
pub(super) fn written(message: &[u8], part: Member) -> &str {
    Envelope::scan(message, u8::MAX).get(part).unwrap_or_default()
}
