//! Modern requests at a server: revision 2026-07-28, also beside a session.

mod both_eras;
mod bridging;
mod bridging_troubles;
mod context;
mod discovery;
mod errors;
mod input;
mod kit;
mod limits;
mod logging;
mod races;
mod request_meta;
mod results;
mod routes;
mod streams;
mod subscription_ends;
mod subscriptions;
