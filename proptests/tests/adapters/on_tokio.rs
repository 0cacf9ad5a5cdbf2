//! Cases of tokio: paused time, dropped futures, and runtimes that have ended.

use std::future::pending;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use mcp_sansio::call::Timeout;
use mcp_sansio::event::Expiry;
use mcp_sansio::model::{CallToolResult, ListChanged};
use mcp_sansio::task::TasksConfig;
use mcp_sansio::{
    ByteStream, CallOptions, Client, ClientConfig, ClientEvent, Phase, RespondError, RevisionSet,
    Server, ServerConfig,
};
use mcp_sansio_tokio::{
    Blocking, CallFailure, Connection, Exchange, Handle, Handler, OpenError, RefuseAll,
    SharedTasks, clock, connect, read_into, serve, write_from,
};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex, split};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// Two requests that a machine answers itself.
const PINGS: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":\"\u{e9}\",\"method\":\"ping\"}\n";

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

/// A handler that waits until its calls are cancelled, and logs it.
#[derive(Clone)]
struct Waits(UnboundedSender<&'static str>);

impl Handler<Server> for Waits {
    async fn serve(&self, exchange: Exchange) {
        self.0.send("waiting").unwrap();
        exchange.cancelled().await;
        self.0.send("cancelled").unwrap();
    }
}

fn start(
    socket: DuplexStream,
) -> (JoinHandle<std::io::Result<()>>, UnboundedReceiver<&'static str>) {
    let (sender, reported) = unbounded_channel();
    let (reader, writer) = split(socket);
    (tokio::spawn(serve(server_config(), reader, writer, Waits(sender))), reported)
}

async fn open() -> (Connection, JoinHandle<std::io::Result<()>>, UnboundedReceiver<&'static str>) {
    let (ours, theirs) = duplex(64);
    let (server, reported) = start(theirs);
    let (reader, writer) = split(ours);
    let connection = connect(client_config(), reader, writer, RefuseAll::new()).await.unwrap();
    (connection, server, reported)
}

/// With paused time, a call of ten minutes ends at once.
#[tokio::test(start_paused = true)]
async fn time_that_stands_still() {
    let (connection, server, mut reported) = open().await;
    let began = Instant::now();
    let ten_minutes = Duration::from_secs(600);
    let options = CallOptions::new().idle(Timeout::Never).total(Timeout::After(ten_minutes));
    let params = json!({"name": "any"});
    let late = connection.handle().call_method("tools/call", &params, options).await;
    assert_eq!(late.unwrap_err(), CallFailure::TimedOut(Expiry::Total));
    assert_eq!(
        (reported.recv().await, reported.recv().await),
        (Some("waiting"), Some("cancelled"))
    );
    let took = began.elapsed();
    assert!((ten_minutes..ten_minutes + Duration::from_secs(1)).contains(&took), "{took:?}");
    let tasks = SharedTasks::with_clock(TasksConfig::default(), clock());
    let before = tasks.with(|_, now| now);
    tokio::time::advance(ten_minutes).await;
    let passed = tasks.with(|_, now| now) - before;
    assert!((ten_minutes..ten_minutes + Duration::from_secs(1)).contains(&passed), "{passed:?}");
    connection.close(Duration::ZERO).await.unwrap();
    server.await.unwrap().unwrap();
}

/// Pain 46: a dropped read or write loses no bytes.
#[tokio::test]
async fn reads_and_writes_that_are_given_up() {
    let (ours, mut theirs) = duplex(8);
    let (mut read, mut written) = split(ours);
    let mut stream = ByteStream::lines(Server::new(server_config().into()));
    let moment = Duration::from_millis(1);
    for byte in PINGS.as_bytes() {
        let given_up = timeout(moment, read_into(&mut stream, &mut read)).await;
        assert!(given_up.is_err(), "nothing has been sent");
        theirs.write_all(&[*byte]).await.unwrap();
        assert!(read_into(&mut stream, &mut read).await.unwrap());
        while let Some(step) = stream.next_step(clock().now()) {
            assert!(step.event.is_none(), "{:?}", step.event);
        }
    }
    let expected = String::from_utf8(stream.unsent().to_vec()).unwrap();
    assert_eq!(expected.lines().count(), 2, "{expected}");
    let mut received = String::new();
    while !stream.unsent().is_empty() {
        _ = timeout(moment, write_from(&mut stream, &mut written)).await;
        let mut chunk = [0; 8];
        let bytes = theirs.read(&mut chunk).await.unwrap();
        received += std::str::from_utf8(chunk.get(..bytes).unwrap()).unwrap();
    }
    let mut rest = vec![0; expected.len() - received.len()];
    theirs.read_exact(&mut rest).await.unwrap();
    assert_eq!(received + std::str::from_utf8(&rest).unwrap(), expected);
    drop(theirs);
    assert!(!read_into(&mut stream, &mut read).await.unwrap(), "the input has ended");
}

/// Dropping a server ends it at once, and cancels its handlers.
#[tokio::test]
async fn a_server_that_is_dropped() {
    let (connection, server, mut reported) = open().await;
    let params = json!({"name": "any"});
    let call = connection.handle().call_method("tools/call", &params, CallOptions::new());
    assert_eq!(reported.recv().await, Some("waiting"));
    server.abort();
    assert_eq!(reported.recv().await, Some("cancelled"));
    assert!(matches!(call.await, Err(CallFailure::Closed(_))));
    connection.handle().ended().await;
    assert_eq!(connection.handle().phase(), Phase::Closed);
    assert_eq!(reported.recv().await, None, "the handler is gone");
}

/// Dropping a connection attempt leaves nothing behind: the peer sees the end of the stream.
#[tokio::test]
async fn connecting_that_is_given_up() {
    let (ours, mut theirs) = duplex(1024);
    let (reader, writer) = split(ours);
    {
        let mut connecting = pin!(connect(client_config(), reader, writer, RefuseAll::new()));
        let given_up = timeout(Duration::from_millis(1), connecting.as_mut()).await;
        assert!(given_up.is_err(), "nobody answers");
    }
    let mut sent = String::new();
    theirs.read_to_string(&mut sent).await.unwrap();
    assert!(sent.is_empty() || sent.contains("initialize"), "{sent}");
}

/// A connection attempt without a response fails at the handshake timeout.
#[tokio::test(start_paused = true)]
async fn connecting_without_a_response_times_out() {
    let (ours, _theirs) = duplex(1024);
    let (reader, writer) = split(ours);
    let mut config = client_config();
    config.connection.timeouts.handshake = Some(Duration::from_secs(30));
    let began = Instant::now();
    let failed = connect(config, reader, writer, RefuseAll::new()).await;
    assert!(matches!(failed, Err(OpenError::Connect(_))), "{failed:?}");
    assert!(began.elapsed() < Duration::from_secs(32));
}

/// Dropping the future of `close` closes the connection at once.
#[tokio::test]
async fn closing_that_is_given_up() {
    let (connection, server, mut reported) = open().await;
    let params = json!({"name": "any"});
    let call = connection.handle().call_method("tools/call", &params, CallOptions::new());
    assert_eq!(reported.recv().await, Some("waiting"));
    let closing = connection.close(Duration::from_secs(600));
    assert!(timeout(Duration::from_millis(1), closing).await.is_err(), "a call is pending");
    assert!(matches!(call.await, Err(CallFailure::Closed(_))));
    server.abort();
}

/// A request can be served on a thread outside the runtime, also after the runtime has ended.
#[test]
fn answers_from_elsewhere() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (sender, mut exchanges) = unbounded_channel();
    let hand_out = move |exchange: Exchange| {
        let sender = sender.clone();
        async move {
            sender.send(exchange).unwrap();
            Ok::<(), RespondError>(())
        }
    };
    let (connection, second) = runtime.block_on(async {
        let (ours, theirs) = duplex(64);
        let (reader, writer) = split(theirs);
        tokio::spawn(serve(server_config(), reader, writer, hand_out));
        let (reader, writer) = split(ours);
        let connection = connect(client_config(), reader, writer, RefuseAll::new()).await.unwrap();
        let params = json!({"name": "any"});
        let call = || connection.handle().call_method("tools/call", &params, CallOptions::new());
        let (first, second) = (call(), call());
        let exchange = exchanges.recv().await.unwrap();
        std::thread::spawn(move || exchange.respond(&CallToolResult::text("done")).unwrap());
        assert!(first.await.is_ok());
        let exchange = exchanges.recv().await.unwrap();
        (connection, (second, exchange))
    });
    drop(runtime);
    let (call, exchange) = second;
    assert!(exchange.is_cancelled());
    assert!(exchange.respond(&CallToolResult::text("too late")).is_err());
    assert!(matches!(call.wait(), Err(CallFailure::Closed(_))));
    drop(connection);
}

/// The limit on handlers applies even if handlers move their exchanges elsewhere.
#[tokio::test]
async fn exchanges_that_are_given_away_count() {
    let (ours, theirs) = duplex(64);
    let running = Arc::new(AtomicUsize::new(0));
    let (sender, mut exchanges) = unbounded_channel();
    let counted = Arc::clone(&running);
    let keep = move |exchange: Exchange| {
        let (sender, running) = (sender.clone(), Arc::clone(&counted));
        async move {
            running.fetch_add(1, Ordering::SeqCst);
            // The exchange moves to the test, and the handler continues.
            sender.send(exchange).unwrap();
            pending::<Result<(), RespondError>>().await
        }
    };
    let (reader, writer) = split(theirs);
    let options = mcp_sansio_tokio::ConnectionOptions::new().handlers(2);
    tokio::spawn(async move {
        mcp_sansio_tokio::serve_with(server_config(), &options, reader, writer, keep).await
    });
    let (reader, writer) = split(ours);
    let connection = connect(client_config(), reader, writer, RefuseAll::new()).await.unwrap();
    let params = json!({"name": "any"});
    let call = || connection.handle().call_method("tools/call", &params, CallOptions::new());
    let calls = [call(), call(), call()];
    for _ in 0..2 {
        let exchange = exchanges.recv().await.unwrap();
        exchange.respond(&CallToolResult::text("done")).unwrap();
    }
    let [first, second, third] = calls;
    assert!(first.await.is_ok() && second.await.is_ok());
    // Both handlers still run.
    connection.handle().call_method("ping", &(), CallOptions::new()).await.unwrap();
    assert_eq!(running.load(Ordering::SeqCst), 2);
    drop(third);
}

/// Blocking handlers that wait for one another, on a runtime with one thread; a panic gets an error response as
/// usual.
#[tokio::test]
async fn functions_that_block() {
    const CALLS: usize = 10;
    let barrier = Arc::new(Barrier::new(CALLS));
    let handler = Blocking::new(move |exchange: &Exchange| {
        if exchange
            .request()
            .params
            .as_ref()
            .is_some_and(|params| params.get("arguments").is_some())
        {
            panic!("as asked");
        }
        barrier.wait();
        exchange.respond(&CallToolResult::text("together"))
    });
    let (ours, theirs) = duplex(64);
    let (reader, writer) = split(theirs);
    let server = tokio::spawn(serve(server_config(), reader, writer, handler));
    let (reader, writer) = split(ours);
    let connection = connect(client_config(), reader, writer, RefuseAll::new()).await.unwrap();
    let call = |params| connection.handle().call_method("tools/call", params, CallOptions::new());
    let params = json!({"name": "any"});
    let calls: Vec<_> = (0..CALLS).map(|_| call(&params)).collect();
    match call(&json!({"name": "any", "arguments": {}})).await {
        Err(CallFailure::PeerError(error)) => assert_eq!(error.code.get(), -32603),
        other => panic!("{other:?}"),
    }
    for call in calls {
        assert!(call.await.is_ok());
    }
    connection.close(Duration::from_secs(30)).await.unwrap();
    server.await.unwrap().unwrap();
}

/// A handler that never returns from an event, and reports the first one.
struct Stuck(UnboundedSender<()>);

impl Handler<Client> for Stuck {
    async fn serve(&self, _: Exchange<Client>) {}

    async fn event(&self, _: &Handle<Client>, _: ClientEvent<'static>) {
        self.0.send(()).unwrap();
        pending().await
    }
}

/// The wait for the handler of events ends if the runtime of the handler ends, although events are left.
#[tokio::test]
async fn events_are_over_with_the_runtime_of_their_handler() {
    let other = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let other = other.unwrap();
    let (ours, mut theirs) = duplex(4096);
    let (sender, mut reported) = unbounded_channel();
    let (reader, writer) = split(ours);
    let connecting = other.spawn(connect(client_config(), reader, writer, Stuck(sender)));
    let mut initialize = [0; 4096];
    _ = theirs.read(&mut initialize).await.unwrap();
    let members = r#""protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}"#;
    let result = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{{members}}}}}\n");
    theirs.write_all(result.as_bytes()).await.unwrap();
    let connection = connecting.await.unwrap().unwrap();
    let changed = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n";
    theirs.write_all(changed.repeat(3).as_bytes()).await.unwrap();
    reported.recv().await.unwrap();
    let handled = connection.handle().events_handled();
    other.shutdown_background();
    timeout(Duration::from_secs(60), handled).await.unwrap();
}

/// Async handlers that block their thread although they should not, on a runtime with other threads.
#[test]
fn handlers_that_block_their_thread() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build();
    runtime.unwrap().block_on(async {
        let barrier = Arc::new(Barrier::new(3));
        let handler = move |exchange: Exchange| {
            let barrier = Arc::clone(&barrier);
            async move {
                barrier.wait();
                exchange.respond(&CallToolResult::text("together"))
            }
        };
        let (ours, theirs) = duplex(4096);
        let (reader, writer) = split(theirs);
        let server = tokio::spawn(serve(server_config(), reader, writer, handler));
        let (reader, writer) = split(ours);
        let connection = connect(client_config(), reader, writer, RefuseAll::new()).await.unwrap();
        let params = json!({"name": "any"});
        for _ in 0..10 {
            let call =
                || connection.handle().call_method("tools/call", &params, CallOptions::new());
            for call in [call(), call(), call()] {
                assert!(timeout(Duration::from_secs(60), call).await.unwrap().is_ok());
            }
        }
        connection.close(Duration::from_secs(30)).await.unwrap();
        server.await.unwrap().unwrap();
    });
}
