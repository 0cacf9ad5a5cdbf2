//! The checks of an MCP server that takes access tokens, as functions: it is an OAuth 2.1 resource server
//! ([token handling](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#token-handling)).
//!
//! One request takes these steps:
//!
//! 1. [`bearer_token`] takes the token out of the head of the request.
//! 2. The host verifies the token: its signature, or by introspection. The result is [`Claims`].
//! 3. [`ProtectedResource::check`] compares the claims with the resource: audience, issuer, time, scopes.
//! 4. [`Operation::all_in`] says what the body asks for, so that the host can name the scopes of it;
//!    [`check_scopes`] compares them with the token.
//! 5. [`Claims::principal`] is who is asking, for [`Received`](crate::Received) or
//!    [`RequestSource`](crate::http::RequestSource).
//!
//! [`ProtectedResource::reply`] makes the response of an [`AccessError`], with its challenge.
//! [`ProtectedResource::metadata`] is the document by which clients find the authorization server.
//!
//! The token is checked in every request: neither a session id nor the state of a request replaces it.
//!
//! ```
//! use mcp_sansio::Instant;
//! use mcp_sansio::auth::Scopes;
//! use mcp_sansio::auth::resource_server::{Claims, ProtectedResource, bearer_token};
//! use mcp_sansio::http::Headers;
//!
//! let resource = ProtectedResource::new("https://mcp.example/mcp", "https://as.example")?
//!     .scopes(Scopes::parse("files:read"));
//!
//! let no_fields: [(&str, &[u8]); 0] = [];
//! let error = bearer_token(Headers::from(&no_fields[..])).unwrap_err();
//! let reply = resource.reply(&error);
//! assert_eq!(reply.status, 401);
//! assert_eq!(
//!     reply.challenge.as_deref(),
//!     Some(concat!(
//!         r#"Bearer resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/mcp", "#,
//!         r#"scope="files:read""#,
//!     )),
//! );
//!
//! let fields: [(&str, &[u8]); 1] = [("authorization", b"Bearer abc")];
//! assert_eq!(bearer_token(Headers::from(&fields[..])), Ok("abc"));
//! // What the host has read from the token.
//! let mut claims = Claims::new("https://as.example", "alice");
//! claims.audience = vec!["https://mcp.example/mcp".into()];
//! claims.expires_at = Some(Instant::from_millis(2_000_000));
//! claims.scopes = Scopes::parse("files:read");
//! assert_eq!(resource.check(&claims, Instant::from_millis(1_000_000)), Ok(()));
//! # Ok::<(), mcp_sansio::auth::resource_server::InvalidResource>(())
//! ```

mod access;
mod claims;
mod operation;
mod resource;

pub use access::{AccessError, TokenError, bearer_token, check_scopes};
pub use claims::Claims;
pub use operation::Operation;
pub use resource::{InvalidResource, ProtectedResource};
