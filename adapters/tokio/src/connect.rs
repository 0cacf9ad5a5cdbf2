//! Opens connections of clients to servers.

use std::process::{ChildStdin, ChildStdout, Command};
use std::sync::Arc;

use mcp_sansio::{Client, ClientConfig};
use mcp_sansio_driver::asynchronous::Handler;
use mcp_sansio_driver::{ClientParts, Connection, ConnectionOptions, Drive, OpenError, Wire};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process;

use crate::runtime::{Sleeps, clock, sleep, spawner};
use crate::streams::{Reads, Writes};

/// Connects to a server over a pair of streams, and waits until the connection is open.
///
/// The handler serves the requests of the server: at most 16 at a time, each in its own task.
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
/// [`OpenError`] if the connection could not be opened. A probe waits for at most
/// [`Timeouts::probe`](mcp_sansio::config::Timeouts::probe), and `initialize` for at most
/// [`Timeouts::handshake`](mcp_sansio::config::Timeouts::handshake).
pub async fn connect(
    config: ClientConfig,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    handler: impl Handler<Client>,
) -> Result<Connection, OpenError> {
    connect_with(config, &ConnectionOptions::new(), reader, writer, handler).await
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
) -> Result<Connection, OpenError> {
    let attach = |wire: &_| {
        attach(wire, reader, writer);
        Ok(())
    };
    Connection::open(config, options, &parts(handler), attach).await
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
/// use mcp_sansio_tokio::{RefuseAll, spawn};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let config = ClientConfig::new("example", "1.0");
/// let connection = spawn(config, Command::new("some-server"), RefuseAll::new()).await?;
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
) -> Result<Connection, OpenError> {
    spawn_with(config, &ConnectionOptions::new(), command, handler).await
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

/// Starts to read, to write and to handle timeouts.
fn attach(
    wire: &Arc<Wire<Client>>,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) {
    tokio::spawn(Drive::new(wire, Reads(reader), Writes(writer), Sleeps::default()));
}
