//! What an MCP server that takes bearer tokens checks and says, as functions.
