//! Opens connections of clients to servers.

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

/// Connects to a server over a pair of streams, and waits until the connection is open. `spawn` starts tasks:
/// `|work| smol::spawn(work).detach()` for smol, `|work| drop(async_std::task::spawn(work))` for async-std.
///
/// The handler serves the requests of the server: at most 16 at a time, each in its own task.
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
/// [`OpenError`] if the connection could not be opened. A probe waits for at most
/// [`Timeouts::probe`](mcp_sansio::config::Timeouts::probe), and `initialize` for at most
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

/// As [`connect`], with options, for example tasks, which the server can request in a session, and the number of
/// handlers that run at the same time.
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

/// Starts a server as a child process and connects to it. The command sets the destination of its standard error,
/// by default that of this process.
///
/// A server that has read `server/discover` and ends without a response is started a second time, with `initialize`
/// as the first message: legacy servers may end on any other first message. The handler's [`begin`](Handler::begin)
/// is called for each process. On Linux, a server that ended before it read the request is not started again; on
/// other systems, only a failed write of the request is detected.
///
/// ```no_run
/// use std::process::Command;
/// use mcp_sansio::call::Paging;
/// use mcp_sansio::model::method;
/// use mcp_sansio::{CallOptions, ClientConfig};
/// use mcp_sansio_async_std::{RefuseAll, spawn};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let config = ClientConfig::new("example", "1.0");
/// let tasks = |work| smol::spawn(work).detach();
/// let connection = spawn(config, Command::new("some-server"), RefuseAll::new(), tasks).await?;
/// let server = connection.handle();
/// let options = CallOptions::new();
/// let list = server.list::<method::ListTools>(Paging::default(), options).await?;
/// for page in &list.pages {
///     for tool in page.parse()?.tools.iter() {
///         println!("{}", tool.name);
///     }
/// }
/// connection.close(std::time::Duration::from_secs(5)).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// As for [`connect`]. The process has been ended according to [`ProcessOptions`](crate::ProcessOptions).
pub async fn spawn(
    config: ClientConfig,
    command: Command,
    handler: impl Handler<Client>,
    spawn: impl Fn(Work) + Clone + Send + Sync + 'static,
) -> Result<Connection, OpenError> {
    spawn_with(config, &ConnectionOptions::new(), command, handler, spawn).await
}

/// As [`spawn`], with options, also for how the process is run and ended.
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

/// Starts to read, to write and to handle timeouts.
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

/// Uses threads where the runtime cannot wait for pipes.
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
    // The callers of the server receive the error.
    spawn(Box::pin(async { _ = drive.await }));
}
