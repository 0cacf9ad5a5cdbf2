//! An endpoint as a [`tower_service::Service`].

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Buf;
use http_body_util::BodyExt;
use hyper::body::Body;
use hyper::{Request, Response};
use tower_service::Service;

use crate::body::ResponseBody;
use crate::endpoint::Endpoint;

/// An endpoint is a service of `tower` (feature `tower`), so axum and every other router that uses `tower` mounts it.
///
/// The service handles a request like [`Endpoint::handle`], on the path that the router chose, with the extensions
/// that its layers added. It is always ready; [`EndpointOptions::most_open`](crate::EndpointOptions::most_open) limits
/// the number of open requests, and a further one gets status 503. The program calls [`Endpoint::shut_down`] when its
/// server shuts down, because event streams do not end by themselves.
///
/// ```
/// use axum::Router;
/// use axum::routing::get;
/// use mcp_sansio_http::Endpoint;
///
/// fn app(endpoint: Endpoint) -> Router {
///     Router::new().route("/health", get("ok")).route_service("/mcp", endpoint)
/// }
/// # _ = app;
/// ```
///
/// A layer that authenticates does not tell the endpoint who owns a session. Set
/// [`EndpointOptions::identify`](crate::EndpointOptions::identify) from the extension of the layer as well; otherwise
/// every accepted user who knows the id of a session may use it:
///
/// ```
/// use mcp_sansio_http::EndpointOptions;
/// use mcp_sansio_http::mcp_sansio::Principal;
/// use mcp_sansio_http::mcp_sansio::http::Reply;
///
/// /// An extension that the layer inserts.
/// #[derive(Clone)]
/// struct User {
///     number: u64,
/// }
///
/// let options = EndpointOptions::new().identify(|head| match head.extensions.get::<User>() {
///     Some(user) => Ok(Principal::new(user.number)),
///     None => Err(Reply::unauthorized("Bearer")),
/// });
/// ```
///
/// The limits of [`serve`](crate::serve) on connections and on the time for a head are those of the other server here.
///
/// [`EndpointOptions::http`](crate::EndpointOptions::http) allows only the host names and origins of the local computer
/// until the program sets others. For a router with CORS for browsers see the example `axum_server`. A protected
/// endpoint answers preflight requests itself, and its metadata needs routes:
///
/// ```
/// # #[cfg(feature = "auth")] mod example {
/// use axum::extract::Request;
/// use axum::routing::any;
/// use mcp_sansio_http::{Endpoint, Protection};
///
/// /// The endpoint has the options `EndpointOptions::new().protect(protection.clone())`.
/// fn app(endpoint: Endpoint, protection: &Protection) -> axum::Router {
///     let mut app = axum::Router::new();
///     for path in protection.resource().metadata_paths() {
///         let endpoint = endpoint.clone();
///         let serve = move |request: Request| async move { endpoint.handle_metadata(&request) };
///         app = app.route(path, any(serve));
///     }
///     app.route_service("/mcp", endpoint)
/// }
/// # }
/// ```
impl<B> Service<Request<B>> for Endpoint
where
    B: Body<Data: Buf + Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let endpoint = self.clone();
        // The future keeps an error while it waits, and not every error is `Send` before the conversion.
        let request = request.map(|body| body.map_err(Into::into));
        Box::pin(async move { Ok(endpoint.handle(request).await) })
    }
}
