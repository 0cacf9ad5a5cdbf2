//! Elicitation ([client/elicitation](https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation)):
//! requests for input from the user, from 2025-06-18 on.

use super::forms::ObjectSchema;
use super::list::List;
use super::open::open_enum;
use super::text::Text;
use crate::capability::Capability;
use crate::json::Raw;
use crate::schema::shape::{Field, Kind, Kinds, Record, Shape, choice, closed};
use crate::schema::{ModelWriter, Value, WireType, Written};
use crate::version::Revision;

record! {
    /// The params of `elicitation/create`.
    #[doc(alias("ElicitRequestFormParams", "ElicitRequestURLParams"))]
    #[doc(alias("elicitation/create", "ElicitRequestParams", "CreateElicitationRequestParams"))]
    #[derive(Default)]
    #![record = &ELICIT]
    #![written by filtering]
    pub struct ElicitParams<'a> {
        /// The mode: form or URL. Absent means form; not sent before 2025-11-25.
        pub mode: Option<ElicitationMode<'a>> = "mode", since V2025_11_25;
        /// The message for the user.
        pub message: Text<'a> = "message";
        /// The schema of the form, in form mode.
        pub requested_schema: Option<ObjectSchema<'a>> = "requestedSchema" as Form;
        /// The URL for the user to visit, in URL mode.
        pub url: Option<Text<'a>> = "url" as Uri, since V2025_11_25, or_refused;
        /// The id that a later completion refers to, in URL mode (2025-11-25 only, where it is required).
        pub elicitation_id: Option<Text<'a>> = "elicitationId",
            since V2025_11_25, before V2026_07_28, or_refused;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
        row "task" as Any, since V2025_11_25, before V2026_07_28;
    }
}

setters! { ElicitParams { elicitation_id(Text<'a>) meta[Raw<'a>] } }

static ELICIT: Record = Record::with(
    ElicitParams::FIELDS,
    Some(Kinds {
        tag: "mode",
        kinds: &[
            Kind::of("form", &["requestedSchema"])
                .since(Revision::V2025_06_18)
                .gated(Capability::ElicitationForm)
                .with(&FORM),
            Kind::of("url", &["url", "elicitationId"])
                .since(Revision::V2025_11_25)
                .gated(Capability::ElicitationUrl)
                .with(&URL),
        ],
        default: Some("form"),
        open: false,
    }),
    &[],
);

/// The members of the form mode alone.
static FORM: Record = Record::with(&[Field::optional("requestedSchema", Shape::Object)], None, &[]);

/// The members of the URL mode alone.
static URL: Record = Record::with(
    &[Field::optional("url", Shape::Uri), Field::optional("elicitationId", Shape::Text)],
    None,
    &[],
);

impl<'a> ElicitParams<'a> {
    /// Creates a request for the user to fill in a form.
    pub fn form(message: impl Into<Text<'a>>, schema: ObjectSchema<'a>) -> Self {
        Self { message: message.into(), requested_schema: Some(schema), ..Self::default() }
    }

    /// Creates a request for the user to visit a URL (2025-11-25).
    pub fn url(
        message: impl Into<Text<'a>>,
        url: impl Into<Text<'a>>,
        elicitation_id: impl Into<Text<'a>>,
    ) -> Self {
        Self { elicitation_id: Some(elicitation_id.into()), ..Self::visit(message, url) }
    }

    /// Creates a request for the user to visit a URL, without an id for a completion (2026-07-28).
    pub fn visit(message: impl Into<Text<'a>>, url: impl Into<Text<'a>>) -> Self {
        Self {
            mode: Some(ElicitationMode::Url),
            message: message.into(),
            url: Some(url.into()),
            ..Self::default()
        }
    }

    /// Returns the mode, or the default if it is absent.
    pub fn mode(&self) -> &ElicitationMode<'a> {
        self.mode.as_ref().unwrap_or(&ElicitationMode::Form)
    }
}

open_enum! {
    /// The way in which the user is asked (2025-11-25).
    ElicitationMode as any {
        /// A form, which the client shows.
        Form = "form";
        /// A web page, which the client never sees.
        Url = "url";
    }
}

record! {
    /// The result of `elicitation/create`.
    #[doc(alias("elicitation/create", "CreateElicitationResult"))]
    pub struct ElicitResult<'a> {
        /// The action of the user.
        pub action: ElicitAction<'a> = "action";
        /// The data of the form, an object; only with an accepted form.
        pub content: Option<Raw<'a>> = "content" as Answers;
        /// Metadata.
        pub meta: Option<Raw<'a>> = "_meta" as Object;
    }
}

setters! { ElicitResult { content[Raw<'a>] meta[Raw<'a>] } }

impl<'a> ElicitResult<'a> {
    /// Creates the result of a user who filled in the form.
    pub const fn accept(content: Raw<'a>) -> Self {
        Self { action: ElicitAction::Accept, content: Some(content), meta: None }
    }

    /// Creates the result of a user who agreed to visit the URL. The outcome of the visit is not known yet.
    pub const fn accept_url() -> Self {
        Self { action: ElicitAction::Accept, content: None, meta: None }
    }

    /// Creates the result of a user who declined.
    pub const fn decline() -> Self {
        Self { action: ElicitAction::Decline, content: None, meta: None }
    }

    /// Returns the data of the form if the user accepted. Content that comes with any other action is ignored. Some
    /// clients send `null` for a field that was left empty.
    pub fn filled_in(&self) -> Option<&Raw<'a>> {
        self.content.as_ref().filter(|_| self.action == ElicitAction::Accept)
    }

    /// Creates the result of a user who dismissed the request without an answer.
    pub const fn cancel() -> Self {
        Self { action: ElicitAction::Cancel, content: None, meta: None }
    }
}

open_enum! {
    /// The action of a user in response to an elicitation.
    ElicitAction as closed {
        /// The user accepted.
        Accept = "accept";
        /// The user declined.
        Decline = "decline";
        /// The user dismissed the request.
        Cancel = "cancel";
    }
}

record! {
    /// The `data` of error `-32042`: the elicitations that the user must complete before the request can succeed
    /// (2025-11-25).
    #[doc(alias = "URLElicitationRequiredError")]
    #[derive(Default)]
    #![written by filtering]
    pub struct ElicitationRequired<'a> {
        /// Elicitations in URL mode.
        pub elicitations: List<'a, ElicitParams<'a>> = "elicitations" as UrlElicitations;
    }
}

impl<'a> ElicitationRequired<'a> {
    /// Creates the data from the required elicitations, each of them [by URL](ElicitParams::url).
    pub fn new(elicitations: impl Into<List<'a, ElicitParams<'a>>>) -> Self {
        Self { elicitations: elicitations.into() }
    }
}

/// The wire type of a list of elicitations in URL mode, with at least one element.
pub(crate) enum UrlElicitations {}

impl<'a> WireType<List<'a, ElicitParams<'a>>> for UrlElicitations {
    const SHAPE: Shape = Shape::NonEmpty(&A_URL_ELICITATION);

    fn write(list: &List<'a, ElicitParams<'a>>, out: &mut ModelWriter<'_, '_>) -> Written {
        out.need_filter()?;
        list.write(out)
    }
}

static A_URL_ELICITATION: Shape = Shape::Record(&URL_ELICITATION);

static URL_ELICITATION: Record = Record::of(&[
    Field::required("mode", Shape::OneOf(&closed(&[choice("url")]))),
    Field::required("message", Shape::Text),
    Field::required("url", Shape::Uri),
    Field::required("elicitationId", Shape::Text),
]);
