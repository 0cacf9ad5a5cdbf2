//! The client's side of HTTP: messages out as requests, and what comes of these.

mod arrived;
mod coming_back;
mod config;
mod exchange;
mod exchanges;
mod http_client;
mod posts;
mod reader;
mod reception;
mod refresh;
mod request;
mod sending;
mod tools;
mod url;
mod verdict;

pub use arrived::Arrived;
pub use config::{HeaderError, HttpClientConfig, OneStream};
pub use exchange::ExchangeNumber;
pub use http_client::HttpClient;
pub use posts::{Action, Posts, Refusal};
pub use reader::ResponseReader;
pub use request::HttpRequest;
