//! The messages of clients that are about tasks.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use mcp_sansio::Instant;
use mcp_sansio::http::Reply;
use mcp_sansio::request::Requestor;
use mcp_sansio::task::TaskKey;
use mcp_sansio_http::BeforeMessage;
use memchr::memmem;
use serde::Deserialize;

use super::{NodeTasks, Others, TaskNotStored, Wait};
use crate::node::Inner;

/// The most tasks of a subscription that are looked for. Of the others, a node grants its own.
const MOST_IDS: usize = 1_024;

/// The part of a request that concerns tasks: its response waits for their changes to be stored.
#[derive(Clone, Default)]
pub(crate) struct Concerned(Arc<Tasks>);

#[derive(Default)]
struct Tasks {
    /// The number of the latest change before the request.
    since: AtomicU64,
    /// The sender of a response, which may be the input of any of its tasks.
    responder: OnceLock<Requestor>,
    /// The tasks that were found.
    found: OnceLock<Vec<Found>>,
}

/// A task that was found before a message about it was processed.
pub(super) struct Found {
    pub(super) id: String,
    pub(super) key: TaskKey,
    /// The time at which it expires.
    pub(super) end: Option<Instant>,
    /// Whether this node works on it.
    pub(super) is_own: bool,
}

impl Concerned {
    /// A request that begins now.
    pub(crate) fn begin(tasks: &NodeTasks) -> Self {
        let concerned = Self::default();
        concerned.0.since.store(tasks.latest_change(), Ordering::Relaxed);
        concerned
    }

    fn found(&self) -> &[Found] {
        self.0.found.get().map_or(&[], |found| found)
    }

    /// Returns the changes that a part of the response waits for. `None` if it is not about tasks.
    pub(crate) fn wait(&self, part: &[u8]) -> Option<Wait> {
        let others = self.0.responder.get().map_or(Others::None, |sender| Others::Of(*sender));
        let mut ids = ids_in(part);
        ids.extend(self.found().iter().map(|found| found.id.clone()));
        let since = self.0.since.load(Ordering::Relaxed);
        let is_about_tasks = !ids.is_empty() || !matches!(others, Others::None);
        is_about_tasks.then_some(Wait { since, ids, others })
    }
}

/// Returns the ids of the tasks that a part of a response is about. There may be very many: a tool returns what it likes.
fn ids_in(part: &[u8]) -> BTreeSet<String> {
    const MEMBER: &[u8] = b"\"taskId\":";
    let ids = memmem::find_iter(part, MEMBER).filter_map(|at| {
        let value = part.get(at + MEMBER.len()..)?;
        serde_json::Deserializer::from_slice(value).into_iter::<String>().next()?.ok()
    });
    ids.collect()
}

/// The members of a message that name tasks.
#[derive(Default, Deserialize)]
struct Message {
    method: Option<String>,
    params: Option<Params>,
}

#[derive(Default, Deserialize)]
struct Params {
    #[serde(rename = "taskId")]
    task: Option<String>,
    notifications: Option<Notifications>,
}

#[derive(Default, Deserialize)]
struct Notifications {
    #[serde(rename = "taskIds")]
    tasks: Option<Vec<String>>,
}

/// The tasks that a message names.
enum Named {
    None,
    /// Tasks with these ids.
    Ids(Vec<String>),
    /// All tasks of the sender.
    Listed,
    /// The message is a response.
    Any,
}

fn named_in(body: &[u8]) -> Named {
    let has = |text: &str| memmem::find(body, text.as_bytes()).is_some();
    let is_request = has("\"method\"") && !has("\"result\"") && !has("\"error\"");
    if is_request && !has("taskId") && !has("tasks/list") && !has("tasks\\/list") {
        return Named::None;
    }
    // The endpoint refuses what is no such message.
    let Message { method, params } = serde_json::from_slice(body).unwrap_or_default();
    let params = params.unwrap_or_default();
    match method.as_deref() {
        None => Named::Any,
        Some("tasks/list") => Named::Listed,
        Some("subscriptions/listen") => {
            let mut ids = params.notifications.unwrap_or_default().tasks.unwrap_or_default();
            ids.truncate(MOST_IDS);
            Named::Ids(ids)
        }
        Some(method) if method.starts_with("tasks/") => {
            Named::Ids(params.task.into_iter().collect())
        }
        Some(_) => Named::None,
    }
}

impl Inner {
    /// Returns the function that looks for the tasks that a message is about, before the endpoint processes it.
    pub(crate) fn before_message(self: &Arc<Self>, concerned: &Concerned) -> BeforeMessage {
        // The handler of the request has this function, and must not keep the node.
        let (node, concerned) = (Arc::downgrade(self), concerned.clone());
        BeforeMessage::new(move |body, requestor| {
            let named = named_in(body);
            let node = node.upgrade()?;
            match named {
                Named::None => return None,
                Named::Any => {
                    // It is set once for each request.
                    _ = concerned.0.responder.set(requestor);
                    return None;
                }
                Named::Ids(_) | Named::Listed => {}
            }
            let concerned = concerned.clone();
            Some(async move { node.fetch_tasks(requestor, named, &concerned).await })
        })
    }

    async fn fetch_tasks(
        self: Arc<Self>,
        requestor: Requestor,
        named: Named,
        concerned: &Concerned,
    ) -> Result<(), Reply> {
        let found = match named {
            Named::Listed => self.look_for_tasks_of(requestor).await,
            Named::Ids(ids) if ids.len() == 1 => self.look_for_tasks(ids).await,
            Named::Ids(ids) => self.look_for_changed(ids).await,
            Named::None | Named::Any => return Ok(()),
        };
        let found = found.map_err(|error| {
            (self.options.on_error)(&error);
            Reply::busy("the task cannot be served at this time")
        })?;
        if let Some(tasks) = &self.tasks {
            let present = tasks.present(&found);
            if present.len() < found.len() {
                return Err(Reply::busy("the task moves to another node"));
            }
            // It is set once for each request.
            _ = concerned.0.found.set(present);
        }
        Ok(())
    }

    /// Stores the changes of tasks that a part of a response waits for. The part must not be sent if a task was found before the
    /// message was processed, and another node has it now: the part could deny a task that exists.
    pub(crate) async fn store_tasks_of(
        self: &Arc<Self>,
        concerned: &Concerned,
        wait: Wait,
    ) -> Result<(), TaskNotStored> {
        let Some(tasks) = &self.tasks else { return Ok(()) };
        let latest = tasks.latest_change();
        self.store_tasks(&wait).await?;
        // The next part of an event stream is about later changes.
        concerned.0.since.store(latest, Ordering::Relaxed);
        let now = tasks.tasks.now();
        let is_known = |found: &Found| match tasks.find(&found.id) {
            Some(key) => key == found.key,
            None => found.end.is_some_and(|end| end <= now) || tasks.is_gone(found),
        };
        let are_known = concerned.found().iter().all(is_known);
        are_known.then_some(()).ok_or(TaskNotStored::TakenOver)
    }
}
