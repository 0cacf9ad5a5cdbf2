//! A sandbox for an MCP server: runs a component of WASI 0.2, whose standard streams are those of this process.
//!
//! The component gets no files, no network and no environment. It may use 64 MiB of memory, and compute for two seconds
//! between two calls of the host, such as the one that waits for input. A component that computes for longer is
//! stopped, and its client sees the end of the stream.
//!
//! ```sh
//! (cd examples/wasi && cargo build --locked --profile component --target wasm32-wasip2 --package sandboxed_server)
//! (cd examples/wasi && cargo build --locked --package wasi_host)
//! cargo run --example inspect -- --call count '{"to":3,"milliseconds":50}' -- target/wasi/debug/wasi_host target/wasi/wasm32-wasip2/component/sandboxed_server.wasm
//! ```

use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime::error::Context;
use wasmtime::{Config, Engine, Result, Store, StoreLimits, StoreLimitsBuilder, Trap};
use wasmtime_wasi::cli::AsyncStdoutStream;
use wasmtime_wasi::p2::add_to_linker_sync;
use wasmtime_wasi::p2::bindings::sync::Command;
use wasmtime_wasi::{I32Exit, WasiCtx, WasiCtxView, WasiView};

/// The memory of the component.
const MEMORY: usize = 64 << 20;

/// The interval at which the computing time of the component is checked.
const TICK: Duration = Duration::from_millis(100);

/// The number of ticks that the component may compute between two calls of the host.
const PATIENCE: u64 = 20;

/// The number of output bytes that the host accepts before the client reads them.
const OUTPUT: usize = 64 << 10;

/// The resources that the component can access: its streams and its clocks.
struct Sandbox {
    wasi: WasiCtx,
    resources: ResourceTable,
    limits: StoreLimits,
}

impl WasiView for Sandbox {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.resources }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [component] = &arguments[..] else {
        eprintln!("usage: wasi_host COMPONENT");
        return ExitCode::from(2);
    };
    match run(component.as_ref()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{}: {}", component.display(), reason(&error));
            ExitCode::FAILURE
        }
    }
}

/// Runs the component to its end.
fn run(component: &Path) -> Result<ExitCode> {
    let mut config = Config::new();
    config.epoch_interruption(true);
    let engine = Engine::new(&config)?;
    let component = Component::from_file(&engine, component)?;
    let mut linker = Linker::new(&engine);
    add_to_linker_sync(&mut linker)?;
    let mut store = Store::new(&engine, sandbox());
    store.limiter(|sandbox| &mut sandbox.limits);
    // The time in the host, which includes every wait for input, does not count.
    store.call_hook(|mut context, change| {
        if change.exiting_host() {
            context.set_epoch_deadline(PATIENCE);
        }
        Ok(())
    });
    thread::spawn(move || {
        loop {
            thread::sleep(TICK);
            engine.increment_epoch();
        }
    });
    let command = Command::instantiate(&mut store, &component, &linker)
        .context("it is no command of WASI 0.2")?;
    match command.wasi_cli_run().call_run(&mut store) {
        Ok(Ok(())) => Ok(ExitCode::SUCCESS),
        Ok(Err(())) => Ok(ExitCode::FAILURE),
        Err(error) => match error.downcast_ref::<I32Exit>() {
            Some(exit) => Ok(ExitCode::from(exit.0 as u8)),
            None => Err(error),
        },
    }
}

fn sandbox() -> Sandbox {
    let mut wasi = WasiCtx::builder();
    // The default standard output blocks the component while the client does not read. This one reports how many bytes
    // it accepts.
    let output = AsyncStdoutStream::new(OUTPUT, tokio::io::stdout());
    wasi.inherit_stdin().stdout(output).inherit_stderr();
    let limits = StoreLimitsBuilder::new().memory_size(MEMORY).build();
    Sandbox { wasi: wasi.build(), resources: ResourceTable::new(), limits }
}

/// Returns why the component was stopped.
fn reason(error: &wasmtime::Error) -> String {
    match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => {
            format!("it computed for {:?} without a call of the host", TICK * PATIENCE as u32)
        }
        _ => format!("{error:?}"),
    }
}
