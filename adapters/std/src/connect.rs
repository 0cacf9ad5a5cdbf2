//! Opens connections of clients to servers.

use std::io::{self, Read, Write};
use std::process::Command;
use std::sync::Arc;

use mcp_sansio::{Client, ClientConfig};
use mcp_sansio_driver::{
    ClientParts, Clock, Connection, ConnectionOptions, OpenError, Waiting, Wire,
};

use crate::handler::{Handler, Sleeps, Threads};

/// Connects to a server over a pair of streams, and waits until the connection is open. On a socket, pass the
/// writing half as a [`SocketWriter`](crate::SocketWriter).
///
/// The handler serves the requests of the server: at most 16 at a time, on threads of a pool.
///
/// # Errors
///
/// [`OpenError`] if the connection could not be opened. A probe waits for at most
/// [`Timeouts::probe`](mcp_sansio::config::Timeouts::probe), and `initialize` for at most
/// [`Timeouts::handshake`](mcp_sansio::config::Timeouts::handshake).
pub fn connect(
    config: ClientConfig,
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
    handler: impl Handler<Client>,
) -> Result<Connection, OpenError> {
    connect_with(config, &ConnectionOptions::new(), reader, writer, handler)
}

/// As [`connect`], with options, for example tasks, which the server can request in a session, and the number of
/// handlers that run at the same time.
///
/// # Errors
///
/// As for [`connect`].
pub fn connect_with(
    config: ClientConfig,
    options: &ConnectionOptions,
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
    handler: impl Handler<Client>,
) -> Result<Connection, OpenError> {
    let parts = parts(handler);
    let attach = |wire: &_| attach(wire, reader, writer);
    Waiting::new(Connection::open(config, options, &parts, attach)).wait()
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
/// use mcp_sansio_std::{RefuseAll, spawn};
///
/// let config = ClientConfig::new("example", "1.0");
/// let connection = spawn(config, Command::new("some-server"), RefuseAll::new())?;
/// let options = CallOptions::new();
/// let server = connection.handle();
/// let list = server.list::<method::ListTools>(Paging::default(), options).wait()?;
/// for page in &list.pages {
///     for tool in page.parse()?.tools.iter() {
///         println!("{}", tool.name);
///     }
/// }
/// connection.close(std::time::Duration::from_secs(5)).wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As for [`connect`]. The process has been ended according to [`ProcessOptions`](crate::ProcessOptions).
pub fn spawn(
    config: ClientConfig,
    command: Command,
    handler: impl Handler<Client>,
) -> Result<Connection, OpenError> {
    spawn_with(config, &ConnectionOptions::new(), command, handler)
}

/// As [`spawn`], with options, also for how the process is run and ended.
///
/// # Errors
///
/// As for [`spawn`].
pub fn spawn_with(
    config: ClientConfig,
    options: &ConnectionOptions,
    command: Command,
    handler: impl Handler<Client>,
) -> Result<Connection, OpenError> {
    let parts = parts(handler);
    Waiting::new(Connection::spawn(config, options, command, &parts, attach)).wait()
}

fn parts(handler: impl Handler<Client>) -> ClientParts {
    ClientParts::new(Clock::new(), Threads::new(handler), Sleeps)
}

/// Starts to read, to write and to handle timeouts.
fn attach(
    wire: &Arc<Wire<Client>>,
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
) -> io::Result<()> {
    wire.write_on_thread(writer)?;
    wire.keep_time_on_thread()?;
    wire.read_on_thread(reader)
}
