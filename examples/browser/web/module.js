// The URL of the module that `cargo build` has written.

export const MODULE = new URL(
    "../../../target/browser/wasm32-unknown-unknown/release/browser.wasm", import.meta.url);
