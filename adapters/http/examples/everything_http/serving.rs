//! The everything server behind HTTP.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::Server;
use mcp_sansio::http::{ParamHeaders, SavedHttpSession};
use mcp_sansio_http::{
    ConnectionOptions, Endpoint, EndpointOptions, Exchange, Handle, Handler, OneStreamPaths,
    SharedTasks, serve,
};
use mcp_sansio_std::Handler as _;
use tokio::net::TcpSocket;
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};

use crate::everything;

/// Runs each handler on a thread of its own, because the tools block.
struct Blocking(Arc<everything::Everything>);

impl Handler<Server> for Blocking {
    async fn serve(&self, exchange: Exchange) {
        let everything = Arc::clone(&self.0);
        // If a tool panics, the dropped exchange responds to the request.
        _ = tokio::task::spawn_blocking(move || everything.serve(&exchange)).await;
    }

    fn begin(&self, handle: &Handle<Server>) {
        self.0.begin(handle);
    }
}

fn options() -> EndpointOptions {
    let mut options = EndpointOptions::new();
    options.connection = ConnectionOptions::new().tasks(SharedTasks::default());
    // For clients of 2024-11-05.
    options.one_stream = Some(OneStreamPaths::default());
    for tool in everything::tools() {
        // A tool with invalid header annotations is treated like a tool without any.
        if let Ok(headers) = ParamHeaders::of(&tool.input_schema)
            && !headers.is_empty()
        {
            options.tools.insert(tool.name.to_string(), Arc::new(headers));
        }
    }
    options
}

/// Serves on a port of this computer, or on any free port for 0, until Ctrl-C or the signal TERM. Prints the URL first.
///
/// `sessions` is a file: its sessions are continued, and the sessions of this process are saved there at the end.
/// `configure` completes the options, given the URL.
pub(crate) async fn serve_everything(
    port: u16,
    path: &str,
    sessions: Option<&Path>,
    configure: impl FnOnce(EndpointOptions, &str) -> io::Result<EndpointOptions>,
) -> io::Result<()> {
    // The backlog of `TcpListener::bind` is only 128 clients, and a further client retries after a second.
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind((Ipv4Addr::LOCALHOST, port).into())?;
    let listener = socket.listen(1024)?;
    let url = format!("http://{}{path}", listener.local_addr()?);
    let mut options = configure(options(), &url)?;
    options.keep_sessions = sessions.is_some();
    // Standard output may be closed.
    _ = writeln!(io::stdout(), "{url}");
    let everything = Blocking(Arc::new(everything::Everything::default()));
    let endpoint = Endpoint::with(everything::config(), options, everything);
    if let Some(file) = sessions {
        restore(&endpoint, file)?;
    }
    serve(endpoint.clone(), path, listener, stopped(), Duration::from_secs(5)).await?;
    match sessions {
        Some(file) => save(&endpoint, file),
        None => Ok(()),
    }
}

/// Continues the sessions in a file, if there is one.
fn restore(endpoint: &Endpoint, file: &Path) -> io::Result<()> {
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        text => text?,
    };
    for session in &serde_json::from_str::<Vec<SavedHttpSession>>(&text)? {
        if let Err(error) = endpoint.restore_session(session) {
            // Its client gets 404, and opens another session.
            _ = writeln!(io::stderr(), "a session is lost: {error}");
        }
    }
    // After a crash, the sessions of an earlier time must not come back.
    fs::remove_file(file)
}

/// Saves the sessions. The file grants access to them, so only its owner may read it.
fn save(endpoint: &Endpoint, file: &Path) -> io::Result<()> {
    let text = serde_json::to_string(&endpoint.suspend_sessions())?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)?.write_all(text.as_bytes())
}

/// Waits for Ctrl-C or the signal TERM.
async fn stopped() {
    #[cfg(unix)]
    if let Ok(mut terminated) = signal(SignalKind::terminate()) {
        tokio::select! {
            _ = terminated.recv() => return,
            _ = tokio::signal::ctrl_c() => return,
        }
    }
    _ = tokio::signal::ctrl_c().await;
}
