//! OAuth errors as responses.

use serde_json::json;

use super::Response;

/// An error response to a request (RFC 6749, section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    code: &'static str,
    description: &'static str,
}

impl Refusal {
    pub(super) const fn new(code: &'static str, description: &'static str) -> Self {
        Self { code, description }
    }

    pub(super) const fn code(self) -> &'static str {
        self.code
    }

    pub(super) const fn description(self) -> &'static str {
        self.description
    }

    /// Converts the error to a direct response to the client.
    pub(super) fn response(self) -> Response {
        let body = json!({ "error": self.code, "error_description": self.description });
        if self.code == "invalid_client" {
            return Response::json(401, &body).field("www-authenticate", "Basic realm=\"token\"");
        }
        Response::json(400, &body)
    }
}
