//! The client's side of HTTP: messages leave as requests, and responses come back as messages and failures.
//!
//! Each file names only files of the layers above it in this list:
//!
//! - values: `config`, `request`, `response`, `url`, `action`, `refusals`;
//! - the parts of an exchange: `pending_call`, `tool_refresh`, `resumption`, `exchange`, `response_reader`, `arrived`;
//! - the parts of a connection: `session`, `transport`, `startup_hold`, `exchange_table`, `tool_headers`;
//! - its requests: `requests`, and upon them `resume`, `one_stream` and `tool_calls`;
//! - [`ClientTransport`], which composes them: `client_transport`, `ending`, `sending`, `receiving`;
//! - [`HttpClient`], which has a machine as well.

mod action;
mod arrived;
mod client_transport;
mod config;
mod ending;
mod exchange;
mod exchange_table;
mod http_client;
mod one_stream;
mod pending_call;
mod receiving;
mod refusals;
mod request;
mod requests;
mod response;
mod response_reader;
mod resume;
mod resumption;
mod sending;
mod session;
mod startup_hold;
mod tool_calls;
mod tool_headers;
mod tool_refresh;
mod transport;
mod url;

pub use action::Action;
pub use arrived::Arrived;
pub use client_transport::ClientTransport;
pub use config::{HeaderError, HttpClientConfig, OneStream};
pub use exchange::ExchangeNumber;
pub use http_client::HttpClient;
pub use refusals::Refusal;
pub use request::HttpRequest;
pub use response_reader::ResponseReader;
