//! The client's side of HTTP: messages out as requests, and what comes of these.

mod coming_back;
mod config;
mod exchange;
mod http_client;
mod posts;
mod reader;
mod reception;
mod request;
mod tools;
mod url;

pub use config::{HeaderError, HttpClientConfig, OneStream};
pub use exchange::ExchangeNumber;
pub use http_client::HttpClient;
pub use posts::{Action, Posts};
pub use reader::ResponseReader;
pub use reception::Arrived;
pub use request::HttpRequest;
