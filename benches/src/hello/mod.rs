//! The server of README (`examples/hello_server.rs`) behind each adapter, the same server written with the official
//! SDK, and a client that drives any of them in a process of its own.

pub mod client;
mod http_client;
mod hyper_floor;
mod ours;
pub mod pairs;
mod rmcp_http;
// Its program is measured as it is built on its own.
#[path = "../../rmcp_hello/src/main.rs"]
mod rmcp_hello;
mod until_closed;

use std::error::Error;

use crate::case::named;

#[cfg(test)]
mod tests;

named! {
    /// A server with one tool, and what carries it.
    HelloServer {
        /// mcp-sansio-std: threads, on standard input and output.
        Std = "std",
        /// mcp-sansio-tokio: a runtime of one thread, on standard input and output.
        Tokio = "tokio",
        /// mcp-sansio-http: a runtime of one thread, on a socket.
        Http = "http",
        /// The official SDK: a runtime of one thread, on standard input and output.
        Rmcp = "rmcp",
        /// The official SDK: a runtime of one thread, on a socket.
        RmcpHttp = "rmcp-http",
        /// Hyper and serde_json, and nothing of MCP: a runtime of one thread, on a socket.
        Hyper = "hyper",
    }
}

impl HelloServer {
    /// Serves until standard input ends. A server of HTTP prints its address first.
    ///
    /// # Errors
    ///
    /// What the library says.
    pub fn run(self) -> Result<(), Box<dyn Error>> {
        match self {
            Self::Std => Ok(ours::std()?),
            Self::Tokio => Ok(ours::tokio()?),
            Self::Http => Ok(ours::http()?),
            Self::Rmcp => rmcp_hello::main(),
            Self::RmcpHttp => Ok(rmcp_http::serve()?),
            Self::Hyper => Ok(hyper_floor::serve()?),
        }
    }
}
