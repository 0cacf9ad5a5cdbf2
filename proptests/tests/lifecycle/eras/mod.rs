//! Clients and servers of either era, and of both, on one wire.

mod changes;
mod input;
mod meeting;
mod world;
