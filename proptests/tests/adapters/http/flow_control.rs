//! The flow control of HTTP/2: clients that read slowly, and clients that do not read.

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_sansio_http::{Endpoint, serve_stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::http::kit::{Log, Script, server_config};
use crate::http::raw::modern;

/// The kinds of frames.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;

const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The bytes of a result, more than any window of these tests.
const LARGE: usize = 100_000;

/// A client that writes and reads frames. The stream holds more than the client receives, so that no write of the server
/// waits.
struct Client {
    stream: DuplexStream,
    received: Vec<u8>,
    /// The bytes of the body that each stream has received, and whether it has ended.
    bodies: BTreeMap<u32, (usize, bool)>,
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

impl Client {
    /// Opens a connection whose streams have a window of this many bytes. The window of the connection is large.
    async fn open(stream: DuplexStream, window: u32) -> Self {
        let mut client = Self { stream, received: Vec::new(), bodies: BTreeMap::new() };
        client.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
        client.settings(window).await;
        client.widen(0, 1 << 30).await;
        // The windows of the server are those of its settings once they are acknowledged.
        assert!(client.read().await);
        client.write(&frame(SETTINGS, ACK, 0, &[])).await;
        client
    }

    /// Writes bytes, which are lost if the server has ended the connection.
    async fn write(&mut self, bytes: &[u8]) {
        _ = self.stream.write_all(bytes).await;
    }

    /// Sets the initial window of streams.
    async fn settings(&mut self, window: u32) {
        let mut setting = vec![0, 4];
        setting.extend(window.to_be_bytes());
        self.write(&frame(SETTINGS, 0, 0, &setting)).await;
    }

    /// Widens the window of a stream, or that of the connection.
    async fn widen(&mut self, stream: u32, bytes: u32) {
        self.write(&frame(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes())).await;
    }

    /// Sends a request on this stream.
    async fn request(&mut self, stream: u32, text: &str) {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let mut first = lines.next().unwrap().split(' ');
        let mut fields = Vec::new();
        let mut add = |name: &str, value: &str| {
            // A literal field without compression.
            fields.extend([0, u8::try_from(name.len()).unwrap()]);
            fields.extend(name.to_lowercase().bytes());
            fields.push(u8::try_from(value.len()).unwrap());
            fields.extend(value.bytes());
        };
        add(":method", first.next().unwrap());
        add(":path", first.next().unwrap());
        add(":scheme", "http");
        add(":authority", "localhost");
        for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
            if name != "Host" {
                add(name, value);
            }
        }
        self.write(&frame(HEADERS, END_HEADERS, stream, &fields)).await;
        for part in body.as_bytes().chunks(10_000) {
            self.write(&frame(DATA, 0, stream, part)).await;
        }
        self.write(&frame(DATA, END_STREAM, stream, &[])).await;
    }

    /// Reads what the server has sent. Returns false at the end of the connection.
    async fn read(&mut self) -> bool {
        let mut bytes = vec![0; 1 << 16];
        // Time passes only after the server has done everything that it can do at once.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let read = timeout(Duration::from_millis(1), self.stream.read(&mut bytes)).await;
        let Ok(read) = read else { return true };
        let Ok(count @ 1..) = read else { return false };
        self.received.extend(&bytes[..count]);
        while let Some(length) = self.received.get(..3) {
            let length = u32::from_be_bytes([0, length[0], length[1], length[2]]);
            let end = 9 + usize::try_from(length).unwrap();
            if self.received.len() < end {
                break;
            }
            let frame: Vec<_> = self.received.drain(..end).collect();
            let stream = u32::from_be_bytes([frame[5], frame[6], frame[7], frame[8]]);
            if frame[3] == DATA {
                let (bytes, has_ended) = self.bodies.entry(stream).or_default();
                *bytes += end - 9;
                *has_ended = frame[4] & END_STREAM != 0;
            }
        }
        true
    }

    fn body(&self, stream: u32) -> (usize, bool) {
        self.bodies.get(&stream).copied().unwrap_or_default()
    }
}

/// Serves one connection.
fn serve() -> (DuplexStream, Endpoint, Log, JoinHandle<()>) {
    let (script, log) = Script::new();
    let endpoint = Endpoint::new(server_config(), script);
    let (client, server) = duplex(1 << 20);
    let serving = endpoint.clone();
    let task = tokio::spawn(async move { _ = serve_stream(serving, "/mcp", server).await });
    (client, endpoint, log, task)
}

/// The window of the client opens by a few bytes now and then. Its response is whole, or the end of an event stream.
#[tokio::test(start_paused = true)]
async fn a_response_is_written_for_as_long_as_its_client_reads() {
    let whole = modern(1, "echo", &"x".repeat(LARGE));
    let events = modern(1, "large", &LARGE.to_string());
    for request in [whole, events] {
        let (stream, endpoint, _log, task) = serve();
        let mut client = Client::open(stream, 5_000).await;
        client.request(1, &request).await;
        let began = Instant::now();
        while let (bytes, false) = client.body(1) {
            tokio::time::sleep(Duration::from_secs(20)).await;
            client.widen(1, 5_000).await;
            let is_open = client.read().await;
            assert!(is_open, "ended after {bytes} bytes, {:?}", began.elapsed());
        }
        assert!(LARGE < client.body(1).0);
        assert_eq!(endpoint.kept_bytes(), 0);
        // From here on the connection is idle.
        let began = Instant::now();
        while client.read().await {}
        assert!((50..=91).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
        task.await.unwrap();
    }
}

/// A client that keeps the window of a complete response closed does not hold the response for ever, whatever else it does
/// on the connection.
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_disconnected() {
    for is_alone in [true, false] {
        let (stream, endpoint, mut log, task) = serve();
        let mut client = Client::open(stream, 0).await;
        if !is_alone {
            client.request(1, &modern(1, "gate", "open")).await;
            assert_eq!(log.next().await, "at the gate open");
        }
        client.request(3, &modern(3, "echo", &"x".repeat(LARGE))).await;
        let began = Instant::now();
        while client.read().await {
            assert!(began.elapsed() < Duration::from_secs(600), "alone: {is_alone}");
            tokio::time::sleep(Duration::from_secs(10)).await;
            // The server answers each of these frames, or takes note of it, and writes no byte of the response.
            client.write(&frame(PING, 0, 0, &[0; 8])).await;
            client.settings(0).await;
            client.widen(0, 1).await;
        }
        assert!((50..=91).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
        assert_eq!(client.bodies.len(), 0);
        task.await.unwrap();
        while endpoint.kept_bytes() != 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
