//! Clients of servers.

use std::io;
use std::process::{ChildStdin, ChildStdout, Command};
use std::sync::Arc;

use futures_io::{AsyncRead, AsyncWrite};
use mcp_sansio::{Client, ClientConfig};
use mcp_sansio_driver::asynchronous::{Handler, Spawner, Work};
use mcp_sansio_driver::{
    ClientParts, Clock, Connection, ConnectionOptions, Drive, OpenError, Wire,
};

use crate::runtime::Sleeps;
use crate::streams::{Reads, Writes};

/// Connects to a server over a pair of streams, and waits until the session is open. `spawn` begins tasks:
/// `|work| smol::spawn(work).detach()` those of smol, `|work| drop(async_std::task::spawn(work))` those of
/// async-std.
///
/// The handler serves what the server asks for: at most 16 requests at a time, each in a task of its own.
///
/// ```
/// use mcp_sansio::{ClientConfig, ServerConfig};
/// use mcp_sansio_async_std::{RefuseAll, connect, serve};
///
/// # smol::block_on(async {
/// let ((from_client, to_server), (from_server, to_client)) = (piper::pipe(1024), piper::pipe(1024));
/// let spawn = |work| smol::spawn(work).detach();
/// let config = ServerConfig::new("server", "1.0");
/// smol::spawn(serve(config, from_client, to_client, RefuseAll::new(), spawn)).detach();
///
/// let config = ClientConfig::new("client", "1.0");
/// let connection = connect(config, from_server, to_server, RefuseAll::new(), spawn).await?;
/// assert_eq!(connection.connected().revision.name(), "2026-07-28");
/// connection.close(std::time::Duration::from_secs(5)).await?;
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`OpenError`] says why there is no session. It takes at most
/// [`Timeouts::handshake`](mcp_sansio::config::Timeouts::handshake).
pub async fn connect(
    config: ClientConfig,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    handler: impl Handler<Client>,
    spawn: impl Fn(Work) + Clone + Send + Sync + 'static,
) -> Result<Connection, OpenError> {
    connect_with(config, &ConnectionOptions::new(), reader, writer, handler, spawn).await
}

/// The same with options: tasks, which the server can ask for in a session, and how many handlers run at the
/// same time.
///
/// # Errors
///
/// As for [`connect`].
pub async fn connect_with(
    config: ClientConfig,
    options: &ConnectionOptions,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    handler: impl Handler<Client>,
    spawn: impl Fn(Work) + Clone + Send + Sync + 'static,
) -> Result<Connection, OpenError> {
    let parts = parts(handler, spawn.clone());
    let attach = |wire: &_| {
        drive(wire, reader, writer, &spawn);
        Ok(())
    };
    Connection::open(config, options, &parts, attach).await
}

/// Starts a server as a child process and connects to it. Its standard error goes where the
/// command says, by default to that of this process.
///
/// A server that has read `server/discover` and ends without an answer is started once more, and asked to
/// `initialize`: legacy servers may end at any other first message. The handler's
/// [`begin`](Handler::begin) is called for each process. On Linux, a server that ended before it read the
/// question is not started again; elsewhere that is known only if the question could not be written.
///
/// ```no_run
/// use std::process::Command;
/// use mcp_sansio::model::{PageParams, method};
/// use mcp_sansio::{CallOptions, ClientConfig};
/// use mcp_sansio_async_std::{RefuseAll, spawn};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let config = ClientConfig::new("example", "1.0");
/// let tasks = |work| smol::spawn(work).detach();
/// let connection = spawn(config, Command::new("some-server"), RefuseAll::new(), tasks).await?;
/// let server = connection.handle();
/// let options = CallOptions::new();
/// let reply = server.call::<method::ListTools>(&PageParams::default(), options).await?;
/// for tool in reply.parse()?.tools.iter() {
///     println!("{}", tool.name);
/// }
/// connection.close(std::time::Duration::from_secs(5)).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// As for [`connect`]. The process has been ended then, as
/// [`ProcessOptions`](crate::ProcessOptions) says.
pub async fn spawn(
    config: ClientConfig,
    command: Command,
    handler: impl Handler<Client>,
    spawn: impl Fn(Work) + Clone + Send + Sync + 'static,
) -> Result<Connection, OpenError> {
    spawn_with(config, &ConnectionOptions::new(), command, handler, spawn).await
}

/// The same with options: also for how the process is run and ended.
///
/// # Errors
///
/// As for [`spawn`].
pub async fn spawn_with(
    config: ClientConfig,
    options: &ConnectionOptions,
    command: Command,
    handler: impl Handler<Client>,
    spawn: impl Fn(Work) + Clone + Send + Sync + 'static,
) -> Result<Connection, OpenError> {
    let parts = parts(handler, spawn.clone());
    let attach = |wire: &_, stdout, stdin| attach(wire, stdout, stdin, &spawn);
    Connection::spawn(config, options, command, &parts, attach).await
}

fn parts(
    handler: impl Handler<Client>,
    spawn: impl Fn(Work) + Send + Sync + 'static,
) -> ClientParts {
    ClientParts::new(Clock::new(), Spawner::new(handler, spawn), Sleeps::default())
}

/// Begins to read, to write and to keep the time.
#[cfg(unix)]
fn attach(
    wire: &Arc<Wire<Client>>,
    stdout: ChildStdout,
    stdin: ChildStdin,
    spawn: &impl Fn(Work),
) -> io::Result<()> {
    drive(wire, async_io::Async::new(stdout)?, async_io::Async::new(stdin)?, spawn);
    Ok(())
}

/// The same where pipes cannot be waited for: on threads.
#[cfg(not(unix))]
fn attach(
    wire: &Arc<Wire<Client>>,
    stdout: ChildStdout,
    stdin: ChildStdin,
    spawn: &impl Fn(Work),
) -> io::Result<()> {
    let drive = Drive::timed(wire, Sleeps::default());
    wire.write_on_thread(stdin)?;
    wire.read_on_thread(stdout)?;
    spawn(Box::pin(async { _ = drive.await }));
    Ok(())
}

fn drive(
    wire: &Arc<Wire<Client>>,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    spawn: &impl Fn(Work),
) {
    let drive = Drive::new(wire, Reads(reader), Writes(writer), Sleeps::default());
    // What goes wrong is told to whoever calls the server.
    spawn(Box::pin(async { _ = drive.await }));
}
