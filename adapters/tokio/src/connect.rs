//! Clients of servers.

use std::process::{ChildStdin, ChildStdout, Command};
use std::sync::Arc;

use mcp_sansio::{Client, ClientConfig};
use mcp_sansio_driver::asynchronous::Handler;
use mcp_sansio_driver::{ClientParts, Connection, ConnectionOptions, Drive, OpenError, Wire};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process;

use crate::runtime::{Sleeps, clock, sleep, spawner};
use crate::streams::{Reads, Writes};

/// Connects to a server over a pair of streams, and waits until the session is open.
///
/// The handler serves what the server asks for: at most 16 requests at a time, each in a task of its own.
///
/// ```
/// use mcp_sansio::{ClientConfig, ServerConfig};
/// use mcp_sansio_tokio::{RefuseAll, connect, serve};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// let (ours, theirs) = tokio::io::duplex(1024);
/// let (reader, writer) = tokio::io::split(theirs);
/// tokio::spawn(serve(ServerConfig::new("server", "1.0"), reader, writer, RefuseAll::new()));
///
/// let (reader, writer) = tokio::io::split(ours);
/// let config = ClientConfig::new("client", "1.0");
/// let connection = connect(config, reader, writer, RefuseAll::new()).await?;
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
) -> Result<Connection, OpenError> {
    connect_with(config, &ConnectionOptions::new(), reader, writer, handler).await
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
) -> Result<Connection, OpenError> {
    let attach = |wire: &_| {
        attach(wire, reader, writer);
        Ok(())
    };
    Connection::open(config, options, &parts(handler), attach).await
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
/// use mcp_sansio_tokio::{RefuseAll, spawn};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let config = ClientConfig::new("example", "1.0");
/// let connection = spawn(config, Command::new("some-server"), RefuseAll::new()).await?;
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
) -> Result<Connection, OpenError> {
    spawn_with(config, &ConnectionOptions::new(), command, handler).await
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
) -> Result<Connection, OpenError> {
    let attach = |wire: &_, stdout: ChildStdout, stdin: ChildStdin| {
        let stdout = process::ChildStdout::from_std(stdout)?;
        attach(wire, stdout, process::ChildStdin::from_std(stdin)?);
        Ok(())
    };
    Connection::spawn(config, options, command, &parts(handler), attach).await
}

fn parts(handler: impl Handler<Client>) -> ClientParts {
    ClientParts::new(clock(), spawner(handler), sleep())
}

/// Begins to read, to write and to keep the time.
fn attach(
    wire: &Arc<Wire<Client>>,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) {
    tokio::spawn(Drive::new(wire, Reads(reader), Writes(writer), Sleeps::default()));
}
