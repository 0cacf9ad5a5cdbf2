//! `Kept`: the parts of a request that its result is checked against.

use alloc::string::String;
use core::fmt;

use super::features::Feature;
use super::methods::RequestKind;
use super::{forms, sampling};
use crate::json::{Str, member};
use crate::schema::Misfit;
use crate::version::Revision;

/// What is kept of the params of a request until it is answered.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Kept {
    subject: Subject,
    /// The text of the subject, JSON.
    text: String,
}

/// How much room stays for the next text. What a peer has sent is counted until it has been answered, and its room must
/// not be kept any longer: there can be as many as requests.
const MOST_ROOM: usize = 1_024;

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
    pub(crate) fn keep(
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

    pub(crate) fn clear(&mut self) {
        self.subject = Subject::Nothing;
        self.text.clear();
        if MOST_ROOM < self.text.capacity() {
            self.text = String::new();
        }
    }

    /// How many bytes are kept.
    pub(crate) const fn bytes(&self) -> usize {
        self.text.len()
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
    pub(crate) fn string(&self) -> Option<Str<'_>> {
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
pub(crate) fn check_params(kind: RequestKind, params: &str) -> Result<(), Misfit> {
    match kind {
        RequestKind::CreateMessage => sampling::check_messages(params),
        _ => Ok(()),
    }
}

/// Whether an elicitation sends the user to a URL. Where it need not have an id it has no form either.
fn is_visit(params: &str, revision: Revision) -> bool {
    elicitation_id(RequestKind::Elicit, params, revision).is_some()
        || (revision.is_modern() && member(params, "requestedSchema").is_none())
}

/// The id of an elicitation, if it is one by URL.
pub(crate) fn elicitation_id(
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
