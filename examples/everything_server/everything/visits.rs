//! Tools that send the user to a web page.

use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_sansio::error::ErrorObject;
use mcp_sansio::model::{ElicitAction, ElicitParams, ElicitationRequired, InputRequired, method};
use mcp_sansio::{Era, ErrorCode, RespondError, Server};
use mcp_sansio_std::Exchange;

use super::asking::{Answered, answer, need};
use super::tools::ToolResult;

/// The page that these tools send users to.
const PAGE: &str = "https://example.com/sign-in";

/// The state of the user's visits to the page.
#[derive(Debug, Default)]
pub(super) struct Visits {
    state: Mutex<VisitState>,
}

#[derive(Debug, Default)]
struct VisitState {
    /// The number of elicitations, from which each gets its id.
    asked: u64,
    /// Whether the user has visited the page. This server only pretends to know.
    visited: bool,
}

impl Visits {
    /// Sends the user to the page, and announces the completion at once, because the page does not exist.
    pub(super) fn visit(&self, exchange: &Exchange<Server>) -> Answered {
        if exchange.request().context.era() == Era::Modern {
            return visit_without_session(exchange);
        }
        // A legacy client receives a notification of the completion, so the id matters.
        let id = self.next_id();
        let params = ElicitParams::url("Please sign in", PAGE, id.as_str());
        let handle = exchange.handle();
        let reply = match handle.call::<method::Elicit>(&params, exchange.call_options()).wait() {
            Ok(reply) => reply,
            Err(failure) => return exchange.respond(&ToolResult::error(failure.to_string())),
        };
        exchange.respond(&match reply.parse().map(|answer| answer.action) {
            Ok(ElicitAction::Accept) => match handle.elicitation_complete(&id) {
                Ok(_) => ToolResult::text("The user has been to the page"),
                Err(error) => ToolResult::error(error.to_string()),
            },
            Ok(action) => ToolResult::text(format!("The user said {}", action.as_str())),
            Err(error) => ToolResult::error(error.to_string()),
        })
    }

    /// Fails until the user has visited the page, which happens once the client has received the URL.
    pub(super) fn need(&self, exchange: &Exchange<Server>) -> Answered {
        if self.state().visited {
            return exchange.respond(&ToolResult::text("Welcome back"));
        }
        let id = self.next_id();
        let visit = ElicitParams::url("Please sign in", PAGE, id.as_str());
        let code = ErrorCode::URL_ELICITATION_REQUIRED;
        let data = ElicitationRequired::new([visit]);
        match exchange.reject_with(&ErrorObject::with(code, "Please sign in first", &data)?) {
            Ok(()) => {
                self.state().visited = true;
                _ = exchange.handle().elicitation_complete(&id);
                Ok(())
            }
            Err(RespondError::NotAllowed(error)) => {
                exchange.respond(&ToolResult::error(error.to_string()))
            }
            Err(error) => Err(error),
        }
    }

    fn next_id(&self) -> String {
        let mut state = self.state();
        state.asked += 1;
        format!("visit-{}", state.asked)
    }

    fn state(&self) -> MutexGuard<'_, VisitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As [`Visits::visit`], in the modern era: the client repeats the call when the user has decided.
fn visit_without_session(exchange: &Exchange<Server>) -> Answered {
    const KEY: &str = "visit";
    let Some(answer) = answer::<method::Elicit>(exchange, KEY) else {
        let visit = ElicitParams::visit("Please sign in", PAGE);
        return need(exchange, &InputRequired::new().elicit(KEY, visit));
    };
    let action = answer.get("action").and_then(|action| action.into_str());
    let action = action.map(|action| action.to_str().into_owned()).unwrap_or_default();
    exchange.respond(&match action.as_str() {
        "accept" => ToolResult::text("The user has been to the page"),
        action => ToolResult::text(format!("The user said {action}")),
    })
}
