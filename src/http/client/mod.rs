//! The client side of HTTP: messages are sent as requests; responses are converted to messages and failures.
//!
//! Each file uses only files of the layers above it in this list:
//!
//! - values: `config`, `request`, `response`, `url`, `action`, `refusals`;
//! - the parts of an exchange: `pending_call`, `pending_batch`, `tool_refresh`, `resumption`, `exchange`, `response_reader`,
//!   `arrived`;
//! - the parts of a connection: `session`, `transport`, `startup_hold`, `exchange_table`, `tool_headers`;
//! - the requests of a connection: `requests`, and based on it `resume`, `one_stream` and `tool_calls`;
//! - [`ClientTransport`], which composes the parts: `client_transport`, `ending`, `sending`, `receiving`;
//! - [`HttpClient`], which adds the machine.

mod action;
mod arrived;
mod client_transport;
mod config;
mod ending;
mod exchange;
mod exchange_table;
mod http_client;
mod one_stream;
mod pending_batch;
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
