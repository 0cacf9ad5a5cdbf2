//! The identity of the client, and impostors.

use mcp_sansio::http::{
    Accepted, Headers, HttpExchange, HttpRequest, RequestHead, ResponsePart, name,
};
use mcp_sansio::request::Requestor;
use mcp_sansio::{ClientRequest, Era, Frames, Principal, Request};

use super::HttpWorld;
use super::checks::Spoken;
use super::secrets::client_in;

/// The number of principals, including the unknown one.
pub(super) const PRINCIPALS: u64 = 3;

impl HttpWorld {
    /// Keeps a request that names a session, or a task without a session, for strangers to replay.
    pub(super) fn keep_for_replay(&mut self, client: usize, request: &HttpRequest) {
        let is_about = |field: &str, value: &str| {
            field.eq_ignore_ascii_case(name::SESSION_ID)
                || (field.eq_ignore_ascii_case(name::METHOD) && value.starts_with("tasks/"))
        };
        if request.headers.iter().any(|(field, value)| is_about(field, value)) {
            self.clients[client].named = Some(request.clone());
        }
    }

    /// Checks that a request at the application carries the identity of its sender.
    pub(super) fn check_owner(&self, request: &Request<'_>, sender: usize) -> Result<(), String> {
        let context = request.context;
        let expected = self.clients[sender].principal;
        let is_known = expected != Principal::default();
        let is_own = match context.requestor {
            Requestor::Principal(principal) => is_known && principal == expected,
            Requestor::Session(_) => !is_known && context.era() == Era::Legacy,
            Requestor::Unknown(_) => !is_known && context.era() == Era::Modern,
            _ => false,
        };
        if !is_own || context.principal != expected {
            return Err(format!("owner: {expected:?} came from {:?}", context.requestor));
        }
        if let ClientRequest::Task(_) = request.kind {
            // The id may be that of another client.
            return Ok(());
        }
        let texts = [request.params.as_ref(), request.inputs.as_ref()];
        texts.into_iter().flatten().try_for_each(|text| self.check_sent(sender, text.as_json()))
    }

    /// A stranger replays a request of a client's session.
    pub(super) fn intrude(&mut self, which: u64) -> Result<(), String> {
        let (client, which) = self.client(which);
        let Some(request) = self.clients[client].named.clone() else { return Ok(()) };
        let own = self.clients[client].principal.get();
        let stranger =
            Principal::new((own.wrapping_add(1 + which % (PRINCIPALS - 1))) % PRINCIPALS);
        let mut fields: Vec<(&str, &[u8])> =
            request.headers.iter().map(|(name, value)| (&**name, value.as_bytes())).collect();
        fields.push(("Host", b"localhost"));
        let (headers, now) = (Headers::from(&*fields), self.now);
        let admitted = self.http.admit(&RequestHead::new(request.method, &*fields));
        let done = match admitted {
            Ok(Accepted::Post) => {
                let body = &request.body;
                self.http.post(headers, body, stranger, [0; 16], now, &|_| None)
            }
            Ok(Accepted::Listen { session, last_event }) => {
                self.http.listen(session, last_event, stranger, now).map(Some)
            }
            Ok(Accepted::End { session }) => self.http.end(session, stranger, now).map(|_| None),
            Ok(_) => return Err("unknown admission".into()),
            // The client's own request would be refused as well.
            Err(_) => return Ok(()),
        };
        let is_refused = done.as_ref().is_err_and(|reply| reply.status == 404);
        self.note_value(
            format_args!("stranger {}: {done:?}", stranger.get()),
            &(stranger.get(), is_refused),
        );
        match done {
            Err(reply) if reply.status == 404 => Ok(()),
            // Without a session, the request is served, but the task does not exist for the stranger.
            Ok(Some(exchange)) if Spoken::of(&request).is_modern() => {
                self.serve_stranger(stranger, exchange, &request.body)
            }
            done => Err(format!("stranger: {} gets {done:?}", request.method)),
        }
    }

    /// Serves the request of a stranger about a task of a client.
    fn serve_stranger(
        &mut self,
        stranger: Principal,
        exchange: HttpExchange,
        body: &[u8],
    ) -> Result<(), String> {
        let (now, limits) = (self.now, self.http.limits().clone());
        for frame in Frames::of(body, &limits) {
            let event = self.http.receive(exchange, frame, now);
            let event = event.map(|event| (exchange.connection(), event.into_owned()));
            self.server_saw(event)?;
        }
        // A client may have asked for the task of a client with this principal.
        let owner = client_in(&String::from_utf8_lossy(body));
        let is_owner = owner.is_some_and(|owner| self.clients[owner].principal == stranger);
        let is_found = self.is_found.take() == Some(true) && is_owner;
        let mut response = Vec::new();
        while !matches!(
            self.http.next(exchange, now, &mut response),
            ResponsePart::End | ResponsePart::Nothing
        ) {}
        self.http.disconnected(exchange, now);
        let response = String::from_utf8_lossy(&response);
        if is_found {
            return Ok(());
        }
        // Some clients have not declared the extension, and the copies of their requests are refused for that.
        if response.contains("\"error\":{") && client_in(&response).is_none() {
            return Ok(());
        }
        Err(format!("stranger: {} gets {response}", String::from_utf8_lossy(body)))
    }
}
