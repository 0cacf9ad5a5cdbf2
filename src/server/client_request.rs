//! `ClientRequest`: the requests that a client sends, as views of their params. A view allocates nothing.

use serde::Deserialize;

use crate::connection::UsualCall;
use crate::dialect::methods::RequestKind;
use crate::json::{MemberTexts, Object, ParseError, Raw, Str, TextCopy, decoded};
use crate::model::LoggingLevel;
use crate::task::TaskCall;
use crate::version::Revision;

/// A request that a client sends, by its method. Every view has been checked: required members are present and have
/// the right type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientRequest<'a> {
    /// `tools/list`: answer with a [`ListToolsResult`](crate::model::ListToolsResult).
    ListTools(Page<'a>),
    /// `tools/call`: answer with a [`CallToolResult`](crate::model::CallToolResult), even if the tool failed. Reject
    /// an unknown tool with [`INVALID_PARAMS`](crate::ErrorCode::INVALID_PARAMS).
    CallTool(CallTool<'a>),
    /// `resources/list`: answer with a
    /// [`ListResourcesResult`](crate::model::ListResourcesResult).
    ListResources(Page<'a>),
    /// `resources/templates/list`: answer with a
    /// [`ListResourceTemplatesResult`](crate::model::ListResourceTemplatesResult).
    ListResourceTemplates(Page<'a>),
    /// `resources/read`: answer with a [`ReadResourceResult`](crate::model::ReadResourceResult). Reject an unknown
    /// resource with [`RESOURCE_NOT_FOUND`](crate::ErrorCode::RESOURCE_NOT_FOUND).
    ReadResource {
        /// The URI of the resource.
        uri: Str<'a>,
    },
    /// `resources/subscribe`: answer with `()`.
    Subscribe {
        /// The URI of the resource.
        uri: Str<'a>,
    },
    /// `resources/unsubscribe`: answer with `()`.
    Unsubscribe {
        /// The URI of the resource.
        uri: Str<'a>,
    },
    /// `prompts/list`: answer with a [`ListPromptsResult`](crate::model::ListPromptsResult).
    ListPrompts(Page<'a>),
    /// `prompts/get`: answer with a [`GetPromptResult`](crate::model::GetPromptResult).
    GetPrompt(GetPrompt<'a>),
    /// `completion/complete`: answer with a [`CompleteResult`](crate::model::CompleteResult).
    Complete(Complete<'a>),
    /// `subscriptions/listen`: [grant](crate::Server::grant) the subscription, or reject it. The request reaches the
    /// application only with [`Listening::Asked`](crate::config::Listening::Asked). It holds a
    /// [`SubscriptionFilter`](crate::model::SubscriptionFilter).
    Listen(Raw<'a>),
    /// `logging/setLevel`: answer with `()`.
    SetLevel(LoggingLevel),
    /// A request about a [task](crate::task): pass it to [`serve`](crate::drive::ConnectionTasks::serve). Reject it if
    /// the server has no tasks.
    Task(TaskCall<'a>),
    /// A method without a variant here, usually one that MCP does not define. Reject it with
    /// [`METHOD_NOT_FOUND`](crate::ErrorCode::METHOD_NOT_FOUND) unless the application implements it.
    Other,
}

/// The params of a request for a page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Page<'a> {
    /// The `nextCursor` of an earlier page; absent for the first page. Reject an unknown cursor with
    /// [`INVALID_PARAMS`](crate::ErrorCode::INVALID_PARAMS).
    pub cursor: Option<Str<'a>>,
}

/// The params of `tools/call`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CallTool<'a> {
    /// The name of the tool.
    pub name: Str<'a>,
    /// The arguments, an object; absent if there are none.
    pub arguments: Option<Raw<'a>>,
}

impl CallTool<'_> {
    /// Decodes the arguments. Absent arguments count as `{}`.
    ///
    /// # Errors
    ///
    /// [`ParseError`] if the arguments do not fit the type. Report it with
    /// [`CallToolResult::error`](crate::model::CallToolResult::error), so that the model can try again.
    pub fn parse<'b, T: Deserialize<'b>>(&'b self) -> Result<T, ParseError> {
        parse(self.arguments.as_ref())
    }
}

/// The params of `prompts/get`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct GetPrompt<'a> {
    /// The name of the prompt.
    pub name: Str<'a>,
    /// The arguments, an object of strings; absent if there are none.
    pub arguments: Option<Raw<'a>>,
}

impl GetPrompt<'_> {
    /// Decodes the arguments, which are strings. Absent arguments count as `{}`.
    ///
    /// ```
    /// use mcp_sansio::model::{Content, GetPromptResult, PromptMessage};
    /// use mcp_sansio::{ClientRequest, ErrorCode, Outbox, Request, RespondError, Server};
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Arguments<'a> {
    ///     #[serde(borrow)]
    ///     language: std::borrow::Cow<'a, str>,
    /// }
    ///
    /// fn serve(request: &Request<'_>, server: &mut Server, out: &mut Outbox) -> Result<(), RespondError> {
    ///     let ClientRequest::GetPrompt(prompt) = &request.kind else { return Ok(()) };
    ///     let arguments: Arguments<'_> = match prompt.parse() {
    ///         Ok(arguments) => arguments,
    ///         Err(error) => {
    ///             let text = error.to_string();
    ///             return server.reject(request.id, ErrorCode::INVALID_PARAMS, &text, out);
    ///         }
    ///     };
    ///     let text = format!("Review this code in {}.", arguments.language);
    ///     server.respond(request.id, &GetPromptResult::new([PromptMessage::user(Content::text(text))]), out)
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ParseError`] if the arguments do not fit the type. Reject the request with
    /// [`INVALID_PARAMS`](crate::ErrorCode::INVALID_PARAMS).
    pub fn parse<'b, T: Deserialize<'b>>(&'b self) -> Result<T, ParseError> {
        parse(self.arguments.as_ref())
    }
}

fn parse<'b, T: Deserialize<'b>>(arguments: Option<&'b Raw<'_>>) -> Result<T, ParseError> {
    match arguments {
        Some(arguments) => arguments.parse(),
        None => decoded("{}"),
    }
}

/// The params of `completion/complete`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Complete<'a> {
    /// The owner of the argument: a [`Reference`](crate::model::Reference).
    pub reference: Raw<'a>,
    /// The name of the argument.
    pub name: Str<'a>,
    /// The text typed so far.
    pub value: Str<'a>,
    /// The arguments that are set already: a [`CompletionContext`](crate::model::CompletionContext). `None` before
    /// 2025-06-18, which introduced the member.
    pub context: Option<Raw<'a>>,
}

impl<'a> ClientRequest<'a> {
    /// Returns the view of a usual `tools/call`.
    #[inline]
    pub(super) fn usual(call: UsualCall<'a>) -> Self {
        let UsualCall { name, arguments } = call;
        Self::CallTool(CallTool { name, arguments })
    }

    /// Reads the params of a request in a revision. Returns `None` if they do not have the shape of the method.
    pub(super) fn read(
        kind: Option<RequestKind>,
        params: Option<&Object<'_, 'a>>,
        revision: Revision,
    ) -> Option<Self> {
        let nothing = Object::default();
        let params = Params(params.unwrap_or(&nothing));
        let uri = || params.string("uri");
        Some(match kind {
            Some(RequestKind::CallTool) => Self::CallTool(params.tool_call()?),
            Some(RequestKind::ListTools) => Self::ListTools(params.page()?),
            Some(RequestKind::ListResources) => Self::ListResources(params.page()?),
            Some(RequestKind::ListResourceTemplates) => Self::ListResourceTemplates(params.page()?),
            Some(RequestKind::ListPrompts) => Self::ListPrompts(params.page()?),
            Some(RequestKind::ReadResource) => Self::ReadResource { uri: uri()? },
            Some(RequestKind::Subscribe) => Self::Subscribe { uri: uri()? },
            Some(RequestKind::Unsubscribe) => Self::Unsubscribe { uri: uri()? },
            Some(RequestKind::GetPrompt) => Self::GetPrompt(params.prompt()?),
            Some(RequestKind::Complete) => Self::Complete(params.completion(revision)?),
            Some(RequestKind::Listen) => Self::Listen(params.object("notifications")??),
            Some(RequestKind::SetLevel) => {
                Self::SetLevel(LoggingLevel::from_name(&params.string("level")?.to_str())?)
            }
            Some(kind) if kind.is_about_tasks() => {
                Self::Task(TaskCall::read(kind, params.0.text())?)
            }
            _ => Self::Other,
        })
    }

    /// Returns an owned copy.
    pub fn into_owned(self) -> ClientRequest<'static> {
        self.into_parts(None)
    }

    /// Returns an owned request whose texts are parts of `copy`, a copy of the params, if there is one.
    pub(super) fn into_parts(self, copy: Option<&TextCopy<'_>>) -> ClientRequest<'static> {
        let string = |string: Str<'_>| string.into_part(copy);
        let raw = |raw: Raw<'_>| raw.into_part(copy);
        let page = |page: Page<'_>| Page { cursor: page.cursor.map(string) };
        match self {
            Self::ListTools(list) => ClientRequest::ListTools(page(list)),
            Self::CallTool(CallTool { name, arguments }) => ClientRequest::CallTool(CallTool {
                name: string(name),
                arguments: arguments.map(raw),
            }),
            Self::ListResources(list) => ClientRequest::ListResources(page(list)),
            Self::ListResourceTemplates(list) => ClientRequest::ListResourceTemplates(page(list)),
            Self::ReadResource { uri } => ClientRequest::ReadResource { uri: string(uri) },
            Self::Subscribe { uri } => ClientRequest::Subscribe { uri: string(uri) },
            Self::Unsubscribe { uri } => ClientRequest::Unsubscribe { uri: string(uri) },
            Self::ListPrompts(list) => ClientRequest::ListPrompts(page(list)),
            Self::GetPrompt(GetPrompt { name, arguments }) => ClientRequest::GetPrompt(GetPrompt {
                name: string(name),
                arguments: arguments.map(raw),
            }),
            Self::Complete(complete) => ClientRequest::Complete(Complete {
                reference: raw(complete.reference),
                name: string(complete.name),
                value: string(complete.value),
                context: complete.context.map(raw),
            }),
            Self::Listen(filter) => ClientRequest::Listen(raw(filter)),
            Self::SetLevel(level) => ClientRequest::SetLevel(level),
            Self::Task(call) => ClientRequest::Task(call.into_owned()),
            Self::Other => ClientRequest::Other,
        }
    }
}

/// The params of a request: a scanned object, or an empty one.
#[derive(Clone, Copy)]
struct Params<'o, 'a>(&'o Object<'o, 'a>);

impl<'a> Params<'_, 'a> {
    /// Returns the last member with this name, unless it is `null`.
    fn get(self, name: &str) -> Option<&'a str> {
        self.0.get(name).filter(|value| *value != "null")
    }

    /// Returns a required string.
    fn string(self, name: &str) -> Option<Str<'a>> {
        self.get(name).and_then(Str::from_literal)
    }

    /// Returns an optional object. The outer `None` means that the member has another type.
    fn object(self, name: &str) -> Option<Option<Raw<'a>>> {
        match self.0.raw(name) {
            None => Some(None),
            Some(value) if value.as_json().starts_with('{') => Some(Some(value)),
            Some(value) => (value.as_json() == "null").then_some(None),
        }
    }

    fn tool_call(self) -> Option<CallTool<'a>> {
        Some(CallTool { name: self.string("name")?, arguments: self.object("arguments")? })
    }

    fn page(self) -> Option<Page<'a>> {
        match self.get("cursor") {
            None => Some(Page { cursor: None }),
            Some(value) => Some(Page { cursor: Some(Str::from_literal(value)?) }),
        }
    }

    fn prompt(self) -> Option<GetPrompt<'a>> {
        let name = self.string("name")?;
        let arguments = self.object("arguments")?;
        let all_strings = MemberTexts::of(self.get("arguments").unwrap_or_default())
            .all(|(_, value)| value.starts_with('"'));
        all_strings.then_some(GetPrompt { name, arguments })
    }

    fn completion(self, revision: Revision) -> Option<Complete<'a>> {
        let reference = self.get("ref")?;
        let target = Object::of(reference);
        let target = Params(&target);
        let kind = target.string("type")?;
        let known = (kind == "ref/prompt" && target.string("name").is_some())
            || (kind == "ref/resource" && target.string("uri").is_some());
        let argument = Object::of(self.get("argument")?);
        let argument = Params(&argument);
        // A member that the revision does not have is ignored, whatever its value.
        let has_context = RequestKind::Complete.rule().params(revision).has("context");
        known.then_some(Complete {
            reference: Raw::trusted(reference),
            name: argument.string("name")?,
            value: argument.string("value")?,
            context: if has_context { self.object("context")? } else { None },
        })
    }
}
