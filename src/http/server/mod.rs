//! The server side of HTTP: from requests to the machines, and from the machines to responses.

mod body;
mod config;
mod connection;
mod connections;
mod events;
mod http_server;
mod machines;
mod one_stream_validator;
mod outboxes;
mod reply;
mod request_validator;
mod respond;
mod response_id;
mod retention;
mod saved;
mod session_id;
mod sessions;
mod source;
mod spare_stream;
mod stream;
mod stream_table;
mod streams;
mod woken;

pub(crate) use body::name_source;
pub use config::{HttpServerConfig, ResponseMode, SessionMode};
pub use events::{EventStore, MemoryEvents};
pub use http_server::{HttpExchange, HttpServer};
pub use reply::Reply;
pub use request_validator::{Accepted, Destination, RequestHead, RequestValidator};
pub use respond::{Content, ResponseHead, ResponsePart};
pub use response_id::ResponseId;
pub use saved::SavedHttpSession;
pub use session_id::SessionId;
pub use sessions::Sessions;
pub use source::RequestSource;
pub use streams::Streams;
