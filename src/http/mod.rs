//! MCP over HTTP, as far as it is no IO: what headers say, and how events stream.

pub mod name;

mod client;
mod headers;
mod media;
mod origin;
mod param_headers;
mod server;
mod sse;
mod value;

pub use client::{
    Action, Arrived, ExchangeNumber, HeaderError, HttpClientConfig, HttpRequest, OneStream, Posts,
    ResponseReader,
};
pub use headers::{Field, Headers};
pub use media::{accepts, has_content_type, is_json};
pub use origin::{HostPolicy, InvalidName, OriginPolicy};
pub use param_headers::{
    AnnotationFlaw, IntegerOutOfRange, InvalidAnnotation, ParamCause, ParamHeaders, ParamMismatch,
};
pub use server::{
    Admitted, Content, Destination, EventStore, Gate, HttpExchange, HttpServer, HttpServerConfig,
    MemoryEvents, Reply, RequestHead, ResponseHead, ResponseId, ResponseMode, ResponsePart,
    SessionId, SessionMode, Sessions, Streams,
};
pub use sse::{SseDecoder, SseError, SseEvent, write_comment, write_event};
pub use value::{InvalidSentinel, decode_value, encode_value};
