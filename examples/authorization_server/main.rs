//! A local OAuth authorization server, for testing MCP clients and servers.
//!
//! Usage: `cargo run --example authorization_server -- --listen 127.0.0.1:9000`; `--help` lists the other options.
//! It prints its issuer when it listens, and ends when it is interrupted.
//!
//! It is for tests only. It logs in every user without a password and serves plain HTTP, so it listens on loopback
//! addresses only. With `--misbehave` it shows a fault that a client has to handle. All state is lost when it ends,
//! including the signing key.

mod arguments;
mod key;
mod service;

use std::future::ready;
use std::io::Write;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use mcp_sansio_http::random_bytes;
use mcp_sansio_proptests::authorization_server::AuthorizationServer;
use tokio::net::TcpListener;

use crate::arguments::Arguments;

/// The reason of a failure.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let arguments = Arguments::read();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.map_err(Failure::from).and_then(|runtime| runtime.block_on(run(arguments))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Standard error may be closed.
            _ = writeln!(std::io::stderr(), "authorization_server: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<(), Failure> {
    let listen = arguments.listen;
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|error| format!("cannot listen on {listen}: {error}"))?;
    let issuer = match &arguments.issuer {
        Some(issuer) => issuer.clone(),
        None => format!("http://{}", listener.local_addr()?),
    };
    let options = arguments.options(issuer.clone());
    let server = AuthorizationServer::new(options, key::signer()?, random_bytes()?);
    let server = Arc::new(Mutex::new(server));
    // Polling it installs the signal handler, which has to happen before the output announces the server.
    let mut interrupted = pin!(tokio::signal::ctrl_c());
    tokio::select! {
        biased;
        interrupted = &mut interrupted => return Ok(interrupted?),
        () = ready(()) => {}
    }
    {
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "Issuer: {issuer}")?;
        stdout.flush()?;
    }
    tokio::select! {
        () = service::serve(listener, server) => Ok(()),
        interrupted = &mut interrupted => Ok(interrupted?),
    }
}
