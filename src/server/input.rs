//! What a server needs of a client before it can answer
//! ([MRTR](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr)).

use super::event::{Request, ServerEvent};
use super::{Call, Server};
use crate::dialect::RespondError;
use crate::json::{Object, Raw, Str};
use crate::model::InputRequired;
use crate::peer::{Outlets, Resumed};
use crate::time::Instant;

/// # Asking for input
impl Server {
    /// Ends a request because something is needed of the client before it can be answered: something the
    /// user has to fill in, the answer of a model, the roots. The request comes again, as another
    /// [`Request`] event, with [`inputs`](Request::inputs) and [`state`](Request::state).
    ///
    /// The handler is the same in both eras. Where requests stand alone the client is told, and makes
    /// the request again if and when it likes; nothing of it is kept here. In a session the machine asks
    /// the client itself, one request for each thing, and the same request (it has the same
    /// [`id`](Request::id)) comes again once all answers are there. If one of them is an error or does
    /// not come in time, the machine answers the request with a failure and says so with
    /// [`CancelCause::InputFailed`](crate::CancelCause::InputFailed).
    ///
    /// Only `tools/call`, `prompts/get` and `resources/read` may need input. A client can bring back any
    /// state: [`request_state`](crate::request_state) protects it.
    ///
    /// # Errors
    ///
    /// [`RespondError::NotAllowed`] if the request is not of these methods, or if the client has not
    /// declared what is asked for ([`reject_missing`](Self::reject_missing) tells it so), or if it cannot be
    /// asked any more because the connection is closing;
    /// [`RespondError::Encode`] if neither anything is asked for nor a state is given, or if something
    /// that is asked for does not fit the revision. The request is still open.
    pub fn require_input(
        &mut self,
        request: &Request<'_>,
        required: &InputRequired<'_>,
        now: Instant,
        out: &mut impl Outlets,
    ) -> Result<(), RespondError> {
        let params = request.params.as_ref().map(Raw::as_json);
        let request = (request.id, params);
        let (peer, cx) = &mut self.connection.enter(Some(now), out);
        peer.serving.require_input(cx, request, required)
    }

    /// A request comes again.
    pub(super) fn resumed(&self, resumed: Resumed) -> Option<ServerEvent<'static>> {
        let Resumed { id, kind, params, inputs, state } = resumed;
        let context = self.context(id)?;
        let method = Str::from(kind?.rule().name);
        let call = Call::read(kind, params.as_deref().map(Object::of).as_ref())?.into_owned();
        let params = params.map(|params| Raw::trusted(&params).into_owned());
        let meta = params.as_ref().and_then(|params| params.get("_meta")).map(Raw::into_owned);
        let inputs = Some(Raw::trusted(&inputs).into_owned());
        let state = state.map(|state| Str::from(&*state).into_owned());
        let request = Request { id, context, call, method, params, meta, inputs, state };
        Some(ServerEvent::Request(request))
    }
}
