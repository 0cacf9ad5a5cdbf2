//! Copies of the tasks of other nodes: what changes here is sent to the owner, and what changes there is read.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body_util::Full;
use hyper::body::Body;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode};
use mcp_sansio::task::{TaskRecord, TaskSharing};
use mcp_sansio_http::SharedTasks;
use tokio::time::Instant;

use super::{Known, NodeTasks, Others, RETRY, Table, TaskCopy, TaskNotStored, Wait};
use crate::body::{BodyError, NodeBody};
use crate::forwarding::NODE;
use crate::node::{Inner, empty};
use crate::store::StoreError;

/// Marks a request of a node that has changed its copy of a task.
pub(crate) const TASK: HeaderName = HeaderName::from_static("mcp-node-task");

/// How long a copy is kept that no request uses.
const KEPT: Duration = Duration::from_secs(60);

/// After how many times [`silence`](crate::NodeOptions::silence) a node looks whether a task that it works on is still its own.
const CONFIRMED: u32 = 4;

impl NodeTasks {
    /// Removes the copies that were not used for long. Returns the ids of the tasks to look at: the copies that requests or
    /// subscriptions wait for, and the tasks of this node that were not confirmed for long.
    fn watched(&self, now: Instant, silence: Duration) -> Vec<String> {
        let (mut watched, mut unused) = (Vec::new(), Vec::new());
        let mut table = self.table();
        let Table { known, unwritten, .. } = &mut *table;
        self.tasks.inspect(|tasks, _| {
            for (key, known) in known {
                let is_final = tasks.get(*key).is_some_and(|task| task.status().is_final());
                match known {
                    Known::Copy(copy) if TaskSharing::of(tasks).is_awaited(*key) => {
                        copy.used_at = now;
                        watched.extend((!is_final).then(|| copy.id.clone()));
                    }
                    Known::Copy(copy) if copy.used_at + KEPT < now => {
                        unused.extend((!unwritten.contains_key(key)).then_some(*key));
                    }
                    // The result of work that another node has taken over is discarded.
                    Known::Own(own) if !is_final && own.seen_at + CONFIRMED * silence < now => {
                        watched.push(own.id.clone());
                    }
                    _ => {}
                }
            }
        });
        self.forget_copies(&mut table, &unused);
        watched
    }
}

impl Inner {
    /// Stores changes of tasks, and looks for changes of the copies that are waited for, until the node is dropped.
    pub(crate) async fn follow_tasks(node: Weak<Self>, tasks: SharedTasks) {
        let mut looked_at = Instant::now();
        loop {
            let Some(every) = node.upgrade().map(|node| node.options.task_refresh) else { return };
            tokio::select! {
                () = tasks.changed() => {}
                () = tokio::time::sleep_until(looked_at + every) => {}
            }
            let Some(node) = node.upgrade() else { return };
            let is_due = looked_at + every <= Instant::now();
            if is_due {
                looked_at = Instant::now();
            }
            // In a task of its own: a store that panics must not end this loop.
            let round = Arc::clone(&node).follow_round(is_due);
            let failures = node.tasks.as_ref().map_or(0, NodeTasks::failures);
            let (error, is_down) = match tokio::spawn(round).await {
                Ok(Ok(())) => continue,
                // A task that cannot be written delays no other one.
                Ok(Err(error)) => {
                    let tasks = node.tasks.as_ref();
                    (error, tasks.is_some_and(|tasks| tasks.has_failed_since(failures)))
                }
                Err(panic) => (StoreError::new(panic), true),
            };
            (node.options.on_error)(&error);
            drop(node);
            if is_down {
                tokio::time::sleep(RETRY).await;
            }
        }
    }

    /// Stores the changes of tasks, and refreshes the copies if that is due.
    async fn follow_round(self: Arc<Self>, is_due: bool) -> Result<(), StoreError> {
        self.send_copies();
        let stored = self.store_changes().await;
        if is_due && let Some(tasks) = &self.tasks {
            tasks.tasks.expire();
            self.refresh_tasks().await;
        }
        stored
    }

    /// Stores all changes of the tasks of this node.
    pub(super) async fn store_changes(&self) -> Result<(), StoreError> {
        let Some(tasks) = &self.tasks else { return Ok(()) };
        let (failures, wait) = (tasks.failures(), Wait { others: Others::All, ..Wait::default() });
        match self.store_own_tasks(&wait, tasks.latest_change()).await {
            Err(TaskNotStored::Store(error)) => Err(error),
            // The requests that a change concerns have its error.
            _ => tasks.task_failure_since(failures).map_or(Ok(()), Err),
        }
    }

    async fn refresh_tasks(self: &Arc<Self>) {
        let Some(tasks) = &self.tasks else { return };
        let watched = tasks.watched(Instant::now(), self.options.silence);
        let doubtful = tasks.table().doubtful.clone();
        for id in doubtful {
            match self.look_for_task(&id).await {
                Ok(_) => _ = tasks.table().doubtful.remove(&id),
                // It is looked at again with the next refresh, and delays no other task.
                Err(error) => (self.options.on_error)(&error),
            }
        }
        if !watched.is_empty()
            && let Err(error) = self.look_for_tasks(watched).await
        {
            (self.options.on_error)(&error);
        }
    }

    /// Sends a copy that has changed here to the node that works on the task.
    pub(super) async fn send_copy(
        &self,
        copy: &TaskCopy,
        record: &TaskRecord,
    ) -> Result<(), TaskNotStored> {
        match self.send_record(copy, record).await? {
            StatusCode::OK => Ok(()),
            StatusCode::CONFLICT => Err(TaskNotStored::Outdated),
            _ => Err(TaskNotStored::NotSent),
        }
    }

    async fn send_record(
        &self,
        copy: &TaskCopy,
        record: &TaskRecord,
    ) -> Result<StatusCode, TaskNotStored> {
        let not_sent = |_| TaskNotStored::NotSent;
        let body = serde_json::to_vec(&record.clone().requests()).map_err(StoreError::new)?;
        let request = Request::post("/")
            .header(
                "host",
                HeaderValue::from_str(&copy.address).map_err(|_| TaskNotStored::NotSent)?,
            )
            .header(NODE, HeaderValue::from_str(&copy.node).map_err(|_| TaskNotStored::NotSent)?)
            .header(TASK, "1")
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|_| TaskNotStored::NotSent)?;
        let sent =
            tokio::time::timeout(self.options.silence, self.peers.forward(&copy.address, request));
        let response = sent.await.map_err(|_| TaskNotStored::NotSent)?.map_err(not_sent)?;
        // Another server may have the address now.
        let is_from_node = response.headers().get(NODE).is_some_and(|node| *node == *copy.node);
        if is_from_node { Ok(response.status()) } else { Err(TaskNotStored::NotSent) }
    }

    /// Handles the request of a node that has changed its copy of a task of this node.
    pub(crate) async fn take_copy<B>(self: &Arc<Self>, body: B) -> Response<NodeBody>
    where
        B: Body<Data: Buf, Error: Into<BodyError>>,
    {
        let (body, _share) = match self.read_body(body).await {
            Ok(read) => read,
            Err(status) => return empty(status),
        };
        let Some(tasks) = &self.tasks else { return empty(StatusCode::MISDIRECTED_REQUEST) };
        let Ok(record) = serde_json::from_slice::<TaskRecord>(&body) else {
            return empty(StatusCode::BAD_REQUEST);
        };
        let id = record.id().to_owned();
        let since = tasks.latest_change();
        // Another node may have taken the task over.
        let looked = self.look_for_task(&id).await;
        if looked.is_err() || !tasks.is_own(&id) {
            return empty(StatusCode::MISDIRECTED_REQUEST);
        }
        let merged = tasks.tasks.merge(record);
        if merged.is_err() {
            return empty(StatusCode::CONFLICT);
        }
        let wait = Wait { since, ids: [id].into(), others: Others::None };
        let latest = tasks.latest_change();
        // It must not wait for what this node sends to others: they may send to this node at the same time.
        match self.store_own_tasks(&wait, latest).await {
            // The task has been given up meanwhile.
            Ok(()) if tasks.is_due(&wait, latest, true) => empty(StatusCode::MISDIRECTED_REQUEST),
            Ok(()) => empty(StatusCode::OK),
            Err(error) => {
                (self.options.on_error)(&error);
                empty(StatusCode::SERVICE_UNAVAILABLE)
            }
        }
    }
}
