//! The memory of requests that wait for a handler.

use std::future::{Future, pending};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use futures_io::AsyncRead;
use mcp_sansio::model::ListChanged;
use mcp_sansio::{Limits, RespondError, ServerConfig};
use mcp_sansio_async_std::{Exchange, serve};
use mcp_sansio_proptests::allocations::held;

/// A peer that opens a session and then sends calls without end. `cancels` of three calls are cancelled at once.
struct Endless<'r> {
    text: String,
    cancels: u64,
    next: u64,
    unread: Vec<u8>,
    reads: &'r AtomicUsize,
}

impl Endless<'_> {
    fn next(&mut self) -> String {
        let id = self.next;
        self.next += 1;
        if id == 0 {
            return r#"{"jsonrpc":"2.0","id":"initialize","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
"#
            .to_owned();
        }
        let text = &self.text;
        let mut lines = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","arguments":{{"text":"{text}"}}}}}}"#
        );
        if id % 3 < self.cancels {
            lines += &format!(
                "\n{}",
                format_args!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
                )
            );
        }
        lines + "\n"
    }
}

impl AsyncRead for Endless<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let length = buffer.len();
        while self.unread.len() < length {
            let message = self.next();
            self.unread.extend_from_slice(message.as_bytes());
        }
        buffer[..length].copy_from_slice(&self.unread[..length]);
        self.unread.drain(..length);
        Poll::Ready(Ok(length))
    }
}

async fn never(exchange: Exchange) -> Result<(), RespondError> {
    let _exchange = exchange;
    pending().await
}

/// Returns the bytes that a server holds once it has stopped reading.
fn bytes_of_a_full_connection(length: usize, cancels: u64) -> usize {
    let reads = AtomicUsize::new(0);
    let text = "x".repeat(length);
    let reader = Endless { text, cancels, next: 0, unread: Vec::new(), reads: &reads };
    let mut config = ServerConfig::new("server", "1");
    config.capabilities.tools = Some(ListChanged::default());
    let handlers = Mutex::new(Vec::new());
    let spawn = move |work| handlers.lock().unwrap().push(work);
    let mut serving = pin!(serve(config, reader, smol::io::sink(), never, spawn));
    let mut context = Context::from_waker(Waker::noop());
    let ((), bytes) = held(|| {
        let mut idle = 0;
        while idle < 3 {
            let before = reads.load(Ordering::Relaxed);
            assert!(serving.as_mut().poll(&mut context).is_pending());
            idle = if reads.load(Ordering::Relaxed) == before { idle + 1 } else { 0 };
        }
    });
    bytes
}

/// Requests wait for a handler until they take the memory of a connection. This includes the tables that contain them.
#[test]
fn waiting_requests_fit_into_the_bytes_of_a_connection() {
    let most = Limits::default().connection_bytes;
    for (length, cancels) in [(0, 0), (0, 1), (0, 2), (400, 0), (400, 1), (900, 0), (4_000, 0)] {
        let bytes = bytes_of_a_full_connection(length, cancels);
        let case = format!("calls of {length} bytes, {cancels} of 3 cancelled: {bytes} bytes");
        assert!(bytes <= most, "{case}");
        // Reading pauses only for lack of room.
        assert!(most / 4 < bytes, "{case}");
    }
}
