//! The checks of an MCP server that accepts access tokens, an OAuth 2.1 resource server, as functions
//! ([token handling](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#token-handling)).
//!
//! A request takes these steps:
//!
//! 1. [`bearer_token`] extracts the token from the head of the request.
//! 2. The application verifies the token, by its signature or by introspection. The result is [`Claims`].
//! 3. [`ProtectedResource::check`] compares the claims with the resource: audience, issuer, time, scopes.
//! 4. [`Operation::all_in`] returns the operations in the body, so that the application can derive their scopes;
//!    [`check_scopes`] compares these with the token.
//! 5. [`Claims::principal`] is the principal of the request, for [`Received`](crate::Received) or
//!    [`RequestSource`](crate::http::RequestSource).
//!
//! [`ProtectedResource::reply`] builds the response for an [`AccessError`], with its challenge.
//! [`ProtectedResource::metadata`] is the document by which clients find the authorization server.
//!
//! The token is checked in every request: neither a session id nor request state replaces it.
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
//! // What the application has read from the token.
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
