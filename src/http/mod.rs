//! MCP over HTTP, as far as it is no IO: what headers say.

pub mod name;

mod headers;
mod media;
mod origin;
mod value;

pub use headers::{Field, Headers};
pub use media::{accepts, has_content_type, is_json};
pub use origin::{HostPolicy, InvalidName, OriginPolicy};
pub use value::{InvalidSentinel, decode_value, encode_value};
