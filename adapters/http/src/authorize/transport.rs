//! `Authorized`: a transport that adds access tokens.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use mcp_sansio::auth::{AuthorizationFailure, Challenged, Challenges, Permit, Verdict, WebUrl};
use mcp_sansio::http::Headers;
use mcp_sansio_driver::Clock;

use super::authorization::{Authorization, Shared};
use super::operation;
use crate::{SendError, Transport};

/// A [`Transport`] for a server that requires an access token. Requests carry the token of an [`Authorization`]. A
/// request that is refused with 401, or with 403 for lack of scope, waits for another token and is sent again.
///
/// The same HTTP request is sent again: a server that responds with 401 or 403 has not executed it. Only requests
/// without a valid token wait for a login in progress. A `DELETE`, which ends a session, begins no login: if a refresh
/// brings no token, the response is that of the server. A connection that uses this transport has no timeouts while a
/// user is asked. [`Connection::close`](crate::Connection::close) still ends the connection in time.
///
/// A call fails with [`TransportErrorKind::Authorization`](mcp_sansio::error::TransportErrorKind::Authorization) if
/// there is no token for it, or with
/// [`AuthorizationUnavailable`](mcp_sansio::error::TransportErrorKind::AuthorizationUnavailable) if the failure
/// [is temporary](AuthorizationFailure::is_temporary). The [`AuthorizationFailure`] is among the sources of the error.
///
/// A request that already has an `Authorization` field, because the application configured one, fails: the two are
/// mutually exclusive.
///
/// Requests to authorization servers use the same transport, so it must usually support TLS. The transport must not
/// follow redirects, and should resolve names with a [`CheckedResolver`](super::CheckedResolver).
#[derive(Clone, Debug)]
pub struct Authorized<T> {
    transport: T,
    authorization: Authorization,
}

/// The maximum number of attempts of a request: without a token, with a token, and twice with more scopes.
const MOST_ATTEMPTS: usize = 4;

impl<T: Transport> Authorized<T> {
    /// Wraps a transport, with the tokens of this authorization.
    pub const fn new(transport: T, authorization: Authorization) -> Self {
        Self { transport, authorization }
    }

    fn shared(&self) -> &Shared {
        &self.authorization.handle.shared
    }

    /// Waits until the request may be sent. Returns the `Authorization` field with the generation of its token.
    async fn permit(
        &self,
        url: &str,
        forgoes_login: bool,
    ) -> Result<Option<(HeaderValue, u64)>, AuthorizationFailure> {
        for _ in 0..MOST_ATTEMPTS {
            let ticket = self.authorization.request();
            let key = ticket.key;
            let permitted = self.shared().with(|authorizer, now| {
                if let Permit::Send(token) = authorizer.permit(key, url, now) {
                    return Some(token.and_then(|token| {
                        let mut field = HeaderValue::from_str(token.field().expose()).ok()?;
                        field.set_sensitive(true);
                        Some((field, token.generation()))
                    }));
                }
                if forgoes_login {
                    authorizer.forgo_login(key);
                }
                None
            });
            match permitted {
                Some(permitted) => return Ok(permitted),
                None => wait(ticket.released().await)?,
            }
        }
        Ok(None)
    }

    /// Passes a refusal to the authorizer, and waits for its decision. Returns `None` if the response is not about
    /// authorization.
    async fn challenged(
        &self,
        url: &str,
        response: &Response<Incoming>,
        generation: Option<u64>,
        body: &[u8],
        forgoes_login: bool,
    ) -> Option<Result<(), AuthorizationFailure>> {
        let fields: Vec<(&str, &[u8])> = response
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
            .collect();
        let challenges = Challenges::of(Headers::from(&fields[..]));
        let is_challenge = match response.status() {
            StatusCode::UNAUTHORIZED => true,
            StatusCode::FORBIDDEN => challenges.bearer().is_some(),
            _ => false,
        };
        // A response of another server does not concern the tokens of this one.
        let is_of_server = || {
            let url = WebUrl::parse(url);
            let same =
                |url: WebUrl| self.shared().with(|it, _| it.config().server().is_same_origin(&url));
            url.is_ok_and(same)
        };
        if !is_challenge || !is_of_server() {
            return None;
        }
        self.authorization.look_into_storage().await;
        let operation = operation::of(body);
        let challenged = Challenged::new(response.status().as_u16(), &challenges)
            .generation(generation)
            .operation(&operation);
        let ticket = self.authorization.request();
        let key = ticket.key;
        self.shared().with(|authorizer, now| {
            authorizer.challenged(key, challenged, now);
            if forgoes_login {
                authorizer.forgo_login(key);
            }
        });
        Some(wait(ticket.released().await))
    }
}

fn wait(released: Option<Verdict>) -> Result<(), AuthorizationFailure> {
    match released {
        Some(Verdict::Send) => Ok(()),
        Some(Verdict::Fail(failure)) => Err(failure),
        None => Err(AuthorizationFailure::Abandoned),
    }
}

impl<T: Transport> Transport for Authorized<T> {
    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, SendError> {
        self.authorization.start(&self.transport).await;
        let failed = |failure: AuthorizationFailure| SendError::Unreachable(failure.into());
        let (head, body) = request.into_parts();
        if head.headers.contains_key(AUTHORIZATION) {
            return Err(failed(AuthorizationFailure::Host(
                "leave the Authorization field to the authorization",
            )));
        }
        let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let url = head.uri.to_string();
        let revision = operation::revision(&head);
        // The user is not asked to log in for the end of a session.
        let forgoes_login = head.method == Method::DELETE;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let token = self.permit(&url, forgoes_login).await.map_err(failed)?;
            let (field, generation) = token.unzip();
            let response = self.transport.send(with_field(&head, &body, field)).await?;
            match self.challenged(&url, &response, generation, &body, forgoes_login).await {
                None => {
                    let revision = revision.filter(|_| response.status().is_success());
                    // A server that fails may not have checked the token.
                    let generation = generation.filter(|_| !response.status().is_server_error());
                    self.shared().with(|authorizer, _| authorizer.accepted(generation, revision));
                    return Ok(response);
                }
                Some(Ok(())) if attempts < MOST_ATTEMPTS => {}
                Some(Ok(())) => return Ok(response),
                Some(Err(_)) if forgoes_login => return Ok(response),
                Some(Err(failure)) => return Err(failed(failure)),
            }
        }
    }

    fn clock(&self) -> Option<Clock> {
        Some(self.authorization.clock())
    }
}

fn with_field(head: &Parts, body: &Bytes, field: Option<HeaderValue>) -> Request<Full<Bytes>> {
    let mut request = Request::from_parts(head.clone(), Full::new(body.clone()));
    if let Some(field) = field {
        request.headers_mut().insert(AUTHORIZATION, field);
    }
    request
}
