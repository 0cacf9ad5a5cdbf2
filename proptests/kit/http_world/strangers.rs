//! The identity of the client, and impostors.

use mcp_sansio::http::{Accepted, Headers, HttpRequest, RequestHead, RequestSource, name};
use mcp_sansio::request::Requestor;
use mcp_sansio::{Era, Principal, Request};

use super::HttpWorld;

/// The number of principals, including the unknown one.
pub(super) const PRINCIPALS: u64 = 3;

impl HttpWorld {
    /// Returns the source of a client's requests.
    pub(super) fn source(&self, client: usize) -> RequestSource {
        RequestSource::from(self.clients[client].principal)
    }

    /// Keeps a request that names a session, for strangers to replay.
    pub(super) fn keep_for_replay(&mut self, client: usize, request: &HttpRequest) {
        let mut names = request.headers.iter().map(|(name, _)| name);
        if names.any(|one| one.eq_ignore_ascii_case(name::SESSION_ID)) {
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
        if is_own && context.principal == expected {
            return Ok(());
        }
        Err(format!("owner: {expected:?} came from {:?}", context.requestor))
    }

    /// A stranger replays a request of a client's session.
    pub(super) fn intrude(&mut self, which: u64) -> Result<(), String> {
        let (client, which) = self.client(which);
        let Some(request) = self.clients[client].named.clone() else { return Ok(()) };
        let own = self.clients[client].principal.get();
        let stranger = Principal::new((own + 1 + which % (PRINCIPALS - 1)) % PRINCIPALS);
        let mut fields: Vec<(&str, &[u8])> =
            request.headers.iter().map(|(name, value)| (&**name, value.as_bytes())).collect();
        fields.push(("Host", b"localhost"));
        let (headers, now) = (Headers::from(&*fields), self.now);
        let admitted = self.http.admit(&RequestHead::new(request.method, &*fields));
        let done = match admitted {
            Ok(Accepted::Post) => {
                let body = &request.body;
                self.http.post(headers, body, stranger, [0; 16], now, &|_| None).map(|_| ())
            }
            Ok(Accepted::Listen { session, last_event }) => {
                self.http.listen(session, last_event, stranger, now).map(|_| ())
            }
            Ok(Accepted::End { session }) => self.http.end(session, stranger, now).map(|_| ()),
            Ok(_) => return Err("unknown admission".into()),
            // The client's own request would be refused as well.
            Err(_) => return Ok(()),
        };
        self.note_value(
            format_args!("stranger {}: {done:?}", stranger.get()),
            &(stranger.get(), &done),
        );
        match done {
            Err(reply) if reply.status == 404 => Ok(()),
            done => Err(format!("stranger: {} gets {done:?}", request.method)),
        }
    }
}
