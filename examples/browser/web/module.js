// The address of the module: where `cargo build` puts it.

export const MODULE = new URL(
    "../../../target/browser/wasm32-unknown-unknown/release/browser.wasm", import.meta.url);
