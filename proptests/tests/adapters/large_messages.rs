//! The memory that an idle connection keeps after large messages.

use std::cell::Cell;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use futures_io::{AsyncRead, AsyncWrite};
use mcp_sansio::model::{CallToolResult, ListChanged};
use mcp_sansio::{ClientRequest, RespondError, ServerConfig};
use mcp_sansio_async_std::{Exchange, serve};
use mcp_sansio_proptests::allocations::held;

/// A client that sends some bytes and is silent then.
struct Silent(Vec<u8>);

impl AsyncRead for Silent {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        if self.0.is_empty() {
            return Poll::Pending;
        }
        let bytes = self.0.len().min(buffer.len());
        buffer[..bytes].copy_from_slice(&self.0[..bytes]);
        self.0.drain(..bytes);
        Poll::Ready(Ok(bytes))
    }
}

/// Counts the bytes of a server.
struct Written<'w>(&'w Cell<usize>);

impl AsyncWrite for Written<'_> {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.set(self.0.get() + bytes.len());
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Responds with a text as long as the arguments.
async fn echo(exchange: Exchange) -> Result<(), RespondError> {
    let ClientRequest::CallTool(call) = &exchange.request().kind else { return Ok(()) };
    let bytes = call.arguments.as_ref().map_or(0, |arguments| arguments.as_json().len());
    exchange.respond(&CallToolResult::text("x".repeat(bytes)))
}

/// Neither the input nor the output keeps a large buffer.
#[test]
fn an_idle_connection_keeps_no_large_buffers() {
    let text = "x".repeat(4 << 20);
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{{"text":"{text}"}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    ) + "\n";
    let mut config = ServerConfig::new("server", "1");
    config.capabilities.tools = Some(ListChanged::default());
    let (sender, tasks) = std::sync::mpsc::channel();
    let spawn = move |task| sender.send(task).unwrap();
    let (mut context, written) = (Context::from_waker(Waker::noop()), Cell::new(0));
    let (reader, writer) = (Silent(call.into_bytes()), Written(&written));
    let mut serving = pin!(serve(config, reader, writer, echo, spawn));
    let ((), bytes) = held(|| {
        let mut running = Vec::new();
        while written.get() < text.len() {
            assert!(serving.as_mut().poll(&mut context).is_pending());
            running.extend(tasks.try_iter());
            running.retain_mut(|task| Pin::new(task).poll(&mut context).is_pending());
        }
        assert!(serving.as_mut().poll(&mut context).is_pending());
    });
    assert!(bytes < 100_000, "{bytes} bytes");
}
