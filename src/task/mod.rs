//! Work that outlives the request which asked for it.
//!
//! In 2025-11-25 either side may ask the other for a task instead of a result
//! ([tasks](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks)): a client for
//! the call of a tool, a server for what it wants of a model or of the user. From 2026-07-28 on a server
//! decides by itself to answer the call of a tool with a task, if the client knows the
//! [extension](EXTENSION). [`Tasks`] is the same for both: ids, owners, how long each is kept, what it asks
//! for, what came of it. The same task can be asked for in both.
//!
//! ```
//! use core::time::Duration;
//! use mcp_sansio::model::{CallToolResult, ListChanged, TaskSupport};
//! use mcp_sansio::request::TaskMode;
//! use mcp_sansio::task::{NewTask, Status, TaskKey, TaskNews, Tasks};
//! use mcp_sansio::{
//!     ClientRequest, Framing, Instant, Limits, Outbox, Server, ServerConfig, ServerEvent,
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
//!             match server.serve_task(request.id, call, tasks, now, outbox)? {
//!                 Some(TaskNews::Cancelled(key)) => { /* stop the work */ _ = key }
//!                 Some(TaskNews::Input(key)) => { /* go on with it */ _ = key }
//!                 _ => {}
//!             }
//!             Ok(None)
//!         }
//!         _ => match server.task_mode(request.id, &TaskSupport::Optional, outbox)? {
//!             Some(TaskMode::Task) => {
//!                 let random = [0x2a; 16];
//!                 let task = NewTask::new(NewTask::id_of(random)).ttl(Some(Duration::from_secs(60)));
//!                 let key = server.begin_task(request.id, task, tasks, now, outbox)?;
//!                 // Begin the work, and say `tasks.complete(key, …)` when it is done.
//!                 Ok(Some(key))
//!             }
//!             Some(TaskMode::Inline) => {
//!                 server.respond(request.id, &CallToolResult::text("done"), outbox)?;
//!                 Ok(None)
//!             }
//!             None => Ok(None), // it has been rejected
//!         },
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
//! What a program has to do:
//!
//! - **requests about tasks** ([`TaskCall`]) go to `serve_task`, which says what they mean for the work
//!   ([`TaskNews`]);
//! - **what the work comes to** goes to [`Tasks::complete`], [`Tasks::fail`], [`Tasks::require_input`] and
//!   so on, and after that `settle_tasks` of the connections that [`Tasks::connections_with_news`] names;
//! - **time** goes to [`Tasks::handle_timeout`], as it goes to the machines;
//! - in sessions, **answers** to what a task asks for ([`TaskAnswer`](crate::event::TaskAnswer)) go to
//!   [`Tasks::answered`];
//! - **connections** have a number each ([`Server::with_connection_number`](crate::Server::with_connection_number)), because tasks
//!   know them by that, and their end goes to [`Tasks::disconnected`];
//! - **who is asking** goes with each message ([`Received::requestor`](crate::Received::requestor)) if there
//!   can be more than one: a requestor reaches only its own tasks;
//! - **subscriptions to tasks** (`taskIds`) are for the program to grant: it
//!   [is asked](crate::config::Listening::Asked), and answers with
//!   [`Server::grant_with_tasks`](crate::Server::grant_with_tasks);
//! - **to survive a crash**, write down [`Tasks::save`] of every task that changes.
//!
//! # How it belongs to the rest
//!
//! The values here know nothing of messages in flight. What ties them to a connection is part of the
//! machine that both roles share, which in turn knows nothing of how tasks are kept.

mod call;
mod config;
mod error;
mod key;
mod list;
mod mail;
mod new;
mod record;
mod records;
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
