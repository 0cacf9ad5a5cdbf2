//! Input of clients: for modern servers, which end their calls, and for calls of legacy servers, which wait.

use mcp_sansio::json::Raw;
use mcp_sansio::model::{InputRequest, InputRequired, Text};
use mcp_sansio::{ErrorCode, RespondError};
use mcp_sansio_tokio::Exchange;

use super::call::Call;
use super::follow::Followed;
use super::params::Subject;
use super::parking::{Parked, Questions, input_of};
use super::responses::{cannot_be_asked, explained, refuse, unfollowed};
use super::routes::text;
use super::state::State;
use super::tasks::become_task;
use crate::client_key::for_limits;
use crate::gateway::Gateway;
use crate::upstream::Upstream;

impl Gateway {
    /// Ends a request with the input that a modern server requires.
    pub(super) fn require(
        &self,
        exchange: &Exchange,
        upstream: &Upstream,
        needed: &Raw<'_>,
    ) -> Result<(), RespondError> {
        let mut required = InputRequired::new();
        let requests = needed.get("inputRequests");
        for (key, request) in requests.iter().flat_map(Raw::members) {
            let request = InputRequest::Unknown(request.into_owned());
            required = required.request(key.to_str().into_owned(), request);
        }
        let (request, state) = (exchange.request(), text(needed, "requestState"));
        let is_resource = matches!(Subject::of(&request.kind), Some(Subject::Uri(_)));
        if state.is_some() || is_resource {
            // A name leads to its server again, a resource not necessarily.
            let state = State::OfServer { server: upstream.config.name.clone(), state };
            let Some(sealed) = self.states().seal(&state, request) else {
                let message = format!("the server {}: its state is too long", upstream.config.name);
                return exchange.reject(ErrorCode::INTERNAL_ERROR, &message);
            };
            required.state = Some(Text::from(sealed));
        }
        explained(exchange, exchange.require_input(&required))
    }

    /// Gives the requests of a server to a modern client, which repeats its request with the answers.
    ///
    /// # Errors
    ///
    /// The client cannot be asked: it has not declared that, or its request is of a method without input. The requests
    /// are refused, and the call goes on.
    pub(super) fn park(
        &self,
        exchange: &Exchange,
        mut call: Call,
        mut questions: Questions,
    ) -> Result<Result<(), RespondError>, Box<Parked>> {
        let client = for_limits(exchange);
        let number = self.parking().reserve(client);
        let sealed = number.and_then(|number| {
            Some((number, self.states().seal(&State::Parked(number), exchange.request())?))
        });
        let Some((number, state)) = sealed else {
            let message = "too many calls wait for input";
            questions.refuse(message);
            return Ok(exchange.reject(ErrorCode::INTERNAL_ERROR, message));
        };
        let required = questions.required(Some(state));
        // The client may come back before this returns, so the call is parked first.
        let place = call.pause();
        self.parking().park(number, client, Parked { call, questions });
        let asked = exchange.require_input(&required);
        if let Err(error) = &asked
            && let Some(mut parked) = self.parking().take(number)
        {
            parked.questions.refuse(&format!("the client cannot be asked: {error}"));
            if cannot_be_asked(error) {
                parked.call.go_on(place);
                return Err(Box::new(parked));
            }
        }
        Ok(asked)
    }

    /// Continues a parked call, whose client has repeated its request.
    pub(super) async fn come_back(
        &self,
        exchange: Exchange,
        number: u128,
    ) -> Result<(), RespondError> {
        let Some(Parked { mut call, mut questions }) = self.parking().take(number) else {
            let message = "this request has been answered, or its client has not come back in time";
            return exchange.reject(ErrorCode::INVALID_PARAMS, message);
        };
        let entered = tokio::select! {
            biased;
            () = exchange.cancelled() => false,
            entered = call.enter() => entered,
        };
        if !entered {
            questions.refuse("the call was given up");
            let name = &call.upstream.config.name;
            let message = format!("the server {name}: too many calls are in progress");
            return exchange.reject(ErrorCode::INTERNAL_ERROR, &message);
        }
        call.resume();
        questions.answer(|key| input_of(exchange.request(), key));
        match self.follow(&exchange, call, questions).await {
            Followed::Responded(responded) => responded,
            Followed::Task(call) => become_task(self, &exchange, *call),
            Followed::NotSent => unfollowed(&exchange),
            Followed::NotThere(error) => refuse(&exchange, &error),
            Followed::Failed(problem) => exchange.reject(ErrorCode::INTERNAL_ERROR, &problem),
        }
    }
}
