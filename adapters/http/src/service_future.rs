//! [`ServiceFuture`]: the future of a response to a request on a connection that this crate serves.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::Response;
use pin_project_lite::pin_project;

use crate::body::ResponseBody;
use crate::busy_body::BusyBody;
use crate::idle::Busy;

type Boxed = Pin<Box<dyn Future<Output = Response<ResponseBody>> + Send>>;

pin_project! {
    /// Responds to a request. The connection counts as busy until the body of the response is written.
    ///
    /// Nearly all requests are for the endpoint, so that its future needs no allocation. Futures for other paths are
    /// boxed: hyper moves this one for each request, so it must not be larger than that of the endpoint.
    pub(crate) struct ServiceFuture<E> {
        #[pin]
        work: Work<E>,
        busy: Option<Busy>,
    }
}

pin_project! {
    #[project = WorkProjection]
    enum Work<E> {
        OfEndpoint { #[pin] work: E },
        Boxed { work: Boxed },
    }
}

impl<E> ServiceFuture<E> {
    /// Responds with the endpoint.
    pub(crate) fn of_endpoint(work: E, busy: Busy) -> Self {
        Self { work: Work::OfEndpoint { work }, busy: Some(busy) }
    }

    /// Responds with anything else.
    pub(crate) fn boxed(
        work: impl Future<Output = Response<ResponseBody>> + Send + 'static,
        busy: Busy,
    ) -> Self {
        Self { work: Work::Boxed { work: Box::pin(work) }, busy: Some(busy) }
    }
}

impl<E: Future<Output = Response<ResponseBody>>> Future for ServiceFuture<E> {
    type Output = Result<Response<BusyBody<ResponseBody>>, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let response = ready!(match this.work.project() {
            WorkProjection::OfEndpoint { work } => work.poll(context),
            WorkProjection::Boxed { work } => work.as_mut().poll(context),
        });
        let busy = this.busy.take();
        Poll::Ready(Ok(response.map(|body| BusyBody::new(body, busy))))
    }
}
