//! A server and a client as one WebAssembly module, for web pages. The page instantiates the module once for each of
//! them: the server in a worker, the client beside its own code. They exchange messages by `postMessage`.
//!
//! - `exports`: the functions that JavaScript calls. Texts pass through one buffer, so no generated bindings are
//!   needed.
//! - `server`: the server and its tools.
//! - `client`: the client, whose events the page receives as JSON.
//!
//! `web/machine.js` is the other side of the exports. It moves messages between a machine and a port, and sets the
//! timer for the next deadline.
//!
//! ```sh
//! (cd examples/browser && cargo build --locked --release)
//! python3 -m http.server 8000
//! ```
//!
//! The page is then at `http://localhost:8000/examples/browser/web/`. The build needs the target
//! `wasm32-unknown-unknown`.

mod client;
mod exports;
mod server;
