//! An adapter for madsim: its sockets and its timers for [`mcp_sansio_driver`], which has everything else.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use madsim::net::TcpStream;
use madsim::task::spawn;
use madsim::time::{self, Sleep as MadsimSleep};
use mcp_sansio::{Client, ClientConfig, Server, ServerConfig};
use mcp_sansio_driver::asynchronous::{Handler, RefuseAll, Spawner, Work};
use mcp_sansio_driver::{
    ClientParts, Clock, Connection, ConnectionOptions, Drive, Incoming, OpenError, Outgoing, Sleep,
    Timer, Wire,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, ReadHalf, WriteHalf, split};

struct Reads(ReadHalf<TcpStream>);

impl Incoming for Reads {
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        ready!(Pin::new(&mut self.0).poll_read(context, &mut buffer))?;
        Poll::Ready(Ok(buffer.filled().len()))
    }
}

struct Writes(WriteHalf<TcpStream>);

impl Outgoing for Writes {
    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_close(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

/// A timer of the simulated time. The clock of the driver reads that of the system, which madsim replaces.
#[derive(Default)]
struct Sleeps(Option<(Instant, Pin<Box<MadsimSleep>>)>);

impl Timer for Sleeps {
    fn poll_until(&mut self, context: &mut Context<'_>, deadline: Option<Instant>) -> Poll<()> {
        let Some(deadline) = deadline else { return Poll::Pending };
        let is_known = self.0.as_ref().is_some_and(|(known, _)| *known == deadline);
        if !is_known {
            let left = deadline.saturating_duration_since(Instant::now());
            self.0 = Some((deadline, Box::pin(time::sleep(left))));
        }
        match &mut self.0 {
            Some((_, sleep)) => sleep.as_mut().poll(context),
            None => Poll::Pending,
        }
    }
}

impl Sleep for Sleeps {
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(time::sleep(time))
    }
}

fn start(work: Work) {
    drop(spawn(work));
}

/// Serves the client of a socket.
pub(crate) async fn serve(
    config: ServerConfig,
    socket: TcpStream,
    handler: impl Handler<Server>,
) -> io::Result<()> {
    let wire =
        Wire::server(config, &ConnectionOptions::new(), Clock::new(), Spawner::new(handler, start));
    let (reader, writer) = split(socket);
    Drive::new(&wire, Reads(reader), Writes(writer), Sleeps::default()).await
}

/// Opens a connection to the server of a socket.
pub(crate) async fn connect(
    config: ClientConfig,
    socket: TcpStream,
) -> Result<Connection, OpenError> {
    let handler: RefuseAll = RefuseAll::new();
    let spawner: Spawner<Client, _, _> = Spawner::new(handler, start);
    let parts = ClientParts::new(Clock::new(), spawner, Sleeps::default());
    Connection::open(config, &ConnectionOptions::new(), &parts, |wire| {
        let (reader, writer) = split(socket);
        let drive = Drive::new(wire, Reads(reader), Writes(writer), Sleeps::default());
        start(Box::pin(async { _ = drive.await }));
        Ok(())
    })
    .await
}
