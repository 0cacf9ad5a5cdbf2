//! A blocking server for many clients on a socket: a few threads per client, and no runtime.
//!
//! Usage: `cargo run -p mcp-sansio-std --example threads_server [ADDRESS]`. The default address, `localhost:0`,
//! selects a free port, and the program prints it.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use mcp_sansio::json::Raw;
use mcp_sansio::model::Tool;
use mcp_sansio_std::{Router, SocketWriter, serve};
use serde::Deserialize;

#[derive(Deserialize)]
struct Nothing {}

#[derive(Deserialize)]
struct Note {
    text: String,
}

/// A notebook that all clients share.
fn router() -> Router {
    let tool = |name: &'static str, schema| Tool::new(name, Raw::new(schema).expect("it is JSON"));
    let notes = std::sync::Arc::new(Mutex::new(Vec::new()));
    let (router, written) = (Router::new(), notes.clone());
    let schema = r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#;
    router.tool_with(tool("write", schema), move |note: Note, _| {
        let mut notes = written.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        notes.push(note.text);
        format!("note {}", notes.len())
    });
    router.tool_with(tool("read", r#"{"type":"object"}"#), move |_: Nothing, _| {
        notes.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).join("\n")
    });
    router
}

fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "localhost:0".into());
    let router = router();
    let listener = TcpListener::bind(address)?;
    eprintln!("listening on {}", listener.local_addr()?);
    loop {
        let (socket, client) = repeated(|| listener.accept());
        let (reader, router) = (repeated(|| socket.try_clone()), router.clone());
        let serving = thread::Builder::new().spawn(move || {
            if let Err(error) = serve_client(reader, socket, router) {
                eprintln!("{client}: {error}");
            }
        });
        if let Err(error) = serving {
            // The system has no thread left. The other clients keep theirs.
            eprintln!("{client}: {error}");
        }
    }
}

/// Repeats an operation until it succeeds. Most likely the process has too many open files, until a client leaves.
fn repeated<T>(mut operation: impl FnMut() -> io::Result<T>) -> T {
    loop {
        if let Ok(result) = operation() {
            return result;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn serve_client(reader: TcpStream, writer: TcpStream, router: Router) -> io::Result<()> {
    let config = router.config("threads_server", env!("CARGO_PKG_VERSION"));
    serve(config, reader, SocketWriter::new(writer), router)
}
