//! Work that outlives the request that began it.
//!
//! In 2025-11-25 either side may request a task instead of a result
//! ([tasks](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks)): a client for a tool
//! call, a server for sampling or elicitation. Since 2026-07-28 a server itself decides to answer a tool call with a
//! task, if the client supports the [extension](EXTENSION). [`Tasks`] is the same for both: ids, owners, time to
//! live, required input, results and errors. One task can be read in both eras.
//!
//! ```
//! use core::time::Duration;
//! use mcp_sansio::model::{CallToolResult, ListChanged, TaskSupport};
//! use mcp_sansio::request::TaskMode;
//! use mcp_sansio::task::{NewTask, Status, TaskKey, TaskNews, Tasks};
//! use mcp_sansio::{
//!     ClientRequest, ErrorCode, Framing, Instant, Limits, Outbox, Server, ServerConfig, ServerEvent,
//! };
//!
//! let mut config = ServerConfig::new("slow", "1.0");
//! config.capabilities.tools = Some(ListChanged::default());
//! config.capabilities = config.capabilities.with_tasks();
//! let mut server = Server::new(config.into());
//! let mut outbox = Outbox::new(Framing::Messages, &Limits::default());
//! let mut tasks = Tasks::default();
//! let now = Instant::from_millis(1_764_066_600_000);
//!
//! /// What a server with long work does with what comes in.
//! fn receive(
//!     server: &mut Server,
//!     message: &str,
//!     tasks: &mut Tasks,
//!     now: Instant,
//!     outbox: &mut Outbox,
//! ) -> Result<Option<TaskKey>, Box<dyn std::error::Error>> {
//!     let Some(ServerEvent::Request(request)) = server.receive(message, now, outbox) else {
//!         return Ok(None);
//!     };
//!     match &request.kind {
//!         ClientRequest::Task(call) => {
//!             match server.tasks(tasks).serve(request.id, call, now, outbox)? {
//!                 Some(TaskNews::Cancelled(key)) => { /* stop the work */ _ = key }
//!                 Some(TaskNews::Input(key)) => { /* go on with it */ _ = key }
//!                 _ => {}
//!             }
//!             Ok(None)
//!         }
//!         ClientRequest::CallTool(_) => match server.task_mode(request.id, &TaskSupport::Optional, outbox)? {
//!             Some(TaskMode::Task) => {
//!                 let random = [0x2a; 16];
//!                 let task = NewTask::new(NewTask::id_of(random)).ttl(Some(Duration::from_secs(60)));
//!                 let key = server.tasks(tasks).begin(request.id, task, now, outbox)?;
//!                 // Begin the work, and say `tasks.complete(key, …)` when it is done.
//!                 Ok(Some(key))
//!             }
//!             Some(TaskMode::Inline) => {
//!                 server.respond(request.id, &CallToolResult::text("done"), outbox)?;
//!                 Ok(None)
//!             }
//!             None => Ok(None), // it has been rejected
//!         },
//!         _ => {
//!             server.reject(request.id, ErrorCode::METHOD_NOT_FOUND, "method not found", outbox)?;
//!             Ok(None)
//!         }
//!     }
//! }
//!
//! let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
//!     "io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;
//! let call = format!(
//!     r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"slow",{meta}}}}}"#);
//! let key = receive(&mut server, &call, &mut tasks, now, &mut outbox)?.expect("a task");
//! let answer = String::from_utf8(outbox.messages().next().unwrap().to_vec())?;
//! assert!(answer.contains(r#""resultType":"task","taskId":"2a2a2a2a"#), "{answer}");
//!
//! tasks.complete(key, &CallToolResult::text("done"), now + Duration::from_secs(5))?;
//! assert_eq!(tasks.get(key).unwrap().status(), Status::Completed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A program with tasks has these duties:
//!
//! - **Requests about tasks** ([`TaskCall`]) go to [`serve`](crate::drive::ConnectionTasks::serve), which returns
//!   their effect on the work ([`TaskNews`]).
//! - **The outcome of the work** goes to [`Tasks::complete`], [`Tasks::fail`], [`Tasks::require_input`] and so on.
//! - **Time** goes to [`Tasks::handle_timeout`], as it goes to the machines. It counts from the Unix epoch, because the
//!   timestamps of a task go to the peer.
//! - **Messages about changes** wait in `Tasks`: results for open requests, status notifications, requests for input.
//!   After each of these changes, also after `handle_timeout` and [`Tasks::remove`], call
//!   [`settle`](crate::drive::ConnectionTasks::settle) for the connections that [`Tasks::connections_with_news`] names.
//!   It sends them.
//! - **Responses to required input** ([`TaskAnswer`](crate::event::TaskAnswer)) go to [`Tasks::answered`], in
//!   sessions.
//! - **Connections** need unique numbers ([`Server::with_connection_number`](crate::Server::with_connection_number)),
//!   because tasks refer to connections by number. Their end goes to [`Tasks::disconnected`].
//! - **The requestor** goes with each message if there can be several: a requestor reaches only its own tasks.
//!   [`Received::principal`](crate::Received::principal) names the user.
//!   [`Received::requestor`](crate::Received::requestor) is for transports whose clients have no principal.
//! - **Subscriptions to tasks** (`taskIds`) are granted by the program: with
//!   [`Listening::Asked`](crate::config::Listening::Asked) it receives the request, and answers with
//!   [`ConnectionTasks::grant`](crate::drive::ConnectionTasks::grant).
//! - **To survive a crash**, store [`Tasks::save`] of every task that changes: [`TaskSharing`] reports
//!   them.
//!
//! # Structure
//!
//! This module knows no messages in flight. The links between tasks and connections are part of the machine that both
//! roles share. The machine in turn does not know how tasks are stored.

mod call;
mod config;
mod error;
mod key;
mod list;
mod mail;
mod new;
mod record;
mod records;
mod sharing;
mod snapshot;
mod status;
mod tasks;
pub(crate) mod timestamp;
pub(crate) mod view;
mod work;

pub use call::{TaskCall, TaskNews};
pub use config::TasksConfig;
pub use error::TaskError;
pub use key::TaskKey;
pub use new::NewTask;
pub use sharing::TaskSharing;
pub use snapshot::{RestoreError, TaskRecord};
pub use status::Status;
pub use tasks::{TaskEvent, Tasks};
pub use view::TaskView;

pub use crate::model::TASKS_EXTENSION as EXTENSION;

pub(crate) use crate::dialect::RELATED;
pub(crate) use mail::Notice;
pub(crate) use new::Origin;
pub(crate) use record::State;
pub(crate) use work::Which;
