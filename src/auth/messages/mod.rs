//! The messages of authorization, one kind per file: parsing and serialization, without state.

pub(super) mod authorization_request;
pub(super) mod authorization_response;
pub(super) mod challenge;
pub(super) mod client_assertion;
pub(super) mod object;
pub(super) mod registration;
pub(super) mod resource_metadata;
pub(super) mod server_metadata;
pub(super) mod token_request;
pub(super) mod token_response;
