//! `Kept`: the parts of a request that its result is checked against.

use alloc::string::String;
use core::fmt;

use super::features::Feature;
use super::methods::RequestKind;
use super::{forms, sampling};
use crate::json::{Str, member};
use crate::schema::Misfit;
use crate::version::Revision;

/// The part of the params of a request that is kept until the response.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Kept {
    subject: Subject,
    /// The text of the subject, JSON.
    text: String,
}

/// The capacity that is kept for the next text. A text counts towards the limits only until the response, so larger
/// capacities are released: there can be as many of them as requests.
const MOST_ROOM: usize = 1_024;

/// Omits the text.
impl fmt::Debug for Kept {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Kept").field(&self.subject).field(&self.text.len()).finish()
    }
}

/// The subject of the params, if the result depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Subject {
    #[default]
    Nothing,
    /// A form elicitation. Its schema is kept.
    Form,
    /// A URL elicitation.
    Url,
    /// A resource. Its URI is kept.
    Resource,
    /// A logging level, which is kept.
    Level,
}

impl Kept {
    /// Keeps the required part of params whose shape has been checked, unless it is longer than `most` bytes.
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

    /// The bytes of the kept text.
    pub(crate) const fn bytes(&self) -> usize {
        self.text.len()
    }

    /// The schema of the elicitation form, JSON.
    pub(crate) fn form(&self) -> Option<&str> {
        (self.subject == Subject::Form).then_some(&*self.text)
    }

    /// Returns the kept part of a form elicitation with this schema.
    pub(crate) fn of_form(form: String) -> Self {
        Self { subject: Subject::Form, text: form }
    }

    /// Returns the kept text as a string.
    pub(crate) fn string(&self) -> Option<Str<'_>> {
        Str::from_literal(&self.text)
    }

    /// Checks the result of a request whose shape has been checked, for either side.
    pub(crate) fn check_result(&self, kind: RequestKind, result: &str) -> Result<(), Misfit> {
        match (kind, self.subject) {
            (RequestKind::Elicit, Subject::Form) => forms::check_answer(result, Some(&self.text)),
            (RequestKind::Elicit, Subject::Url) => forms::check_answer(result, None),
            (RequestKind::CreateMessage, _) => sampling::check_uses(result).map(drop),
            _ => Ok(()),
        }
    }
}

/// Checks the params of a request whose shape has been checked, for either side.
pub(crate) fn check_params(kind: RequestKind, params: &str) -> Result<(), Misfit> {
    match kind {
        RequestKind::CreateMessage => sampling::check_messages(params),
        _ => Ok(()),
    }
}

/// Whether an elicitation is by URL. Where it needs no id, the absence of a form decides.
fn is_visit(params: &str, revision: Revision) -> bool {
    elicitation_id(RequestKind::Elicit, params, revision).is_some()
        || (revision.is_modern() && member(params, "requestedSchema").is_none())
}

/// Returns the id of a URL elicitation.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_for_short_texts_is_kept() {
        for (capacity, kept) in [(10, 10), (MOST_ROOM, MOST_ROOM), (MOST_ROOM + 1, 0)] {
            let mut text = String::with_capacity(capacity);
            text.push_str("{}");
            let mut form = Kept::of_form(text);
            assert_eq!((form.form(), form.bytes()), (Some("{}"), 2));
            form.clear();
            assert_eq!((form.form(), form.bytes(), form.text.capacity()), (None, 0, kept));
        }
    }

    #[test]
    fn the_text_is_not_shown() {
        assert_eq!(alloc::format!("{:?}", Kept::of_form("{}".into())), "Kept(Form, 2)");
    }
}
