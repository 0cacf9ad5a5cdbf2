//! The writes of a connection: a short response is one piece, and a large one is not copied.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use mcp_sansio_http::{Endpoint, serve_stream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf};

use crate::http::kit::{Script, server_config, soon};
use crate::http::raw::modern;

/// A write, by the lengths of its pieces.
type Writes = Arc<Mutex<Vec<Vec<usize>>>>;

/// A stream that records each write.
struct Recorded {
    stream: DuplexStream,
    writes: Writes,
}

impl AsyncRead for Recorded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Recorded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.writes.lock().unwrap().push(vec![bytes.len()]);
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.writes.lock().unwrap().push(pieces.iter().map(|piece| piece.len()).collect());
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }
}

#[tokio::test]
async fn a_short_response_is_written_in_one_piece() {
    let (stream, mut client) = tokio::io::duplex(1 << 20);
    let writes = Writes::default();
    let recorded = Recorded { stream, writes: Arc::clone(&writes) };
    let endpoint = Endpoint::new(server_config(), Script::new().0);
    tokio::spawn(async move { serve_stream(endpoint, "/mcp", recorded).await.unwrap() });
    for (length, is_short) in [(0, true), (500, true), (2_000, false), (100_000, false)] {
        client.write_all(modern(1, "echo", &"x".repeat(length)).as_bytes()).await.unwrap();
        let (mut received, mut buffer) = (Vec::new(), vec![0; 1 << 20]);
        while !received.ends_with(b"}}}") {
            let bytes = soon(client.read(&mut buffer)).await.unwrap();
            received.extend_from_slice(buffer.get(..bytes).unwrap());
        }
        let written = std::mem::take(&mut *writes.lock().unwrap());
        let body =
            received.len() - received.windows(4).position(|end| end == b"\r\n\r\n").unwrap() - 4;
        let expected =
            if is_short { vec![received.len()] } else { vec![received.len() - body, body] };
        assert_eq!(written, [expected], "{length}");
    }
}
