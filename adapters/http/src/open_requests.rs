//! `OpenRequests`: the number of open requests of an endpoint, in total and per client.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use mcp_sansio::Server;
use mcp_sansio::http::{Reply, RequestSource};
use mcp_sansio::json::ScannedFrame;
use mcp_sansio::request::Requestor;
use mcp_sansio_driver::{AcceptedPost, Attachment, Permit, PostEntry, PostRefused, Wire};
use tokio::sync::Notify;

use crate::endpoint::{Inner, lock};
use crate::http_request::HttpRequest;
use crate::options::EndpointOptions;

/// The open requests of an endpoint. Each one is an [`OpenRequest`]. Clones share one count.
///
/// A request counts from its admission, not from the start of its handler. Requests that wait for a handler are
/// therefore limited as well, no task must be woken when a request ends, and a client learns at once that it should
/// retry later.
#[derive(Clone, Debug)]
pub(crate) struct OpenRequests {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    most: usize,
    most_of_client: usize,
    total: AtomicUsize,
    /// The counts of the identifiable clients with open requests. A hash map keeps its memory when it becomes empty,
    /// which happens after each request of a quiet endpoint.
    of_client: Mutex<HashMap<Requestor, usize>>,
    /// Notified when the last request ends, if `is_awaited`.
    ended: Notify,
    is_awaited: AtomicBool,
}

impl OpenRequests {
    /// Creates an empty count with the limits of these options.
    pub(crate) fn new(options: &EndpointOptions) -> Self {
        let shared = Shared {
            most: options.most_open,
            most_of_client: options.open_of_client,
            total: AtomicUsize::new(0),
            of_client: Mutex::default(),
            ended: Notify::new(),
            is_awaited: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Returns the number of open requests.
    pub(crate) fn len(&self) -> usize {
        self.shared.total.load(Ordering::Relaxed)
    }

    /// Waits until no request is open.
    pub(crate) async fn ended(&self) {
        let Shared { total, ended, is_awaited, .. } = &*self.shared;
        // Sequentially consistent, like the end of a request: either that end finds the flag, or the count is zero here.
        is_awaited.store(true, Ordering::SeqCst);
        loop {
            let mut notified = pin!(ended.notified());
            notified.as_mut().enable();
            if total.load(Ordering::SeqCst) == 0 {
                return;
            }
            notified.await;
        }
    }

    /// Counts one more request of this client. `carrier` returns the HTTP request that carries it, once it is counted.
    ///
    /// # Errors
    ///
    /// If a limit is reached: the text names the option.
    fn begin(
        &self,
        source: RequestSource,
        carrier: impl FnOnce() -> Option<Carrier>,
    ) -> Result<Arc<OpenRequest>, &'static str> {
        let Shared { most, most_of_client, total, of_client, .. } = &*self.shared;
        let more = |count: usize| (count < *most).then_some(count + 1);
        total.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map_err(|_| FULL)?;
        // Dropping this value on the error path reverts the count.
        let mut counted = Counted { shared: Arc::clone(&self.shared), client: None };
        if let Some(client) = source.client() {
            let mut of_client = lock(of_client);
            let count = of_client.get(&client).copied().unwrap_or_default();
            if *most_of_client <= count {
                return Err(FULL_FOR_CLIENT);
            }
            of_client.insert(client, count + 1);
            counted.client = Some(client);
        }
        // An HTTP request is large, so it is moved only here.
        Ok(Arc::new(OpenRequest { carrier: carrier(), _counted: counted }))
    }
}

/// An open request, which counts until it is dropped.
///
/// The response to the request holds it, and so does its handler: a client that disconnects frees nothing while the
/// handler runs.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    carrier: Option<Carrier>,
    _counted: Counted,
}

/// One more request in the total, and in the count of its client if that is known. Dropping it ends that.
#[derive(Debug)]
struct Counted {
    shared: Arc<Shared>,
    client: Option<Requestor>,
}

/// The HTTP request that carries a request.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "nearly every request has its own one, without another allocation"
)]
enum Carrier {
    Own(HttpRequest),
    /// That of an earlier request of the same batch.
    Of(Arc<OpenRequest>),
}

impl OpenRequest {
    fn http_request(&self) -> Option<&HttpRequest> {
        match self.carrier.as_ref()? {
            Carrier::Own(request) => Some(request),
            // The earlier request has its own one, so this ends after one step.
            Carrier::Of(earlier) => earlier.http_request(),
        }
    }
}

impl Attachment for OpenRequest {
    fn value(&self, kind: TypeId) -> Option<&dyn Any> {
        let request = self.http_request().filter(|_| kind == TypeId::of::<HttpRequest>())?;
        Some(request)
    }

    fn session_id(&self) -> Option<&str> {
        self.http_request()?.headers().get("mcp-session-id")?.to_str().ok()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some(client) = self.client {
            let mut of_client = lock(&self.shared.of_client);
            if let Some(count) = of_client.get_mut(&client) {
                *count -= 1;
                if *count == 0 {
                    of_client.remove(&client);
                }
            }
        }
        let before = self.shared.total.fetch_sub(1, Ordering::SeqCst);
        if before == 1 && self.shared.is_awaited.load(Ordering::SeqCst) {
            self.shared.ended.notify_waiters();
        }
    }
}

/// A body, the validator's scan of it, its source, and its HTTP request until a request of the body takes it.
pub(crate) type Posted<'s, 'b> =
    (&'b [u8], &'s mut ScannedFrame<'b>, RequestSource, &'s mut Option<HttpRequest>);

/// An accepted body, and the permit of its request if a handler holds it.
pub(crate) type Begun = (AcceptedPost, Option<Arc<OpenRequest>>);

impl Inner {
    /// Admits a request to a connection of its own.
    ///
    /// # Errors
    ///
    /// If a limit is reached: the [`Reply`] refuses the request.
    pub(crate) fn admit(
        &self,
        source: RequestSource,
        request: &mut Option<HttpRequest>,
    ) -> Result<Arc<OpenRequest>, Reply> {
        let carrier = || request.take().map(Carrier::Own);
        self.open_requests.begin(source, carrier).map_err(Reply::busy)
    }

    /// Admits a body to a session. At a limit a single request other than `ping` is refused; other bodies are
    /// admitted without a permit.
    ///
    /// # Errors
    ///
    /// If a limit is reached: the [`Reply`] refuses the request.
    pub(crate) fn admit_to_session(
        &self,
        source: RequestSource,
        request: &mut Option<HttpRequest>,
        body: &[u8],
    ) -> Result<Option<Arc<OpenRequest>>, Reply> {
        match self.open_requests.begin(source, || request.take().map(Carrier::Own)) {
            Ok(open) => Ok(Some(open)),
            Err(_) if !self.validator.is_request(body) => Ok(None),
            Err(text) => Err(Reply::busy(text)),
        }
    }

    /// Passes a body to its connection, with the permit for its first request if it was admitted. Returns the permit
    /// if a handler holds it, because the response then holds it as well.
    pub(crate) fn hand_over<'b>(
        &self,
        wire: &Arc<Wire<Server>>,
        (body, scanned, source, request): Posted<'_, 'b>,
        admitted: Option<Arc<OpenRequest>>,
        entry: PostEntry,
    ) -> Result<Begun, PostRefused> {
        let (mut first, mut held, mut earlier) = (admitted, None, None::<Arc<OpenRequest>>);
        let accepted = wire.post(body, scanned, source, entry, &mut || {
            if self.keeps_sessions() {
                return Err(CLOSING);
            }
            let open = match first.take() {
                Some(open) => Arc::clone(held.insert(open)),
                // Another request of a batch.
                None => self.open_requests.begin(source, || match request.take() {
                    Some(request) => Some(Carrier::Own(request)),
                    None => held.as_ref().or(earlier.as_ref()).cloned().map(Carrier::Of),
                })?,
            };
            if held.is_none() && earlier.is_none() {
                earlier = Some(Arc::clone(&open));
            }
            Ok(open as Permit)
        })?;
        Ok((accepted, held))
    }

    /// Passes a body to a session. A single request other than `ping` waits until the connection has room; every
    /// other body is accepted at once. Returns `None` if the request is cancelled while it waits.
    pub(crate) async fn hand_over_to_session<'b>(
        &self,
        wire: &Arc<Wire<Server>>,
        (body, scanned, source, request): Posted<'_, 'b>,
    ) -> Result<Option<Begun>, Reply> {
        let admitted = self.admit_to_session(source, request, body)?;
        let mut begin = |entry| {
            let posted = (body, &mut *scanned, source, &mut *request);
            self.hand_over(wire, posted, admitted.clone(), entry)
        };
        let mut begun = begin(PostEntry::IfRoom);
        if begun.as_ref().is_err_and(|refused| *refused == PostRefused::NoRoom) {
            if self.validator.is_request(body) {
                let mut room = wire.post_room(body);
                while begun.as_ref().is_err_and(|refused| *refused == PostRefused::NoRoom) {
                    (&mut room).await;
                    begun = begin(room.place().map_or(PostEntry::Always, PostEntry::Waited));
                }
            } else {
                begun = begin(PostEntry::Always);
            }
        }
        match begun {
            Ok(begun) => Ok(Some(begun)),
            Err(PostRefused::Cancelled) => Ok(None),
            Err(_) => Err(self.no_session()),
        }
    }
}

/// The reason of a refused request of a batch, which is not refused as a whole.
const CLOSING: &str = "the server restarts";
const FULL: &str = "too many requests are being answered (EndpointOptions::most_open)";
const FULL_FOR_CLIENT: &str =
    "too many requests of this client are being answered (EndpointOptions::open_of_client)";
