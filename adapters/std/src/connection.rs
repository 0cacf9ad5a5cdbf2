//! A client of a server: connected, or an error that says why not.

use std::io::{self, Read, Write};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use mcp_sansio::{
    Cause, Client, ClientConfig, ClientEvent, ConnectError, ConnectFailure, Connected,
    ConnectionNumber, Phase,
};

use crate::handle::Handle;
use crate::process::{Process, ProcessOptions};
use crate::serve::Handler;
use crate::tasks::SharedTasks;
use crate::wire::Wire;

/// How long a server that does not read may hold up the end.
const LAST_WRITE: Duration = Duration::from_millis(500);

/// How long a server whose output has ended may take to end itself.
const EXIT: Duration = Duration::from_millis(500);

/// How many requests of a server are served at the same time.
const THREADS: usize = 16;

/// A connection to a server, with a session if the server takes one.
///
/// [`handle`](Self::handle) calls it; handles can be cloned and used from many threads. Dropping
/// the connection ends it as [`close`](Self::close) does, without grace.
///
/// ```no_run
/// use std::process::Command;
/// use mcp_sansio::model::{PageParams, method};
/// use mcp_sansio::{CallOptions, ClientConfig};
/// use mcp_sansio_std::{Connection, RefuseAll};
///
/// let command = Command::new("some-server");
/// let connection =
///     Connection::spawn(ClientConfig::new("example", "1.0"), command, RefuseAll::new())?;
/// let reply = connection
///     .handle()
///     .call::<method::ListTools>(&PageParams::default(), CallOptions::new())?;
/// for tool in reply.parse::<method::ListTools>()?.tools.iter() {
///     println!("{}", tool.name);
/// }
/// connection.close(std::time::Duration::from_secs(5))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Connection {
    handle: Handle<Client>,
    connected: Connected<'static>,
    process: Option<Process>,
}

/// Why client and server have not come to terms.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The server could not be started.
    #[error("the server could not be started: {0}")]
    Spawn(#[source] io::Error),
    /// The system has no threads.
    #[error("no thread to talk to the server: {0}")]
    Threads(#[source] io::Error),
    /// Nothing could be asked: the configuration is at fault.
    #[error("{0}")]
    Config(#[from] ConnectError),
    /// The server ended before the session was open.
    #[error("the server ended before it answered ({0})")]
    Ended(ExitStatus),
    /// The server refused, answered nonsense, or did not answer in time.
    #[error("{}", failure_text(.0))]
    Connect(ConnectFailure<'static>),
}

fn failure_text(failure: &ConnectFailure<'_>) -> String {
    match failure {
        ConnectFailure::PeerError(error) => {
            format!("the server refused with error {}: {}", error.code, error.message)
        }
        ConnectFailure::UnsupportedRevision { theirs, ours } => {
            let ours: Vec<_> = ours.iter().map(|revision| revision.name()).collect();
            let ours = ours.join(", ");
            format!("the server speaks revision {:?}, this client {ours}", theirs.to_str())
        }
        ConnectFailure::NoCommonRevision { theirs, ours } => {
            let ours: Vec<_> = ours.iter().map(|revision| revision.name()).collect();
            format!("the server speaks {theirs}, this client {}", ours.join(", "))
        }
        ConnectFailure::RestartAdvised(cause) => {
            format!("the server ended when it was asked what it is: {cause}")
        }
        ConnectFailure::MissingCapabilities(missing) => {
            format!("the server does not offer {missing:?}")
        }
        ConnectFailure::Malformed { kind, .. } => {
            format!("the server answered with nonsense when it was asked what it is: {kind}")
        }
        ConnectFailure::TimedOut => "the server did not answer in time".into(),
        ConnectFailure::Closed(cause) => {
            format!("the connection ended before it was open: {cause}")
        }
        other => format!("{other:?}"),
    }
}

/// Why there is no connection, and a client that could do better if the server is started again.
struct Failed {
    error: OpenError,
    successor: Option<Client>,
}

impl Failed {
    fn with(error: OpenError) -> Box<Self> {
        Box::new(Self { error, successor: None })
    }
}

/// The number of the next connection to the same server.
const fn next_number(number: ConnectionNumber) -> ConnectionNumber {
    ConnectionNumber::new(number.get().wrapping_add(1))
}

impl Connection {
    /// Connects over a pair of streams, and waits until the session is open. On a socket, give the
    /// writing half as a [`SocketWriter`](crate::SocketWriter).
    ///
    /// # Errors
    ///
    /// [`OpenError`] says why there is no session. It takes at most
    /// [`Timeouts::handshake`](mcp_sansio::Timeouts::handshake).
    pub fn open(
        config: ClientConfig,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        handler: impl Handler<Client>,
    ) -> Result<Self, OpenError> {
        let client = Client::new(Arc::new(config));
        let opened = Self::open_client(client, None, reader, writer, Arc::new(handler));
        opened.map_err(|failed| failed.error)
    }

    /// The same with tasks, which the server can ask for in a session if `config` says so
    /// ([`tasks`](mcp_sansio::model::ClientCapabilities::tasks)). What it asks about them does not reach
    /// the handler.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    pub fn open_with_tasks(
        config: ClientConfig,
        tasks: SharedTasks,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        handler: impl Handler<Client>,
    ) -> Result<Self, OpenError> {
        let client = Client::numbered(Arc::new(config), tasks.next_connection());
        let opened = Self::open_client(client, Some(tasks), reader, writer, Arc::new(handler));
        opened.map_err(|failed| failed.error)
    }

    /// Connects with a client.
    fn open_client(
        client: Client,
        tasks: Option<SharedTasks>,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        handler: Arc<dyn Handler<Client>>,
    ) -> Result<Self, Box<Failed>> {
        let (sender, opening) = channel();
        let limits = client.config().connection.limits.clone();
        let wire = Wire::new(client, &limits, THREADS, tasks.clone(), handler, Some(sender));
        wire.begin_with_handler();
        wire.with(|client, out, now| client.connect(now, out))
            .map_err(|error| Failed::with(error.into()))?;
        wire.start(reader, writer).map_err(|error| Failed::with(OpenError::Threads(error)))?;
        let failure = match opening.recv() {
            Ok(ClientEvent::Connected(connected)) => {
                return Ok(Self { handle: Handle::new(&wire), connected, process: None });
            }
            Ok(ClientEvent::ConnectFailed(failure)) => failure,
            // The machine tells exactly once how the handshake went.
            Ok(_) | Err(_) => ConnectFailure::Closed(Cause::ShutDown),
        };
        // What the server said instead is told before this returns.
        _ = wire.wait_closed(LAST_WRITE);
        let advised = matches!(failure, ConnectFailure::RestartAdvised(_));
        let successor = advised.then(|| {
            let next = tasks.as_ref().map(SharedTasks::next_connection);
            wire.with(|client, _, _| {
                client.successor(next.unwrap_or_else(|| next_number(client.connection())))
            })
        });
        Err(Box::new(Failed { error: OpenError::Connect(failure), successor }))
    }

    /// Starts a server as a child process and connects to it. Its standard error goes where the
    /// command says, by default to that of this process.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open). The process has been ended then, as [`ProcessOptions`] says.
    pub fn spawn(
        config: ClientConfig,
        command: Command,
        handler: impl Handler<Client>,
    ) -> Result<Self, OpenError> {
        Self::spawn_with(config, command, ProcessOptions::default(), handler)
    }

    /// The same with a process that is run and ended in another way.
    ///
    /// # Errors
    ///
    /// As for [`spawn`](Self::spawn).
    pub fn spawn_with(
        config: ClientConfig,
        command: Command,
        options: ProcessOptions,
        handler: impl Handler<Client>,
    ) -> Result<Self, OpenError> {
        Self::spawn_clients(Client::new(Arc::new(config)), None, command, options, handler)
    }

    /// The same with tasks: see [`open_with_tasks`](Self::open_with_tasks).
    ///
    /// # Errors
    ///
    /// As for [`spawn`](Self::spawn).
    pub fn spawn_with_tasks(
        config: ClientConfig,
        tasks: SharedTasks,
        command: Command,
        options: ProcessOptions,
        handler: impl Handler<Client>,
    ) -> Result<Self, OpenError> {
        let client = Client::numbered(Arc::new(config), tasks.next_connection());
        Self::spawn_clients(client, Some(tasks), command, options, handler)
    }

    fn spawn_clients(
        mut client: Client,
        tasks: Option<SharedTasks>,
        mut command: Command,
        options: ProcessOptions,
        handler: impl Handler<Client>,
    ) -> Result<Self, OpenError> {
        let handler: Arc<dyn Handler<Client>> = Arc::new(handler);
        // A server that goes away when it is asked what it is is started a second time, and not asked.
        loop {
            let (tasks, handler) = (tasks.clone(), Arc::clone(&handler));
            match Self::spawn_client(client, tasks, &mut command, options, handler) {
                Ok(connection) => return Ok(connection),
                Err(failed) => match failed.successor {
                    Some(successor) => client = successor,
                    None => return Err(failed.error),
                },
            }
        }
    }

    fn spawn_client(
        client: Client,
        tasks: Option<SharedTasks>,
        command: &mut Command,
        options: ProcessOptions,
        handler: Arc<dyn Handler<Client>>,
    ) -> Result<Self, Box<Failed>> {
        let (mut process, stdin, stdout) = Process::spawn(command, options)
            .map_err(|error| Failed::with(OpenError::Spawn(error)))?;
        let failed = match Self::open_client(client, tasks, stdout, stdin, handler) {
            Ok(mut connection) => {
                connection.process = Some(process);
                return Ok(connection);
            }
            Err(failed) => failed,
        };
        if matches!(failed.error, OpenError::Connect(ConnectFailure::Closed(_)))
            && let Ok(Some(status)) = process.wait(EXIT)
        {
            return Err(Failed::with(OpenError::Ended(status)));
        }
        // Its input is closed by now. If the system cannot tell what became of it, nobody can.
        _ = process.end();
        Err(failed)
    }

    /// What the server said of itself.
    pub const fn connected(&self) -> &Connected<'static> {
        &self.connected
    }

    /// Calls the server.
    pub const fn handle(&self) -> &Handle<Client> {
        &self.handle
    }

    /// How the process ended, if there is one and it has: a server that is gone has reasons.
    ///
    /// Waits for that at most half a second.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        self.process.as_mut()?.wait(EXIT).ok().flatten()
    }

    /// Ends the session when nothing is in flight, at the latest after `grace`, and writes what is left
    /// to write; then ends the process: its input is closed, it is asked to terminate, it is killed, as
    /// [`ProcessOptions`] says.
    ///
    /// Gives the exit status of the process, if there is one.
    ///
    /// # Errors
    ///
    /// What the system says if it cannot tell what became of the process.
    pub fn close(mut self, grace: Duration) -> io::Result<Option<ExitStatus>> {
        self.end(grace)
    }

    fn end(&mut self, grace: Duration) -> io::Result<Option<ExitStatus>> {
        self.handle.shut_down(grace);
        // The writing thread closes the input of the server once everything is written. If that fails,
        // the server is gone, which is what this is for.
        _ = self.handle.wire().wait_closed(LAST_WRITE);
        self.process.take().map(|mut process| process.end()).transpose()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.handle.phase() == Phase::Closed && self.process.is_none() {
            return;
        }
        // There is nobody to tell.
        _ = self.end(Duration::ZERO);
    }
}
