//! Tasks of modern requests: the extension `io.modelcontextprotocol/tasks` at a server.

mod asking;
mod beginning;
mod both_eras;
mod cancelling;
mod declaring;
mod growth;
mod kit;
mod lagging;
mod time;
mod updating;
mod walks;
mod watching;
