//! Serves a connection with a service of the application.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::body::ResponseBody;
use crate::busy_body::BusyBody;
use crate::endpoint::Endpoint;
use crate::idle::Activity;
use crate::prompt::Prompt;
use crate::serve::{builder, drive};

/// Serves one connection with a function of the application, which may call [`Endpoint::handle`]
/// for some requests. The time limits for clients are those of [`serve`](crate::serve). After `stopped`, the connection ends
/// with the requests that it is serving.
///
/// # Errors
///
/// The error of hyper if the connection fails. A client that disconnects between requests is not an error.
pub async fn serve_connection<F, B>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    respond: impl Fn(Request<Incoming>) -> F + Send + 'static,
    stopped: impl Future<Output = ()>,
) -> Result<(), Box<dyn Error + Send + Sync>>
where
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let activity = Activity::new();
    let noting = activity.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        if request.version() == Version::HTTP_2 {
            noting.note_http2();
        }
        let busy = noting.begin();
        let response = respond(request);
        async move {
            let response = response.await;
            Ok::<_, Infallible>(response.map(|body| BusyBody::new(body, Some(busy))))
        }
    });
    let stream = Prompt::new(TokioIo::new(stream), activity.clone());
    let builder = builder();
    drive(builder.serve_connection(stream, service), activity, stopped).await
}

impl Endpoint {
    /// Returns the response to a request for the metadata of a protected endpoint, which is at paths of its own; `None` if
    /// the request has another path, or the endpoint is not protected.
    pub fn metadata<B>(&self, request: &Request<B>) -> Option<Response<ResponseBody>> {
        self.has_metadata_at(request.uri().path()).then(|| self.handle_metadata(request))
    }
}
