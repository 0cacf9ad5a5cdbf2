//! The number of requests that an endpoint answers at a time, in total and per client.

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

/// The requests that are being answered. Each one is an [`OpenRequest`]. Clones are of the same ones.
///
/// A request is counted as soon as it is admitted, and not when its handler starts: so requests that wait for a handler
/// are bounded as well, nothing has to be woken when a request ends, and a client learns at once that it should come
/// back later.
#[derive(Clone, Debug)]
pub(crate) struct OpenRequests {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    most: usize,
    most_of_client: usize,
    total: AtomicUsize,
    /// The counts of the clients that can be told from others and have requests. It is a hash map because it keeps its
    /// memory when it gets empty, which happens with each request of a quiet endpoint.
    of_client: Mutex<HashMap<Requestor, usize>>,
}

impl OpenRequests {
    /// None yet, within the bounds of these options.
    pub(crate) fn new(options: &EndpointOptions) -> Self {
        let shared = Shared {
            most: options.most_open,
            most_of_client: options.open_of_client,
            total: AtomicUsize::new(0),
            of_client: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.shared.total.load(Ordering::Relaxed)
    }

    /// Counts one more request of this client.
    ///
    /// # Errors
    ///
    /// A bound is reached: the text names the option.
    fn begin(&self, source: RequestSource) -> Result<Arc<OpenRequest>, &'static str> {
        let Shared { most, most_of_client, total, of_client } = &*self.shared;
        let more = |count: usize| (count < *most).then_some(count + 1);
        total.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map_err(|_| FULL)?;
        // Dropped on the way out, it takes back what has been counted.
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

/// A request that is being answered. It is counted until this is dropped.
///
/// The response to the request holds it, and so does its handler: a client that goes away frees nothing as long as the
/// handler goes on.
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

/// A body, what is known of it since the validator has looked at it, and where it comes from.
pub(crate) type Posted<'s, 'b> = (&'b [u8], &'s mut ScannedFrame<'b>, RequestSource);

/// The response to a body, and the permit of its request if a handler has it.
pub(crate) type Begun = (ResponseId, Option<Arc<OpenRequest>>);

impl Inner {
    /// Admits a request to a connection of its own.
    ///
    /// # Errors
    ///
    /// The [`Reply`] that refuses it: a bound is reached.
    pub(crate) fn admit(&self, source: RequestSource) -> Result<Arc<OpenRequest>, Reply> {
        self.open_requests.begin(source).map_err(Reply::busy)
    }

    /// Admits a body to a session. At the bounds that is a body which asks for no work, or a batch.
    ///
    /// # Errors
    ///
    /// The [`Reply`] that refuses it: a bound is reached.
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

    /// Hands a body to its connection, with the permit for its first request if it was admitted. Gives the permit back
    /// if a handler has it, as the response holds it then as well.
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
                // Another one of a batch.
                None => self.open_requests.begin(source)?,
            };
            Ok(open as Permit)
        })?;
        Ok((response, held))
    }

    /// The same for a session. A request for which its machine has no room waits; everything else is taken in at once.
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
