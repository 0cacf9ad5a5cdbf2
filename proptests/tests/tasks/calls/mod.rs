//! Calls that become tasks of the peer, from the call to its outcome.

mod both_eras;
mod by_hand;
mod cancelling;
mod crowded;
mod hostile;
mod kit;
mod model;
mod modern;
mod odd_answers;
mod races;
mod reconnecting;
mod server_asks;
mod sessions;
mod timing;
mod tool_level;
mod world;
