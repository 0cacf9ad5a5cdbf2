//! Dropped futures, and sockets, on async-std and on smol: cases that the suite does not cover.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_io::{AsyncRead, AsyncWrite};
use mcp_sansio::model::{CallToolResult, ListChanged};
use mcp_sansio::{
    ByteStream, CallOptions, ClientConfig, ClientRequest, Instant, Phase, RespondError,
    RevisionSet, Server, ServerConfig,
};
use mcp_sansio_async_std::{
    CallFailure, Connection, Exchange, RefuseAll, Work, connect, read_into, serve, write_from,
};
use serde_json::json;
use smol::channel::{Receiver, unbounded};
use smol::future::{FutureExt, or};
use smol::io::{AsyncReadExt, AsyncWriteExt};

/// Two requests that a machine answers itself.
const PINGS: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":\"\u{e9}\",\"method\":\"ping\"}\n";

/// A runtime: its functions to spawn a task and to block on a future.
#[derive(Clone, Copy)]
struct Runtime {
    spawn: fn(Work),
}

const RUNTIMES: [Runtime; 2] = [
    Runtime { spawn: |work| smol::spawn(work).detach() },
    Runtime { spawn: |work| drop(async_std::task::spawn(work)) },
];

fn server_config() -> ServerConfig {
    let mut config = ServerConfig::new("server", "1");
    config.revisions = RevisionSet::LEGACY;
    config.capabilities.tools = Some(ListChanged::default());
    config
}

fn client_config() -> ClientConfig {
    let mut config = ClientConfig::new("client", "1");
    config.revisions = RevisionSet::LEGACY;
    config
}

/// Drops a future after a few polls; returns `None` if it was not ready by then.
async fn a_little<T>(future: impl Future<Output = T>) -> Option<T> {
    let give_up = async {
        for _ in 0..3 {
            smol::future::yield_now().await;
        }
        None
    };
    or(async { Some(future.await) }, give_up).await
}

/// Serves with a handler that waits for its cancellation, and logs it.
fn serving(
    runtime: Runtime,
    reader: impl AsyncRead + Unpin + Send + 'static,
    writer: impl AsyncWrite + Unpin + Send + 'static,
) -> (impl Future<Output = io::Result<()>> + Send, Receiver<&'static str>) {
    let (sender, reported) = unbounded();
    let waits = move |exchange: Exchange| {
        let sender = sender.clone();
        async move {
            sender.send("waiting").await.unwrap();
            exchange.cancelled().await;
            sender.send("cancelled").await.unwrap();
            Ok::<(), RespondError>(())
        }
    };
    (serve(server_config(), reader, writer, waits, runtime.spawn), reported)
}

async fn open(
    runtime: Runtime,
    reader: impl AsyncRead + Unpin + Send + 'static,
    writer: impl AsyncWrite + Unpin + Send + 'static,
) -> Connection {
    connect(client_config(), reader, writer, RefuseAll::new(), runtime.spawn).await.unwrap()
}

/// Pain 46: a dropped read or write loses no bytes.
#[test]
fn reads_and_writes_that_are_given_up() {
    smol::block_on(async {
        let (mut read, mut to_read) = piper::pipe(8);
        let mut stream = ByteStream::lines(Server::new(server_config().into()));
        for byte in PINGS.as_bytes() {
            let given_up = a_little(read_into(&mut stream, &mut read)).await;
            assert!(given_up.is_none(), "nothing has been sent");
            to_read.write_all(&[*byte]).await.unwrap();
            assert!(read_into(&mut stream, &mut read).await.unwrap());
            while let Some(step) = stream.next_step(Instant::from_nanos(0)) {
                assert!(step.event.is_none(), "{:?}", step.event);
            }
        }
        let expected = String::from_utf8(stream.unsent().to_vec()).unwrap();
        assert_eq!(expected.lines().count(), 2, "{expected}");
        let (mut written, mut to_write) = piper::pipe(8);
        let mut received = vec![0; expected.len()];
        for bytes in received.chunks_mut(3) {
            _ = a_little(write_from(&mut stream, &mut to_write)).await;
            written.read_exact(bytes).await.unwrap();
        }
        assert_eq!(String::from_utf8(received).unwrap(), expected);
        assert!(stream.unsent().is_empty());
        drop(to_read);
        assert!(!read_into(&mut stream, &mut read).await.unwrap(), "the input has ended");
    });
}

/// Dropping a server ends it at once, and cancels its handlers.
#[test]
fn a_server_that_is_dropped() {
    for runtime in RUNTIMES {
        let ((from_client, to_server), (from_server, to_client)) =
            (piper::pipe(64), piper::pipe(64));
        let (serving, reported) = serving(runtime, from_client, to_client);
        smol::block_on(async {
            let server = smol::spawn(serving);
            let connection = open(runtime, from_server, to_server).await;
            let params = json!({"name": "any"});
            let call = connection.handle().call_method("tools/call", &params, CallOptions::new());
            assert_eq!(reported.recv().await, Ok("waiting"));
            drop(server);
            assert_eq!(reported.recv().await, Ok("cancelled"));
            assert!(matches!(call.await, Err(CallFailure::Closed(_))));
            connection.handle().ended().await;
            assert_eq!(connection.handle().phase(), Phase::Closed);
            assert!(reported.recv().await.is_err(), "the handler is gone");
        });
    }
}

/// Dropping a connection attempt leaves nothing behind: the peer sees the end of the stream.
#[test]
fn connecting_that_is_given_up() {
    for runtime in RUNTIMES {
        let ((mut from_client, to_server), (from_server, _to_client)) =
            (piper::pipe(1024), piper::pipe(64));
        smol::block_on(async {
            assert!(a_little(open(runtime, from_server, to_server)).await.is_none());
            let mut sent = String::new();
            from_client.read_to_string(&mut sent).await.unwrap();
            assert!(sent.is_empty() || sent.contains("initialize"), "{sent}");
        });
    }
}

/// Sockets of both runtimes, each half of which is shut down at the end.
#[test]
fn sockets() {
    let done = async {
        let listener = async_std::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let [of_smol, of_async_std] = RUNTIMES;
        let server = async_std::task::spawn(async move {
            let (socket, _) = listener.accept().await.unwrap();
            let answer = |exchange: Exchange| async move {
                match &exchange.request().kind {
                    // Its result does not fit, which is the error of the function.
                    ClientRequest::CallTool(call) if call.name == "misfit" => {
                        exchange.respond(&json!({"content": 1}))
                    }
                    _ => exchange.respond(&CallToolResult::text("hello")),
                }
            };
            serve(server_config(), socket.clone(), socket, answer, of_async_std.spawn).await
        });
        let socket = smol::net::TcpStream::connect(address).await.unwrap();
        let connection = open(of_smol, socket.clone(), socket).await;
        let params = json!({"name": "any"});
        let call = connection.handle().call_method("tools/call", &params, CallOptions::new());
        assert!(call.await.is_ok());
        let params = json!({"name": "misfit"});
        let call = connection.handle().call_method("tools/call", &params, CallOptions::new());
        let Err(CallFailure::PeerError(error)) = call.await else { panic!("it does not fit") };
        let reason = "the answer could not be written: content has the wrong type";
        assert_eq!((error.code.get(), &*error.message.to_str()), (-32603, reason));
        connection.close(Duration::from_secs(60)).await.unwrap();
        server.await.unwrap();
        true
    };
    let late = async {
        smol::Timer::after(Duration::from_secs(120)).await;
        false
    };
    assert!(smol::block_on(done.or(late)));
}

/// A stream that takes its time to close.
struct SaysGoodbye<W> {
    stream: W,
    has_to_wait: u32,
    reported: Arc<AtomicBool>,
}

impl<W: AsyncWrite + Unpin> AsyncWrite for SaysGoodbye<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        assert_eq!(self.has_to_wait, 10, "it is being closed already");
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.has_to_wait != 0 {
            self.has_to_wait -= 1;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.reported.store(true, Ordering::SeqCst);
        Pin::new(&mut self.stream).poll_close(context)
    }
}

/// A stream is closed completely, as TLS needs it, before it is dropped.
#[test]
fn closing_a_stream_takes_its_time() {
    for runtime in RUNTIMES {
        let ((from_client, to_server), (from_server, to_client)) =
            (piper::pipe(64), piper::pipe(64));
        let reported = Arc::new(AtomicBool::new(false));
        let to_client =
            SaysGoodbye { stream: to_client, has_to_wait: 10, reported: Arc::clone(&reported) };
        let (serving, _) = serving(runtime, from_client, to_client);
        smol::block_on(async {
            let server = smol::spawn(serving);
            open(runtime, from_server, to_server).await.close(Duration::ZERO).await.unwrap();
            server.await.unwrap();
        });
        assert!(reported.load(Ordering::SeqCst));
    }
}

/// Starting and ending a server process can be dropped: the process ends with the future.
#[cfg(target_os = "linux")]
#[test]
fn processes_that_are_given_up() {
    use mcp_sansio_async_std::{ConnectionOptions, ProcessOptions, spawn, spawn_with};
    use std::process::Command;

    let is_alive = |process: u32| std::path::Path::new(&format!("/proc/{process}")).exists();
    for runtime in RUNTIMES {
        let file = std::env::temp_dir().join(format!("mcp-sansio-given-up-{}", std::process::id()));
        let mut silent = Command::new("sh");
        let script = "echo $$ > \"$FILE.new\"; mv \"$FILE.new\" \"$FILE\"; exec sleep 600";
        silent.args(["-c", script]).env("FILE", &file);
        let process = smol::block_on(async {
            let mut spawning =
                Box::pin(spawn(client_config(), silent, RefuseAll::new(), runtime.spawn));
            loop {
                assert!(a_little(&mut spawning).await.is_none(), "it says nothing");
                if let Ok(process) = std::fs::read_to_string(&file) {
                    break process.trim().parse().unwrap();
                }
            }
        });
        assert!(!is_alive(process));
        std::fs::remove_file(&file).unwrap();

        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}}"#;
        let mut stubborn = Command::new("sh");
        stubborn.args(["-c", &format!("read line; echo '{answer}'; exec sleep 600")]);
        let mut process = ProcessOptions::default();
        (process.exit, process.terminate) = (Duration::MAX, Duration::MAX);
        let options = ConnectionOptions::new().process(process);
        smol::block_on(async {
            let refuse = RefuseAll::new();
            let spawning = spawn_with(client_config(), &options, stubborn, refuse, runtime.spawn);
            let connection = spawning.await.unwrap();
            let process = connection.process().unwrap().id();
            let mut closing = connection.close(Duration::MAX);
            for _ in 0..10 {
                assert!(a_little(&mut closing).await.is_none(), "it goes on");
            }
            assert!(is_alive(process));
            drop(closing);
            assert!(!is_alive(process));
        });
    }
}
