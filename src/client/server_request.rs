//! `ServerRequest`: the requests that a server sends, as views of their params. A view allocates nothing.

use crate::dialect::methods::RequestKind;
use crate::json::{MemberTexts, Raw};
use crate::task::TaskCall;

/// A request that a server sends, by its method. The docs of each variant name the checks its params have passed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ServerRequest<'a> {
    /// `roots/list`: answer with a [`ListRootsResult`](crate::model::ListRootsResult).
    ListRoots,
    /// `sampling/createMessage`: ask the user, then a model, then the user again, and answer with a
    /// [`CreateMessageResult`](crate::model::CreateMessageResult), or reject it with
    /// [`USER_REJECTED`](crate::ErrorCode::USER_REJECTED).
    ///
    /// Holds a [`CreateMessageParams`](crate::model::CreateMessageParams) whose `messages` is an array and whose
    /// `maxTokens` is a number.
    CreateMessage(Raw<'a>),
    /// `elicitation/create`: ask the user, and answer with an [`ElicitResult`](crate::model::ElicitResult).
    ///
    /// Holds an [`ElicitParams`](crate::model::ElicitParams) whose `message` is a string.
    Elicit(Raw<'a>),
    /// A request about a [task](crate::task): pass it to [`serve`](crate::drive::ConnectionTasks::serve). Reject it if
    /// the client has no tasks.
    Task(TaskCall<'a>),
    /// A method that MCP does not define. Reject it with [`METHOD_NOT_FOUND`](crate::ErrorCode::METHOD_NOT_FOUND)
    /// unless the application implements it.
    Other,
}

impl<'a> ServerRequest<'a> {
    /// Reads the params of a request that is served. Returns `None` if they do not have the shape of the method.
    pub(super) fn read(kind: Option<RequestKind>, params: Option<&'a str>) -> Option<Self> {
        let begins = |name: &str, accept: fn(u8) -> bool| {
            MemberTexts::of(params.unwrap_or_default())
                .filter(|(key, _)| key == name)
                .last()
                .and_then(|(_, value)| value.bytes().next())
                .is_some_and(accept)
        };
        match kind {
            Some(RequestKind::ListRoots) => Some(Self::ListRoots),
            Some(RequestKind::CreateMessage) => {
                let shaped = begins("messages", |byte| byte == b'[')
                    && begins("maxTokens", |byte| byte == b'-' || byte.is_ascii_digit());
                params.filter(|_| shaped).map(Raw::trusted).map(Self::CreateMessage)
            }
            Some(RequestKind::Elicit) => {
                let shaped = begins("message", |byte| byte == b'"');
                params.filter(|_| shaped).map(Raw::trusted).map(Self::Elicit)
            }
            Some(kind) if kind.is_about_tasks() => {
                TaskCall::read(kind, params.unwrap_or_default()).map(Self::Task)
            }
            _ => Some(Self::Other),
        }
    }

    /// Returns an owned copy.
    pub fn into_owned(self) -> ServerRequest<'static> {
        match self {
            Self::ListRoots => ServerRequest::ListRoots,
            Self::CreateMessage(params) => ServerRequest::CreateMessage(params.into_owned()),
            Self::Elicit(params) => ServerRequest::Elicit(params.into_owned()),
            Self::Task(call) => ServerRequest::Task(call.into_owned()),
            Self::Other => ServerRequest::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_if_its_params_have_the_shape_of_the_method() {
        let is_read = |kind, params| ServerRequest::read(Some(kind), Some(params)).is_some();
        let sampling = |params| is_read(RequestKind::CreateMessage, params);
        assert!(sampling(r#"{"messages":[],"maxTokens":1}"#));
        assert!(sampling(r#"{"messages":[],"maxTokens":-1}"#));
        assert!(!sampling(r#"{"messages":[],"maxTokens":"1"}"#));
        assert!(!sampling(r#"{"messages":[]}"#));
        assert!(!sampling(r#"{"messages":{},"maxTokens":1}"#));
        assert!(is_read(RequestKind::Elicit, r#"{"message":"m"}"#));
        assert!(!is_read(RequestKind::Elicit, r#"{"message":7}"#));
        assert!(is_read(RequestKind::GetTask, r#"{"taskId":"t"}"#));
        assert!(!is_read(RequestKind::GetTask, "{}"));
    }

    #[test]
    fn a_method_that_no_client_serves_is_another_one() {
        let other = Some(ServerRequest::Other);
        assert_eq!(ServerRequest::read(None, None), other);
        assert_eq!(ServerRequest::read(Some(RequestKind::ListTools), None), other);
    }
}
