//! Mishaps where there may be no session: each of these has happened once.

mod calling;
mod kit;
mod serving;
