//! The authorization server of the kit, and the authorizer of a client against it, all in memory.

mod grants;
mod requests;
mod scene;
