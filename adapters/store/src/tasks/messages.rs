//! The messages of clients that are about tasks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use mcp_sansio::http::Reply;
use mcp_sansio::request::Requestor;
use mcp_sansio_http::BeforeMessage;
use memchr::memmem;
use serde::Deserialize;

use super::storing::TaskNotStored;
use crate::node::Inner;

/// The most tasks of a subscription that are looked for. Of the others, a node grants its own.
const MOST_IDS: usize = 1_024;

/// Whether the message of a request is about tasks, so that its response waits for their changes to be stored.
#[derive(Clone, Default)]
pub(crate) struct Concerned(Arc<Tasks>);

#[derive(Default)]
struct Tasks {
    is_concerned: AtomicBool,
    /// The ids of the tasks that were found.
    found: OnceLock<Vec<String>>,
}

impl Concerned {
    fn set(&self) {
        self.0.is_concerned.store(true, Ordering::Relaxed);
    }

    fn found(&self) -> &[String] {
        self.0.found.get().map_or(&[], |found| found)
    }

    /// Whether a part of the response may be about a task.
    pub(crate) fn by(&self, part: &[u8]) -> bool {
        self.0.is_concerned.load(Ordering::Relaxed) || memmem::find(part, b"taskId").is_some()
    }
}

/// The members of a message that name tasks.
#[derive(Default, Deserialize)]
struct Message {
    #[serde(default)]
    method: String,
    #[serde(default)]
    params: Params,
}

#[derive(Default, Deserialize)]
struct Params {
    #[serde(rename = "taskId")]
    task: Option<String>,
    #[serde(default)]
    notifications: Notifications,
}

#[derive(Default, Deserialize)]
struct Notifications {
    #[serde(default, rename = "taskIds")]
    tasks: Vec<String>,
}

impl Inner {
    /// Returns the function that looks for the tasks that a message is about, before the endpoint processes it.
    pub(crate) fn before_message(self: &Arc<Self>, concerned: &Concerned) -> BeforeMessage {
        // The handler of the request has this function, and must not keep the node.
        let (node, concerned) = (Arc::downgrade(self), concerned.clone());
        BeforeMessage::new(move |body, requestor| {
            if memmem::find(body, b"\"method\"").is_none() {
                // A response, which may be the input of a task.
                concerned.set();
                return None;
            }
            memmem::find(body, b"task")?;
            // The endpoint refuses what is no such message.
            let Message { method, params } = serde_json::from_slice(body).unwrap_or_default();
            let is_list = method == "tasks/list";
            let mut ids = params.notifications.tasks;
            ids.truncate(MOST_IDS);
            ids.extend(params.task.filter(|_| method.starts_with("tasks/")));
            if !is_list && ids.is_empty() {
                return None;
            }
            concerned.set();
            let node = node.upgrade()?;
            let (of, concerned) = (is_list.then_some(requestor), concerned.clone());
            Some(async move { node.fetch_tasks(of, ids, &concerned).await })
        })
    }

    async fn fetch_tasks(
        self: Arc<Self>,
        of: Option<Requestor>,
        ids: Vec<String>,
        concerned: &Concerned,
    ) -> Result<(), Reply> {
        let found = match of {
            Some(requestor) => self.look_for_tasks_of(requestor).await,
            None => self.look_for_tasks(ids).await,
        };
        let found = found.map_err(|error| {
            (self.options.on_error)(&error);
            Reply::busy("the task cannot be served at this time")
        })?;
        // It is set once for each request.
        _ = concerned.0.found.set(found);
        Ok(())
    }

    /// Stores the changes of tasks that a response may be about. It must not be sent if a task was found before the message
    /// was processed, and is gone: it has moved to another node meanwhile.
    pub(crate) async fn finish_tasks(&self, concerned: &Concerned) -> Result<(), TaskNotStored> {
        self.store_tasks().await?;
        let Some(tasks) = &self.tasks else { return Ok(()) };
        let found = concerned.found();
        let is_there = tasks.present(found).len() == found.len();
        is_there.then_some(()).ok_or(TaskNotStored::TakenOver)
    }
}
