//! Past bugs on connections that may have no session.

mod calling;
mod kit;
mod serving;
