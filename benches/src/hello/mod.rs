//! The server of README (`examples/hello_server.rs`) behind each adapter, the same server on the official SDK, and a
//! client that drives any of them in its own process.

pub mod client;
mod http_client;
mod http_inline;
mod hyper_floor;
mod ours;
pub mod pairs;
#[cfg(feature = "contenders")]
mod rmcp_http;
#[cfg(unix)]
mod tokio_floor;
// Measured as it is built for its own binary.
#[cfg(feature = "contenders")]
#[path = "../../rmcp_hello/src/main.rs"]
mod rmcp_hello;
mod until_closed;

use std::error::Error;

pub(crate) use self::http_client::{field, is_whole};
use crate::case::named;

#[cfg(test)]
mod tests;

named! {
    /// A server with one tool, and its transport.
    HelloServer {
        /// mcp-sansio-std: threads, on standard input and output.
        Std = "std",
        /// mcp-sansio-tokio: a single-threaded runtime, on standard input and output.
        Tokio = "tokio",
        /// mcp-sansio-async-std: the executor of smol with its single thread, on standard input and output.
        Smol = "smol",
        /// mcp-sansio-http: a single-threaded runtime, on a socket.
        Http = "http",
        /// [`Self::Http`], whose sessions expire soon. Prints its counts for each line of standard input.
        HttpExpiring = "http-expiring",
        /// The official SDK: a single-threaded runtime, on standard input and output.
        Rmcp = "rmcp",
        /// The official SDK: a single-threaded runtime, on a socket.
        RmcpHttp = "rmcp-http",
        /// The core in the tasks of hyper, without the adapter: a single-threaded runtime, on a socket.
        HttpInline = "http-inline",
        /// Hyper and serde_json without MCP: a single-threaded runtime, on a socket.
        Hyper = "hyper",
        /// Tokio and serde_json without MCP: the tasks of the adapter, on standard input and output.
        TokioFloor = "tokio-floor",
    }
}

impl HelloServer {
    /// Serves until standard input ends. An HTTP server prints its address first.
    ///
    /// # Errors
    ///
    /// Returns the error of the library.
    pub fn run(self) -> Result<(), Box<dyn Error>> {
        match self {
            Self::Std => Ok(ours::std()?),
            Self::Tokio => Ok(ours::tokio()?),
            Self::Smol => Ok(ours::smol()?),
            Self::Http => Ok(ours::http()?),
            Self::HttpExpiring => Ok(ours::http_expiring()?),
            #[cfg(feature = "contenders")]
            Self::Rmcp => rmcp_hello::main(),
            #[cfg(feature = "contenders")]
            Self::RmcpHttp => Ok(rmcp_http::serve()?),
            #[cfg(not(feature = "contenders"))]
            Self::Rmcp | Self::RmcpHttp => Err("needs the feature `contenders`".into()),
            Self::HttpInline => Ok(http_inline::serve()?),
            Self::Hyper => Ok(hyper_floor::serve()?),
            #[cfg(unix)]
            Self::TokioFloor => Ok(tokio_floor::serve()?),
            #[cfg(not(unix))]
            Self::TokioFloor => Err("needs the pipes of Unix".into()),
        }
    }
}
