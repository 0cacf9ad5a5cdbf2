//! [`Connection`]: an open connection of a client to a server.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use mcp_sansio::event::{ConnectFailure, Connected};
use mcp_sansio::{
    Cause, Client, ClientConfig, ClientEvent, ConnectionNumber, Framing, Outbox, Phase,
};

use super::open_error::OpenError;
use super::process::Process;
use super::unread::Unread;
use crate::block::block_on;
use crate::clock::Clock;
use crate::handle::Handle;
use crate::options::{ConnectionOptions, keep_requests};
use crate::out::Out;
use crate::run::Run;
use crate::sleep::Sleep;
use crate::tasks::SharedTasks;
use crate::waiting::Waiting;
use crate::wire::Wire;

/// How long a server may take to end after its output has ended.
const EXIT: Duration = Duration::from_millis(500);

/// How long an end takes after its grace at most, by a clock that runs: the last output, the handlers of the last
/// events, and a moment. The timers of the connection fire first.
const LONGEST_END: Duration = Duration::from_millis(4_500);

/// A connection to a server, with a session if the server requires one.
///
/// [`handle`](Self::handle) returns the handle for calls; handles can be cloned and used from many threads and
/// tasks.
///
/// Dropping the connection ends it at once, and kills a child process. In blocking code, dropping instead waits
/// until the process has ended, as [`close`](Self::close) does without grace.
pub struct Connection {
    handle: Handle<Client>,
    connected: Connected<'static>,
    process: Option<Process>,
    sleep: Arc<dyn Sleep>,
}

/// The parts of a client that an adapter supplies.
pub struct ClientParts {
    clock: Clock,
    runner: Arc<dyn Run<Client>>,
    sleep: Arc<dyn Sleep>,
}

impl ClientParts {
    /// Combines a clock, an executor of handlers, and a timer.
    pub fn new(clock: Clock, runner: impl Run<Client>, sleep: impl Sleep) -> Self {
        Self { clock, runner: Arc::new(runner), sleep: Arc::new(sleep) }
    }
}

impl fmt::Debug for ClientParts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ClientParts").field("clock", &self.clock).finish_non_exhaustive()
    }
}

/// The reason why there is no connection, and a client for another attempt with a restarted server.
struct Failed {
    error: OpenError,
    successor: Option<Client>,
}

impl Failed {
    fn with(error: OpenError) -> Box<Self> {
        Box::new(Self { error, successor: None })
    }
}

/// Returns the number of the next connection to the same server.
const fn next_number(number: ConnectionNumber) -> ConnectionNumber {
    ConnectionNumber::new(number.get().wrapping_add(1))
}

impl Connection {
    /// For adapters, whose `connect` calls it. Opens a connection, and waits until it is open. `attach` starts to read,
    /// to write and to handle timeouts. If this future is dropped before it is ready, the connection ends.
    ///
    /// # Errors
    ///
    /// [`OpenError`] if there is no connection. A probe waits for at most
    /// [`Timeouts::probe`](mcp_sansio::config::Timeouts::probe), and `initialize` for at most
    /// [`Timeouts::handshake`](mcp_sansio::config::Timeouts::handshake).
    pub async fn open(
        config: ClientConfig,
        options: &ConnectionOptions,
        parts: &ClientParts,
        attach: impl FnOnce(&Arc<Wire<Client>>) -> io::Result<()>,
    ) -> Result<Self, OpenError> {
        Self::open_on(config, stream, options, parts, attach).await
    }

    /// As [`open`](Self::open), for a client with other outboxes.
    pub(crate) async fn open_on(
        config: ClientConfig,
        out: impl FnOnce(&Client) -> Out,
        options: &ConnectionOptions,
        parts: &ClientParts,
        attach: impl FnOnce(&Arc<Wire<Client>>) -> io::Result<()>,
    ) -> Result<Self, OpenError> {
        let client = first_client(config, options);
        let out = out(&client);
        let opened = Self::open_client(client, out, options, parts, attach).await;
        opened.map_err(|failed| failed.error)
    }

    /// For adapters, whose `spawn` calls it. As [`open`](Self::open), for a server that is a child process. The options
    /// set the destination of its standard error. If this future is dropped before it is ready, the process is killed.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open). The process has been ended according to the options, or killed if their
    /// [`KillSwitch`](crate::KillSwitch) has been pulled.
    pub async fn spawn(
        config: ClientConfig,
        options: &ConnectionOptions,
        mut command: Command,
        parts: &ClientParts,
        mut attach: impl FnMut(&Arc<Wire<Client>>, ChildStdout, ChildStdin) -> io::Result<()>,
    ) -> Result<Self, OpenError> {
        let mut client = first_client(config, options);
        // A server that ends on the discovery request is started a second time, without that request.
        loop {
            let spawned =
                Self::spawn_client(client, options, &mut command, parts, &mut attach).await;
            match spawned {
                Ok(connection) => return Ok(connection),
                Err(failed) => match failed.successor {
                    Some(successor) if !options.child.kill_switch.is_pulled() => client = successor,
                    _ => return Err(failed.error),
                },
            }
        }
    }

    async fn spawn_client(
        client: Client,
        options: &ConnectionOptions,
        command: &mut Command,
        parts: &ClientParts,
        attach: &mut impl FnMut(&Arc<Wire<Client>>, ChildStdout, ChildStdin) -> io::Result<()>,
    ) -> Result<Self, Box<Failed>> {
        let (mut process, stdin, stdout) = Process::spawn(command, options.child.process)
            .map_err(|error| Failed::with(OpenError::Spawn(error)))?;
        process.set_kill_switch(&options.child.kill_switch);
        let unread = Unread::in_input(&stdin);
        let attach = |wire: &_| attach(wire, stdout, stdin);
        let out = stream(&client);
        let opening = Self::open_client(client, out, options, parts, attach);
        let mut failed = match options.child.kill_switch.unless_pulled(opening).await {
            Some(Ok(mut connection)) => {
                connection.process = Some(process);
                return Ok(connection);
            }
            Some(Err(failed)) => failed,
            None => {
                let failure = ConnectFailure::Closed(Cause::ShutDown);
                Failed::with(OpenError::Connect(failure))
            }
        };
        // This also lets the process see the end of its input.
        if unread.has_bytes() {
            // A server did not end because of a request that it has not read.
            failed.successor = None;
        }
        let has_gone = matches!(
            failed.error,
            OpenError::Connect(ConnectFailure::Closed(_) | ConnectFailure::RestartAdvised(_))
        );
        if has_gone
            && failed.successor.is_none()
            && let Ok(Some(status)) = process.wait(EXIT, &*parts.sleep).await
        {
            let stderr = process.whole_stderr(&*parts.sleep).await;
            let stderr = String::from_utf8_lossy(&stderr).into_owned();
            return Err(Failed::with(OpenError::Ended { status, stderr }));
        }
        // The input of the process is closed by now. An unknown exit status changes nothing here.
        _ = process.end(&*parts.sleep).await;
        Err(failed)
    }

    async fn open_client(
        client: Client,
        out: Out,
        options: &ConnectionOptions,
        parts: &ClientParts,
        attach: impl FnOnce(&Arc<Wire<Client>>) -> io::Result<()>,
    ) -> Result<Self, Box<Failed>> {
        let runner = Arc::clone(&parts.runner);
        let wire = Wire::client_on(client, out, options, parts.clock.clone(), runner);
        let abandoned = Abandoned { wire: &wire, is_kept: false };
        parts.runner.begin(&wire.handle());
        wire.with(|client, out, now| client.connect(now, out))
            .map_err(|error| Failed::with(error.into()))?;
        attach(&wire).map_err(|error| Failed::with(OpenError::Streams(error)))?;
        let failure = match poll_fn(|context| wire.poll_opening(context)).await {
            ClientEvent::Connected(connected) => {
                abandoned.keep();
                let (handle, sleep) = (wire.handle(), Arc::clone(&parts.sleep));
                return Ok(Self { handle, connected, process: None, sleep });
            }
            ClientEvent::ConnectFailed(failure) => failure,
            // The machine reports the end of the handshake exactly once.
            _ => ConnectFailure::Closed(Cause::ShutDown),
        };
        // Other messages of the server are delivered before this returns.
        wire.ended().notified().await;
        // A server that never received the discovery request has ended for another reason.
        let advised = matches!(failure, ConnectFailure::RestartAdvised(_)) && wire.has_written();
        let successor = advised.then(|| {
            let next = options.tasks.as_ref().map(SharedTasks::next_connection);
            wire.with(|client, _, _| {
                client.reconnect(next.unwrap_or_else(|| next_number(client.connection_number())))
            })
        });
        Err(Box::new(Failed { error: OpenError::Connect(failure), successor }))
    }

    /// Returns the server's description of itself.
    pub const fn connected(&self) -> &Connected<'static> {
        &self.connected
    }

    /// Returns the handle for calls to the server.
    pub const fn handle(&self) -> &Handle<Client> {
        &self.handle
    }

    /// Returns the process of the server, if it is a child of this process.
    pub const fn process(&self) -> Option<&Process> {
        self.process.as_ref()
    }

    /// Returns the exit status of the process, if there is one and it ends within half a second. It helps to
    /// explain a lost connection. `await` it, or block with [`wait`](Waiting::wait).
    pub fn exit_status(&mut self) -> Waiting<'_, Option<ExitStatus>> {
        Waiting::new(async {
            let process = self.process.as_mut()?;
            process.wait(EXIT, &*self.sleep).await.ok().flatten()
        })
    }

    /// Ends the connection once nothing is in flight, at the latest after `grace`. It writes the remaining output
    /// as long as the server reads, but for at most 2 s. Then it ends the process as configured in
    /// [`ProcessOptions`](crate::ProcessOptions): it closes the input, asks the process to terminate, and kills it.
    /// A connection without a process ends in time even if its clock is stopped, for example during a login.
    /// If the [`KillSwitch`](crate::KillSwitch) of the options is pulled, it kills the process at once. `await` it,
    /// or block with [`wait`](Waiting::wait).
    ///
    /// The output is the exit status of the process, if there is one, or the error of the operating system if it
    /// cannot report the status.
    pub fn close(mut self, grace: Duration) -> Waiting<'static, io::Result<Option<ExitStatus>>> {
        Waiting::new(async move { self.end(grace).await })
    }

    async fn end(&mut self, grace: Duration) -> io::Result<Option<ExitStatus>> {
        self.handle.shut_down(grace);
        // The input of the server is closed once everything is written. If a write fails, the server is already
        // gone.
        match &self.process {
            Some(process) => _ = process.kill_switch().unless_pulled(self.handle.ended()).await,
            None if self.sleep.blocks() => self.handle.ended().await,
            None => self.end_in_real_time(grace).await,
        }
        let ended = match self.process.take() {
            Some(mut process) => process.end(&*self.sleep).await.map(Some),
            None => Ok(None),
        };
        self.handle.wire().stop_reading();
        ended
    }

    /// Waits for the end, and forces it once its deadlines have certainly passed. A stopped clock never reaches
    /// them: a login, for example, stops the clock of a connection over HTTP.
    async fn end_in_real_time(&self, grace: Duration) {
        let mut ended = pin!(self.handle.ended());
        let mut late = None;
        let is_late = poll_fn(|context| match ended.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(false),
            Poll::Pending => late
                .get_or_insert_with(|| self.sleep.sleep(grace.saturating_add(LONGEST_END)))
                .as_mut()
                .poll(context)
                .map(|()| true),
        });
        if is_late.await {
            self.handle.wire().abandon();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.sleep.blocks() && (self.process.is_some() || self.handle.phase() != Phase::Closed) {
            // A destructor cannot return the exit status.
            _ = block_on(self.end(Duration::ZERO));
        }
        self.handle.shut_down(Duration::ZERO);
        self.handle.wire().stop_reading();
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("Connection");
        debug.field("handle", &self.handle).field("process", &self.process).finish_non_exhaustive()
    }
}

/// A guard that ends the connection unless it is opened and kept.
struct Abandoned<'w> {
    wire: &'w Arc<Wire<Client>>,
    is_kept: bool,
}

impl Abandoned<'_> {
    fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            self.wire.abandon();
            self.wire.stop_reading();
        }
    }
}

/// Creates the outbox for a single stream.
fn stream(client: &Client) -> Out {
    Out::Stream(Outbox::new(Framing::Lines, &client.config().connection.limits))
}

fn first_client(mut config: ClientConfig, options: &ConnectionOptions) -> Client {
    keep_requests(&mut config.connection.limits);
    let config = Arc::new(config);
    match &options.tasks {
        Some(tasks) => Client::with_connection_number(config, tasks.next_connection()),
        None => Client::new(config),
    }
}
