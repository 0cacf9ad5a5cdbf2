//! `OpenRequests`: the number of open requests of an endpoint, in total and per client.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use mcp_sansio::Server;
use mcp_sansio::http::{Reply, RequestSource, RequestValidator, ResponseId};
use mcp_sansio::json::ScannedFrame;
use mcp_sansio::request::Requestor;
use mcp_sansio_driver::{Permit, PostEntry, PostRefused, Wire};

use crate::endpoint::{Inner, lock};
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
}

impl OpenRequests {
    /// Creates an empty count with the limits of these options.
    pub(crate) fn new(options: &EndpointOptions) -> Self {
        let shared = Shared {
            most: options.most_open,
            most_of_client: options.open_of_client,
            total: AtomicUsize::new(0),
            of_client: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Returns the number of open requests.
    pub(crate) fn len(&self) -> usize {
        self.shared.total.load(Ordering::Relaxed)
    }

    /// Counts one more request of this client.
    ///
    /// # Errors
    ///
    /// If a limit is reached: the text names the option.
    fn begin(&self, source: RequestSource) -> Result<Arc<OpenRequest>, &'static str> {
        let Shared { most, most_of_client, total, of_client } = &*self.shared;
        let more = |count: usize| (count < *most).then_some(count + 1);
        total.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map_err(|_| FULL)?;
        // Dropping this value on the error path reverts the count.
        let mut open = OpenRequest { shared: Arc::clone(&self.shared), client: None };
        if let Some(client) = source.client() {
            let mut of_client = lock(of_client);
            let count = of_client.get(&client).copied().unwrap_or_default();
            if *most_of_client <= count {
                return Err(FULL_FOR_CLIENT);
            }
            of_client.insert(client, count + 1);
            open.client = Some(client);
        }
        Ok(Arc::new(open))
    }
}

/// An open request, which counts until it is dropped.
///
/// The response to the request holds it, and so does its handler: a client that disconnects frees nothing while the
/// handler runs.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    shared: Arc<Shared>,
    client: Option<Requestor>,
}

impl Drop for OpenRequest {
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
        self.shared.total.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A body, the validator's scan of it, and its source.
pub(crate) type Posted<'s, 'b> = (&'b [u8], &'s mut ScannedFrame<'b>, RequestSource);

/// The response to a body, and the permit of its request if a handler holds it.
pub(crate) type Begun = (ResponseId, Option<Arc<OpenRequest>>);

impl Inner {
    /// Admits a request to a connection of its own.
    ///
    /// # Errors
    ///
    /// If a limit is reached: the [`Reply`] refuses the request.
    pub(crate) fn admit(&self, source: RequestSource) -> Result<Arc<OpenRequest>, Reply> {
        self.open_requests.begin(source).map_err(Reply::busy)
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
        body: &[u8],
    ) -> Result<Option<Arc<OpenRequest>>, Reply> {
        match self.open_requests.begin(source) {
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
        (body, scanned, source): Posted<'_, 'b>,
        admitted: Option<Arc<OpenRequest>>,
        entry: PostEntry,
    ) -> Result<Begun, PostRefused> {
        let (mut first, mut held) = (admitted, None);
        let response = wire.post(body, scanned, source, entry, &mut || {
            let open = match first.take() {
                Some(open) => Arc::clone(held.insert(open)),
                // Another request of a batch.
                None => self.open_requests.begin(source)?,
            };
            Ok(open as Permit)
        })?;
        Ok((response, held))
    }

    /// Passes a body to a session. A single request other than `ping` waits until the connection has room; every
    /// other body is accepted at once.
    pub(crate) async fn hand_over_to_session<'b>(
        &self,
        wire: &Arc<Wire<Server>>,
        (body, scanned, source): Posted<'_, 'b>,
    ) -> Result<Begun, Reply> {
        let admitted = self.admit_to_session(source, body)?;
        let mut begin =
            |entry| self.hand_over(wire, (body, &mut *scanned, source), admitted.clone(), entry);
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
        begun.map_err(|_| RequestValidator::no_session())
    }
}

const FULL: &str = "too many requests are being answered (EndpointOptions::most_open)";
const FULL_FOR_CLIENT: &str =
    "too many requests of this client are being answered (EndpointOptions::open_of_client)";
