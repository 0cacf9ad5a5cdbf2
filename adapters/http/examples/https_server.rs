//! A server with TLS.
//!
//! Usage: `cargo run -p mcp-sansio-http --example https_server -- --certificate cert.pem --key key.pem`, then connect a
//! client to `https://localhost:3443/mcp`. `--host mcp.example.com` allows requests to that name.
//!
//! A certificate for tests, valid for `localhost`, is made by
//! `openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -addext subjectAltName=DNS:localhost -addext
//! basicConstraints=critical,CA:FALSE -keyout key.pem -out cert.pem`. A client trusts it with
//! `SSL_CERT_FILE=cert.pem`.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use mcp_sansio_http::schemars::{self, JsonSchema};
use mcp_sansio_http::{Endpoint, EndpointOptions, Router, serve_tls, server_certificate};
use serde::Deserialize;
use tokio::net::TcpListener;

/// An MCP server with TLS, on https://localhost:PORT/mcp.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The certificate of the server, and the chain to its root, in PEM
    #[arg(long, value_name = "FILE")]
    certificate: PathBuf,
    /// The private key of the certificate, in PEM
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The address to listen on
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    address: IpAddr,
    /// The port to listen on; 0 for any free port
    #[arg(long, default_value_t = 3443)]
    port: u16,
    /// Allow requests to this host name
    #[arg(long)]
    host: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    /// The text to reverse.
    text: String,
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))
}

async fn run(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let tls = server_certificate(&read(&arguments.certificate)?, &read(&arguments.key)?)?;
    let router = Router::new();
    router.tool("reverse", "Reverses a text", |text: Text, _| {
        text.text.chars().rev().collect::<String>()
    });
    let mut options = EndpointOptions::new();
    if let Some(host) = &arguments.host {
        options.http.hosts = options.http.hosts.allow(host)?;
    }
    let config = router.config("https_server", env!("CARGO_PKG_VERSION"));
    let endpoint = Endpoint::with(config, options, router);
    let listener = TcpListener::bind((arguments.address, arguments.port)).await?;
    // Standard output may be closed.
    let name = arguments.host.as_deref().unwrap_or("localhost");
    _ = writeln!(std::io::stdout(), "https://{name}:{}/mcp", listener.local_addr()?.port());
    let stop = async { _ = tokio::signal::ctrl_c().await };
    serve_tls(endpoint, "/mcp", listener, tls, stop, Duration::from_secs(5)).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            _ = writeln!(std::io::stderr(), "https_server: {error}");
            ExitCode::FAILURE
        }
    }
}
