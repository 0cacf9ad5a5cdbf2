//! Tools that require several inputs of the client, one after the other or all at once. In between, the client
//! holds their state.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, SystemTime};

use hmac::{Hmac, KeyInit, Mac};
use mcp_sansio::capability::Capability;
use mcp_sansio::json::Raw;
use mcp_sansio::model::{
    BooleanSchema, ElicitParams, InputRequired, ObjectSchema, PrimitiveSchema, StringSchema, method,
};
use mcp_sansio::request_state::{Authenticator, Binding, OpenError, StateSealer};
use mcp_sansio::{ErrorCode, Instant, Server};
use mcp_sansio_std::Exchange;
use sha2::Sha256;

use super::asking::{Answered, answer, need, question, text_of, uris};
use super::tools::ToolResult;

/// The time that a client may take for an answer.
const PATIENCE: Duration = Duration::from_secs(600);

/// Authenticates the states that this process has issued.
#[derive(Clone)]
pub(super) struct Rounds {
    key: [u8; 32],
}

impl Default for Rounds {
    /// Creates an authenticator with a random key.
    fn default() -> Self {
        let mut key = [0; 32];
        for (index, bytes) in key.chunks_exact_mut(8).enumerate() {
            // The standard library seeds it from the operating system.
            bytes.copy_from_slice(&RandomState::new().hash_one(index).to_ne_bytes());
        }
        Self { key }
    }
}

impl std::fmt::Debug for Rounds {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Rounds").finish_non_exhaustive()
    }
}

impl Rounds {
    fn mac(&self, message: &[u8]) -> Option<Hmac<Sha256>> {
        // HMAC accepts keys of any length.
        Hmac::<Sha256>::new_from_slice(&self.key).ok().map(|mac| mac.chain_update(message))
    }
}

impl Authenticator for Rounds {
    fn tag(&self, message: &[u8]) -> [u8; 32] {
        self.mac(message).map(|mac| mac.finalize().into_bytes().into()).unwrap_or_default()
    }

    fn verify(&self, message: &[u8], tag: &[u8; 32]) -> bool {
        self.mac(message).is_some_and(|mac| mac.verify_slice(tag).is_ok())
    }
}

impl Rounds {
    /// Runs one of the tools.
    pub(super) fn call(&self, exchange: &Exchange<Server>, name: &str) -> Option<Answered> {
        Some(match name {
            "test_input_required_result_elicitation" => greet(exchange),
            "test_input_required_result_sampling" => capital(exchange),
            "test_input_required_result_list_roots" => roots(exchange),
            "test_input_required_result_request_state" => self.confirm(exchange, "state-ok"),
            "test_input_required_result_tampered_state" => self.confirm(exchange, "unchanged"),
            "test_input_required_result_multiple_inputs" => self.several(exchange),
            "test_input_required_result_multi_round" => self.steps(exchange),
            "test_input_required_result_capabilities" => capabilities(exchange),
            "test_streaming_elicitation" => streaming(exchange),
            _ => return None,
        })
    }

    /// Requires a confirmation, and accepts it only with the state that was issued with the request.
    fn confirm(&self, exchange: &Exchange<Server>, done: &'static str) -> Answered {
        let ask = || {
            let question = ElicitParams::form("Please confirm", flag("ok"));
            let state = self.seal(exchange, "confirm");
            need(exchange, &InputRequired::new().elicit("confirm", question).state(state))
        };
        match self.open(exchange) {
            None => ask(),
            Some(Err(error)) => refuse(exchange, error),
            Some(Ok(_)) => match field(exchange, "confirm", "ok") {
                Some(_) => exchange.respond(&ToolResult::text(done)),
                None => ask(),
            },
        }
    }

    /// Requires all inputs at once.
    fn several(&self, exchange: &Exchange<Server>) -> Answered {
        if let Some(Err(error)) = self.open(exchange) {
            return refuse(exchange, error);
        }
        let name = field(exchange, "user_name", "name");
        let greeting = answer::<method::CreateMessage>(exchange, "greeting");
        let roots = answer::<method::ListRoots>(exchange, "client_roots");
        if let (Some(name), Some(greeting), Some(roots)) = (name, greeting, roots) {
            let text =
                format!("{}, {name}! You have {} roots.", text_of(&greeting), uris(&roots).len());
            return exchange.respond(&ToolResult::text(text));
        }
        let required = InputRequired::new()
            .elicit("user_name", ElicitParams::form("What is your name?", text("name")))
            .sample("greeting", question("Generate a greeting".into(), 50))
            .roots("client_roots")
            .state(self.seal(exchange, "several"));
        need(exchange, &required)
    }

    /// Requires one input after the other, and stores the first answer in the state.
    fn steps(&self, exchange: &Exchange<Server>) -> Answered {
        let state = match self.open(exchange) {
            Some(Err(error)) => return refuse(exchange, error),
            Some(Ok(state)) => Some(state),
            None => None,
        };
        let known = state.as_deref().and_then(|state| state.strip_prefix("name:"));
        let name = field(exchange, "step1", "name");
        match (known, name, field(exchange, "step2", "color")) {
            (Some(name), _, Some(color)) => {
                exchange.respond(&ToolResult::text(format!("{name} likes {color}")))
            }
            (_, Some(name), _) => {
                let text = text("color");
                let question = ElicitParams::form("Step 2: What is your favorite color?", text);
                let state = self.seal(exchange, &format!("name:{name}"));
                need(exchange, &InputRequired::new().elicit("step2", question).state(state))
            }
            _ => {
                let question = ElicitParams::form("Step 1: What is your name?", text("name"));
                let state = self.seal(exchange, "begun");
                need(exchange, &InputRequired::new().elicit("step1", question).state(state))
            }
        }
    }

    fn seal(&self, exchange: &Exchange<Server>, payload: &str) -> String {
        let binding = Binding::of(exchange.request());
        let expiry = Instant::from(SystemTime::now()) + PATIENCE;
        // The sealed payloads are short enough.
        let sealed = StateSealer::new(self).seal(payload.as_bytes(), &binding, expiry);
        sealed.map(|sealed| sealed.into_string()).unwrap_or_default()
    }

    /// Returns the state that the client has sent, if any.
    fn open(&self, exchange: &Exchange<Server>) -> Option<Result<String, OpenError>> {
        let state = exchange.request().state.as_ref()?;
        let (binding, now) = (Binding::of(exchange.request()), Instant::from(SystemTime::now()));
        let opened = StateSealer::new(self).open(state, &binding, now);
        Some(opened.map(|opened| String::from_utf8_lossy(&opened.payload).into_owned()))
    }
}

fn refuse(exchange: &Exchange<Server>, error: OpenError) -> Answered {
    exchange.reject(ErrorCode::INVALID_PARAMS, &format!("requestState: {error}"))
}

fn greet(exchange: &Exchange<Server>) -> Answered {
    match field(exchange, "user_name", "name") {
        Some(name) => exchange.respond(&ToolResult::text(format!("Hello, {name}!"))),
        None => {
            let question = ElicitParams::form("What is your name?", text("name"));
            need(exchange, &InputRequired::new().elicit("user_name", question))
        }
    }
}

fn capital(exchange: &Exchange<Server>) -> Answered {
    match answer::<method::CreateMessage>(exchange, "capital_question") {
        Some(answer) => exchange.respond(&ToolResult::text(text_of(&answer))),
        None => {
            let question = question("What is the capital of France?".into(), 100);
            need(exchange, &InputRequired::new().sample("capital_question", question))
        }
    }
}

fn roots(exchange: &Exchange<Server>) -> Answered {
    match answer::<method::ListRoots>(exchange, "client_roots") {
        Some(roots) => {
            let text = format!("The roots are: {}", uris(&roots).join(", "));
            exchange.respond(&ToolResult::text(text))
        }
        None => need(exchange, &InputRequired::new().roots("client_roots")),
    }
}

/// Requires the inputs that the client supports, and no others.
fn capabilities(exchange: &Exchange<Server>) -> Answered {
    let request = exchange.request();
    if request.inputs.as_ref().is_some_and(|inputs| inputs.members().next().is_some()) {
        return exchange.respond(&ToolResult::text("The client has answered"));
    }
    let mut required = InputRequired::new();
    if request.context.capabilities.contains(Capability::ElicitationForm) {
        let question = ElicitParams::form("What is your name?", text("name"));
        required = required.elicit("user_name", question);
    }
    if request.context.capabilities.contains(Capability::Sampling) {
        required = required.sample("greeting", question("Generate a greeting".into(), 50));
    }
    if required.requests.is_none() {
        return exchange.respond(&ToolResult::text("The client can give nothing"));
    }
    need(exchange, &required)
}

/// Reports progress at once, and then requires input.
fn streaming(exchange: &Exchange<Server>) -> Answered {
    // The client may not have requested progress.
    _ = exchange.progress(mcp_sansio::progress::Progress::new(0_u8).message("asking"));
    greet(exchange)
}

/// Returns a field of a form that the user has filled in.
pub(super) fn field(exchange: &Exchange<Server>, key: &str, name: &str) -> Option<String> {
    field_of_answer(&answer::<method::Elicit>(exchange, key)?, name)
}

/// Returns a field of a form's answer, if the user has filled it in.
pub(super) fn field_of_answer(answer: &Raw<'_>, name: &str) -> Option<String> {
    let accepted = answer.get("action")?.into_str()? == *"accept";
    let content = answer.get("content").filter(|_| accepted)?;
    let value = content.get(name)?;
    let text = value.as_string().map(|text| text.to_str().into_owned());
    text.or_else(|| value.as_bool().map(|value| value.to_string()))
}

/// A form with one text field.
pub(super) fn text(name: &'static str) -> ObjectSchema<'static> {
    form(name, PrimitiveSchema::String(StringSchema::default()))
}

/// A form with one checkbox.
pub(super) fn flag(name: &'static str) -> ObjectSchema<'static> {
    form(name, PrimitiveSchema::Boolean(BooleanSchema::default()))
}

fn form(name: &'static str, field: PrimitiveSchema<'static>) -> ObjectSchema<'static> {
    let mut schema = ObjectSchema::new([(name.into(), field)].into_iter().collect());
    schema.required = Some(vec![name.into()]);
    schema
}

/// The context that a prompt needs, if the user has entered it.
pub(super) fn context(exchange: &Exchange<Server>) -> Option<String> {
    field(exchange, "user_context", "context")
}

/// Requires the context.
pub(super) fn ask_for_context(exchange: &Exchange<Server>) -> Answered {
    let question = ElicitParams::form("What context should the prompt use?", text("context"));
    need(exchange, &InputRequired::new().elicit("user_context", question))
}
