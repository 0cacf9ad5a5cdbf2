//! `mcp-inspect` with a built-in server: a command-line client that starts a server or connects to one, lists its
//! contents, makes requests, and watches it for changes.
//!
//! Usage: `cargo run --example inspect -- -- SERVER ARGUMENTS…`, for example `cargo run --example inspect -- -- npx
//! -y @modelcontextprotocol/server-everything stdio`. For a running server over HTTP, pass its URL: `cargo run
//! --example inspect -- http://127.0.0.1:3000/mcp`. The certificate of an `https` server is checked with the root
//! certificates of the system, or of the file that the environment variable `SSL_CERT_FILE` names. Without a server it
//! inspects a built-in one, in process.
//!
//! If the server at a URL requires an access token, the user logs in with a browser. The program prints the URL of
//! the login to standard error, and opens it unless `--no-browser` is given. The client registers itself, or
//! `--client-id` names it; its secret is then in the environment variable `INSPECT_CLIENT_SECRET`. The login is
//! stored in a file that only its owner can read, one per URL, in the folder `mcp-sansio/inspect` of
//! `$XDG_STATE_HOME` (by default `~/.local/state`, on Windows `%LOCALAPPDATA%`). A stored login takes precedence
//! over `--client-id` and `--scope`. `cargo run --example inspect -- --logout http://127.0.0.1:3000/mcp` deletes
//! it.

#[path = "../everything_server/everything/mod.rs"]
mod everything;

use std::io::{PipeReader, PipeWriter};
use std::process::ExitCode;

use mcp_sansio_std::{ConnectionOptions, SharedTasks, serve_with};

fn serve(input: PipeReader, output: PipeWriter) {
    let handler = everything::Everything::default();
    let options = ConnectionOptions::new().tasks(SharedTasks::default());
    // The client has ended, and reports why.
    _ = serve_with(everything::config(), &options, input, output, handler);
}

fn main() -> ExitCode {
    mcp_sansio_cli::run(Some(serve))
}
