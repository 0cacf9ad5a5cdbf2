//! [`Batches`]: writes of many sessions, done together.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use crate::store::{Store, StoreError, Write, Written};

/// The most writes of a batch.
const MOST: usize = 256;

/// A store whose writes are done in batches: all that arrive while a batch is being done are the next one. So a write
/// never waits for another one to arrive, and under load a transaction carries many of them.
#[derive(Clone)]
pub(crate) struct Batches {
    store: Arc<dyn Store>,
    queue: mpsc::Sender<Queued>,
}

type Queued = (Write, oneshot::Sender<Result<Written, StoreError>>);

impl Batches {
    /// Begins the task that writes. It ends with the last clone.
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        let (queue, waiting) = mpsc::channel(MOST);
        tokio::spawn(write_batches(Arc::clone(&store), waiting));
        Self { store, queue }
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.store
    }

    pub(crate) async fn write(&self, write: Write) -> Result<Written, StoreError> {
        let (done, written) = oneshot::channel();
        let over = || StoreError::new("the runtime is ending");
        self.queue.send((write, done)).await.map_err(|_| over())?;
        written.await.map_err(|_| over())?
    }
}

async fn write_batches(store: Arc<dyn Store>, mut waiting: mpsc::Receiver<Queued>) {
    let mut batch = Vec::new();
    while 0 < waiting.recv_many(&mut batch, MOST).await {
        let (writes, done): (Vec<_>, Vec<_>) = batch.drain(..).unzip();
        let store = Arc::clone(&store);
        // A store that panics loses one batch.
        let written = tokio::spawn(async move { store.write(&writes).await }).await;
        match written.map_err(StoreError::new).and_then(|written| written) {
            Ok(written) => {
                // A store that returns too few leaves the rest without a result, which is an error.
                for (done, written) in done.into_iter().zip(written) {
                    _ = done.send(Ok(written));
                }
            }
            Err(error) => {
                for done in done {
                    _ = done.send(Err(error.clone()));
                }
            }
        }
    }
}
